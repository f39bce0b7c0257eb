"""A performance profile as the fields and records that templates name.

Constants only: what was measured or read from the model. Estimates are formulas of the template.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from workbench.book.layout import Record, SheetData, Value
from workbench.book.text import joined
from workbench.profile import (
    LEVELS,
    OperatorRecord,
    PerformanceProfile,
    Provenance,
    RatioTable,
    Tensor,
)
from workbench.ratios import default_ratio_table

DEFAULT_TARGET = 0.9
"""The target sparsity of supported operators at first writing, as in the seed's original program."""

LARGEST_LAYERS = 10

SUMMARY_TYPES = ("Baseline ms", "Pruned 0.7 ms", "Pruned 0.8 ms", "Pruned 0.9 ms", "Aim ms")
"""What the layer-type table can show; the operators sheet's `summary type latency` follows this order."""

_ROLES = {
    Provenance.MEASURED: {
        "latency_role": "measured",
        "sum_role": "plain",
        "aim_role": "formula",
        "result_role": "result",
    },
    Provenance.ESTIMATED: {
        "latency_role": "estimated",
        "sum_role": "approximated",
        "aim_role": "approximated",
        "result_role": "approximated_result",
    },
    Provenance.IMPORTED: {
        "latency_role": "imported",
        "sum_role": "plain",
        "aim_role": "formula",
        "result_role": "result",
    },
}
"""Roles of a latency, of sums of latencies, of estimates from them and of the chief results, by where latencies
come from: what is approximated looks so everywhere."""


def profile_sheets(
    profile: PerformanceProfile,
    object_name: str,
    ratios: RatioTable | None = None,
    targets: Sequence[float | None] | None = None,
) -> tuple[SheetData, SheetData]:
    """The dashboard's and the operator sheet's data."""
    table = ratios if ratios is not None else ratio_table_of(profile)
    operators = [
        operator_record(op, targets[n] if targets is not None else default_target(op))
        for n, op in enumerate(profile.operators)
    ]
    dashboard = SheetData(
        "dashboard",
        profile.name,
        summary_fields(profile),
        {
            "ratios": ratio_records(table),
            "types": type_records(profile),
            "largest": [{"number": n + 1} for n in range(min(LARGEST_LAYERS, len(operators)))],
            "unsupported": reason_records(profile),
            "notes": note_records(profile),
            "pruned": [{"level": level} for level in LEVELS],
            "summary_types": [{"name": name} for name in SUMMARY_TYPES],
            "now_or_aim": [{"label": "now"}, {"label": "at targets"}],
        },
        {"levels": table.levels},
        object_name,
    )
    rows = SheetData("operators", f"{profile.name} ops", {}, {"operators": operators}, {}, object_name)
    return dashboard, rows


def ratio_table_of(profile: PerformanceProfile) -> RatioTable:
    """The default ratios of the profile's weight shapes; those of supported operators come first."""
    supported = {op.weight.shape for op in profile.operators if op.weight and op.sparse_support}
    other = {op.weight.shape for op in profile.operators if op.weight and op.weight.shape} - supported
    first, second = default_ratio_table(supported), default_ratio_table(s for s in other if len(s) == 2)
    return RatioTable(LEVELS, first.rows + second.rows)


def default_target(op: OperatorRecord) -> float | None:
    """The target at first writing: `DEFAULT_TARGET` where supported. What is sparse already was timed dense, too."""
    return DEFAULT_TARGET if op.sparse_support else None


def operator_record(op: OperatorRecord, target: float | None) -> Record:
    """One row of Part 2."""
    weight = op.weight
    return {
        "index": op.index,
        "operator_type": op.operator_type,
        "post_ops": ";".join(op.post_ops),
        "name": op.name,
        "input_names": joined([t.name for t in op.inputs]),
        "input_shapes": joined([shape_text(t) for t in op.inputs]),
        "input_dtypes": joined([t.dtype for t in op.inputs]),
        "output_names": joined([t.name for t in op.outputs]),
        "output_shapes": joined([shape_text(t) for t in op.outputs]),
        "output_dtypes": joined([t.dtype for t in op.outputs]),
        "weight_shape": weight.label if weight else None,
        "zero_ratio": _number(weight.zero_ratio) if weight else None,
        "zero_block_ratio": _number(weight.zero_block_ratio) if weight else None,
        "sparse_support": op.sparse_support,
        "latency_ms": _number(op.latency_ms),
        **_ROLES[op.provenance],
        "aim": target,
        "layer_id": op.layer_id,
        "weight_name": weight.name if weight else None,
        "support_reason": op.support_reason,
        "latency_spread": _number(op.latency_spread),
        "latency_min_ms": _number(op.latency_min_ms),
        "flops": _number(op.flops),
        "bytes_moved": _number(op.bytes_moved),
        "parameters": op.parameters or None,
        "provenance": op.provenance.value,
        "note": op.note,
    }


def shape_text(tensor: Tensor) -> str:
    """`1024x256`; `scalar` for rank 0, `?` where unknown."""
    if tensor.shape is None:
        return "?"
    return "x".join(map(str, tensor.shape)) or "scalar"


def ratio_records(table: RatioTable) -> list[Record]:
    """The rows of Part 1."""
    records: list[Record] = []
    for row in table.rows:
        ratios: dict[str, Value] = {f"ratio {level:g}": row.ratios.get(level) for level in table.levels}
        records.append(ratios | {"shape": row.label, "others": row.others, "source": row.source})
    return records


