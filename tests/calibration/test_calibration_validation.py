"""The estimate against a real sparse run."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

pytest.importorskip("numba")

from workbench.book import open_book, write_book
from workbench.book.plan import read_plan
from workbench.book.validation import validate_book
from workbench.book.validation_sheet import note_of, sheet_name
from workbench.calibration.product import int8_unavailable
from workbench.calibration.timing import Spread
from workbench.calibration.validation import ValidatedOperator, Validation
from workbench.cli.validate import app
from workbench.errors import BookError, MissingExtra, ModelError, WorkbenchError
from workbench.profiling import profile_model
from workbench.profiling.samples import sample_model
from workbench.recalc import open_workbook, recompute


@pytest.fixture(autouse=True)
def quiet_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other programs count as idle: these tests are of results, not of times."""
    monkeypatch.setattr("workbench.calibration.timing.others_cpu_seconds", lambda: 0.0)
    monkeypatch.setattr("workbench.calibration.validation._BLOCKS", 5)
    monkeypatch.setattr("workbench.calibration.validation._BLOCK_S", 0.0)
    monkeypatch.setattr("workbench.calibration.validation.FEWEST_BLOCKS", 1)
    monkeypatch.setattr("workbench.calibration.validation._PROFILED_ROWS", 2)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("books") / "book.xlsx"
    write_book([profile_model("decoder_block", iterations=3, warmup=1, sessions=1)], path)
    return path


@pytest.fixture
def book(made: Path, tmp_path: Path) -> Path:
    path = tmp_path / "book.xlsx"
    path.write_bytes(made.read_bytes())
    return path


def test_a_real_sparse_run_gives_the_outputs_of_the_pruned_model(book: Path) -> None:
    found = validate_book(book, "decoder_block").validation
    planned = [o for o in read_plan(open_book(book)).operators if o.pruned]
    swapped = [o for o in found.operators if o.replaced]
    assert {o.layer_id for o in swapped} == {o.layer_id for o in planned}
    assert len(swapped) > 3
    assert 0 < found.output_difference < 1e-4
    assert found.outputs_agree
    assert all(o.dense_ms > 0 and o.sparse_ms > 0 for o in swapped)
    assert len(found.operators) == len(read_plan(open_book(book)).operators)


def test_every_operator_of_the_sheet_is_timed_once(book: Path) -> None:
    found = validate_book(book, "decoder_block").validation
    rows = [o.index for o in found.operators]
    assert sorted(rows) == list(range(len(rows)))


def test_the_workbooks_estimate_is_what_is_tested(book: Path) -> None:
    before = open_book(book).estimates()
    found = validate_book(book, "decoder_block").validation
    assert found.book_estimate_ms == before["estimated_ms"]
    assert found.predicted_ms == pytest.approx(before["estimated_ms"])
    assert found.book_dense_ms == before["end_to_end"]


def test_the_sheet_holds_predicted_measured_and_error(book: Path) -> None:
    done = validate_book(book, "decoder_block")
    v = done.validation
    assert done.sheet == "baseline check"
    with open_workbook(book) as opened:
        assert opened.value("predicted_ms_baseline") == pytest.approx(v.predicted_ms)
        assert opened.value("measured_sparse_ms_baseline") == pytest.approx(v.sparse.median)
        assert opened.value("prediction_error_baseline") == pytest.approx(v.predicted_ms / v.sparse.median - 1)
        assert opened.value("same_session_error_baseline") == pytest.approx(v.same_session_error)
    table = open_book(book).table("check_baseline")
    assert len(table) == len(v.operators)
    for row, o in zip(table.to_dict("records"), v.operators, strict=True):
        assert row["predicted (ms)"] == pytest.approx(o.predicted_ms)
        assert row["measured (ms)"] == pytest.approx(o.sparse_ms)
        assert row["run as"] == ("sparse" if o.replaced else "dense")
        if o.sparse_ms:
            assert row["error"] == pytest.approx(o.predicted_ms / o.sparse_ms - 1)
            assert row["perf ratio measured"] == pytest.approx(o.dense_ms / o.sparse_ms)


def test_the_parts_in_the_sheet_add_up_to_the_error(book: Path) -> None:
    done = validate_book(book, "decoder_block")
    sheet = openpyxl.load_workbook(book, data_only=True)[done.sheet]
    rows = {row[1].value: row for row in sheet.iter_rows() if row[1].value}
    error = rows["error"][2].value
    titles = [part.title for part in done.validation.parts]
    assert sum(rows[title][3].value for title in titles) == pytest.approx(error)


def test_nothing_else_in_the_book_changes(book: Path) -> None:
    with zipfile.ZipFile(book) as file:
        before = {name: file.read(name) for name in file.namelist() if name.startswith("xl/worksheets/sheet")}
    validate_book(book, "decoder_block")
    with zipfile.ZipFile(book) as file:
        assert {name: file.read(name) for name in before} == before


def test_a_second_check_replaces_the_first(book: Path) -> None:
    validate_book(book, "decoder_block")
    sheets = openpyxl.load_workbook(book).sheetnames
    second = validate_book(book, "decoder_block").validation
    assert openpyxl.load_workbook(book).sheetnames == sheets
    with open_workbook(book) as opened:
        assert opened.value("measured_sparse_ms_baseline") == pytest.approx(second.sparse.median)


