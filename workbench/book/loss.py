"""A loss profile as the fields and records that the template names, bound to a performance profile."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from workbench.book.formulas import escaped_header
from workbench.book.layout import Record, SheetData, Value
from workbench.book.names import check_profile_name, object_name
from workbench.book.template import Template
from workbench.errors import BookError
from workbench.profile import LayerLoss, LossProfile

HALVINGS = 32
"""Steps of the search for the plan of least loss, over a thousand million values."""

EXTREMES = 5
"""Layers in the list of the most and the least sensitive."""

_METRICS = {
    "kl": "Kullback-Leibler divergence of outputs, nats",
    "mse": "mean squared difference of outputs",
    "cross-entropy": "growth of the cross-entropy, nats",
}
_ROLES = {"approximated": "estimated", "magnitude": "fact", "measured": "measured"}


def loss_sheets(
    groups: Sequence[Sequence[SheetData]], profiles: Sequence[LossProfile], template: Template
) -> list[list[SheetData]]:
    """`groups` of a new book with a group for each loss profile.

    Of several that follow the same performance profile, the last one speaks in its operators sheet.
    Raises `BookError` where a name can't be used, or the performance profile is not there.
    """
    bound = {data.name: data.object_name for group in groups for data in group if data.sheet_id == "dashboard"}
    taken = [data.name for group in groups for data in group]
    objects = list(bound.values())
    result = [list(group) for group in groups]
    followed = [followed_profile(p.name, p.performance_profile, tuple(bound)) for p in profiles]
    for number, profile in enumerate(profiles):
        check_profile_name(profile.name, taken)
        taken.append(profile.name)
        name = object_name(profile.name, objects)
        objects.append(name)
        speaks = followed[number] not in followed[number + 1 :]
        result.append([loss_sheet(profile, name, followed[number], bound[followed[number]], template, speaks=speaks)])
    lines = [summary_line(p, o, f) for p, o, f in zip(profiles, objects[len(bound) :], followed, strict=True)]
    result[0] = [_with_lines(data, lines) if data.sheet_id == "summary" else data for data in result[0]]
    return result


def summary_line(profile: LossProfile, name: str, performance_profile: str) -> Record:
    """The loss profile's line in the Summary; its figures are formulas over its defined names."""
    fields = _fields(profile, performance_profile)
    kept = ("model_name", "method", "method_role", "pattern", "metric")
    return {"profile": profile.name, "p": name, "follows": performance_profile, **{key: fields[key] for key in kept}}


def _with_lines(summary: SheetData, lines: Sequence[Record]) -> SheetData:
    return dataclasses.replace(summary, records={**summary.records, "losses": lines})


def followed_profile(name: str, wanted: str, present: Sequence[str]) -> str:
    """The performance profile among `present` that the loss profile `name` follows: `wanted`, else the first.

    Raises `BookError` where it isn't there.
    """
    if not present:
        raise BookError(
            "a loss profile follows the targets of a performance profile, and there is none",
            where=f"loss profile {name!r}",
            remedy="add one with `workbench profile`",
        )
    found = next((profile for profile in present if profile.casefold() == wanted.casefold()), None)
    if wanted and found is None:
        raise BookError(
            f"there is no performance profile {wanted!r}",
            where=f"loss profile {name!r}",
            remedy=f"there are: {', '.join(present)}",
        )
    return found or present[0]


def loss_sheet(
    profile: LossProfile,
    name: str,
    performance_profile: str,
    performance_object: str,
    template: Template,
    *,
    speaks: bool,
) -> SheetData:
    """The sheet's data. `name` is the loss profile's part of defined names, `performance_object` that of the
    performance profile that it follows; where it `speaks`, that one's operators sheet shows its sensitivities."""
    labels = short_labels([row.layer_id for row in profile.layers])
    compared = tuple(dict.fromkeys(key for row in profile.layers for key in row.other_patterns))
    rated = profile.rated_level
    titles = {key: f"{key} at {rated * 100:g} %" for key in compared}
    return SheetData(
        "loss",
        profile.name,
        _fields(profile, performance_profile),
        {
            "layers": [
                {"number": number, **_layer(row, label, titles, rated)}
                for number, (row, label) in enumerate(zip(profile.layers, labels, strict=True), 1)
            ],
            "extremes": [{"number": n + 1} for n in range(min(EXTREMES, len(profile.layers)))],
            "halvings": [{"number": n + 1} for n in range(HALVINGS)],
            "one": [{}],
            "notes": _notes(profile),
        },
        {"loss_levels": profile.levels, "loss_compared": tuple(titles.values())},
        name,
        {
            "o": performance_object,
            "bound": performance_object if speaks else f"{performance_object}_{name}",
            **operator_columns(template, performance_object),
        },
    )


