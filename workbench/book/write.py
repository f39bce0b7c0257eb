"""Profiles → a new workbook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from workbench.book.fields import profile_sheets, summary_record
from workbench.book.layout import SheetData
from workbench.book.names import check_profile_name, object_name
from workbench.book.render import render_book
from workbench.book.template import Template
from workbench.book.template_file import load_template
from workbench.files import refuse_if_open_elsewhere, replacing
from workbench.profile import LossProfile, PerformanceProfile, RatioTable

Ratios = RatioTable | Mapping[str, RatioTable] | None
Targets = Mapping[str, Sequence[float | None]] | None


def write_book(
    profiles: Sequence[PerformanceProfile],
    path: str | Path,
    *,
    loss_profiles: Sequence[LossProfile] = (),
    ratios: Ratios = None,
    targets: Targets = None,
    template: str | Path | Template | None = None,
    protect: bool = False,
) -> None:
    """Write a new workbook of `profiles` to `path`, over whatever is there, with true cached values.

    `ratios` is one table for all profiles or one for each by name; `targets` gives, by profile name, a target
    for each operator in order (None: dense). Where either is missing, defaults stand.
    Raises `WorkbenchError` for names that sheets can't have, a template that doesn't hold, or a file that is
    open elsewhere.
    """
    path = Path(path)
    layout = template if isinstance(template, Template) else load_template(template)
    groups = sheet_groups(profiles, ratios=ratios, targets=targets)
    if loss_profiles:
        from workbench.book.loss import loss_sheets

        groups = loss_sheets(groups, loss_profiles, layout)
    refuse_if_open_elsewhere(path)
    with replacing(path) as temporary:
        render_book(layout, temporary, groups, protect=protect)
        fill_values(temporary)


def sheet_groups(
    profiles: Sequence[PerformanceProfile],
    *,
    ratios: Ratios = None,
    targets: Targets = None,
    object_names: Mapping[str, str] | None = None,
) -> list[list[SheetData]]:
    """The data of all sheets: the book's own first, then each profile's."""
    taken: list[str] = []
    objects: list[str] = []
    groups: list[list[SheetData]] = []
    for profile in profiles:
        check_profile_name(profile.name, taken)
        taken += [profile.name, f"{profile.name} ops"]
        name = (object_names or {}).get(profile.name) or object_name(profile.name, objects)
        objects.append(name)
        table = ratios.get(profile.name) if isinstance(ratios, Mapping) else ratios
        groups.append(list(profile_sheets(profile, name, table, (targets or {}).get(profile.name))))
    summary = SheetData(
        "summary",
        "Summary",
        {"subtitle": _subtitle(profiles)},
        {
            "profiles": [summary_record(profile, name) for profile, name in zip(profiles, objects, strict=True)],
        },
    )
    return [[summary, SheetData("guide", "Guide", {})], *groups]


def _subtitle(profiles: Sequence[PerformanceProfile]) -> str:
    models = sorted({profile.model.name for profile in profiles})
    return ", ".join(models) if len(models) <= 3 else f"{len(models)} models"


def fill_values(path: Path) -> None:
    """Give every formula cell of the file its true cached value."""
    from workbench.recalc import fill_cached_values

    fill_cached_values(path)
