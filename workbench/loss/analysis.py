"""A model (and data) → a loss profile."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np
import onnx

from workbench.errors import ModelError, WorkbenchError
from workbench.loss.approximate import approximate_sensitivities
from workbench.loss.data import DataSource
from workbench.loss.layers import FIRST_LAYER, NOT_CHOSEN, PrunableLayer, prunable_layers
from workbench.loss.magnitude import removed_share, sensitivity_at
from workbench.loss.metrics import CustomMetric, Metric, loss_of
from workbench.loss.patterns import Pattern
from workbench.loss.rows import layer_row, layer_sensitivity, rank_correlation
from workbench.profile import RATED_LEVEL, LayerLoss, LossProfile, rated_level
from workbench.profiling.loading import LoadedModel, all_tensors, load_model
from workbench.profiling.machine import usable_cores
from workbench.profiling.samples import cache_folder, resolve_model
from workbench.profiling.sessions import runtime_version

LEVELS: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99)
"""The levels of a profile unless others are asked for: those of the sources' one-shot analysis."""

MEMORY_BYTES = 1 << 30
"""Data and dense outputs above this go to a temporary folder."""

CONTROL_LIMIT = 1e-3
"""Relative difference of dense outputs above which a measured profile carries a warning."""

MAGNITUDE, MEASURED, APPROXIMATED = "magnitude", "measured", "approximated"

MAGNITUDE_METRIC = "mean |w| of the last 1 % removed"
APPROXIMATE_METRIC = "(input volume + output volume) / parameters x max(in/out, out/in)"

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class _Choices:
    """What is looked at."""

    name: str
    pattern: Pattern
    levels: tuple[float, ...]
    layers: tuple[str, ...]
    include_first: bool
    include_grouped: bool

    def of(self, model: LoadedModel) -> tuple[PrunableLayer, ...]:
        found = prunable_layers(
            model,
            pattern=self.pattern,
            include_first=self.include_first,
            include_grouped=self.include_grouped,
            only=self.layers,
        )
        if not found:
            raise ModelError(
                "no matrix product or convolution has a constant weight, so there is nothing to prune",
                where=model.path,
                remedy="check the export: weights should be initializers",
            )
        return found


@dataclass(frozen=True)
class _Run:
    """How losses are measured."""

    data: DataSource
    metric: Metric | str | CustomMetric
    batch: int
    threads: int
    journals: Path | None
    progress: Progress


def loss_profile(
    model: str | Path,
    *,
    name: str = "loss",
    data: DataSource | None = None,
    metric: Metric | str | CustomMetric = Metric.KL,
    pattern: Pattern | str = Pattern.BLOCK_4X1,
    levels: Sequence[float] = LEVELS,
    layers: Sequence[str] = (),
    include_first: bool = False,
    include_grouped: bool = False,
    approximate: bool = False,
    dims: Mapping[str, int] | None = None,
    batch: int = 8,
    threads: int | None = None,
    resume: bool = True,
    progress: Progress | None = None,
) -> LossProfile:
    """How sensitive each prunable layer of `model` (a file, or a sample's name) is to pruning.

    With `data`, losses are measured: each layer is pruned alone at each of `levels`, and `metric` compares the
    outputs with the dense model's (`kl`, `mse`, `cross-entropy`, or a function of dense outputs, pruned outputs and
    labels). Without, the magnitude of the weights speaks; with `approximate`, or where the file of the weights is
    missing, the architecture alone (`dims` sets its symbolic dimensions).

    `data` is an .npz file of arrays by input name (samples along the first axis), a folder of such files, a mapping,
    an iterable of mappings, or a function that returns one; at most `batch` samples run at once. An interrupted
    measurement goes on where it stopped, unless `resume` is False.
    Raises `ModelError` for a model or data that won't do, `WorkbenchError` for settings that won't.
    """
    choices = _Choices(
        name, _pattern(pattern), _checked_levels(levels), tuple(layers), include_first, include_grouped
    )  # fmt: skip
    source = resolve_model(model)
    loaded = load_model(source, weights_needed=False)
    missing = _missing_files(loaded)
    if data is None and (approximate or missing):
        return _approximated(loaded, choices, dims or {}, missing)
    if approximate:
        raise WorkbenchError(
            "an approximation from the architecture takes no data", where="--approximate", remedy="leave --data out"
        )
    loaded = load_model(source)
    if data is None:
        return _by_magnitude(loaded, choices)
    if batch < 1:
        raise WorkbenchError(f"a batch of {batch} holds nothing", where="--batch", remedy="give 1 or more")
    run = _Run(
        data, metric, batch, threads or len(usable_cores()), cache_folder() / "loss" if resume else None,
        progress or (lambda stage, done: None),
    )  # fmt: skip
    return _measured(loaded, choices, run)


