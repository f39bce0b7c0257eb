"""Evaluation order, cycles, arrays, and the properties that hold for every workbook."""

from __future__ import annotations

import math
import random
from pathlib import Path

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recalc_books import book_of, edited_zip, with_names

from workbench.recalc import CellErrorValue, open_workbook
from workbench.recalc.single import evaluate_formula


def value_of(path: Path, target: str) -> object:
    with open_workbook(path) as book:
        book.recalculate()
        return book.value(target)


@pytest.mark.byhand
def test_a_chain_of_formulas_in_any_order(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1="=B1+1", B1="=C1*2", C1=5)
    assert value_of(path, "A1") == 11


@pytest.mark.byhand
def test_running_totals_refer_to_the_cell_above(tmp_path: Path) -> None:
    cells: dict[str, object] = {f"A{i}": i for i in range(1, 101)}
    cells |= {"B1": "=A1"} | {f"B{i}": f"=B{i - 1}+A{i}" for i in range(2, 101)}
    path = book_of(tmp_path / "b.xlsx", {"Data": cells})
    assert value_of(path, "Data!B100") == 5050


@pytest.mark.byhand
def test_running_totals_upwards_and_by_expanding_ranges(tmp_path: Path) -> None:
    cells: dict[str, object] = {f"A{i}": i for i in range(1, 51)}
    cells |= {f"B{i}": f"=B{i + 1}+A{i}" for i in range(1, 50)} | {"B50": "=A50"}
    cells |= {f"C{i}": f"=SUM(A$1:A{i})" for i in range(1, 51)}
    path = book_of(tmp_path / "b.xlsx", {"Data": cells})
    assert value_of(path, "Data!B1") == 1275
    assert value_of(path, "Data!C50") == 1275
    assert value_of(path, "Data!C3") == 6


@pytest.mark.byhand
def test_a_row_of_equal_formulas_is_one_family(tmp_path: Path) -> None:
    cells: dict[str, object] = {f"{c}1": i for i, c in enumerate("ABCDEF")}
    cells |= {f"{c}2": f"={c}1*10" for c in "ABCDEF"}
    path = book_of(tmp_path / "b.xlsx", {"Data": cells})
    with open_workbook(path) as book:
        book.recalculate()
        assert len(book.families) == 1
        assert [book.value(f"{c}2") for c in "ABCDEF"] == [0, 10, 20, 30, 40, 50]


def test_a_column_of_equal_formulas_is_one_family(tmp_path: Path) -> None:
    cells: dict[str, object] = {f"A{i}": i for i in range(1, 21)}
    cells |= {f"B{i}": f'=IF(A{i}>$A$3,A{i}*2,LEN("A{i}"))' if i < 0 else f"=A{i}^2" for i in range(1, 21)}
    path = book_of(tmp_path / "b.xlsx", {"Data": cells})
    with open_workbook(path) as book:
        assert [family.place.count for family in book.families] == [20]


def test_cycles_are_listed_by_their_cells_and_spread_staleness(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1="=B1+1", B1="=C1", C1="=A1", D1="=A1*2", E1=3, F1="=E1")
    with open_workbook(path) as book:
        report = book.recalculate()
        assert {kept.cell for kept in report.unevaluated} == {"Sheet1!A1", "Sheet1!B1", "Sheet1!C1"}
        assert all("circular" in kept.reason for kept in report.unevaluated)
        assert [kept.cell for kept in report.stale] == ["Sheet1!D1"]
        assert book.value("F1") == 3


def test_a_formula_that_reads_itself_is_circular(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1="=A1+1", B1="=SUM(B1:B3)")
    with open_workbook(path) as book:
        report = book.recalculate()
        assert {kept.cell for kept in report.unevaluated} == {"Sheet1!A1", "Sheet1!B1"}


@pytest.mark.byhand
def test_a_branch_that_is_not_taken_makes_no_cycle(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1="=IF(TRUE,7,B1)", B1="=A1+1")
    with open_workbook(path) as book:
        assert book.recalculate().complete
        assert (book.value("A1"), book.value("B1")) == (7, 8)


