"""Reading the engine's CSV, of either dialect, as written or as a spreadsheet saved it.

The dialects differ in percent signs (the older one may lose them) and in what the latencies are; a spreadsheet
that saves CSV puts values where the formulas stood. Ratios and targets are kept as the file has them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from workbench.errors import FormatError
from workbench.exchange.cells import percent, shown
from workbench.exchange.imported import (
    ImportedProfile,
    csv_rows,
    decimal_comma,
    imported_operator,
    imported_profile,
    number_of,
    shape_of,
    text_of,
    weight_in,
)
from workbench.exchange.neural_engine.csv_writer import COLUMNS, FILE_LAYOUT, Layout
from workbench.exchange.neural_engine.with_model import with_model
from workbench.exchange.source import Source
from workbench.profile import OperatorRecord, RatioRow, RatioTable, Tensor
from workbench.profile import Source as RatioSource

_LEVEL = re.compile(r"\s*([\d.]+)\s*%?\s*4x1\s+p(?:er|re)f\s+ratio\s*", re.IGNORECASE)
_FILE_NAME = re.compile(r"profiling_(\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d)_(\d+)")
_PERCENT = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(%?)")
_TOTALS = ("total latency(ms)", "sparse support latency(ms)", "sparse support latency ratio")
_FORMULA = re.compile(r"=\s*IF\(", re.IGNORECASE)
_LABELS, _LATENCY, _TARGET, _RATIO = 11, 12, 13, 14
_ROUNDING_MS = 0.0005
"""Half of the last digit of a latency in the file."""


def is_neural_engine_csv(text: str) -> bool:
    """Whether a file begins like the engine's CSV, whatever its separator."""
    first = text.lstrip("\ufeff").split("\n", 1)[0].lower()
    return first.strip('"').startswith("weight shape") and ("4x1" in first or "others" in first)


def looks_like(source: Source) -> bool:
    """Whether the source is such a file."""
    return is_neural_engine_csv(source.text)


def read(source: Source) -> ImportedProfile:
    """The same as `read_profile_csv`, joined with the model where there is one."""
    found = read_profile_csv(source.path, batch=source.batch, cores=source.cores)
    return with_model(found, source.path, source.model)


def read_profile_csv(path: str | Path, *, batch: int | None = None, cores: int | None = None) -> ImportedProfile:
    """The profile, ratios and targets of the file. Raises `FormatError` naming row and column."""
    path = Path(path)
    return read_profile_rows(_rows(path), path, batch=batch, cores=cores)


def read_profile_rows(
    rows: Sequence[Sequence[str]], path: Path, *, batch: int | None = None, cores: int | None = None
) -> ImportedProfile:
    """The same from rows of cells."""
    titles = next((n for n, row in enumerate(rows) if row and _same(row[0], COLUMNS[0])), None)
    if titles is None:
        raise FormatError(
            f"there is no row with the column names ({COLUMNS[0]}, {COLUMNS[1]}, …)",
            where=path,
            remedy="it is cut short, or not a Neural Engine profile",
        )
    table = _ratio_table(rows[:titles], path)
    _check_titles(rows[titles], titles + 1, path)
    end = next((n for n in range(titles + 1, len(rows)) if _is_total(rows[n])), None)
    if end is None:
        raise FormatError(
            f"it ends after row {len(rows)} without its totals ({_TOTALS[0]}, …)",
            where=path,
            remedy="the file is cut short: write or copy it again",
        )
    filled = [n for n in range(titles + 1, end) if any(cell.strip() for cell in rows[n])]
    if not filled:
        raise FormatError("it has no operators", where=path, remedy="write the profile of a model that ran")
    lines = [_operator(_checked(rows[n], n + 1, path), n + 1, index, path) for index, n in enumerate(filled)]
    operators = [line.operator for line in lines]
    targets = tuple(line.target for line in lines)
    as_text = any(line.target is not None and not line.target_text.startswith("=") for line in lines)
    layout, notes = _layout(rows[end:], operators, as_text)
    notes += _ratio_notes(lines, table)
    when, instance = named_time(path)
    layout = replace(layout, instance=instance)
    profile = imported_profile(
        path,
        operators,
        runtime="Neural Engine",
        created=when,
        batch=batch,
        cores=cores,
        instance=instance,
        warnings=notes,
        settings={FILE_LAYOUT: layout.text} if layout.text else {},
    )
    return ImportedProfile(profile, table, targets, tuple(notes))


