"""Formula text to tokens, in the grammar of the file format (English names, comma and semicolon)."""

from __future__ import annotations

import re
from typing import NamedTuple

from workbench.errors import CellError


class Token(NamedTuple):
    """`kind` is one of the group names below, or `end`; `spaced` says that blanks stand before it."""

    kind: str
    text: str
    spaced: bool
    position: int


LONGEST_SHOWN = 120
"""Characters of a formula that a message quotes."""

_WORD = r"[^\x00-@\[\]^`{-\x7f]"
r"""A letter, `_`, `\` or anything beyond ASCII; written by what it is not, which compiles a hundred times faster."""

_MORE = r"[^\x00-\-/:->@\[\]^`{-\x7f]"
"""As `_WORD`, or a digit, `.` or `?`."""

_SHEET = rf"(?:\[[^\]'\[]+\])?(?:{_WORD}|\d)[^\x00-\-/:-@\[-^`{{-\x7f]*"
_TOKEN = re.compile(
    rf"""
    (?P<blank>[ \t\r\n]+)
  | (?P<text>"(?:[^"]|"")*")
  | (?P<error>\#(?:NULL!|DIV/0!|VALUE!|REF!|NAME\?|NUM!|N/A|GETTING_DATA|SPILL!|CONNECT!|BLOCKED!|UNKNOWN!|FIELD!
        |CALC!))
  | (?P<sheet>(?:'(?:[^']|'')*'|{_SHEET}(?::{_SHEET})?|\[\d+\])!)
  | (?P<columns>\$?[A-Za-z]{{1,3}}:\$?[A-Za-z]{{1,3}}(?![\w.(!\[]))
  | (?P<rows>\$?\d{{1,7}}:\$?\d{{1,7}}(?![\w.(!]))
  | (?P<cell>\$?[A-Za-z]{{1,3}}\$?[1-9]\d{{0,6}}(?![\w.(!?\\\[]))
  | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
  | (?P<function>{_WORD}{_MORE}*(?=\())
  | (?P<table>(?:{_WORD}{_MORE}*)?\[)
  | (?P<name>{_WORD}{_MORE}*)
  | (?P<operator><>|<=|>=|[-+*/^&=<>%@\#,;:(){{}}])
    """,
    re.VERBOSE,
)
_THREE_D_CELL = re.compile(r"\$?[A-Za-z]{1,3}\$?[1-9]\d{0,6}:")
_CELL_THEN_COLON = re.compile(r"(\$?[A-Za-z]{1,3}\$?[1-9]\d{0,6})(?=:)")


class FormulaError(CellError):
    """A formula text that isn't in Excel's grammar."""

    def __init__(self, problem: str, text: str, position: int) -> None:
        shown = text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
        super().__init__(f"formula '={shown}' {problem} at character {position + 2}")


def tokens(text: str) -> list[Token]:
    """The tokens of a formula without its `=`, and an `end` token. Raises `FormulaError`."""
    found: list[Token] = []
    position, spaced = 0, False
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise FormulaError(f"has an unexpected '{text[position]}'", text, position)
        kind = match.lastgroup or ""
        piece = match[0]
        if kind == "sheet" and _THREE_D_CELL.match(piece):
            # A1:Sheet2!B2 is a range between two references, not a span of sheets named A1
            cell = _CELL_THEN_COLON.match(text, position)
            assert cell is not None
            kind, piece = "cell", cell[1]
        if kind == "table":
            piece = _bracketed(text, position)
        position += len(piece)
        if kind == "blank":
            spaced = True
            continue
        found.append(Token(kind, piece, spaced, position - len(piece)))
        spaced = False
    found.append(Token("end", "", spaced, len(text)))
    return found


def _bracketed(text: str, start: int) -> str:
    """A table reference up to its closing bracket; an apostrophe escapes the next character."""
    depth, i = 0, start
    while i < len(text):
        c = text[i]
        if c == "'" and depth:
            i += 1
        elif c == "[":
            depth += 1
        elif c == "]":
            depth -= 1
            if depth == 0:
                return text[start : i + 1]
        i += 1
    raise FormulaError("has a '[' that is never closed", text, start)
