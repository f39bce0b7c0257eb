"""Excel's regular expression functions.

Excel speaks PCRE2; patterns are given to Python's `re`, whose syntax is the same for all that the two share.
A pattern that `re` can't read, though PCRE2 might, is #VALUE!.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import Any

from workbench.recalc.registry import INTEGER, TEXT, lane, opt, scalar
from workbench.recalc.values import CellErrorValue, Failure, Scalar

_VALUE = CellErrorValue.VALUE
_GROUP = re.compile(r"\$(?:(\d+)|\{(\w+)\})|\\(\d)|\$\$")
_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
    "word": r"\w",
    "xdigit": "0-9A-Fa-f",
}


@lru_cache(maxsize=1024)
def _compiled(pattern: str, case: float) -> re.Pattern[str]:
    if case not in (0, 1):
        raise Failure(_VALUE)
    named = re.sub(r"\[:(\w+):\]", lambda match: _CLASSES.get(match[1], match[0]), pattern)
    named = re.sub(r"\(\?<(?=[A-Za-z_])", "(?P<", named)
    try:
        return re.compile(named, re.IGNORECASE if case else 0)
    except re.error:
        raise Failure(_VALUE) from None


@scalar("REGEXTEST", TEXT, TEXT, opt(INTEGER, 0.0, empty=True))
def regextest(text: str, pattern: str, case: float) -> bool:
    """Whether some part of the text matches."""
    return _compiled(pattern, case).search(text) is not None


@lane("REGEXEXTRACT", TEXT, TEXT, opt(INTEGER, 0.0, empty=True), opt(INTEGER, 0.0, empty=True))
def regexextract(text: str, pattern: str, mode: float, case: float) -> Any:
    """The first match (0), all of them (1) or the groups of the first (2); #N/A when there is none."""
    if mode not in (0, 1, 2):
        return _VALUE
    compiled = _compiled(pattern, case)
    if mode == 1:
        found = [match[0] for match in compiled.finditer(text)]
        return [found] if found else CellErrorValue.NA
    match = compiled.search(text)
    if match is None:
        return CellErrorValue.NA
    if mode == 0:
        return match[0]
    return [[word or "" for word in match.groups()]] if match.groups() else match[0]


@scalar("REGEXREPLACE", TEXT, TEXT, TEXT, opt(INTEGER, 0.0, empty=True), opt(INTEGER, 0.0, empty=True))
def regexreplace(text: str, pattern: str, new: str, occurrence: float, case: float) -> Scalar:
    """With another text in place of each match, or of one, from the end for a negative number; `$1` is a group."""
    matches = list(_compiled(pattern, case).finditer(text))
    if occurrence:
        at = int(occurrence) - 1 if occurrence > 0 else len(matches) + int(occurrence)
        matches = matches[at : at + 1] if 0 <= at < len(matches) else []
    out = ""
    end = 0
    for match in matches:
        out += text[end : match.start()] + _GROUP.sub(partial(_filled, match), new)
        end = match.end()
    return out + text[end:]


def _filled(match: re.Match[str], group: re.Match[str]) -> str:
    if group[0] == "$$":
        return "$"
    name = group[1] or group[2] or group[3]
    try:
        return match[int(name) if name.isdigit() else name] or ""
    except IndexError:
        raise Failure(_VALUE) from None
