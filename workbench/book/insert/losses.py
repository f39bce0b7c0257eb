"""Loss profiles into an existing workbook: a sheet, and the names by which the operators sheet finds it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workbench.book.formulas import escaped_header
from workbench.book.insert.parts import Parts, children, main
from workbench.book.insert.profiles import Existing, Insertion, survey
from workbench.book.insert.sheets import Splice
from workbench.book.insert.summary import extend_summary
from workbench.book.insert.workbook import WorkbookPart
from workbench.book.layout import SheetData
from workbench.book.loss import followed_profile, loss_sheet, operator_columns, summary_line
from workbench.book.names import check_profile_name, object_name
from workbench.book.render import render_book
from workbench.book.template import Template
from workbench.book.template_file import load_template
from workbench.book.write import fill_values
from workbench.errors import BookError
from workbench.files import explaining, refuse_if_open_elsewhere, replacing
from workbench.profile import LossProfile

_OWN = re.compile("loss_recovery_(.+)", re.IGNORECASE)
_SPOKEN = ("sensitivity_at_aim_", "sensitivity_weights_")
_NEW_COLUMN = "sensitivity at aim"


def add_loss_profile(
    path: str | Path,
    profile: LossProfile,
    *,
    replace: bool = False,
    template: str | Path | Template | None = None,
    protect: bool = False,
) -> Insertion:
    """Add a sheet for `profile` to the workbook at `path`, behind its other profiles; nothing else changes.

    It follows the targets of `profile.performance_profile` (the book's first where that is empty), and that
    profile's operators sheet shows its sensitivities from now on. With `replace`, a loss profile of the same name
    is swapped in place. Raises `BookError` before anything is written for a name that won't do, a workbook
    without that performance profile, or one whose operators table lacks the columns that are needed.
    """
    path = Path(path)
    layout = template if isinstance(template, Template) else load_template(template)
    refuse_if_open_elsewhere(path)
    found = check_loss_target(path, profile.name, profile.performance_profile, replace=replace, template=layout)
    with explaining(path), tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        rendered = Path(folder) / "rendered.xlsx"
        data = loss_sheet(profile, found.name, found.performance_profile, found.performance_object, layout, speaks=True)
        line = summary_line(profile, found.name, found.performance_profile)
        summary = SheetData("summary", "Summary", {}, {"losses": [line]})
        render_book(layout, rendered, [[summary], [data]], protect=protect)
        with Splice(path, rendered) as splice:
            splice.drop_names_of(found.freed)
            splice.insert([data.name], replace=replace, before=found.before)
            note = extend_summary(splice, layout, summary, "losses")
            with replacing(path) as temporary:
                splice.write(temporary)
                fill_values(temporary)
    names = (profile.name,)
    return Insertion(
        () if found.replaces else names, names if found.replaces else (), (*found.notes, *filter(None, (note,)))
    )


@dataclass(frozen=True)
class LossTarget:
    """Where a loss profile goes in a workbook."""

    name: str
    """Its part of defined names."""
    performance_profile: str
    performance_object: str
    replaces: bool
    before: str | None
    """The sheet before which a new one stands."""
    freed: frozenset[str]
    """Names, in lower case, that other sheets give up or that come anew."""
    notes: tuple[str, ...]


def check_loss_target(
    path: Path, name: str, performance_profile: str = "", *, replace: bool = False, template: Template | None = None
) -> LossTarget:
    """Where a loss profile called `name` would go; `performance_profile` is the one it follows, empty the first.

    Raises `BookError` where it can't, so that this is known before anything is measured.
    """
    layout = template or load_template()
    existing = survey(path)
    parts = Parts(path)
    try:
        workbook = WorkbookPart(parts)
        losses = _loss_sheets(workbook)
        performance = {name: existing.profiles[name.casefold()] for name in existing.sheets
                       if name.casefold() in existing.profiles}  # fmt: skip
        followed = followed_profile(name, performance_profile, tuple(performance))
        replaces = replace and name.casefold() in losses
        _check_name(path, name, existing, replaces=replaces, replace=replace)
        bound = performance[followed]
        notes = _check_columns(path, parts, workbook, layout, bound)
        own_part = losses[name.casefold()] if replaces else _free_object(existing, name, layout)
        own = {pattern.replace("{p}", own_part).casefold() for pattern in _patterns(layout)} if replaces else set()
        spoken = {f"{head}{bound}".casefold() for head in _SPOKEN}
        if replaces:
            spoken |= _spoken_by(workbook, name)
        return LossTarget(
            own_part, followed, bound, replaces, _next_sheet(existing, losses), frozenset(own | spoken), notes
        )
    finally:
        parts.close()


def _loss_sheets(workbook: WorkbookPart) -> dict[str, str]:
    """Sheet name in lower case → the loss profile's part of defined names."""
    found: dict[str, str] = {}
    for name in workbook.names:
        match = _OWN.fullmatch(name.name)
        if match and name.scope is None and len(name.sheets()) == 1:
            found.setdefault(next(iter(name.sheets())), match[1])
    return found


def _spoken_by(workbook: WorkbookPart, sheet: str) -> set[str]:
    """Names by which an operators sheet finds this loss profile's sheet."""
    names = [name for name in workbook.names if name.name.casefold().startswith(_SPOKEN)]
    return {name.name.casefold() for name in names if name.sheets() == {sheet.casefold()}}


def _check_name(path: Path, name: str, existing: Existing, *, replaces: bool, replace: bool) -> None:
    taken = [sheet for sheet in existing.sheets if not (replaces and sheet.casefold() == name.casefold())]
    if replace and not replaces and name.casefold() in (sheet.casefold() for sheet in taken):
        raise BookError(
            f"the sheet {name!r} is no loss profile's, so a loss profile can't replace it",
            where=path,
            remedy="choose another name with --name",
        )
    check_profile_name(name, [sheet for sheet in taken if sheet.casefold() != f"{name} ops".casefold()])


def _check_columns(
    path: Path, parts: Parts, workbook: WorkbookPart, layout: Template, performance_object: str
) -> tuple[str, ...]:
    """Raise where a column that the sheet's formulas name isn't there; a note where the new ones aren't."""
    table = f"ops_{performance_object}".casefold()
    headers: set[str] | None = None
    for sheet in workbook.sheet_names:
        part = workbook.sheet_part(sheet)
        for link in parts.links(part) if part else []:
            if link.kind == "table" and parts.tree(link.target).get("displayName", "").casefold() == table:
                columns = parts.tree(link.target).find(main("tableColumns"))
                headers = set() if columns is None else {c.get("name", "") for c in children(columns, "tableColumn")}
    needed = operator_columns(layout, performance_object)
    for column in _used(layout):
        header = needed[f"ops.{column}"].partition("[")[2].removesuffix("]")
        if headers is None or header not in {escaped_header(h) for h in headers}:
            raise BookError(
                f"the operators table ops_{performance_object} has no column {header!r}",
                where=path,
                remedy="put it back, or write the profile anew with `workbench profile --replace`",
            )
    if headers is not None and _NEW_COLUMN not in headers:
        return (f"the operators table has no column {_NEW_COLUMN!r}, so it doesn't show the sensitivities",)
    return ()


def _used(layout: Template) -> set[str]:
    """Ids of the operators' columns that the loss sheet's formulas name."""
    sections = layout.sheet("loss").sections
    formulas = [column.formula for section in sections for column in section.columns]
    formulas += [cell.formula for section in sections for cell in section.cells]
    return {name for formula in formulas for name in re.findall(r"\{ops\.(\w+)\}", formula)}


def _patterns(layout: Template) -> set[str]:
    sections = layout.sheet("loss").sections
    names = {section.name for section in sections} | {cell.name for section in sections for cell in section.cells}
    return {name for name in names if "{p}" in name}


def _free_object(existing: Existing, name: str, layout: Template) -> str:
    taken = list(existing.profiles.values())
    found = object_name(name, taken)
    while any(pattern.replace("{p}", found).casefold() in existing.taken for pattern in _patterns(layout)):
        taken.append(found)
        found = object_name(name, taken)
    return found


def _next_sheet(existing: Existing, losses: Mapping[str, str]) -> str | None:
    """The sheet behind the last profile's."""
    own = [
        number
        for number, sheet in enumerate(existing.sheets)
        if sheet.casefold() in losses or sheet.casefold().removesuffix(" ops") in existing.profiles
    ]
    place = max(own) + 1 if own else len(existing.sheets)
    return existing.sheets[place] if place < len(existing.sheets) else None
