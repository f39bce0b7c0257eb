"""Excel's functions of characters: parts of texts, searching, replacing, letter case.

Positions and lengths count UTF-16 units, as Excel does: an emoji is two.
"""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np

from workbench.recalc.functions._criteria import pattern
from workbench.recalc.functions.information import first_element
from workbench.recalc.registry import INTEGER, TEXT, Call, Operand, lazy, opt, scalar, vector
from workbench.recalc.values import BOOL, CellErrorValue, Floats, Objects, Scalar, from_objects
from workbench.recalc.values import TEXT as TEXT_KIND

LONGEST = 32767
"""Characters that a cell can hold."""

_VALUE = CellErrorValue.VALUE


def units(text: str) -> str:
    """The text with one character for each UTF-16 unit."""
    if text.isascii() or max(text, default="") <= "\uffff":
        return text
    raw = text.encode("utf-16-le", "surrogatepass")
    return "".join(chr(raw[i] | raw[i + 1] << 8) for i in range(0, len(raw), 2))


def text_of_units(text: str) -> str:
    """The inverse of `units`; half of a pair, which no file could hold, becomes the replacement character."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _cut(text: str, start: int, stop: int) -> str:
    return text_of_units(units(text)[start:stop])


@vector("LEN LENB", TEXT)
def len_(words: Objects) -> Floats:
    """How many characters."""
    lengths = [len(units(word)) for word in words.reshape(-1).tolist()]
    return np.array(lengths, dtype=np.float64).reshape(words.shape)


@scalar("LEFT LEFTB", TEXT, opt(INTEGER, 1.0))
def left(text: str, count: float) -> Scalar:
    """The first characters."""
    return _VALUE if count < 0 else _cut(text, 0, int(count))


@scalar("RIGHT RIGHTB", TEXT, opt(INTEGER, 1.0))
def right(text: str, count: float) -> Scalar:
    """The last characters."""
    if count < 0:
        return _VALUE
    length = len(units(text))
    return _cut(text, max(length - int(count), 0), length)


@scalar("MID MIDB", TEXT, INTEGER, INTEGER)
def mid(text: str, start: float, count: float) -> Scalar:
    """Characters from a position, counted from 1."""
    if start < 1 or count < 0:
        return _VALUE
    return _cut(text, int(start) - 1, int(start) - 1 + int(count))


@scalar("FIND FINDB", TEXT, TEXT, opt(INTEGER, 1.0))
def find(wanted: str, text: str, start: float) -> Scalar:
    """Position of a text in another, with case."""
    wanted, text = units(wanted), units(text)
    if not 1 <= start <= max(len(text), 1):
        return _VALUE
    at = text.find(wanted, int(start) - 1)
    return float(at + 1) if at >= 0 else _VALUE


@scalar("SEARCH SEARCHB", TEXT, TEXT, opt(INTEGER, 1.0))
def search(wanted: str, text: str, start: float) -> Scalar:
    """Position of a text with wildcards in another, without case."""
    wanted, text = units(wanted), units(text)
    if not 1 <= start <= max(len(text), 1):
        return _VALUE
    match = pattern(wanted).search(text, int(start) - 1)
    return float(match.start() + 1) if match is not None else _VALUE


@scalar("REPLACE REPLACEB", TEXT, INTEGER, INTEGER, TEXT)
def replace(text: str, start: float, count: float, new: str) -> Scalar:
    """With other characters at a position."""
    if start < 1 or count < 0:
        return _VALUE
    cut = units(text)
    at = int(start) - 1
    return _fitting(text_of_units(cut[:at]) + new + text_of_units(cut[at + int(count) :]))


@scalar("SUBSTITUTE", TEXT, TEXT, TEXT, opt(INTEGER))
def substitute(text: str, old: str, new: str, instance: float | None) -> Scalar:
    """With another text in place of each occurrence, or of one of them."""
    if instance is not None and instance < 1:
        return _VALUE
    if not old:
        return text
    if instance is None:
        return _fitting(text.replace(old, new))
    at = -len(old)
    for _ in range(int(instance)):
        at = text.find(old, at + len(old))
        if at < 0:
            return text
    return _fitting(text[:at] + new + text[at + len(old) :])


def _fitting(text: str) -> Scalar:
    return text if len(text) <= LONGEST else _VALUE


@scalar("UPPER", TEXT)
def upper(text: str) -> str:
    """In capitals; letters without a capital of their own stay."""
    return "".join(c.upper() if len(c.upper()) == 1 else c for c in text)


@scalar("LOWER", TEXT)
def lower(text: str) -> str:
    """In small letters."""
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


@scalar("PROPER", TEXT)
def proper(text: str) -> str:
    """Each letter after something that is no letter as a capital, all others small."""
    out = ""
    inside = False
    for char in text:
        out += lower(char) if inside else upper(char)
        inside = char.isalpha()
    return out


@scalar("TRIM", TEXT)
def trim(text: str) -> str:
    """Without blanks around and with one between words; other white space stays."""
    return " ".join(part for part in text.split(" ") if part)


@scalar("CLEAN", TEXT)
def clean(text: str) -> str:
    """Without the first 32 control characters."""
    return "".join(c for c in text if c >= " ")


@scalar("REPT", TEXT, INTEGER)
def rept(text: str, count: float) -> Scalar:
    """Again and again."""
    if count < 0 or len(text) * count > LONGEST:
        return _VALUE
    return text * int(count)


@vector("EXACT", TEXT, TEXT, result=BOOL)
def exact(one: Objects, other: Objects) -> Any:
    """Whether two texts are the same, with case."""
    return np.asarray(one == other, dtype=bool)


@lazy("T", minimum=1, maximum=1)
def t(call: Call) -> Operand:
    """A text as it is, an error as it is, anything else as an empty text; of a reference its first cell."""
    value = first_element(call, 0)
    if value.uniform == TEXT_KIND:
        return value.unreferenced()
    words = np.array(value.objects())
    flat = words.reshape(-1)
    flat[:] = [item if isinstance(item, str | CellErrorValue) else "" for item in flat.tolist()]
    return from_objects(flat.reshape(words.shape))


# --- codes


@scalar("CHAR", INTEGER)
def char(code: float) -> Scalar:
    """The character of a code of Windows-1252, 1 to 255."""
    if not 1 <= code <= 255:
        return _VALUE
    try:
        return bytes([int(code)]).decode("cp1252")
    except UnicodeDecodeError:
        return chr(int(code))


@scalar("CODE", TEXT)
def code(text: str) -> Scalar:
    """The code of the first character in Windows-1252; 63, the question mark's, when it has none."""
    if not text:
        return _VALUE
    first = text[0]
    try:
        return float(first.encode("cp1252")[0])
    except UnicodeEncodeError:
        return float(ord(first)) if ord(first) < 256 else 63.0


