"""Layer times by sparsity as ratio tables: SPDY's text files and SparseML's performance sensitivity JSON.

SPDY: `base`, seconds, `prunable`, seconds, then for each layer its name and lines `seconds sparsity`. SparseML
(`PruningPerfSensitivityAnalysis.save_json`): `results`, each with `id`, `name` and `sparse_measurements`
[[sparsity, [seconds, …]], …]. A perf ratio is the dense time over the time at the level, between measured sparsities
by linear interpolation; layers of one shape give their median. The files don't say dtype, batch or pattern.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from statistics import mean, median

from workbench.errors import FormatError
from workbench.exchange.imported import ImportedProfile
from workbench.exchange.joining import ModelNames
from workbench.exchange.source import Source
from workbench.profile import LEVELS, RatioRow, RatioTable
from workbench.profile import Source as RatioSource

Curve = Sequence[tuple[float, float]]
"""(sparsity, seconds), ascending; the first is dense."""


def looks_like_spdy(source: Source) -> bool:
    """Whether the text begins with `base` and a time."""
    lines = source.text[:200].split()
    return len(lines) > 2 and lines[0] == "base" and lines[2:3] == ["prunable"]


def looks_like_sparseml(source: Source) -> bool:
    """Whether the JSON is one of SparseML's sensitivity analyses."""
    results = source.document.get("results") if isinstance(source.document, dict) else None
    return isinstance(results, list) and any(isinstance(r, dict) and "sparse_measurements" in r for r in results)


def read_spdy(source: Source) -> ImportedProfile:
    """The ratio table of an SPDY timing file. Needs the model, for the layers' weight shapes."""
    return _table(source, _spdy_curves(source.text, source.path), "SPDY timings")


def read_sparseml(source: Source) -> ImportedProfile:
    """The ratio table of SparseML's performance analysis. Needs the model, for the layers' weight shapes."""
    document, path = source.document, source.path
    assert isinstance(document, dict)
    if "results_model" not in document:
        raise FormatError(
            "this is a loss sensitivity analysis, which has no times",
            where=path,
            remedy="name one of pruning_perf_sens_one_shot",
        )
    return _table(source, _sparseml_curves(document, path), "SparseML timings")


def _spdy_curves(text: str, path: Path) -> dict[tuple[str, ...], Curve]:
    curves: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    current: list[tuple[float, float]] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if number <= 4 or not words:
            continue
        if len(words) == 1:
            current = curves.setdefault((words[0],), [])
            continue
        try:
            seconds, sparsity = float(words[0]), float(words[1])
        except ValueError:
            seconds = sparsity = -1.0
        if current is None or len(words) != 2 or not (0 < seconds < 1e6 and 0 <= sparsity < 1):
            raise FormatError(
                f"line {number}: {line.strip()!r} is not 'seconds sparsity'", where=path, remedy="correct the line"
            )
        current.append((sparsity, seconds))
    return {names: sorted(curve) for names, curve in curves.items()}


def _sparseml_curves(document: Mapping[str, object], path: Path) -> dict[tuple[str, ...], Curve]:
    curves: dict[tuple[str, ...], Curve] = {}
    results = document["results"]
    assert isinstance(results, list)
    for number, result in enumerate(results):
        try:
            points = {float(level or 0.0): mean(map(float, times)) for level, times in result["sparse_measurements"]}
        except (TypeError, ValueError, KeyError, IndexError, OverflowError):
            raise FormatError(
                f"result {number}: its 'sparse_measurements' are not [sparsity, [seconds, …]] pairs",
                where=path,
                remedy="write the analysis again",
            ) from None
        curves[str(result.get("id")), str(result.get("name"))] = sorted(points.items())
    return curves


def _table(source: Source, curves: Mapping[tuple[str, ...], Curve], what: str) -> ImportedProfile:
    path = source.path
    if source.model is None:
        raise FormatError(
            f"{what} name layers, not weight shapes", where=path, remedy="give the model they are of with --model"
        )
    names = ModelNames(source.model)
    found: dict[tuple[int, ...], list[Mapping[float, float]]] = defaultdict(list)
    unknown: list[str] = []
    other = 0
    for layer, curve in curves.items():
        weight = next((w for name in layer if (w := names.weight_called(name)) is not None), None)
        if weight is None:
            unknown.append(layer[0])
            continue
        shape = _matrix(weight.shape)
        if shape is None or not curve or curve[0][0] != 0:
            other += 1
            continue
        found[shape].append(ratios(curve))
    if not found:
        raise FormatError(
            f"none of its {len(curves)} layers is a matrix product of {names.path.name}",
            where=path,
            remedy="are the timings of another model?",
        )
    notes = ["the file does not say dtype, batch, cores or pruning pattern: compare only like with like"]
    if unknown:
        notes.append(f"{len(unknown)} layers are not in {names.path.name}, the first is {unknown[0]!r}")
    if other:
        notes.append(
            f"{other} layers are convolutions with a kernel above 1x1, or lack a dense time, and were left out"
        )
    rows = [
        RatioRow(shape, _medians(several), 1.0, f"{RatioSource.LITERATURE.value}: {what}, {path.name}")
        for shape, several in sorted(found.items())
    ]
    return ImportedProfile(None, RatioTable(LEVELS, tuple(rows)), None, tuple(notes))


def ratios(curve: Curve, levels: Sequence[float] = LEVELS) -> dict[float, float]:
    """Dense time over the time at each level that the curve reaches."""
    dense = curve[0][1]
    found: dict[float, float] = {}
    for level in levels:
        above = next((n for n, (sparsity, _) in enumerate(curve) if sparsity >= level), None)
        if above is None or above == 0:
            continue
        (s0, t0), (s1, t1) = curve[above - 1], curve[above]
        seconds = t0 + (t1 - t0) * (level - s0) / (s1 - s0)
        if seconds > 0:
            found[level] = float(f"{dense / seconds:.5g}")
    return found


def _matrix(shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """N x K of a matrix product or a 1x1 convolution."""
    return shape[:2] if len(shape) >= 2 and prod(shape[2:]) == 1 else None


def _medians(several: Sequence[Mapping[float, float]]) -> dict[float, float]:
    levels = sorted({level for one in several for level in one}, reverse=True)
    return {level: median(one[level] for one in several if level in one) for level in levels}
