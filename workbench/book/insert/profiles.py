"""Performance profiles into an existing workbook."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.book.insert.parts import Parts
from workbench.book.insert.sheets import Splice, tables_of
from workbench.book.insert.summary import extend_summary, summary_section
from workbench.book.insert.workbook import WorkbookPart
from workbench.book.layout import SheetData
from workbench.book.names import check_profile_name, object_name
from workbench.book.render import render_book
from workbench.book.template import Template
from workbench.book.template_file import load_template
from workbench.book.write import Ratios, Targets, sheet_groups
from workbench.errors import BookError
from workbench.files import explaining, refuse_if_open_elsewhere, replacing
from workbench.profile import PerformanceProfile, RatioTable

_RATIOS = re.compile("ratios_(.+)", re.IGNORECASE)


@dataclass(frozen=True)
class Insertion:
    """What was done to the workbook."""

    added: tuple[str, ...]
    """Profiles that are new in it."""
    replaced: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """What a person must know, e.g. that the Summary was taken out and therefore has no line."""


def add_profile(
    path: str | Path,
    profile: PerformanceProfile,
    *,
    replace: bool = False,
    ratios: RatioTable | None = None,
    targets: Sequence[float | None] | None = None,
    template: str | Path | Template | None = None,
    protect: bool = False,
) -> Insertion:
    """Add one profile to the workbook at `path`; see `add_profiles`."""
    return add_profiles(
        path,
        [profile],
        replace=replace,
        ratios=ratios,
        targets={profile.name: targets} if targets is not None else None,
        template=template,
        protect=protect,
    )


def add_profiles(
    path: str | Path,
    profiles: Sequence[PerformanceProfile],
    *,
    replace: bool = False,
    ratios: Ratios = None,
    targets: Targets = None,
    template: str | Path | Template | None = None,
    protect: bool = False,
) -> Insertion:
    """Add the profiles' sheets after those of the profiles that are there, and their lines to the Summary.

    Nothing else in the workbook changes. With `replace`, a profile of the same name is swapped in place: its two
    sheets are written anew, what was typed into them is gone; formulas elsewhere that point to them live on.
    A workbook without any profile gets the Summary and the Guide, too, where it has no sheets of that name.
    Raises `WorkbenchError` for names that are taken, illegal or too long, before anything is written.
    """
    path = Path(path)
    layout = template if isinstance(template, Template) else load_template(template)
    refuse_if_open_elsewhere(path)
    with explaining(path), tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        rendered = Path(folder) / "rendered.xlsx"
        existing = survey(path)
        replaced = _check(existing, path, profiles, replace=replace)
        objects = _object_names(existing, profiles, layout)
        groups = sheet_groups(profiles, ratios=ratios, targets=targets, object_names=objects)
        render_book(layout, rendered, groups, protect=protect)
        with Splice(path, rendered) as splice:
            notes = _splice(splice, layout, groups, existing, objects)
            with replacing(path) as temporary:
                splice.write(temporary)
                notes += _fill_values(temporary)
    added = tuple(profile.name for profile in profiles if profile.name not in replaced)
    return Insertion(added, replaced, notes)


@dataclass(frozen=True)
class Existing:
    """What a workbook holds before anything is added."""

    sheets: tuple[str, ...]
    profiles: Mapping[str, str]
    """Sheet name in lower case → the profile's part of defined names."""
    taken: frozenset[str]
    """Global defined names and tables, in lower case."""

    @property
    def next_sheet(self) -> str | None:
        """The sheet before which new ones go: the one after the last profile's, or the Guide."""
        lower = [name.casefold() for name in self.sheets]
        own = [n for n, name in enumerate(lower) if name.removesuffix(" ops") in self.profiles]
        place = max(own) + 1 if own else lower.index("guide") if "guide" in lower else len(lower)
        return self.sheets[place] if place < len(lower) else None


