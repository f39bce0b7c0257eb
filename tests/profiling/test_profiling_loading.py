"""What can't be profiled is refused in one sentence that says where, why and what to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from models import initializer, model, product
from onnx import TensorProto, helper

from workbench.errors import ModelError, WorkbenchError
from workbench.profiling import measure_model
from workbench.profiling.loading import load_model


def saved(proto: onnx.ModelProto, path: Path) -> Path:
    path.write_bytes(proto.SerializeToString())
    return path


def refused(path: Path, **options: object) -> str:
    with pytest.raises(WorkbenchError) as caught:
        measure_model(path, sessions=1, iterations=1, warmup=0, **options)  # type: ignore[arg-type]
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert "Traceback" not in sentence
    return sentence


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    assert "no such file" in refused(tmp_path / "absent.onnx")
    assert "not a file" in refused(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 a zip", b"hello, I am text", bytes(range(256))])
def test_something_that_is_not_onnx(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    assert "not an ONNX model" in refused(path)


def test_a_truncated_file(tmp_path: Path) -> None:
    data = product().SerializeToString()
    path = tmp_path / "model.onnx"
    path.write_bytes(data[: len(data) * 2 // 3])
    assert "damaged or cut short" in refused(path)


def external(tmp_path: Path, location: str, length: int = 8 * 12 * 4) -> Path:
    proto = product()
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", str(length))):
        tensor.external_data.add(key=key, value=value)
    folder = tmp_path / "model"
    folder.mkdir()
    return saved(proto, folder / "model.onnx")


def test_external_data_is_read_from_the_models_folder(tmp_path: Path) -> None:
    path = external(tmp_path, "weights.bin")
    values = np.arange(96, dtype=np.float32)
    (path.parent / "weights.bin").write_bytes(values.tobytes())
    made = measure_model(path, sessions=1, iterations=2, warmup=0).profile
    (operator,) = made.operators
    assert operator.weight is not None
    assert operator.weight.label == "12x8"
    assert operator.weight.zero_ratio == 1 / 96


def test_external_data_that_is_missing_or_short(tmp_path: Path) -> None:
    path = external(tmp_path, "weights.bin")
    assert "which is missing" in refused(path)
    (path.parent / "weights.bin").write_bytes(b"\0" * 10)
    assert "cut short" in refused(path)


@pytest.mark.parametrize("location", ["../outside.bin", "/etc/passwd", "a/../../outside.bin", ""])
def test_external_data_outside_the_models_folder(tmp_path: Path, location: str) -> None:
    (tmp_path / "outside.bin").write_bytes(b"\0" * 384)
    assert "outside the model's folder" in refused(external(tmp_path, location))


def test_external_data_behind_a_link_out_of_the_folder(tmp_path: Path) -> None:
    path = external(tmp_path, "weights.bin")
    (tmp_path / "outside.bin").write_bytes(b"\0" * 384)
    (path.parent / "weights.bin").symlink_to(tmp_path / "outside.bin")
    assert "outside the model's folder" in refused(path)


def test_an_unknown_operator_names_its_node(tmp_path: Path) -> None:
    node = helper.make_node("Frobnicate", ["x"], ["y"], name="odd one")
    sentence = refused(saved(model([node], {"x": [1, 8]}, ["y"]), tmp_path / "m.onnx"))
    assert "'odd one'" in sentence
    assert "'Frobnicate'" in sentence


def test_an_operator_of_a_domain_that_nobody_provides(tmp_path: Path) -> None:
    node = helper.make_node("Frobnicate", ["x"], ["y"], name="odd one", domain="acme")
    proto = model([node], {"x": [1, 8]}, ["y"], domains={"acme": 1})
    assert "ONNX Runtime can't load the model" in refused(saved(proto, tmp_path / "m.onnx"))


def test_an_operator_set_of_the_future(tmp_path: Path) -> None:
    proto = product()
    proto.opset_import[0].version = 999
    assert "operator set 999" in refused(saved(proto, tmp_path / "m.onnx"))


def test_a_dimension_that_the_model_does_not_have(tmp_path: Path) -> None:
    path = saved(product(), tmp_path / "m.onnx")
    sentence = refused(path, dims={"sequence": 4})
    assert "'sequence'" in sentence
    assert "batch" in sentence


def test_a_batch_against_a_fixed_one(tmp_path: Path) -> None:
    path = saved(product((2, 8)), tmp_path / "m.onnx")
    assert "fixed at 2" in refused(path, batch=4)


def test_an_input_of_strings(tmp_path: Path) -> None:
    node = helper.make_node("StringNormalizer", ["x"], ["y"], name="n", case_change_action="LOWER")
    proto = model([node], {"x": ["n"]}, ["y"], element_type=TensorProto.STRING)
    sentence = refused(saved(proto, tmp_path / "m.onnx"))
    assert "'x'" in sentence
    assert "string" in sentence


def test_a_shape_that_fails_in_the_run(tmp_path: Path) -> None:
    # 2 x 3 x w reshaped to 2 x 7: only widths with 6 w = 14 k work.
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"], name="fold")]
    proto = model(nodes, {"x": [2, 3, "w"]}, ["y"], [initializer("shape", [2, 7], np.int64)])
    sentence = refused(saved(proto, tmp_path / "m.onnx"), dims={"w": 4})
    assert "can't be run" in sentence
    assert "fold" in sentence


def test_more_cores_than_there_are(tmp_path: Path) -> None:
    path = saved(product(), tmp_path / "m.onnx")
    assert "5000 cores were asked for" in refused(path, cores=5000)


def test_inputs_from_a_file(tmp_path: Path) -> None:
    path = saved(product(), tmp_path / "m.onnx")
    feed = tmp_path / "feed.npz"
    np.savez(feed, x=np.ones((3, 8), np.float32))
    assert measure_model(path, inputs=feed, sessions=1, iterations=2, warmup=0).profile.batch == 3
    for arrays, expected in (
        ({"z": np.ones((3, 8), np.float32)}, "no array for the input 'x'"),
        ({"x": np.ones((3, 8), np.float64)}, "float64"),
        ({"x": np.ones((3, 9), np.float32)}, "shape 3x9"),
    ):
        np.savez(feed, **arrays)
        assert expected in refused(path, inputs=feed)
    feed.write_text("not an archive")
    assert "no readable .npz" in refused(path, inputs=feed)
    assert "no such file" in refused(path, inputs=tmp_path / "absent.npz")


def test_the_models_facts(tmp_path: Path) -> None:
    loaded = load_model(saved(product(), tmp_path / "m.onnx"))
    assert loaded.info.parameters == 96
    assert loaded.info.opset == 13
    assert loaded.info.nodes == 1
    assert len(loaded.info.sha256) == 64


def test_nodes_without_names_or_with_the_same_name_are_profiled(tmp_path: Path) -> None:
    proto = product(name="")
    proto.graph.node.append(helper.make_node("Relu", ["y"], ["z"], name="twin"))
    proto.graph.node.append(helper.make_node("Sigmoid", ["z"], ["out"], name="twin"))
    proto.graph.output[0].name = "out"
    made = measure_model(saved(proto, tmp_path / "m.onnx"), sessions=1, iterations=2, warmup=0).profile
    assert made.operators[0].operator_type in ("MatMul", "FusedMatMul")
    assert made.operators[0].weight is not None


def test_model_error_is_a_workbench_error() -> None:
    assert issubclass(ModelError, WorkbenchError)
