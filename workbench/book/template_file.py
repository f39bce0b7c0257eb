"""Template files: read, laid over one another, built into `Template`, checked. Errors name file and key."""

from __future__ import annotations

import dataclasses
import re
import tomllib
import types
import typing
from pathlib import Path
from typing import Any

from workbench.book.template import (
    CHART_KINDS,
    SECTION_KINDS,
    Cell,
    Column,
    Mark,
    Role,
    Section,
    Sheet,
    Style,
    Template,
    Validation,
)
from workbench.errors import WorkbenchError
from workbench.resources import templates_folder

DEFAULT_TEMPLATE = "workbook.toml"

_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
_TOP = ("style", "palette", "formats", "roles", "validations", "lists", "mark", "sheet")


class TemplateError(WorkbenchError):
    """A template says something that can't be rendered."""


def load_template(path: Path | str | None = None) -> Template:
    """The shipped template, or it with the user's file `path` laid over it. Raises `TemplateError`."""
    shipped = templates_folder() / DEFAULT_TEMPLATE
    document, shown = _read_with_includes(shipped), shipped.name
    if path is not None:
        shown = str(path)
        document = _merged(document, _read_with_includes(Path(path)))
    template = _built_template(document, shown)
    _check(template)
    return template


def _read_with_includes(path: Path) -> dict[str, Any]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TemplateError("there is no such template", where=path, remedy="check its path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise TemplateError(f"the template can't be read ({error})", where=path, remedy="mend it") from error
    included = document.pop("include", [])
    if not isinstance(included, list):
        raise TemplateError("'include' must be a list of file names", where=path, remedy='e.g. ["a.toml"]')
    whole: dict[str, Any] = {}
    for name in included:
        whole = _merged(whole, _read_with_includes(path.parent / str(name)))
    return _merged(whole, document)


def _merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            result[key] = _merged(old, value)
        elif _entries_with_ids(old) and _entries_with_ids(value):
            result[key] = _merged_entries(old, value)
        else:
            result[key] = value
    return result


def _entries_with_ids(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, dict) and "id" in entry for entry in value)


def _merged_entries(below: Any, above: Any) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = [dict(entry) for entry in below]
    for new in above:
        at = next((i for i, entry in enumerate(entries) if entry["id"] == new["id"]), None)
        if new.get("remove"):
            entries = [entry for entry in entries if entry["id"] != new["id"]]
        elif at is not None:
            entries[at] = _merged(entries[at], new)
        else:
            anchor = next((i for i, entry in enumerate(entries) if entry["id"] == new.get("after")), None)
            entries.insert(len(entries) if anchor is None else anchor + 1, dict(new))
    return entries


def _built_template(document: dict[str, Any], path: str) -> Template:
    for key in document:
        if key not in _TOP:
            raise _unknown(path, key, set(_TOP))

    def table(key: str, kind: type[Any]) -> dict[str, Any]:
        return {k: _built(kind, v, f"{path}: {key}.{k}") for k, v in document.get(key, {}).items()}

    def array(key: str, kind: type[Any]) -> tuple[Any, ...]:
        entries = document.get(key, [])
        return tuple(_built(kind, e, f"{path}: {key} {_id_of(e, n)}") for n, e in enumerate(entries, 1))

    return Template(
        path=path,
        style=_built(Style, document.get("style", {}), f"{path}: style"),
        palette={k: str(v) for k, v in document.get("palette", {}).items()},
        formats={k: str(v) for k, v in document.get("formats", {}).items()},
        roles=table("roles", Role),
        validations=table("validations", Validation),
        lists={k: tuple(v) for k, v in document.get("lists", {}).items()},
        marks=array("mark", Mark),
        sheets=array("sheet", Sheet),
    )


def _built(kind: type[Any], entry: Any, where: str) -> Any:
    """An instance of the dataclass `kind` from a TOML table, every key checked."""
    if not isinstance(entry, dict):
        raise TemplateError(f"expected a table, found {entry!r}", where=where, remedy="write it as [table]")
    hints = typing.get_type_hints(kind)
    values: dict[str, Any] = {}
    for key, value in entry.items():
        if key not in hints:
            raise _unknown(where, key, set(hints))
        values[key] = _converted(hints[key], value, f"{where}: {key}")
    for spec in dataclasses.fields(kind):
        needed = spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING
        if needed and spec.name not in values:
            raise TemplateError(f"the key {spec.name!r} is missing", where=where, remedy="add it")
    return kind(**values)


