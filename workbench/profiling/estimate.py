"""A profile without running the model: shapes by inference, times by operations and bytes (roofline).

Every latency is `max(operations / peak, bytes / bandwidth)`, which no operator beats and most miss; the
profile's provenance says that it is estimated. Peak and bandwidth are measured here where not given.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path

import numpy as np
import onnx

from workbench.profile import OperatorRecord, PerformanceProfile, Provenance
from workbench.profiling.dtypes import SHORT_NAMES
from workbench.profiling.inputs import model_inputs, resolve_dims
from workbench.profiling.loading import LoadedModel, load_model
from workbench.profiling.machine import chosen_cores, this_machine
from workbench.profiling.origin import Origin
from workbench.profiling.records import TensorType, Timing, initializer_types, operator_record, weight_records
from workbench.profiling.runs import Progress
from workbench.profiling.samples import resolve_model
from workbench.profiling.sessions import open_session, session_options
from workbench.profiling.shapes import inferred_graph
from workbench.profiling.weights import find_products

_UNKNOWN = Timing(0.0, math.nan, 0.0)
_MEASURED_SIZE = 1024


def estimate_model(
    model: str | Path,
    *,
    name: str = "FLOPS",
    batch: int | None = None,
    dims: Mapping[str, int] | None = None,
    cores: int | None = None,
    peak_gflops: float | None = None,
    bandwidth_gbs: float | None = None,
    progress: Progress | None = None,
) -> PerformanceProfile:
    """The profile of `model` by theory; nothing of it runs. `peak_gflops` in 10^9 operations/s, `bandwidth_gbs`
    in 10^9 bytes/s, measured on this machine where None.

    Operators are the original model's nodes, without the runtime's fusions. An operator whose shapes can't
    be inferred counts 0 ms and says so.
    """
    if progress is not None:
        progress("reading the model", 0.0)
    loaded = load_model(resolve_model(model))
    used = chosen_cores(cores)
    resolved = resolve_dims(model_inputs(loaded.proto), batch, dims or {}, loaded.path)
    graph = inferred_graph(loaded, resolved)
    if progress is not None:
        progress("measuring this machine's peak", 0.3)
    peak = peak_gflops if peak_gflops is not None else measured_peak_gflops(len(used))
    bandwidth = bandwidth_gbs if bandwidth_gbs is not None else measured_bandwidth_gbs()
    operators = _operators(loaded, graph, peak, bandwidth)
    unknown = sum(1 for o in operators if o.flops is None)
    warnings = ["latencies are estimated from operations and bytes, not measured"]
    if unknown:
        warnings.append(f"{unknown} operators have no count of operations; their time is by bytes, or 0")
    given = "given" if peak_gflops is not None else "measured here"
    return PerformanceProfile(
        name=name,
        model=loaded.info,
        machine=this_machine(),
        batch=resolved.batch,
        dims=dict(resolved.values),
        assumed_dims=resolved.assumed,
        cores=len(used),
        threads=len(used),
        instances=1,
        runtime=f"none: {peak:.0f} GFLOP/s ({given}), {bandwidth:.1f} GB/s",
        operators=operators,
        end_to_end_ms=None,
        end_to_end_spread=math.nan,
        profiled_ms=None,
        warmup=0,
        iterations=0,
        sessions=0,
        created=datetime.now().replace(microsecond=0),
        provenance=Provenance.ESTIMATED,
        warnings=tuple(warnings),
        settings={"model path": str(loaded.path.resolve())},
    )


@cache
def measured_peak_gflops(threads: int) -> float:
    """GFLOP/s of an fp32 1024 x 1024 x 1024 product in ONNX Runtime on `threads` threads, best of 12 runs."""
    n = _MEASURED_SIZE
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["a", "b"], ["c"], name="product")],
        "peak",
        [value(t, onnx.TensorProto.FLOAT, [n, n]) for t in "ab"],
        [value("c", onnx.TensorProto.FLOAT, [n, n])],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)])
    model.ir_version = 8
    session = open_session(model.SerializeToString(), session_options(threads), Path("peak"))
    operand = np.ones((n, n), np.float32)
    best = math.inf
    for _ in range(12):
        started = time.perf_counter()
        session.run(None, {"a": operand, "b": operand})
        best = min(best, time.perf_counter() - started)
    return 2.0 * n**3 / best / 1e9


@cache
def measured_bandwidth_gbs() -> float:
    """GB/s of copying 64 MB, read and write counted, best of 8."""
    source = np.ones(8_000_000)
    target = np.empty_like(source)
    best = math.inf
    for _ in range(8):
        started = time.perf_counter()
        np.copyto(target, source)
        best = min(best, time.perf_counter() - started)
    return 2.0 * source.nbytes / best / 1e9


def _operators(model: LoadedModel, graph: onnx.GraphProto, peak: float, bandwidth: float) -> tuple[OperatorRecord, ...]:
    products = {p.output: p for p in find_products(model.proto, model.folder)}
    weights = weight_records(model, tuple(products.values()))
    types: dict[str, TensorType] = dict(initializer_types(graph))
    for value in (*graph.input, *graph.value_info, *graph.output):
        types[value.name] = _type(value)
    constant = {t.name for t in graph.initializer}
    records: list[OperatorRecord] = []
    for node in graph.node:
        if node.op_type == "Constant" or (node.input and all(not i or i in constant for i in node.input)):
            constant.update(node.output)
            continue
        origin = Origin((node,), node, products.get(node.output[0]), ())
        record = operator_record(len(records), node, origin, weights, types, _UNKNOWN, Provenance.ESTIMATED)
        records.append(_timed(record, peak, bandwidth))
    return tuple(records)


def _timed(record: OperatorRecord, peak: float, bandwidth: float) -> OperatorRecord:
    # Integer products of 8 bits run on the same peak here: no rate of their own is measured.
    by_operations = (record.flops or 0.0) / (peak * 1e9)
    by_bytes = (record.bytes_moved or 0.0) / (bandwidth * 1e9)
    latency_ms = 1000.0 * max(by_operations, by_bytes)
    note = record.note if latency_ms or record.flops is not None else "shapes not known: counted as 0 ms"
    return replace(record, latency_ms=latency_ms, latency_min_ms=latency_ms, note=note)


def _type(value: onnx.ValueInfoProto) -> TensorType:
    tensor = value.type.tensor_type
    dtype = SHORT_NAMES.get(tensor.elem_type, "?")
    if not tensor.HasField("shape"):
        return None, dtype
    dims = tensor.shape.dim
    if not all(d.HasField("dim_value") for d in dims):
        return None, dtype
    return tuple(d.dim_value for d in dims), dtype
