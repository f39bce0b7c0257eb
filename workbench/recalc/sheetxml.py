"""One scan of a worksheet's XML: cells into columns of values, formulas with their place in the text."""

from __future__ import annotations

import pyexpat
import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.errors import BookError
from workbench.recalc.parser import column_number
from workbench.recalc.references import MAX_COLUMNS, MAX_ROWS
from workbench.recalc.store import SHARED, Column
from workbench.recalc.values import BLANK, BOOL, ERROR, ERROR_OF_TEXT, NUMBER, TEXT, CellErrorValue, Objects


class Formula(NamedTuple):
    """A formula cell as written. `attributes` and `text` are XML, still escaped."""

    row: int
    column: int
    attributes: bytes
    text: bytes
    dynamic: bool
    """Whether the cell carries `cm`: its array is one that spills by itself."""


@dataclass
class Scan:
    """What a worksheet part holds, and where: rows and columns from 0."""

    columns: dict[int, Column]
    formulas: list[Formula]
    rows: NDArray[np.int32]
    """Row of each cell, in file order."""
    column_numbers: NDArray[np.int32]
    starts: NDArray[np.int64]
    """Where each cell's element begins in the XML."""
    rich: list[tuple[int, int, int]]
    """Row, column and `vm` index of cells with rich values."""


_SMALL = 2 << 20
"""Bytes up to which a part is checked whole."""

_CELL_PATTERN = (
    rb'<P?c(?: r="([A-Z]{1,3})(\d{1,7})")?((?:\s[^>]*?)?)'
    rb"(?:/>|>\s*(?:<P?f((?:\s[^>]*?)?)(?:/>|>([^<]*)</P?f>)\s*)?"
    rb"(?:<P?v(?:\s[^>]*)?(?:/>|>([^<]*)</P?v>)\s*)?(.*?)</P?c>)"
)
_TYPE = re.compile(rb"""\st=["'](\w+)["']""")
_REFERENCE = re.compile(rb"""\sr=["']([A-Za-z]{1,3})(\d{1,7})["']""")
_ROW_NUMBER = re.compile(rb"""\sr=["'](\d+)["']""")
_CELL_METADATA = re.compile(rb"""\scm=["'][1-9]""")
_VALUE_METADATA = re.compile(rb"""\svm=["'](\d+)["']""")
_TEXTS = re.compile(rb"<(?:\w+:)?t(?:\s[^>]*?)?(?:/>|>([^<]*)</(?:\w+:)?t>)", re.DOTALL)
_PHONETIC = re.compile(rb"<(?:\w+:)?rPh\b.*?</(?:\w+:)?rPh>", re.DOTALL)
_ITEM = re.compile(rb"<(?:\w+:)?si(?:\s[^>]*)?(?:/>|>(.*?)</(?:\w+:)?si>)", re.DOTALL)
_SIMPLE_ITEM = re.compile(rb'\s*<t(?: xml:space="preserve")?>([^<]*)</t>\s*')
_ENTITY = re.compile(r"&(#x[0-9a-fA-F]+|#\d+|\w+);")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_CDATA = re.compile(rb"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_KINDS = {
    b"": NUMBER,
    b"n": NUMBER,
    b"s": SHARED,
    b"b": BOOL,
    b"e": ERROR,
    b"str": TEXT,
    b"inlineStr": TEXT,
    b"d": TEXT,
}


