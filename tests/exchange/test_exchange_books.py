"""Files into workbooks and back out, as the commands do it."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from pathlib import Path

import pytest
from exchange_models import small_model
from exchange_profiles import operator, product, profile_of
from test_exchange_importers import SPDY, TENSORRT
from test_exchange_neural_engine_reading import NEWER, OLDER
from test_exchange_neural_engine_reading import write as write_csv

from workbench.book import open_book, write_book
from workbench.book.foreign import export_neural_engine, export_table, import_file, table_of
from workbench.cli import _root
from workbench.cli.common import run_reporting_errors
from workbench.errors import BookError, FormatError, MissingExtra, WorkbenchError
from workbench.exchange.neural_engine import write_profile_csv
from workbench.recalc import recompute


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A workbook of a profile with two weight shapes."""
    ops = [
        product(0, "MatMul", "m0", (256, 256), 0.4),
        operator(1, "Softmax", '=HYPERLINK("x")|`<b>', 0.2),
        product(2, "MatMul", "m2", (256, 1024), 1.0, ("bias",)),
    ]
    path = tmp_path / "book.xlsx"
    write_book([profile_of(ops)], path, targets={"baseline": (0.9, None, 0.7)})
    return path


def run(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    """Exit code, standard output and error of a command."""
    before = sys.argv
    sys.argv = ["workbench", *map(str, args)]
    try:
        code = run_reporting_errors(_root)
    finally:
        sys.argv = before
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("text", [NEWER, OLDER], ids=["newer", "older"])
def test_the_engines_csv_to_workbook_to_csv_is_the_same_file(tmp_path: Path, text: str):
    path = write_csv(tmp_path, text)
    done = import_file(path, tmp_path / "b.xlsx")
    assert (done.format, done.extended) == ("Neural Engine CSV", False)
    (back,) = export_neural_engine(tmp_path / "b.xlsx", tmp_path / "out")
    assert back.read_text() == NEWER
    assert back.name.startswith("profiling_")
    assert back.name.endswith("_3.csv")


def test_our_csv_to_workbook_to_csv_is_the_same_file(tmp_path: Path, book: Path):
    (first,) = export_neural_engine(book, tmp_path / "one")
    import_file(first, tmp_path / "b.xlsx")
    (second,) = export_neural_engine(tmp_path / "b.xlsx", tmp_path / "two")
    assert second.read_text() == first.read_text()


def test_an_imported_workbook_has_the_files_ratios_targets_and_totals(tmp_path: Path):
    text = NEWER.replace("256x256,4.000000", "256x256,5.000000").replace(" 90%", " 80%")
    import_file(write_csv(tmp_path, text), tmp_path / "b.xlsx")
    opened = open_book(tmp_path / "b.xlsx")
    totals = opened.totals()
    assert math.isclose(totals["total_latency"], 0.220)
    assert math.isclose(totals["total_aim_to_sparse_latency"], 0.075 / 4 + 0.101 + 0.044)
    assert opened.ratio_table().rows[0].ratios[0.9] == 5.0
    assert opened.operators()["aim to weight sparse ratio"][0] == 0.8


def test_an_export_follows_edits_of_the_workbook(tmp_path: Path, book: Path):
    edits = {"ops_baseline[m0][aim to weight sparse ratio]": 0.8, "ratios_baseline[256x1024][70%]": 2.75}
    try:
        recompute(book, edits=edits)
    except WorkbenchError:
        pytest.skip("cells by operator name are not offered")
    (path,) = export_neural_engine(book, tmp_path / "out")
    rows = list(csv.reader(path.open(newline="")))
    assert rows[2][:5] == ["256x1024", "4.500000", "3.000000", "2.750000", "1"]
    assert rows[4][13] == "=80%"


def test_a_default_target_and_interpolated_ratios_keep_the_workbooks_totals(tmp_path: Path, book: Path):
    """The switches of the dashboard change what a target means; the CSV has no switches, so it gets the ratio."""
    recompute(book, edits={"default_target_baseline": 0.85, "between_levels_baseline": "interpolate"})
    opened = open_book(book)
    (path,) = export_neural_engine(book, tmp_path / "out")
    rows = list(csv.reader(path.open(newline="")))
    operators = opened.operators()
    assert [row[13] for row in (rows[4], rows[6])] == ["=85%", "=85%"]
    for row, ratio in ((rows[4], operators["perf ratio"][0]), (rows[6], operators["perf ratio"][2])):
        assert math.isclose(float(row[14]), ratio, rel_tol=1e-9)
        assert 2.5 < ratio < 4.5


def test_a_second_profile_is_added_and_a_double_refused(tmp_path: Path, book: Path):
    path = write_csv(tmp_path, NEWER)
    with pytest.raises(BookError, match="baseline"):
        import_file(path, book)
    assert import_file(path, book, name="engine").extended
    assert open_book(book).profile_names == ("baseline", "engine")
    import_file(path, book, name="engine", replace_profile=True)
    assert open_book(book).profile_names == ("baseline", "engine")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a/b", "can't contain '/'"),
        ("x" * 28, "it has 28 characters; a sheet's name allows 31"),
        ("Summary", "reserved"),
        (" ", "needs a name"),
        ("'quoted'", "apostrophe"),
    ],
)
def test_names_that_a_sheet_cannot_have(tmp_path: Path, name: str, message: str):
    with pytest.raises(BookError, match=message):
        import_file(write_csv(tmp_path, NEWER), tmp_path / "b.xlsx", name=name)
    assert not (tmp_path / "b.xlsx").exists()


