"""Losses measured one shot: the same as those of pruned model files, resumable, for every kind of weight."""

from __future__ import annotations

import math
from pathlib import Path

import loss_models
import numpy as np
import onnx
import onnxruntime as ort
import pytest

from workbench.errors import ModelError
from workbench.loss import loss_profile
from workbench.loss.layers import folded
from workbench.loss.metrics import kl_divergence
from workbench.loss.patterns import Pattern, group_scores, removed_groups
from workbench.loss.rows import ranked
from workbench.profiling.loading import load_model
from workbench.profiling.weights import find_products

LEVELS = (0.25, 0.5, 0.75, 0.95)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))


def data_for(path: Path, samples: int = 6) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    item = onnx.load(path, load_external_data=False).graph.input[0]
    dims = [samples, *(d.dim_value or 5 for d in item.type.tensor_type.shape.dim[1:])]
    if item.type.tensor_type.elem_type == onnx.TensorProto.INT64:
        return {item.name: rng.integers(0, 20, dims)}
    return {item.name: rng.standard_normal(dims).astype(np.float32)}


def outputs(path: Path, feeds: dict[str, np.ndarray]) -> np.ndarray:
    options = ort.SessionOptions()
    # Above this, the runtime turns a constant int8 weight into MatMulNBits, which rounds activations to int8.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return np.asarray(ort.InferenceSession(path, options).run(["y"], feeds)[0])


def pruned_file(path: Path, weight: str, level: float, pattern: Pattern) -> Path:
    """The model with one weight pruned in the file: an independent way, through `Product.zero_out`."""
    loaded = load_model(path)
    product = next(p for p in find_products(loaded.proto, path.parent) if p.weight_name == weight)
    values = product.read(loaded.proto, path.parent)
    scores = group_scores(folded(values), pattern)
    count = int(removed_groups([level], scores.size, pattern)[0])
    gone = np.zeros(scores.size, dtype=bool)
    gone[np.argsort(scores, axis=None, kind="stable")[:count]] = True
    mask = np.repeat(gone.reshape(scores.shape), pattern.rows, axis=0).reshape(values.shape)
    product.zero_out(loaded.proto, path.parent, mask)
    out = path.with_name("pruned.onnx")
    onnx.save(loaded.proto, out)
    return out


MODELS = {
    "float": lambda: loss_models.branches({"w1": 1.0, "w2": 0.1}),
    "int8": loss_models.int8_linear,
    "fp16": loss_models.half_linear,
    "shared": loss_models.shared_weight,
    "convolution": loss_models.convolutions,
}


@pytest.mark.parametrize("pattern", list(Pattern))
@pytest.mark.parametrize("kind", MODELS)
def test_a_loss_is_that_of_the_pruned_model_file(tmp_path: Path, kind: str, pattern: Pattern) -> None:
    path = loss_models.saved(MODELS[kind](), tmp_path)
    feeds = data_for(path)
    profile = loss_profile(
        path,
        data=feeds,
        metric="mse",
        pattern=pattern,
        levels=LEVELS,
        batch=6,
        include_first=True,
        include_grouped=True,
    )
    dense = outputs(path, feeds).astype(np.float64)
    for row in profile.layers:
        assert not row.skipped
        assert row.sensitivity[0.0] == 0.0
        for level in LEVELS:
            pruned = outputs(pruned_file(path, row.weight_name, level, pattern), feeds)
            assert row.sensitivity[level] == pytest.approx(float(np.mean((pruned - dense) ** 2)), rel=1e-3, abs=1e-9)


def test_external_data(tmp_path: Path) -> None:
    inside = loss_models.saved(loss_models.branches({"w1": 1.0, "w2": 0.1}), tmp_path)
    outside = tmp_path / "outside.onnx"
    onnx.save(onnx.load(inside), outside, save_as_external_data=True, location="w.bin", size_threshold=0)
    feeds = data_for(inside)
    rows = [loss_profile(path, data=feeds, levels=LEVELS).layers for path in (inside, outside)]
    assert [row.sensitivity for row in rows[0]] == [pytest.approx(row.sensitivity) for row in rows[1]]


