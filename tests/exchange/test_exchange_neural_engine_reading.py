"""Neural Engine's CSV of both dialects and its trace, read back."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from exchange_profiles import operator, product, profile_of
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import FormatError
from workbench.exchange.cells import safe, shown
from workbench.exchange.neural_engine import profile_csv, read_profile_csv, read_trace
from workbench.profile import RatioRow, RatioTable, Tensor

TITLES = (
    "operator type,post op,operator name,input tensor name,input shape,input dtype,output tensor name,output shape,"
    "output dtype,weight shape,weight sparse ratio,sparse support,operator latency (ms),aim to weight sparse ratio,"
    "sparse kernel pref ratio,aim to sparse latency(ms)"
)
NEWER = f"""weight shape,90% 4x1 perf ratio,80% 4x1 perf ratio,70% 4x1 perf ratio,others
256x256,4.000000,4.000000,4.000000,1
256x1024,4.000000,4.000000,4.000000,1
{TITLES}
InnerProduct,gelu_tanh,Add_37,116:0;641:0;bert.encoder.layer.0.attention.self.key.bias:0,1024x256;256x256;256,\
fp32;fp32;fp32,Add_37:0,1024x256,fp32,256x256,0.00%,true,0.075, 90%,\
"=IF(N5=90%,B2,IF(N5=80%,C2,IF(N5=70%,D2,E2)))",=M5/O5
Softmax,,Softmax_1,5:0,8x4x128x128,fp32,6:0,8x4x128x128,fp32,,,,0.101, ,,0.101
InnerProduct,,Add_284,a:0;b:0;c:0,64x1024;256x1024;256,fp32;fp32;fp32,\
d:0,64x256,fp32,256x1024,87.50%,true,0.044, ,,0.044
,,,,,,,,,,,total latency(ms),0.221,,total aim to sparse latency(ms),=SUM(P5:P7),sparse improve,=M8/P8
,,,,,,,,,,,sparse support latency(ms),0.120,,aim to sparse support latency(ms),=P5+P7,
,,,,,,,,,,,sparse support latency ratio,0.541,,aim to sparse support latency ratio,=P9/P8
"""
"""As the engine's program prints it: totals are added before rounding (0.221 for rows of 0.220)."""

OLDER = NEWER.replace("0.00%,", "0.00,").replace("87.50%,", "87.50,").replace(" 90%,", " 90,").replace("=90%", "=90,")
OLDER = OLDER.replace("=80%", "=80,").replace("=70%", "=70,")
"""Percent signs lost by the older program's print calls."""

SAVED = NEWER.replace('"=IF(N5=90%,B2,IF(N5=80%,C2,IF(N5=70%,D2,E2)))",=M5/O5', "4,0.019").replace(" 90%", "90%")
SAVED = (
    SAVED.replace(" ,,", ",,")
    .replace("others\n", "others,,,,,,,,,,,,,\n")
    .replace("4.000000", "4")
    .replace("true", "TRUE")
)
"""As a spreadsheet saves it: values for formulas, rows of one width."""


