"""The evaluator: expression tree → operand, for all scenarios and all cells of a family at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from workbench.recalc import calling, locating, operators
from workbench.recalc.coerce import date_system_1904
from workbench.recalc.nodes import (
    Apply,
    ArrayConstant,
    Binary,
    CellReference,
    ErrorLiteral,
    FunctionCall,
    Logical,
    Missing,
    NameReference,
    Node,
    Number,
    SpillReference,
    TableReference,
    Text,
    Unary,
)
from workbench.recalc.place import Place, reads_whole_columns
from workbench.recalc.references import Reference, Region
from workbench.recalc.registry import FUNCTIONS, Call, Lambda, Operand
from workbench.recalc.values import (
    ERROR,
    Bools,
    CellErrorValue,
    Failure,
    NotEvaluable,
    Scalar,
    TooLarge,
    Unvectorisable,
    Value,
    blank,
    error,
    from_rows,
    scalar,
)
from workbench.recalc.workspace import Workspace

DEEPEST_LAMBDA = 200


class Evaluation:
    """One expression being evaluated at one place; also the `Call` that lazy function bodies see."""

    __slots__ = ("_nodes", "arrays", "bound", "depth", "name", "place", "scenarios", "whole", "workspace")

    def __init__(
        self,
        workspace: Workspace,
        place: Place,
        *,
        arrays: bool = False,
        scenarios: int = 1,
        bound: dict[str, Operand] | None = None,
        depth: int = 0,
    ) -> None:
        self.workspace = workspace
        self.place = place
        self.arrays = arrays
        self.scenarios = scenarios
        self.bound = bound or {}
        self.depth = depth
        self.whole = False
        """Whether whole columns are read to the sheet's end."""
        self.name = ""
        self._nodes: tuple[Node, ...] = ()

    def _child(
        self,
        *,
        arrays: bool | None = None,
        bound: dict[str, Operand] | None = None,
        name: str = "",
        nodes: tuple[Node, ...] = (),
    ) -> Evaluation:
        child = Evaluation.__new__(Evaluation)
        child.workspace = self.workspace
        child.place = self.place
        child.arrays = self.arrays if arrays is None else arrays
        child.scenarios = self.scenarios
        child.bound = self.bound if bound is None else bound
        child.depth = self.depth
        child.whole = self.whole
        child.name = name
        child._nodes = nodes
        return child

    # --- expressions

    def operand(self, which: int | Node) -> Operand:
        """The operand of an expression, or of argument number `which` of the call."""
        node = self._nodes[which] if isinstance(which, int) else which
        kind = type(node)
        if kind is CellReference:
            return locating.cells(self.workspace, self.place, node)  # type: ignore[arg-type]
        if kind is Number:
            return scalar(node.value)  # type: ignore[union-attr]
        match node:
            case Binary(operator, left, right):
                if operator in (":", " ", ","):
                    return locating.joined_reference(
                        self.place, self.lanes, operator, self.operand(left), self.operand(right)
                    )
                return operators.binary(operator, self._single(left), self._single(right))
            case FunctionCall(name, arguments):
                return self._call(name, arguments)
            case TableReference():
                return locating.table(self.workspace, self.place, node)
            case NameReference():
                return self._named(node)
            case Text(value) | Logical(value) | ErrorLiteral(value):
                return scalar(value)
            case Unary("@", inner):
                return locating.intersected(self.place, self.operand(inner))
            case Unary(operator, inner):
                single = self._single(inner)
                if operator == "-":
                    return operators.negated(single)
                return operators.percent(single) if operator == "%" else single
            case ArrayConstant(rows):
                return from_rows([[_literal(item) for item in row] for row in rows])
            case Missing():
                return blank()
            case SpillReference(anchor):
                return self._spilled(anchor)
            case Apply(function, arguments):
                return self._applied(self.operand(function), arguments)
        raise NotEvaluable(f"unknown expression {type(node).__name__}")

    def _single(self, node: Node) -> Value:
        """An operand of an operator: a range is intersected in a plain formula."""
        operand = self.operand(node)
        if isinstance(operand, Value):
            return operand
        if isinstance(operand, Reference) and not self.arrays:
            operand = locating.intersected(self.place, operand)
        return self.dereferenced(operand)

    def dereferenced(self, operand: Operand) -> Value:
        """The whole value of an operand."""
        if isinstance(operand, Value):
            return operand
        if isinstance(operand, Lambda):
            return error(CellErrorValue.CALC)
        region = operand.single
        if region is None:
            return error(CellErrorValue.VALUE)
        return self._read(region)

    def _read(self, region: Region) -> Value:
        last = region if self.place.count == 1 else region.at(self.place.count - 1)
        if not (region.inside and last.inside):
            if self.place.count > 1:
                raise Unvectorisable
            return error(CellErrorValue.REF)
        return self.workspace.read(region, self.place.count, whole=self.whole)

    def final(self, node: Node) -> Value:
        """The value that the cells get: for plain formulas one element a cell."""
        operand = self.operand(node)
        if self.arrays:
            return self.dereferenced(operand)
        if isinstance(operand, Reference):
            operand = locating.intersected(self.place, operand)
        value = self.dereferenced(operand)
        return value if value.shape[2:] == (1, 1) else value[:, :, :1, :1]

    # --- references

    def _named(self, node: NameReference) -> Operand:
        upper = node.name.upper()
        if node.sheets is None and upper in self.bound:
            return self.bound[upper]
        if node.sheets is not None and node.sheets.book is not None:
            raise NotEvaluable(f"reads another workbook, [{node.sheets.book}]{node.name}")
        sheet = self.place.sheet
        if node.sheets is not None:
            found = self.workspace.sheet_index(node.sheets.first)
            if found is None:
                return error(CellErrorValue.REF)
            sheet = found
        definition = self.workspace.name_definition(upper, sheet)
        if definition is None:
            if self.workspace.has_table(node.name):
                return locating.table(self.workspace, self.place, TableReference(node.name))
            function = upper.removeprefix("_XLETA.")
            if function in FUNCTIONS:
                return Lambda((), NameReference(function), {})
            return error(CellErrorValue.NAME)
        if self.depth > DEEPEST_LAMBDA:
            raise NotEvaluable(f"the name {node.name} is defined by itself")
        child = self._child(arrays=True, bound={})
        child.depth = self.depth + 1
        return child.operand(definition)

    def _spilled(self, anchor: Node) -> Operand:
        reference = self.operand(anchor)
        if not isinstance(reference, Reference) or reference.single is None:
            return error(CellErrorValue.REF)
        region = reference.single
        if region.moves:
            if self.place.count > 1:
                raise Unvectorisable
            region = region.at(0)
        spilled = self.workspace.spill_region(region.sheet, region.row1, region.column1)
        return Reference((spilled,)) if spilled is not None else error(CellErrorValue.REF)

    # --- calls

    def _call(self, name: str, arguments: tuple[Node, ...]) -> Operand:
        bound = self.bound.get(name)
        if isinstance(bound, Lambda):
            return self._applied(bound, arguments)
        function = FUNCTIONS.get(name)
        if function is None:
            definition = None if "!" in name else self.workspace.name_definition(name, self.place.sheet)
            if definition is not None:
                return self._applied(self._named(NameReference(name)), arguments)
            raise NotEvaluable(f"uses the unknown function {name}")
        return calling.run(function, self._child(name=name, nodes=arguments))

    def _applied(self, function: Operand, arguments: tuple[Node, ...]) -> Operand:
        try:
            return self.apply(self._lambda(function), tuple(self._child().operand(a) for a in arguments))
        except Failure as failure:
            return error(failure.error)

    def _lambda(self, operand: Operand) -> Lambda:
        if isinstance(operand, Lambda):
            return operand
        if isinstance(operand, Value) and operand.any(ERROR):
            item = operand.item()
            if isinstance(item, CellErrorValue):
                raise Failure(item)
        raise Failure(CellErrorValue.VALUE)

    # --- the protocol `Call`

    @property
    def nodes(self) -> tuple[Node, ...]:
        return self._nodes

    def __len__(self) -> int:
        return len(self._nodes)

    def missing(self, index: int) -> bool:
        return index >= len(self._nodes) or isinstance(self._nodes[index], Missing)

    def value(self, index: int) -> Value:
        return self._single(self._nodes[index])

    def array(self, index: int) -> Value:
        return self._computed(self if self.arrays else self._child(arrays=True), self._nodes[index])

    def range(self, index: int) -> Value:
        return self._computed(self, self._nodes[index])

    def _computed(self, evaluation: Evaluation, node: Node) -> Value:
        """The value of an argument; computed to the sheet's end where the blanks below the data would count."""
        operand = evaluation.operand(node)
        value = self.dereferenced(operand)
        if self.whole or not isinstance(operand, Value) or value.shape[2] == 1 or not reads_whole_columns(node):
            return value
        if calling.ignores(self.name, value[:, :, -1:]):
            return value
        child = evaluation._child(name=evaluation.name, nodes=evaluation._nodes)
        child.whole = True
        return child.dereferenced(child.operand(node))

    def parts(self, index: int) -> Iterator[Value]:
        """The values of all areas of an argument."""
        operand = self.operand(self._nodes[index])
        if isinstance(operand, Reference):
            for region in operand.regions:
                yield self._read(region)
        else:
            yield self._computed(self, self._nodes[index])

    def shown_parts(
        self, index: int, *, hidden: bool, filtered: bool, nested: bool
    ) -> Iterator[tuple[Value, Bools | None]]:
        for region in self.reference(index).regions:
            if region.moves and self.place.count > 1:
                raise Unvectorisable
            fixed = region.at(0)
            value = self._read(fixed)
            skipped = self.workspace.left_out(fixed, hidden=hidden, filtered=filtered, nested=nested)
            yield value, None if skipped is None else skipped[: value.shape[2], : value.shape[3]]

    def scalar(self, index: int) -> Scalar:
        value = self.value(index)
        if value.shape[:2] != (1, 1):
            raise Unvectorisable
        return value.item()

    def reference(self, index: int) -> Reference:
        operand = self.operand(self._nodes[index])
        if isinstance(operand, Reference):
            return operand
        if isinstance(operand, Value) and operand.any(ERROR) and operand.shape[:2] == (1, 1):
            item = operand.item()
            if isinstance(item, CellErrorValue):
                raise Failure(item)
        if self.lanes != (1, 1):
            raise Unvectorisable
        raise Failure(CellErrorValue.VALUE)

    def function(self, index: int) -> Lambda:
        return self._lambda(self.operand(self._nodes[index]))

    def apply(self, function: Lambda, arguments: tuple[Operand, ...]) -> Operand:
        if self.depth > DEEPEST_LAMBDA:
            if self.lanes != (1, 1):
                raise Unvectorisable
            raise Failure(CellErrorValue.NUM)
        if isinstance(function.body, NameReference) and not function.parameters:
            names = tuple(f"\\{i}" for i in range(len(arguments)))
            nodes = tuple(NameReference(name) for name in names)
            child = self._child(arrays=True, bound=dict(zip(names, arguments, strict=True)))
            child.depth = self.depth + 1
            return child.operand(FunctionCall(function.body.name, nodes))
        if len(arguments) > len(function.parameters):
            raise Failure(CellErrorValue.VALUE)
        bound: dict[str, Operand] = {**function.bound, **dict(zip(function.parameters, arguments, strict=False))}
        for name in function.parameters[len(arguments) :]:
            bound[name] = blank()
        child = self._child(arrays=True, bound=bound)
        child.depth = self.depth + 1
        return child.operand(function.body)

    def evaluated_with(self, index: int, bound: dict[str, Operand]) -> Operand:
        return self._child(bound={**self.bound, **bound}).operand(self._nodes[index])

    @property
    def lanes(self) -> tuple[int, int]:
        return self.scenarios, self.place.count

    def position(self) -> tuple[Any, Any]:
        steps = np.arange(self.place.count, dtype=np.float64).reshape(1, -1, 1, 1)
        still = np.zeros((1, 1, 1, 1))
        place = self.place
        if place.across:
            return still + (place.row + 1), steps + (place.column + 1)
        return steps + (place.row + 1), still + (place.column + 1)

    def formula_text(self, reference: Reference) -> Value:
        region = reference.regions[0]
        if region.moves:
            if self.place.count > 1:
                raise Unvectorisable
            region = region.at(0)
        text = self.workspace.formula_text(region.sheet, region.row1, region.column1)
        return error(CellErrorValue.NA) if text is None else scalar(text)

    def parsed_reference(self, text: str, a1: bool) -> Reference:
        from workbench.recalc.indirect import reference_node

        if self.place.count > 1:
            raise Unvectorisable
        node = reference_node(text, a1, self.place.row, self.place.column)
        operand = self._child(arrays=True).operand(node)
        if not isinstance(operand, Reference):
            raise Failure(CellErrorValue.REF)
        return operand

    @property
    def sheet(self) -> int:
        return self.place.sheet

    @property
    def sheet_names(self) -> tuple[str, ...]:
        return self.workspace.sheet_names

    @property
    def date1904(self) -> bool:
        return self.workspace.date1904


