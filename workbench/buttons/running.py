"""Running an action: one at a time on a book, cancellable, with every outcome told to the person."""

from __future__ import annotations

import _thread
import contextlib
import hashlib
import os
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.buttons.hosts import Host
from workbench.buttons.messages import post, show_settings
from workbench.buttons.registry import Action, Outcome
from workbench.buttons.session import Session, SettingsWanted
from workbench.errors import BookError, WorkbenchError

_POLL_S = 0.2
_SOFTWARE_ERROR = 70


@dataclass(frozen=True)
class Result:
    """How an action ended. `exit_code` as the command line's; 70 for a programming error."""

    action: str
    message: str
    exit_code: int
    seconds: float
    unreported: bool = False
    """An error that could not be written into the document."""


def cancel_flag(host: Host) -> Path:
    """The file whose appearance cancels the action that runs on the host's book."""
    return Path(tempfile.gettempdir()) / f"workbench-{_key(host.identity)}.cancel"


def _key(book: str) -> str:
    return hashlib.sha256(f"{os.getuid() if hasattr(os, 'getuid') else ''}:{book}".encode()).hexdigest()[:16]


def run_action(
    action: Action,
    host: Host,
    *,
    edits: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    flag: Path | None = None,
) -> Result:
    """Run `action` on the host's book. No exception leaves: each becomes a message in the book and a `Result`."""
    started = time.monotonic()

    def result(message: str, code: int, unreported: bool = False) -> Result:
        return Result(action.name, message, code, time.monotonic() - started, unreported)

    try:
        with (
            _alone(host),
            _cancelled_by(flag or cancel_flag(host)),
            Session(host, action.name, edits, options) as session,
        ):
            session.progress(f"{action.title.rstrip('…')}…")
            outcome = action.run(session, session.settings(action.settings) if action.settings else {})
            _give_back(host)
            _tell(host, action, outcome)
        return result(outcome.message, outcome.exit_code)
    except KeyboardInterrupt:
        _give_back(host)
        return result(f"{action.title.rstrip('…')} was cancelled; the book is as it was.", 130)
    except SettingsWanted as error:
        _give_back(host)
        told = _told_error(host, action, str(error))
        show_settings(host.book, action.name)
        return result(str(error), error.exit_code, not told)
    except WorkbenchError as error:
        message, code = str(error), error.exit_code
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        if not _is_open(host):
            return result("The book was closed before the action ended; its file is as it was.", 2, True)
        message, code = f"programming error: {type(error).__name__}: {error}", _SOFTWARE_ERROR
    _give_back(host)
    return result(message, code, not _told_error(host, action, message))


def _tell(host: Host, action: Action, outcome: Outcome) -> None:
    if outcome.rows or outcome.exit_code:
        post(host.book, action.title, "look" if outcome.exit_code else "done", outcome.message, outcome.rows)


def _told_error(host: Host, action: Action, message: str) -> bool:
    """Write the error into the document; False where that is not possible (closed, structure protected)."""
    try:
        post(host.book, action.title, "error", message)
    except Exception as error:
        print(f"{action.name}: {message} (not written into the document: {error})", file=sys.stderr)
        return False
    return True


def _is_open(host: Host) -> bool:
    """Whether the book still answers: a closed one fails in ways that look like errors of ours."""
    try:
        return bool(host.book.sheet_names)
    except Exception:
        return False


def _give_back(host: Host) -> None:
    """Take our text out of the status bar; the book may be closed by now."""
    with contextlib.suppress(Exception):
        host.status(None)


@contextlib.contextmanager
def _alone(host: Host) -> Iterator[None]:
    """Raise where another action runs on the same book, in this or another window or process."""
    import psutil

    path = Path(tempfile.gettempdir()) / f"workbench-{_key(host.identity)}.running"
    for _ in range(2):
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            break
        except FileExistsError:
            text = path.read_text() if path.exists() else ""
            if text.isdigit() and psutil.pid_exists(int(text)):
                raise BookError(
                    "another action is still running on this book",
                    where=host.book.fullname,
                    remedy="wait for it or press Cancel",
                ) from None
            path.unlink(missing_ok=True)
    else:
        raise BookError("another action has just started on this book", where=host.book.fullname, remedy="wait for it")
    with os.fdopen(handle, "w") as file:
        file.write(str(os.getpid()))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def _cancelled_by(flag: Path) -> Iterator[None]:
    """Within it, the appearance of the file `flag` raises KeyboardInterrupt in the main thread."""
    flag.unlink(missing_ok=True)
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_POLL_S):
            if flag.exists():
                _thread.interrupt_main()
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        flag.unlink(missing_ok=True)
