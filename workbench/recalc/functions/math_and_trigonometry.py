"""Excel's mathematical functions: sums and products, powers and logarithms, divisors, factorials.

Angles are in `trigonometry.py`, rounding in `rounding.py`, matrices in `matrices.py`, SUBTOTAL in `subtotals.py`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.recalc.functions import _samples
from workbench.recalc.functions._decimal import near_integer
from workbench.recalc.functions._toolpak import strict_number, toolpak, toolpak_list
from workbench.recalc.registry import ANY, ARRAY, NUMBER, RANGE, aggregate, lane, opt, scalar, vector
from workbench.recalc.values import (
    ERROR,
    Bools,
    CellErrorValue,
    Floats,
    Objects,
    Scalar,
    Value,
    codes_where,
)
from workbench.recalc.values import NUMBER as NUMBER_KIND

_NUM = CellErrorValue.NUM
_DIV0 = CellErrorValue.DIV0


@aggregate("SUM")
def sum_(x: Floats, where: Bools | None) -> Floats:
    """Numbers not counted are 0."""
    return _samples.total(x, where)


@aggregate("PRODUCT")
def product(x: Floats, where: Bools | None) -> Floats:
    """0 when there is no number."""
    return _samples.product(x, where)


@aggregate("SUMSQ")
def sumsq(x: Floats, where: Bools | None) -> Floats:
    """Numbers not counted are 0."""
    return np.asarray((x * x).sum(axis=-1))


@vector("SUMPRODUCT", ARRAY, repeat=1)
def sumproduct(*arrays: Value) -> tuple[Floats, Any]:
    """Elements that are no numbers count as 0; #VALUE! when the arrays differ in size; errors win."""
    if len({array.shape[2:] for array in arrays}) > 1:
        return np.zeros((1, 1, 1, 1)), codes_where((True, CellErrorValue.VALUE))
    terms: Floats | None = None
    codes: Any = None
    for array in arrays:
        if array.uniform == NUMBER_KIND:
            factor = array.num
        else:
            kinds = array.kinds
            factor = np.where(kinds == NUMBER_KIND, array.num, 0.0)
            if (kinds == ERROR).any():
                _, _, failed = _samples.counted(array)
                codes = failed if codes is None else np.where(codes != 0, codes, failed)
        terms = factor if terms is None else terms * factor
    assert terms is not None
    return terms.sum(axis=(2, 3), keepdims=True), codes


@vector("PERCENTOF", RANGE, RANGE)
def percentof(part: Value, whole: Value) -> tuple[Floats, Any]:
    """The sum of the part over the sum of the whole."""
    sums, codes = [], None
    for value in (part, whole):
        x, _, failed = _samples.counted(value)
        sums.append(_samples.lanes(x.sum(axis=-1)))
        if failed is not None:
            codes = failed if codes is None else np.where(codes != 0, codes, failed)
    zero = codes_where((sums[1] == 0, _DIV0))
    return sums[0] / np.where(sums[1] == 0, 1.0, sums[1]), zero if codes is None else np.where(codes != 0, codes, zero)


# --- signs, powers, logarithms


@vector("ABS", NUMBER)
def abs_(x: Floats) -> Floats:
    """Absolute value."""
    return np.abs(x)


@vector("SIGN", NUMBER)
def sign(x: Floats) -> Floats:
    """−1, 0 or 1."""
    return np.sign(x)


@vector("SQRT", NUMBER)
def sqrt(x: Floats) -> Floats:
    """#NUM! below 0."""
    return np.sqrt(x)


@toolpak("SQRTPI", NUMBER)
def sqrtpi(x: float) -> Scalar:
    """√(x·π)."""
    return math.sqrt(x * math.pi) if x >= 0 else _NUM


@vector("EXP", NUMBER)
def exp(x: Floats) -> Floats:
    """e to the power of x."""
    return np.exp(x)


@vector("LN", NUMBER)
def ln(x: Floats) -> Floats:
    """#NUM! for 0 and below."""
    return np.log(x)


@vector("LOG10", NUMBER)
def log10(x: Floats) -> Floats:
    """#NUM! for 0 and below."""
    return np.log10(x)


@vector("LOG", NUMBER, opt(NUMBER, np.full((1, 1, 1, 1), 10.0)))
def log(x: Floats, base: Floats) -> tuple[Floats, Any]:
    """#DIV/0! for base 1."""
    codes = codes_where(((x <= 0) | (base <= 0), _NUM), (base == 1, _DIV0))
    plain = np.log(x) / np.log(base)
    return np.where(base == 10, np.log10(x), np.where(base == 2, np.log2(x), plain)), codes


@vector("POWER", NUMBER, NUMBER)
def power(x: Floats, exponent: Floats) -> tuple[Floats, Any]:
    """As the operator ^."""
    codes = codes_where(((x == 0) & (exponent == 0), _NUM), ((x == 0) & (exponent < 0), _DIV0))
    result = np.power(x, exponent)
    root = 1 / exponent
    odd = (x < 0) & np.isnan(result) & (np.abs(root - np.rint(root)) < 1e-9) & (np.rint(root) % 2 == 1)
    return np.where(odd, -np.power(np.abs(x), exponent), result), codes