def _literal(node: Node) -> Scalar:
    assert isinstance(node, Number | Text | Logical | ErrorLiteral)
    return node.value


def evaluate_lanes(workspace: Workspace, node: Node, place: Place, *, arrays: bool = False) -> Value:
    """The final value of a formula at a place, shape (S or 1, F or 1, R, C).

    Lanes that can't be evaluated together are evaluated in halves or one by one.
    Raises `NotEvaluable`.
    """
    date_system_1904.set(workspace.date1904)
    try:
        return Evaluation(workspace, place, arrays=arrays, scenarios=workspace.scenarios).final(node)
    except RecursionError:
        if place.count == 1 and workspace.scenarios == 1:
            return error(CellErrorValue.NUM)
        one_by_one = True
    except Unvectorisable:
        one_by_one = True
    except TooLarge:
        one_by_one = False
    if place.count > 1:
        step = 1 if one_by_one else (place.count + 1) // 2
        parts = [place.part(start, min(step, place.count - start)) for start in range(0, place.count, step)]
        return joined([evaluate_lanes(workspace, node, part, arrays=arrays) for part in parts], axis=1, parts=parts)
    count = workspace.scenarios
    if count > 1:
        step = 1 if one_by_one else (count + 1) // 2
        values = []
        for start in range(0, count, step):
            with workspace.some_scenarios(start, min(start + step, count)):
                value = evaluate_lanes(workspace, node, place, arrays=arrays)
                values.append(value.broadcast((workspace.scenarios, *value.shape[1:])))
        return joined(values, axis=0)
    raise NotEvaluable("needs an array that is too large" if not one_by_one else "can't be evaluated")


def joined(values: list[Value], axis: int, parts: list[Place] | None = None) -> Value:
    """Values put one after another along S (axis 0) or F (axis 1)."""
    if parts is not None:
        values = [v.broadcast((v.shape[0], part.count, *v.shape[2:])) for v, part in zip(values, parts, strict=True)]
    if len({v.shape[2:] for v in values}) > 1:
        raise NotEvaluable("fills ranges of different sizes in different scenarios")
    if axis == 1:
        count = max(v.shape[0] for v in values)
        values = [v.broadcast((count, *v.shape[1:])) for v in values]
    num = np.concatenate([v.num for v in values], axis=axis)
    kinds = {v.kind if isinstance(v.kind, int) else -1 for v in values}
    text = None
    if any(v.text is not None for v in values):
        text = np.concatenate([v.texts for v in values], axis=axis)
    if len(kinds) == 1 and -1 not in kinds:
        return Value(kinds.pop(), num, text)
    return Value(np.concatenate([v.kinds for v in values], axis=axis), num, text).normalised()


_CHECKED: type[Call] = Evaluation  # Evaluation has all that lazy bodies rely on