def _by_magnitude(model: LoadedModel, choices: _Choices) -> LossProfile:
    rows = []
    for layer in choices.of(model):
        values: dict[float, float] = {}
        compared: dict[str, dict[float, float]] = {}
        if not layer.hindrance:
            weight = layer.weight(model)
            if not np.isfinite(weight).all():
                rows.append(layer_row(replace(layer, skipped="the weight holds NaN or infinite values"), {}, {}))
                continue
            values = sensitivity_at(weight, choices.levels, choices.pattern)
            fitting = [other for other in Pattern if other.fits(weight.shape[0])]
            compared = {
                f"sensitivity, {other.value}": sensitivity_at(weight, choices.levels, other)
                for other in fitting
                if other is not choices.pattern
            }
            for other in fitting:
                compared[f"share of |w| removed, {other.value}"] = removed_share(weight, choices.levels, other)
        rows.append(layer_row(layer, values, compared))
    return _profile(model, choices, MAGNITUDE, MAGNITUDE_METRIC, rows)


def _measured(model: LoadedModel, choices: _Choices, run: _Run) -> LossProfile:
    from workbench.loss.feeding import feedable
    from workbench.loss.measuring import measure_losses

    loss = loss_of(run.metric)
    found = [replace(layer, skipped=layer.skipped or feedable(model, layer)) for layer in choices.of(model)]
    # The first layer is measured, too, though it doesn't count: a plan may want to know what it would cost.
    wanted = [layer for layer in found if not layer.skipped or layer.skipped == FIRST_LAYER]
    measured = {layer.product.weight_name for layer in wanted}
    if all(layer.skipped for layer in found):
        telling = next((layer for layer in found if layer.skipped != NOT_CHOSEN), found[0])
        raise ModelError(
            f"no layer is left to measure (e.g. {telling.name!r}: {telling.skipped})",
            where=model.path,
            remedy="name some with --layers, or choose another --pattern",
        )
    made = measure_losses(
        model,
        wanted,
        data=run.data,
        loss=loss,
        pattern=choices.pattern,
        levels=choices.levels,
        batch=run.batch,
        threads=run.threads,
        journals=run.journals,
        memory_bytes=MEMORY_BYTES,
        progress=run.progress,
    )
    rows = []
    for layer in found:
        compared = {}
        if layer.product.weight_name in measured:
            compared[MAGNITUDE] = sensitivity_at(layer.weight(model), choices.levels, choices.pattern)
        rows.append(layer_row(layer, made.losses.get(layer.product.weight_name, {}), compared))
    settings = {
        "data": _name_of(run.data),
        "samples": f"{made.samples:,} in {made.batches:,} runs of at most {run.batch}",
        "runtime": f"{runtime_version()}, {run.threads} threads",
    }
    settings["dense control run"] = f"outputs within {made.control:.1g} of the unchanged model's, relative"
    warnings = []
    if made.control > CONTROL_LIMIT:
        warnings.append(
            f"dense outputs differ by {made.control:.1%} from the unchanged model's, whose constant weights "
            "ONNX Runtime runs in lower precision"
        )
    if not math.isnan(made.run_ms):
        settings["time of a run"] = f"{made.run_ms:.3g} ms with a layer pruned, and as much as the metric takes"
    settings["agreement with magnitudes"] = _agreement(rows, choices.levels)
    return _profile(model, choices, MEASURED, loss.name, rows, made.samples, settings, warnings)


