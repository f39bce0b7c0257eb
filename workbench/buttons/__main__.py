"""`python -m workbench.buttons ACTION …`: what toolbar, macros and RunPython start.

On LibreOffice: `--uno CONNECTION --book URL`. On Excel: the arguments that `Book.caller()` reads,
`--wb=NAME --from_xl=1 --hwnd=HANDLE`. One line of JSON on standard output says how it ended.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    import xlwings as xw


def main(arguments: list[str] | None = None) -> int:
    """Run one action on one open book; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m workbench.buttons", description=__doc__)
    parser.add_argument("action")
    parser.add_argument("--uno", metavar="CONNECTION", help="the LibreOffice to work in: pipe,name=… or socket,…")
    parser.add_argument("--book", metavar="URL", default="", help="its document: a URL, a path, or a RuntimeUID")
    parser.add_argument("--wb", metavar="NAME", help="the Excel workbook that calls")
    parser.add_argument("--from_xl", metavar="1", help="given by Excel; see Book.caller()")
    parser.add_argument("--app", metavar="PROGRAM", help="given by xlwings' own macros")
    parser.add_argument("--hwnd", metavar="HANDLE", help="Excel's window; see Book.caller()")
    parser.add_argument("--cancel", metavar="FILE", type=Path, help="cancel when this file appears")
    parser.add_argument("--set", metavar="CELL=VALUE", action="append", default=[], dest="edits")
    parser.add_argument("--option", metavar="NAME=VALUE", action="append", default=[], dest="options")
    given = parser.parse_args(arguments)
    options = dict(text.split("=", 1) for text in given.options if "=" in text)
    speak = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with contextlib.redirect_stdout(sys.stderr):
        try:
            document, code = _outcome(given, options)
        except WorkbenchError as error:
            print(f"error: {error}", file=sys.stderr)
            document, code = {"action": given.action, "message": str(error), "unreported": True}, error.exit_code
    with contextlib.suppress(BrokenPipeError):
        speak.write(json.dumps(document, ensure_ascii=False) + "\n")
        speak.close()
    return code


def _outcome(given: argparse.Namespace, options: dict[str, str]) -> tuple[dict[str, object], int]:
    from workbench.buttons.hosts import host_of
    from workbench.buttons.registry import CANCEL, named
    from workbench.buttons.running import cancel_flag, run_action

    if given.action == CANCEL:
        cancel_flag(host_of(_calling_book(given))).touch()
        return {"action": CANCEL, "message": "The running action will stop."}, 0
    action = named(given.action)
    host = host_of(_calling_book(given))
    result = run_action(action, host, edits=given.edits, options=options, flag=given.cancel)
    return asdict(result), result.exit_code


def _calling_book(given: argparse.Namespace) -> xw.Book:
    if given.uno:
        from workbench.buttons import libreoffice

        app = libreoffice.connect(given.uno, patience_s=20)
        app.impl.calling_url = given.book
        book = app.impl.books.calling(given.book)
        import xlwings

        return xlwings.Book(impl=book)
    if given.wb or given.from_xl:
        import xlwings

        return xlwings.Book.caller()
    raise WorkbenchError(
        "no open book was named", remedy="give --uno and --book (LibreOffice), or --wb, --from_xl and --hwnd (Excel)"
    )


if __name__ == "__main__":
    # os._exit: UNO's bridge threads would delay the end of the process by most of a second.
    code = main()
    sys.stderr.flush()
    os._exit(code)