@scalar("UNICHAR", INTEGER)
def unichar(code: float) -> Scalar:
    """The character of a code point."""
    if not 1 <= code <= 0x10FFFF:
        return _VALUE
    if 0xD800 <= code <= 0xDFFF or int(code) & 0xFFFE == 0xFFFE:
        return CellErrorValue.NA
    return chr(int(code))


@scalar("UNICODE", TEXT)
def unicode(text: str) -> Scalar:
    """The code point of the first character."""
    return float(ord(text[0])) if text else _VALUE


# --- widths of East Asian characters

_HALF_KANA = {unicodedata.normalize("NFKC", chr(c)): chr(c) for c in range(0xFF61, 0xFFA0)}


@scalar("ASC", TEXT)
def asc(text: str) -> str:
    """Full-width letters and katakana in half width."""
    out = ""
    for char in text:
        if "\uff01" <= char <= "\uff5e":
            out += chr(ord(char) - 0xFEE0)
        elif char == "\u3000":
            out += " "
        else:
            parts = unicodedata.normalize("NFD", char).replace("\u3099", "ﾞ").replace("\u309a", "ﾟ")
            is_kana = "\u3001" <= char <= "\u30ff"
            out += "".join(_HALF_KANA.get(part, part) for part in parts) if is_kana and _has_half(parts) else char
    return out


def _has_half(parts: str) -> bool:
    return all(part in _HALF_KANA or part in "ﾞﾟ" for part in parts)


@scalar("DBCS JIS", TEXT)
def dbcs(text: str) -> str:
    """Half-width letters and katakana in full width."""
    kana = unicodedata.normalize("NFKC", text) if any("\uff61" <= c <= "\uff9f" for c in text) else text
    return "".join("\u3000" if c == " " else chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in kana)


@scalar("ENCODEURL", TEXT)
def encodeurl(text: str) -> str:
    """Percent-encoded for a URL."""
    from urllib.parse import quote

    return quote(text, safe="")