def type_records(profile: PerformanceProfile) -> list[Record]:
    """Operator types, the most expensive first; types that differ in case only count as one, as in SUMIFS."""
    names: dict[str, str] = {}
    total: Counter[str] = Counter()
    for op in profile.operators:
        key = op.operator_type.casefold()
        names.setdefault(key, op.operator_type)
        total[key] += op.latency_ms  # type: ignore[assignment]
    return [{"operator_type": names[key]} for key, _ in sorted(total.items(), key=lambda item: -item[1])]


def reason_records(profile: PerformanceProfile) -> list[Record]:
    """Why operators aren't supported, the costliest reason first."""
    total: dict[str, float] = {}
    for op in profile.operators:
        if not op.sparse_support:
            total[op.support_reason] = total.get(op.support_reason, 0.0) + op.latency_ms
    return [{"reason": reason} for reason in sorted(total, key=lambda r: -total[r])]


def note_records(profile: PerformanceProfile) -> list[Record]:
    """Warnings first, then settings."""
    warnings: list[Record] = [{"kind": "warning", "text": text} for text in profile.warnings]
    return warnings + [{"kind": name, "text": text} for name, text in profile.settings.items()]


def summary_fields(profile: PerformanceProfile) -> dict[str, Value]:
    """Everything of the model summary that is a fact, and the texts of titles and notes."""
    model, machine = profile.model, profile.machine
    estimated = profile.provenance is Provenance.ESTIMATED
    spread = _number(profile.end_to_end_spread)
    dims = {
        f"{name} = {value}" + (" (assumed)" if name in profile.assumed_dims else "")
        for name, value in profile.dims.items()
    }
    how = {
        Provenance.MEASURED: "measured",
        Provenance.ESTIMATED: "approximated from FLOPs, nothing was run",
        Provenance.IMPORTED: "imported",
    }[profile.provenance]
    return {
        "profile_name": profile.name,
        "headline": " · ".join(
            part
            for part in (
                model.name,
                f"batch {profile.batch}",
                *sorted(dims - {f"batch = {profile.batch}", f"batch = {profile.batch} (assumed)"}),
                f"{profile.cores} core{'s' * (profile.cores != 1)}" if profile.cores else "",
                f"{profile.instances} instances" if profile.instances > 1 else "",
                f"{how} {profile.created:%Y-%m-%d %H:%M}",
            )
            if part
        ),
        **_ROLES[profile.provenance],
        "provenance": profile.provenance.value,
        "provenance_text": how,
        "model_name": model.name,
        "model_hash": model.sha256,
        "opset": model.opset,
        "producer": model.producer,
        "parameters": model.parameters,
        "nodes": model.nodes,
        "operators": len(profile.operators),
        "of_operators": f"of {len(profile.operators):,} operators",
        "batch": profile.batch,
        "dims": ", ".join(sorted(dims)) or "none",
        "cores": profile.cores or "unknown",
        "threads": profile.threads or "unknown",
        "instances": profile.instances,
        "instance": profile.instance,
        "instruction_sets": _instruction_text(machine.instruction_sets) if machine else "unknown",
        "cpu_model": machine.cpu_model if machine else "unknown",
        "cpu_cores": (
            f"{machine.physical_cores} physical, {machine.logical_cores} logical, {machine.usable_cores} usable"
            if machine
            else "unknown"
        ),
        "memory_gib": machine.memory_bytes / 2**30 if machine else None,
        "operating_system": machine.operating_system if machine else "unknown",
        "runtime": profile.runtime,
        "end_to_end_ms": _number(profile.end_to_end_ms),
        "end_to_end_spread": spread,
        "spread_text": f"± {spread:.1%}" if spread is not None else ("not run" if estimated else ""),
        "profiled_ms": _number(profile.profiled_ms),
        "runs": (
            f"{profile.sessions} sessions x {profile.iterations} runs, {profile.warmup} warm-up"
            if profile.iterations
            else "none"
        ),
        "created": f"{profile.created:%Y-%m-%d %H:%M}",
        "latency_kind": "estimated" if estimated else profile.provenance.value,
    }


def _instruction_text(sets: Sequence[str]) -> str:
    """The latest first; those that every CPU with AVX2 has are left out."""
    implied = ("sse4_2", "avx", "f16c") if "avx2" in sets else ()
    return ", ".join(name for name in reversed(sets) if name not in implied)


def summary_record(profile: PerformanceProfile, object_name: str) -> Record:
    """The profile's line in the Summary; its figures are formulas over the profile's defined names."""
    fields = summary_fields(profile)
    first, *rest = str(fields["instruction_sets"]).split(", ")
    return {
        "profile": profile.name,
        "p": object_name,
        "model_name": fields["model_name"],
        "instruction_sets": ", ".join([first, *rest[:1]]) + (f" +{len(rest) - 1}" if len(rest) > 1 else ""),
        "provenance": fields["provenance"],
        **_ROLES[profile.provenance],
    }


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def targets_by_name(profile: PerformanceProfile, targets: Mapping[str, float | None]) -> tuple[float | None, ...]:
    """Targets for the profile's operators from an older book's, by operator name; the default elsewhere."""
    return tuple(targets[op.name] if op.name in targets else default_target(op) for op in profile.operators)
