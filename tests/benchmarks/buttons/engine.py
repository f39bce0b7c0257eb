"""How fast the LibreOffice engine is: reading, writing, calculating, saving 5,000 operators.

    python tests/benchmarks/buttons/engine.py [ROWS]

Medians and the slowest of five runs, after one to warm up. One headless LibreOffice, on a profile of its own.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from workbench.buttons import libreoffice

RUNS = 5


def operators(rows: int) -> pd.DataFrame:
    """A table as a profile writes it: texts, numbers, and one column of formulas."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "operator type": rng.choice(["MatMul", "Gemm", "Conv", "Add"], rows),
            "operator name": [f"layer.{i}" for i in range(rows)],
            "weight shape": rng.choice(["256x256", "256x1024", "1024x256"], rows),
            "sparse support": rng.integers(0, 2, rows).astype(float),
            "operator latency (ms)": rng.random(rows),
            "aim to weight sparse ratio": rng.choice([0.9, 0.8, 0.7], rows),
            "aim to sparse latency (ms)": [f"=E{i + 2}/IF(D{i + 2}=1,3,1)" for i in range(rows)],
        }
    )


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    table = operators(rows)
    with tempfile.TemporaryDirectory() as folder, libreoffice.start() as app:
        book = app.books.add()
        sheet = book.sheets[0]
        sheet["A1"].options(index=False).value = table
        area = sheet["A1"].expand()
        path = Path(folder) / "operators.xlsx"
        jobs: dict[str, Callable[[], object]] = {
            "read as DataFrame, with expand()": lambda: sheet["A1"].expand().options(pd.DataFrame, index=False).value,
            "read values as lists": lambda: area.value,
            "read formulas": lambda: area.formula,
            "write DataFrame with a formula column": lambda: (
                sheet["A1"].options(index=False).__setattr__("value", table)
            ),
            "write one cell, read a result": lambda: (sheet["E2"].__setattr__("value", 1.0), sheet["G2"].value),
            "calculate": app.calculate,
            "save": lambda: book.save(path),
        }
        print(f"{rows} rows of {table.shape[1]} columns; LibreOffice {app.version}; milliseconds of {RUNS} runs\n")
        print("| job | median | slowest |\n|---|--:|--:|")
        for name, job in jobs.items():
            job()
            times = []
            for _ in range(RUNS):
                start = time.perf_counter()
                job()
                times.append(1000 * (time.perf_counter() - start))
            print(f"| {name} | {statistics.median(times):.1f} | {max(times):.1f} |")


if __name__ == "__main__":
    main()
