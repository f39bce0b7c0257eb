"""Agreement with LibreOffice, cell by cell: after edits, after it saved the book, with a user's own sheet."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import openpyxl
import pytest
from libreoffice import convert, needs_libreoffice

from workbench.recalc import open_workbook, recompute
from workbench.recalc.verify import verify

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks" / "recalc"))

pytestmark = [pytest.mark.libreoffice, needs_libreoffice]


@pytest.fixture(scope="module")
def own_book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from books import made_up_book

    path = tmp_path_factory.mktemp("own") / "book.xlsx"
    made_up_book(path, 40)
    return path


def copied(source: Path, folder: Path) -> Path:
    path = folder / "book.xlsx"
    path.write_bytes(source.read_bytes())
    return path


def random_edits(path: Path, seed: int) -> dict[str, float | str | bool]:
    """Edits that a person may make: ratios, levels, targets, sparse support, latencies."""
    from books import SHAPES

    rng = random.Random(seed)
    edits: dict[str, float | str | bool] = {}
    for rows, columns in rng.sample(SHAPES, 3):
        edits[f"ratios[{rows}x{columns}][{rng.choice((70, 80, 90))}%]"] = round(rng.uniform(1, 4), 2)
    with open_workbook(path) as book:
        first, last = book.locate("ops_baseline").split("!")[1].split(":")
        top, bottom = int("".join(filter(str.isdigit, first))), int("".join(filter(str.isdigit, last)))
        columns_of = {
            name: book.locate(f"ops_baseline[{name}]").split("!")[1].split(":")[0].rstrip("0123456789")
            for name in ("aim to weight sparse ratio", "operator latency (ms)", "sparse support")
        }
        kept = {name for name, column in columns_of.items() if book.formula(f"'baseline ops'!{column}{top}") is None}
    for _ in range(6):
        row = rng.randint(top, bottom)
        name = rng.choice(sorted(kept))
        value: float | bool = {
            "aim to weight sparse ratio": rng.choice((0.7, 0.8, 0.9, 0.0)),
            "operator latency (ms)": round(rng.uniform(0, 3), 3),
            "sparse support": rng.random() < 0.5,
        }[name]
        edits[f"'baseline ops'!{columns_of[name]}{row}"] = value
    return edits


@pytest.mark.property
@pytest.mark.parametrize("seed", [1, 2])
def test_after_random_edits(own_book: Path, tmp_path: Path, seed: int) -> None:
    path = copied(own_book, tmp_path)
    report = recompute(path, edits=random_edits(path, seed))
    assert report.complete
    assert report.changed_count > 20
    found = verify(path)
    assert found.differences == ()
    assert found.compared > 500


def test_after_libreoffice_saved_it(own_book: Path, tmp_path: Path) -> None:
    saved = convert(own_book, tmp_path / "lo", recalculate=False)
    report = recompute(saved, edits={"ratios[256x1024][90%]": 3.25})
    assert report.complete
    assert verify(saved).differences == ()


def test_a_user_s_own_sheet_over_our_tables(own_book: Path, tmp_path: Path) -> None:
    book = openpyxl.load_workbook(own_book)
    sheet = book.create_sheet("Mine")
    formulas = [
        "=SUM(ops_baseline[operator latency (ms)])",
        '=SUMIFS(ops_baseline[operator latency (ms)],ops_baseline[operator type],"MatMul")',
        '=COUNTIF(ops_baseline[operator type],"*a*")',
        "=INDEX(ops_baseline[operator name],MATCH(A12,ops_baseline[operator latency (ms)],0))",
        "=SUMPRODUCT((ops_baseline[sparse support]=TRUE)*ops_baseline[operator latency (ms)])",
        "=total_latency_baseline/sparse_improve_baseline",
        '=IFERROR(VLOOKUP("256x1024",ratios_baseline,2,FALSE),"none")',
        "=AVERAGE(ops_baseline[operator latency (ms)])-MEDIAN(ops_baseline[operator latency (ms)])",
        '=TEXT(total_latency_baseline,"0.00")&" ms"',
        "=ROUND(LARGE(ops_baseline[operator latency (ms)],3),4)",
        "=ROWS(ops_baseline[[#Data],[operator name]])*100+COLUMNS(ops_baseline[[#Headers],[post op]:[operator name]])",
        "=MAX(ops_baseline[operator latency (ms)])",
    ]
    for row, formula in enumerate(formulas, 1):
        sheet.cell(row, 1, formula)
        sheet.cell(row, 2, f"=A{row}")
    path = tmp_path / "book.xlsx"
    book.save(path)
    assert recompute(path, edits={"ratios[768x768][80%]": 2.5}).complete
    found = verify(path)
    assert found.differences == ()


def test_after_rows_were_added(own_book: Path, tmp_path: Path) -> None:
    path = copied(own_book, tmp_path)
    with open_workbook(path) as book:
        top_left, _ = book.locate("ratios_baseline").split("!")[1].split(":")
        cells = book.values("ratios_baseline")
    column = top_left.rstrip("0123456789")
    blank = next(i for i, row in enumerate(cells) if row[0] is None)
    row = int(top_left.removeprefix(column)) + blank
    following = [chr(ord(column) + i) for i in range(4)]
    edits: dict[str, float | str] = {
        f"baseline!{c}{row}": v for c, v in zip(following, ("64x64", 3.0, 2.0, 1.5), strict=True)
    }
    with open_workbook(path) as book:
        operators = book.values("ops_baseline[weight shape]")
        place = book.locate("ops_baseline[weight shape]").split("!")[1].split(":")[0]
    letters = place.rstrip("0123456789")
    first = int(place.removeprefix(letters))
    product = next(i for i, (shape,) in enumerate(operators) if shape)
    edits[f"'baseline ops'!{letters}{first + product}"] = "64x64"
    report = recompute(path, edits=edits)
    assert report.complete
    assert any(changed.cell.startswith("'baseline ops'") for changed in report.changed)
    assert verify(path).differences == ()


def test_after_operators_were_added(own_book: Path, tmp_path: Path) -> None:
    from openpyxl.formula.translate import Translator

    book = openpyxl.load_workbook(own_book)
    sheet = book["baseline ops"]
    table = sheet.tables["ops_baseline"]
    first, last = table.ref.split(":")
    bottom = int("".join(filter(str.isdigit, last)))
    for cell in sheet[bottom]:
        value = cell.value
        below = sheet.cell(bottom + 1, cell.column)
        if cell.data_type == "f" and isinstance(value, str):
            value = Translator(value, cell.coordinate).translate_formula(below.coordinate)
        below.value = value
    table.ref = table.autoFilter.ref = f"{first}:{last.rstrip('0123456789')}{bottom + 1}"
    path = tmp_path / "book.xlsx"
    book.save(path)
    with open_workbook(own_book) as before:
        before.recalculate()
        total = before.value("total_latency_baseline")
    assert recompute(path).complete
    with open_workbook(path) as after:
        assert float(str(after.value("total_latency_baseline"))) > float(str(total))
    assert verify(path).differences == ()
