"""Number formats as TEXT renders them: sections, conditions, digits, scientific, fractions; dates in `_date_format`."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from workbench.recalc.coerce import format_number
from workbench.recalc.functions._date_format import DATE_LETTERS, rendered_date
from workbench.recalc.functions._format_tokens import Token, tokens

_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*([-+]?\d*\.?\d+(?:[eE][-+]?\d+)?)")
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}
_DIGITS = "0#?"

WIDE = Context(prec=800)
"""Enough figures for any number with any count of decimals."""


@dataclass(frozen=True)
class Section:
    """One of the parts between semicolons."""

    tokens: tuple[Token, ...]
    condition: tuple[str, float] | None = None

    @property
    def is_text(self) -> bool:
        """Whether it shows texts."""
        return any(token.kind == "@" for token in self.tokens)

    @property
    def is_date(self) -> bool:
        """Whether it shows dates or times."""
        return any(token.kind in DATE_LETTERS for token in self.tokens)

    def holds(self, value: float) -> bool:
        """Whether its condition, if any, holds."""
        return self.condition is not None and _COMPARE[self.condition[0]](value, self.condition[1])

    @property
    def negative_only(self) -> bool:
        """Whether its condition admits negative numbers only: then no minus sign is added."""
        if self.condition is None:
            return False
        sign, bound = self.condition
        return (sign == "<" and bound <= 0) or (sign in ("<=", "=") and bound < 0)


@lru_cache(maxsize=1024)
def sections(text: str) -> tuple[Section, ...]:
    """The sections of a format; ValueError when it is none."""
    out: list[Section] = []
    current: list[Token] = []
    condition: tuple[str, float] | None = None
    for token in tokens(text):
        if token.kind == ";":
            out.append(Section(tuple(current), condition))
            current, condition = [], None
        elif token.kind == "[":
            match = _CONDITION.fullmatch(token.text.strip())
            if match is not None:
                condition = match[1], float(match[2])
        else:
            current.append(token)
    out.append(Section(tuple(current), condition))
    if len(out) > 4:
        raise ValueError("more than four sections")
    return tuple(out)


def rendered_text(text: str, form: str) -> str:
    """A text in a format: by its text section, else as it is."""
    parts = sections(form)
    shown = parts[3] if len(parts) == 4 else next((part for part in parts[-1:] if part.is_text), None)
    if shown is None:
        return text
    return "".join(text if token.kind == "@" else _literal(token) for token in shown.tokens)


def rendered(value: float, form: str, date1904: bool = False) -> str:
    """A number in a format. ValueError when the format can't show it (a negative date, a broken format)."""
    parts = sections(form)
    section, unsigned = _chosen(parts, value)
    if section is None:
        return format_number(value)  # as `&` writes it
    if section.is_date:
        if value < 0:
            raise ValueError("a negative date")
        return rendered_date(value, section.tokens, date1904)
    minus = "-" if value < 0 and not unsigned else ""
    if not section.tokens:
        return minus if len(parts) > 1 else ""
    return _number(abs(value), section.tokens, minus)


def _chosen(parts: tuple[Section, ...], value: float) -> tuple[Section | None, bool]:
    """The section for a number and whether it stands for the sign, too; None: only texts have a section."""
    numeric = list(parts)
    if len(parts) == 4 or parts[-1].is_text:
        numeric = numeric[:-1]
    if not numeric:
        return (parts[0], False) if not parts[0].is_text else (None, False)
    if any(part.condition for part in numeric):
        return _by_condition(numeric, value)
    if value < 0 and len(numeric) > 1:
        return numeric[1], True
    if value == 0 and len(numeric) > 2:
        return numeric[2], True
    return numeric[0], False


def _by_condition(numeric: list[Section], value: float) -> tuple[Section | None, bool]:
    first = numeric[0]
    if first.condition is None:
        first = Section(first.tokens, (">", 0.0) if len(numeric) > 2 else (">=", 0.0))
    if first.holds(value):
        return first, first.negative_only
    if len(numeric) == 1:
        raise ValueError("no section for this number")
    second = numeric[1]
    if second.condition is None and len(numeric) > 2:
        second = Section(second.tokens, ("<", 0.0))
    if second.condition is None or second.holds(value):
        return second, second.negative_only or (second.condition is None and first.condition == (">=", 0.0))
    if len(numeric) < 3:
        raise ValueError("no section for this number")
    return numeric[2], False


