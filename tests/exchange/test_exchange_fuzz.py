"""Damaged files: whatever was done to one, importing it works or is one sentence, never a traceback."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from exchange_models import small_model
from hypothesis import given, settings
from hypothesis import strategies as st
from test_exchange_importers import SAMPLES
from test_exchange_neural_engine_reading import NEWER, OLDER, engine_trace

from workbench.errors import WorkbenchError
from workbench.exchange import read_any

pytestmark = pytest.mark.property

FILES = {**SAMPLES, "newer": NEWER, "older": OLDER, "engine trace": json.dumps(engine_trace((9, 9), (4, 5), (4, 6)))}
_ODD = (None, -1, 1e300, float("nan"), float("inf"), "", "x", "0,5", [], {}, [[]], True, "=1+1", 10**30)


def damaged(text: str, seed: int) -> str:
    """`text` with one to three changes: cut, characters replaced, or a JSON value replaced."""
    rng = random.Random(seed)
    for _ in range(rng.randint(1, 3)):
        kind = rng.randrange(4)
        place = rng.randrange(len(text) or 1)
        if kind == 0:
            text = text[:place]
        elif kind == 1:
            text = text[:place] + rng.choice(',;."\n\r=-%x0\0\ufeff') + text[place + rng.randrange(3) :]
        elif kind == 2:
            text = text[:place] + text[place + rng.randrange(1, 40) :]
        elif text[:1] in ("[", "{"):
            try:
                document = json.loads(text)
            except ValueError:
                continue
            _replace_somewhere(document, rng)
            text = json.dumps(document)
    return text


def _replace_somewhere(node: object, rng: random.Random) -> None:
    keys = list(node) if isinstance(node, dict) else list(range(len(node))) if isinstance(node, list) else []
    if not keys:
        return
    key = rng.choice(keys)
    inner = node[key]  # type: ignore[index]
    if isinstance(inner, dict | list) and inner and rng.random() < 0.8:
        _replace_somewhere(inner, rng)
    elif rng.random() < 0.2:
        del node[key]  # type: ignore[attr-defined]
    else:
        node[key] = rng.choice(_ODD)  # type: ignore[index]


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_damaged_file_is_read_or_refused_in_a_sentence(tmp_path_factory, name: str, seed: int):
    folder = tmp_path_factory.getbasetemp()
    path = folder / "damaged"
    path.write_text(damaged(FILES[name], seed), encoding="utf-8", newline="")
    model = folder / "small.onnx"
    try:
        found = read_any(path, (model if model.exists() else small_model(folder)) if seed % 2 else None)
    except WorkbenchError as error:
        assert "\n" not in str(error)
        assert "damaged" in str(error)
        return
    for op in found.profile.operators if found.profile else ():
        assert 0 <= op.latency_ms < float("inf")
        assert op.weight is None or all(d >= 0 for d in op.weight.shape)
    for row in found.ratios.rows if found.ratios else ():
        assert all(0 < ratio < float("inf") for ratio in row.ratios.values())


def test_bytes_of_no_format(tmp_path: Path):
    for seed in range(200):
        path = tmp_path / "noise"
        path.write_bytes(random.Random(seed).randbytes(seed))
        with pytest.raises(WorkbenchError):
            read_any(path)