def write(folder: Path, text: str, name: str = "profiling_2023-05-04_10-11-12_3.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


@pytest.mark.byhand
@pytest.mark.parametrize("text", [NEWER, OLDER, SAVED], ids=["newer", "older", "saved by a spreadsheet"])
def test_both_dialects_and_a_saved_file_say_the_same(tmp_path: Path, text: str):
    read = read_profile_csv(write(tmp_path, text))
    profile = read.profile
    assert [op.operator_type for op in profile.operators] == ["InnerProduct", "Softmax", "InnerProduct"]
    assert [op.latency_ms for op in profile.operators] == [0.075, 0.101, 0.044]
    first, softmax, last = profile.operators
    assert first.post_ops == ("gelu_tanh",)
    assert first.inputs[1] == Tensor("641:0", (256, 256), "fp32")
    assert first.weight.name == "641:0"
    assert first.weight.shape == (256, 256)
    assert first.flops == 2 * 1024 * 256 * 256
    assert (softmax.weight, softmax.sparse_support) == (None, False)
    assert (last.weight.shape, last.weight.name, last.weight.zero_ratio) == ((256, 1024), "b:0", 0.875)
    assert [op.sparse_support for op in profile.operators] == [True, False, True]
    assert read.targets == (0.9, None, None)
    assert read.ratios.levels == (0.9, 0.8, 0.7)
    assert [row.shape for row in read.ratios.rows] == [(256, 256), (256, 1024)]
    assert all(set(row.ratios.values()) == {4.0} and row.others == 1 for row in read.ratios.rows)
    assert (profile.created, profile.instance) == (datetime(2023, 5, 4, 10, 11, 12), 3)
    assert not read.notes


@pytest.mark.parametrize("text", [NEWER, OLDER, SAVED], ids=["newer", "older", "saved by a spreadsheet"])
def test_reading_and_writing_gives_the_engines_file(tmp_path: Path, text: str):
    read = read_profile_csv(write(tmp_path, text))
    assert profile_csv(read.profile, ratios=read.ratios, targets=read.targets) == NEWER


def test_an_edited_latency_gives_totals_from_the_rows(tmp_path: Path):
    read = read_profile_csv(write(tmp_path, NEWER))
    first = replace(read.profile.operators[0], latency_ms=1.0)
    changed = replace(read.profile, operators=(first, *read.profile.operators[1:]))
    lines = profile_csv(changed, ratios=read.ratios, targets=read.targets).splitlines()
    assert "total latency(ms),1.145," in lines[-3]
    assert "sparse support latency(ms),1.044," in lines[-2]


def test_the_users_ratios_and_targets_are_kept(tmp_path: Path):
    text = NEWER.replace("256x256,4.000000,4.000000,4.000000,1", "256x256,5.5,3.25,2,1.1").replace(" 90%", "85%")
    read = read_profile_csv(write(tmp_path, text))
    row = read.ratios.rows[0]
    assert (dict(row.ratios), row.others) == ({0.9: 5.5, 0.8: 3.25, 0.7: 2.0}, 1.1)
    assert row.source.startswith("user")
    assert read.targets[0] == 0.85


def test_a_ratio_typed_over_the_lookup_is_noted(tmp_path: Path):
    read = read_profile_csv(write(tmp_path, SAVED.replace(",90%,4,0.019", ",90%,3.3,0.023")))
    assert read.notes == (
        "row 5: the perf ratio 3.3 typed there was not taken over; the ratio table gives 4 for 256x256 at 90%",
    )


def test_rows_that_do_not_add_up_to_the_stated_total_are_noted(tmp_path: Path):
    read = read_profile_csv(write(tmp_path, NEWER.replace("true,0.075", "true,0.750")))
    assert "states a total latency of 0.221 ms, but its rows add up to 0.895 ms" in read.notes[0]


def test_scalars_that_the_engine_prints_without_separator_are_put_right(tmp_path: Path):
    """Its program prints neither shape nor comma for a scalar that stands last."""
    row = "Softmax,,Softmax_1,5:0,8x4x128x128,fp32,"
    broken = NEWER.replace(row, "Gather,,g,5:0;i:0,30522x256;fp32;s32,").replace("Gather", "Softmax")
    read = read_profile_csv(write(tmp_path, broken))
    assert read.profile.operators[1].inputs == (Tensor("5:0", (30522, 256), "fp32"), Tensor("i:0", (), "s32"))


BAD = {
    "wrong column": (
        NEWER.replace("operator latency (ms)", "latency"),
        r"row 4, column M.*'latency', expected 'operator",
    ),
    "column missing": (
        NEWER.replace("weight sparse ratio,sparse support,op", "sparse support,op", 1),
        "row 4, column K",
    ),
    "semicolons": (NEWER.replace(",", ";"), "separated by semicolons"),
    "decimal comma in a latency": (
        NEWER.replace("true,0.075", 'true,"0,075"'),
        r"row 5, column M: '0,075' has a decimal comma",
    ),
    "decimal comma, unquoted": (
        NEWER.replace("true,0.075", "true,0,075"),
        r"row 5 has 17 columns, expected 16; decimal commas",
    ),
    "decimal comma in a ratio": (
        NEWER.replace("4.000000,4", '"4,000",4', 1),
        r"row 2, column B: '4,000' has a decimal comma",
    ),
    "decimal comma in the ratio row": (NEWER.replace("4.000000", "4,000", 3), r"row 2 has 8 columns, expected 5"),
    "decimal comma in a target": (NEWER.replace(" 90%", '"87,5%"', 1), r"row 5, column N: '87,5%' has a decimal comma"),
    "latency no number": (NEWER.replace("true,0.075", "true,n/a"), r"row 5, column M: 'n/a' is not a latency in ms"),
    "latency negative": (NEWER.replace("true,0.075", "true,-1"), r"row 5, column M"),
    "latency NaN": (NEWER.replace("true,0.075", "true,nan"), r"row 5, column M"),
    "target of 100 %": (NEWER.replace(" 90%", "100%", 1), "column N: a sparsity of 100% is out of range"),
    "ratio of zero": (NEWER.replace("4.000000", "0", 1), r"row 2, column B: a perf ratio is above 0"),
    "level no number": (NEWER.replace("90% 4x1", "high 4x1"), r"row 1, column B: 'high 4x1 perf ratio' names no"),
    "shape twice": (NEWER.replace("256x1024,4.0", "256x256,4.0"), "row 3: the weight shape 256x256 stands twice"),
    "support is a word": (NEWER.replace(",true,", ",maybe,", 1), r"row 5, column L: 'maybe' is neither true nor empty"),
    "no operators": (NEWER[: NEWER.index("InnerProduct")] + NEWER[NEWER.index(",,,,,,,,,,,total") :], "no operators"),
    "cut in the totals": (NEWER[: NEWER.index(",,,,,,,,,,,total")], r"ends after row 7 without its totals"),
    "cut in a row": (NEWER[: NEWER.index("Softmax_1,5:0") + 9], "without its totals"),
    "cut in the ratios": (NEWER[:100], "no row with the column names"),
    "names and dtypes differ": (
        NEWER.replace("fp32;fp32;fp32,Add", "fp32;fp32;fp32;fp32;fp32,Add"),
        "row 5: the input tensors",
    ),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_bad_files_are_one_clear_sentence(tmp_path: Path, text: str, message: str):
    with pytest.raises(FormatError, match=message) as caught:
        read_profile_csv(write(tmp_path, text))
    assert "profiling_2023" in str(caught.value)
    assert "\n" not in str(caught.value)


texts = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=12)


@pytest.mark.property
@given(st.one_of(texts, st.text("'=+-@ \t\n\"a,;", max_size=6)))
def test_quoting_round_trips_and_never_leaves_a_formula(text: str):
    assert shown(safe(text)) == text
    assert safe(text).lstrip()[:1] not in ("=", "+", "-", "@")


@pytest.mark.property
@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.one_of(texts, st.text("'=+-@ \t\n\"a,;", max_size=6)),
            st.sampled_from([None, (4, 8), (8, 4), (256, 1024)]),
            st.floats(0, 100).map(lambda v: round(v, 3)),
            st.sampled_from([None, 0.9, 0.8, 0.7, 0.85, 0.955]),
        ),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from([(0.9, 0.8, 0.7), (0.95, 0.9), (0.5,)]),
)
def test_any_profile_survives_csv_and_back(tmp_path_factory, rows, levels):
    ops, targets = [], []
    for i, (name, shape, ms, target) in enumerate(rows):
        ops.append(operator(i, "Relu", name, ms) if shape is None else product(i, "MatMul", name, shape, ms))
        ops[-1] = replace(ops[-1], outputs=(Tensor(name, (), "fp32"),), post_ops=(name,) if name else ())
        targets.append(target if shape is not None else None)
    table = RatioTable(
        levels, tuple(RatioRow(s, {v: 1 + v * n for v in levels}, 1.0, "user") for n, s in enumerate([(8, 4), (4, 8)]))
    )
    text = profile_csv(profile_of(ops), ratios=table, targets=targets)
    path = write(tmp_path_factory.mktemp("csv"), text)
    read = read_profile_csv(path)
    assert profile_csv(read.profile, ratios=read.ratios, targets=read.targets) == text
    assert read.targets == tuple(targets)
    for op, back in zip(ops, read.profile.operators, strict=True):
        assert (back.name, back.outputs, back.inputs) == (op.name, op.outputs, op.inputs)
        assert math.isclose(back.latency_ms, op.latency_ms)
        assert (back.weight and back.weight.shape) == (op.weight and op.weight.shape)


