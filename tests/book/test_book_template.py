"""Templates of the user's own, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest
from profiles import operator, profile

from workbench.book import open_book, write_book
from workbench.errors import WorkbenchError


def test_a_new_column_is_one_entry(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        """
        [[sheet]]
        id = "operators"
        [[sheet.sections]]
        id = "ops"
        [[sheet.sections.columns]]
        id = "microseconds"
        header = "latency (us)"
        formula = "1000*@[latency]"
        format = "ms"
        after = "latency"
        """
    )
    path = tmp_path / "b.xlsx"
    write_book([profile([operator(0, (256, 256), 0.25)])], path, template=own)
    rows = open_book(path).operators()
    assert rows["latency (us)"].tolist() == [250.0]
    columns = list(rows.columns)
    assert columns[columns.index("operator latency (ms)") + 1] == "latency (us)"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[sheet]]\nid = ", "own.toml"),
        ("[style]\nfount = 'Arial'", "fount"),
        ('[[sheet]]\nid="operators"\n[[sheet.sections]]\nid="ops"\n[[sheet.sections.columns]]\nid="x"\nheader="x"\n'
         'formula="@[nowhere]"', "nowhere"),
        ('[[sheet]]\nid="operators"\n[[sheet.sections]]\nid="ops"\n[[sheet.sections.columns]]\nid="x"\nheader="x"\n'
         'format="furlongs"', "furlongs"),
    ],
)  # fmt: skip
def test_a_template_that_does_not_hold_is_named_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    own = tmp_path / "own.toml"
    own.write_text(text)
    with pytest.raises(WorkbenchError, match=words):
        write_book([profile([operator(0, (256, 256), 0.25)])], tmp_path / "b.xlsx", template=own)
    assert not (tmp_path / "b.xlsx").exists()


def test_protection_is_off_unless_asked_for_and_locks_formulas_only(tmp_path: Path) -> None:
    made = [profile([operator(0, (256, 256), 0.25)])]
    write_book(made, tmp_path / "open.xlsx")
    write_book(made, tmp_path / "locked.xlsx", protect=True)
    opened = openpyxl.load_workbook(tmp_path / "open.xlsx")["baseline ops"]
    locked = openpyxl.load_workbook(tmp_path / "locked.xlsx")["baseline ops"]
    assert not opened.protection.sheet
    assert locked.protection.sheet
    header = {c.value: c.column for c in locked[1]}
    assert locked.cell(2, header["perf ratio"]).protection.locked
    for name in ("aim to weight sparse ratio", "sparse support", "operator latency (ms)"):
        assert not locked.cell(2, header[name]).protection.locked
