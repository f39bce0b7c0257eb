"""Pruning a model as planned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from workbench.calibration.pruning import prunable_layers, prune_file, prune_model
from workbench.errors import ModelError, WorkbenchError
from workbench.profiling.loading import load_model
from workbench.profiling.weights import find_products, zero_ratios

LEVELS = (0.9, 0.8, 0.7)


def saved(tmp_path: Path, nodes: list[onnx.NodeProto], tensors: dict[str, np.ndarray], inputs: int) -> Path:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", inputs])],
        [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, ["n", "outputs"])],
        [numpy_helper.from_array(values, name) for name, values in tensors.items()],
    )
    path = tmp_path / "m.onnx"
    path.write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    )
    return path


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def block_ratios(path: Path) -> dict[str, float | None]:
    model = load_model(path)
    return {
        p.node: zero_ratios(p.zero_mask(model.proto, model.folder))[1] for p in find_products(model.proto, model.folder)
    }


@pytest.mark.byhand
def test_matmul_weight_is_pruned_along_output_channels(tmp_path: Path) -> None:
    # Stored K x N: the blocks are 4 neighbours in a stored row.
    weight = np.array([[9, 1, 1, 1, 1, 1, 1, 1], [2, 2, 2, 2, 3, 3, 3, 3]], np.float32)
    path = saved(tmp_path, [helper.make_node("MatMul", ["x", "w"], ["y"], name="m")], {"w": weight}, 2)
    prune_file(path, tmp_path / "p.onnx", {"m": 0.5})
    after = numpy_helper.to_array(onnx.load(tmp_path / "p.onnx").graph.initializer[0])
    assert after.tolist() == [[9, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 3, 3, 3, 3]]


def test_gemm_with_transposed_weight_is_pruned_in_the_same_blocks(tmp_path: Path) -> None:
    weight = random(6, 8)
    made = {}
    for turned in (0, 1):
        stored = np.ascontiguousarray(weight.T) if turned else weight
        node = helper.make_node("Gemm", ["x", "w"], ["y"], name="g", transB=turned)
        path = saved(tmp_path, [node], {"w": stored}, 6)
        prune_file(path, tmp_path / "p.onnx", {"g": 0.7})
        after = numpy_helper.to_array(onnx.load(tmp_path / "p.onnx").graph.initializer[0])
        made[turned] = after.T if turned else after
    np.testing.assert_array_equal(made[0], made[1])
    assert (made[0] == 0).sum() == 8 * 4  # 12 blocks, 8.4 of them


@pytest.mark.parametrize("level", [0.0, 0.33, 0.7, 0.8, 0.9, 1.0])
def test_zero_ratios_of_the_pruned_model_are_the_targets(tmp_path: Path, level: float) -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["h"], name="first"),
        helper.make_node("Gemm", ["h", "b"], ["y"], name="second", transB=1),
    ]
    path = saved(tmp_path, nodes, {"a": random(48, 64), "b": random(32, 64, seed=1)}, 48)
    pruned = prune_file(path, tmp_path / "p.onnx", {"first": level})
    found = block_ratios(tmp_path / "p.onnx")
    blocks = 48 * 16
    assert found["first"] == pytest.approx(level, abs=0.5 / blocks)
    assert found["second"] == 0
    assert pruned.layers[0].zero_block_ratio == found["first"]
    assert pruned.layers[0].zero_ratio >= level - 0.5 / blocks


def test_nothing_but_the_weight_changes(tmp_path: Path) -> None:
    path = saved(tmp_path, [helper.make_node("MatMul", ["x", "w"], ["y"], name="m")], {"w": random(8, 8)}, 8)
    prune_file(path, tmp_path / "p.onnx", {"m": 0.8})
    before, after = onnx.load(path), onnx.load(tmp_path / "p.onnx")
    for model in (before, after):
        del model.graph.initializer[:]
    assert before == after


def test_the_file_written_passes_the_checker(tmp_path: Path) -> None:
    path = saved(tmp_path, [helper.make_node("MatMul", ["x", "w"], ["y"], name="m")], {"w": random(8, 8)}, 8)
    prune_file(path, tmp_path / "p.onnx", {"m": 0.8})
    onnx.checker.check_model(tmp_path / "p.onnx", full_check=True)


def test_kept_weights_keep_their_values(tmp_path: Path) -> None:
    weight = random(16, 16)
    path = saved(tmp_path, [helper.make_node("MatMul", ["x", "w"], ["y"], name="m")], {"w": weight}, 16)
    prune_file(path, tmp_path / "p.onnx", {"m": 0.8})
    after = numpy_helper.to_array(onnx.load(tmp_path / "p.onnx").graph.initializer[0])
    np.testing.assert_array_equal(after[after != 0], weight[after != 0])


def test_pruning_twice_changes_nothing_more(tmp_path: Path) -> None:
    path = saved(tmp_path, [helper.make_node("MatMul", ["x", "w"], ["y"], name="m")], {"w": random(40, 40)}, 40)
    prune_file(path, tmp_path / "once.onnx", {"m": 0.7})
    prune_file(tmp_path / "once.onnx", tmp_path / "twice.onnx", {"m": 0.7})
    assert (tmp_path / "once.onnx").read_bytes() == (tmp_path / "twice.onnx").read_bytes()


def test_quantized_weight_is_set_to_its_zero_point(tmp_path: Path) -> None:
    stored = np.random.default_rng(3).integers(0, 255, (16, 16), np.uint8)
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "scale", "zero"], ["d"]),
        helper.make_node("MatMul", ["x", "d"], ["y"], name="m"),
    ]
    tensors = {"w": stored, "scale": np.array(0.5, np.float32), "zero": np.array(7, np.uint8)}
    path = saved(tmp_path, nodes, tensors, 16)
    prune_file(path, tmp_path / "p.onnx", {"m": 0.9})
    assert block_ratios(tmp_path / "p.onnx")["m"] == pytest.approx(58 / 64)
    after = {t.name: numpy_helper.to_array(t) for t in onnx.load(tmp_path / "p.onnx").graph.initializer}["w"]
    assert set(after[after != stored].tolist()) == {7}


def test_shared_weight_takes_the_highest_target_and_says_so(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="a"),
        helper.make_node("MatMul", ["h", "w"], ["y"], name="b"),
    ]
    path = saved(tmp_path, nodes, {"w": random(40, 40)}, 40)
    pruned = prune_model(load_model(path), {"a": 0.7, "b": 0.9})
    assert [layer.zero_block_ratio for layer in pruned.layers] == [0.9, 0.9]
    assert [layer.note for layer in pruned.layers] == ["shares its weight with a layer of target 90%", ""]


def test_one_level_for_all_takes_every_prunable_product() -> None:
    from workbench.profiling.samples import sample_model

    model = load_model(sample_model("decoder_block"))
    layers = prunable_layers(model)
    pruned = prune_model(model, dict.fromkeys(layers, 0.8))
    assert len(pruned.layers) == len(layers) > 3
    for layer in pruned.layers:
        assert layer.zero_block_ratio == pytest.approx(0.8, abs=0.5 / 1000)


def test_a_layer_that_the_model_does_not_have(tmp_path: Path) -> None:
    path = saved(tmp_path, [helper.make_node("MatMul", ["x", "w"], ["y"], name="m")], {"w": random(8, 8)}, 8)
    with pytest.raises(ModelError, match=r"m\.onnx: .*'other'.*workbook that was made from this model"):
        prune_file(path, tmp_path / "p.onnx", {"other": 0.8})
    assert not (tmp_path / "p.onnx").exists()


def test_a_weight_whose_outputs_do_not_divide(tmp_path: Path) -> None:
    path = saved(tmp_path, [helper.make_node("MatMul", ["x", "w"], ["y"], name="m")], {"w": random(8, 6)}, 8)
    with pytest.raises(ModelError, match="6 output channels are not divisible by 4"):
        prune_file(path, tmp_path / "p.onnx", {"m": 0.8})


@pytest.mark.parametrize("level", [-0.1, 1.5, 90])
def test_a_target_that_is_no_share(tmp_path: Path, level: float) -> None:
    path = saved(tmp_path, [helper.make_node("MatMul", ["x", "w"], ["y"], name="m")], {"w": random(8, 8)}, 8)
    with pytest.raises(WorkbenchError, match="no share of zeros"):
        prune_file(path, tmp_path / "p.onnx", {"m": level})


def test_the_model_that_is_read_is_never_overwritten(tmp_path: Path) -> None:
    path = saved(tmp_path, [helper.make_node("MatMul", ["x", "w"], ["y"], name="m")], {"w": random(8, 8)}, 8)
    before = path.read_bytes()
    with pytest.raises(WorkbenchError, match="overwrite"):
        prune_file(path, path, {"m": 0.5})
    assert path.read_bytes() == before
