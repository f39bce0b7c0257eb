"""Measured ratios go into a workbook; what a person typed and what is too noisy does not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("numba")

from workbench.book import calibration, open_book, write_book
from workbench.book.calibration import calibrate_book
from workbench.book.plan import read_plan
from workbench.calibration import measure
from workbench.calibration.cache import CalibrationCache, MeasuredLevel
from workbench.calibration.measure import Calibration, ShapeMeasurement
from workbench.calibration.product import int8_unavailable
from workbench.cli.calibrate import app
from workbench.errors import BookError, MissingExtra, WorkbenchError
from workbench.profile import RatioRow, RatioTable
from workbench.profiling import profile_model
from workbench.recalc import open_workbook, recompute

Shape = tuple[int, int]


def measured_level(ratio: float, spread: float = 0.02, blocks: int = 11) -> MeasuredLevel:
    return MeasuredLevel(ratio, ratio * (1 - spread), ratio * (1 + spread), 1.0, 1 / ratio, 100.0, blocks)


class Stub:
    """Stands for the machine: gives ratios of its own, and keeps what it was asked."""

    def __init__(self, spread: float = 0.02, blocks: int = 11) -> None:
        self.spread, self.blocks = spread, blocks
        self.asked: list[tuple[dict[Shape, int], tuple[float, ...], int]] = []

    def __call__(
        self,
        shapes: Iterable[Shape],
        levels: Sequence[float],
        tokens: Mapping[Shape, int],
        threads: int,
        *,
        dtypes: Mapping[Shape, str],
        **_: object,
    ) -> Calibration:
        self.dtypes = dtypes
        self.asked.append((dict(tokens), tuple(levels), threads))
        rows, found = [], []
        for shape in shapes:
            values = {level: measured_level(10 * level, self.spread, self.blocks) for level in levels}
            found.append(
                ShapeMeasurement(shape, tokens[shape], threads, "row", dtypes[shape], values, "2026-01-02", False)
            )
            rows.append(
                RatioRow(shape, {k: v.ratio for k, v in values.items()}, 1.0, "measured here: stub, 2026-01-02")
            )
        return Calibration(RatioTable(tuple(levels), tuple(rows)), tuple(found), {}, "machine", "kernel")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("books") / "book.xlsx"
    write_book([profile_model("decoder_block", measure=False, cores=1)], path)
    return path


@pytest.fixture
def book(made: Path, tmp_path: Path) -> Path:
    path = tmp_path / "book.xlsx"
    path.write_bytes(made.read_bytes())
    return path


def shapes_of(book: Path) -> dict[str, int]:
    return {o.label: o.tokens or 0 for o in read_plan(open_book(book)).operators if o.supported}


def test_measured_ratios_and_their_source_stand_in_the_table(book: Path) -> None:
    machine = Stub()
    (done,) = calibrate_book(book, measure=machine)
    tokens, levels, threads = machine.asked[0]
    assert {f"{n}x{k}": m for (n, k), m in tokens.items()} == shapes_of(book)
    assert (levels, threads) == ((0.9, 0.8, 0.7), 1)
    assert done.written == len(tokens) >= 2
    for row in open_book(book).ratio_table().rows:
        if row.shape in tokens:
            assert row.ratios == {0.9: 9.0, 0.8: 8.0, 0.7: 7.0}
            assert row.source == "measured here: stub, 2026-01-02"


@pytest.mark.byhand
def test_estimates_follow_the_new_ratios(book: Path) -> None:
    (done,) = calibrate_book(book, measure=Stub())
    opened = open_book(book)
    totals = opened.totals()
    rest = totals["total_latency"] - totals["sparse_support_latency"]
    assert totals["total_aim_to_sparse_latency"] == pytest.approx(rest + totals["sparse_support_latency"] / 9)
    assert done.speedup_after == pytest.approx(opened.estimates()["estimated_speedup"])
    assert done.speedup_after > done.speedup_before


def test_rows_of_the_user_stay_unless_overwritten(book: Path) -> None:
    shape = next(iter(shapes_of(book)))
    recompute(book, edits={f"ratios_baseline[{shape}][80%]": 1.25, f"ratios_baseline[{shape}][source]": "user"})
    (done,) = calibrate_book(book, measure=Stub())
    kept = next(row for row in done.rows if row.label == shape)
    assert not kept.written
    assert kept.reason == "its source is 'user' (--overwrite replaces it)"
    with open_workbook(book) as opened:
        assert opened.value(f"ratios_baseline[{shape}][80%]") == 1.25
        assert opened.value(f"ratios_baseline[{shape}][source]") == "user"
    calibrate_book(book, measure=Stub(), overwrite=True)
    with open_workbook(book) as opened:
        assert opened.value(f"ratios_baseline[{shape}][80%]") == 8.0


@pytest.mark.parametrize(
    ("machine", "reason"),
    [
        (Stub(spread=0.2), r"too noisy: at 0\.\d the ratio spreads by ±20% \(at most ±10% is taken\)"),
        (
            Stub(blocks=2),
            "too noisy: other programs took 0% of the cores, and 2 of the blocks of timing were undisturbed",
        ),
    ],
)
def test_a_noisy_machine_says_so_and_writes_nothing(book: Path, machine: Stub, reason: str) -> None:
    before = book.read_bytes()
    (done,) = calibrate_book(book, measure=machine)
    assert done.written == 0
    reasons = [row.reason for row in done.rows if row.measured]
    assert reasons
    assert all(re.fullmatch(reason, found) for found in reasons)
    assert book.read_bytes() == before


def test_only_the_levels_asked_for_change(book: Path) -> None:
    before = {row.shape: row.ratios for row in open_book(book).ratio_table().rows}
    calibrate_book(book, levels=[0.8], measure=Stub())
    for row in open_book(book).ratio_table().rows:
        assert row.ratios == {**before[row.shape], 0.8: 8.0 if row.label in shapes_of(book) else row.ratios[0.8]}


def test_a_level_that_is_no_column(book: Path) -> None:
    with pytest.raises(BookError, match=r"no column for 0\.6 \(it has 0\.9, 0\.8, 0\.7\)"):
        calibrate_book(book, levels=[0.6], measure=Stub())


def test_another_output_leaves_the_book_as_it_was(book: Path, tmp_path: Path) -> None:
    before = book.read_bytes()
    calibrate_book(book, tmp_path / "other.xlsx", measure=Stub())
    assert book.read_bytes() == before
    assert open_book(tmp_path / "other.xlsx").ratio_table().rows[0].ratios[0.9] == 9.0


def test_int8_operators_are_measured_with_the_int8_kernel(tmp_path: Path) -> None:
    path = tmp_path / "int8.xlsx"
    write_book([profile_model("bert_mini_int8", iterations=1, warmup=0, sessions=1)], path)
    machine = Stub()
    calibrate_book(path, measure=machine)
    assert machine.dtypes[256, 1024] == "int8"


def test_other_element_types_are_not_given_ratios_of_these(book: Path) -> None:
    shape = next(iter(shapes_of(book)))
    edits: dict[str, str | int | float] = {
        f"ops_baseline[{o.name}][input dtype]": "fp16;fp16"
        for o in read_plan(open_book(book)).operators
        if o.label == shape
    }
    recompute(book, edits=edits)
    (done,) = calibrate_book(book, measure=Stub())
    row = next(row for row in done.rows if row.label == shape)
    assert not row.written
    assert row.reason == "its operators take fp16 by fp16; the kernels do fp32, and u8 by s8"


def test_a_shape_is_measured_where_most_of_its_time_goes(book: Path) -> None:
    layers = [o for o in read_plan(open_book(book)).operators if o.supported]
    shape = next(o.label for o in layers if sum(p.label == o.label for p in layers) > 1)
    first, second, *_ = (o for o in layers if o.label == shape)
    edits: dict[str, str | int | float] = {
        f"ops_baseline[{first.name}][input shape]": f"3x{first.shape[1]};{shape}",
        f"ops_baseline[{first.name}][operator latency (ms)]": 1000.0,
    }
    recompute(book, edits=edits)
    machine = Stub()
    (done,) = calibrate_book(book, measure=machine)
    assert machine.asked[0][0][first.shape] == 3  # type: ignore[index]
    row = next(row for row in done.rows if row.label == shape)
    assert row.note.startswith("measured as fp32 at M=3, where ")
    assert row.note.endswith(f"it also runs as fp32 at M={second.tokens}")


def test_without_numba_the_extra_is_named(book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"needs the library numba.*pip install 'workbench\[calibration\]'"):
        calibrate_book(book, measure=Stub())


def test_more_threads_than_there_are_cores(book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "usable_cores", lambda: ())
    with pytest.raises(WorkbenchError, match="is of 1 threads, and this process may use 0 cores"):
        calibrate_book(book, measure=Stub())


def test_the_command(book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        calibration.calibrate_book,
        "__kwdefaults__",
        {**(calibration.calibrate_book.__kwdefaults__ or {}), "measure": Stub()},
    )
    result = CliRunner().invoke(app, [str(book), "--json"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)["profiles"][0]
    row = next(s for s in document["shapes"] if s["written"])
    assert row["levels"]["0.9"]["ratio"] == 9.0
    assert row["levels"]["0.9"]["spread"] == pytest.approx(0.02)
    shown = CliRunner().invoke(app, [str(book)])
    assert "9.00x" in shown.output
    assert "estimated speed-up" in shown.output


def test_the_command_refuses_levels_that_are_no_shares(book: Path) -> None:
    result = CliRunner().invoke(app, [str(book), "--levels", ".9,12"])
    assert isinstance(result.exception, WorkbenchError)
    assert "'12' is no share of zeros" in str(result.exception)


def test_a_second_calibration_comes_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = CalibrationCache(tmp_path)
    calls: list[object] = []

    def fake(key: object, levels: Sequence[float], budget: float) -> tuple[dict[float, MeasuredLevel], float]:
        calls.append(key)
        return {level: measured_level(5.0) for level in levels}, 0.0

    monkeypatch.setattr(measure, "_measure", fake)
    first = measure.calibrate_shapes([(8, 16)], tokens=32, cache=cache)
    second = measure.calibrate_shapes([(8, 16)], tokens=32, cache=CalibrationCache(tmp_path))
    assert (first.shapes[0].from_cache, second.shapes[0].from_cache) == (False, True)
    assert second.shapes[0].levels == first.shapes[0].levels
    assert second.table == first.table
    measure.calibrate_shapes([(8, 16)], tokens=33, cache=cache)
    measure.calibrate_shapes([(8, 16)], levels=[0.5], tokens=32, cache=cache)
    measure.calibrate_shapes([(8, 16)], tokens=32, threads=2, cache=cache)
    assert len(calls) == 4


def test_noisy_measurements_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = CalibrationCache(tmp_path)
    monkeypatch.setattr(measure, "_measure", lambda *_: ({0.9: measured_level(5.0, spread=0.3)}, 0.5))
    found = measure.calibrate_shapes([(8, 16)], [0.9], 32, cache=cache)
    assert found.shapes[0].noisy
    assert "TOO NOISY" in found.table.rows[0].source
    assert not cache.path.exists()


def test_shapes_without_4x1_blocks_are_skipped_with_a_reason() -> None:
    found = measure.calibrate_shapes([(6, 16), (8, 3, 3, 3)], tokens=32)
    assert found.skipped == {(6, 16): "6 output channels are not divisible by 4", (8, 3, 3, 3): "rank 4, not a matrix"}


def test_an_int8_shape_says_so_in_its_source_or_why_not() -> None:
    found = measure.calibrate_shapes([(64, 64)], [0.9], 64, dtypes={(64, 64): "int8"}, budget_s=0.2)
    if int8_unavailable():
        assert found.skipped == {(64, 64): int8_unavailable()}
    else:
        assert "int8, M=64" in found.table.rows[0].source


def test_a_cpu_without_vnni_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.calibration.codegen_int8.has_vnni", lambda: False)
    found = measure.calibrate_shapes([(64, 64)], [0.9], 64, dtypes={(64, 64): "int8"}, budget_s=0.2)
    assert found.skipped == {(64, 64): "the int8 kernel needs AVX-512 VNNI, which this CPU does not have"}
    assert not found.shapes


@pytest.mark.parametrize("layout", ["row", "feature"])
def test_really_measuring_gives_times_that_fit_their_ratio(layout: measure.Layout) -> None:
    found = measure.calibrate_shapes([(64, 64)], [0.9, 0.5], 64, 1, layout=layout, budget_s=0.2)
    (shape,) = found.shapes
    assert set(shape.levels) == {0.9, 0.5}
    for level in shape.levels.values():
        if level.blocks:
            assert level.dense_ms > 0
            assert level.low <= level.ratio <= level.high
    assert found.table.rows[0].source.startswith("measured here: ")
