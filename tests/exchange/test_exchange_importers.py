"""Other profilers' files, as those tools write them (samples cut down by hand), and what becomes of them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from exchange_models import small_model

from workbench.errors import FormatError
from workbench.exchange import FORMATS, detect, read_any
from workbench.exchange.timings import ratios
from workbench.profile import Provenance

OPENVINO = """layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms)
x;Status.NOT_RUN;Parameter;unknown_f32;0.000;0.000
/act1/Relu;Status.EXECUTED;Convolution;jit_avx512_bf16;0.210;0.210
/conv2/Conv;Status.EXECUTED;Convolution;brgconv_avx512_1x1_bf16;0.020;0.020
Reorder_17_f32_ab;Status.EXECUTED;Reorder;jit_uni_f32;0.005;0.005
/act2/Relu;Status.EXECUTED;FullyConnected;brgemm_avx512_bf16;0.103;0.103
y;Status.EXECUTED;FullyConnected;brgemm_avx512_f32;0.050;0.050
y/sink_port_0;Status.NOT_RUN;Result;unknown_f32;0.000;0.000
Total;;;;0.388;0.388

"""
"""benchmark_app's Python report. The C++ one ends lines with `;` and writes `EXECUTED`."""

TENSORRT = [
    {"count": 625},
    {"name": "Reformatting CopyNode for Input Tensor 0 to /conv1/Conv + /act1/Relu", "timeMs": 5, "averageMs": 0.008,
     "medianMs": 0.0075, "percentage": 4.1},
    {"name": "/conv1/Conv + /act1/Relu", "timeMs": 41.4, "averageMs": 0.0662, "medianMs": 0.066, "percentage": 36},
    {"name": "/conv2/Conv", "timeMs": 20, "averageMs": 0.032, "medianMs": 0.031, "percentage": 17},
    {"name": "/fc1/MatMul + /fc1/Add + PWN(/act2/Relu)", "timeMs": 25, "averageMs": 0.04, "medianMs": 0.039,
     "percentage": 21},
    {"name": "/fc2/Gemm", "timeMs": 25, "averageMs": 0.04, "medianMs": 0.038, "percentage": 21},
]  # fmt: skip


def _deepsparse_layer(name: str, canonical: str, ms: float, out: int, kernel: tuple[int, int] | None = None) -> dict:
    dims = {"batches": 1, "channels": 1, "z": 1, "y": 1}
    return {
        "name": name,
        "canonical_name": canonical,
        "input_dims": {**dims, "x": 64},
        "output_dims": {**dims, "x": out},
        "kernel_dims": {"output_channels": kernel[0], "input_channels": kernel[1], "z": 1, "y": 1, "x": 1}
        if kernel
        else {},
        "strides": {"z": 1, "y": 1, "x": 1},
        "required_flops": 2 * kernel[0] * kernel[1] if kernel else 0,
        "activation_sparsity": 0.0,
        "kernel_sparsity": 0.5 if name == "gemm_1" else 0.0,
        "average_run_time_in_ms": ms,
        "average_utilization": 0.1,
        "average_teraflops_per_second": 0.1,
        "sub_layer_info": [],
    }


DEEPSPARSE = {
    "batch_size": 1,
    "num_threads": 2,
    "num_sockets": 1,
    "average_total_time": 0.9,
    "items_per_second": 1111.1,
    "iteration_times": [0.9, 0.91, 0.89],
    "layer_info": [
        _deepsparse_layer("Naive Subgraph 0", "<none>", 0.02, 64),
        _deepsparse_layer("gemm_1", "/fc1/MatMul_output_0", 0.4, 32, (64, 32)),
        _deepsparse_layer("pyramid_2", "/fc1/Add_output_0,/act2/Relu_output_0", 0.1, 32),
        _deepsparse_layer("gemm_3", "y", 0.38, 10, (32, 10)),
    ],
}
"""As deepsparse.debug_analysis 1.8 writes it: a product's kernel dims are K x N under the opposite names."""


def _torch_event(name: str, ts: float, dur: float, dims: list | None = None, cat: str = "cpu_op", tid: int = 7) -> dict:
    args = {"External id": 1, "Input Dims": dims, "Input type": ["float"] * len(dims)} if dims is not None else {}
    return {"ph": "X", "cat": cat, "name": name, "pid": 7, "tid": tid, "ts": ts, "dur": dur, "args": args}


