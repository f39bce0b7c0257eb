"""Excel's complex numbers: texts such as `3+4i` or `-2.5j`."""

from __future__ import annotations

import cmath
import math
import re
from collections.abc import Callable

from workbench.recalc.coerce import format_number
from workbench.recalc.functions._toolpak import strict_number, toolpak
from workbench.recalc.registry import ANY, NUMBER, RANGE, TEXT, lane, opt
from workbench.recalc.values import CellErrorValue, Failure, Objects, Scalar

_NUM = CellErrorValue.NUM
_VALUE = CellErrorValue.VALUE
_FLOAT = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_COMPLEX = re.compile(rf"(?P<real>[-+]?{_FLOAT}(?![\d.eE]*[ij]))?(?:(?P<imaginary>[-+]?(?:{_FLOAT})?)(?P<unit>[ij]))?")


def _demand(holds: bool, which: CellErrorValue = _NUM) -> None:
    if not holds:
        raise Failure(which)


def parsed(value: Scalar) -> tuple[complex, str]:
    """(number, the letter of its imaginary unit, empty for a real number); #NUM! for other texts."""
    if not isinstance(value, str):
        number = strict_number(value)
        if isinstance(number, CellErrorValue):
            raise Failure(number)
        return complex(number), ""
    match = _COMPLEX.fullmatch(value.strip())
    _demand(match is not None and value.strip() != "")
    assert match is not None
    imaginary = match["imaginary"]
    if imaginary is None:
        return complex(float(match["real"])), ""
    _demand(match["real"] is None or imaginary[:1] in ("+", "-"))
    size = float(imaginary + "1" if imaginary in ("", "+", "-") else imaginary)
    return complex(float(match["real"] or 0), size), match["unit"]


def written(number: complex, unit: str) -> str:
    """As Excel writes it, 15 digits a part: `3+4i`, `i`, `-2.5`."""
    _demand(cmath.isfinite(number))
    real, imaginary = format_number(number.real + 0.0), format_number(number.imag + 0.0)
    if number.imag == 0:
        return real
    part = {"1": "", "-1": "-"}.get(imaginary, imaginary) + (unit or "i")
    if number.real == 0:
        return part
    return real + ("" if part.startswith("-") else "+") + part


@toolpak("COMPLEX", NUMBER, NUMBER, opt(TEXT, "i"))
def complex_(real: float, imaginary: float, unit: str) -> Scalar:
    """#VALUE! for a unit other than i and j."""
    _demand(unit in ("i", "j"), _VALUE)
    return written(complex(real, imaginary), unit)


@toolpak("IMREAL", ANY)
def imreal(value: Scalar) -> Scalar:
    """Real part."""
    return parsed(value)[0].real


@toolpak("IMAGINARY", ANY)
def imaginary_(value: Scalar) -> Scalar:
    """Imaginary part."""
    return parsed(value)[0].imag


@toolpak("IMABS", ANY)
def imabs(value: Scalar) -> Scalar:
    """Absolute value."""
    return abs(parsed(value)[0])


@toolpak("IMARGUMENT", ANY)
def imargument(value: Scalar) -> Scalar:
    """Angle in radians; #DIV/0! for 0."""
    z, _ = parsed(value)
    _demand(z != 0, CellErrorValue.DIV0)
    return cmath.phase(z)


def _of_one(name: str, function: Callable[[complex], complex]) -> None:
    @toolpak(name, ANY)
    def body(value: Scalar) -> Scalar:
        """A complex function; #NUM! where it has a pole."""
        z, unit = parsed(value)
        try:
            return written(function(z), unit)
        except (ValueError, ZeroDivisionError):
            return _NUM


def _tan(z: complex) -> complex:
    return cmath.tan(z) if z.imag else complex(math.tan(z.real))


for _name, _function in {
    "IMCONJUGATE": complex.conjugate,
    "IMSQRT": cmath.sqrt,
    "IMEXP": cmath.exp,
    "IMLN": cmath.log,
    "IMLOG10": cmath.log10,
    "IMLOG2": lambda z: cmath.log(z) / math.log(2),
    "IMSIN": cmath.sin,
    "IMCOS": cmath.cos,
    "IMTAN": _tan,
    "IMCOT": lambda z: 1 / _tan(z),
    "IMSEC": lambda z: 1 / cmath.cos(z),
    "IMCSC": lambda z: 1 / cmath.sin(z),
    "IMSINH": cmath.sinh,
    "IMCOSH": cmath.cosh,
    "IMSECH": lambda z: 1 / cmath.cosh(z),
    "IMCSCH": lambda z: 1 / cmath.sinh(z),
}.items():
    _of_one(_name, _function)


@toolpak("IMPOWER", ANY, NUMBER)
def impower(value: Scalar, exponent: float) -> Scalar:
    """By modulus and angle; #NUM! for 0 to a power of 0 or below."""
    z, unit = parsed(value)
    if z == 0:
        _demand(exponent > 0)
        return "0"
    if exponent == math.trunc(exponent) and abs(exponent) <= 64:
        return written(z ** int(exponent), unit)
    return written(cmath.rect(abs(z) ** exponent, cmath.phase(z) * exponent), unit)


def _joint(*units: str) -> str:
    """The unit of several numbers; #VALUE! when i and j meet."""
    known = {unit for unit in units if unit}
    _demand(len(known) < 2, _VALUE)
    return known.pop() if known else ""


@toolpak("IMSUB", ANY, ANY)
def imsub(first: Scalar, second: Scalar) -> Scalar:
    """Difference."""
    (a, unit_a), (b, unit_b) = parsed(first), parsed(second)
    return written(a - b, _joint(unit_a, unit_b))


@toolpak("IMDIV", ANY, ANY)
def imdiv(first: Scalar, second: Scalar) -> Scalar:
    """Quotient; #NUM! by 0."""
    (a, unit_a), (b, unit_b) = parsed(first), parsed(second)
    _demand(b != 0)
    unit = _joint(unit_a, unit_b)
    size = b.real * b.real + b.imag * b.imag
    top = a * b.conjugate()
    return written(complex(top.real / size, top.imag / size), unit)


def _all(arrays: tuple[Objects, ...]) -> tuple[list[complex], str]:
    numbers, units = [], []
    for array in arrays:
        for item in array.reshape(-1):
            if item is None:
                continue
            z, unit = parsed(item)
            numbers.append(z)
            units.append(unit)
    return numbers, _joint(*units)


@lane("IMSUM", RANGE, repeat=1)
def imsum(*arrays: Objects) -> Scalar:
    """Sum; empty cells are skipped."""
    numbers, unit = _all(arrays)
    return written(sum(numbers, 0j), unit)


@lane("IMPRODUCT", RANGE, repeat=1)
def improduct(*arrays: Objects) -> Scalar:
    """Product; empty cells are skipped."""
    numbers, unit = _all(arrays)
    if not numbers:
        return "0"
    product = 1 + 0j
    for z in numbers:
        product *= z
    return written(product, unit)