def test_ratios_go_into_the_profile_that_has_their_shapes(tmp_path: Path):
    model = small_model(tmp_path)
    (tmp_path / "trt.json").write_text(json.dumps(TENSORRT))
    (tmp_path / "spdy.txt").write_text(SPDY)
    book = tmp_path / "b.xlsx"
    import_file(tmp_path / "trt.json", book, model=model)
    done = import_file(tmp_path / "spdy.txt", book, model=model)
    assert (done.profile, done.ratios_set) == (None, 1)
    row = next(r for r in open_book(book).ratio_table().rows if r.shape == (32, 64))
    assert (dict(row.ratios), row.source) == ({0.9: 3.75, 0.8: 2.5, 0.7: 2.0}, "literature: SPDY timings, spdy.txt")


def test_ratios_need_a_workbook_with_their_shapes(tmp_path: Path, book: Path):
    model = small_model(tmp_path)
    (tmp_path / "spdy.txt").write_text(SPDY)
    with pytest.raises(BookError, match="ratios go into a workbook that is there"):
        import_file(tmp_path / "spdy.txt", tmp_path / "none.xlsx", model=model)
    with pytest.raises(
        FormatError, match=r"no ratios for the weight shapes of profile 'baseline' \(256x256, 256x1024\)"
    ):
        import_file(tmp_path / "spdy.txt", book, model=model)


def test_tables_as_csv_json_and_markdown(book: Path, capsys: pytest.CaptureFixture[str]):
    code, out, _ = run(capsys, "export", book)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert [row["operator name"] for row in rows] == ["m0", '\'=HYPERLINK("x")|`<b>', "m2"]
    assert float(rows[0]["aim to sparse latency (ms)"]) == 0.1
    _, out, _ = run(capsys, "export", book, "--format", "json")
    records = json.loads(out)
    assert records[1]["operator name"] == '=HYPERLINK("x")|`<b>'
    assert records[1]["weight shape"] is None
    assert records[0]["sparse support"] is True
    _, out, _ = run(capsys, "export", book, "-f", "markdown", "--table", "ratios")
    assert out.splitlines()[0].startswith("| weight shape | 90% 4x1 perf ratio |")
    assert out.splitlines()[2].startswith("| 256x256 | 4 | 2.5 | 2 | 1 | seed example |")
    _, out, _ = run(capsys, "export", book, "-f", "markdown")
    lines = out.splitlines()
    assert {line.replace("\\|", "").count("|") for line in lines} == {lines[0].count("|")}


def test_totals_and_summary_hold_the_workbooks_values(book: Path, capsys: pytest.CaptureFixture[str]):
    _, out, _ = run(capsys, "export", book, "-f", "json", "--table", "totals")
    totals = {row["name"]: row["value"] for row in json.loads(out)}
    assert totals["total_latency"] == pytest.approx(1.6)
    assert totals["total_aim_to_sparse_latency"] == pytest.approx(0.4 / 4 + 0.2 + 1 / 2.5)
    _, out, _ = run(capsys, "export", book, "-f", "json", "--table", "summary")
    (line,) = json.loads(out)
    assert (line["profile"], line["batch"], line["end_to_end"]) == ("baseline", 8, None)


