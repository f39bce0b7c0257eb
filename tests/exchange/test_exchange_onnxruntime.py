"""ONNX Runtime's own profile of a model, imported, against profiling the model ourselves."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from workbench.errors import FormatError
from workbench.exchange import read_any
from workbench.profile import OperatorRecord
from workbench.profiling import measure_model, resolve_model

MEASURED = {"latency_ms", "latency_spread", "latency_min_ms", "index", "provenance"}
FACTS = [f.name for f in fields(OperatorRecord) if f.name not in MEASURED]


def runtime_profile(model: str, folder: Path, runs: int = 4, level: str = "ORT_ENABLE_ALL") -> Path:
    """What a user of the runtime gets: a session with profiling on, fed with made-up inputs, then ended."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.enable_profiling = True
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    options.profile_file_prefix = str(folder / "ort")
    session = ort.InferenceSession(str(resolve_model(model)), options, providers=["CPUExecutionProvider"])
    types = {"tensor(int64)": np.int64, "tensor(float)": np.float32}
    sizes = {"batch": 1, "sequence": 128}
    feeds = {
        i.name: np.ones([sizes.get(d, 1) if isinstance(d, str) else d for d in i.shape], types[i.type])
        for i in session.get_inputs()
    }
    for _ in range(runs):
        session.run(None, feeds)
    return Path(session.end_profiling())


@pytest.mark.parametrize("model", ["bert_mini", "resnet_small"])
def test_the_operators_are_those_that_profiling_here_gives(tmp_path: Path, model: str):
    imported = read_any(runtime_profile(model, tmp_path), model).profile
    ours = measure_model(model, iterations=1, sessions=1, warmup=0, budget_s=1).profile
    by_name = {op.name: op for op in imported.operators}
    assert set(by_name) == {op.name for op in ours.operators}
    for op in ours.operators:
        differing = [f for f in FACTS if getattr(by_name[op.name], f) != getattr(op, f)]
        assert not differing, (op.name, differing)
    assert imported.model == ours.model
    assert imported.batch == ours.batch
    assert (imported.iterations, imported.warmup) == (3, 1)


def test_without_the_model_weights_are_unknown_and_said_to_be(tmp_path: Path):
    read = read_any(runtime_profile("resnet_small", tmp_path))
    assert read.profile.operators
    assert all(op.weight is None and not op.sparse_support for op in read.profile.operators)
    assert any("--model" in note for note in read.notes)
    assert read.profile.runtime == "onnxruntime, CPUExecutionProvider"


def test_operators_on_a_gpu_are_noted(tmp_path: Path):
    path = runtime_profile("resnet_small", tmp_path)
    path.write_text(path.read_text().replace("CPUExecutionProvider", "CUDAExecutionProvider"))
    assert any("ran on CUDAExecutionProvider" in note for note in read_any(path).notes)


@pytest.mark.parametrize("level", ["ORT_ENABLE_BASIC", "ORT_DISABLE_ALL"])
def test_a_session_of_another_optimization_level_is_joined_too(tmp_path: Path, level: str):
    read = read_any(runtime_profile("resnet_small", tmp_path, level=level), "resnet_small")
    full = read_any(runtime_profile("resnet_small", tmp_path), "resnet_small")
    weights = [{op.weight.name for op in r.profile.operators if op.weight} for r in (read, full)]
    assert weights[0] == weights[1] != set()
    assert len(read.profile.operators) > len(full.profile.operators)


def test_a_trace_of_another_model_is_refused(tmp_path: Path):
    with pytest.raises(FormatError, match=r"operators .* are in decoder_block.onnx; it is a profile of another model"):
        read_any(runtime_profile("resnet_small", tmp_path), "decoder_block")


def test_a_killed_runs_profile_is_one_sentence(tmp_path: Path):
    path = runtime_profile("resnet_small", tmp_path)
    path.write_text(path.read_text()[:-200])
    with pytest.raises(FormatError, match=r"the JSON is cut short at line \d+, column \d+"):
        read_any(path)


def test_openvinos_counters_of_bert_mini_have_the_weights_of_our_profile(tmp_path: Path):
    """Data: `benchmark_app -m bert_mini.onnx -shape [1,128] -nireq 1 -api sync -report_type detailed_counters`,
    as OpenVINO 2026.4 wrote it on a machine with AVX-512 and bf16.
    """
    read = read_any(Path(__file__).parent / "data" / "openvino_bert_mini.csv", "bert_mini")
    ours = measure_model("bert_mini", iterations=1, sessions=1, warmup=0, budget_s=1).profile

    def products(profile):
        return sorted((op.layer_id, op.weight, op.sparse_support) for op in profile.operators if op.weight)

    assert [p[0] for p in products(read.profile)] == [p[0] for p in products(ours)]
    assert products(read.profile) == products(ours)
    assert any("6 of 75 operators are not in bert_mini.onnx by name" in note for note in read.notes)
    elsewhere = [op for op in read.profile.operators if op.support_reason == "not found in the model"]
    assert sorted(op.operator_type for op in elsewhere) == ["Convert"] * 3 + ["Reorder"] * 3


def test_our_csv_and_trace_with_the_model_have_its_weights_again(tmp_path: Path):
    from workbench.exchange.neural_engine import write_profile_csv, write_trace

    measured = measure_model("bert_mini", iterations=2, sessions=1, warmup=0, budget_s=1)
    paths = (
        write_profile_csv(measured.profile, tmp_path),
        write_trace(measured.profile, measured.runs, tmp_path),
    )
    for path in paths:
        back = read_any(path, "bert_mini").profile
        assert back.model == measured.profile.model
        for op, ours in zip(back.operators, measured.profile.operators, strict=True):
            assert (op.name, op.weight and op.weight.name) == (ours.name, ours.weight and ours.weight.name)
            assert (op.weight and op.weight.zero_block_ratio) == (ours.weight and ours.weight.zero_block_ratio)
            if ours.weight:
                assert op.layer_id == ours.layer_id
        with pytest.raises(FormatError, match="it is a profile of another model"):
            read_any(path, "resnet_small")
