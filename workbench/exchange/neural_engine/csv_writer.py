"""The CSV `profiling_<time>_<instance>.csv`: ratio table, operators, totals, with live formulas.

Layout (rows and columns as the formulas count them, W ratio rows, n operators):

    1            weight shape, 90% 4x1 perf ratio, 80% …, 70% …, others
    2 … W+1      a weight shape each
    W+2          the 16 column names, A to P
    W+2+i        operator i, from 1
    W+3+n …      three rows of totals, in L to R

Latencies have three decimals. The totals written as constants (column M) are those of the rounded latencies, so
that the file agrees with itself and survives being read and written again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.exchange.cells import csv_line, percent, safe
from workbench.files import replacing
from workbench.profile import OperatorRecord, PerformanceProfile, RatioRow, RatioTable, Tensor
from workbench.ratios import default_ratio_table

COLUMNS = (
    "operator type",
    "post op",
    "operator name",
    "input tensor name",
    "input shape",
    "input dtype",
    "output tensor name",
    "output shape",
    "output dtype",
    "weight shape",
    "weight sparse ratio",
    "sparse support",
    "operator latency (ms)",
    "aim to weight sparse ratio",
    "sparse kernel pref ratio",
    "aim to sparse latency(ms)",
)
"""The engine's own names, its spelling of `pref` kept."""

DEFAULT_TARGET = 0.9
SPARSE_ALREADY = 0.5
"""A weight with this share of zeros was measured sparse: the engine writes no target for it."""
FILE_LAYOUT = "imported file's layout"
"""The setting that keeps how an imported file stood, as `Layout.text` says it."""

_TOTAL_LABELS_COLUMN = 11
_RATIO = 14
_FORMULA_LIMIT = 8000
"""Characters; Excel takes 8,192."""


@dataclass(frozen=True)
class Layout:
    """How a file of the engine's own differs from ours, so that it is written again as it was.

    The engine writes a target as the text ` 90%`, which Excel takes for a number and LibreOffice does not; ours
    is `=90%`, live in both. And it adds up before it rounds, so that its totals may differ from its rows'.
    """

    targets_as_text: bool = False
    totals: tuple[str, str, str] | None = None
    """Column M of the totals as it stood."""
    rows_ms: str = ""
    """The sum of the file's latencies: while it holds, so do `totals`."""
    instance: int = 0
    """The number in its name."""

    @property
    def text(self) -> str:
        """`targets as text, totals 0.221 0.120 0.541 over rows of 0.220`; empty where nothing differs."""
        parts = ["targets as text"] if self.targets_as_text else []
        if self.totals is not None:
            parts.append(f"totals {' '.join(self.totals)} over rows of {self.rows_ms}")
        if self.instance:
            parts.append(f"instance {self.instance}")
        return ", ".join(parts)

    @classmethod
    def parsed(cls, text: str) -> Layout:
        """The inverse of `text`."""
        found = re.search(r"totals (\S+) (\S+) (\S+) over rows of ([^\s,]+)", text)
        totals = (found[1], found[2], found[3]) if found else None
        number = re.search(r"instance (\d+)", text)
        return cls("targets as text" in text, totals, found[4] if found else "", int(number[1]) if number else 0)


def write_profile_csv(
    profile: PerformanceProfile,
    directory: str | Path,
    *,
    ratios: RatioTable | None = None,
    targets: Sequence[float | None] | None = None,
    fixed_ratios: Mapping[int, float] | None = None,
    instance: int | None = None,
    when: datetime | None = None,
) -> Path:
    """Write `profile` into `directory` (made where missing) and return the file.

    `ratios` and `targets` (one an operator, None: stays dense) default to the default ratios and 90 %;
    `when` to the profile's time, so that CSV and trace have one name. A file of that name is never overwritten: the
    instance number counts on, as the engine's does.
    """
    text = profile_csv(profile, ratios=ratios, targets=targets, fixed_ratios=fixed_ratios)
    path = free_file(directory, "csv", _instance(profile, instance), when or profile.created)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
    return path


def _instance(profile: PerformanceProfile, given: int | None) -> int:
    if given is not None:
        return given
    return profile.instance or Layout.parsed(profile.settings.get(FILE_LAYOUT, "")).instance


def file_name(when: datetime, instance: int, suffix: str) -> str:
    """`profiling_2026-11-21_07-26-51_0.csv`."""
    return f"profiling_{when:%Y-%m-%d_%H-%M-%S}_{instance}.{suffix}"


def free_file(directory: str | Path, suffix: str, instance: int, when: datetime) -> Path:
    """A file of `directory` that isn't there yet; the folder is made. Raises where it can't be."""
    folder = Path(directory)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkbenchError(
            f"this folder can't be made ({error.strerror})", where=folder, remedy="choose another folder"
        ) from error
    while (path := folder / file_name(when, instance, suffix)).exists():
        instance += 1
    return path


