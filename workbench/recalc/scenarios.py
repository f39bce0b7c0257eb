"""Many scenarios at once: inputs carry arrays, outputs come back as arrays; what doesn't vary is computed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.errors import CellError
from workbench.recalc.references import Region
from workbench.recalc.store import Piece
from workbench.recalc.targets import resolved
from workbench.recalc.values import BLANK, BOOL, ERROR, NUMBER, TEXT, Objects, Value, from_objects

if TYPE_CHECKING:
    from workbench.recalc.workbook import Workbook

BLOCK_ELEMENTS = 1 << 19
"""Scenarios times cells of the largest family in one block: its arrays then stay near the processor."""

BLOCK_BYTES = 256 << 20
"""What the varying cells of one block may take together."""


@dataclass(frozen=True)
class _Input:
    region: Region
    value: Value
    """(S, F = rows, R = 1, C = columns) of the region."""


def evaluate_scenarios(
    book: Workbook, inputs: Mapping[str, ArrayLike], outputs: Sequence[str], *, block: int | None = None
) -> dict[str, NDArray[Any]]:
    """See `Workbook.evaluate`."""
    if book.dirty is None or book.dirty:
        book.recalculate()
    given = [_input(book, target, array) for target, array in inputs.items()]
    wanted = {target: book.model.store.clipped(resolved(book.model, target)) for target in outputs}
    count = max((item.value.shape[0] for item in given), default=1)
    for (target, _), item in zip(inputs.items(), given, strict=True):
        if item.value.shape[0] not in (1, count):
            raise CellError(
                f"it has {item.value.shape[0]} scenarios, another input has {count}",
                where=target,
                remedy="give arrays of one length",
            )
    families = _affected(book, given, list(wanted.values()))
    _refuse_failures(book, wanted)
    step = block or _block_size(book, families, wanted, count)
    parts: dict[str, list[Value]] = {target: [] for target in wanted}
    for start in range(0, count, step):
        stop = min(start + step, count)
        with book.engine.problems_apart():
            found = _run_block(book, given, wanted, families, start, stop)
            _refuse_failures(book, wanted)
        for target, value in found.items():
            parts[target].append(value)
    return {target: _array(pieces, wanted[target]) for target, pieces in parts.items()}


def _input(book: Workbook, target: str, array: ArrayLike) -> _Input:
    region = resolved(book.model, target)
    values = np.asarray(array)
    if values.ndim == 0:
        values = values.reshape(1)
    single = region.rows * region.columns == 1
    shape = (values.shape[0], region.rows, region.columns)
    if single and values.ndim == 1:
        values = values.reshape(shape)
    elif values.shape != shape:
        wanted = "(scenarios,)" if single else f"(scenarios, {region.rows}, {region.columns})"
        raise CellError(f"its array has the shape {values.shape}", where=target, remedy=f"it must be {wanted}")
    for index in book.graph.placement.within(region):
        place = book.families[index].place
        cell = book.label(place.sheet, max(place.row, region.row1), max(place.column, region.column1))
        raise CellError("it holds a formula, so it can't be varied", where=cell, remedy="vary the cells it reads")
    four = values.reshape(shape[0], shape[1], 1, shape[2])
    if values.dtype == bool:
        return _Input(region, Value(BOOL, four.astype(np.float64)))
    if values.dtype.kind in "iuf":
        numbers = four.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise CellError("its array holds NaN or infinity", where=target, remedy="give finite numbers")
        return _Input(region, Value(NUMBER, numbers))
    return _Input(region, from_objects(four.astype(object)))


def _affected(book: Workbook, given: list[_Input], outputs: list[Region]) -> list[int]:
    """The families between the inputs and the outputs."""
    reached = book.engine.reached_by(item.region for item in given)
    reached |= book.graph.dependents(i for i, p in enumerate(book.graph.precedents) if p.unknown)
    asked = {index for region in outputs for index in book.graph.placement.within(region)}
    needed = book.graph.ancestors(asked)
    if any(book.graph.precedents[index].unknown for index in needed):
        return sorted(reached)  # which cells such a formula reads is known only when it runs
    return sorted(reached & needed)


def _refuse_failures(book: Workbook, wanted: Mapping[str, Region]) -> None:
    if not book.engine.problems:
        return
    for target, region in wanted.items():
        cell = book.engine.failing_cell(region)
        if cell is not None:
            reason = book.engine.problems[cell].reason
            raise CellError(f"it can't be evaluated: {book.label(*cell)} {reason}", where=target)


def _block_size(book: Workbook, families: list[int], wanted: Mapping[str, Region], count: int) -> int:
    sizes = [book.families[index].extent.rows * book.families[index].extent.columns for index in families]
    sizes += [region.rows * region.columns for region in wanted.values()]
    largest, total = max(sizes, default=1), sum(sizes) or 1
    return max(1, min(count, BLOCK_ELEMENTS // largest or 1, BLOCK_BYTES // (total * 12) or 1))


def _run_block(
    book: Workbook, given: list[_Input], wanted: Mapping[str, Region], families: list[int], start: int, stop: int
) -> dict[str, Value]:
    store, model, results = book.model.store, book.model, book.results
    model.scenarios = stop - start
    results.varying = True
    try:
        for item in given:
            part = item.value if item.value.shape[0] == 1 else item.value[start:stop]
            part = part.broadcast((stop - start, *part.shape[1:]))
            r = item.region
            for i in range(r.columns):
                store.add_piece(r.sheet, r.column1 + i, Piece(r.row1, r.row2, part[:, :, :, i : i + 1]))
        book.engine.run(families)
        return {
            target: store.block(r.sheet, r.row1, r.column1, r.row2, r.column2).broadcast(
                (stop - start, 1, r.rows, r.columns)
            )
            for target, r in wanted.items()
        }
    finally:
        store.forget_scenarios()
        model.scenarios = 1
        results.varying = False


def _array(parts: list[Value], region: Region) -> NDArray[Any]:
    """(S,) for a cell, (S, rows, columns) for a range: floats, booleans, or objects where kinds are mixed."""
    kinds = {kind for part in parts for kind in (BLANK, NUMBER, TEXT, BOOL, ERROR) if part.any(kind)}
    if kinds <= {NUMBER}:
        joined: NDArray[Any] = np.concatenate([part.num for part in parts])
    elif kinds == {BOOL}:
        joined = np.concatenate([part.num != 0 for part in parts])
    else:
        found: list[Objects] = [part.objects() for part in parts]
        joined = np.concatenate(found)
    joined = joined[:, 0]
    return joined[:, 0, 0] if region.rows * region.columns == 1 else joined