def _approximated(
    model: LoadedModel, choices: _Choices, dims: Mapping[str, int], missing: Sequence[str]
) -> LossProfile:
    level = RATED_LEVEL
    choices = replace(choices, levels=(0.0, level))
    layers = choices.of(model)
    values = approximate_sensitivities(model, layers, dims)
    rows = []
    for layer in layers:
        value = values.get(layer.product.weight_name)
        known = {} if value is None else {0.0: 0.0, level: value}
        note = layer.note if known else "; ".join(filter(None, (layer.note, "its shapes can't be inferred")))
        rows.append(layer_row(replace(layer, note=note), known, {}))
    warnings = ["approximated from the architecture: weights and data played no part; the level neither"]
    if missing:
        warnings.append(f"the weights are missing: no file {missing[0]!r} beside the model")
    return _profile(model, choices, APPROXIMATED, APPROXIMATE_METRIC, rows, warnings=warnings)


def _profile(
    model: LoadedModel,
    choices: _Choices,
    method: str,
    metric: str,
    rows: Sequence[LayerLoss],
    samples: int = 0,
    settings: Mapping[str, str] | None = None,
    warnings: Sequence[str] = (),
) -> LossProfile:
    return LossProfile(
        name=choices.name,
        model=model.info,
        method=method,
        pattern=choices.pattern.value,
        metric=metric,
        levels=choices.levels,
        layers=tuple(rows),
        created=datetime.now().astimezone(),
        samples=samples,
        warnings=tuple(warnings),
        settings=dict(settings or {}),
    )


def _agreement(rows: Sequence[LayerLoss], levels: Sequence[float]) -> str:
    """How the measured ranking agrees with that by magnitude, in words."""
    at = rated_level(levels)
    pairs = [
        (measured, row.other_patterns[MAGNITUDE][at])
        for row in rows
        if not row.skipped and (measured := layer_sensitivity(row, levels)) is not None
    ]
    correlation = rank_correlation([a for a, _ in pairs], [b for _, b in pairs])
    if correlation is None:
        return f"not known: too few layers differ ({len(pairs)})"
    return f"Spearman's rank correlation {correlation:.3f} at {at * 100:g} % over {len(pairs)} layers"


def _pattern(pattern: Pattern | str) -> Pattern:
    try:
        return Pattern(pattern)
    except ValueError:
        raise WorkbenchError(
            f"there is no pattern {pattern!r}", where="--pattern", remedy=f"choose one of {', '.join(Pattern)}"
        ) from None


def _checked_levels(levels: Sequence[float]) -> tuple[float, ...]:
    """Ascending, each once, with 0."""
    wrong = next((level for level in levels if not 0 <= level < 1), None)
    if wrong is not None:
        raise WorkbenchError(
            f"{wrong:g} is no level",
            where="--levels",
            remedy="give shares from 0 to below 1, e.g. 0.7,0.8,0.9",
        )
    known = tuple(sorted({0.0, *(round(float(level), 6) for level in levels)}))
    if len(known) < 2:
        raise WorkbenchError("no level above 0 is given", where="--levels", remedy="give e.g. 0.7,0.8,0.9")
    return known


def _missing_files(model: LoadedModel) -> list[str]:
    """Files of external data that aren't there."""
    named = {
        entry.value
        for tensor in all_tensors(model.proto.graph)
        if tensor.data_location == onnx.TensorProto.EXTERNAL
        for entry in tensor.external_data
        if entry.key == "location"
    }
    return sorted(name for name in named if not (model.folder / name).is_file())


def _name_of(data: DataSource) -> str:
    if isinstance(data, str | Path):
        return Path(data).name
    if callable(data):
        return f"function {getattr(data, '__name__', type(data).__name__)}"
    return "arrays"
