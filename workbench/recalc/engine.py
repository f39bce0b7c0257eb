"""Evaluation in dependency order: families at once where possible, cell by cell where they depend on themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from workbench.recalc import functions as _functions
from workbench.recalc.evaluate import evaluate_lanes
from workbench.recalc.families import Family, Mode
from workbench.recalc.graph import Graph
from workbench.recalc.model import Model
from workbench.recalc.place import Place
from workbench.recalc.printer import address, quoted_sheet
from workbench.recalc.recursion import deep_recursion
from workbench.recalc.references import MAX_COLUMNS, MAX_ROWS, Region
from workbench.recalc.results import Results
from workbench.recalc.values import NotEvaluable, Value

MOST_ROUNDS = 50
"""How often spill ranges may change size before the workbook counts as never settling."""

_PENDING, _ACTIVE, _DONE = range(3)

Cell = tuple[int, int, int]
"""Sheet, row, column."""


@dataclass(frozen=True)
class Unevaluated:
    """A cell that kept its old value. `stale`: only because it depends on another such cell."""

    sheet: int
    row: int
    column: int
    reason: str
    stale: bool


class _Needs(Exception):
    """A watched evaluation read cells of families that have not been evaluated."""

    def __init__(self, families: Sequence[int]) -> None:
        super().__init__()
        self.families = families


class _NeedsCell(Exception):
    """A watched evaluation read a cell of its own group that has not been evaluated."""

    def __init__(self, family: int, index: int) -> None:
        super().__init__()
        self.family = family
        self.index = index


class _Stale(NotEvaluable):
    """What is read could not be evaluated."""


@dataclass
class Engine:
    """Evaluates a workbook's families and keeps what could not be evaluated."""

    model: Model
    graph: Graph
    results: Results
    problems: dict[Cell, Unevaluated] = field(default_factory=dict)
    """The cells that keep an old value."""

    def __post_init__(self) -> None:
        self._failing: dict[int, NDArray[np.bool_]] = {}
        """Family → which of its cells kept their old value."""
        self._state: list[int] = []
        self._component: list[int] = self.graph.component
        self._groups: dict[int, _Group] = {}
        self._grew: list[Region] = []

    # --- what to evaluate

    def run(self, wanted: Iterable[int] | None = None) -> None:
        """Evaluate the families `wanted` (all when None); the others are taken as up to date."""
        todo = set(range(len(self.graph.families))) if wanted is None else set(wanted)
        for _ in range(MOST_ROUNDS):
            with deep_recursion():
                self._pass(todo)
            if not self._grew:
                return
            changed, self._grew = self._grew, []
            todo = self.reached_by(changed)
        raise NotEvaluable("spill ranges that depend on each other never settle")

    def reached_by(self, regions: Iterable[Region]) -> set[int]:
        """The families to evaluate again after the cells in `regions` changed."""
        start: set[int] = set()
        for region in regions:
            start |= self.graph.readers_of(region)
        return self.graph.dependents(start)

    def _pass(self, todo: set[int]) -> None:
        order = self.graph.order
        self._state = [_DONE] * len(order)
        self._component = self.graph.component
        self._groups = {}
        for family in todo:
            self._state[self._component[family]] = _PENDING
            self._clear(family)
        for component in range(len(order)):
            if self._state[component] == _PENDING:
                self._ensure(component)

    def _clear(self, family: int) -> None:
        bad = self._failing.pop(family, None)
        if bad is not None:
            f = self.graph.families[family]
            for i, (row, column) in enumerate(f.cells()):
                if bad[i]:
                    self.problems.pop((f.place.sheet, row, column), None)

    # --- components, each after what it reads

    def _ensure(self, component: int) -> None:
        """Evaluate a component after those it turns out to need."""
        stack = [component]
        while stack:
            top = stack[-1]
            if self._state[top] == _DONE:
                stack.pop()
                continue
            self._state[top] = _ACTIVE
            needed = {self._component[r] for m in self._members(top) for r in self.graph.reads[m]}
            before = [c for c in needed if self._state[c] == _PENDING]
            if before:
                stack += before
                continue
            around = [c for c in needed if self._state[c] == _ACTIVE and c != top]
            if around:
                self._merge(around, stack)
                continue
            try:
                self._evaluate(top)
            except _Needs as needs:
                wanted = {self._component[f] for f in needs.families}
                before = [c for c in wanted if self._state[c] == _PENDING]
                if before:
                    stack += before
                else:
                    self._merge([*wanted, top], stack)
                continue
            self._state[top] = _DONE
            stack.pop()

    def _members(self, component: int) -> list[int]:
        group = self._groups.get(component)
        return self.graph.order[component] if group is None else group.vertices

    def _merge(self, waiting: Sequence[int], stack: list[int]) -> None:
        """Components that wait for each other are evaluated together, cell by cell, from the lowest on the stack."""
        active = [i for i, c in enumerate(stack) if c in waiting and self._state[c] == _ACTIVE]
        together = [c for c in dict.fromkeys(stack[active[0] :]) if self._state[c] == _ACTIVE]
        top = stack[active[0]]
        vertices = sorted({m for c in together for m in self._members(c)})
        self._component = list(self._component)
        for vertex in vertices:
            self._component[vertex] = top
        for component in together:
            self._state[component] = _DONE
            self._groups.pop(component, None)
        del stack[active[0] + 1 :]
        self._state[top] = _ACTIVE
        self._groups[top] = _Group(self, vertices)

    def _evaluate(self, component: int) -> None:
        group = self._groups.get(component)
        if group is None and self.graph.cyclic(component):
            group = self._groups[component] = _Group(self, self.graph.order[component])
        if group is not None:
            group.run()
            return
        vertex = self.graph.order[component][0]
        if self.graph.is_family(vertex):
            self._family(self.graph.families[vertex])

    def _one_by_one(self, family: Family) -> None:
        group = self._groups[self._component[family.index]] = _Group(self, [family.index])
        group.run()

    def _family(self, family: Family) -> None:
        if family.node is None:
            for i, (row, column) in enumerate(family.cells()):
                self.fail(family, i, row, column, family.problem, stale=False)
            return
        unknown = self.graph.precedents[family.index].unknown
        if self._reads_failures(family) or (unknown and self._failing):
            self._one_by_one(family)
            return
        try:
            if unknown:
                self.model.watch = self._require
            value = evaluate_lanes(self.model, family.node, family.place, arrays=family.mode is not Mode.PLAIN)
        except (NotEvaluable, _Needs):
            self.model.watch = None
            self._one_by_one(family)
            return
        finally:
            self.model.watch = None
        self.store(family, value)

    def _reads_failures(self, family: Family) -> bool:
        if not self._failing:
            return False
        todo = list(self.graph.reads[family.index])
        while todo:
            vertex = todo.pop()
            if vertex in self._failing:
                return True
            if not self.graph.is_family(vertex):
                todo += self.graph.reads[vertex]
        return False

    def _require(self, region: Region) -> None:
        """Raise `_Needs` when `region` holds cells of families that are not evaluated yet."""
        missing = [f for f in self.graph.placement.within(_whole(region, self.model)) if not self.evaluated(f)]
        if missing:
            raise _Needs(missing)

    def evaluated(self, family: int) -> bool:
        """Whether a family's values are up to date."""
        return self._state[self._component[family]] == _DONE

    # --- results

    def store(self, family: Family, value: Value) -> None:
        """Give the cells of a family their values."""
        if family.mode is Mode.PLAIN:
            self.results.put(family.place, value)
        elif family.mode is Mode.ARRAY:
            self.results.fill(family.extent, value)
        else:
            self._grew += self.results.spill(family, value)

    def fail(self, family: Family, index: int, row: int, column: int, reason: str, *, stale: bool) -> None:
        """Note that a cell keeps its old value."""
        bad = self._failing.get(family.index)
        if bad is None:
            bad = self._failing[family.index] = np.zeros(family.place.count, dtype=bool)
        bad[index] = True
        self.problems[family.place.sheet, row, column] = Unevaluated(family.place.sheet, row, column, reason, stale)

    @contextmanager
    def problems_apart(self) -> Iterator[None]:
        """Forget afterwards which cells failed meanwhile."""
        problems, failing = dict(self.problems), {index: bad.copy() for index, bad in self._failing.items()}
        try:
            yield
        finally:
            self.problems, self._failing = problems, failing

    def failing_cell(self, region: Region) -> Cell | None:
        """A cell in `region` that kept its old value."""
        for index in self.graph.placement.within(region):
            bad = self._failing.get(index)
            if bad is None:
                continue
            family = self.graph.families[index]
            for i, (row, column) in enumerate(family.cells()):
                inside = region.row1 <= row <= region.row2 and region.column1 <= column <= region.column2
                if bad[i] and (inside or family.area is not None):
                    return family.place.sheet, row, column
        return None

    def label(self, cell: Cell) -> str:
        """`Sheet1!B7`."""
        return f"{quoted_sheet(self.model.store.sheets[cell[0]].name)}!{address(cell[1], cell[2])}"