def _torch_step(number: int, start: float, factor: float) -> list[dict]:
    return [
        _torch_event(f"ProfilerStep#{number}", start, 1000, cat="user_annotation"),
        _torch_event("aten::linear", start + 10, 400 * factor, [[128, 64], [32, 64], [32]]),
        _torch_event("aten::t", start + 11, 2, [[32, 64]]),
        _torch_event("aten::addmm", start + 20, 300 * factor, [[32], [128, 64], [64, 32], [], []]),
        _torch_event("aten::relu", start + 500, 50, [[128, 32]]),
        _torch_event("aten::clamp_min", start + 501, 40, [[128, 32], []]),
        _torch_event("aten::addmm", start + 600, 80, [[10], [128, 32], [32, 10]]),
    ]


PYTORCH = {
    "schemaVersion": 1,
    "deviceProperties": [],
    "traceEvents": [
        {"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": "python"}},
        *_torch_step(1, 1000, 1.2),
        *_torch_step(2, 3000, 1.0),
        *_torch_step(3, 5000, 1.15),
        *_torch_step(4, 7000, 1.1),
    ],
}

SPDY = "base\n0.0709\nprunable\n0.0658\n" + "".join(
    f"{name}\n" + "".join(f"{dense / speed:.6f} {level:.4f}\n" for level, speed in curve)
    for name, dense, curve in (
        ("fc1", 0.002, ((0, 1), (0.4, 1.25), (0.8, 2.5), (0.95, 5))),
        ("conv1", 0.001, ((0, 1), (0.5, 1.5), (0.95, 3))),
        ("conv2", 0.003, ((0, 1), (0.6, 1.0), (0.9, 0.8))),
    )
)

SPARSEML = {
    "num_cores": 4,
    "batch_size": 16,
    "results_model": {"id": "__model__", "name": "model", "index": -1, "sparse_measurements": [[0.0, [0.02]]]},
    "results": [
        {"id": "/fc1/MatMul_output_0", "name": "gemm_1", "index": 0, "baseline_measurement_index": 0,
         "baseline_measurement_key": 0.0,
         "sparse_measurements": [[0.0, [0.004, 0.006]], [0.7, [0.0025]], [0.8, [0.002]], [0.9, [0.001]]]},
        {"id": "other", "name": "gemm_9", "index": 1, "sparse_measurements": [[0.0, [0.004]], [0.9, [0.001]]]},
    ],
}  # fmt: skip

ONNXRUNTIME = [
    {"cat": "Session", "pid": 1, "tid": 1, "dur": 5, "ts": 7, "ph": "X", "name": "model_loading_uri", "args": {}},
    {"cat": "Node", "pid": 1, "tid": 1, "dur": 90, "ts": 20, "ph": "X", "name": "/fc1/MatMul_kernel_time",
     "args": {"op_name": "MatMul", "node_index": "1", "provider": "CPUExecutionProvider",
              "input_type_shape": [{"float": [1, 64]}], "output_type_shape": [{"float": [1, 32]}]}},
    {"cat": "Session", "pid": 1, "tid": 1, "dur": 100, "ts": 15, "ph": "X", "name": "model_run", "args": {}},
]  # fmt: skip

