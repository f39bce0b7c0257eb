"""Rewriting cells in a worksheet part: cached values of formulas, and what edits put in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from workbench.recalc.printer import address
from workbench.recalc.richerrors import NEWER
from workbench.recalc.sheetxml import Scan, cell_pattern, escaped, name_prefix
from workbench.recalc.values import CellErrorValue, Scalar

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|_x(?=[0-9A-Fa-f]{4}_)")
_ATTRIBUTE_TYPE = re.compile(rb"""\s+t=(?:"[^"]*"|'[^']*')""")
_METADATA = re.compile(rb"""\s+(?:cm|vm)=(?:"[^"]*"|'[^']*')""")
_VALUE_METADATA = re.compile(rb"""\s+vm=(?:"[^"]*"|'[^']*')""")
_FORMULA = re.compile(rb"<(?:\w+:)?f(?=[\s/>])[^>]*?(?:/>|>.*?</(?:\w+:)?f>)", re.DOTALL)
_EXTENSION = re.compile(rb"<(?:\w+:)?extLst(?=[\s>]).*</(?:\w+:)?extLst>", re.DOTALL)
_SPAN = re.compile(rb"""\sref=(?:"[^"]*"|'[^']*')""")
_ROW_ATTRIBUTE = re.compile(rb"""\sr=["'](\d+)["']""")
_DIMENSION = re.compile(rb"""(<(?:\w+:)?dimension\s[^>]*?ref=["'])([A-Z]+)(\d+)(?::([A-Z]+)(\d+))?(["'])""")


@dataclass(frozen=True)
class Change:
    """What one cell becomes. `formula`: the formula element's text to put instead, None to keep what is there,
    empty to take it away. `array_ref`: the new range of an array formula."""

    value: Scalar
    formula: bytes | None = None
    array_ref: str | None = None
    entered: bool = False
    """Whether the value was typed in, rather than computed."""


def patched(data: bytes, found: Scan, changes: Changes, rich: Mapping[CellErrorValue, int] | None = None) -> bytes:
    """The part with cells changed; `rich` gives the `vm` indices that stand for newer errors."""
    if not changes:
        return data
    starts = found.starts
    keys = found.rows.astype(np.int64) * 16384 + found.column_numbers
    order = np.argsort(keys, kind="stable") if keys.size and bool((np.diff(keys) <= 0).any()) else None
    wanted = np.array([row * 16384 + column for row, column in changes], dtype=np.int64)
    sorted_keys = keys if order is None else keys[order]
    places = np.minimum(sorted_keys.searchsorted(wanted, side="right") - 1, keys.size - 1)
    exists = (sorted_keys[places] == wanted) & (places >= 0) if keys.size else np.zeros(wanted.size, dtype=bool)
    positions = starts[places if order is None else order[places]] if keys.size else starts
    edits: list[tuple[int, int, bytes]] = []
    missing: dict[tuple[int, int], Change] = {}
    match_cell = cell_pattern(data).match
    prefix = name_prefix(data)
    for i, (cell, change) in enumerate(changes.items()):
        if not exists[i]:
            if change.value is not None:
                missing[cell] = change
            continue
        start = int(positions[i])
        match = match_cell(data, start)
        assert match is not None
        edits.append((start, match.end(), _cell(match, change, prefix, rich or {})))
    out = _applied(data, edits)
    return _with_cells(out, missing, prefix) if missing else out


Changes = Mapping[tuple[int, int], Change]
"""(row, column) → what the cell becomes."""