def test_planted_layers_rank_first_and_last(tmp_path: Path) -> None:
    scales = {"a": 1.0, "fragile": 8.0, "b": 1.2, "harmless": 0.001, "c": 0.9}
    path = loss_models.saved(loss_models.branches(scales), tmp_path)
    for metric in ("mse", "kl"):
        profile = loss_profile(path, data=data_for(path, 32), metric=metric, levels=LEVELS)
        order = [row.weight_name for row in ranked(profile)]
        assert (order[0], order[-1]) == ("fragile", "harmless")
    assert "rank correlation" in profile.settings["agreement with magnitudes"]


def test_the_number_of_samples_at_once_changes_nothing(tmp_path: Path) -> None:
    path = loss_models.saved(loss_models.branches({"w1": 1.0}), tmp_path)
    feeds = data_for(path, 7)
    found = [loss_profile(path, data=feeds, batch=n, levels=LEVELS).layers[1].sensitivity for n in (1, 3, 7)]
    assert found[0] == pytest.approx(found[1], rel=1e-4)
    assert found[0] == pytest.approx(found[2], rel=1e-4)


def test_batches_beyond_the_memory_limit_go_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = loss_models.saved(loss_models.branches({"w1": 1.0}), tmp_path)
    feeds = data_for(path, 9)
    expected = loss_profile(path, data=feeds, batch=2, levels=LEVELS, resume=False).layers[1].sensitivity
    monkeypatch.setattr("workbench.loss.analysis.MEMORY_BYTES", 100)
    assert loss_profile(path, data=feeds, batch=2, levels=LEVELS, resume=False).layers[1].sensitivity == expected


def test_an_interrupted_measurement_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = loss_models.saved(loss_models.branches({"w1": 1.0, "w2": 0.5, "w3": 2.0}), tmp_path)
    feeds = data_for(path)
    calls: list[float] = []

    def counting(stop: int | None):  # type: ignore[no-untyped-def]
        def progress(stage: str, done: float) -> None:
            if "layer" in stage:
                calls.append(done)
                if stop is not None and len(calls) >= stop:
                    raise KeyboardInterrupt

        return progress

    expected = loss_profile(path, data=feeds, levels=LEVELS, resume=False).layers
    with pytest.raises(KeyboardInterrupt):
        loss_profile(path, data=feeds, levels=LEVELS, progress=counting(5))
    assert list((tmp_path / "cache" / "loss").iterdir())
    calls.clear()
    profile = loss_profile(path, data=feeds, levels=LEVELS, progress=counting(None))
    assert len(calls) == 4 * 4 - 5
    assert calls[0] == pytest.approx(6 / 16)
    assert calls[-1] == 1.0
    assert [row.sensitivity for row in profile.layers] == [row.sensitivity for row in expected]
    assert not list((tmp_path / "cache" / "loss").iterdir())


def test_other_data_or_settings_do_not_use_what_was_kept(tmp_path: Path) -> None:
    path = loss_models.saved(loss_models.branches({"w1": 1.0, "w2": 0.5}), tmp_path)

    def stop(stage: str, done: float) -> None:
        if "layer" in stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        loss_profile(path, data=data_for(path), levels=LEVELS, progress=stop)
    other = {name: array + 1 for name, array in data_for(path).items()}
    for options in ({"data": other}, {"data": data_for(path), "metric": "mse"}):
        seen: list[str] = []
        loss_profile(path, levels=LEVELS, progress=lambda stage, done, to=seen: to.append(stage), **options)  # type: ignore[arg-type, misc]
        assert len([stage for stage in seen if stage.startswith("layer")]) == 12


def test_the_weights_are_dense_again_for_the_next_layer(tmp_path: Path) -> None:
    path = loss_models.saved(loss_models.branches({"w1": 1.0, "w2": 0.5}), tmp_path)
    both = loss_profile(path, data=data_for(path), levels=LEVELS)
    alone = loss_profile(path, data=data_for(path), levels=LEVELS, layers=["/w2"])
    assert both.layers[2].sensitivity == alone.layers[2].sensitivity


@pytest.mark.byhand
def test_kl_divergence_by_hand() -> None:
    p, q = np.array([[0.5, 0.5]], np.float32), np.array([[0.75, 0.25]], np.float32)
    expected = 0.5 * math.log(0.5 / 0.75) + 0.5 * math.log(0.5 / 0.25)
    assert kl_divergence({"y": p}, {"y": q}) == pytest.approx(expected, rel=1e-6)
    logits = {"y": np.log(p) + 3}
    assert kl_divergence(logits, {"y": np.log(q) - 1}) == pytest.approx(expected, rel=1e-6)
    assert kl_divergence(logits, logits) == 0.0


