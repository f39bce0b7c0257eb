"""A workbook's targets and the pruned model agree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from workbench.book import open_book, write_book
from workbench.book.plan import read_plan
from workbench.book.pruning import prune_as_planned
from workbench.cli.prune import app
from workbench.errors import BookError, ModelError
from workbench.profiling import profile_model
from workbench.profiling.samples import sample_model
from workbench.recalc import recompute


@pytest.fixture(scope="module")
def model() -> Path:
    return sample_model("decoder_block")


@pytest.fixture
def book(model: Path, tmp_path: Path) -> Path:
    path = tmp_path / "book.xlsx"
    write_book([profile_model(model, measure=False)], path)
    return path


def edited(book: Path, targets: dict[int, float | None]) -> Path:
    """`book` with other targets for the supported operators, by their number among these."""
    layers = [o for o in read_plan(open_book(book)).operators if o.supported]
    edits = {f"ops_baseline[{layers[n].name}][aim to weight sparse ratio]": value for n, value in targets.items()}
    recompute(book, edits=edits)
    return book


def test_a_new_profile_of_the_pruned_model_has_the_targets_as_its_zero_ratios(
    model: Path, book: Path, tmp_path: Path
) -> None:
    edited(book, {0: 0.8, 1: 0.7, 2: None, 3: 0.33})
    prune_as_planned(model, book, tmp_path / "pruned.onnx")
    planned = {o.layer_id: o for o in read_plan(open_book(book)).operators if o.supported}
    again = profile_model(tmp_path / "pruned.onnx", measure=False)
    found = {o.layer_id: o.weight for o in again.operators if o.layer_id in planned}
    assert len(found) == len(planned) > 3
    assert {round(o.target, 2) for o in planned.values()} >= {0.0, 0.33, 0.7, 0.8, 0.9}
    for layer, operator in planned.items():
        weight = found[layer]
        assert weight is not None
        blocks = operator.shape[0] * operator.shape[1] / 4
        assert weight.zero_block_ratio == pytest.approx(operator.target, abs=0.51 / blocks)
        assert weight.zero_ratio == pytest.approx(operator.target, abs=0.51 / blocks)


def test_the_dashboards_one_target_counts_for_all(model: Path, book: Path, tmp_path: Path) -> None:
    recompute(book, edits={"default_target_baseline": 0.75})
    done = prune_as_planned(model, book, tmp_path / "pruned.onnx")
    assert {layer.target for layer in done.layers} == {0.75}


def test_an_operator_set_to_unsupported_stays_dense(model: Path, book: Path, tmp_path: Path) -> None:
    first = next(o for o in read_plan(open_book(book)).operators if o.supported)
    recompute(book, edits={f"ops_baseline[{first.name}][sparse support]": False})
    done = prune_as_planned(model, book, tmp_path / "pruned.onnx")
    assert first.layer_id not in {layer.layer_id for layer in done.layers}


def test_a_book_without_targets_is_refused(model: Path, book: Path, tmp_path: Path) -> None:
    edited(book, dict.fromkeys(range(sum(o.supported for o in read_plan(open_book(book)).operators))))
    with pytest.raises(BookError, match="no target on a supported operator"):
        prune_as_planned(model, book, tmp_path / "pruned.onnx")


def test_a_book_of_another_model_is_refused(book: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="use the workbook that was made from this model"):
        prune_as_planned("resnet_small", book, tmp_path / "pruned.onnx")


def test_another_file_with_the_same_layers_is_pruned_with_a_note(model: Path, book: Path, tmp_path: Path) -> None:
    prune_as_planned(model, book, tmp_path / "once.onnx")
    done = prune_as_planned(tmp_path / "once.onnx", book, tmp_path / "twice.onnx")
    assert done.notes == (
        "the profile was made from another model file (decoder_block.onnx); layers were matched by name",
    )
    assert (tmp_path / "once.onnx").read_bytes() == (tmp_path / "twice.onnx").read_bytes()


def test_the_command_lists_what_it_did(model: Path, book: Path, tmp_path: Path) -> None:
    output = tmp_path / "pruned.onnx"
    result = CliRunner().invoke(app, [str(model), "--plan", str(book), "-o", str(output), "--json"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["model"] == str(output)
    assert output.exists()
    assert all(abs(layer["zero_blocks"] - 0.9) < 1e-3 for layer in document["layers"])
    shown = CliRunner().invoke(app, [str(model), "--plan", str(book), "-o", str(output)])
    assert f"wrote {output}" in shown.output.replace("\n", "")
