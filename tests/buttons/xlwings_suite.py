"""Run xlwings' own test suite against the LibreOffice engine, and say why what fails fails.

    python tests/buttons/xlwings_suite.py FOLDER        # `tests` of a checkout of github.com/xlwings/xlwings

The folder is copied, a conftest that activates the engine is put beside the tests, and the files that drive a
spreadsheet program run (the others test xlwings' add-in, its server and its commercial part). The suite needs
pytz. Prints a table in Markdown; the exit code is 1 where a failure has no reason in the list below.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

FILES = (
    *("active", "app", "book", "characters", "chunking", "conversion", "converter_json", "fileformats"),
    *("font", "names", "ndim", "polars", "range", "shape", "sheet", "table"),
)

CONFTEST = """import xlwings as xw
from workbench.buttons import libreoffice

xw.engines["libreoffice"].activate()
from workbench.buttons.libreoffice.engine import App

App.macro_mode = libreoffice.ALL_MACROS
"""


@dataclass(frozen=True)
class Reason:
    """Why a test can't pass; `pattern` is looked for in `test name: message`."""

    kind: str
    pattern: str


CALC, SUITE, ENGINE = "Calc has no such thing", "the suite itself", "not offered by the engine"

REASONS = (
    Reason(f"{ENGINE}: charts, and cells copied as a picture", r"Sheet\.charts|TestCharts?\b|copy_picture"),
    Reason(f"{CALC}: table styles", r"a table's style"),
    Reason(f"{CALC}: .xlsb, .xltm, .xla cannot be written", r"saving as"),
    Reason(f"{CALC}: the third mode of calculation (semiautomatic)", r"test_calculation"),
    Reason(f"{CALC}: #NULL! for ranges without a common cell (it says #REF!)", r"'#REF!' != '#NULL!'"),
    Reason(f"{CALC}: showing the windows of a process that was started headless", r"test_visible"),
    Reason(f"{SUITE}: written for pandas 1", r"Int64Index|PeriodIndex|Attribute \"freq\"|test_NA"),
    Reason(f"{SUITE}: insert() without its direction, which xlwings now requires", r"Range\.insert\(\) missing"),
    Reason(f"{SUITE}: a macro without result gives '' (macOS), not None (Windows), off Windows", r"test_macro"),
    Reason(f"{SUITE}: matplotlib, plotly or polars missing", r"missing|not installed"),
)


def reason_of(text: str) -> str:
    for reason in REASONS:
        if re.search(reason.pattern, text):
            return reason.kind
    return "unexplained"


def run(source: Path, report: Path) -> None:
    """Run the suite's files in a copy of `source`; the results go to `report` (JUnit XML)."""
    with tempfile.TemporaryDirectory(prefix="xlwings-suite-") as folder:
        copy = Path(folder) / "tests"
        shutil.copytree(source, copy)
        (copy / "conftest.py").write_text(CONFTEST)
        files = [f"tests/test_{name}.py" for name in FILES]
        command = [sys.executable, "-m", "pytest", *files, "--tb=line", "-q", f"--junitxml={report}"]
        subprocess.run(command, cwd=folder, check=False, timeout=1800, stdout=subprocess.DEVNULL)


def main() -> int:
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "test_range.py").is_file():
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        run(Path(sys.argv[1]).resolve(), report)
        cases = ElementTree.parse(report).iter("testcase")
        passed, reasons, names = 0, Counter[str](), defaultdict[str, list[str]](list)
        for case in cases:
            problem = next(
                (case.find(kind) for kind in ("failure", "error", "skipped") if case.find(kind) is not None), None
            )
            if problem is None:
                passed += 1
                continue
            name = f"{case.get('classname')}.{case.get('name')}"
            why = reason_of(f"{name}: {problem.get('message')} {problem.text}")
            reasons[why] += 1
            names[why].append(name)
    total = passed + sum(reasons.values())
    print(f"{passed} of {total} tests passed ({passed / total:.1%}).\n\n| reason | tests |\n|---|--:|")
    for why, count in reasons.most_common():
        print(f"| {why} | {count} |")
    asked = total - sum(count for why, count in reasons.items() if why.startswith((CALC, SUITE)))
    print(f"\nOf what Calc has and the suite asks rightly: {passed} of {asked} ({passed / asked:.1%}).")
    for name in names["unexplained"]:
        print(f"unexplained: {name}")
    return 1 if names["unexplained"] else 0


if __name__ == "__main__":
    sys.exit(main())
