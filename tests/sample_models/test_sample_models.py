"""The sample models come out the same everywhere and are what the README says they are."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path
from types import ModuleType

import onnx
import pytest

from workbench.errors import ModelError
from workbench.profiling import SAMPLES, resolve_model, sample_model
from workbench.profiling.weights import find_products
from workbench.resources import sample_models_folder


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sample_builder", sample_models_folder() / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", SAMPLES)
def test_building_gives_the_bytes_of_the_stated_hash(builder: ModuleType, name: str) -> None:
    assert hashlib.sha256(builder.build(name)).hexdigest() == builder.expected_sums()[name]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_shipped_file_has_the_stated_hash(builder: ModuleType, name: str) -> None:
    shipped = sample_models_folder() / f"{name}.onnx"
    if shipped.exists():
        assert hashlib.sha256(shipped.read_bytes()).hexdigest() == builder.expected_sums()[name]
    else:
        assert name in ("bert_mini", "bert_mini_int8")


def test_a_model_that_is_not_shipped_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path))
    monkeypatch.setattr("workbench.profiling.samples.sample_models_folder", lambda: _without_models(tmp_path))
    first = sample_model("resnet_small")
    assert first.is_relative_to(tmp_path)
    stamp = first.stat().st_mtime_ns
    assert sample_model("resnet_small") == first
    assert first.stat().st_mtime_ns == stamp


def _without_models(tmp_path: Path) -> Path:
    folder = tmp_path / "shipped"
    folder.mkdir(exist_ok=True)
    for name in ("build.py", "SHA256SUMS"):
        (folder / name).write_bytes((sample_models_folder() / name).read_bytes())
    return folder


def test_names_and_would_be_paths_mean_the_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    expected = sample_model("resnet_small")
    assert resolve_model("resnet_small") == expected
    assert resolve_model("sample_models/resnet_small.onnx") == expected
    assert resolve_model("elsewhere/resnet_small.onnx") == Path("elsewhere/resnet_small.onnx")
    assert resolve_model("other.onnx") == Path("other.onnx")
    with pytest.raises(ModelError, match="no sample model"):
        sample_model("absent")


@pytest.mark.byhand
def test_bert_mini_is_bert_mini() -> None:
    # 4 layers of 4 products 256 x 256, one 1024 x 256 and one 256 x 1024; pooler and classifier.
    shapes = [p.shape for p in find_products(onnx.load(sample_model("bert_mini")))]
    assert shapes.count((256, 256)) == 4 * 4 + 1
    assert shapes.count((1024, 256)) == shapes.count((256, 1024)) == 4
    assert shapes.count((2, 256)) == 1
    assert len(shapes) == 26


def test_the_committed_models_are_small() -> None:
    shipped = [p for p in sample_models_folder().glob("*.onnx") if p.stem not in ("bert_mini", "bert_mini_int8")]
    assert sum(p.stat().st_size for p in shipped) < 4_000_000


def test_a_cached_model_that_something_changed_is_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = sample_model("bert_mini")
    assert path.is_relative_to(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert sample_model("bert_mini").read_bytes() == whole