@toolpak("QUOTIENT", NUMBER, NUMBER)
def quotient(x: float, divisor: float) -> Scalar:
    """The whole part of the ratio."""
    return float(math.trunc(x / divisor))


@vector("MOD", NUMBER, NUMBER)
def mod(x: Floats, divisor: Floats) -> tuple[Floats, Any]:
    """The sign is the divisor's; #NUM! when the ratio has no digits left behind the point."""
    safe = np.where(divisor == 0, 1.0, divisor)
    codes = codes_where((divisor == 0, _DIV0), (np.abs(x / safe) >= 2.0**50, _NUM))
    rest = np.fmod(x, safe)
    rest = np.where((rest != 0) & ((rest < 0) != (safe < 0)), rest + safe, rest)
    whole = x / safe
    rest = np.where(near_integer(whole), 0.0, rest)
    return rest, codes


# --- divisors, factorials, combinations


@toolpak_list("GCD")
def gcd(items: list[float]) -> Scalar:
    """Of the whole parts; #NUM! below 0 and from 2^53 on."""
    return _divisor(items, math.gcd)


@toolpak_list("LCM")
def lcm(items: list[float]) -> Scalar:
    """Of the whole parts; #NUM! below 0, and when the result reaches 2^53."""
    return _divisor(items, math.lcm)


def _divisor(items: list[float], joined: Callable[..., int]) -> Scalar:
    if any(not 0 <= item < 2.0**53 for item in items):
        return _NUM
    found = joined(*(int(item) for item in items))
    return float(found) if found < 2**53 else _NUM


@scalar("FACT", NUMBER)
def fact(x: float) -> Scalar:
    """Of the whole part; #NUM! below 0 and above 170."""
    return float(math.factorial(int(x))) if 0 <= x < 171 else _NUM


@toolpak("FACTDOUBLE", NUMBER)
def factdouble(x: float) -> Scalar:
    """n·(n − 2)·(n − 4)…; 1 for −1 and 0; #NUM! below and above 300."""
    n = math.trunc(x)
    if n < -1 or n > 300:
        return _NUM
    return float(math.prod(range(n, 0, -2)))


@scalar("COMBIN", NUMBER, NUMBER)
def combin(n: float, k: float) -> Scalar:
    """Ways to choose k of n."""
    n, k = math.floor(n), math.floor(k)
    return _NUM if n < 0 or k < 0 or n < k else chosen(n, k)


@scalar("COMBINA", NUMBER, NUMBER)
def combina(n: float, k: float) -> Scalar:
    """Ways to choose k of n with repetition."""
    n, k = math.floor(n), math.floor(k)
    if n < 0 or k < 0 or (n == 0 and k > 0):
        return _NUM
    return chosen(n + k - 1, k) if n or k else 1.0


def chosen(n: int, k: int) -> float:
    """C(n, k); Overflow where it is no float."""
    k = min(k, n - k)
    if k > 1024:  # C(n, k) ≥ C(2k, k) ≥ 2^k
        raise OverflowError
    return float(math.comb(n, k))


@toolpak_list("MULTINOMIAL")
def multinomial(items: list[float]) -> Scalar:
    """(a + b + …)! / (a!·b!·…) of the whole parts; #NUM! below 0."""
    if any(item < 0 for item in items):
        return _NUM
    sum_so_far, ways = 0, 1.0
    for item in items:
        sum_so_far += int(item)
        ways *= chosen(sum_so_far, int(item))
    return ways


@lane("SERIESSUM", ANY, ANY, ANY, RANGE)
def seriessum(x: Scalar, start: Scalar, step: Scalar, coefficients: Objects) -> Scalar:
    """Σ aᵢ·x^(n + i·m), coefficients in reading order; #VALUE! for booleans and texts that spell no number."""
    numbers = [strict_number(item) for item in (x, start, step, *coefficients.reshape(-1))]
    for item in numbers:
        if isinstance(item, CellErrorValue):
            return item
    base, exponent, by, *factors = (item for item in numbers if isinstance(item, float))
    total = 0.0
    for i, factor in enumerate(factors):
        power_of = exponent + i * by
        if base == 0 and power_of <= 0:
            return _NUM
        total += factor * base**power_of
    return total


# --- random numbers


@scalar("RAND", volatile=True)
def rand() -> float:
    """From 0 up to, but not including, 1."""
    return random.random()


@toolpak("RANDBETWEEN", NUMBER, NUMBER, volatile=True)
def randbetween(low: float, high: float) -> Scalar:
    """A whole number, both ends included."""
    first, last = math.ceil(low), math.floor(high)
    return _NUM if first > last else float(random.randint(first, last))