def _literal(token: Token) -> str:
    if token.kind == "lit":
        return token.text
    return "" if token.kind in ("*", "General") else token.text


def general(value: float) -> str:
    """A number ≥ 0 in the format General as a cell shows it: in at most 11 characters, else scientific."""
    number = Decimal(repr(float(f"{value:.15g}")))
    whole_digits = max(number.adjusted() + 1, 1) if number else 1
    if whole_digits <= 11:
        decimals = max(10 - whole_digits, 0) if value >= 1e-4 else 12
        plain = f"{number.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP, context=WIDE):f}"
        plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
        if len(plain) <= 11 and (float(plain) or not value):
            return plain
    mantissa, _, exponent = f"{number:.5E}".partition("E")
    return f"{mantissa.rstrip('0').rstrip('.')}E{exponent[0]}{exponent[1:].zfill(2)}"


def _number(value: float, parts: tuple[Token, ...], minus: str) -> str:
    if any(token.kind == "General" for token in parts):
        shown = general(value)
        return minus + "".join(shown if token.kind == "General" else _literal(token) for token in parts)
    kinds = [token.kind for token in parts]
    if not any(kind in _DIGITS for kind in kinds):
        if any(kind == "@" for kind in kinds):
            return minus + "".join(format_number(value) if t.kind == "@" else _literal(t) for t in parts)
        return minus + "".join(_literal(token) for token in parts)
    number = Decimal(repr(float(f"{value:.15g}")))
    number *= Decimal(100) ** kinds.count("%")
    if "E" in kinds:
        return minus + _scientific(number, list(parts))
    if "/" in kinds and _is_fraction(kinds):
        return minus + _fraction(number, list(parts))
    return minus + _decimal(number, list(parts))


# --- digits


def _digit_places(kinds: list[str]) -> list[int]:
    return [at for at, kind in enumerate(kinds) if kind in _DIGITS]


def _decimal(number: Decimal, parts: list[Token]) -> str:
    kinds = [token.kind for token in parts]
    point = kinds.index(".") if "." in kinds else len(kinds)
    whole = [at for at in _digit_places(kinds) if at < point]
    decimals = [at for at in _digit_places(kinds) if at > point]
    commas = [at for at, kind in enumerate(kinds) if kind == ","]
    last = whole[-1] if whole else -1
    scale = _scaling_commas(kinds, last, point, decimals)
    grouped = any(whole and whole[0] < at < last for at in commas)
    number = number.scaleb(-3 * len(scale))
    rounded = number.quantize(Decimal(1).scaleb(-len(decimals)), rounding=ROUND_HALF_UP, context=WIDE)
    digits, _, fraction = f"{rounded:f}".partition(".")
    shown: dict[int, str] = dict.fromkeys(commas, "")
    shown.update(_whole_digits(digits.lstrip("0"), [(at, kinds[at]) for at in whole], grouped))
    shown.update(_decimal_digits(fraction, [(at, kinds[at]) for at in decimals]))
    out = ""
    for at, token in enumerate(parts):
        if at in shown:
            out += shown[at]
        elif token.kind == ".":
            out += (digits.lstrip("0") if not whole else "") + "." if at == point else "."
        else:
            out += _literal(token)
    return out


def _scaling_commas(kinds: list[str], last: int, point: int, decimals: list[int]) -> list[int]:
    """Commas right after the last digit of the whole part or of the decimals: each divides by a thousand."""
    out = []
    for start in (last, decimals[-1] if decimals else point):
        at = start + 1
        while start >= 0 and at < len(kinds) and kinds[at] == ",":
            if at not in out:
                out.append(at)
            at += 1
    return out


def _whole_digits(digits: str, places: list[tuple[int, str]], grouped: bool) -> dict[int, str]:
    out: dict[int, str] = {}
    left = digits
    count = 0
    for index, (at, kind) in enumerate(reversed(places)):
        first = index == len(places) - 1
        taken = left if first else left[-1:]
        left = "" if first else left[:-1]
        text = ""
        for digit in reversed(taken) if taken else ([{"0": "0", "?": " ", "#": ""}[kind]]):
            if not digit:
                continue
            if grouped and count and count % 3 == 0:
                text = ("," if digit != " " else " ") + text
            text = digit + text
            count += 1
        out[at] = text
    return out


