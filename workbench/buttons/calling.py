"""Entry points for xlwings: what `RunPython` and *Run main* call. They act on `Book.caller()`.

RunPython "from workbench.buttons.calling import run; run('recalculate')"
"""

from __future__ import annotations

from workbench.buttons.running import Result

_DEFAULT = "recalculate"


def run(action: str) -> Result:
    """Run an action on the book that calls; its errors are messages in the book."""
    import xlwings

    from workbench.buttons.hosts import host_of
    from workbench.buttons.registry import named
    from workbench.buttons.running import run_action

    return run_action(named(action), host_of(xlwings.Book.caller()))


def main() -> None:
    """Run the action that the calling book's sheet `xlwings.conf` names; Recalculate where it names none."""
    import xlwings

    run(chosen_action(xlwings.Book.caller()))


def chosen_action(book: object) -> str:
    """What stands beside WORKBENCH_ACTION in the book's sheet `xlwings.conf`."""
    import xlwings

    from workbench.buttons.excel.conf import ACTION, SHEET

    assert isinstance(book, xlwings.Book)
    if SHEET not in book.sheet_names:
        return _DEFAULT
    rows = book.sheets[SHEET]["A1:B40"].value
    return next((str(value) for key, value in rows if str(key).upper() == ACTION and value), _DEFAULT)
