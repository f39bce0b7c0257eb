"""Whatever a function is given, it gives a value (perhaps an error) or says that it can't be evaluated."""

from __future__ import annotations

import contextlib
import random
import zlib

import pytest

from workbench.recalc.lexer import FormulaError
from workbench.recalc.registry import FUNCTIONS
from workbench.recalc.single import evaluate_formula
from workbench.recalc.values import CellErrorValue, NotEvaluable, Scalar

CELLS: dict[str, Scalar | int] = {
    "A1": 1,
    "A2": "x",
    "A3": True,
    "A5": -2.5,
    "A6": CellErrorValue.NA,
    "A7": "",
    "A8": 1e308,
    "A9": 45000,
    "A10": "12:30",
    "B1": 3,
    "B2": 2,
    "B3": 1,
    "B4": "a*",
    "B5": "😀",
}

ARGUMENTS = [
    *("1", "-1", "0", "2.7", "1E+308", "-1E+300", "1E-300", "45000", "32768", "1048577"),
    *('"a"', '""', '"5"', '"a*b?"', '"~"', '"("', '"2020-01-01"', '"yyyy-mm-dd"', '"0.00;[Red]-0"', '"[h]:mm"'),
    *('"# ?/?"', '"😀"', "TRUE", "FALSE", "", "x", "#DIV/0!", "1/0"),
    *("A1", "A2", "A4", "A6", "A1:A5", "A1:B3", "B1:B3", "A:A", "1:1"),
    *("{1,2,3}", "{1;2}", '{"a",TRUE;1,#N/A}', "SEQUENCE(3)", "LAMBDA(x,x+1)", "LAMBDA(x,y,x&y)"),
]

TEXTS_AND_LOOKUPS = [
    name
    for name, function in FUNCTIONS.items()
    if function.body.__module__.rpartition(".")[2].split("_")[0]
    in {"logical", "information", "lookup", "text", "date", "workdays", "dynamic", "lambdas", "conditional"}
]


@pytest.mark.parametrize("name", TEXTS_AND_LOOKUPS)
def test_any_arguments(name: str) -> None:
    chance = random.Random(zlib.crc32(name.encode()))
    function = FUNCTIONS[name]
    for _ in range(12):
        count = chance.randint(function.minimum, min(function.maximum, function.minimum + 3))
        formula = f"={name}({','.join(chance.choice(ARGUMENTS) for _ in range(count))})"
        with contextlib.suppress(NotEvaluable, FormulaError):
            evaluate_formula(formula, CELLS, array=chance.random() < 0.5)