@pytest.mark.byhand
def test_cross_entropy_is_the_growth_over_the_dense_model(tmp_path: Path) -> None:
    path = loss_models.saved(loss_models.branches({"w1": 1.0}), tmp_path)
    feeds = data_for(path)
    labels = np.array([0, 3, -1, 5, 15, 2])
    profile = loss_profile(path, data=feeds | {"labels": labels}, metric="cross-entropy", levels=[0.5], batch=6)
    kept = labels >= 0

    def entropy(values: np.ndarray) -> float:
        shares = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
        return float(-np.log(shares[kept, labels[kept]]).mean())

    pruned = outputs(pruned_file(path, "w1", 0.5, Pattern.BLOCK_4X1), feeds)
    expected = entropy(pruned.astype(np.float64)) - entropy(outputs(path, feeds).astype(np.float64))
    assert profile.layers[1].sensitivity[0.5] == pytest.approx(expected, rel=1e-3)


def test_a_metric_of_ones_own(tmp_path: Path) -> None:
    path = loss_models.saved(loss_models.branches({"w1": 1.0}), tmp_path)

    def largest(dense, pruned, labels):  # type: ignore[no-untyped-def]
        return np.abs(dense["y"] - pruned["y"]).max()

    feeds = data_for(path)
    profile = loss_profile(path, data=lambda: [feeds], metric=largest, levels=[0.5], batch=6)
    pruned = outputs(pruned_file(path, "w1", 0.5, Pattern.BLOCK_4X1), feeds)
    assert profile.metric == "custom: largest"
    assert profile.layers[1].sensitivity[0.5] == pytest.approx(np.abs(pruned - outputs(path, feeds)).max(), rel=1e-4)


def test_lower_precision_of_the_plain_model_is_said(tmp_path: Path) -> None:
    path = loss_models.saved(loss_models.int8_linear(), tmp_path)
    profile = loss_profile(path, data=data_for(path), levels=[0.5])
    assert "dense control run" in profile.settings
    lossy = "MatMulNBits" in operators_that_run(path, tmp_path)
    assert bool(profile.warnings) == lossy


def operators_that_run(path: Path, folder: Path) -> set[str]:
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    ort.InferenceSession(path, options)
    return {node.op_type for node in onnx.load(folder / "optimized.onnx").graph.node}


def test_nodes_without_names_and_with_the_same_name(tmp_path: Path) -> None:
    model = loss_models.branches({"w1": 1.0, "w2": 0.1, "w3": 0.2})
    named = loss_profile(loss_models.saved(model, tmp_path), data=data_for(tmp_path / "model.onnx"), levels=LEVELS)
    products = [node for node in model.graph.node if node.op_type == "MatMul"]
    for node, name in zip(products, ("", "twin", "twin", ""), strict=True):
        node.name = name
    path = loss_models.saved(model, tmp_path, "unnamed.onnx")
    profile = loss_profile(path, data=data_for(path), levels=LEVELS)
    assert [row.layer_id for row in profile.layers] == ["h0", "twin", "twin", "w3_out"]
    assert [row.sensitivity for row in profile.layers] == [row.sensitivity for row in named.layers]


def test_bfloat16_weights_are_ranked_by_magnitude_but_not_measured(tmp_path: Path) -> None:
    model = loss_models.half_linear()
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT16:
            values = onnx.numpy_helper.to_array(tensor).astype(np.float32)
            made = onnx.helper.make_tensor(
                tensor.name, onnx.TensorProto.BFLOAT16, values.shape, values.ravel().tolist()
            )
            tensor.CopyFrom(made)
    path = loss_models.saved(model, tmp_path)
    assert loss_profile(path).layers[1].sensitivity[0.95] > 0
    with pytest.raises(ModelError, match="bf16 can't be handed to the runtime"):
        loss_profile(path, data=data_for(path), layers=["/second"])


def test_the_first_layer_is_measured_though_it_does_not_count(tmp_path: Path) -> None:
    path = loss_models.saved(loss_models.branches({"w1": 1.0, "w2": 0.1}), tmp_path)
    first, *others = loss_profile(path, data=data_for(path), levels=LEVELS).layers
    assert first.skipped == "first prunable layer"
    every = loss_profile(path, data=data_for(path), levels=LEVELS, include_first=True)
    assert first.sensitivity == every.layers[0].sensitivity
    assert [row.sensitivity for row in others] == [row.sensitivity for row in every.layers[1:]]
