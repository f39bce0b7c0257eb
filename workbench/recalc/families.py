"""Formula cells → families: runs of cells in a column (or row) whose formulas are the same written relatively.

A family is found without parsing each of its cells: the first formula is turned into a template that says how the
text must read in any other row, and each next cell is compared with it.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from workbench.recalc.lexer import FormulaError, Token, tokens
from workbench.recalc.nodes import Node
from workbench.recalc.parser import column_number, parse, parse_tokens
from workbench.recalc.place import Place
from workbench.recalc.printer import column_letters
from workbench.recalc.references import MAX_COLUMNS, MAX_ROWS, Region
from workbench.recalc.sheetxml import Formula, escaped, unescaped

_ATTRIBUTE = re.compile(rb"""\s(\w+)=["']([^"']*)["']""")
_ROW_PART = re.compile(r"(\$?)(\d+)")
_CORNER = re.compile(r"(\$?)([A-Za-z]{1,3})(\$?)(\d+)")


class Mode(enum.Enum):
    """How a formula's result fills cells."""

    PLAIN = "plain"
    """One value a cell; ranges are intersected with the cell's row or column."""
    ARRAY = "array"
    """An array formula entered over a fixed range."""
    DYNAMIC = "dynamic"
    """An array that spills as far as it is large."""


@dataclass(eq=False, slots=True)
class Family:
    """Cells that are evaluated together. `node` is None where the formula can't be read; `problem` says why."""

    place: Place
    node: Node | None
    mode: Mode = Mode.PLAIN
    area: Region | None = None
    """The range that an array formula fills, as the file says."""
    problem: str = ""
    index: int = -1
    """The family's number in its workbook."""

    @property
    def extent(self) -> Region:
        """The cells that hold the formula or its array."""
        if self.area is not None:
            return self.area
        p = self.place
        if p.across:
            return Region(p.sheet, p.row, p.column, p.row, p.column + p.count - 1)
        return Region(p.sheet, p.row, p.column, p.row + p.count - 1, p.column)

    def cells(self) -> Iterator[tuple[int, int]]:
        """Row and column of each cell that holds the formula."""
        p = self.place
        for i in range(p.count):
            yield (p.row, p.column + i) if p.across else (p.row + i, p.column)


class Template:
    """A formula's text as a function of the row it stands in."""

    __slots__ = ("_format", "_offsets", "constant")

    def __init__(self, text: str, row: int, found: list[Token] | None = None) -> None:
        pieces: list[str] = []
        offsets: list[int] = []
        end = 0
        for token in tokens(text) if found is None else found:
            if token.kind not in ("cell", "rows"):
                continue
            for match in _ROW_PART.finditer(text, token.position, token.position + len(token.text)):
                if not match[1]:
                    pieces.append(text[end : match.start(2)])
                    offsets.append(int(match[2]) - row)
                    end = match.end(2)
        pieces.append(text[end:])
        self._offsets = offsets
        self._format = "%d".join(piece.replace("%", "%%") for piece in pieces)
        self.constant = not offsets

    def at(self, row: int) -> str:
        """The text that the same formula has in `row` (any count that `Template` was given in)."""
        return self._format % tuple([row + offset for offset in self._offsets])


def shifted(text: str, down: int, right: int) -> str:
    """A formula's text moved by rows and columns, prefixes and blanks as they are; #REF! for cells off the sheet."""
    out: list[str] = []
    end = 0
    for token in tokens(text):
        if token.kind == "cell":
            moved = _moved_corner(token.text, down, right)
        elif token.kind in ("rows", "columns"):
            moved = ":".join(_moved_edge(edge, token.kind, down, right) for edge in token.text.split(":"))
            moved = "#REF!" if "#REF!" in moved else moved
        else:
            continue
        out += [text[end : token.position], moved]
        end = token.position + len(token.text)
    return "".join([*out, text[end:]])


def _moved_corner(text: str, down: int, right: int) -> str:
    match = _CORNER.fullmatch(text)
    assert match is not None
    row = int(match[4]) - 1 + (0 if match[3] else down)
    column = column_number(match[2]) + (0 if match[1] else right)
    if not (0 <= row < MAX_ROWS and 0 <= column < MAX_COLUMNS):
        return "#REF!"
    return f"{match[1]}{column_letters(column)}{match[3]}{row + 1}"


def _moved_edge(edge: str, kind: str, down: int, right: int) -> str:
    if edge.startswith("$"):
        return edge
    number = int(edge) - 1 + down if kind == "rows" else column_number(edge) + right
    if not 0 <= number < (MAX_ROWS if kind == "rows" else MAX_COLUMNS):
        return "#REF!"
    return str(number + 1) if kind == "rows" else column_letters(number)


