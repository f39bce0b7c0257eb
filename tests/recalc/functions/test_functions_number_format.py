"""TEXT: each row is what Excel shows for a number in a format."""

from __future__ import annotations

import pytest

from workbench.recalc.functions._number_format import rendered, rendered_text
from workbench.recalc.single import evaluate_formula
from workbench.recalc.values import CellErrorValue

NUMBERS = [
    (1234.567, "#,##0.00", "1,234.57"),
    (-1234.567, "#,##0.00", "-1,234.57"),
    (0.285, "0.0%", "28.5%"),
    (15.0, "0.00%", "1500.00%"),
    (1.005, "0.00", "1.01"),
    (2.5, "0", "3"),
    (5.0, "000", "005"),
    (0.5, "#.##", ".5"),
    (5.0, "#.##", "5."),
    (3.0, "0.0#", "3.0"),
    (3.14159, "0.0#", "3.14"),
    (0.0, "#", ""),
    (1234.5678, "???,???.??", "  1,234.57"),
    (123.0, "0.?", "123. "),
    (12345678.0, "0,,", "12"),
    (1234567.0, "#,##0.0,", "1,234.6"),
    (1234567.0, '#,##0.0,,"M"', "1.2M"),
    (1234567890.0, "(###) ###-####", "(123) 456-7890"),
    (123456789.0, "000-00-0000", "123-45-6789"),
    (100.0, '0"x"', "100x"),
    (5.0, "\\a0", "a5"),
    (5.0, "0_)", "5 "),
    (1234.0, "[$€-407] #,##0", "€ 1,234"),
    (1e-10, "0.00", "0.00"),
    (0.0000001, "General", "0.0000001"),
    (1234.5, "General", "1234.5"),
    (3.14159265358979, "General", "3.141592654"),
    (1 / 3, "General", "0.333333333"),
    (0.0001234567, "General", "0.000123457"),
    (0.00001234567, "General", "1.23457E-05"),
    (1234567.8912, "General", "1234567.891"),
    (12345678901.0, "General", "12345678901"),
    (123456789012.0, "General", "1.23457E+11"),
    (-1e20, "General", "-1E+20"),
    (99999999999.7, "General", "1E+11"),
]

SCIENTIFIC = [
    (1234567.0, "0.00E+00", "1.23E+06"),
    (12345.0, "##0.0E+0", "12.3E+3"),
    (0.000123, "0.00E-00", "1.23E-04"),
    (1234.0, "0.0E-0", "1.2E3"),
    (9.9999, "0.0E+0", "1.0E+1"),
    (999999.0, "##0.0E+0", "1.0E+6"),
    (0.0, "0.0E+0", "0.0E+0"),
]

FRACTIONS = [
    (0.5, "# ?/?", " 1/2"),
    (5.25, "# ?/?", "5 1/4"),
    (5.0, "# ?/?", "5    "),
    (0.0, "# ?/?", "0    "),
    (-1.5, "# ?/?", "-1 1/2"),
    (1.3333, "# ??/??", "1  1/3 "),
    (3.14159, "# ???/???", "3  16/113"),
    (0.3, "?/8", "2/8"),
    (12.3, "# ?/4", "12 1/4"),
    (2.99, "# ?/2", "3    "),
    (0.3333, "?/?", "1/3"),
]

SECTIONS = [
    (-5.0, "0.00;(0.00)", "(5.00)"),
    (0.0, '0;-0;"zero"', "zero"),
    (5.0, ";;;", ""),
    (0.0, "0;;", ""),
    (-0.001, "0.00", "-0.00"),
    (-1234.5, "#,##0.00;[Red]-#,##0.00", "-1,234.50"),
    (120.0, '[<100]"low";[>=100]"high"', "high"),
    (50.0, '[<10]"tiny";[<100]"mid";"large"', "mid"),
    (500.0, '[<10]"tiny";[<100]"mid";"large"', "large"),
    (-3.0, '[<0]"neg" 0;0', "neg 3"),
    (-3.0, "[>=100]0;0.0", "-3.0"),
]

DATES = [
    (45000.75, "yyyy-mm-dd hh:mm:ss", "2023-03-15 18:00:00"),
    (45000.0, "dddd, mmmm d, yyyy", "Wednesday, March 15, 2023"),
    (45000.0, "ddd d mmm yy", "Wed 15 Mar 23"),
    (45000.0, "mmmmm", "M"),
    (45000.0, "DD/MM/YYYY", "15/03/2023"),
    (60.0, "d mmm yyyy", "29 Feb 1900"),
    (1.0, "ddd d mmm yyyy", "Sun 1 Jan 1900"),
    (0.5, "h:mm AM/PM", "12:00 PM"),
    (0.0, "h:mm am/pm", "12:00 am"),
    (0.25, "hh A/P", "06 A"),
    (1.5, "[h]:mm", "36:00"),
    (1.5, "[mm]:ss", "2160:00"),
    (0.25, "[ss]", "21600"),
    (0.1234567, "mm:ss.000", "57:46.659"),
    (0.99999, "h:mm", "23:59"),  # minutes are cut
    (0.999999, "h:mm:ss", "0:00:00"),  # seconds are rounded
    (44927.0, "[$-409]mmmm d, yyyy", "January 1, 2023"),
    (45000.75, "YYYY-MM-DDTHH:MM:SS", "2023-03-15T18:00:00"),
    (0.75, 'h "hours" m "minutes"', "18 hours 0 minutes"),
]


@pytest.mark.parametrize(("number", "form", "shown"), NUMBERS + SCIENTIFIC + FRACTIONS + SECTIONS + DATES)
def test_number_in_a_format(number: float, form: str, shown: str) -> None:
    assert rendered(number, form) == shown


@pytest.mark.parametrize(
    ("text", "form", "shown"),
    [("hi", '0;0;0;"<"@">"', "<hi>"), ("hi", "@@", "hihi"), ("hi", "0", "hi"), ("hi", ";;;", "")],
)
def test_text_in_a_format(text: str, form: str, shown: str) -> None:
    assert rendered_text(text, form) == shown


@pytest.mark.parametrize(
    ("number", "form"), [(-1.0, "yyyy"), (2958466.0, "yyyy"), (1.0, "0;0;0;0;0"), (5.0, "[<1]0"), (5.0, "[h")]
)
def test_what_a_format_cannot_show(number: float, form: str) -> None:
    with pytest.raises(ValueError):
        rendered(number, form)


def test_text_coerces_as_excel_does() -> None:
    assert evaluate_formula('=TEXT("5","0.00")') == "5.00"
    assert evaluate_formula('=TEXT("abc","0.00")') == "abc"
    assert evaluate_formula('=TEXT(TRUE,"0.00")') == "TRUE"
    assert evaluate_formula('=TEXT(A1,"0.00")') == "0.00"
    assert evaluate_formula('=TEXT(-1,"yyyy")') is CellErrorValue.VALUE
    assert evaluate_formula('=TEXT({1,2},"0.0")') == [["1.0", "2.0"]]


def test_dates_of_the_1904_system() -> None:
    assert evaluate_formula('=TEXT(0,"d mmm yyyy")', date1904=True) == "1 Jan 1904"
    assert evaluate_formula('=TEXT(DATE(2023,3,15),"ddd d mmm yyyy")', date1904=True) == "Wed 15 Mar 2023"
    assert evaluate_formula("=DATE(2023,3,15)", date1904=True) == 45000 - 1462
    assert evaluate_formula('="2023-03-15"+0', date1904=True) == 45000 - 1462