def _decimal_digits(fraction: str, places: list[tuple[int, str]]) -> dict[int, str]:
    out: dict[int, str] = {}
    trailing = True
    for (at, kind), digit in zip(reversed(places), reversed(fraction), strict=True):
        if kind == "0" or digit != "0":
            trailing = False
        out[at] = digit if not trailing else {"#": "", "?": " "}[kind]
    return out


def _scientific(number: Decimal, parts: list[Token]) -> str:
    kinds = [token.kind for token in parts]
    at_e = kinds.index("E")
    mantissa, exponent_parts = parts[:at_e], parts[at_e + 1 :]
    mantissa_kinds = kinds[:at_e]
    point = mantissa_kinds.index(".") if "." in mantissa_kinds else len(mantissa_kinds)
    places = _digit_places(mantissa_kinds)
    width = max(1, sum(at < point for at in places))
    decimals = sum(at > point for at in places)
    exponent = number.adjusted() if number else 0
    if width > 1:
        exponent = math.floor(exponent / width) * width
    scaled = number.scaleb(-exponent).quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP, context=WIDE)
    if scaled and scaled.adjusted() >= (width if width > 1 else 1):
        exponent += width
        scaled = number.scaleb(-exponent)
    sign = "-" if exponent < 0 else "+" if parts[at_e].text[1:] == "+" else ""
    shown = [token for token in exponent_parts if token.kind in _DIGITS or token.kind == "lit"]
    power = _decimal(Decimal(abs(exponent)), shown) if any(t.kind in _DIGITS for t in shown) else str(abs(exponent))
    return _decimal(scaled, list(mantissa)) + parts[at_e].text[0] + sign + power


# --- fractions


def _is_fraction(kinds: list[str]) -> bool:
    at = kinds.index("/")
    return any(kind in _DIGITS for kind in kinds[:at])


def _run(parts: list[Token], at: int, step: int) -> int:
    """How many digit places, or digits, lie next to each other from `at`."""
    count = 0
    while 0 <= at < len(parts) and (parts[at].kind in _DIGITS or parts[at].text.isdigit()):
        count += 1
        at += step
    return count


def _fraction(number: Decimal, parts: list[Token]) -> str:
    slash = next(at for at, token in enumerate(parts) if token.kind == "/")
    above = _run(parts, slash - 1, -1)
    below = _run(parts, slash + 1, 1)
    if not above or not below:
        raise ValueError("a fraction needs digits above and below")
    head, top = parts[: slash - above], parts[slash - above : slash]
    bottom, tail = parts[slash + 1 : slash + 1 + below], parts[slash + 1 + below :]
    exact = Fraction(number)
    mixed = any(token.kind in _DIGITS for token in head)
    whole = exact.numerator // exact.denominator if mixed else 0
    rest = exact - whole
    fixed = "".join(token.text for token in bottom)
    if fixed.isdigit() and int(fixed):
        denominator = int(fixed)
        numerator = math.floor(rest * denominator + Fraction(1, 2))
    else:
        near = rest.limit_denominator(10**below - 1)
        numerator, denominator = near.numerator, near.denominator
    if mixed and numerator >= denominator:
        whole, numerator = whole + 1, numerator - denominator
    blank = mixed and numerator == 0 and not any(token.kind == "0" for token in top)
    left = _decimal(Decimal(whole), _hidden(head, blank, whole)) if mixed else "".join(map(_literal, head))
    right = "".join(_literal(token) for token in tail)
    if blank:
        return left + " " * (above + 1 + below) + right
    over = str(numerator).rjust(above, "0" if top[0].kind == "0" else " ")
    over = over if any(token.kind != "#" for token in top) else over.strip()
    under = str(denominator)
    under = under if fixed.isdigit() and int(fixed) else under.ljust(below) if bottom[0].kind == "?" else under
    return left + over + "/" + under + right


def _hidden(head: list[Token], blank: bool, whole: int) -> list[Token]:
    """A whole part of 0 beside a fraction is left out, unless it is all there is."""
    if blank and not whole:
        return [Token("0", "0") if token.kind in "#?" else token for token in head]
    return head
