"""Number formats cut into tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_ELAPSED = re.compile(r"h+|m+|s+", re.IGNORECASE)
_CURRENCY = re.compile(r"\$([^-\]]*)(?:-[^\]]*)?")


@dataclass(frozen=True, slots=True)
class Token:
    """`kind`: `lit` (shown as it is), one of `0 # ? . , % / E @ ; * General`, `[` (what stood in brackets),
    a date letter `y m d h s e b g` with its run as text, `AM/PM`, `elapsed` or `.0` (decimals of seconds)."""

    kind: str
    text: str


@lru_cache(maxsize=1024)
def tokens(form: str) -> tuple[Token, ...]:
    """The tokens of a format; ValueError when a quotation or bracket isn't closed."""
    out: list[Token] = []
    at = 0
    while at < len(form):
        token, at = _next(form, at)
        if token.kind == "*":
            continue
        out.append(token)
    return tuple(_seconds(out))


def _next(form: str, at: int) -> tuple[Token, int]:
    char = form[at]
    lower = char.lower()
    if char == '"':
        end = form.find('"', at + 1)
        end = len(form) if end < 0 else end
        return Token("lit", form[at + 1 : end]), end + 1
    if char in "\\!" and at + 1 < len(form):
        return Token("lit", form[at + 1]), at + 2
    if char == "_":
        return Token("lit", " "), at + 2
    if char == "*":
        return Token("*", ""), at + 2
    if char == "[":
        end = form.find("]", at)
        if end < 0:
            raise ValueError("an open bracket")
        return _bracket(form[at + 1 : end]), end + 1
    if form[at : at + 7].lower() == "general":
        return Token("General", ""), at + 7
    for words in ("AM/PM", "A/P"):
        if form[at : at + len(words)].upper() == words:
            return Token("AM/PM", form[at : at + len(words)]), at + len(words)
    if char in "0#?.,%/@;":
        return Token(char, char), at + 1
    if char in "eE" and form[at + 1 : at + 2] in ("+", "-"):
        return Token("E", form[at : at + 2]), at + 2
    if lower in "ymdhsebg":
        end = at
        while end < len(form) and form[end].lower() == lower:
            end += 1
        return Token(lower, form[at:end]), end
    return Token("lit", char), at + 1


def _bracket(inner: str) -> Token:
    if _ELAPSED.fullmatch(inner):
        return Token("elapsed", inner.lower())
    currency = _CURRENCY.fullmatch(inner)
    if currency is not None:
        return Token("lit", currency[1])
    return Token("[", inner)


def _seconds(listed: list[Token]) -> list[Token]:
    """`.` and zeros after seconds become one token `.0`."""
    out: list[Token] = []
    at = 0
    while at < len(listed):
        token = listed[at]
        before = out[-1] if out else None
        after_seconds = before is not None and (before.kind == "s" or (before.kind == "elapsed" and "s" in before.text))
        if token.kind == "." and after_seconds:
            end = at + 1
            while end < len(listed) and listed[end].kind == "0":
                end += 1
            if end > at + 1:
                out.append(Token(".0", "." + "0" * (end - at - 1)))
                at = end
                continue
        out.append(token)
        at += 1
    return out
