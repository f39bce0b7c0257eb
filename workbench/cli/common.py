"""What every command shares: error reporting, exit codes, JSON output, the console."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from enum import IntEnum
from typing import Any

from workbench.errors import WorkbenchError


class Exit(IntEnum):
    """What a command's exit code says."""

    DONE = 0
    NO = 1
    """The command ran; the answer to its question is no (a failed `--check`, cells that differ)."""
    BAD_INPUT = 2
    INCOMPLETE = 3
    """The command ran, but some cells could not be evaluated or became stale; they are listed."""
    INTERRUPTED = 130


def run_reporting_errors(command: Callable[..., Any]) -> int:
    """Run a Typer app; a `WorkbenchError` becomes one line on stderr. Returns the exit code."""
    try:
        code = command()
    except WorkbenchError as error:
        print(f"error: {one_line(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return _interrupted()
    except BrokenPipeError:
        sys.stderr.close()
        return int(Exit.DONE)
    except SystemExit as stop:
        if stop.code == Exit.INTERRUPTED:  # Typer's answer to Ctrl-C, without a word
            return _interrupted()
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return int(code or 0)


def _interrupted() -> int:
    print("interrupted; files are as they were", file=sys.stderr)
    return int(Exit.INTERRUPTED)


def one_line(text: str) -> str:
    """`text` on one line, control characters made visible."""
    words = " ".join(text.split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in words)


def print_json(document: Any) -> None:
    """Print `document` as JSON; NaN and infinities become null."""
    json.dump(_finite(document), sys.stdout, indent=2, ensure_ascii=False, default=str)
    sys.stdout.write("\n")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return value
