"""Text of a model in cells: never a formula, never broken XML, never silently cut.

What Excel's format can't hold (control characters, U+FFFE, U+FFFF, and texts that look like an escape) is
written as `_xHHHH_`, the format's own escape, and comes back by `unescaped`. A cell holds 32,767 UTF-16
units: a longer text ends in a mark that says how much is left out, and its hash.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

CELL_LIMIT = 32_767
_ILLEGAL = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")
_ESCAPE = re.compile("_x([0-9A-Fa-f]{4})_")
_READ_AS_ANOTHER_TYPE = re.compile(r"^\s*([=+\-@']|[0-9.,]+\s*%?\s*$|(true|false)\s*$)", re.IGNORECASE)


def utf16_length(text: str) -> int:
    """Length as Excel counts: UTF-16 units."""
    return len(text) + sum(1 for c in text if ord(c) > 0xFFFF)


def fitted(text: str, limit: int = CELL_LIMIT) -> str:
    """`text`, or its beginning with a mark of what is missing when a cell can't hold it all."""
    if utf16_length(text) <= limit:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    mark = f"… [cut: {len(text):,} characters in all, sha256 {digest}…]"
    kept = text[: limit - len(mark)]
    while utf16_length(kept) + len(mark) > limit:
        kept = kept[: len(kept) - max(1, (utf16_length(kept) + len(mark) - limit) // 2)]
    return kept + mark


def joined(parts: Sequence[str], limit: int = CELL_LIMIT) -> str:
    """`a;b;c`; where a cell can't hold all, whole parts are left out at the end and counted."""
    whole = ";".join(parts)
    if utf16_length(whole) <= limit:
        return whole
    kept: list[str] = []
    room = limit - 40
    for part in parts:
        room -= utf16_length(part) + 1
        if room < 0:
            break
        kept.append(part)
    return fitted(";".join([*kept, f"… [{len(parts) - len(kept):,} more of {len(parts):,}]"]), limit)


def needs_quote(text: str) -> bool:
    """Whether a program would take `text` for a formula, number or boolean if it were typed."""
    return _READ_AS_ANOTHER_TYPE.match(text) is not None


def escaped(text: str) -> str:
    """`text` as an OOXML string: `_xHHHH_` for what XML can't hold and for what looks like an escape."""
    text = _ESCAPE.sub(lambda m: f"_x005F_x{m[1]}_", text)
    return _ILLEGAL.sub(lambda m: f"_x{ord(m[0]):04X}_", text)


def unescaped(text: str) -> str:
    """The inverse of `escaped`."""
    return _ESCAPE.sub(lambda m: chr(int(m[1], 16)), text)


def writer_cannot_hold(text: str) -> bool:
    """Texts that XlsxWriter would write wrongly: raw rich text, and what it doesn't escape."""
    return (text.startswith("<r>") and text.endswith("</r>")) or any(
        c in "\ufffe\uffff" or "\ud800" <= c <= "\udfff" for c in text
    )