class _Run:
    """A family being collected down a column."""

    __slots__ = ("encoded", "family", "last", "raw", "si", "template")

    def __init__(self, family: Family, raw: bytes, template: Template | None, si: bytes | None) -> None:
        self.family = family
        self.raw = raw
        self.template = template
        self.si = si
        self.encoded = template is None or b"&" in raw
        self.last = family.place.row

    def continues(self, formula: Formula) -> bool:
        """Whether a plain formula in the next row is the same, written relatively."""
        if formula.row != self.last + 1 or self.template is None:
            return False
        if self.template.constant:
            return formula.text == self.raw or (b"&" in formula.text and self._spells(formula))
        return self._spells(formula)

    def _spells(self, formula: Formula) -> bool:
        assert self.template is not None
        expected = self.template.at(formula.row)
        if not self.encoded:
            return formula.text == expected.encode()
        return formula.text == escaped(expected).encode() or unescaped(formula.text) == expected


def find_families(sheet: int, formulas: Iterable[Formula], *, grouped: bool = True) -> list[Family]:
    """The families of a sheet; `grouped=False` makes every cell one of its own."""
    done: list[Family] = []
    open_runs: dict[int, _Run] = {}
    masters: dict[bytes, tuple[Node | None, str]] = {}
    known: dict[bytes, tuple[Node | None, str, Template]] = {}

    def close(run: _Run) -> None:
        place = run.family.place
        count = run.last - place.row + 1
        run.family.place = Place(sheet, place.row, place.column, count)
        done.append(run.family)

    for formula in formulas:
        attributes = formula.attributes
        run = open_runs.get(formula.column)
        if not attributes:
            if grouped and run is not None and run.continues(formula):
                run.last = formula.row
                continue
            fresh = _plain(sheet, formula, known)
        else:
            given = dict(_ATTRIBUTE.findall(attributes))
            kind = given.get(b"t", b"normal")
            if kind == b"shared":
                si = given.get(b"si", b"")
                if formula.text:
                    masters[si] = _parsed(unescaped(formula.text), formula.row, formula.column)
                elif grouped and run is not None and run.si == si and formula.row == run.last + 1:
                    run.last = formula.row
                    continue
                node, problem = masters.get(si, (None, "its shared formula is missing"))
                fresh = _Run(Family(Place(sheet, formula.row, formula.column), node, problem=problem), b"", None, si)
            elif kind in (b"array", b"dataTable"):
                done.append(_array(sheet, formula, given, kind))
                continue
            elif grouped and run is not None and run.continues(formula):
                run.last = formula.row
                continue
            else:
                fresh = _plain(sheet, formula, known)
        if run is not None:
            close(run)
        open_runs[formula.column] = fresh
    for run in open_runs.values():
        close(run)
    return _joined_across(done) if grouped else done


def _parsed(text: str, row: int, column: int) -> tuple[Node | None, str]:
    try:
        return parse(text, row, column), ""
    except FormulaError as problem:
        return None, str(problem)


def _plain(sheet: int, formula: Formula, known: dict[bytes, tuple[Node | None, str, Template]]) -> _Run:
    row, column = formula.row, formula.column
    place = Place(sheet, row, column)
    found = known.get(formula.text)
    if found is not None:
        node, problem, template = found
        return _Run(Family(place, node, problem=problem), formula.text, template, None)
    text = unescaped(formula.text).strip()
    try:
        found_tokens = tokens(text)
        node = parse_tokens(found_tokens, text, row, column)
        template = Template(text, row, found_tokens)
    except FormulaError as problem:
        return _Run(Family(place, None, problem=str(problem)), formula.text, None, None)
    if template.constant and not _column_relative(found_tokens):
        known[formula.text] = node, "", template
    return _Run(Family(place, node), formula.text, template, None)


def _column_relative(found: list[Token]) -> bool:
    return any(token.kind in ("cell", "columns") and not token.text.startswith("$") for token in found)


def _array(sheet: int, formula: Formula, given: dict[bytes, bytes], kind: bytes) -> Family:
    from workbench.recalc.reader import range_region

    place = Place(sheet, formula.row, formula.column)
    area = range_region(given.get(b"ref", b"").decode(), sheet)
    if area is None or (area.row1, area.column1) != (formula.row, formula.column):
        area = Region(sheet, formula.row, formula.column, formula.row, formula.column)
    mode = Mode.DYNAMIC if formula.dynamic else Mode.ARRAY
    if kind == b"dataTable":
        return Family(place, None, mode, area, "is a what-if data table, which only Excel computes")
    node, problem = _parsed(unescaped(formula.text).strip(), formula.row, formula.column)
    return Family(place, node, mode, area, problem)


def _joined_across(families: list[Family]) -> list[Family]:
    """Lone neighbours in a row with equal trees become one family."""
    lone = [f for f in families if f.place.count == 1 and f.mode is Mode.PLAIN and f.node is not None]
    if len(lone) < 2:
        return families
    lone.sort(key=lambda f: (f.place.row, f.place.column))
    absorbed: set[int] = set()
    i = 0
    while i < len(lone):
        first = lone[i]
        j = i + 1
        while (
            j < len(lone)
            and lone[j].place.row == first.place.row
            and lone[j].place.column == first.place.column + j - i
            and lone[j].node == first.node
        ):
            absorbed.add(id(lone[j]))
            j += 1
        if j - i > 1:
            first.place = Place(first.place.sheet, first.place.row, first.place.column, j - i, True)
        i = j
    return [f for f in families if id(f) not in absorbed]
