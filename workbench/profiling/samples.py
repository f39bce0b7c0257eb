"""The sample models: shipped where small, else built on first use and kept in a cache."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from functools import cache
from pathlib import Path
from typing import Any

from workbench.errors import ModelError
from workbench.files import replacing
from workbench.resources import sample_models_folder

SAMPLES: tuple[str, ...] = ("bert_mini", "bert_mini_int8", "resnet_small", "decoder_block")


def cache_folder() -> Path:
    """Where built models and calibrations are kept: $WORKBENCH_CACHE, else the user's cache folder."""
    named = os.environ.get("WORKBENCH_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "workbench"


def resolve_model(model: str | Path) -> Path:
    """The file that `model` means: a path, or a sample model by name or by its would-be path."""
    path = Path(model)
    if path.exists() or path.stem not in SAMPLES or path.suffix not in ("", ".onnx"):
        return path
    if path.parent != Path() and path.parent.name != "sample_models":
        return path
    return sample_model(path.stem)


def sample_model(name: str) -> Path:
    """The file of a sample model, built where it isn't there yet or something changed it; its hash is checked."""
    if name not in SAMPLES:
        raise ModelError(f"no sample model {name!r}", remedy=f"there are: {', '.join(SAMPLES)}")
    shipped: Path = sample_models_folder() / f"{name}.onnx"
    if shipped.exists():
        return shipped
    digest = str(_builder().expected_sums()[name])
    built: Path = cache_folder() / "models" / digest[:12] / f"{name}.onnx"
    if not built.exists() or hashlib.sha256(built.read_bytes()).hexdigest() != digest:
        data: bytes = _builder().build(name)
        if hashlib.sha256(data).hexdigest() != digest:
            raise ModelError(
                f"the sample model {name} came out different from the one its hash is of",
                where=sample_models_folder() / "SHA256SUMS",
                remedy="report it with the versions of numpy and onnx",
            )
        built.parent.mkdir(parents=True, exist_ok=True)
        with replacing(built) as temporary:
            temporary.write_bytes(data)
    return built


@cache
def _builder() -> Any:
    spec = importlib.util.spec_from_file_location("workbench_sample_models", sample_models_folder() / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