def test_a_wrong_kernel_is_noticed(book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.calibration import substitution

    pack = substitution.pack
    monkeypatch.setattr(substitution, "pack", lambda weight: pack(weight * np.float32(1.5)))
    result = CliRunner().invoke(app, [str(book), "decoder_block", "--json"])
    document = json.loads(result.stdout)
    assert result.exit_code == 1
    assert not document["outputs_agree"]
    assert document["output_difference"] > 0.01


def test_the_command_prints_and_gives_json(book: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, [str(book), "decoder_block", "-o", str(tmp_path / "out.xlsx")])
    assert result.exit_code == 0, result.output
    assert "predicted ms per batch" in result.output
    assert "baseline check" in openpyxl.load_workbook(tmp_path / "out.xlsx").sheetnames
    assert "baseline check" not in openpyxl.load_workbook(book).sheetnames


@pytest.mark.skipif(bool(int8_unavailable()), reason="the CPU has no AVX-512 VNNI")
def test_an_int8_network_runs_with_the_int8_kernel(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    write_book([profile_model("bert_mini_int8", dims={"sequence": 16}, iterations=1, warmup=0, sessions=1)], path)
    found = validate_book(path, "bert_mini_int8").validation
    swapped = [o for o in found.operators if o.replaced]
    assert len(swapped) >= 24
    assert {o.operator_type for o in swapped} >= {"MatMulIntegerToFloat"}
    assert found.outputs_agree


def test_inputs_of_other_dimensions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    write_book([profile_model("bert_mini", batch=1, dims={"sequence": 8}, iterations=1, warmup=0, sessions=1)], path)
    ids = np.ones((1, 16), np.int64)
    np.savez(tmp_path / "in.npz", input_ids=ids, attention_mask=ids, token_type_ids=ids * 0)
    with pytest.raises(ModelError, match="sequence = 16, and the profile is of batch = 1, sequence = 8"):
        validate_book(path, "bert_mini", inputs=tmp_path / "in.npz")


def test_a_profile_that_was_not_measured(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    write_book([profile_model("decoder_block", measure=False)], path)
    with pytest.raises(BookError, match="no measured times to validate"):
        validate_book(path, "decoder_block")


def test_another_model_is_refused(book: Path) -> None:
    with pytest.raises(ModelError, match="made from another model file"):
        validate_book(book, "resnet_small")


def test_a_book_without_targets_is_refused(book: Path) -> None:
    edits = {
        f"ops_baseline[{o.name}][aim to weight sparse ratio]": None
        for o in read_plan(open_book(book)).operators
        if o.supported
    }
    recompute(book, edits=edits)
    with pytest.raises(BookError, match="no target on a supported operator"):
        validate_book(book, "decoder_block")


def test_a_busy_machine_gives_no_figure(book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setattr("workbench.calibration.timing.others_cpu_seconds", lambda: 100 * time.perf_counter())
    before = book.read_bytes()
    with pytest.raises(WorkbenchError, match="too busy to time a run: 0 of 15 blocks of runs were undisturbed"):
        validate_book(book, "decoder_block")
    assert book.read_bytes() == before


def test_without_numba_the_extra_is_named(book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"numba.*pip install 'workbench\[calibration\]'"):
        validate_book(book, sample_model("decoder_block"))


times = st.floats(0.01, 100)


def operator(draw: st.DrawFn, number: int) -> ValidatedOperator:
    replaced = draw(st.booleans())
    ratio = draw(st.floats(0.5, 10)) if replaced else 1.0
    book = draw(times)
    return ValidatedOperator(
        number, f"op{number}", f"op{number}", "MatMul", "8x8", 0.9 if replaced else 0.0, ratio, book, draw(times),
        book / ratio, draw(times), replaced,
    )  # fmt: skip


@st.composite
def validations(draw: st.DrawFn) -> Validation:
    operators = tuple(operator(draw, number) for number in range(draw(st.integers(1, 6))))
    dense, sparse = (Spread(draw(times), 0.0, 0.0) for _ in range(2))
    end_to_end = draw(times)
    total, aim = sum(o.book_dense_ms for o in operators), sum(o.predicted_ms for o in operators)
    predicted = end_to_end * aim / total
    return Validation("p", "m.onnx", 1, 1, predicted, predicted, end_to_end, dense, sparse, 9, operators, "kernel", 0.0)


@pytest.mark.property
@given(validations())
def test_the_parts_of_the_error_add_up_to_it(v: Validation) -> None:
    assert sum(part.ms for part in v.parts) == pytest.approx(v.predicted_ms - v.sparse.median, abs=1e-6)
    sizes = [abs(part.ms) for part in v.parts]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.byhand
def test_errors_by_hand() -> None:
    v = Validation("p", "m", 1, 1, 12.0, 12.0, 20.0, Spread(22.0, 22, 22), Spread(10.0, 10, 10), 9, (), "kernel", 0.0)
    assert v.error == pytest.approx(0.2)
    assert v.drift == pytest.approx(0.1)
    assert v.same_session_error == pytest.approx(0.32)
    assert v.speedup == pytest.approx(2.2)


@pytest.mark.byhand
def test_notes_name_what_an_operators_error_comes_from() -> None:
    o = ValidatedOperator(0, "op", "op", "MatMul", "8x8", 0.9, 5.0, 10.0, 10.0, 2.0, 4.0, True)
    assert note_of(o) == "its ratio here is 2.50, not 5.00: the table's ratio is +100% off"
    assert note_of(replace(o, dense_ms=30.0, sparse_ms=6.0)) == "its dense time changed by +200% since the profile"
    assert note_of(replace(o, sparse_ms=2.1)) == ""
    assert note_of(replace(o, replaced=False, note="int8")) == "stays dense: int8"


@pytest.mark.parametrize(("profile", "name"), [("baseline", "baseline check"), ("x" * 27, "x" * 25 + " check")])
def test_the_sheets_name_fits(profile: str, name: str) -> None:
    assert sheet_name(profile) == name
    assert len(name) <= 31
