"""How other libraries do with the same zeros: rows for comparison, never a source of ratios."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.calibration.packing import pruning_mask
from workbench.calibration.product import COMPARISONS, Floats, available_comparisons
from workbench.calibration.sessions import REPEATS, dense_session
from workbench.calibration.timing import Spread, time_in_turn

Progress = Callable[[str, float], None]
NAMES = {"scipy": "SciPy CSR, 1 thread", "torch": "PyTorch CSR"}
"""Libraries that multiply by sparse weights → how they are called where they are compared."""


@dataclass(frozen=True)
class ComparedShape:
    """Dense ONNX Runtime's time over a library's, for one weight shape."""

    library: str
    shape: tuple[int, int]
    tokens: int
    threads: int
    """Of ONNX Runtime; libraries use theirs."""
    ratios: Mapping[float, Spread]


def compare_libraries(
    shapes: Mapping[tuple[int, int], int],
    levels: Sequence[float],
    threads: int,
    *,
    budget_s: float = 3.0,
    progress: Progress | None = None,
) -> tuple[ComparedShape, ...]:
    """For each weight shape (→ tokens) and installed library, ratios as `calibrate_shapes` defines them."""
    libraries = [name for name in available_comparisons() if name in NAMES]
    found: list[ComparedShape] = []
    for number, (shape, tokens) in enumerate(shapes.items()):
        if progress:
            progress(f"comparing {shape[0]}x{shape[1]}", number / len(shapes))
        for library in libraries:
            ratios = _ratios(library, shape, tokens, levels, threads, budget_s)
            found.append(ComparedShape(NAMES[library], shape, tokens, threads, ratios))
    return tuple(found)


def _ratios(
    library: str, shape: tuple[int, int], tokens: int, levels: Sequence[float], threads: int, budget_s: float
) -> dict[float, Spread]:
    rng = np.random.Generator(np.random.PCG64([*shape, tokens]))
    weight = rng.standard_normal(shape, dtype=np.float32)
    x = rng.standard_normal((tokens, shape[1]), dtype=np.float32)
    result = np.empty((tokens, shape[0]), np.float32)
    runs: list[Callable[[], object]] = []
    for level in levels:
        pruned = np.where(pruning_mask(weight, level), np.float32(0), weight)
        runs.append(_run(COMPARISONS[library](pruned), x))
    with dense_session(weight, tokens, threads) as dense:
        dense.feed({"x": x})
        dense.write_into([result] * REPEATS)
        times = time_in_turn([dense.run, *runs], budget_s=budget_s)
    scale = 1 / REPEATS
    ratios = [times.ratio(0, number)[0] for number in range(1, len(levels) + 1)]
    return {
        level: Spread(r.median * scale, r.low * scale, r.high * scale) for level, r in zip(levels, ratios, strict=True)
    }


def _run(product: Callable[[Floats], Floats], x: Floats) -> Callable[[], object]:
    return lambda: product(x)