def _event(tid: str, name: str, ts: float, dur: float, **args: str) -> dict:
    event = {"cat": "InnerProduct" if args else tid.lower(), "dur": dur, "name": name, "ph": "X", "pid": 0, "tid": tid}
    return {**event, "ts": ts, **({"args": args} if args else {})}


def engine_trace(*durations: tuple[float, float]) -> dict:
    """A trace in the engine's words: an InnerProduct with a constant second input, then a Matmul of activations."""
    events = [_event("inference", "model_inference", 0, sum(map(sum, durations)))]
    for n, (a, b) in enumerate(durations):
        events.append(_event("Iteration", f"Iteration{n}", 0, a + b))
        events.append(
            _event("Operator", "Add_284", 0, a, reshape_time="0.004ms", forward_time=f"{a / 1000 - 0.004:g}ms",
                   input_tensor_name="onnx::MatMul_357:0,onnx::MatMul_358:0,bias:0", input_type="fp32,fp32,fp32,",
                   input_shape="64*1024,256*1024,256", output_tensor_name="input.44:0", output_type="fp32",
                   output_shape="64*256", attributes="append_op:sum;src1_perm:1,0")
        )  # fmt: skip
        events.append(
            _event("Operator", "Add_285", a, b, input_tensor_name="input.44:0,input.44:0", input_type="fp32,fp32",
                   input_shape="64*256,64*256", output_tensor_name="o:0", output_type="fp32", output_shape="64*64",
                   attributes="")
        )  # fmt: skip
    return {"otherData": {}, "traceEvents": events}


