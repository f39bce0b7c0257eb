"""CONVERT: units of measure, with Excel's names and factors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from workbench.recalc.functions._toolpak import toolpak
from workbench.recalc.registry import NUMBER, TEXT
from workbench.recalc.values import CellErrorValue, Scalar

_INCH, _FOOT, _YARD, _MILE, _SEA_MILE = 0.0254, 0.3048, 0.9144, 1609.344, 1852.0
_LIGHT_YEAR, _POINT = 9460730472580800.0, 0.0254 / 72
_OUNCE = 231 * _INCH**3 / 128
"""A US fluid ounce in m³: 128 make a gallon of 231 cubic inches."""
_UK_PINT = 0.00056826125


@dataclass(frozen=True)
class _Unit:
    """A unit: `size` in the base unit of its quantity; `power` of a metric prefix before it, 0 for none."""

    quantity: str
    size: float
    power: int = 0
    binary: bool = False


_UNITS: dict[str, _Unit] = {}


def _add(quantity: str, names: str, size: float, power: int = 0, *, binary: bool = False) -> None:
    for name in names.split():
        _UNITS[name] = _Unit(quantity, size, power, binary)


def _add_powers(name: str, size: float, *, metric: bool = False) -> None:
    """The area and the volume of a length: `ft2 ft^2 ft3 ft^3`."""
    for power, quantity in ((2, "area"), (3, "volume")):
        _add(quantity, f"{name}{power} {name}^{power}", size**power, power if metric else 0)


for _names, _size, _power in (
    ("g", 1.0, 1),
    ("sg", 14593.9029372064, 0),
    ("lbm", 453.59237, 0),
    ("u", 1.660538782e-24, 1),
    ("ozm", 28.349523125, 0),
    ("grain", 0.06479891, 0),
    ("cwt shweight", 45359.237, 0),
    ("uk_cwt lcwt hweight", 50802.34544, 0),
    ("stone", 6350.29318, 0),
    ("ton", 907184.74, 0),
    ("uk_ton LTON brton", 1016046.9088, 0),
):
    _add("mass", _names, _size, _power)
for _names, _size, _power in (
    ("m", 1.0, 1),
    ("mi", _MILE, 0),
    ("Nmi", _SEA_MILE, 0),
    ("in", _INCH, 0),
    ("ft", _FOOT, 0),
    ("yd", _YARD, 0),
    ("ang", 1e-10, 1),
    ("ell", 1.143, 0),
    ("ly", _LIGHT_YEAR, 1),
    ("parsec pc", 3.0856775812815532e16, 1),
    ("Picapt Pica", _POINT, 0),
    ("pica", _INCH / 6, 0),
    ("survey_mi", 6336000 / 3937, 0),
):
    _add("distance", _names, _size, _power)
for _names, _size, _power in (
    ("yr", 31557600.0, 0),
    ("day d", 86400.0, 0),
    ("hr", 3600.0, 0),
    ("mn min", 60.0, 0),
    ("sec s", 1.0, 1),
):
    _add("time", _names, _size, _power)
for _names, _size, _power in (
    ("Pa p", 1.0, 1),
    ("atm at", 101325.0, 1),
    ("mmHg", 133.322, 1),
    ("psi", 6894.75729316836, 0),
    ("Torr", 101325 / 760, 0),
):
    _add("pressure", _names, _size, _power)
for _names, _size, _power in (("N", 1.0, 1), ("dyn dy", 1e-5, 1), ("lbf", 4.4482216152605, 0), ("pond", 0.00980665, 1)):
    _add("force", _names, _size, _power)
for _names, _size, _power in (
    ("J", 1.0, 1),
    ("e", 1e-7, 1),
    ("c", 4.184, 1),
    ("cal", 4.1868, 1),
    ("eV ev", 1.602176487e-19, 1),
    ("HPh hh", 2684519.53769617, 0),
    ("Wh wh", 3600.0, 1),
    ("flb", 1.3558179483314, 0),
    ("BTU btu", 1055.05585262, 0),
):
    _add("energy", _names, _size, _power)
for _names, _size, _power in (("HP h", 745.69987158227, 0), ("PS", 735.49875, 0), ("W w", 1.0, 1)):
    _add("power", _names, _size, _power)
for _names, _size, _power in (("T", 1.0, 1), ("ga", 1e-4, 1)):
    _add("magnetism", _names, _size, _power)
for _names, _power in (("C cel", 0), ("F fah", 0), ("K kel", 1), ("Rank", 0), ("Reau", 0)):
    _add("temperature", _names, 1.0, _power)
for _names, _size, _power in (
    ("tsp", _OUNCE / 6, 0),
    ("tspm", 5e-6, 0),
    ("tbs", _OUNCE / 2, 0),
    ("oz", _OUNCE, 0),
    ("cup", _OUNCE * 8, 0),
    ("pt us_pt", _OUNCE * 16, 0),
    ("uk_pt", _UK_PINT, 0),
    ("qt", _OUNCE * 32, 0),
    ("uk_qt", _UK_PINT * 2, 0),
    ("gal", _OUNCE * 128, 0),
    ("uk_gal", _UK_PINT * 8, 0),
    ("l L lt", 1e-3, 1),
    ("barrel", _OUNCE * 128 * 42, 0),
    ("bushel", 2150.42 * _INCH**3, 0),
    ("GRT regton", 100 * _FOOT**3, 0),
    ("MTON", 40 * _FOOT**3, 0),
):
    _add("volume", _names, _size, _power)
for _names, _size, _power in (
    ("uk_acre", 4046.8564224, 0),
    ("us_acre", 4046.87260987425, 0),
    ("ar", 100.0, 1),
    ("ha", 10000.0, 0),
    ("Morgen", 2500.0, 0),
):
    _add("area", _names, _size, _power)
for _names, _size in (
    ("ft", _FOOT),
    ("in", _INCH),
    ("ly", _LIGHT_YEAR),
    ("mi", _MILE),
    ("Nmi", _SEA_MILE),
    ("Picapt", _POINT),
    ("Pica", _POINT),
    ("yd", _YARD),
):
    _add_powers(_names, _size)
_add_powers("m", 1.0, metric=True)
_add_powers("ang", 1e-10, metric=True)
_add("information", "bit", 1.0, 1, binary=True)
_add("information", "byte", 8.0, 1, binary=True)
for _names, _size, _power in (
    ("admkn", 6080 * _FOOT / 3600, 0),
    ("kn", _SEA_MILE / 3600, 0),
    ("m/h m/hr", 1 / 3600, 1),
    ("m/s m/sec", 1.0, 1),
    ("mph", _MILE / 3600, 0),
):
    _add("speed", _names, _size, _power)

_METRIC = {
    "Y": 1e24,
    "Z": 1e21,
    "E": 1e18,
    "P": 1e15,
    "T": 1e12,
    "G": 1e9,
    "M": 1e6,
    "k": 1e3,
    "h": 1e2,
    "da": 10.0,
    "e": 10.0,
    "d": 0.1,
    "c": 1e-2,
    "m": 1e-3,
    "u": 1e-6,
    "n": 1e-9,
    "p": 1e-12,
    "f": 1e-15,
    "a": 1e-18,
    "z": 1e-21,
    "y": 1e-24,
}
_BINARY = {prefix + "i": 1024.0**power for power, prefix in enumerate("kMGTPEZY", start=1)}


@lru_cache(maxsize=4096)
def _meanings(name: str) -> tuple[tuple[str, float, str], ...]:
    """(quantity, size, unit without prefix) of all that a name may mean: `pc` is a parsec and a picocalorie."""
    found = []
    if name in _UNITS:
        found.append((_UNITS[name].quantity, _UNITS[name].size, name))
    for prefix, factor in _METRIC.items():
        unit = _UNITS.get(name.removeprefix(prefix)) if name.startswith(prefix) else None
        if unit is not None and unit.power:
            found.append((unit.quantity, unit.size * factor**unit.power, name.removeprefix(prefix)))
    for prefix, factor in _BINARY.items():
        unit = _UNITS.get(name.removeprefix(prefix)) if name.startswith(prefix) else None
        if unit is not None and unit.binary:
            found.append((unit.quantity, unit.size * factor, name.removeprefix(prefix)))
    return tuple(found)


_TO_KELVIN = {
    "C": (1.0, 273.15),
    "F": (5 / 9, 459.67 * 5 / 9),
    "K": (1.0, 0.0),
    "Rank": (5 / 9, 0.0),
    "Reau": (1.25, 273.15),
}
_SAME = {"cel": "C", "fah": "F", "kel": "K"}


@toolpak("CONVERT", NUMBER, TEXT, TEXT)
def convert(number: float, source: str, target: str) -> Scalar:
    """#N/A for units that are unknown or of different quantities; names mind upper and lower case."""
    for quantity, size, unit in _meanings(source):
        for other, other_size, other_unit in _meanings(target):
            if quantity != other:
                continue
            if quantity != "temperature":
                return number if source == target else number * size / other_size
            scale, zero = _TO_KELVIN[_SAME.get(unit, unit)]
            other_scale, other_zero = _TO_KELVIN[_SAME.get(other_unit, other_unit)]
            return ((number * size * scale + zero) - other_zero) / other_scale / other_size
    return CellErrorValue.NA