def survey(path: Path) -> Existing:
    """Find the profiles of a workbook by their ratio areas' names, which move with the cells."""
    parts = Parts(path)
    try:
        workbook = WorkbookPart(parts)
        profiles: dict[str, str] = {}
        for name in workbook.names:
            match = _RATIOS.fullmatch(name.name)
            if match and name.scope is None and len(name.sheets()) == 1:
                profiles.setdefault(next(iter(name.sheets())), match[1])
        names = {name.name.casefold() for name in workbook.names if name.scope is None}
        return Existing(tuple(workbook.sheet_names), profiles, frozenset(names | tables_of(parts, workbook)))
    finally:
        parts.close()


def _check(existing: Existing, path: Path, profiles: Sequence[PerformanceProfile], *, replace: bool) -> tuple[str, ...]:
    """The profiles that replace others; raises where a name can't be used."""
    taken = list(existing.sheets)
    replaced = []
    for profile in profiles:
        name = profile.name
        if replace and name.casefold() in existing.profiles:
            replaced.append(name)
            own = {name.casefold(), f"{name} ops".casefold()}
            taken = [sheet for sheet in taken if sheet.casefold() not in own]
        elif replace and name.casefold() in (sheet.casefold() for sheet in existing.sheets):
            raise BookError(
                f"the sheet {name!r} is no performance profile's, so a profile can't replace it",
                where=path,
                remedy="choose another name with --name",
            )
        check_profile_name(name, taken)
        taken += [name, f"{name} ops"]
    return tuple(replaced)


def _object_names(existing: Existing, profiles: Sequence[PerformanceProfile], layout: Template) -> dict[str, str]:
    """Profile → its part of defined names: the old one where it is replaced, otherwise one that clashes with none."""
    patterns = _name_patterns(layout)
    found: dict[str, str] = {}
    taken = list(existing.profiles.values())
    for profile in profiles:
        old = existing.profiles.get(profile.name.casefold())
        name = old or object_name(profile.name, taken)
        while old is None and any(p.replace("{p}", name).casefold() in existing.taken for p in patterns):
            taken.append(name)
            name = object_name(profile.name, taken)
        taken.append(name)
        found[profile.name] = name
    return found


def _splice(
    splice: Splice,
    layout: Template,
    groups: Sequence[Sequence[SheetData]],
    existing: Existing,
    objects: Mapping[str, str],
) -> tuple[str, ...]:
    names = [data.name for group in groups[1:] for data in group]
    before = existing.next_sheet
    if not existing.profiles:
        present = {name.casefold() for name in splice.workbook.sheet_names}
        own = [data.name for data in groups[0] if data.name.casefold() not in present]
        order = splice.rendered_names()
        splice.insert([name for name in order if name in {*own, *names}], replace=True, before=before)
        missing = [data.name for data in groups[0] if data.name not in own]
        return tuple(f"the workbook has a sheet {name!r} of its own, which stays as it is" for name in missing)
    splice.drop_names_of(_stale(layout, existing, objects))
    splice.insert(names, replace=True, before=before)
    declared = summary_section(layout)
    summary = next((data for data in groups[0] if declared and data.sheet_id == declared[0]), None)
    if summary is None:
        return ()
    note = extend_summary(splice, layout, summary)
    return (note,) if note else ()


def _fill_values(path: Path) -> tuple[str, ...]:
    """Give every formula its true value; say which can't be computed here and keep what they had."""
    from workbench.recalc import fill_cached_values

    kept = fill_cached_values(path).unevaluated
    if not kept:
        return ()
    count = f"{len(kept)} formulas keep their old values" if len(kept) > 1 else "a formula keeps its old value"
    return (f"{count}, as they can't be computed here: {kept[0].cell} {kept[0].reason}",)


def _stale(layout: Template, existing: Existing, objects: Mapping[str, str]) -> set[str]:
    """Names that the shipped template or this one gives a replaced profile; those it has come with the new sheets."""
    return {
        name.replace("{p}", objects[profile]).casefold()
        for profile in objects
        if profile.casefold() in existing.profiles
        for name in _name_patterns(layout) | _name_patterns(load_template(None))
    }


def _name_patterns(layout: Template) -> set[str]:
    """The template's defined names and tables of a performance profile: `ratios_{p}`."""
    sections = [section for sheet in layout.sheets if sheet.per == "profile" for section in sheet.sections]
    names = {section.name for section in sections} | {cell.name for section in sections for cell in section.cells}
    return {name for name in names if "{p}" in name}