@pytest.mark.byhand
def test_the_engines_trace(tmp_path: Path):
    """The seed's example event; the first iteration, which prepares shapes, doesn't count."""
    path = tmp_path / "profiling_2023-05-04_10-11-12_0.json"
    path.write_text(json.dumps(engine_trace((900, 9), (40, 10), (44, 14), (50, 11))))
    read = read_trace(path)
    first, second = read.profile.operators
    assert (first.name, first.operator_type, first.latency_ms, first.latency_min_ms) == (
        "Add_284",
        "InnerProduct",
        0.044,
        0.04,
    )
    assert first.post_ops == ("sum",)
    assert (first.weight.shape, first.weight.name, first.sparse_support) == ((256, 1024), "onnx::MatMul_358:0", True)
    assert first.inputs[0] == Tensor("onnx::MatMul_357:0", (64, 1024), "fp32")
    assert (second.weight, second.sparse_support, second.latency_ms) == (None, False, 0.011)
    assert (read.profile.iterations, read.profile.warmup) == (3, 1)
    assert "does not say which tensors are constants" in read.notes[0]


def test_a_cut_trace_and_uneven_iterations(tmp_path: Path):
    path = tmp_path / "t.json"
    whole = json.dumps(engine_trace((1, 2), (3, 4)))
    path.write_text(whole[:-40])
    with pytest.raises(FormatError, match=r"t.json: the JSON is cut short at line 1, column \d+; write or copy"):
        read_trace(path)
    document = engine_trace((1, 2), (3, 4))
    document["traceEvents"].pop()
    path.write_text(json.dumps(document))
    with pytest.raises(FormatError, match=r"iteration 1 has other operators \(1\) than the first \(2\)"):
        read_trace(path)