def test_parquet_and_an_excel_table(tmp_path: Path, book: Path):
    pytest.importorskip("pyarrow")
    import openpyxl
    import pandas as pd

    table = table_of(open_book(book), "operators")
    back = pd.read_parquet(export_table(book, "parquet", tmp_path / "t.parquet"))
    assert list(back.columns) == list(table.columns)
    assert list(back["operator name"]) == list(table["operator name"])
    assert list(back["operator latency (ms)"]) == [0.4, 0.2, 1.0]
    sheet = openpyxl.load_workbook(export_table(book, "xlsx-table", tmp_path / "t.xlsx")).active
    assert [t.ref.split(":")[0] for t in sheet.tables.values()] == ["A1"]
    cells = {cell.value for cell in sheet["C"]}
    assert '=HYPERLINK("x")|`<b>' in cells
    assert all(cell.data_type != "f" for row in sheet.iter_rows() for cell in row)


def test_parquet_without_its_library_names_the_extra(tmp_path: Path, book: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"needs the library pyarrow.*pip install 'workbench\[parquet\]'"):
        export_table(book, "parquet", tmp_path / "t.parquet")
    assert not (tmp_path / "t.parquet").exists()


def test_import_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = write_profile_csv(profile_of([product(0, "MatMul", "m", (256, 256), 0.4)]), tmp_path)
    code, out, err = run(capsys, "import", path, "-o", tmp_path / "b.xlsx", "--name", "engine", "--batch", 8)
    assert (code, err) == (0, "")
    assert "Neural Engine CSV: 1 operators, 1 with sparse support, 0.400 ms in all" in out
    code, out, _ = run(capsys, "import", path, "-o", tmp_path / "b.xlsx", "--name", "two", "--json")
    document = json.loads(out)
    assert (code, document["profile"], document["extended"], document["ratio_rows"]) == (0, "two", True, 1)
    code, out, err = run(capsys, "import", path, "-o", tmp_path / "b.xlsx", "--name", "two")
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_bad_exports_are_one_sentence(tmp_path: Path, book: Path, capsys: pytest.CaptureFixture[str]):
    for args, message in (
        (("-f", "parquet"), "parquet doesn't go to a terminal; name a file with -o"),
        (("--profile", "none"), "no profile 'none'"),
        (("-o", tmp_path / "no" / "folder.csv"), "does not exist"),
        (("--table", "nothing"), "there is no table 'nothing' in book.xlsx; use one of operators, ratios, types"),
        (("--table", "layers"), "the workbook has no loss profile; add one with"),
    ):
        code, out, err = run(capsys, "export", book, *args)
        assert (code, out) == (2, "")
        assert message in err
    code, _, err = run(capsys, "export", tmp_path / "none.xlsx")
    assert code == 2
    assert "none.xlsx" in err


def test_what_cannot_be_the_workbook(tmp_path: Path, book: Path):
    path = write_csv(tmp_path, NEWER)
    with pytest.raises(BookError, match=r"a workbook's name ends in \.xlsx"):
        import_file(path, tmp_path / "b.csv")
    with pytest.raises(BookError, match="does not exist"):
        import_file(path, tmp_path / "no" / "b.xlsx")
    with pytest.raises(BookError, match="this is the file to import"):
        import_file(book, book)
    with pytest.raises(FormatError, match="does not begin with a Neural Engine profile's ratio table"):
        import_file(book, tmp_path / "b.xlsx")
    (tmp_path / "text.xlsx").write_text("no workbook")
    with pytest.raises(WorkbenchError) as caught:
        import_file(path, tmp_path / "text.xlsx")
    assert "text.xlsx" in str(caught.value)
    assert (tmp_path / "text.xlsx").read_text() == "no workbook"


def test_csv_and_trace_of_a_profile_have_one_name(tmp_path: Path):
    from workbench.exchange.neural_engine import write_trace

    profile = profile_of([operator(0, "Relu", "r", 1.0)])
    names = {write_profile_csv(profile, tmp_path).stem, write_trace(profile, (), tmp_path).stem}
    assert names == {"profiling_2026-11-21_00-00-00_0"}


def test_types_estimates_and_named_ranges(book: Path):
    opened = open_book(book)
    types = table_of(opened, "types")
    assert set(types["operator type"]) >= {"MatMul", "Softmax"}
    assert list(table_of(opened, "ops_baseline")["operator name"]) == list(opened.operators()["operator name"])
    estimates = table_of(opened, "estimates")
    assert dict(zip(estimates["name"], estimates["value"], strict=True))["op_sum"] == pytest.approx(1.6)