class _Group:
    """Families that depend on themselves or each other, evaluated cell by cell as their reads turn out."""

    def __init__(self, engine: Engine, vertices: list[int]) -> None:
        self.engine = engine
        self.model = engine.model
        self.vertices = vertices
        self.families = {v: engine.graph.families[v] for v in vertices if engine.graph.is_family(v)}
        self.done = {index: np.zeros(family.place.count, dtype=bool) for index, family in self.families.items()}

    def run(self) -> None:
        """Evaluate every cell. Raises `_Needs` when another family must be evaluated first."""
        before = self.model.watch
        self.model.watch = self._watch
        try:
            for index, family in self.families.items():
                for i in range(family.place.count):
                    if not self.done[index][i]:
                        self._cell((index, i))
        finally:
            self.model.watch = before

    def _cell(self, wanted: tuple[int, int]) -> None:
        stack = [wanted]
        waiting = {wanted}
        while stack:
            index, i = stack[-1]
            family = self.families[index]
            place = family.place.part(i, 1)
            if self.done[index][i]:
                waiting.discard(stack.pop())
                continue
            try:
                value = self._evaluated(family, place)
            except _NeedsCell as needs:
                following = needs.family, needs.index
                if following in waiting:
                    self._circular(stack[stack.index(following) :])
                    continue
                stack.append(following)
                waiting.add(following)
                continue
            except _Stale as problem:
                self.engine.fail(family, i, place.row, place.column, str(problem), stale=True)
            except NotEvaluable as problem:
                self.engine.fail(family, i, place.row, place.column, str(problem), stale=False)
            else:
                if family.mode is Mode.PLAIN:
                    self.engine.results.put(place, value)
                else:
                    self.engine.store(family, value)
            self.done[index][i] = True
            waiting.discard(stack.pop())

    def _evaluated(self, family: Family, place: Place) -> Value:
        if family.node is None:
            raise NotEvaluable(family.problem)
        return evaluate_lanes(self.model, family.node, place, arrays=family.mode is not Mode.PLAIN)

    def _watch(self, region: Region) -> None:
        region = _whole(region, self.model)
        engine = self.engine
        for index in engine.graph.placement.within(region):
            if index in self.families:
                self._check_own(index, region)
            elif not engine.evaluated(index):
                raise _Needs([index])
        cell = engine.failing_cell(region)
        if cell is not None:
            raise _Stale(f"depends on {engine.label(cell)}, which could not be evaluated")

    def _check_own(self, index: int, region: Region) -> None:
        family, done = self.families[index], self.done[index]
        place = family.place
        if family.area is not None:
            if not done[0]:
                raise _NeedsCell(index, 0)
            return
        start = place.column if place.across else place.row
        low = max(0, (region.column1 if place.across else region.row1) - start)
        high = min(place.count, (region.column2 if place.across else region.row2) + 1 - start)
        part = done[low:high]
        if part.size and not part.all():
            raise _NeedsCell(index, low + int(part.argmin()))

    def _circular(self, cycle: list[tuple[int, int]]) -> None:
        cells: list[Cell] = []
        for index, i in cycle:
            place = self.families[index].place.part(i, 1)
            cells.append((place.sheet, place.row, place.column))
        shown = [self.engine.label(cell) for cell in cells]
        if len(shown) > 6:
            shown = [*shown[:3], f"{len(shown) - 4} more", shown[-1]]
        reason = "is part of a circular reference: " + " → ".join([*shown, self.engine.label(cells[0])])
        for (index, i), (_, row, column) in zip(cycle, cells, strict=True):
            self.engine.fail(self.families[index], i, row, column, reason, stale=False)
            self.done[index][i] = True


def _whole(region: Region, model: Model) -> Region:
    """All the cells that a region reads over a family (its own size when it doesn't move)."""
    if not region.moves:
        return region.ordered()
    far_row, far_column = model.store.last_row() + 1, model.store.last_column() + 1
    return Region(
        region.sheet,
        region.row1,
        region.column1,
        min(MAX_ROWS - 1, max(region.row2, far_row)) if region.step_row2 else region.row2,
        min(MAX_COLUMNS - 1, max(region.column2, far_column)) if region.step_column2 else region.column2,
    )


__all__ = ["Engine", "Unevaluated", "_functions"]