def profile_csv(
    profile: PerformanceProfile,
    *,
    ratios: RatioTable | None = None,
    targets: Sequence[float | None] | None = None,
    fixed_ratios: Mapping[int, float] | None = None,
) -> str:
    """The file's text. `fixed_ratios` (operator → perf ratio) stand as numbers instead of the lookup.

    Raises `WorkbenchError` where `targets` are not one an operator.
    """
    operators = profile.operators
    if targets is None:
        targets = [default_target(op) for op in operators]
    if len(targets) != len(operators):
        raise WorkbenchError(
            f"there are {len(targets)} targets for {len(operators)} operators", where=f"profile {profile.name!r}"
        )
    table = _table_of(profile, ratios)
    lines = [csv_line(["weight shape", *(f"{percent(level)} 4x1 perf ratio" for level in table.levels), "others"])]
    ratio_rows: dict[tuple[int, ...], int] = {}
    for number, row in enumerate(table.rows, 2):
        ratio_rows[row.shape] = number
        cells = [f"{row.ratios[level]:f}" if level in row.ratios else "" for level in table.levels]
        lines.append(csv_line([row.label, *cells, f"{row.others:g}"]))
    lines.append(csv_line(COLUMNS))
    first = len(table.rows) + 3
    layout = Layout.parsed(profile.settings.get(FILE_LAYOUT, ""))
    target_form = " {}" if layout.targets_as_text else "={}"
    for number, (op, target) in enumerate(zip(operators, targets, strict=True), first):
        cells = _operator_cells(op, target, number, ratio_rows, table.levels, target_form)
        fixed = (fixed_ratios or {}).get(op.index)
        if fixed is not None and cells[_RATIO]:
            cells[_RATIO] = f"{fixed:.10g}"
        lines.append(csv_line(cells))
    for cells in _total_rows(profile, first, layout):
        lines.append(csv_line([""] * _TOTAL_LABELS_COLUMN + cells))
    return "".join(lines)


def default_target(op: OperatorRecord) -> float | None:
    """90 % for a supported operator whose weight isn't sparse already, as the engine writes it."""
    dense = op.weight is not None and op.weight.zero_ratio < SPARSE_ALREADY
    return DEFAULT_TARGET if op.sparse_support and dense else None


def _table_of(profile: PerformanceProfile, ratios: RatioTable | None) -> RatioTable:
    """`ratios`, without the shapes that only unsupported operators have, and with a default row for any that lacks."""
    supported = {op.weight.shape for op in profile.operators if op.weight and op.sparse_support}
    if ratios is None:
        return default_ratio_table(supported)
    others = {op.weight.shape for op in profile.operators if op.weight} - supported
    rows: dict[tuple[int, ...], RatioRow] = {}
    for row in ratios.rows:
        if row.shape not in others:
            rows.setdefault(row.shape, row)
    added = default_ratio_table(supported - set(rows), ratios.levels)
    return RatioTable(ratios.levels, (*rows.values(), *added.rows))


def _operator_cells(
    op: OperatorRecord,
    target: float | None,
    row: int,
    ratio_rows: Mapping[tuple[int, ...], int],
    levels: Sequence[float],
    target_form: str,
) -> list[str]:
    weight = op.weight
    return [
        safe(op.operator_type),
        safe(";".join(op.post_ops)),
        safe(op.name),
        *_tensor_cells(op.inputs),
        *_tensor_cells(op.outputs),
        weight.label if weight else "",
        percent(weight.zero_ratio, 2) if weight else "",
        "true" if op.sparse_support else "",
        f"{op.latency_ms:.3f}",
        *_estimate_cells(op, target, row, ratio_rows, levels, target_form),
    ]


def _estimate_cells(
    op: OperatorRecord,
    target: float | None,
    row: int,
    ratio_rows: Mapping[tuple[int, ...], int],
    levels: Sequence[float],
    target_form: str,
) -> list[str]:
    """Columns N to P. The engine ends latencies with `, `, so an empty N is a blank."""
    place = ratio_rows.get(op.weight.shape) if op.weight else None
    if not op.sparse_support or target is None or place is None:
        return [" ", "", f"{op.latency_ms:.3f}"]
    lookup = f"{_column(1 + len(levels))}{place}"
    for number, level in reversed(list(enumerate(levels, 1))):
        lookup = f"IF(N{row}={percent(level)},{_column(number)}{place},{lookup})"
    return [target_form.format(percent(target)), f"={lookup}", f"=M{row}/O{row}"]


def _tensor_cells(tensors: Sequence[Tensor]) -> list[str]:
    return [
        safe(";".join(t.name for t in tensors)),
        ";".join(shape_text(t.shape) for t in tensors),
        ";".join(t.dtype for t in tensors),
    ]


def shape_text(shape: tuple[int, ...] | None) -> str:
    """`1024x256`; nothing for a scalar, `?` where unknown."""
    return "?" if shape is None else "x".join(map(str, shape))


def _total_rows(profile: PerformanceProfile, first: int, layout: Layout) -> list[list[str]]:
    operators = profile.operators
    total, support, ratio = _constant_totals(profile, layout)
    last = first + len(operators) - 1
    end = last + 1
    places = [f"P{first + n}" for n, op in enumerate(operators) if op.sparse_support]
    supported = "=" + "+".join(places) if places else ""
    if len(supported) > _FORMULA_LIMIT:
        supported = f'=SUMIF(L{first}:L{last},"true",P{first}:P{last})'
    return [
        [
            "total latency(ms)", total, "", "total aim to sparse latency(ms)", f"=SUM(P{first}:P{last})",
            "sparse improve", f"=M{end}/P{end}",
        ],
        ["sparse support latency(ms)", support, "", "aim to sparse support latency(ms)", supported, ""],
        ["sparse support latency ratio", ratio, "", "aim to sparse support latency ratio", f"=P{end + 1}/P{end}"],
    ]  # fmt: skip


def _constant_totals(profile: PerformanceProfile, layout: Layout) -> tuple[str, str, str]:
    """Column M of the totals: as an imported file stated them while its latencies stand, else from the rows."""
    latencies = [round(op.latency_ms, 3) for op in profile.operators]
    total = sum(latencies)
    if layout.totals is not None and layout.rows_ms == f"{total:.3f}":
        return layout.totals
    support = sum(ms for ms, op in zip(latencies, profile.operators, strict=True) if op.sparse_support)
    return f"{total:.3f}", f"{support:.3f}", f"{support / total if total else 0.0:.3f}"


def _column(number: int) -> str:
    """0 → A."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters
