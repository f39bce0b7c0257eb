"""Recalculation beside its peers, in one run: whole-process recompute, memory, scenarios.

    python tests/benchmarks/recalc/run.py [--sizes 500,5000,50000] [--repeats 3] [--scenarios 10000] [--timeout 600]

Workbooks come from the project's own writer (`books.py`). Times are wall-clock medians of whole processes, memory is
the largest resident size of the process and its children. `right` says how many of the formula cells in a peer's
output agree with LibreOffice's. Peers that are not installed are left out. Where formualizer's file interface panics,
its time is that of reading and evaluating, and there is no output to compare.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from books import SHAPES, made_up_book

HERE = Path(__file__).parent
LEVELS = (70, 80, 90)
OUTPUT = "sparse_improve_baseline"
SLOWEST_FORMULAS = 500
"""The largest book that `formulas` is given; it takes minutes beyond."""

LARGEST_COMPARED = 5000
"""The largest book whose values are compared cell by cell."""

SYSTEM_PYTHON = "/usr/bin/python3"


@dataclass(frozen=True)
class Run:
    """One whole process: wall-clock seconds and largest resident size in MB; None when it failed."""

    seconds: float | None
    megabytes: float
    note: str = ""


def engines() -> list[str]:
    """The engines that are installed, ours first."""
    found = ["ours"]
    if shutil.which("soffice"):
        found.append("libreoffice")
    return found + [name for name in ("formualizer", "ironcalc", "formulas") if find_spec(name)]


def measured(command: list[str], timeout: float) -> Run:
    """Run a command to its end and measure it with its children."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    largest = 0.0
    while child.poll() is None:
        largest = max(largest, resident_megabytes(child.pid))
        if time.perf_counter() - start > timeout:
            os.killpg(child.pid, 9)
            child.wait()
            return Run(None, largest, f"over {timeout:.0f} s")
        time.sleep(0.005 if time.perf_counter() - start < 2 else 0.05)
    seconds = time.perf_counter() - start
    assert child.stderr is not None
    said = child.stderr.read().decode(errors="replace").strip().splitlines()
    child.stderr.close()
    if child.returncode:
        return Run(None, largest, (said or ["failed"])[-1][:60])
    return Run(seconds, largest)


