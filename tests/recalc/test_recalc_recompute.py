"""`recompute`: edits, labels, validation, protection, checks, and what the command line says."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import openpyxl
import pytest
from openpyxl.styles import Protection
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.table import Table
from recalc_books import book_of, edited_zip, with_names
from typer.testing import CliRunner

from workbench.cli.common import Exit, run_reporting_errors
from workbench.cli.recompute import app
from workbench.errors import CellError, WorkbenchError
from workbench.recalc import CellErrorValue, open_workbook, recompute
from workbench.recalc.recompute import entered_value, parse_check, parse_edit


def cached(path: Path, sheet: str, cell: str) -> object:
    """The value that another reader sees."""
    return openpyxl.load_workbook(path, data_only=True)[sheet][cell].value


def ratio_book(path: Path) -> Path:
    cells: dict[str, object] = {
        "B2": "weight shape",
        "C2": 0.9,
        "D2": 0.8,
        "E2": "others",
        "B3": "256x1024",
        "C3": 2.0,
        "D3": 1.5,
        "E3": 1,
        "B4": "1024x256",
        "C4": 2.2,
        "D4": 1.6,
        "E4": 1,
        "G1": '=INDEX(B2:E6,MATCH("256x1024",B2:B6,0),MATCH(0.9,B2:E2,0))',
        "G2": "=10/G1",
    }
    book_of(path, {"baseline": cells, "Notes": {"A1": "text"}})
    return with_names(path, ratios_baseline="baseline!$B$2:$E$6", answer="baseline!$G$2")


@pytest.mark.byhand
@pytest.mark.parametrize(
    "target",
    [
        "ratios_baseline[256x1024][90%]",
        "ratios[256x1024][90%]",
        "RATIOS[256X1024][0.9]",
        "baseline!C3",
        "'baseline'!$C$3",
    ],
)
def test_an_edit_by_any_name_of_the_cell(tmp_path: Path, target: str) -> None:
    path = ratio_book(tmp_path / "b.xlsx")
    report = recompute(path, edits={target: 4})
    assert report.complete
    assert cached(path, "baseline", "G2") == 2.5
    assert cached(path, "baseline", "C3") == 4


@pytest.mark.byhand
def test_edits_given_as_text(tmp_path: Path) -> None:
    path = ratio_book(tmp_path / "b.xlsx")
    recompute(path, tmp_path / "out.xlsx", ["ratios[256x1024][90%]=5", "ratios[1024x256][others]=150%"])
    assert cached(tmp_path / "out.xlsx", "baseline", "G2") == 2
    assert cached(tmp_path / "out.xlsx", "baseline", "E4") == 1.5
    assert cached(path, "baseline", "C3") == 2


def test_a_row_typed_below_the_ratio_table_is_found(tmp_path: Path) -> None:
    path = ratio_book(tmp_path / "b.xlsx")
    recompute(path, edits={"baseline!B5": "64x64", "baseline!C5": 3.5})
    with open_workbook(path) as book:
        assert book.value("ratios[64x64][90%]") == 3.5


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("ratios[1x1][90%]", "no row '1x1'; its rows are 256x1024, 1024x256"),
        ("ratios[256x1024][75%]", "no column '75%'; its columns are weight shape, 0.9, 0.8, others"),
        ("ratio[256x1024][90%]", "no table or name 'ratio'"),
        ("B7", "doesn't say on which sheet"),
        ("Nowhere!B7", "there is no sheet 'Nowhere'; the sheets are baseline, Notes"),
        ("answr", "did you mean answer"),
        ("ratios_baseline", "covers 5 x 4 cells"),
        ("baseline!XFE1", "neither a cell address nor a defined name"),
        ("", "empty"),
    ],
)
def test_a_cell_that_is_not_there(tmp_path: Path, target: str, words: str) -> None:
    path = ratio_book(tmp_path / "b.xlsx")
    before = path.read_bytes()
    with pytest.raises(CellError) as caught:
        recompute(path, edits={target: 1})
    assert words in str(caught.value)
    assert path.read_bytes() == before


def test_a_prefix_that_fits_two_names_is_refused(tmp_path: Path) -> None:
    path = with_names(ratio_book(tmp_path / "b.xlsx"), ratios_other="baseline!$B$2:$E$6")
    with pytest.raises(CellError, match="could be any of"):
        recompute(path, edits={"ratios[256x1024][90%]": 1})


@pytest.mark.byhand
def test_labels_of_an_excel_table(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1="kind", B1="name", C1="ms (all)", A2="MatMul", B2="q", C2=2)
    book = openpyxl.load_workbook(path)
    sheet = book["Sheet1"]
    sheet.append(["MatMul", "k", 3])
    sheet.append(["Add", "sum", 4])
    sheet["E1"] = "=SUM(ops[ms (all)])"
    sheet.add_table(Table(displayName="ops", ref="A1:C4"))
    book.save(path)
    recompute(path, edits={"ops[k][ms (all)]": 10, "ops[sum][ms]": 1})
    assert cached(path, "Sheet1", "E1") == 13
    with pytest.raises(CellError, match="2 rows 'MatMul'"):
        recompute(path, edits={"ops[MatMul][ms]": 1})
    with pytest.raises(CellError, match="header of the table ops"):
        recompute(path, edits={"Sheet1!C1": "other"})


def test_a_formula_is_overwritten_only_when_asked(tmp_path: Path) -> None:
    path = ratio_book(tmp_path / "b.xlsx")
    with pytest.raises(CellError, match="holds a formula"):
        recompute(path, edits={"baseline!G1": 5})
    recompute(path, edits={"baseline!G1": 5}, overwrite_formulas=True)
    book = openpyxl.load_workbook(path)
    assert book["baseline"]["G1"].value == 5
    assert cached(path, "baseline", "G2") == 2


def test_overwriting_the_first_of_shared_formulas_keeps_the_others(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1=1, A2=2, A3=3, B1="=A1*2", B2="=0", B3="=0")
    edited_zip(
        path,
        "xl/worksheets/sheet1.xml",
        lambda data: data.replace(b"<f>A1*2</f>", b'<f t="shared" ref="B1:B3" si="0">A1*2</f>').replace(
            b"<f>0</f>", b'<f t="shared" si="0"/>'
        ),
    )
    recompute(path, edits={"B1": 100}, overwrite_formulas=True)
    assert [cached(path, "Sheet1", f"B{i}") for i in (1, 2, 3)] == [100, 4, 6]
    recompute(path, edits={"A3": 30})
    assert [cached(path, "Sheet1", f"B{i}") for i in (1, 2, 3)] == [100, 4, 60]


def test_overwriting_a_formula_takes_it_off_the_calculation_chain(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1="=1", A2="=2", A3="=3")
    chain = (
        b'<calcChain xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        b'<c r="A1" i="1"/><c r="A2"/><c r="A3"/></calcChain>'
    )
    relationship = (
        b'<Relationship Id="rId99" Target="calcChain.xml" '
        b'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/calcChain"/></Relationships>'
    )
    edited_zip(path, "xl/_rels/workbook.xml.rels", lambda d: d.replace(b"</Relationships>", relationship))
    with zipfile.ZipFile(path, "a") as package:
        package.writestr("xl/calcChain.xml", chain)
    recompute(path, edits={"A1": 7}, overwrite_formulas=True)
    with zipfile.ZipFile(path) as package:
        assert b'<c r="A2" i="1"/><c r="A3"/></calcChain>' in package.read("xl/calcChain.xml")


def test_part_of_an_array_formula_is_never_overwritten(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1=1, A2=2, B1=("B1:B2", "=A1:A2*2"))
    with pytest.raises(CellError, match="array formula in Sheet1!B1"):
        recompute(path, edits={"B2": 5}, overwrite_formulas=True)


def validated_book(path: Path) -> Path:
    book_of(path, A1=0.9, A2="on", A3=5, A4=1, A5="abc", B1="=A1", C1="x", C2="y")
    book = openpyxl.load_workbook(path)
    sheet = book["Sheet1"]
    rules = {
        "A1": DataValidation("decimal", operator="between", formula1="0", formula2="1", allow_blank=False),
        "A2": DataValidation("list", formula1='"on,off"', allow_blank=True),
        "A3": DataValidation("whole", operator="greaterThan", formula1="A4"),
        "A4": DataValidation("list", formula1="$C$1:$C$2"),
        "A5": DataValidation("textLength", operator="lessThanOrEqual", formula1="3"),
        "A6": DataValidation("custom", formula1="MOD(A6,2)=0"),
    }
    for cell, rule in rules.items():
        rule.showErrorMessage = True
        rule.add(cell)
        sheet.add_data_validation(rule)
    hint = DataValidation("whole", operator="equal", formula1="1", errorStyle="warning")
    hint.showErrorMessage = True
    hint.add("A7")
    sheet.add_data_validation(hint)
    book.save(path)
    return path


@pytest.mark.byhand
@pytest.mark.parametrize(
    ("cell", "value"),
    [("A1", 1), ("A1", 0.5), ("A2", "off"), ("A3", 2), ("A4", "y"), ("A5", "xyz"), ("A6", 4), ("A7", 3), ("A2", None)],
)
def test_validation_lets_through(tmp_path: Path, cell: str, value: object) -> None:
    path = validated_book(tmp_path / "b.xlsx")
    recompute(path, edits={cell: value})  # type: ignore[dict-item]
    assert cached(path, "Sheet1", cell) == value


@pytest.mark.byhand
@pytest.mark.parametrize(
    ("cell", "value", "words"),
    [
        ("A1", 1.5, "0 to 1"),
        ("A1", "many", "a number"),
        ("A1", None, "no blank"),
        ("A2", "maybe", "use on, off"),
        ("A3", 1, "more than 1"),
        ("A3", 2.5, "a whole number"),
        ("A4", "z", "use x, y"),
        ("A5", "wxyz", "length 3 or less"),
        ("A6", 3, "MOD(A6,2)=0"),
    ],
)
def test_validation_refuses(tmp_path: Path, cell: str, value: object, words: str) -> None:
    path = validated_book(tmp_path / "b.xlsx")
    before = path.read_bytes()
    with pytest.raises(CellError) as caught:
        recompute(path, edits={cell: value})  # type: ignore[dict-item]
    assert words in str(caught.value)
    assert f"Sheet1!{cell}" in str(caught.value)
    assert path.read_bytes() == before


def test_locked_cells_of_protected_sheets(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1=1, B1=2, C1="=A1+B1")
    book = openpyxl.load_workbook(path)
    sheet = book["Sheet1"]
    sheet["A1"].protection = Protection(locked=False)
    sheet.protection.sheet = True
    book.save(path)
    recompute(path, edits={"A1": 5})
    assert cached(path, "Sheet1", "C1") == 7
    for cell in ("B1", "D9"):
        with pytest.raises(CellError, match="locked"):
            recompute(path, edits={cell: 5})


def test_cells_under_a_merged_one_are_refused(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1=1)
    book = openpyxl.load_workbook(path)
    book["Sheet1"].merge_cells("A1:B2")
    book.save(path)
    with pytest.raises(CellError, match="merged"):
        recompute(path, edits={"B2": 1})


@pytest.mark.parametrize(
    "value",
    [
        3.25,
        -1e-300,
        1e300,
        "text",
        "  spaces ",
        "a<b&c>\"d'",
        "line\nbreak",
        "_x0041_",
        "\x01\ud7ff",
        True,
        None,
        CellErrorValue.NA,
        "",
    ],
)
def test_a_value_survives_the_file(tmp_path: Path, value: object) -> None:
    path = book_of(tmp_path / "b.xlsx", A1=1, B1="=A1", C1="=ISBLANK(A1)")
    recompute(path, edits={"A1": value, "D7": value})  # type: ignore[dict-item]
    with open_workbook(path) as book:
        assert book.value("A1") == value
        assert book.value("D7") == value
        assert book.value("B1") == (0 if value is None else value)
        assert book.value("C1") == (value is None)


def test_new_cells_are_put_where_they_belong(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", B2=1, D4=2, A9="=SUM(A1:Z8)")
    recompute(path, edits={"A1": 10, "A2": 20, "C2": 30, "E4": 40, "C3": 50, "F12": 60})
    sheet = openpyxl.load_workbook(path)["Sheet1"]
    assert [sheet[c].value for c in ("A1", "A2", "B2", "C2", "C3", "D4", "E4", "F12")] == [10, 20, 1, 30, 50, 2, 40, 60]
    assert cached(path, "Sheet1", "A9") == 153
    with zipfile.ZipFile(path) as package:
        assert b'<dimension ref="A1:F12"' in package.read("xl/worksheets/sheet1.xml")


def test_values_that_no_cell_takes(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1=1)
    for value in (float("nan"), float("inf"), "x" * 32768, [1]):
        with pytest.raises(CellError):
            recompute(path, edits={"A1": value})  # type: ignore[dict-item]


@pytest.mark.byhand
def test_values_as_typed() -> None:
    typed = {"0.9": 0.9, "90%": 0.9, "1e3": 1000.0, "-2": -2.0, "true": True, "256x1024": "256x1024", "": None}
    typed |= {"'0.9": "0.9", "2024-03-01": 45352.0, "#N/A": CellErrorValue.NA, "1/2": "1/2"}  # type: ignore[dict-item]
    assert {text: entered_value(text) for text in typed} == typed
    with pytest.raises(CellError, match="is a formula"):
        entered_value("=1+1")


def test_edits_and_checks_are_split_outside_quotes_and_brackets() -> None:
    assert parse_edit("ops[a=b][x>y]=3") == ("ops[a=b][x>y]", 3.0)
    assert parse_edit("'a=b'!C1=x=y") == ("'a=b'!C1", "x=y")
    check = parse_check("'a<b'!C1 >= 5%")
    assert (check.target, check.operator, check.wanted) == ("'a<b'!C1", ">=", 0.05)
    assert parse_check("x!=1").operator == "<>"
    for text in ("no operator", "=5", "x>="):
        with pytest.raises(CellError):
            parse_check(text)
    with pytest.raises(CellError, match="write CELL=VALUE"):
        parse_edit("A1:5")


@pytest.mark.byhand
@pytest.mark.parametrize(
    ("check", "holds"),
    [("answer=5", True), ("answer>=5", True), ("answer>5", False), ("answer<>5", False), ("answer<5.1", True)],
)
def test_checks(tmp_path: Path, check: str, holds: bool) -> None:
    report = recompute(ratio_book(tmp_path / "b.xlsx"), checks=[check])
    assert report.checks[0].holds is holds
    assert report.checks[0].value == 5


def test_a_check_of_an_error_or_a_stale_cell_fails(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1="=1/0", B1="=NOSUCH()", C1="=B1")
    report = recompute(path, checks=["A1<1", "B1=0", "C1=0", "A1=#DIV/0!"])
    assert [check.holds for check in report.checks] == [False, False, False, True]


# --- the command


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(arguments), standalone_mode=True)
    if isinstance(result.exception, WorkbenchError):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_exit_codes(tmp_path: Path) -> None:
    good = str(ratio_book(tmp_path / "b.xlsx"))
    partly = str(book_of(tmp_path / "p.xlsx", A1="=NOSUCH()", B1="=A1"))
    assert run(good, "--set", "ratios[256x1024][90%]=4", "--check", "answer>=2.5")[0] == Exit.DONE
    assert run(good, "--check", "answer>=3")[0] == Exit.NO
    code, _, err = run(partly)
    assert code == Exit.INCOMPLETE
    assert "Sheet1!A1" in err and "NOSUCH" in err and "stale: Sheet1!B1" in err
    with pytest.raises(CellError) as caught:
        run(good, "--set", "baseline!G1=1")
    assert caught.value.exit_code == Exit.BAD_INPUT


def test_json(tmp_path: Path) -> None:
    path = ratio_book(tmp_path / "b.xlsx")
    recompute(path)
    code, out, _ = run(str(path), "--json", "--set", "baseline!C3=8", "--check", "answer<2")
    assert code == Exit.DONE
    report = json.loads(out)
    assert report["formulas"] == 2
    assert {c["cell"]: (c["before"], c["after"]) for c in report["changes"]} == {
        "baseline!C3": (2, 8),
        "baseline!G1": (2, 8),
        "baseline!G2": (5, 1.25),
    }
    assert report["checks"] == [{"check": "answer<2", "value": 1.25, "holds": True}]


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    path = ratio_book(tmp_path / "b.xlsx")
    before = path.read_bytes()
    code, out, _ = run(str(path), "--dry-run", "--set", "baseline!C3=8")
    assert (code, "nothing written" in out) == (Exit.DONE, True)
    assert path.read_bytes() == before


def test_an_error_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def failing() -> None:
        recompute(tmp_path / "missing.xlsx")

    assert run_reporting_errors(failing) == Exit.BAD_INPUT
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.byhand
def test_a_short_form_of_a_name_when_only_one_begins_so(tmp_path: Path) -> None:
    path = with_names(
        book_of(tmp_path / "b.xlsx", A1=1, A2="=A1*2", A3="=A1*3"),
        speed_baseline="Sheet1!$A$2",
        ms_baseline="Sheet1!$A$1",
        ms_total_baseline="Sheet1!$A$3",
    )
    recompute(path, edits={"ms_baseline": 4})
    with open_workbook(path) as book:
        assert book.value("speed") == 8
        with pytest.raises(CellError, match="could be any of ms_baseline, ms_total_baseline"):
            book.value("ms")
