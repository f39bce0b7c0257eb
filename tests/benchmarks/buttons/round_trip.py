"""From the press of a button in LibreOffice to its action's end, for a small and a large workbook.

    python tests/benchmarks/buttons/round_trip.py [OPERATORS]

The press goes through the window's dispatcher, as a click's does; the action runs in a process of its own.
Medians and the slowest of five presses, after one to warm up.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "buttons"))

from buttons_toolbar import Toolbar

from workbench.book import write_book
from workbench.buttons import libreoffice
from workbench.buttons.install import install_toolbar
from workbench.profile import PerformanceProfile
from workbench.profiling import profile_model
from workbench.resources import sample_models_folder

RUNS = 5


def repeated(profile: PerformanceProfile, count: int) -> PerformanceProfile:
    """The profile with its operators repeated until there are `count`."""
    own = profile.operators
    made = [replace(own[i % len(own)], index=i, name=f"{own[i % len(own)].name}.{i}") for i in range(count)]
    return replace(profile, operators=tuple(made))


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    profile = profile_model(sample_models_folder() / "decoder_block.onnx", measure=False, peak_gflops=50)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        install_toolbar(profile=folder / "profile")
        with libreoffice.start(profile=folder / "profile") as app:
            toolbar = Toolbar(app)
            print(f"LibreOffice {app.version}; seconds of {RUNS} presses\n")
            print("| operators | button | median | slowest |\n|--:|---|--:|--:|")
            for count in (len(profile.operators), wanted):
                path = folder / f"book{count}.xlsx"
                write_book([repeated(profile, count)], path)
                book = toolbar.open(path)
                for action in ("recalculate", "check"):
                    times = []
                    for _ in range(RUNS + 1):
                        start = time.perf_counter()
                        toolbar.press(book, action)
                        times.append(time.perf_counter() - start)
                    print(f"| {count} | {action} | {statistics.median(times[1:]):.2f} | {max(times[1:]):.2f} |")
                book.close()


if __name__ == "__main__":
    main()
