"""One engine, one task, in a process of its own.

    peers.py ENGINE recompute BOOK OUT
    peers.py ENGINE scenarios JOB

JOB is a JSON file: the book, the cells to vary with a list of values for each, and the cell to read. Prints JSON.
Runs under LibreOffice's Python too, so it imports nothing of the project at the top.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def recompute_with_formualizer(book: str, out: str) -> None:
    import formualizer

    try:
        formualizer.recalculate_file(book, out)
    except BaseException as problem:  # its Rust panics are no Exceptions
        if isinstance(problem, KeyboardInterrupt | SystemExit):
            raise
        formualizer.load_workbook(book).evaluate_all()  # its file interface fails: reading and evaluating only


def recompute_with_ironcalc(book: str, out: str) -> None:
    import ironcalc

    model = ironcalc.load_from_xlsx(book, "en", "UTC", "en")
    model.evaluate()
    Path(out).unlink(missing_ok=True)
    model.save_to_xlsx(out)


def recompute_with_formulas(book: str, out: str) -> None:
    import formulas

    model = formulas.ExcelModel().loads(book).finish()
    model.calculate()
    model.write(dirpath=str(Path(out).parent))


Job = dict[str, Any]


def timed(job: Job, setter: Callable[[str, int, int, float], None], result: Callable[[], Any]) -> dict[str, Any]:
    """Seconds for each scenario, the first left out, and the results."""
    times, results = [], []
    for i in range(job["count"]):
        start = time.perf_counter()
        for (sheet, row, column), values in job["inputs"]:
            setter(sheet, row, column, values[i])
        results.append(result())
        times.append(time.perf_counter() - start)
    return {"times": times[1:], "results": results}


def scenarios_with_formualizer(job: Job) -> dict[str, Any]:
    import formualizer

    book = formualizer.load_workbook(job["book"])
    book.evaluate_all()
    sheet, row, column = job["output"]

    def put(name: str, r: int, c: int, value: float) -> None:
        book.set_value(name, r, c, formualizer.LiteralValue.number(value))

    return timed(job, put, lambda: book.evaluate_cell(sheet, row, column))


def scenarios_with_ironcalc(job: Job) -> dict[str, Any]:
    import ironcalc

    model = ironcalc.load_from_xlsx(job["book"], "en", "UTC", "en")
    model.evaluate()
    sheets = job["sheets"]
    sheet, row, column = job["output"]

    def put(name: str, r: int, c: int, value: float) -> None:
        model.set_user_input(sheets.index(name), r, c, repr(value))

    def result() -> Any:
        model.evaluate()
        return float(model.get_formatted_cell_value(sheets.index(sheet), row, column).replace(",", "").rstrip("x"))

    return timed(job, put, result)


def scenarios_with_libreoffice(job: Job) -> dict[str, Any]:
    import uno
    from com.sun.star.beans import PropertyValue

    with tempfile.TemporaryDirectory() as folder:
        pipe = f"bench{os.getpid()}"
        office = subprocess.Popen(
            [
                "soffice",
                f"-env:UserInstallation={(Path(folder) / 'p').as_uri()}",
                "--headless",
                "--norestore",
                f"--accept=pipe,name={pipe};urp",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            local = uno.getComponentContext()
            resolver = local.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", local)
            for _ in range(200):
                with contextlib.suppress(Exception):
                    context = resolver.resolve(f"uno:pipe,name={pipe};urp;StarOffice.ComponentContext")
                    break
                time.sleep(0.1)
            desktop = context.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", context)
            hidden = PropertyValue()
            hidden.Name, hidden.Value = "Hidden", True
            book = desktop.loadComponentFromURL(Path(job["book"]).as_uri(), "_blank", 0, (hidden,))
            book.calculateAll()
            sheet, row, column = job["output"]
            target = book.Sheets.getByName(sheet).getCellByPosition(column - 1, row - 1)

            def put(name: str, r: int, c: int, value: float) -> None:
                book.Sheets.getByName(name).getCellByPosition(c - 1, r - 1).setValue(value)

            def result() -> float:
                book.removeActionLock()
                book.calculate()
                value = float(target.getValue())
                book.addActionLock()
                return value

            book.addActionLock()
            found = timed(job, put, result)
            book.removeActionLock()
            book.close(True)
            return found
        finally:
            office.terminate()
            office.wait()


def main() -> None:
    """Run the task that the command line names."""
    engine, task, *rest = sys.argv[1:]
    if task == "recompute":
        globals()[f"recompute_with_{engine}"](*rest)
        return
    print(json.dumps(globals()[f"scenarios_with_{engine}"](json.loads(Path(rest[0]).read_text()))))


if __name__ == "__main__":
    main()
