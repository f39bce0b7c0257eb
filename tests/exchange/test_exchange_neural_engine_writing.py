"""Neural Engine's CSV and trace as we write them, against the layout of the engine's own program."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from exchange_profiles import operator, product, profile_of

from workbench.errors import WorkbenchError
from workbench.exchange.neural_engine import profile_csv, trace_document, write_profile_csv, write_trace
from workbench.profile import RatioRow, RatioTable, Tensor
from workbench.profiling.trace import NodeEvent, RunEvents

WHEN = datetime(2026, 11, 21, 7, 26, 51)


@pytest.mark.byhand
def test_the_layout_by_hand():
    """Two shapes, a dense operator between: formulas point to rows counted by hand."""
    ops = [
        product(0, "InnerProduct", "Add_37", (256, 256), 0.075, post_ops=("gelu_tanh",)),
        operator(1, "Softmax", "Softmax_1", 0.5),
        product(2, "InnerProduct", "Add_44", (256, 1024), 0.25),
    ]
    ratios = RatioTable(
        (0.9, 0.8, 0.7),
        (
            RatioRow((256, 256), {0.9: 4.0, 0.8: 2.5, 0.7: 2.0}, 1.0, "seed example"),
            RatioRow((256, 1024), {0.9: 4.5, 0.8: 3.0, 0.7: 2.5}, 1.0, "seed example"),
        ),
    )
    assert profile_csv(profile_of(ops), ratios=ratios, targets=(0.7, None, 0.9)).splitlines() == [
        "weight shape,90% 4x1 perf ratio,80% 4x1 perf ratio,70% 4x1 perf ratio,others",
        "256x256,4.000000,2.500000,2.000000,1",
        "256x1024,4.500000,3.000000,2.500000,1",
        "operator type,post op,operator name,input tensor name,input shape,input dtype,output tensor name,"
        "output shape,output dtype,weight shape,weight sparse ratio,sparse support,operator latency (ms),"
        "aim to weight sparse ratio,sparse kernel pref ratio,aim to sparse latency(ms)",
        "InnerProduct,gelu_tanh,Add_37,x0;w0,1024x256;256x256,fp32;fp32,y0,1024x256,fp32,256x256,0.00%,true,0.075,"
        '=70%,"=IF(N5=90%,B2,IF(N5=80%,C2,IF(N5=70%,D2,E2)))",=M5/O5',
        "Softmax,,Softmax_1,x1,1024x256,fp32,y1,1024x256,fp32,,,,0.500, ,,0.500",
        "InnerProduct,,Add_44,x2;w2,1024x1024;256x1024,fp32;fp32,y2,1024x256,fp32,256x1024,0.00%,true,0.250,"
        '=90%,"=IF(N7=90%,B3,IF(N7=80%,C3,IF(N7=70%,D3,E3)))",=M7/O7',
        ",,,,,,,,,,,total latency(ms),0.825,,total aim to sparse latency(ms),=SUM(P5:P7),sparse improve,=M8/P8",
        ",,,,,,,,,,,sparse support latency(ms),0.325,,aim to sparse support latency(ms),=P5+P7,",
        ",,,,,,,,,,,sparse support latency ratio,0.394,,aim to sparse support latency ratio,=P9/P8",
    ]


def test_a_weight_that_is_sparse_already_gets_no_target():
    op = product(0, "MatMul", "m", (256, 256), 1.0)
    sparse = replace(op, weight=replace(op.weight, zero_ratio=0.5))
    row = profile_csv(profile_of([sparse])).splitlines()[3]
    assert row.endswith(",256x256,50.00%,true,1.000, ,,1.000")


def test_nothing_supported_leaves_the_sum_empty():
    last = profile_csv(profile_of([operator(0, "Softmax", "s", 1.0)])).splitlines()[-2]
    assert last == ",,,,,,,,,,,sparse support latency(ms),0.000,,aim to sparse support latency(ms),,"


def test_a_fourth_level_moves_the_others_column():
    ratios = RatioTable(
        (0.95, 0.9, 0.8, 0.7), (RatioRow((256, 256), {0.95: 6, 0.9: 4, 0.8: 2.5, 0.7: 2}, 1.0, "user"),)
    )
    lines = profile_csv(
        profile_of([product(0, "MatMul", "m", (256, 256), 1.0)]), ratios=ratios, targets=[0.95]
    ).splitlines()
    assert lines[0].startswith("weight shape,95% 4x1 perf ratio,90% 4x1")
    assert '"=IF(N4=95%,B2,IF(N4=90%,C2,IF(N4=80%,D2,IF(N4=70%,E2,F2))))"' in lines[3]


@pytest.mark.parametrize("name", ["=1+1", '=HYPERLINK("http://x","y")', "+x", "-x", "@SUM(A1)", "\t=1", " =1", "'=1"])
def test_names_that_look_like_formulas_are_text(name):
    import csv
    import io

    text = profile_csv(profile_of([operator(0, name, name, 1.0)]))
    row = list(csv.reader(io.StringIO(text)))[2]
    assert row[0] == row[2] == "'" + name


def test_the_sum_of_supported_rows_fits_a_cell_however_many_there_are():
    ops = [product(i, "MatMul", f"m{i}", (4, 4), 0.001) for i in range(2500)]
    row = profile_csv(profile_of(ops)).splitlines()[-2]
    assert row.endswith(',"=SUMIF(L4:L2503,""true"",P4:P2503)",')


def test_the_file_name_and_the_instance(tmp_path: Path):
    profile = profile_of([operator(0, "Relu", "r", 1.0)])
    first = write_profile_csv(profile, tmp_path / "new" / "folder", when=WHEN)
    assert first.name == "profiling_2026-11-21_07-26-51_0.csv"
    assert write_profile_csv(profile, first.parent, when=WHEN).name == "profiling_2026-11-21_07-26-51_1.csv"
    assert write_profile_csv(profile, first.parent, instance=4, when=WHEN).name.endswith("_4.csv")


def test_a_folder_that_is_a_file_is_one_sentence(tmp_path: Path):
    (tmp_path / "f").write_text("")
    with pytest.raises(WorkbenchError, match="can't be made"):
        write_profile_csv(profile_of([]), tmp_path / "f" / "g")


def _run(start: float, *durations: float) -> RunEvents:
    nodes = tuple(NodeEvent(f"n{i}", "MatMul", start, d, (), ()) for i, d in enumerate(durations))
    return RunEvents(start, sum(durations), nodes)


def check_trace(document: dict) -> None:
    """What a viewer needs of complete events, and the engine's three levels with exact nesting and sums."""
    assert set(document) == {"otherData", "traceEvents"}
    events = document["traceEvents"]
    for event in events:
        assert event["ph"] == "X"
        assert event["pid"] == 0
        assert isinstance(event["name"], str)
        assert isinstance(event["cat"], str)
        assert isinstance(event["ts"], int | float)
        assert event["ts"] >= 0
        assert isinstance(event["dur"], int | float)
        assert event["dur"] >= 0
        assert event["tid"] in ("inference", "Iteration", "Operator")
    model = [e for e in events if e["tid"] == "inference"]
    iterations = [e for e in events if e["tid"] == "Iteration"]
    operators = [e for e in events if e["tid"] == "Operator"]
    assert [e["name"] for e in model] == ["model_inference"]
    assert [e["name"] for e in iterations] == [f"Iteration{n}" for n in range(len(iterations))]
    assert math.isclose(model[0]["dur"], sum(e["dur"] for e in iterations))
    assert math.isclose(model[0]["dur"], sum(e["dur"] for e in operators))
    end = 0.0
    for iteration in iterations:
        assert math.isclose(iteration["ts"], end, abs_tol=1e-6)
        end = iteration["ts"] + iteration["dur"]
        inside = [e for e in operators if iteration["ts"] <= e["ts"] < end]
        assert math.isclose(sum(e["dur"] for e in inside), iteration["dur"])
        assert all(e["ts"] + e["dur"] <= end + 1e-6 for e in inside)
    for event in operators:
        assert set(event["args"]) == {
            "reshape_time", "forward_time", "input_tensor_name", "input_type", "input_shape",
            "output_tensor_name", "output_type", "output_shape", "attributes",
        }  # fmt: skip


