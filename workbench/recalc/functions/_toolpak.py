"""Functions that came with the Analysis ToolPak, and their stricter arguments.

They take numbers and texts that spell one, but no booleans (#VALUE!), and an argument left empty, as in
`MROUND(,5)`, is #N/A.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from workbench.recalc.coerce import number_of, text_of
from workbench.recalc.registry import ANY, FUNCTIONS, RANGE, Body, Parameter, Takes, lane, opt
from workbench.recalc.registry import scalar as scalar_function
from workbench.recalc.values import CellErrorValue, Objects, Scalar


class _Empty:
    """Stands for an argument left empty."""


_EMPTY = _Empty()


def toolpak(names: str, *parameters: Parameter, volatile: bool = False) -> Callable[[Body], Body]:
    """As `@scalar`, for NUMBER, INTEGER, TEXT and ANY parameters, with the ToolPak's rules."""
    needed = sum(not p.optional for p in parameters)

    def declare(body: Body) -> Body:
        def strict(*given: Any) -> Any:
            arguments: list[Any] = []
            for parameter, item in zip(parameters, given, strict=True):
                if isinstance(item, _Empty):
                    if not parameter.optional:
                        return CellErrorValue.NA
                    item = parameter.default
                elif parameter.takes is not Takes.ANY:
                    item = strict_text(item) if parameter.takes is Takes.TEXT else strict_number(item)
                    if isinstance(item, CellErrorValue):
                        return item
                    if parameter.takes is Takes.INTEGER:
                        item = float(int(item))
                arguments.append(item)
            return body(*arguments)

        strict.__doc__ = body.__doc__
        scalar_function(names, *(opt(ANY, _EMPTY, empty=True) for _ in parameters), volatile=volatile)(strict)
        _require(names, needed)
        return body

    return declare


def strict_number(item: Scalar) -> float | CellErrorValue:
    """A number, or a text that spells one; blank is 0."""
    return CellErrorValue.VALUE if isinstance(item, bool) else number_of(item)


def strict_text(item: Scalar) -> str | CellErrorValue:
    """A text, or a number as a text; blank is empty."""
    return CellErrorValue.VALUE if isinstance(item, bool) else text_of(item)


def toolpak_list(names: str) -> Callable[[Callable[[list[float]], Any]], Callable[[list[float]], Any]]:
    """A body on all numbers of all arguments (GCD, LCM, MULTINOMIAL).

    Texts in ranges are read as numbers and blanks in ranges are 0; a single empty cell is left out; booleans and
    other texts are #VALUE!, and so is having nothing at all.
    """

    def declare(body: Callable[[list[float]], Any]) -> Callable[[list[float]], Any]:
        def flattened(*arrays: Objects | _Empty) -> Any:
            found: list[float] = []
            for array in arrays:
                if isinstance(array, _Empty):
                    return CellErrorValue.NA
                for item in array.reshape(-1):
                    if item is None and array.size == 1:
                        continue
                    number = strict_number(item)
                    if isinstance(number, CellErrorValue):
                        return number
                    found.append(number)
            return body(found) if found else CellErrorValue.VALUE

        flattened.__doc__ = body.__doc__
        lane(names, opt(RANGE, _EMPTY, empty=True), repeat=1)(flattened)
        _require(names, 1)
        return body

    return declare


def _require(names: str, minimum: int) -> None:
    for name in names.split():
        FUNCTIONS[name] = replace(FUNCTIONS[name], minimum=minimum)
