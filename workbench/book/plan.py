"""What a workbook plans for a model: targets, ratios and estimates of a profile, read from its cells."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.book.read import Book
from workbench.errors import BookError

_DIMENSION = re.compile(r"\s*(?P<name>.+?) = (?P<value>\d+)(?: \(assumed\))?\s*")


@dataclass(frozen=True)
class PlannedOperator:
    """A row of the operators sheet, as far as pruning goes."""

    index: int
    """Row in the table, from 0."""
    name: str
    layer_id: str
    operator_type: str
    shape: tuple[int, ...]
    """Of the weight, N x K; empty where there is none."""
    dtype: str
    """Of the activations."""
    weight_dtype: str
    tokens: int | None
    """M, the rows of the activations that the weight multiplies; None where unknown."""
    supported: bool
    latency_ms: float
    target: float
    """Aimed share of zeros that is in force; 0 where there is none."""
    ratio: float
    """The perf ratio that the workbook applies."""
    aim_ms: float

    @property
    def label(self) -> str:
        """`256x1024`."""
        return "x".join(map(str, self.shape))

    @property
    def pruned(self) -> bool:
        """Whether the workbook plans to prune it."""
        return self.supported and self.target > 0


@dataclass(frozen=True)
class Plan:
    """A profile's plan and its estimate. Milliseconds per run of one batch."""

    book: Path
    profile: str
    model: str
    model_hash: str
    batch: int
    threads: int
    runtime: str
    measured: bool
    end_to_end_ms: float
    """NaN where nothing was run."""
    estimated_ms: float
    total_ms: float
    total_aim_ms: float
    operators: tuple[PlannedOperator, ...]

    @property
    def targets(self) -> dict[str, float]:
        """Layer id → target, of the operators to prune that are known by a layer id."""
        return {o.layer_id: o.target for o in self.operators if o.pruned and o.layer_id}

    @property
    def nameless(self) -> tuple[PlannedOperator, ...]:
        """Operators to prune that couldn't be matched with a layer of the model."""
        return tuple(o for o in self.operators if o.pruned and not o.layer_id)


def read_plan(book: Book, profile: str | None = None) -> Plan:
    """The plan of a profile; `profile` may be left out where there is one. Raises `BookError`.

    Cells are read with the values that the file holds.
    """
    name = _profile_name(book, profile)
    facts, totals, estimates = book.facts(name), book.totals(name), book.estimates(name)
    table = book.operators(name)
    operators = tuple(_operator(book, name, number, row) for number, row in enumerate(table.to_dict("records")))
    return Plan(
        book=book.path,
        profile=name,
        model=str(facts["model"] or ""),
        model_hash=str(facts["model_hash"] or ""),
        batch=_whole(facts["batch"], 1),
        threads=_whole(facts["threads"], 1),
        runtime=str(facts["runtime"] or ""),
        measured=str(facts["provenance"]) == "measured",
        end_to_end_ms=estimates["end_to_end"],
        estimated_ms=estimates["estimated_ms"],
        total_ms=totals["total_latency"],
        total_aim_ms=totals["total_aim_to_sparse_latency"],
        operators=operators,
    )


def _profile_name(book: Book, profile: str | None) -> str:
    names = book.profile_names
    if profile is None and len(names) == 1:
        return names[0]
    found = next((n for n in names if profile is not None and n.casefold() == profile.casefold()), None)
    if found is None:
        asked = "which of its profiles is meant is not said" if profile is None else f"there is no profile {profile!r}"
        raise BookError(asked, where=book.path, remedy=f"give --profile, one of: {', '.join(names)}")
    return found


def _operator(book: Book, profile: str, number: int, row: Mapping[Any, Any]) -> PlannedOperator:
    shape = _shape(_text(row["weight shape"]))
    dtypes = _text(row["input dtype"]).split(";")
    figures = {h: row[h] for h in ("operator latency (ms)", "perf ratio", "aim to sparse latency (ms)")}
    for header, value in figures.items():
        if not _is_number(value):
            raise BookError(
                f"{header!r} of operator {_text(row['operator name'])!r} holds {value!r}, not a number",
                where=f"{book.path}, sheet {profile!r}",
                remedy="run `workbench recompute` on the workbook, or mend the cell",
            )
    return PlannedOperator(
        index=number,
        name=_text(row["operator name"]),
        layer_id=_text(row["layer id"]),
        operator_type=_text(row["operator type"]),
        shape=shape,
        dtype=dtypes[0],
        weight_dtype=dtypes[1] if len(dtypes) > 1 else dtypes[0],
        tokens=_tokens(_text(row["input shape"]), shape),
        supported=row["sparse support"] is True or row["sparse support"] == 1,
        latency_ms=float(figures["operator latency (ms)"]),
        target=float(row["target in force"]) if _is_number(row["target in force"]) else 0.0,
        ratio=float(figures["perf ratio"]),
        aim_ms=float(figures["aim to sparse latency (ms)"]),
    )


def _tokens(shapes: str, weight: tuple[int, ...]) -> int | None:
    """M of X·Wᵀ: the elements of the activations over K. None unless they divide."""
    first = _shape(shapes.split(";")[0])
    elements = math.prod(first)
    if len(weight) != 2 or not first or not weight[1] or elements % weight[1]:
        return None
    return elements // weight[1]


def _shape(text: str) -> tuple[int, ...]:
    parts = text.split("x")
    return tuple(map(int, parts)) if all(p.isdecimal() for p in parts) else ()


def read_dims(book: Book, profile: str) -> dict[str, int]:
    """Values of symbolic dimensions, from the model summary's line `batch = 8, sequence = 128 (assumed)`."""
    text = book.value(f"dims_{book.objects[profile]}")
    found = (_DIMENSION.fullmatch(part) for part in _text(text).split(","))
    return {m["name"]: int(m["value"]) for m in found if m}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def _text(value: object) -> str:
    return "" if value is None or value != value else str(value)


def _whole(value: object, default: int) -> int:
    return int(value) if isinstance(value, int | float) and value == value else default