def _converted(hint: Any, value: Any, where: str) -> Any:
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise TemplateError(f"expected a list, found {value!r}", where=where, remedy="write [ … ]")
        return tuple(
            _converted(arguments[0], item, f"{where} {_id_of(item, number)}") for number, item in enumerate(value, 1)
        )
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        nested = [a for a in arguments if dataclasses.is_dataclass(a)]
        if nested:
            return _converted(nested[0], value, where)
        kinds = tuple(a for a in arguments if a is not type(None)) + ((int,) if float in arguments else ())
        if isinstance(value, kinds):
            return value
        raise TemplateError(f"expected a plain value, found {value!r}", where=where, remedy="mend it")
    if dataclasses.is_dataclass(hint):
        return _built(typing.cast("type[Any]", hint), value, where)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        expected = _WORDS.get(hint, hint.__name__)
        raise TemplateError(f"expected {expected}, found {value!r}", where=where, remedy="mend it")
    return value


def _id_of(item: Any, number: int) -> str:
    return repr(item["id"]) if isinstance(item, dict) and "id" in item else str(number)


def _unknown(where: str, key: str, known: set[str]) -> TemplateError:
    return TemplateError(f"unknown key {key!r}", where=where, remedy=f"known keys: {', '.join(sorted(known))}")


def _check(template: Template) -> None:
    """Names used are declared, kinds are known, every column and cell has one way to be filled."""
    for key, color in template.palette.items():
        if not re.fullmatch(r"#[0-9A-Fa-f]{6}", color):
            where = f"{template.path}: palette.{key}"
            raise TemplateError(f"{color!r} is no colour", where=where, remedy="write it as #RRGGBB")
    marks = tuple(mark.id for mark in template.marks)
    for sheet in template.sheets:
        where = f"{template.path}: sheet {sheet.id!r}"
        _known(sheet.per, ("book", "profile", "loss"), f"{where}: per")
        for section in sheet.sections:
            _check_section(template, sheet, section, marks, f"{where}, section {section.id!r}")


def _check_section(template: Template, sheet: Sheet, section: Section, marks: tuple[str, ...], where: str) -> None:
    _known(section.kind, SECTION_KINDS, f"{where}: kind")
    if section.zone:
        _known(section.zone, tuple(zone.id for zone in sheet.zones), f"{where}: zone")
    for mark in section.marks:
        _known(mark, marks, f"{where}: marks")
    if section.kind == "chart":
        if section.chart is None:
            raise TemplateError("the key 'chart' is missing", where=where, remedy="add it")
        _known(section.chart.kind, CHART_KINDS, f"{where}: chart.kind")
        for series in section.chart.series:
            _known_color(template, series.color, f"{where}: chart.series {series.name!r}: color")
    entries: tuple[Column | Cell, ...] = (*section.columns, *section.cells)
    for entry in entries:
        _check_entry(template, entry, f"{where}, {type(entry).__name__.lower()} {entry.id!r}")


def _check_entry(template: Template, entry: Column | Cell, where: str) -> None:
    if bool(entry.field) + bool(entry.formula) + (entry.value is not None) > 1:
        raise TemplateError("more than one of field, formula and value", where=where, remedy="keep one")
    _known(entry.role, tuple(template.roles), f"{where}: role")
    _known(entry.format, tuple(template.formats), f"{where}: format")
    if entry.validation:
        _known(entry.validation, tuple(template.validations), f"{where}: validation")
    if isinstance(entry, Column):
        if entry.repeat:
            _known(entry.repeat, tuple(template.lists), f"{where}: repeat")
        if entry.mark:
            _known(entry.mark, ("bar", "heat"), f"{where}: mark")
            _known_color(template, entry.mark_color, f"{where}: mark_color")


def _known_color(template: Template, color: str, where: str) -> None:
    if not color.startswith("#"):
        _known(color, tuple(template.palette), where)


def _known(name: str, known: tuple[str, ...], where: str) -> None:
    if name not in known:
        choices = ", ".join(known) or "none there"
        raise TemplateError(f"{name!r} is not declared", where=where, remedy=f"use one of: {choices}")