def resident_megabytes(pid: int) -> float:
    """Resident memory of a process and its descendants, as Linux counts it."""
    total, todo = 0.0, [pid]
    while todo:
        one = todo.pop()
        try:
            fields = Path(f"/proc/{one}/statm").read_text().split()
            for task in Path(f"/proc/{one}/task").iterdir():
                todo += [int(c) for c in (task / "children").read_text().split()]
        except (OSError, ValueError):
            continue
        total += int(fields[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    return total


def recompute_command(engine: str, book: Path, out: Path) -> list[str]:
    """What a person would run."""
    if engine == "ours":
        return [str(Path(sys.executable).with_name("workbench")), "recompute", str(book), "-o", str(out)]
    if engine == "libreoffice":
        profile = out.parent / "lo-profile"
        command = ["soffice", f"-env:UserInstallation={profile.as_uri()}", "--headless", "--norestore"]
        return [*command, "--convert-to", "xlsx", "--outdir", str(out.parent / "lo"), str(book)]
    return [sys.executable, str(HERE / "peers.py"), engine, "recompute", str(book), str(out)]


def recompute_table(folder: Path, sizes: list[int], repeats: int, timeout: float) -> None:
    """Whole-process recompute of blanked workbooks."""
    from workbench.recalc.verify import ALWAYS_RECALCULATE

    user = folder / "lo-profile" / "user"
    user.mkdir(parents=True)
    (user / "registrymodifications.xcu").write_text(ALWAYS_RECALCULATE)
    print(f"{'operators':>9}  {'engine':<12} {'median s':>9} {'spread':>7} {'memory MB':>10} {'times ours':>11}  right")
    for size in sizes:
        book = folder / f"book{size}.xlsx"
        made_up_book(book, size)
        ours: float | None = None
        values: dict[str, dict[str, Any]] = {}
        lines: list[tuple[str, str]] = []
        for engine in engines():
            if engine == "formulas" and size > SLOWEST_FORMULAS:
                continue
            out = folder / "out.xlsx"
            out.unlink(missing_ok=True)
            command = recompute_command(engine, book, out)
            if engine == "libreoffice" and size == sizes[0]:
                measured(command, timeout)  # its first start sets its profile up
            runs = [measured(command, timeout) for _ in range(repeats if size < 50_000 or engine == "ours" else 1)]
            seconds = [run.seconds for run in runs if run.seconds is not None]
            memory = max(run.megabytes for run in runs)
            head = f"{size:>9,}  {engine:<12}"
            if not seconds:
                lines.append((engine, f"{head} {'-':>9} {'':>7} {memory:>10.0f} {'':>11}  {runs[0].note}"))
                continue
            median = statistics.median(seconds)
            ours = median if engine == "ours" else ours
            spread = (max(seconds) - min(seconds)) / median
            times = f"{median / ours:.1f}" if ours else ""
            lines.append((engine, f"{head} {median:>9.2f} {spread:>6.0%} {memory:>10.0f} {times:>11}"))
            written = folder / "lo" / book.name if engine == "libreoffice" else out
            if size <= LARGEST_COMPARED and written.exists():
                values[engine] = formula_values(book, written)
        for engine, line in lines:
            print(f"{line}  {agreement(values.get(engine), values.get('libreoffice'))}", flush=True)


def formula_values(book: Path, written: Path) -> dict[str, Any]:
    """The values that `written` holds in the formula cells of `book`."""
    from workbench.recalc import open_workbook

    with open_workbook(book) as asked, open_workbook(written) as found:
        return {
            asked.label(f.place.sheet, row, column): found.model.store.cell(f.place.sheet, row, column)
            for f in asked.families
            for row, column in f.cells()
        }


def agreement(values: dict[str, Any] | None, reference: dict[str, Any] | None) -> str:
    """The share of the reference's cells with the same value."""
    from workbench.recalc.verify import same

    if values is None or reference is None or values is reference:
        return ""
    good = sum(same(values.get(cell), value) for cell, value in reference.items())
    return f"{good / len(reference):.1%} of {len(reference):,}"


def scenario_table(folder: Path, size: int, count: int, timeout: float) -> None:
    """Random ratio tables: microseconds a scenario, ours in one call, peers one after another."""
    from workbench.recalc import open_workbook
    from workbench.recalc.targets import resolved_cell

    path = folder / f"book{size}.xlsx"
    if not path.exists():
        made_up_book(path, size)
    rng = np.random.default_rng(0)
    inputs = {f"ratios[{r}x{c}][{level}%]": rng.uniform(1, 5, count) for r, c in SHAPES for level in LEVELS}
    with open_workbook(path) as book:
        book.recalculate()
        times = []
        for _ in range(3):
            start = time.perf_counter()
            results = book.evaluate(inputs, [OUTPUT])[OUTPUT]
            times.append((time.perf_counter() - start) / count)
        ours = statistics.median(times)
        places = {name: resolved_cell(book.model, name) for name in [*inputs, OUTPUT]}
        bare, difference = bare_numpy(book, inputs, results)
        sheets = book.sheet_names
    print(f"\n{count:,} random ratio tables, {size:,} operators; {OUTPUT}")
    print(f"{'engine':<12} {'per scenario':>14} {'times ours':>11}  result")
    print(f"{'bare NumPy':<12} {bare * 1e6:>11.1f} us {bare / ours:>11.2f}  differs by {difference:.1e} at most")
    print(f"{'ours':<12} {ours * 1e6:>11.1f} us {1:>11.1f}")

    def cell(name: str) -> tuple[str, int, int]:
        r = places[name]
        return sheets[r.sheet], r.row1 + 1, r.column1 + 1

    few = 4
    job = {
        "book": str(path),
        "count": few,
        "inputs": [(cell(name), values[:few].tolist()) for name, values in inputs.items()],
        "output": cell(OUTPUT),
        "sheets": sheets,
    }
    (folder / "job.json").write_text(json.dumps(job))
    for engine in ("libreoffice", "formualizer", "ironcalc"):
        if engine not in engines():
            continue
        python = SYSTEM_PYTHON if engine == "libreoffice" else sys.executable
        command = [python, str(HERE / "peers.py"), engine, "scenarios", str(folder / "job.json")]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
            found = json.loads(done.stdout.splitlines()[-1])
        except (subprocess.TimeoutExpired, ValueError, IndexError) as problem:
            print(f"{engine:<12} {'-':>14} {'':>11}  {type(problem).__name__}")
            continue
        each = statistics.median(found["times"])
        near = all(
            isinstance(r, float) and abs(r - o) < 5e-3 * abs(o) for r, o in zip(found["results"], results, strict=False)
        )
        print(
            f"{engine:<12} {each * 1e6:>11.0f} us {each / ours:>11.0f}  {'same' if near else 'not the same'}",
            flush=True,
        )


def bare_numpy(book: Any, inputs: dict[str, Any], results: Any) -> tuple[float, float]:
    """Seconds a scenario of a script that does only these sums, and how far its results are from the book's."""
    latency = np.array([row[0] for row in book.values("ops_baseline[operator latency (ms)]")])
    targets = np.array([float(row[0] or 0) for row in book.values("ops_baseline[aim to weight sparse ratio]")])
    shapes = [row[0] for row in book.values("ops_baseline[weight shape]")]
    known = [f"{r}x{c}" for r, c in SHAPES]
    columns = list(inputs.values())
    table = np.stack([*columns, np.ones_like(columns[0])], axis=1)
    place = np.array(
        [
            known.index(shape) * 3 + LEVELS.index(round(target * 100)) if target else len(columns)
            for shape, target in zip(shapes, targets, strict=True)
        ]
    )
    improved = np.empty(len(table))
    times = []
    for _ in range(3):
        start = time.perf_counter()
        for i in range(0, len(table), 100):
            improved[i : i + 100] = latency.sum() / (latency / table[i : i + 100].take(place, axis=1)).sum(axis=1)
        times.append((time.perf_counter() - start) / len(table))
    return statistics.median(times), float(np.abs(improved / results - 1).max())


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="500,5000,50000")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--scenarios", type=int, default=10_000)
    parser.add_argument("--scenario-operators", type=int, default=5000)
    parser.add_argument("--timeout", type=float, default=600)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        recompute_table(Path(folder), [int(s) for s in given.sizes.split(",") if s], given.repeats, given.timeout)
        if given.scenarios:
            scenario_table(Path(folder), given.scenario_operators, given.scenarios, given.timeout)


if __name__ == "__main__":
    main()
