"""Texts to references, for INDIRECT: A1 and R1C1 notation."""

from __future__ import annotations

import re

from workbench.recalc.lexer import FormulaError
from workbench.recalc.nodes import Area, Binary, CellReference, NameReference, Node, SpillReference, TableReference
from workbench.recalc.parser import parse
from workbench.recalc.values import CellErrorValue, Failure

_R1C1 = re.compile(
    r"(?:(?P<sheet>'(?:[^']|'')+'|[^'!]+)!)?(?P<first>[^:!]+)(?::(?P<last>[^:!]+))?",
)
_CORNER = re.compile(r"[Rr](?:(\d+)|\[(-?\d+)\])?[Cc](?:(\d+)|\[(-?\d+)\])?")


def reference_node(text: str, a1: bool, row: int, column: int) -> Node:
    """The tree of the reference that `text` spells, in A1 or R1C1 notation; #REF! when it is none."""
    try:
        node = parse(text.strip(), row, column) if a1 else _r1c1(text.strip(), row, column)
    except FormulaError:
        raise Failure(CellErrorValue.REF) from None
    if isinstance(node, CellReference | NameReference | TableReference | SpillReference):
        return node
    if isinstance(node, Binary) and node.operator in (":", ","):
        return node
    raise Failure(CellErrorValue.REF)


def _r1c1(text: str, row: int, column: int) -> Node:
    match = _R1C1.fullmatch(text)
    if match is None:
        raise Failure(CellErrorValue.REF)
    first = _corner(match["first"], row, column)
    if first is None:
        return parse(text, row, column)
    last = _corner(match["last"], row, column) if match["last"] else first
    if last is None:
        raise Failure(CellErrorValue.REF)
    area = Area(first[0], first[1], last[0], last[1], True, True, True, True, not match["last"])
    if match["sheet"] is None:
        return CellReference(area)
    prefix = parse(match["sheet"] + "!A1", row, column)
    assert isinstance(prefix, CellReference)
    return CellReference(area, prefix.sheets)


def _corner(text: str, row: int, column: int) -> tuple[int, int] | None:
    match = _CORNER.fullmatch(text.strip())
    if match is None:
        return None
    r = int(match[1]) - 1 if match[1] else row + int(match[2] or 0)
    c = int(match[3]) - 1 if match[3] else column + int(match[4] or 0)
    if r < 0 or c < 0:
        raise Failure(CellErrorValue.REF)
    return r, c