def unescaped(data: bytes) -> str:
    """XML character data as text, `_x000D_` escapes resolved."""
    text = data.decode("utf-8")
    if "&" in text:
        text = _ENTITY.sub(_entity, text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def escaped(text: str) -> str:
    """`text` as XML character data."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def plain_text(data: bytes) -> str:
    """The text of a string item or value: as `unescaped`, with `_xHHHH_` escapes resolved."""
    text = unescaped(data)
    if "_x" in text:
        text = _ESCAPED.sub(lambda m: chr(int(m[1], 16)), text)
    return text


def _entity(match: re.Match[str]) -> str:
    name = match[1]
    if name.startswith("#x"):
        return chr(int(name[2:], 16))
    if name.startswith("#"):
        return chr(int(name[1:]))
    return _NAMED.get(name, match[0])


def shared_strings(data: bytes) -> Objects:
    """The texts of a shared strings part, rich text joined."""
    found: list[str] = []
    for match in _ITEM.finditer(data):
        inner = match[1] or b""
        simple = _SIMPLE_ITEM.fullmatch(inner)
        found.append(plain_text(simple[1]) if simple else _rich(inner))
    out = np.empty(len(found), dtype=object)
    out[:] = found
    return out


def _rich(inner: bytes) -> str:
    if b"rPh" in inner:
        inner = _PHONETIC.sub(b"", inner)
    return "".join(plain_text(match[1] or b"") for match in _TEXTS.finditer(inner))


def without_markup(data: bytes) -> bytes:
    """The XML without comments and CDATA sections, which the scan doesn't read."""
    if b"<!" not in data:
        return data
    data = _COMMENT.sub(b"", data)

    def escaped(match: re.Match[bytes]) -> bytes:
        return match[1].replace(b"&", b"&amp;").replace(b"<", b"&lt;").replace(b">", b"&gt;")

    return _CDATA.sub(escaped, data)


def name_prefix(data: bytes) -> bytes:
    """The namespace prefix, with colon, that the part's elements carry."""
    match = re.search(rb"<(\w+:)?worksheet[\s>]", data[:4096])
    return (match[1] or b"") if match else b""


def cell_pattern(data: bytes) -> re.Pattern[bytes]:
    """The pattern of one cell element: letters, digits, attributes, formula attributes, formula, value, rest."""
    return re.compile(_CELL_PATTERN.replace(b"P?", name_prefix(data)), re.DOTALL)


def scan(data: bytes, strings: Objects | None, where: str) -> Scan:
    """The cells of a worksheet part; `where` names it in errors. Raises `BookError`."""
    begin = data.find(b"sheetData")
    if begin < 0:
        _check_whole(data, 0, 0, where)
        if b"worksheet" not in data[:4096]:
            raise BookError("the part is no worksheet", where=where)
        return _empty()
    letters: list[bytes] = []
    digits: list[bytes] = []
    types: list[bytes] = []
    values: list[bytes] = []
    starts: list[int] = []
    inline: list[tuple[int, bytes]] = []
    found: list[tuple[int, bytes, bytes, bytes]] = []
    rich: list[tuple[int, int]] = []
    for match in cell_pattern(data).finditer(data, begin):
        column, row, attributes, f_attributes, formula, value, rest = match.groups()
        if column is None:
            column, row = _position(data, match, attributes, letters, digits, starts)
        kind = b""
        if b"t=" in attributes:
            typed = _TYPE.search(attributes)
            kind = typed[1] if typed else b""
        if b"vm=" in attributes and (metadata := _VALUE_METADATA.search(attributes)):
            rich.append((len(letters), int(metadata[1])))
        if value is None:
            value = b""
            if rest and kind == b"inlineStr":
                inline.append((len(letters), rest))
            elif not (kind == b"str" and f_attributes is not None):
                kind = b"-"
        if f_attributes is not None:
            found.append((len(letters), f_attributes, formula or b"", attributes))
        letters.append(column)
        digits.append(row)
        types.append(kind)
        values.append(value)
        starts.append(match.start())
    _check_whole(data, begin, len(letters), where)
    if not letters:
        return _empty()
    rows = np.array(digits).astype(np.int64) - 1
    numbers = {name: column_number(name.decode()) for name in set(letters)}
    columns = np.array([numbers[name] for name in letters], dtype=np.int32)
    if rows.min() < 0 or rows.max() >= MAX_ROWS or columns.max() >= MAX_COLUMNS:
        raise BookError("a cell lies beyond the sheet's edge", where=where)
    formulas = [
        Formula(int(rows[i]), int(columns[i]), f_attributes, text, bool(_CELL_METADATA.search(attributes)))
        for i, f_attributes, text, attributes in found
    ]
    kind_array, num, text = _values(types, values, inline, rows, columns, where)
    return Scan(
        _by_column(rows, columns, kind_array, num, text, strings),
        formulas,
        rows.astype(np.int32),
        columns,
        np.array(starts, dtype=np.int64),
        [(int(rows[i]), int(columns[i]), index) for i, index in rich],
    )


def _empty() -> Scan:
    none = np.zeros(0, dtype=np.int32)
    return Scan({}, [], none, none, np.zeros(0, dtype=np.int64), [])


def _position(
    data: bytes,
    match: re.Match[bytes],
    attributes: bytes,
    letters: list[bytes],
    digits: list[bytes],
    starts: list[int],
) -> tuple[bytes, bytes]:
    """Where a cell stands whose reference isn't its first attribute, or that has none: after the one before."""
    from workbench.recalc.printer import column_letters

    written = _REFERENCE.search(attributes)
    if written:
        return written[1].upper(), written[2]
    row_at = max(data.rfind(b"<row", 0, match.start()), data.rfind(b":row", 0, match.start()))
    row = _ROW_NUMBER.search(data, row_at, data.find(b">", row_at) + 1)
    if starts and starts[-1] > row_at:
        return column_letters(column_number(letters[-1].decode()) + 1).encode(), digits[-1]
    if row is None:
        return b"A", b"%d" % (int(digits[-1]) + 1 if digits else 1)
    return b"A", row[1]


def _check_whole(data: bytes, begin: int, cells: int, where: str) -> None:
    """Raise `BookError` when the part is broken XML.

    Small parts are parsed once more, by expat. Large ones only where the cells found are not the cells begun.
    """
    prefix = name_prefix(data)
    if len(data) > _SMALL:
        end = data.rfind(b"</" + prefix + b"sheetData>")
        begun = sum(data.count(b"<" + prefix + b"c" + c, begin, max(end, begin)) for c in (b" ", b">", b"/"))
        if end >= 0 and begun == cells and data.rstrip().endswith(b"</" + prefix + b"worksheet>"):
            return
    try:
        parser = pyexpat.ParserCreate()
        parser.Parse(data, True)
    except (pyexpat.ExpatError, LookupError, ValueError) as problem:
        raise BookError(f"the part is broken XML ({problem})", where=where) from None


def _values(
    types: list[bytes],
    values: list[bytes],
    inline: list[tuple[int, bytes]],
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    where: str,
) -> tuple[NDArray[np.uint8], NDArray[np.float64], dict[int, str]]:
    known = dict(_KINDS)
    known[b"-"] = BLANK
    try:
        kind = np.fromiter((known[t] for t in types), dtype=np.uint8, count=len(types))
    except KeyError as missing:
        raise BookError(f"a cell has the unknown type {missing}", where=where) from None
    num = np.zeros(len(types))
    plain = (kind == NUMBER) | (kind == SHARED) | (kind == BOOL)
    if plain.any():
        try:
            num[plain] = np.array([values[i] for i in np.flatnonzero(plain)]).astype(np.float64)
        except ValueError:
            for at in np.flatnonzero(plain).tolist():
                num[at] = _number(values[at], kind, at)
        num[~np.isfinite(num)] = 0.0
    text: dict[int, str] = {}
    for at in np.flatnonzero(kind == TEXT).tolist():
        text[at] = plain_text(values[at])
    for i, rest in inline:
        text[i] = _rich(rest)
    for at in np.flatnonzero(kind == ERROR).tolist():
        num[at] = ERROR_OF_TEXT.get(plain_text(values[at]).strip(), CellErrorValue.VALUE).code
    return kind, num, text


def _number(value: bytes, kind: NDArray[np.uint8], index: int) -> float:
    word = value.strip().lower()
    if kind[index] == BOOL and word in (b"true", b"false"):
        return float(word == b"true")
    try:
        return float(word)
    except ValueError:
        kind[index] = BLANK
        return 0.0


def _by_column(
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    kind: NDArray[np.uint8],
    num: NDArray[np.float64],
    text: dict[int, str],
    strings: Objects | None,
) -> dict[int, Column]:
    order = np.lexsort((rows, columns))
    sorted_columns = columns[order]
    edges = np.flatnonzero(np.diff(sorted_columns)) + 1
    all_text: Objects | None = None
    if text:
        all_text = np.full(rows.size, None, dtype=object)
        all_text[list(text)] = list(text.values())
    found: dict[int, Column] = {}
    for part in np.split(order, edges):
        here = rows[part]
        if here.size > 1 and (np.diff(here) == 0).any():
            keep = np.append(np.diff(here) != 0, True)
            part, here = part[keep], here[keep]
        words = None if all_text is None else all_text[part]
        if words is not None and not (kind[part] == TEXT).any():
            words = None
        found[int(columns[part[0]])] = Column(here.astype(np.int32), kind[part], num[part], words, strings)
    return found
