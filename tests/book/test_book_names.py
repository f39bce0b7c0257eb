"""Names of a model are data: texts in the sheet, whatever they look like, and back unharmed."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from profiles import operator, profile

from workbench.book import check_profile_name, open_book, write_book
from workbench.book.text import escaped, fitted, unescaped
from workbench.errors import BookError

HOSTILE = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-1",
    "@x",
    "=HYPERLINK(\"http://x\")",
    "x" * 300,
    "two\nlines",
    "tab\there",
    "\U0001f680 rocket",
    "bell\x07 and \x00 null",
    "_x0041_",
    "\ufffe",
    " spaces around ",
    "12.5%",
    "TRUE",
    "<r>&amp;</r>",
    "'quoted",
    "a]b[c#d",
    "1e5",
]  # fmt: skip


def test_hostile_names_are_text_and_come_back(tmp_path: Path) -> None:
    path = tmp_path / "b.xlsx"
    write_book([profile([operator(n, (256, 256), 1.0, name=name) for n, name in enumerate(HOSTILE)])], path)
    assert open_book(path).operators()["operator name"].tolist() == HOSTILE
    sheet = openpyxl.load_workbook(path)["baseline ops"]
    column = next(c.column for c in sheet[1] if c.value == "operator name")
    assert [sheet.cell(row, column).data_type for row in range(2, len(HOSTILE) + 2)] == ["s"] * len(HOSTILE)


def test_no_name_becomes_a_formula_in_any_part(tmp_path: Path) -> None:
    path = tmp_path / "b.xlsx"
    write_book([profile([operator(0, (256, 256), 1.0, name="=SUM(A1:A9)", kind="=1+1")])], path)
    with zipfile.ZipFile(path) as package:
        sheets = b"".join(package.read(n) for n in package.namelist() if n.startswith("xl/worksheets/sheet"))
    formulas = re.findall(rb"<f[^>]*>([^<]*)</f>", sheets)
    assert len(formulas) > 100
    assert not [f for f in formulas if f == b"1+1" or b"A1:A9" in f]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.lists(st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=40), min_size=1, max_size=8)
)
def test_any_text_comes_back(tmp_path: Path, names: list[str]) -> None:
    path = tmp_path / "b.xlsx"
    write_book([profile([operator(n, None, 1.0, name=name) for n, name in enumerate(names)])], path)
    # XML's line ends are one: a reader gets \n for \r\n; \r itself is escaped when written.
    assert open_book(path).operators()["operator name"].tolist() == names


@given(st.text())
def test_escapes_are_undone(text: str) -> None:
    assert unescaped(escaped(text)) == text


def test_a_text_too_long_for_a_cell_says_so() -> None:
    cut = fitted("y" * 40_000)
    assert len(cut) == 32_767
    assert "40,000 characters" in cut


@pytest.mark.parametrize(
    "name", ["", " x", "a/b", "a:b", "[x]", "a?b", "a*b", "a\\b", "'x", "x'", "Summary", "guide", "y" * 28, "a\x01b"]
)
def test_names_that_a_sheet_cannot_have(name: str) -> None:
    with pytest.raises(BookError):
        check_profile_name(name)


def test_a_name_with_an_apostrophe_inside_works(tmp_path: Path) -> None:
    path = tmp_path / "b.xlsx"
    write_book([profile([operator(0, (256, 256), 1.0)], name="it's 2")], path)
    assert open_book(path).totals("it's 2")["total_latency"] == 1.0
