"""Formulas as text: Excel's A1 grammar to the one that LibreOffice's API reads and writes, and back.

LibreOffice's own parser service can't print table references and works cell by cell; translating the
text allows one call for a whole column. LibreOffice's grammar (`PODF A1`): `;` between arguments,
`{1;2|3;4}` for arrays, `$Sheet.A1` for `Sheet!A1`, long names for the functions of its Analysis add-in.
"""

from __future__ import annotations

import re

_ANALYSIS = [
    "ACCRINT",
    "ACCRINTM",
    "AMORDEGRC",
    "AMORLINC",
    "BESSELI",
    "BESSELJ",
    "BESSELK",
    "BESSELY",
    "BIN2DEC",
    "BIN2HEX",
    "BIN2OCT",
    "COMPLEX",
    "CONVERT",
    "COUPDAYBS",
    "COUPDAYS",
    "COUPDAYSNC",
    "COUPNCD",
    "COUPNUM",
    "COUPPCD",
    "CUMIPMT",
    "CUMPRINC",
    "DEC2BIN",
    "DEC2HEX",
    "DEC2OCT",
    "DELTA",
    "DISC",
    "DOLLARDE",
    "DOLLARFR",
    "DURATION",
    "EDATE",
    "EFFECT",
    "EOMONTH",
    "ERF",
    "ERFC",
    "FACTDOUBLE",
    "FVSCHEDULE",
    "GESTEP",
    "HEX2BIN",
    "HEX2DEC",
    "HEX2OCT",
    "IMABS",
    "IMAGINARY",
    "IMARGUMENT",
    "IMCONJUGATE",
    "IMCOS",
    "IMCOSH",
    "IMCOT",
    "IMCSC",
    "IMCSCH",
    "IMDIV",
    "IMEXP",
    "IMLN",
    "IMLOG10",
    "IMLOG2",
    "IMPOWER",
    "IMPRODUCT",
    "IMREAL",
    "IMSEC",
    "IMSECH",
    "IMSIN",
    "IMSINH",
    "IMSQRT",
    "IMSUB",
    "IMSUM",
    "IMTAN",
    "INTRATE",
    "MDURATION",
    "MROUND",
    "MULTINOMIAL",
    "NOMINAL",
    "OCT2BIN",
    "OCT2DEC",
    "OCT2HEX",
    "ODDFPRICE",
    "ODDFYIELD",
    "ODDLPRICE",
    "ODDLYIELD",
    "PRICE",
    "PRICEDISC",
    "PRICEMAT",
    "QUOTIENT",
    "RANDBETWEEN",
    "RECEIVED",
    "SERIESSUM",
    "SQRTPI",
    "TBILLEQ",
    "TBILLPRICE",
    "TBILLYIELD",
    "WORKDAY",
    "XIRR",
    "XNPV",
    "YEARFRAC",
    "YIELD",
    "YIELDDISC",
    "YIELDMAT",
]
_ADDIN = "COM.SUN.STAR.SHEET.ADDIN.ANALYSIS.GET"

_TO_CALC = {name: _ADDIN + name for name in _ANALYSIS} | {
    # Same name, other rule for signs in LibreOffice's own dialect; these print back as below.
    "CEILING": "CEILING.XCL",
    "FLOOR": "FLOOR.XCL",
    "EFFECT": "EFFECTIVE",
    "NOMINAL": "NOMINAL",
    "CUMIPMT": "CUMIPMT",
    "CUMPRINC": "CUMPRINC",
    "ERROR.TYPE": "ERRORTYPE",
}
_FROM_CALC = {calc: excel for excel, calc in _TO_CALC.items()} | {_ADDIN + name: name for name in _ANALYSIS}

_PLAIN_SHEET = re.compile(r"^[A-Za-z_]\w*$")

_EXCEL = re.compile(
    r"""(?P<text>"(?:[^"]|"")*")
      | (?P<quoted>'(?:[^']|'')+')!
      | (?P<sheet>[^\W\d][\w.]*)!
      | (?P<function>[A-Za-z_][\w.]*)(?=\()
      | (?P<word>[^\W\d][\w.]*|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)
      | (?P<bracket>\[)
      | (?P<mark>[,;{}])""",
    re.VERBOSE,
)
_CALC = re.compile(
    r"""(?P<text>"(?:[^"]|"")*")
      | \$?(?P<quoted>'(?:[^']|'')+')\.
      | \$(?P<sheet>[^\W\d]\w*)\.(?=[$\w])
      | (?P<relative>[^\W\d]\w*)\.(?=\$?[A-Za-z]{1,3}\$?\d+(?![\w(.]))
      | (?P<function>[A-Za-z_][\w.]*)(?=\()
      | (?P<word>[^\W\d][\w.]*|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)
      | (?P<bracket>\[)
      | (?P<mark>[;|{}])""",
    re.VERBOSE,
)


def to_calc(formula: str) -> str:
    """Excel's `formula` (with its `=`) as LibreOffice's API takes it."""
    return _translated(formula, _EXCEL, _excel_token, ",", ";")