def _rows(path: Path) -> list[list[str]]:
    text = text_of(path)
    first = text.split("\n", 1)[0]
    for separator, name in ((";", "semicolons"), ("\t", "tabs")):
        if first.count(separator) > first.count(","):
            raise FormatError(
                f"its columns are separated by {name}",
                where=path,
                remedy="save it as CSV with commas between columns and decimal points",
            )
    return csv_rows(path, text)


def _same(cell: str, title: str) -> bool:
    def plain(text: str) -> str:
        text = re.sub(r"\s+", " ", text.strip().lower()).replace("perf", "pref").replace(" (ms)", "(ms)")
        return text.removeprefix("sparse kernel ")

    return plain(cell) == plain(title)


def _check_titles(row: Sequence[str], number: int, path: Path) -> None:
    for n, title in enumerate(COLUMNS):
        cell = row[n] if n < len(row) else ""
        if not _same(cell, title):
            raise FormatError(
                f"row {number}, column {chr(65 + n)}: the column is named {cell.strip()!r}, expected {title!r}",
                where=path,
                remedy="keep the engine's 16 columns in their order",
            )


def _ratio_table(rows: Sequence[Sequence[str]], path: Path) -> RatioTable:
    if not rows or not rows[0] or rows[0][0].strip().lower() != "weight shape":
        raise FormatError(
            "row 1 does not begin with 'weight shape'", where=path, remedy="keep the ratio table's header"
        )
    titles = list(rows[0])
    while titles and not titles[-1].strip():
        titles.pop()
    if len(titles) < 3 or titles[-1].strip().lower() != "others":
        raise FormatError("row 1: the ratio table's last column is not 'others'", where=path, remedy="keep its header")
    levels = [_level(title, n, path) for n, title in enumerate(titles[1:-1], 1)]
    if len(set(levels)) < len(levels):
        raise FormatError("row 1: two columns of the ratio table are of the same level", where=path)
    found: dict[tuple[int, ...], RatioRow] = {}
    for number, cells in enumerate(rows[1:], 2):
        if not any(cell.strip() for cell in cells):
            continue
        shape = shape_of(cells[0])
        if not shape:
            raise FormatError(
                f"row {number}, column A: {cells[0]!r} is not a weight shape", where=path, remedy="write e.g. 256x1024"
            )
        if sum(1 for c in cells if c.strip()) > len(titles):
            raise FormatError(
                f"row {number} has {len(cells)} columns, expected {len(titles)}",
                where=path,
                remedy="a decimal comma adds columns: save the file with decimal points",
            )
        padded = [*cells, *[""] * len(titles)]
        ratios = {
            level: _ratio(padded[n], path, f"row {number}, column {chr(65 + n)}")
            for n, level in enumerate(levels, 1)
            if padded[n].strip()
        }
        last = len(titles) - 1
        others = _ratio(padded[last] or "1", path, f"row {number}, column {chr(65 + last)}")
        if shape in found:
            raise FormatError(
                f"row {number}: the weight shape {cells[0].strip()} stands twice",
                where=path,
                remedy="delete one of them",
            )
        found[shape] = RatioRow(shape, ratios, others, f"{RatioSource.USER.value}: {path.name}")
    return RatioTable(tuple(levels), tuple(found.values()))


def _ratio(text: str, path: Path, place: str) -> float:
    value = number_of(text, path, place, what="a perf ratio")
    if value == 0:
        raise FormatError(f"{place}: a perf ratio is above 0", where=path, remedy="correct the cell")
    return value


def _level(title: str, column: int, path: Path) -> float:
    match = _LEVEL.fullmatch(title)
    value = float(match[1]) if match else 0.0
    level = round(value / 100 if value > 1 else value, 10)
    if not 0 < level < 1:
        raise FormatError(
            f"row 1, column {chr(65 + column)}: {title.strip()!r} names no pruning level",
            where=path,
            remedy="write e.g. '90% 4x1 perf ratio'",
        )
    return level


