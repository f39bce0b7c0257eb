"""Putting values into cells of an open workbook: what may be overwritten, and what follows in the file."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.errors import CellError
from workbench.recalc.cellrules import check_edit, check_value, validations_of
from workbench.recalc.families import Family, Mode, shifted
from workbench.recalc.hiding import note_subtotals
from workbench.recalc.patch import Change
from workbench.recalc.place import Place
from workbench.recalc.printer import address
from workbench.recalc.reader import Source, range_region
from workbench.recalc.references import Region
from workbench.recalc.sheetxml import Formula, escaped, name_prefix, unescaped
from workbench.recalc.values import Scalar

if TYPE_CHECKING:
    from workbench.recalc.workbook import Workbook

_CHAIN_CELL = re.compile(rb"<(\w+:)?c\s([^>]*?)/>")
_CHAIN_ATTRIBUTE = re.compile(rb"""([\w:]+)=["']([^"']*)["']""")
_SHARED_INDEX = re.compile(rb"""\ssi=["'](\d+)["']""")
_REF = re.compile(rb"""\sref=["']([^"']*)["']""")


def set_cell(
    book: Workbook, sheet: int, row: int, column: int, value: Scalar, *, overwrite_formula: bool = False
) -> None:
    """Put `value` into a cell. Raises `CellError` where it isn't allowed; the cell is then as it was."""
    label = book.label(sheet, row, column)
    check_edit(book.source, sheet, row, column, label)
    _refuse_arrays(book, sheet, row, column, label)
    if book.formula_at(sheet, row, column) is not None and not overwrite_formula:
        raise CellError(
            "the cell holds a formula",
            where=label,
            remedy="set one of the cells it reads, or give --overwrite-formulas to replace it by the value",
        )
    _try_value(book, sheet, row, column, label, value)
    formula: bytes | None = None
    if book.formula_at(sheet, row, column) is not None:
        _drop_formula(book, sheet, row, column)
        formula = b""
    before = book.edited.get((sheet, row, column))
    if before is not None and before.formula == b"":
        formula = b""
    book.edited[sheet, row, column] = Change(value, formula=formula, entered=True)
    if book.dirty is not None:
        book.dirty.append(Region(sheet, row, column, row, column))


def _try_value(book: Workbook, sheet: int, row: int, column: int, label: str, value: Scalar) -> None:
    store = book.model.store
    before = store.cell(sheet, row, column)
    book.results.keep(sheet, column)
    store.write(sheet, row, column, value)
    part = book.source.parts[sheet]
    assert part is not None
    rules = book.validations.get(sheet)
    if rules is None:
        rules = book.validations[sheet] = validations_of(part, sheet)
    try:
        check_value(book.model, rules, Place(sheet, row, column), label, value)
    except CellError:
        store.write(sheet, row, column, before)
        raise


def _refuse_arrays(book: Workbook, sheet: int, row: int, column: int, label: str) -> None:
    family = array_over(book, sheet, row, column)
    if family is None:
        return
    anchor = book.label(sheet, family.place.row, family.place.column)
    raise CellError(
        f"the cell belongs to the array formula in {anchor}",
        where=label,
        remedy="change that formula in a spreadsheet program",
    )


def array_over(book: Workbook, sheet: int, row: int, column: int) -> Family | None:
    """The array formula of more than one cell whose range covers a cell."""
    for family in book.families:
        if family.mode is Mode.PLAIN or family.place.sheet != sheet:
            continue
        p = family.place
        area = book.model.spills.get((p.sheet, p.row, p.column), family.extent)
        inside = area.row1 <= row <= area.row2 and area.column1 <= column <= area.column2
        if inside and (area.rows * area.columns > 1):
            return family
    return None


def _drop_formula(book: Workbook, sheet: int, row: int, column: int) -> None:
    """Take a formula away; cells that share its text get another to share."""
    part = book.source.parts[sheet]
    index = book.formula_at(sheet, row, column)
    assert part is not None and index is not None
    formulas = part.scan.formulas
    dropped = formulas.pop(index)
    si = _SHARED_INDEX.search(dropped.attributes)
    if si is not None and dropped.text:
        _hand_over(book, sheet, formulas, dropped, si[1])
    note_subtotals(book.model, sheet, part.scan)
    book.unchained.add((sheet, row, column))
    book.build_graph()
    book.dirty = None  # the graph is new: the next recalculation is a full one


def _hand_over(book: Workbook, sheet: int, formulas: list[Formula], dropped: Formula, si: bytes) -> None:
    for i, other in enumerate(formulas):
        shared = _SHARED_INDEX.search(other.attributes)
        if shared is None or shared[1] != si or other.text:
            continue
        text = shifted(unescaped(dropped.text), other.row - dropped.row, other.column - dropped.column)
        encoded = escaped(text).encode()
        area = _REF.search(dropped.attributes)
        region = range_region(area[1].decode(), sheet) if area is not None else None
        last = address(region.row2, region.column2) if region is not None else address(other.row, other.column)
        ref = f"{address(other.row, other.column)}:{last}".encode()
        part = book.source.parts[sheet]
        assert part is not None
        p = name_prefix(part.data)
        written = b'<%sf t="shared" ref="%s" si="%s">%s</%sf>' % (p, ref, si, encoded, p)
        formulas[i] = Formula(
            other.row, other.column, b' t="shared" ref="%s" si="%s"' % (ref, si), encoded, other.dynamic
        )
        before = book.edited.get((sheet, other.row, other.column)) or Change(None)
        book.edited[sheet, other.row, other.column] = replace(before, formula=written, entered=False)
        return


def unchained(source: Source, cells: set[tuple[int, int, int]]) -> bytes:
    """The calculation chain without cells that hold no formula any more; Excel refuses a chain that names them."""
    assert source.chain is not None
    data = source.package.read(source.chain)
    ids = _sheet_ids(source)
    gone = {(ids.get(sheet, ""), address(row, column)) for sheet, row, column in cells}
    current = ""
    pending = False

    def kept(match: re.Match[bytes]) -> bytes:
        nonlocal current, pending
        given = dict(_CHAIN_ATTRIBUTE.findall(match[2]))
        explicit = b"i" in given
        if explicit:
            current = given[b"i"].decode()
        if (current, given.get(b"r", b"").decode()) in gone:
            pending = pending or explicit
            return b""
        if pending and not explicit:
            pending = False
            return match[0][:-2].rstrip() + b' i="' + current.encode() + b'"/>'
        pending = False
        return match[0]

    return _CHAIN_CELL.sub(kept, data)


def _sheet_ids(source: Source) -> dict[int, str]:
    part = next((target for kind, target in source.package.relationships("").values() if kind == "officeDocument"), "")
    root = source.package.xml(part or "xl/workbook.xml")
    return {i: item.get("sheetId", "") for i, item in enumerate(root.findall("{*}sheets/{*}sheet"))}
