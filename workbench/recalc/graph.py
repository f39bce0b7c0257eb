"""The dependency graph over families: who reads whom, in which order to evaluate, what an edit reaches."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.recalc.families import Family
from workbench.recalc.model import Model
from workbench.recalc.precedents import Precedents, precedents_of
from workbench.recalc.references import Region

_WIDE = 16
"""A region that meets more families than this becomes a vertex of its own, shared by all its readers."""


class Placement:
    """Finds the families that stand in a region."""

    def __init__(self, families: Sequence[Family]) -> None:
        spans: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        for family in families:
            e = family.extent
            for column in range(e.column1, e.column2 + 1):
                spans.setdefault((e.sheet, column), []).append((e.row1, e.row2, family.index))
        self._starts: dict[tuple[int, int], list[int]] = {}
        self._ends: dict[tuple[int, int], list[int]] = {}
        self._owners: dict[tuple[int, int], list[int]] = {}
        self._columns: dict[int, list[int]] = {}
        for key, found in spans.items():
            found.sort()
            self._starts[key] = [a for a, _, _ in found]
            ends = [b for _, b, _ in found]
            for i in range(1, len(ends)):
                ends[i] = max(ends[i], ends[i - 1])
            self._ends[key] = ends
            self._owners[key] = [owner for _, _, owner in found]
            self._columns.setdefault(key[0], []).append(key[1])
        for columns in self._columns.values():
            columns.sort()
        self._known: dict[Region, tuple[int, ...]] = {}

    def within(self, region: Region) -> tuple[int, ...]:
        """The families with a cell in `region`, ascending."""
        if region.row1 == region.row2 and region.column1 == region.column2:
            return self._at(region.sheet, region.row1, region.column1)
        known = self._known.get(region)
        if known is not None:
            return known
        columns = self._columns.get(region.sheet, [])
        found: set[int] = set()
        for column in columns[bisect_left(columns, region.column1) : bisect_right(columns, region.column2)]:
            key = region.sheet, column
            low = bisect_left(self._ends[key], region.row1)
            high = bisect_right(self._starts[key], region.row2)
            found.update(self._owners[key][low:high])
        result = tuple(sorted(found))
        if len(self._known) < 200_000:
            self._known[region] = result
        return result

    def _at(self, sheet: int, row: int, column: int) -> tuple[int, ...]:
        key = sheet, column
        ends = self._ends.get(key)
        if ends is None:
            return ()
        low = bisect_left(ends, row)
        high = bisect_right(self._starts[key], row)
        return tuple(self._owners[key][low:high])


class Graph:
    """Families and the regions that many of them are read through, as vertices; edges go to what is read."""

    def __init__(self, model: Model, families: list[Family]) -> None:
        self.families = families
        for index, family in enumerate(families):
            family.index = index
        self.placement = Placement(families)
        self.precedents: list[Precedents] = [
            Precedents() if family.node is None else precedents_of(model, family.node, family.place)
            for family in families
        ]
        self.reads: list[list[int]] = [[] for _ in families]
        wide: dict[Region, int] = {}
        for index, found in enumerate(self.precedents):
            mine: set[int] = set()
            for region in found.regions:
                owners = self.placement.within(region)
                if len(owners) <= _WIDE:
                    mine.update(owners)
                    continue
                vertex = wide.get(region)
                if vertex is None:
                    vertex = wide[region] = len(self.reads)
                    self.reads.append(list(owners))
                mine.add(vertex)
            self.reads[index] = sorted(mine)
        self.order, self.component = _components(self.reads)
        self._reader_ids, self._boxes = self._read_boxes()
        self._readers: list[list[int]] | None = None

    def is_family(self, vertex: int) -> bool:
        """Whether a vertex is a family, not a region."""
        return vertex < len(self.families)

    def cyclic(self, component: int) -> bool:
        """Whether a component's families (may) depend on themselves."""
        members = self.order[component]
        return len(members) > 1 or members[0] in self.reads[members[0]]

    def _read_boxes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        owners: list[int] = []
        boxes: list[tuple[int, int, int, int, int]] = []
        for index, found in enumerate(self.precedents):
            for r in found.regions:
                owners.append(index)
                boxes.append((r.sheet, r.row1, r.row2, r.column1, r.column2))
        return np.array(owners, dtype=np.int64), np.array(boxes, dtype=np.int64).reshape(-1, 5)

    def readers_of(self, region: Region) -> set[int]:
        """The families that read a cell of `region` directly."""
        if not self._boxes.size:
            return set()
        b = self._boxes
        hit = (b[:, 0] == region.sheet) & (b[:, 1] <= region.row2) & (b[:, 2] >= region.row1)
        hit &= (b[:, 3] <= region.column2) & (b[:, 4] >= region.column1)
        return set(self._reader_ids[hit].tolist())

    def dependents(self, start: Iterable[int]) -> set[int]:
        """Those families and all that depend on them, directly or not."""
        if self._readers is None:
            self._readers = [[] for _ in self.reads]
            for vertex, read in enumerate(self.reads):
                for other in read:
                    self._readers[other].append(vertex)
        seen = set(start)
        todo = list(seen)
        while todo:
            for vertex in self._readers[todo.pop()]:
                if vertex not in seen:
                    seen.add(vertex)
                    todo.append(vertex)
        return {vertex for vertex in seen if self.is_family(vertex)}

    def ancestors(self, start: Iterable[int]) -> set[int]:
        """Those families and all that they depend on."""
        seen = set(start)
        todo = list(seen)
        while todo:
            for vertex in self.reads[todo.pop()]:
                if vertex not in seen:
                    seen.add(vertex)
                    todo.append(vertex)
        return {vertex for vertex in seen if self.is_family(vertex)}


def _components(reads: list[list[int]]) -> tuple[list[list[int]], list[int]]:
    """Strongly connected components, each after those it reads (Tarjan 1972), and the component of each vertex."""
    count = len(reads)
    number = [-1] * count
    low = [0] * count
    component = [-1] * count
    order: list[list[int]] = []
    path: list[int] = []
    counter = 0
    for root in range(count):
        if number[root] >= 0:
            continue
        work: list[tuple[int, int]] = [(root, 0)]
        while work:
            vertex, step = work.pop()
            if step == 0:
                number[vertex] = low[vertex] = counter
                counter += 1
                path.append(vertex)
            targets = reads[vertex]
            while step < len(targets):
                target = targets[step]
                step += 1
                if number[target] < 0:
                    work.append((vertex, step))
                    work.append((target, 0))
                    break
                if component[target] < 0:
                    low[vertex] = min(low[vertex], number[target])
            else:
                if low[vertex] == number[vertex]:
                    members = []
                    while True:
                        member = path.pop()
                        component[member] = len(order)
                        members.append(member)
                        if member == vertex:
                            break
                    order.append(sorted(members))
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[vertex])
    return order, component
