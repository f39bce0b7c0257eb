"""Writing files so that a killed run leaves the old one whole."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from workbench.errors import WorkbenchError


def lock_file_of(path: Path) -> Path | None:
    """The lock file that LibreOffice (`.~lock.NAME#`) or Excel (`~$NAME`) keeps while `path` is open."""
    for candidate in (path.with_name(f".~lock.{path.name}#"), path.with_name(f"~${path.name}")):
        if candidate.exists():
            return candidate
    return None


def refuse_if_open_elsewhere(path: Path) -> None:
    """Raise `WorkbenchError` when a spreadsheet program holds `path` open."""
    lock = lock_file_of(path)
    if lock is not None:
        raise WorkbenchError(
            f"the file is open in a spreadsheet program (lock file {lock.name})",
            where=path,
            remedy=f"close it there, or delete {lock.name} if no program has it open",
        )


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it is synced and renamed over `path`.

    On any exception (Ctrl-C too) the temporary file is removed and `path` is as it was.
    Raises `WorkbenchError` when the folder is missing or read-only, or the disk is full.
    """
    target = path.resolve() if path.is_symlink() else path
    with explaining(target), _temporary_beside(target) as temporary:
        yield temporary


@contextlib.contextmanager
def explaining(target: Path) -> Iterator[None]:
    """Turn the system's refusals to write (disk full, no permission, …) into `WorkbenchError`s that name `target`."""
    try:
        yield
    except OSError as error:
        raise _explained(error, target) from error


@contextlib.contextmanager
def _temporary_beside(target: Path) -> Iterator[Path]:
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        temporary = Path(name)
        os.close(handle)
        mode = target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask()
        yield temporary
        temporary.chmod(mode)
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        temporary.replace(target)
        temporary = None
        _sync_folder(target.parent)
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _explained(error: OSError, target: Path) -> Exception:
    reasons = {
        errno.ENOSPC: ("the disk is full", "free some room and run the command again"),
        errno.EFBIG: ("the file grows past the system's limit", "raise the limit (ulimit -f) or write elsewhere"),
        errno.EDQUOT: ("the disk quota is used up", "free some room and run the command again"),
        errno.EACCES: ("no permission to write here", "choose another output with -o"),
        errno.EPERM: ("no permission to write here", "choose another output with -o"),
        errno.EROFS: ("the file system is read-only", "choose another output with -o"),
        errno.ENOENT: (f"the folder {target.parent} does not exist", "create it or choose another output"),
        errno.ENOTDIR: (f"{target.parent} is not a folder", "choose another output"),
        errno.EISDIR: ("this is a folder, not a file", "name a file"),
        errno.ENAMETOOLONG: ("the file name is too long", "choose a shorter one"),
    }
    if error.errno not in reasons:
        return error
    problem, remedy = reasons[error.errno]
    return WorkbenchError(problem, where=target, remedy=remedy)
