"""Operators from the rows of a workbook's operators sheet, for formats that are written from a profile."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from workbench.errors import BookError
from workbench.exchange.imported import imported_operator, shape_of
from workbench.exchange.neural_engine.csv_reader import tensors_of
from workbench.profile import (
    ModelInfo,
    OperatorRecord,
    PerformanceProfile,
    Provenance,
    RatioTable,
    Tensor,
    Weight,
)

if TYPE_CHECKING:
    import pandas as pd

_NEEDED = ("operator type", "operator name", "weight shape", "sparse support", "operator latency (ms)")
_TARGETS = ("target in force", "aim to weight sparse ratio")


def profile_of_rows(
    rows: pd.DataFrame, name: str, facts: Mapping[str, object], settings: Mapping[str, str], where: str
) -> PerformanceProfile:
    """A profile with the sheet's operators as they stand there. Raises `BookError` where a cell won't do."""
    missing = next((column for column in _NEEDED if column not in rows.columns), None)
    if missing is not None:
        raise BookError(f"there is no column {missing!r} on the operators sheet", where=where, remedy="put it back")
    records = [{str(k): v for k, v in row.items()} for row in rows.to_dict("records")]
    operators = tuple(_operator(n, row, where) for n, row in enumerate(records))
    return PerformanceProfile(
        name=name,
        model=ModelInfo(str(facts.get("model") or "unknown"), "", 0, "", 0, len(operators)),
        machine=None,
        batch=_whole(facts.get("batch")) or 1,
        dims={},
        assumed_dims=(),
        cores=_whole(facts.get("cores")),
        threads=_whole(facts.get("threads")),
        instances=_whole(facts.get("instances")) or 1,
        runtime=str(facts.get("runtime") or ""),
        operators=operators,
        end_to_end_ms=None,
        end_to_end_spread=math.nan,
        profiled_ms=None,
        warmup=0,
        iterations=0,
        sessions=0,
        created=datetime.now().replace(microsecond=0),
        provenance=Provenance.IMPORTED,
        settings=settings,
    )


def targets_of_rows(rows: pd.DataFrame) -> tuple[float | None, ...]:
    """The target that each operator has in force; None where it stays dense."""
    column = next((c for c in _TARGETS if c in rows.columns), None)
    if column is None:
        return (None,) * len(rows)
    values = (float(v) if _is_number(v) else 0.0 for v in rows[column])
    return tuple(round(v, 10) if v > 0 else None for v in values)


def ratios_off_table(
    rows: pd.DataFrame, profile: PerformanceProfile, targets: tuple[float | None, ...], table: RatioTable
) -> dict[int, float]:
    """Operator → perf ratio, where the sheet's is not the table's cell: interpolated, or typed."""
    if "perf ratio" not in rows.columns:
        return {}
    lines = {row.shape: row for row in table.rows}
    found: dict[int, float] = {}
    for op, target, value in zip(profile.operators, targets, rows["perf ratio"], strict=True):
        if not op.sparse_support or target is None or not _is_number(value) or float(value) <= 0:
            continue
        line = lines.get(op.weight.shape) if op.weight else None
        looked_up = 1.0 if line is None else line.ratios.get(target, line.others)
        if abs(float(value) - looked_up) > 1e-6 * looked_up:
            found[op.index] = float(value)
    return found


def _operator(index: int, row: Mapping[str, Any], where: str) -> OperatorRecord:
    latency = row["operator latency (ms)"]
    if not _is_number(latency) or latency < 0:
        raise BookError(
            f"operator {index + 1} ({row['operator name']!r}): its latency is {latency!r}, expected milliseconds",
            where=where,
            remedy="correct the cell",
        )
    shape = shape_of(_text(row["weight shape"]))
    zeros = row.get("weight sparse ratio")
    weight = None
    if shape:
        weight = Weight(
            _text(row.get("weight name")),
            shape,
            "?",
            _plain(zeros),
            None,
            math.prod(shape),
        )
    return imported_operator(
        index,
        _text(row["operator type"]),
        _text(row["operator name"]),
        float(latency),
        layer_id=_text(row.get("layer id")),
        post_ops=tuple(_text(row.get("post op")).split(";")) if _text(row.get("post op")) else (),
        inputs=_tensors(row, "input"),
        outputs=_tensors(row, "output"),
        weight=weight,
        support=(row["sparse support"] is True and weight is not None, ""),
    )


def _tensors(row: Mapping[str, Any], side: str) -> tuple[Tensor, ...]:
    """Tensors as the sheet lists them; where a cell was cut for length, names without shapes."""
    names, shapes, dtypes = (_text(row.get(f"{side} {what}")) for what in ("tensor name", "shape", "dtype"))
    plain = re.sub(r"(?<![^;])scalar(?![^;])", "", shapes)
    try:
        return tensors_of(names, plain, dtypes)
    except ValueError:
        return tuple(Tensor(part, None, "?") for part in names.split(";"))


def _text(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.10g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _whole(value: object) -> int:
    return int(value) if isinstance(value, int | float) and _is_number(value) else 0


def _plain(value: object) -> float:
    """A number; 0 for anything else."""
    return float(value) if isinstance(value, int | float) and _is_number(value) else 0.0