SAMPLES = {
    "OpenVINO counters": OPENVINO,
    "TensorRT profile": json.dumps(TENSORRT),
    "DeepSparse analysis": json.dumps(DEEPSPARSE),
    "PyTorch trace": json.dumps(PYTORCH),
    "SPDY timings": SPDY,
    "SparseML timings": json.dumps(SPARSEML),
    "ONNX Runtime profile": json.dumps(ONNXRUNTIME),
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return small_model(tmp_path)


def write(folder: Path, text: str | list | dict, name: str = "file.dat") -> Path:
    path = folder / name
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return path


@pytest.mark.parametrize(("name", "text"), SAMPLES.items(), ids=SAMPLES)
def test_a_format_is_known_by_its_content_whatever_the_files_name(tmp_path: Path, name: str, text: str):
    assert detect(write(tmp_path, text, "no-extension")).name == name


def test_each_sample_is_only_one_format(tmp_path: Path):
    from workbench.exchange.source import Source

    for name, text in SAMPLES.items():
        path = write(tmp_path, text)
        source = Source(path, text, json.loads(text) if text[0] in "[{" else None)
        assert [f.name for f in FORMATS if f.looks_like(source)] == [name]


def test_openvino_layers_find_their_weights_through_fused_nodes(tmp_path: Path, model: Path):
    read = read_any(write(tmp_path, OPENVINO), model)
    ops = {op.name: op for op in read.profile.operators}
    assert list(ops) == ["/act1/Relu", "/conv2/Conv", "Reorder_17_f32_ab", "/act2/Relu", "y"]
    assert (ops["/act1/Relu"].weight.name, ops["/act1/Relu"].layer_id) == ("conv1.weight", "/conv1/Conv")
    dense = ops["/act2/Relu"]
    assert (dense.weight.name, dense.weight.shape, dense.post_ops) == ("fc1.weight", (32, 64), ("add", "relu"))
    assert (dense.weight.zero_ratio, dense.sparse_support, dense.latency_ms) == (0.5, True, 0.103)
    assert (ops["y"].weight.shape, ops["y"].sparse_support) == ((10, 32), False)
    assert ops["Reorder_17_f32_ab"].weight is None
    assert "bf16" in dense.note
    assert read.profile.provenance is Provenance.IMPORTED
    assert any("1 of 5 operators are not in small.onnx" in note for note in read.notes)


@pytest.mark.byhand
def test_openvino_in_detail_is_the_median_over_inferences(tmp_path: Path):
    """The C++ program's report: a block an inference, lines that end with a separator."""

    def block(ms: float) -> str:
        rows = OPENVINO.replace("0.103;0.103", f"{ms};{ms}").replace("Status.", "").splitlines()
        return "".join(f"{row};\n" if row else "\n" for row in rows)

    read = read_any(write(tmp_path, block(0.3) + block(0.1) + block(0.2)))
    assert read.profile.iterations == 3
    assert [op.latency_ms for op in read.profile.operators] == [0.21, 0.02, 0.005, 0.2, 0.05]
    assert not any(op.sparse_support for op in read.profile.operators)
    assert "give the model with --model" in read.notes[-1]


def test_tensorrt_layers(tmp_path: Path, model: Path):
    read = read_any(write(tmp_path, TENSORRT), model)
    moved, conv, _, matmul, gemm = read.profile.operators
    assert (moved.operator_type, moved.weight, moved.latency_ms) == ("Reformat", None, 0.0075)
    assert (conv.operator_type, conv.weight.name, conv.post_ops, conv.latency_ms) == (
        "Conv",
        "conv1.weight",
        ("relu",),
        0.066,
    )
    assert (matmul.weight.name, matmul.post_ops, matmul.sparse_support) == ("fc1.weight", ("add", "relu"), True)
    assert gemm.weight.name == "fc2.weight"
    assert read.profile.iterations == 625
    assert any("GPU" in note for note in read.notes)
    bare = read_any(write(tmp_path, TENSORRT))
    assert [op.operator_type for op in bare.profile.operators] == ["Reformat", "Conv", "Conv", "MatMul", "Gemm"]


def test_older_tensorrt_has_means_only(tmp_path: Path):
    old = [{k: v for k, v in entry.items() if k != "medianMs"} for entry in TENSORRT]
    read = read_any(write(tmp_path, old))
    assert read.profile.operators[1].latency_ms == 0.0662
    assert any("means" in note for note in read.notes)


@pytest.mark.byhand
def test_deepsparse_layers(tmp_path: Path, model: Path):
    bare = read_any(write(tmp_path, DEEPSPARSE))
    assert (bare.profile.batch, bare.profile.cores, bare.profile.profiled_ms) == (1, 2, 0.9)
    assert [op.weight and op.weight.shape for op in bare.profile.operators] == [None, (32, 64), None, (10, 32)]
    assert bare.profile.operators[1].flops == 2 * 64 * 32
    joined = read_any(write(tmp_path, DEEPSPARSE), model)
    ops = joined.profile.operators
    assert [op.weight and op.weight.name for op in ops] == [None, "fc1.weight", None, "fc2.weight"]
    assert math.isclose(joined.profile.total_latency_ms, 0.02 + 0.4 + 0.1 + 0.38)
    assert any("1 layers were measured sparse already" in note for note in joined.notes)


def test_deepsparse_groups_count_by_their_members(tmp_path: Path):
    inner = [_deepsparse_layer("gemm_a", "a", 0.1, 32, (64, 32)), _deepsparse_layer("gemm_b", "b", 0.2, 32, (64, 32))]
    group = {**_deepsparse_layer("sub_pyramid", "<none>", 0.3, 32), "sub_layer_info": inner}
    read = read_any(write(tmp_path, {**DEEPSPARSE, "layer_info": [group]}))
    assert [op.latency_ms for op in read.profile.operators] == [0.1, 0.2]


@pytest.mark.byhand
def test_pytorch_counts_outermost_operators_of_the_steps_after_the_first(tmp_path: Path):
    read = read_any(write(tmp_path, PYTORCH))
    linear, relu, addmm = read.profile.operators
    assert [op.operator_type for op in (linear, relu, addmm)] == ["aten::linear", "aten::relu", "aten::addmm"]
    assert (linear.latency_ms, linear.latency_min_ms) == pytest.approx((0.44, 0.4))
    assert (linear.weight.shape, linear.flops, linear.sparse_support) == ((32, 64), 2 * 128 * 64 * 32, True)
    assert (addmm.weight.shape, addmm.flops, addmm.sparse_support) == ((10, 32), 2 * 128 * 32 * 10, False)
    assert (read.profile.iterations, read.profile.warmup) == (3, 1)


def test_pytorch_steps_that_differ_are_left_out_and_counted(tmp_path: Path):
    events = [*_torch_step(0, 0, 1.0)[:3], *PYTORCH["traceEvents"]]
    read = read_any(write(tmp_path, events))
    assert len(read.profile.operators) == 3
    assert any("1 of 5 steps ran other operators" in note for note in read.notes)


def test_pytorch_without_shapes_says_so(tmp_path: Path):
    events = [{**e, "args": {}} for e in PYTORCH["traceEvents"]]
    read = read_any(write(tmp_path, {"traceEvents": events}))
    assert any("record_shapes=True" in note for note in read.notes)
    assert not any(op.sparse_support for op in read.profile.operators)


@pytest.mark.byhand
def test_ratios_are_interpolated_between_measured_sparsities():
    """Halfway in sparsity is halfway in time: dense 10, 6 at 0.6, 2 at 1 gives 3 at 0.9."""
    curve = [(0.0, 10.0), (0.6, 6.0), (0.85, 3.5), (0.95, 2.5)]
    assert ratios(curve, (0.95, 0.9, 0.7, 0.3)) == {0.95: 4.0, 0.9: 3.3333, 0.7: 2.0, 0.3: 1.25}
    assert ratios(curve, (0.99,)) == {}


@pytest.mark.byhand
def test_spdy_timings_are_a_ratio_table(tmp_path: Path, model: Path):
    read = read_any(write(tmp_path, SPDY), model)
    assert read.profile is None
    assert [row.shape for row in read.ratios.rows] == [(4, 8), (32, 64)]
    # fc1: 2 ms dense, 0.8 at 0.8, 0.4 at 0.95; so 0.8 - 0.4 * 2/3 = 0.5333 at 0.9; 1.6 at 0.4, so 1.0 at 0.7.
    assert dict(read.ratios.rows[1].ratios) == {0.9: 3.75, 0.8: 2.5, 0.7: 2.0}
    # conv2: slower when sparse, 3 ms at 0.6 and 3.75 ms at 0.9.
    assert dict(read.ratios.rows[0].ratios) == {0.9: 0.8, 0.8: 0.85714, 0.7: 0.92308}
    assert all(row.source.startswith("literature: SPDY timings") for row in read.ratios.rows)
    assert any("1 layers are convolutions" in note for note in read.notes)


@pytest.mark.byhand
def test_sparseml_timings_are_a_ratio_table(tmp_path: Path, model: Path):
    read = read_any(write(tmp_path, SPARSEML), model)
    (row,) = read.ratios.rows
    assert (row.shape, dict(row.ratios)) == ((32, 64), {0.9: 5.0, 0.8: 2.5, 0.7: 2.0})
    assert any("1 layers are not in small.onnx, the first is 'other'" in note for note in read.notes)


OTHER = [{"name": f"/encoder/layer.{i}/MatMul", "averageMs": 0.1} for i in range(5)]
LOSS = {"results": [{"id": "a", "name": "a", "sparse_measurements": [[0.0, [1.0]]]}]}
BAD = {
    "nothing in it": ("", False, "the file is empty"),
    "unknown text": ("hello\nworld", False, "none of the formats that can be imported; there are: Neural Engine"),
    "unknown JSON": ({"a": 1}, False, "none of the formats"),
    "JSON cut short": (json.dumps(TENSORRT)[:90], False, r"the JSON is cut short at line 1, column \d+"),
    "JSON cut in a text": (json.dumps(PYTORCH)[:300], False, "the JSON is cut short"),
    "JSON broken": ('[{"name": "a", "averageMs": }]', False, r"the JSON is broken \(.*\) at line 1, column 29"),
    "OpenVINO without a column": (
        OPENVINO.replace("realTime (ms)", "time"),
        False,
        r"row 1: there is no column 'realTime",
    ),
    "OpenVINO decimal comma": (
        OPENVINO.replace("0.103", "0,103"),
        False,
        r"row 6, column 'realTime \(ms\)': '0,103' has a",
    ),
    "OpenVINO cut short": (OPENVINO[: OPENVINO.index("jit_uni")], False, "row 5 has 4 columns, expected 6"),
    "OpenVINO, nothing ran": (OPENVINO.replace("EXECUTED", "NOT_RUN"), False, "no layer was executed"),
    "OpenVINO uneven": (OPENVINO + OPENVINO.replace("y;", "z;"), False, "inference 1 has other layers"),
    "TensorRT without times": ([{"name": "a", "averageMs": "fast"}], False, r"entry 0 \('a'\): its time is 'fast'"),
    "another model": (OTHER, True, r"0 of its 5 operators .* are in small.onnx; it is a profile of another model"),
    "DeepSparse benchmark": ({"benchmark_result": {}}, False, "result of deepsparse.benchmark, which has no layers"),
    "DeepSparse without times": ({"layer_info": [{"name": "g"}]}, False, "layer 'g' has no 'average_run_time_in_ms'"),
    "PyTorch GPU only": ([_torch_event("aten::mm", 0, 1, cat="kernel")], False, "no ATen operator ran on the CPU"),
    "PyTorch bad time": ([{**_torch_event("aten::mm", 0, 1), "dur": "long"}], False, "'dur' is 'long'"),
    "SPDY without a model": (SPDY, False, "name layers, not weight shapes; give the model"),
    "SPDY bad line": (SPDY.replace("0.000400 0.9500", "1 2 3"), True, "line 9: '1 2 3' is not 'seconds sparsity'"),
    "SPDY no number": (
        SPDY.replace("0.002000 0.0000", "fast 0.0000"),
        True,
        "line 6: 'fast 0.0000' is not 'seconds spar",
    ),
    "SPDY of another model": (SPDY.replace("fc1", "a").replace("conv2", "b"), True, "none of its 3 layers is a matrix"),
    "SparseML loss": (LOSS, True, "a loss sensitivity analysis, which has no times"),
    "ONNX Runtime, no run": (ONNXRUNTIME[:1], False, "no operator ran"),
}


@pytest.mark.parametrize(("text", "with_model", "message"), BAD.values(), ids=BAD)
def test_bad_files_are_one_clear_sentence(tmp_path: Path, model: Path, text, with_model: bool, message: str):
    path = write(tmp_path, text)
    with pytest.raises(FormatError, match=message) as caught:
        read_any(path, model if with_model else None)
    assert "\n" not in str(caught.value)
    assert "file.dat" in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path):
    with pytest.raises(FormatError, match="there is no such file"):
        read_any(tmp_path / "none.json")
    with pytest.raises(FormatError, match="this is a folder"):
        read_any(tmp_path)
    (tmp_path / "b").write_bytes(b"\x08\x00\x01\x02")
    with pytest.raises(FormatError, match="binary file"):
        read_any(tmp_path / "b")


def test_a_profile_of_a_model_with_the_same_names_and_other_sizes_is_refused(tmp_path: Path, model: Path):
    layers = [_deepsparse_layer("gemm_1", "/fc1/MatMul_output_0", 0.4, 48, (64, 48))]
    with pytest.raises(FormatError, match=r"gives 1x1x1x1x48, but its weight in small.onnx is 32x64"):
        read_any(write(tmp_path, {**DEEPSPARSE, "layer_info": layers}), model)