def test_row_and_column_of_a_cell_itself_are_no_cycle(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", B3="=ROW(B3)*10+COLUMN(B3)+ROWS(B1:B5)")
    assert value_of(path, "B3") == 37


def test_an_unknown_function_keeps_the_old_value_and_marks_dependents_stale(tmp_path: Path) -> None:
    cells: dict[str, object] = {f"A{i}": i for i in range(1, 6)}
    cells |= {f"B{i}": f"=A{i}*2" for i in range(1, 6)}
    cells |= {"B3": "=NOSUCHFUNCTION(A3)"}
    cells |= {f"C{i}": f"=B{i}+1" for i in range(1, 6)}
    path = book_of(tmp_path / "b.xlsx", {"Data": cells})
    with open_workbook(path) as book:
        report = book.recalculate()
        assert [kept.cell for kept in report.unevaluated] == ["Data!B3"]
        assert "NOSUCHFUNCTION" in report.unevaluated[0].reason
        assert [kept.cell for kept in report.stale] == ["Data!C3"]
        assert book.value("C5") == 11


def test_an_external_link_keeps_the_old_value(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1="=[1]Sheet1!A1+1", B1="=1+1")
    with open_workbook(path) as book:
        report = book.recalculate()
        assert [kept.cell for kept in report.unevaluated] == ["Sheet1!A1"]
        assert "another workbook" in report.unevaluated[0].reason
        assert book.value("B1") == 2


def test_a_formula_that_cannot_be_parsed_is_listed(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1="=1+", B1="=2")
    with open_workbook(path) as book:
        report = book.recalculate()
        assert [kept.cell for kept in report.unevaluated] == ["Sheet1!A1"]
        assert book.value("B1") == 2


@pytest.mark.byhand
def test_array_formulas_fill_their_range(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1=1, A2=2, A3=3, B1=("B1:B4", "=A1:A3*2"), C1=("C1:D1", "=5"))
    with open_workbook(path) as book:
        book.recalculate()
        assert [book.value(f"B{i}") for i in range(1, 5)] == [2, 4, 6, CellErrorValue.NA]
        assert [book.value("C1"), book.value("D1")] == [5, 5]


@pytest.mark.byhand
def test_a_plain_formula_intersects_ranges(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1=1, A2=2, A3=3, B2="=A1:A3*10", B5="=A1:A3")
    with open_workbook(path) as book:
        book.recalculate()
        assert book.value("B2") == 20
        assert book.value("B5") is CellErrorValue.VALUE


@pytest.mark.byhand
def test_indirect_and_offset_reach_cells_evaluated_later(tmp_path: Path) -> None:
    cells: dict[str, object] = {"A1": '=INDIRECT("C"&D1)', "B1": "=OFFSET(B1,3,0)", "B4": "=C3*2", "C3": "=C4+1"}
    cells |= {"C4": 10, "D1": 3}
    path = book_of(tmp_path / "b.xlsx", {"Data": cells})
    with open_workbook(path) as book:
        book.recalculate()
        assert (book.value("Data!A1"), book.value("Data!B1")) == (11, 22)


@pytest.mark.byhand
def test_a_running_total_by_offset(tmp_path: Path) -> None:
    cells: dict[str, object] = {f"A{i}": i for i in range(1, 21)}
    cells |= {"B1": "=A1"} | {f"B{i}": f"=OFFSET(B{i},-1,0)+A{i}" for i in range(2, 21)}
    assert value_of(book_of(tmp_path / "b.xlsx", {"Data": cells}), "Data!B20") == 210


def test_indirect_to_itself_is_circular(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1='=INDIRECT("B1")+1', B1="=A1*2", C1="=5")
    with open_workbook(path) as book:
        report = book.recalculate()
        assert {kept.cell for kept in report.unevaluated} == {"Sheet1!A1", "Sheet1!B1"}
        assert book.value("C1") == 5


@pytest.mark.byhand
def test_names_of_sheets_hide_those_of_the_workbook(tmp_path: Path) -> None:
    from openpyxl.workbook.defined_name import DefinedName

    path = book_of(tmp_path / "b.xlsx", {"One": {"A1": "=rate"}, "Two": {"A1": "=rate", "A2": "=One!rate"}})
    book = openpyxl.load_workbook(path)
    book.defined_names["rate"] = DefinedName("rate", attr_text="0.5")
    book["Two"].defined_names["rate"] = DefinedName("rate", attr_text="0.25")
    book.save(path)
    assert [value_of(path, target) for target in ("One!A1", "Two!A1", "Two!A2")] == [0.5, 0.25, 0.5]


@pytest.mark.byhand
def test_relative_names_follow_the_cell(tmp_path: Path) -> None:
    path = with_names(
        book_of(tmp_path / "b.xlsx", A1=3, A2=4, B1="=left_one*2", B2="=left_one*2"), left_one="Sheet1!XFD1"
    )
    with open_workbook(path) as book:
        book.recalculate()
        assert (book.value("B1"), book.value("B2")) == (6, 8)


@pytest.mark.byhand
def test_whole_columns_and_rows(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1=1, A2=2, A1048576=4, B1="=SUM(A:A)", C1="=SUM(2:2)+COUNT($A:$A)")
    with open_workbook(path) as book:
        book.recalculate()
        assert (book.value("B1"), book.value("C1")) == (7, 5)


@pytest.mark.byhand
def test_references_across_sheets(tmp_path: Path) -> None:
    sheets = {name: {"A1": i} for i, name in enumerate(("Jan", "Feb", "Mar"), 1)}
    path = book_of(tmp_path / "b.xlsx", {**sheets, "Sum": {"A1": "=SUM(Jan:Mar!A1)", "A2": "=SUM('Jan:Feb'!A1)"}})
    assert (value_of(path, "Sum!A1"), value_of(path, "Sum!A2")) == (6, 3)


@pytest.mark.byhand
def test_dynamic_arrays_spill_grow_shrink_and_are_blocked(tmp_path: Path) -> None:
    import xlsxwriter

    path = tmp_path / "b.xlsx"
    with xlsxwriter.Workbook(path) as made:
        sheet = made.add_worksheet("Data")
        sheet.write("A1", 3)
        sheet.write_dynamic_array_formula("C1:C1", "=_xlfn.SEQUENCE(A1)*10")
        sheet.write_formula("D1", "=SUM(C1:C9)")
        sheet.write_formula("E1", "=SUM(_xlfn.ANCHORARRAY(C1))")
    with open_workbook(path) as book:
        book.recalculate()
        assert [book.value(f"C{i}") for i in (1, 2, 3, 4)] == [10, 20, 30, None]
        assert (book.value("D1"), book.value("E1")) == (60, 60)
        book.set("A1", 5)
        book.recalculate()
        assert (book.value("C5"), book.value("D1"), book.value("E1")) == (50, 150, 150)
        book.set("A1", 2)
        book.recalculate()
        assert (book.value("C3"), book.value("D1")) == (None, 30)
        book.save()
    with open_workbook(path) as book:
        assert [book.value(f"C{i}") for i in (1, 2, 3)] == [10, 20, None]
        book.set("C4", 1)
        book.set("A1", 6)
        book.recalculate()
        assert book.value("C1") is CellErrorValue.SPILL
        assert book.value("E1") is CellErrorValue.SPILL


@pytest.mark.byhand
def test_shared_formulas(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1=1, A2=2, A3=3, B1="=A1*2", B2="=0", B3="=0")

    def share(data: bytes) -> bytes:
        data = data.replace(b"<f>A1*2</f>", b'<f t="shared" ref="B1:B3" si="0">A1*2</f>')
        return data.replace(b"<f>0</f>", b'<f t="shared" si="0"/>')

    edited_zip(path, "xl/worksheets/sheet1.xml", share)
    with open_workbook(path) as book:
        book.recalculate()
        assert [book.value(f"B{i}") for i in (1, 2, 3)] == [2, 4, 6]
        assert len(book.families) == 1
        assert book.formula("B3") == "=A3*2"


@pytest.mark.byhand
def test_a_workbook_that_counts_from_1904(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1="=DATE(1904,1,2)")
    edited_zip(path, "xl/workbook.xml", lambda data: data.replace(b"<workbookPr/", b'<workbookPr date1904="1"/'))
    assert value_of(path, "A1") == 1


# --- properties

COLUMNS = "ABCDE"


def random_book(seed: int, rows: int = 12) -> dict[str, object]:
    """A sheet of numbers, texts, blanks and formulas that read any cell; columns often hold one formula."""
    rng = random.Random(seed)
    cells: dict[str, object] = {}
    for row in range(1, rows + 1):
        for column in "AB":
            cells[f"{column}{row}"] = rng.choice(
                [rng.randint(-5, 9), round(rng.uniform(0, 3), 2), "x", None, True, "7"]
            )
    for column in "CDEFGH":
        pattern = formula_pattern(rng, column)
        for row in range(1, rows + 1):
            if rng.random() < 0.1:
                pattern = formula_pattern(rng, column)
            cells[f"{column}{row}"] = pattern.replace("§", str(row)).replace("±", str(max(1, row - 1)))
    return {key: value for key, value in cells.items() if value is not None}


def formula_pattern(rng: random.Random, column: str) -> str:
    left = chr(ord(column) - 1)
    other = rng.choice("ABCDEFGH")
    number = rng.randint(1, 12)
    return rng.choice(
        [
            f"={left}§*2+A§",
            f"=SUM(A$1:{left}§)",
            f"=IF(A§>2,{left}§,{other}${number})",
            f"=IFERROR({other}§/A§,-1)",
            f"={column}±+B§" if rng.random() < 0.5 else f"=COUNT(A$1:B${number})",
            f'=A§&"-"&{left}±',
            f"=INDEX($A$1:$B$12,{number},1)",
            "=SUMIF($A$1:$A$12,A§,$B$1:$B$12)",
            f"=MAX({left}±:{left}§)",
            f'=INDIRECT("A"&{number})+ROW()',
        ]
    )


def outcome(path: Path, **how: bool) -> dict[str, object]:
    with open_workbook(path, **how) as book:
        report = book.recalculate()
        kept = {cell.cell for cell in (*report.unevaluated, *report.stale)}
        values = {
            f"{c}{r}": book.value(f"{c}{r}") for c in "ABCDEFGH" for r in range(1, 13) if f"Sheet1!{c}{r}" not in kept
        }
        return {**values, "kept": kept}


def same(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)
    return a == b


@pytest.mark.property
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_grouped_equals_ungrouped(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    path = book_of(tmp_path_factory.mktemp("b") / "b.xlsx", {"Sheet1": random_book(seed)})
    grouped, ungrouped = outcome(path), outcome(path, grouped=False)
    assert grouped.keys() == ungrouped.keys()
    assert all(same(grouped[key], ungrouped[key]) for key in grouped)


@pytest.mark.property
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_incremental_equals_full_after_random_edits(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    path = book_of(tmp_path_factory.mktemp("b") / "b.xlsx", {"Sheet1": random_book(seed)})
    rng = random.Random(seed)
    with open_workbook(path) as book:
        book.recalculate()
        for _ in range(4):
            for _ in range(rng.randint(1, 3)):
                book.set(
                    f"{rng.choice('AB')}{rng.randint(1, 12)}", rng.choice([rng.randint(-9, 9), "x", None, True, 0.5])
                )
            step = book.recalculate()
            before = {f"{c}{r}": book.value(f"{c}{r}") for c in "ABCDEFGH" for r in range(1, 13)}
            full = book.recalculate(full=True)
            assert {k.cell for k in step.unevaluated} == {k.cell for k in full.unevaluated}
            assert {k.cell for k in step.stale} == {k.cell for k in full.stale}
            kept = {k.cell.removeprefix("Sheet1!") for k in (*full.unevaluated, *full.stale)}
            after = {cell: book.value(cell) for cell in before}
            assert all(same(before[cell], after[cell]) for cell in before if cell not in kept)


@pytest.mark.property
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_recomputing_twice_changes_nothing_the_second_time(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    from workbench.recalc import recompute

    path = book_of(tmp_path_factory.mktemp("b") / "b.xlsx", {"Sheet1": random_book(seed)})
    recompute(path)
    written = path.read_bytes()
    assert recompute(path).changed_count == 0
    assert path.read_bytes() == written


@pytest.mark.byhand
@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("=COUNTBLANK(A:A)", 1048574),
        ("=COUNTBLANK(A1:B1048576)", 2097149),
        ('=COUNTIF(A:A,"<>1")', 1048575),
        ('=SUMPRODUCT(--(A:A=""))', 1048574),
        ("=SUMPRODUCT((A:A=2)*1,B:B)", 5),
        ("=COUNT(A:A*1)", 1048576),
        ("=MIN(A:A*1)", 0),
        ("=AVERAGE(IF(A:A>0,A:A))", 1.5),
        ('=MATCH("",A:A&"",0)', 3),
        ("=LOOKUP(2,1/(A:A=2),B:B)", 5),
        ("=ROWS(A:A)+COLUMNS(1:1)", 1064960),
        ("=INDEX(A:A,1048576)&1", "1"),
    ],
)
def test_blanks_below_the_data_count_where_they_do_in_excel(formula: str, value: object) -> None:
    assert evaluate_formula(formula, {"A1": 1, "A2": 2, "B2": 5}, at="D9") == value