def _is_total(row: Sequence[str]) -> bool:
    return len(row) > _LATENCY and _same(row[_LABELS], _TOTALS[0]) and not any(c.strip() for c in row[:_LABELS])


def _checked(row: Sequence[str], number: int, path: Path) -> list[str]:
    """The row's 16 cells. Raises where there are more or fewer."""
    cells = list(row)
    while len(cells) > len(COLUMNS) and not cells[-1].strip():
        cells.pop()
    if len(cells) < len(COLUMNS):
        cells = _unmerged(cells)
    if len(cells) == len(COLUMNS):
        return cells
    remedy = "the file is cut short or a cell was deleted"
    if len(cells) > len(COLUMNS):
        remedy = "decimal commas, or unquoted commas in a name, add columns: save with decimal points and quotes"
    raise FormatError(f"row {number} has {len(cells)} columns, expected {len(COLUMNS)}", where=path, remedy=remedy)


def _unmerged(cells: list[str]) -> list[str]:
    """Undo what the engine does to scalars: it prints neither a shape nor the comma behind it."""
    for place in (4, 7):
        if len(cells) >= len(COLUMNS) or place >= len(cells):
            break
        parts = cells[place].split(";")
        shapes = next((n for n, part in enumerate(parts) if not shape_of(part)), len(parts))
        if shapes < len(parts) and all(re.fullmatch(r"[a-z]+\d*", p) for p in parts[shapes:]):
            cells = [*cells[:place], ";".join([*parts[:shapes], ""]), ";".join(parts[shapes:]), *cells[place + 1 :]]
    return cells


@dataclass(frozen=True)
class _Line:
    row: int
    operator: OperatorRecord
    target: float | None
    target_text: str
    ratio: str


def _operator(cells: Sequence[str], row: int, index: int, path: Path) -> _Line:
    inputs = _tensors(cells[3:6], row, "input", path)
    outputs = _tensors(cells[6:9], row, "output", path)
    shape = shape_of(cells[9])
    if shape is None:
        raise FormatError(
            f"row {row}, column J: {cells[9]!r} is not a weight shape", where=path, remedy="write e.g. 256x1024"
        )
    zero_ratio = _share(cells[10], path, f"row {row}, column K", always_percent=True) or 0.0
    weight = weight_in(shape, inputs, zero_ratio) if shape else None
    supported = _truth(cells[_LABELS], row, path)
    if supported and weight is None:
        raise FormatError(
            f"row {row}: 'sparse support' is true, but there is no weight shape",
            where=path,
            remedy="fill in column J or clear column L",
        )
    name = shown(cells[2])
    operator = imported_operator(
        index,
        shown(cells[0]),
        name,
        number_of(cells[_LATENCY], path, f"row {row}, column M", what="a latency in ms"),
        post_ops=tuple(shown(cells[1]).split(";")) if cells[1] else (),
        inputs=inputs,
        outputs=outputs,
        weight=weight,
        support=(supported, "as the file says" if weight else "no constant weight"),
    )
    target_text = cells[_TARGET].strip()
    target = _share(target_text.removeprefix("="), path, f"row {row}, column N")
    return _Line(row, operator, target, target_text, cells[_RATIO].strip())


def _tensors(cells: Sequence[str], row: int, kind: str, path: Path) -> tuple[Tensor, ...]:
    try:
        return tensors_of(shown(cells[0]), cells[1], cells[2])
    except ValueError as error:
        raise FormatError(f"row {row}: the {kind} tensors' {error}", where=path, remedy="correct the row") from None