def operator_columns(template: Template, performance_object: str) -> dict[str, str]:
    """`ops.<column id>` → its structured reference, for the operators of the performance profile."""
    section = next(s for sheet in template.sheets if sheet.id == "operators" for s in sheet.sections if s.id == "ops")
    table = section.name.replace("{p}", performance_object)
    return {
        f"ops.{column.id}": f"{table}[{escaped_header(column.header)}]"
        for column in section.columns
        if not column.repeat
    }


def short_labels(names: Sequence[str]) -> list[str]:
    """`names` without the path that all begin with, and without the operator type that all end in."""
    if len(set(names)) < 2:
        return list(names)
    paths = [name.split("/") for name in names]
    shared = 0
    while all(len(path) > shared + 1 for path in paths) and len({path[shared] for path in paths}) == 1:
        shared += 1
    cut = [path[shared:] for path in paths]
    tails = {parts[-1] for parts in cut}
    if len(tails) == 1 and all(len(parts) > 1 for parts in cut):
        cut = [parts[:-1] for parts in cut]
    labels = ["/".join(parts) or name for parts, name in zip(cut, names, strict=True)]
    return labels if len(set(labels)) == len(set(names)) else list(names)


def _layer(row: LayerLoss, label: str, titles: Mapping[str, str], rated: float) -> Record:
    return {
        "label": label,
        "layer_id": row.layer_id,
        "weight_name": row.weight_name,
        "operator_type": row.operator_type,
        "shape": "x".join(map(str, row.shape)),
        "parameters": row.parameters,
        "counts": not row.skipped and bool(row.sensitivity),
        "skipped": row.skipped,
        "note": row.note,
        **{f"level {level:g}": value for level, value in row.sensitivity.items()},
        **{f"compared {title}": row.other_patterns.get(key, {}).get(rated) for key, title in titles.items()},
    }


def _fields(profile: LossProfile, performance_profile: str) -> dict[str, Value]:
    prunable = sum(row.parameters for row in profile.layers)
    return {
        "profile_name": profile.name,
        "headline": " · ".join(
            part
            for part in (
                profile.model.name,
                f"{profile.method} ({profile.metric})" if profile.method == "measured" else profile.method,
                f"{profile.pattern} pruning",
                f"{profile.samples:,} samples" if profile.samples else "",
                f"follows the targets of {performance_profile}",
                f"{profile.created:%Y-%m-%d %H:%M}",
            )
            if part
        ),
        "performance_profile": performance_profile,
        "model_name": profile.model.name,
        "parameters": max(profile.model.parameters, prunable),
        "of_parameters": f"of {profile.model.parameters:,} in the model",
        "at_targets": f"at the targets of {performance_profile}",
        "average_note": "relative: compare layers, not models",
        "of_layers": f"of {len(profile.layers):,} with a constant weight",
        "in_profile": f"by weight name, in {performance_profile}",
        "rated_level": profile.rated_level,
        "method": profile.method,
        "method_role": _ROLES.get(profile.method, "plain"),
        "pattern": profile.pattern,
        "metric": profile.metric,
        "metric_text": _METRICS.get(profile.metric, profile.metric),
        "created": f"{profile.created:%Y-%m-%d %H:%M}",
    }


def _notes(profile: LossProfile) -> list[Record]:
    warnings: list[Record] = [{"kind": "warning", "text": text} for text in profile.warnings]
    return warnings + [{"kind": kind, "text": text} for kind, text in profile.settings.items()]