def _applied(data: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    edits.sort()
    pieces: list[bytes] = []
    end = 0
    for start, stop, text in edits:
        pieces += (data[end:start], text)
        end = stop
    pieces.append(data[end:])
    return b"".join(pieces)


def _cell(match: re.Match[bytes], change: Change, prefix: bytes, rich: Mapping[CellErrorValue, int]) -> bytes:
    letters, digits, attributes = match[1], match[2], match[3]
    kind, value = _encoded(change.value, prefix, inline=change.entered)
    if b"t=" in attributes:
        attributes = _ATTRIBUTE_TYPE.sub(b"", attributes)
    formula = b""
    if match[4] is not None and change.formula is None:
        written = _FORMULA.search(match[0])
        assert written is not None
        formula = written[0]
        if change.array_ref is not None:
            formula = _SPAN.sub(b' ref="' + change.array_ref.encode() + b'"', formula, count=1)
    elif change.formula:
        formula = change.formula
    if b"m=" in attributes:
        attributes = (_METADATA if change.formula == b"" else _VALUE_METADATA).sub(b"", attributes)
    if isinstance(change.value, CellErrorValue) and change.value in rich:
        kind += b' vm="%d"' % rich[change.value]
    where = b' r="' + letters + digits + b'"' if letters else b""
    extension = b""
    if b"extLst" in match[0]:
        kept = _EXTENSION.search(match[0])
        extension = kept[0] if kept else b""
    body = formula + value + extension
    head = b"<" + prefix + b"c" + where + attributes.rstrip() + kind
    return head + b">" + body + b"</" + prefix + b"c>" if body else head + b"/>"


def _encoded(value: Scalar, prefix: bytes, *, inline: bool) -> tuple[bytes, bytes]:
    """The `t` attribute and the value element. `inline`: a text that is no formula's result."""
    if value is None:
        return b"", b""
    if isinstance(value, bool):
        return b' t="b"', _element(prefix, b"1" if value else b"0")
    if isinstance(value, CellErrorValue):
        return b' t="e"', _element(prefix, (CellErrorValue.VALUE if value in NEWER else value).text.encode())
    if isinstance(value, str):
        text = escaped_text(value)
        space = b' xml:space="preserve"' if value != value.strip() or "\n" in value else b""
        if inline:
            p = prefix
            return b' t="inlineStr"', b"<%sis><%st%s>%s</%st></%sis>" % (p, p, space, text, p, p)
        return b' t="str"', b"<%sv%s>%s</%sv>" % (prefix, space, text, prefix)
    return b"", _element(prefix, number_text(value).encode())


def _element(prefix: bytes, content: bytes) -> bytes:
    return b"<" + prefix + b"v>" + content + b"</" + prefix + b"v>"


def number_text(value: float) -> str:
    """The shortest text that reads back as the same double."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(value).replace("e", "E")


def escaped_text(value: str) -> bytes:
    """XML character data; characters that XML can't hold are written `_xHHHH_`."""
    if _CONTROL.search(value):
        value = _CONTROL.sub(lambda m: "_x005F_x" if m[0] == "_x" else f"_x{ord(m[0]):04X}_", value)
    value = escaped(value).replace("\r", "_x000D_")
    return value.encode("utf-8", "surrogatepass") if value.isascii() else _utf8(value)


def _utf8(value: str) -> bytes:
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _with_cells(data: bytes, missing: Changes, prefix: bytes) -> bytes:
    """The part with cells added that it doesn't have, in new rows where needed."""
    by_row: dict[int, dict[int, Change]] = {}
    for (row, column), change in sorted(missing.items()):
        by_row.setdefault(row, {})[column] = change
    row_pattern = re.compile(rb"<%srow(?=[\s/>])([^>]*?)(/>|>(.*?)</%srow>)" % (prefix, prefix), re.DOTALL)
    begin = data.find(b"<" + prefix + b"sheetData")
    opening = data.find(b">", begin) + 1
    if data[:opening].endswith(b"/>"):
        data = data[: opening - 2] + b"></" + prefix + b"sheetData>" + data[opening:]
        opening -= 1
    close = data.find(b"</" + prefix + b"sheetData>", opening)
    edits: list[tuple[int, int, bytes]] = []
    number, left = 0, sorted(by_row)
    for match in row_pattern.finditer(data, opening, close):
        given = _ROW_ATTRIBUTE.search(match[1])
        number = int(given[1]) if given else number + 1
        while left and left[0] < number - 1:
            edits.append((match.start(), match.start(), _new_row(left[0], by_row[left[0]], prefix)))
            left.pop(0)
        if left and left[0] == number - 1:
            edits.append((match.start(), match.end(), _extended_row(match, number - 1, by_row[left.pop(0)], prefix)))
    rest = b"".join(_new_row(row, by_row[row], prefix) for row in left)
    if rest:
        edits.append((close, close, rest))
    return _grown(_applied(data, edits), missing)


def _new_cell(row: int, column: int, change: Change, prefix: bytes) -> bytes:
    kind, value = _encoded(change.value, prefix, inline=change.entered)
    where = address(row, column).encode()
    return b'<%sc r="%s"%s>%s</%sc>' % (prefix, where, kind, value, prefix)


def _new_row(row: int, cells: Mapping[int, Change], prefix: bytes) -> bytes:
    inner = b"".join(_new_cell(row, column, change, prefix) for column, change in sorted(cells.items()))
    return b'<%srow r="%d">%s</%srow>' % (prefix, row + 1, inner, prefix)


def _extended_row(match: re.Match[bytes], row: int, cells: Mapping[int, Change], prefix: bytes) -> bytes:
    from workbench.recalc.parser import column_number

    inner = match[3] or b""
    attributes = re.sub(rb"""\sspans=["'][^"']*["']""", b"", match[1]).rstrip()
    pieces: list[bytes] = []
    left = sorted(cells)
    end, last = 0, -1
    for cell in cell_pattern_for(prefix).finditer(inner):
        column = column_number(cell[1].decode()) if cell[1] else last + 1
        last = column
        while left and left[0] < column:
            pieces += (inner[end : cell.start()], _new_cell(row, left[0], cells[left[0]], prefix))
            end = cell.start()
            left.pop(0)
    pieces.append(inner[end:])
    pieces += [_new_cell(row, column, cells[column], prefix) for column in left]
    return b"<%srow%s>%s</%srow>" % (prefix, attributes, b"".join(pieces), prefix)


def cell_pattern_for(prefix: bytes) -> re.Pattern[bytes]:
    """The pattern of a cell element in a part whose elements carry `prefix`."""
    return cell_pattern(b"<" + prefix + b"worksheet>")


def _grown(data: bytes, cells: Iterable[tuple[int, int]]) -> bytes:
    """The part with its `dimension` covering `cells`."""
    from workbench.recalc.parser import column_number

    match = _DIMENSION.search(data, 0, 8192)
    if match is None:
        return data
    row1, column1 = int(match[3]) - 1, column_number(match[2].decode())
    row2 = int(match[5]) - 1 if match[5] else row1
    column2 = column_number(match[4].decode()) if match[4] else column1
    for row, column in cells:
        row1, row2, column1, column2 = min(row1, row), max(row2, row), min(column1, column), max(column2, column)
    span = f"{address(row1, column1)}:{address(row2, column2)}".encode()
    return data[: match.start()] + match[1] + span + match[6] + data[match.end() :]