def tensors_of(names: str, shapes: str, dtypes: str) -> tuple[Tensor, ...]:
    """Tensors from three cells joined by `;`. There are as many as dtypes; a name may itself hold a `;`.

    A shape `?` is unknown, and so are all where there are fewer shapes than tensors (the engine leaves scalars
    out). Raises `ValueError` where the cells don't fit together.
    """
    if not (names or shapes or dtypes):
        return ()
    types = dtypes.split(";")
    parts = names.split(";")
    if len(parts) < len(types):
        raise ValueError(f"{len(parts)} names and {len(types)} dtypes don't fit together")
    parts = [*parts[: len(types) - 1], ";".join(parts[len(types) - 1 :])]
    texts = shapes.split(";")
    if len(texts) > len(types):
        raise ValueError(f"{len(texts)} shapes and {len(types)} dtypes don't fit together")
    dims = [shape_of(t) for t in texts] if len(texts) == len(types) else [None] * len(types)
    wrong = next((t for t in texts if shape_of(t) is None and t.strip() != "?"), None)
    if wrong is not None:
        raise ValueError(f"shape {wrong!r} is none")
    return tuple(Tensor(n, s, t) for n, s, t in zip(parts, dims, types, strict=True))


def _truth(text: str, row: int, path: Path) -> bool:
    word = text.strip().lower()
    if word in ("true", "1", "yes"):
        return True
    if word in ("", "false", "0", "no"):
        return False
    raise FormatError(f"row {row}, column L: {text!r} is neither true nor empty", where=path, remedy="correct the cell")


def _share(text: str, path: Path, place: str, *, always_percent: bool = False) -> float | None:
    """`90%`, `90` or `0.9` as 0.9; None for a blank. The weight's own sparsity is a percentage without a sign, too."""
    text = text.strip()
    if not text:
        return None
    match = _PERCENT.fullmatch(text)
    if match is None:
        if re.fullmatch(r"\d+,\d+\s*%?", text):
            raise decimal_comma(text, path, place)
        raise FormatError(f"{place}: {text!r} is not a sparsity", where=path, remedy="write e.g. 90%")
    value = float(match[1])
    share = value / 100 if always_percent or match[2] or value > 1 else value
    highest = 1.0 if always_percent else 0.9999
    if not 0 <= share <= highest:
        raise FormatError(
            f"{place}: a sparsity of {text} is out of range", where=path, remedy="write a value from 0% to below 100%"
        )
    return round(share, 10)


def _ratio_notes(lines: Sequence[_Line], table: RatioTable) -> list[str]:
    """Ratios that a person typed over the lookup: the workbook looks them up, so these don't carry over."""
    rows = {row.shape: row for row in table.rows}
    notes = []
    for line in lines:
        weight = line.operator.weight
        if not line.ratio or weight is None or _FORMULA.match(line.ratio):
            continue
        row = rows.get(weight.shape)
        expected = 1.0 if row is None else row.ratios.get(line.target or 0.0, row.others)
        try:
            typed = float(line.ratio)
        except ValueError:
            notes.append(f"row {line.row}: the perf ratio's own formula {line.ratio!r} was not taken over")
            continue
        if abs(typed - expected) > 1e-6 * max(expected, 1.0):
            notes.append(
                f"row {line.row}: the perf ratio {typed:g} typed there was not taken over; "
                f"the ratio table gives {expected:g} for {weight.label} at {percent(line.target or 0.0)}"
            )
    return notes


def _layout(
    rows: Sequence[Sequence[str]], operators: Sequence[OperatorRecord], targets_as_text: bool
) -> tuple[Layout, list[str]]:
    """What to keep of how the file stands; a note where its rows don't add up to its totals."""
    stated = [row[_LATENCY].strip() for row in rows[:3] if len(row) > _LATENCY]
    total = sum(op.latency_ms for op in operators)
    try:
        first = float(stated[0])
    except (ValueError, IndexError):
        return Layout(targets_as_text), ["the file's total latency(ms) is no number and was left out"]
    if abs(first - total) > _ROUNDING_MS * (len(operators) + 2):
        note = f"the file states a total latency of {first:g} ms, but its rows add up to {total:.3f} ms"
        return Layout(targets_as_text), [note]
    if len(stated) < 3 or not all(stated):
        return Layout(targets_as_text), []
    return Layout(targets_as_text, (stated[0], stated[1], stated[2]), f"{total:.3f}"), []


def named_time(path: Path) -> tuple[datetime | None, int]:
    """Time and instance from the file's name."""
    match = _FILE_NAME.match(path.stem)
    if match is None:
        return None, 0
    try:
        return datetime.strptime(match[1], "%Y-%m-%d_%H-%M-%S"), int(match[2])
    except ValueError:
        return None, 0