def to_excel(formula: str) -> str:
    """A formula as LibreOffice's API prints it, in Excel's grammar; array braces around it are dropped."""
    if formula.startswith("{=") and formula.endswith("}"):
        formula = formula[1:-1]
    return _translated(formula, _CALC, _calc_token, ";", ",")


def _translated(formula: str, grammar: re.Pattern[str], token: object, old: str, new: str) -> str:
    assert callable(token)
    written: list[str] = []
    at = braces = 0
    while at < len(formula):
        found = grammar.search(formula, at)
        if found is None:
            break
        written.append(formula[at : found.start()])
        at = found.end()
        if found.lastgroup == "bracket":
            end = _end_of_bracket(formula, found.start())
            written.append(_separated(formula[found.start() : end], old, new))
            at = end
        elif found.lastgroup == "mark":
            mark = found.group()
            braces += {"{": 1, "}": -1}.get(mark, 0)
            written.append(token(found, braces > 0))
        elif found.lastgroup in ("text", "word"):
            written.append(found.group())
        else:
            written.append(token(found, False))
    written.append(formula[at:])
    return "".join(written)


def _excel_token(found: re.Match[str], in_array: bool) -> str:
    kind, text = found.lastgroup, found.group()
    if kind == "quoted":
        return f"${found['quoted']}."
    if kind == "sheet":
        name = found["sheet"]
        return f"${name}." if _PLAIN_SHEET.match(name) else f"$'{name}'."
    if kind == "function":
        name = re.sub(r"^(?:_xlfn\.|_xlws\.)+", "", text, flags=re.IGNORECASE)
        return _TO_CALC.get(name.upper(), name)
    return {",": ";", ";": "|" if in_array else "~"}.get(text, text)


def _calc_token(found: re.Match[str], in_array: bool) -> str:
    kind, text = found.lastgroup, found.group()
    if kind == "quoted":
        return f"{found['quoted']}!"
    if kind in ("sheet", "relative"):
        return f"{found[kind]}!"
    if kind == "function":
        return _FROM_CALC.get(text.upper(), text.upper())
    return {";": ",", "|": ";"}.get(text, text)


def _end_of_bracket(formula: str, start: int) -> int:
    """The index after the bracket group (a table reference) that opens at `start`; `'` escapes."""
    depth, at = 0, start
    while at < len(formula):
        character = formula[at]
        if character == "'":
            at += 1
        elif character == "[":
            depth += 1
        elif character == "]":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return len(formula)


def _separated(group: str, old: str, new: str) -> str:
    """`[[#This Row],[a, b]]` with only the separators between its inner brackets replaced."""
    if not group.startswith("[["):
        return group
    written, depth, at = [], 0, 0
    while at < len(group):
        character = group[at]
        if character == "'":
            written.append(group[at : at + 2])
            at += 2
            continue
        depth += {"[": 1, "]": -1}.get(character, 0)
        written.append(new if depth == 1 and character == old else character)
        at += 1
    return "".join(written)


_REFERENCE = re.compile(
    r"""(?P<text>"(?:[^"]|"")*"|'(?:[^']|'')+')
      | (?P<bracket>\[)
      | (?<![\w.$])(?P<c>\$?[A-Za-z]{1,3})(?P<r>\$?[1-9]\d{0,6})(?![\w(.!])
      | (?<![\w.$:])(?P<c1>\$?[A-Za-z]{1,3}):(?P<c2>\$?[A-Za-z]{1,3})(?![\w(.!])
      | (?<![\w.$:])(?P<r1>\$?[1-9]\d{0,6}):(?P<r2>\$?[1-9]\d{0,6})(?![\w(.!])""",
    re.VERBOSE,
)


def shifted(formula: str, rows: int, columns: int) -> str:
    """Excel's `formula` as if copied `rows` down and `columns` to the right: relative references move."""

    def column(text: str) -> str:
        return text if text.startswith("$") else column_letters(column_number(text) + columns)

    def row(text: str) -> str:
        return text if text.startswith("$") else str(int(text) + rows)

    written: list[str] = []
    at = 0
    for found in _REFERENCE.finditer(formula):
        if found.start() < at:
            continue
        written.append(formula[at : found.start()])
        at = found.end()
        if found.lastgroup == "text":
            written.append(found.group())
        elif found.lastgroup == "bracket":
            at = _end_of_bracket(formula, found.start())
            written.append(formula[found.start() : at])
        elif found["c"]:
            written.append(column(found["c"]) + row(found["r"]))
        elif found["c1"]:
            written.append(f"{column(found['c1'])}:{column(found['c2'])}")
        else:
            written.append(f"{row(found['r1'])}:{row(found['r2'])}")
    written.append(formula[at:])
    return "".join(written)


def column_number(letters: str) -> int:
    """`A` → 1, `AA` → 27."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - 64
    return number


def column_letters(number: int) -> str:
    """1 → `A`, 27 → `AA`."""
    letters = ""
    while number > 0:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters
