"""Data that doesn't fit the model: one clear sentence each, before anything long is run."""

from __future__ import annotations

from pathlib import Path

import loss_models
import numpy as np
import pytest

from workbench.errors import WorkbenchError
from workbench.loss import loss_profile

GOOD = np.random.default_rng(0).standard_normal((4, 16)).astype(np.float32)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    return loss_models.saved(loss_models.branches({"w1": 1.0}), tmp_path)


def sentence(model: Path, data: object, **options: object) -> str:
    with pytest.raises(WorkbenchError) as caught:
        loss_profile(model, data=data, **options)  # type: ignore[arg-type]
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"z": GOOD}, "no array for the input 'x'"),
        ({"x": GOOD, "z": GOOD}, "'z' is no input of the model"),
        ({"x": GOOD.astype(np.float64)}, "input 'x' is float64, and the model takes float32"),
        ({"x": GOOD[:, :5]}, "input 'x' has shape 4x5, and the model takes batchx16"),
        ({"x": np.where(GOOD > 1, np.nan, GOOD).astype(np.float32)}, "input 'x' holds NaN or infinite values"),
        ({"x": GOOD[:0]}, "input 'x' has no sample"),
        ({"x": GOOD, "labels": np.zeros(3, int)}, "there are 3 labels for 4 samples"),
    ],
)
def test_arrays_that_do_not_fit(model: Path, arrays: dict[str, np.ndarray], said: str) -> None:
    assert said in sentence(model, arrays)


def test_every_batch_is_checked(model: Path) -> None:
    wrong = GOOD.copy()
    wrong[3, 3] = np.inf
    assert "data, item 2: input 'x' holds NaN" in sentence(model, [{"x": GOOD}, {"x": wrong}])


def test_files(model: Path, tmp_path: Path) -> None:
    assert "missing.npz: no such file" in sentence(model, tmp_path / "missing.npz")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "no .npz file in this folder" in sentence(model, empty)
    text = tmp_path / "text.npz"
    text.write_text("hello")
    assert "no readable .npz file" in sentence(model, text)
    single = tmp_path / "single.npz"
    with single.open("wb") as file:
        np.save(file, GOOD)
    assert "no readable .npz file" in sentence(model, single)
    pickled = tmp_path / "pickled.npz"
    np.savez(pickled, x=np.array([{}], dtype=object))
    assert "no readable .npz file" in sentence(model, pickled)
    assert "there is no data" in sentence(model, [])


def test_a_folder_is_read_file_by_file(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    np.savez(folder / "a.npz", x=GOOD[:3])
    np.savez(folder / "b.npz", x=GOOD[3:])
    profile = loss_profile(model, data=folder, levels=[0.5])
    whole = loss_profile(model, data={"x": GOOD}, levels=[0.5])
    assert profile.samples == 4
    assert profile.layers[1].sensitivity == pytest.approx(whole.layers[1].sensitivity, rel=1e-4)
    np.savez(folder / "c.npz", y=GOOD)
    assert "c.npz: no array for the input 'x'" in sentence(model, folder)


def test_a_batch_that_the_model_fixes(tmp_path: Path) -> None:
    weights = {name: np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32) for name in ("w1", "w2")}
    path = loss_models.saved(loss_models.chain(weights, batch=2), tmp_path)
    assert loss_profile(path, data={"x": GOOD[:, :8]}, levels=[0.5]).samples == 4
    assert "3 samples don't divide into batches of 2" in sentence(path, {"x": GOOD[:3, :8]})


def test_labels(model: Path) -> None:
    assert "needs the expected classes" in sentence(model, {"x": GOOD}, metric="cross-entropy")
    labels = np.array([0, 1, 2, 16])
    assert "a label is 16, and the output 'y' has 16 classes" in sentence(
        model, {"x": GOOD, "labels": labels}, metric="cross-entropy"
    )
    assert "class numbers" in sentence(model, {"x": GOOD, "labels": np.ones(4)}, metric="cross-entropy")


def test_metrics(model: Path) -> None:
    assert "there is no metric 'f1'" in sentence(model, {"x": GOOD}, metric="f1")
    assert "the metric returned str" in sentence(model, {"x": GOOD}, metric=lambda d, p, y: "low")
    assert "the loss is nan" in sentence(model, {"x": GOOD}, metric=lambda d, p, y: float("nan"))


def test_dense_outputs_that_are_no_numbers(model: Path) -> None:
    huge = np.full((2, 16), 3e38, dtype=np.float32)
    assert "the dense model's output 'y' holds NaN or infinite values" in sentence(model, {"x": huge})


def test_inputs_that_do_not_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    path = loss_models.saved(loss_models.two_inputs(), tmp_path)
    cube = np.random.default_rng(0).standard_normal((4, 3, 8)).astype(np.float32)
    assert loss_profile(path, data={"x": cube, "z": cube}, levels=[0.5]).samples == 4
    assert "input 'x' has 4 samples and 'z' has 3" in sentence(path, {"x": cube, "z": cube[:3]})
    assert "'sequence' is 3 in one input and 2 in 'z'" in sentence(path, {"x": cube, "z": cube[:, :2]})
    assert "no array for the input 'z'" in sentence(path, {"x": cube})
