"""The one family of errors that a user can mend."""

from __future__ import annotations

from pathlib import Path


class WorkbenchError(Exception):
    """Something the user can put right.

    `str(error)` is one sentence that names where the trouble is, what was expected and what to do.
    The command line prints it in one line and exits with `exit_code`; any other exception is a
    programming error and keeps its traceback.
    """

    exit_code = 2

    def __init__(self, problem: str, *, where: str | Path | None = None, remedy: str = "") -> None:
        self.problem = problem
        self.where = str(where) if where is not None else ""
        self.remedy = remedy
        head = f"{self.where}: {problem}" if self.where else problem
        super().__init__(f"{head}; {remedy}" if remedy else head)


class ModelError(WorkbenchError):
    """The model can't be read, checked or run."""


class BookError(WorkbenchError):
    """The workbook can't be read or written."""


class CellError(WorkbenchError):
    """An address, name or label that the workbook doesn't have, or a value that a cell doesn't take."""


class FormatError(WorkbenchError):
    """A foreign file isn't what its format asks for."""


class MissingExtra(WorkbenchError):
    """A library that an optional feature needs isn't installed."""

    def __init__(self, feature: str, library: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the library {library}, which is not installed",
            remedy=f"install it with: pip install 'workbench[{extra}]'",
        )