@pytest.mark.byhand
def test_the_trace_has_three_levels_whose_sums_hold(tmp_path: Path):
    op = replace(
        product(0, "InnerProduct", "Add_284", (256, 1024), 0.044, post_ops=("sum",)),
        inputs=(Tensor("a:0", (64, 1024), "fp32"), Tensor("b:0", (256, 1024), "fp32"), Tensor("c:0", (256,), "fp32")),
    )
    profile = profile_of([op, operator(1, "Softmax", 'quo"ted\n', 0.01)])
    path = write_trace(profile, [_run(100, 44, 10), _run(900, 50, 12)], tmp_path, when=WHEN)
    assert path.name == "profiling_2026-11-21_07-26-51_0.json"
    document = json.loads(path.read_text("utf-8"))
    assert document == trace_document(profile, [_run(100, 44, 10), _run(900, 50, 12)])
    check_trace(document)
    events = document["traceEvents"]
    assert [(e["name"], e["ts"], e["dur"]) for e in events] == [
        ("model_inference", 0, 116),
        ("Iteration0", 0, 54),
        ("Add_284", 0, 44),
        ('quo"ted\n', 44, 10),
        ("Iteration1", 54, 62),
        ("Add_284", 54, 50),
        ('quo"ted\n', 104, 12),
    ]
    args = events[2]["args"]
    assert (args["reshape_time"], args["forward_time"]) == ("0ms", "0.044ms")
    assert (args["input_tensor_name"], args["input_shape"]) == ("a:0,b:0,c:0", "64*1024,256*1024,256")
    assert args["attributes"].startswith("append_op:sum;")


def test_runs_of_another_model_are_refused(tmp_path: Path):
    with pytest.raises(WorkbenchError, match="run 0 has 1 operators and the profile 2"):
        write_trace(profile_of([operator(0, "Relu", "a", 1.0), operator(1, "Relu", "b", 1.0)]), [_run(0, 5)], tmp_path)
    assert not list(tmp_path.iterdir())
