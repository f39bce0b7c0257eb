"""The way to UNO: finding and importing it, and turning its exceptions into ours.

`uno` belongs to the distribution's Python. It loads into another interpreter (a virtual environment)
of the same minor version; into any other it would crash, so the versions are compared first.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from workbench.errors import WorkbenchError

_FOLDERS = (
    "/usr/lib/python3/dist-packages",
    "/usr/lib/libreoffice/program",
    "/usr/lib64/libreoffice/program",
    "/opt/libreoffice/program",
)
_INSTALL = "install LibreOffice with its Python bridge (Debian: apt install libreoffice-calc python3-uno)"


class LibreOfficeError(WorkbenchError):
    """LibreOffice isn't there, went away, or refused what it was asked to do."""


class NotSupported(LibreOfficeError, NotImplementedError):
    """Part of xlwings' API that this engine doesn't offer, or that Calc has nothing for."""

    def __init__(self, what: str, why: str = "") -> None:
        super().__init__(f"{what} is not supported on LibreOffice" + (f": {why}" if why else ""))


_uno: Any = None


def load_uno() -> Any:
    """The module `uno`. Raises `LibreOfficeError` where it is missing or made for another Python."""
    global _uno
    if _uno is None:
        _uno = _imported()
    return _uno


def _imported() -> Any:
    folder = _folder_of_uno()
    if folder is None:
        raise LibreOfficeError("LibreOffice's Python bridge (uno.py) was not found", remedy=_INSTALL)
    wanted, here = python_of_bridge(folder), (sys.version_info.major, sys.version_info.minor)
    if wanted is not None and wanted != here:
        raise LibreOfficeError(
            f"LibreOffice's Python bridge is made for Python {_dotted(wanted)}, "
            f"this is Python {_dotted(here)} ({sys.executable})",
            remedy=f"run the workbench from an environment of Python {_dotted(wanted)}: "
            f"python{_dotted(wanted)} -m venv …",
        )
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    genuine_import = builtins.__import__
    try:
        module = importlib.import_module("uno")
    except ImportError as error:
        raise LibreOfficeError(
            f"LibreOffice's Python bridge could not be loaded: {error}", where=folder, remedy=_INSTALL
        ) from error
    finally:
        # uno replaces the built-in import by one that hides the reason of every failed import.
        builtins.__import__ = genuine_import
    return module


def _folder_of_uno() -> Path | None:
    named = os.environ.get("WORKBENCH_UNO_PATH")
    for folder in [named] if named else [*sys.path, *_FOLDERS]:
        if folder and (Path(folder) / "uno.py").is_file():
            return Path(folder)
    return None


def python_of_bridge(folder: Path) -> tuple[int, int] | None:
    """The (major, minor) that the bridge in `folder` was built for; None where it can't be told."""
    for library in _bridge_libraries(folder):
        found = re.search(rb"libpython3\.(\d+)\.so", library.read_bytes())
        if found:
            return 3, int(found.group(1))
    return None


def _bridge_libraries(folder: Path) -> Iterator[Path]:
    for place in (folder, *map(Path, _FOLDERS)):
        for name in ("libpyuno.so", "libpyunolo.so", "pyuno.so"):
            if (place / name).is_file():
                yield place / name


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


@contextlib.contextmanager
def importing_interfaces() -> Iterator[None]:
    """Within it, `import unohelper` and `from com.sun.star… import …` work, as after a plain `import uno`."""
    hook = getattr(load_uno(), "_uno_import", None)
    genuine_import = builtins.__import__
    if hook is not None:
        builtins.__import__ = hook
    try:
        yield
    finally:
        builtins.__import__ = genuine_import


def struct(name: str, *values: Any) -> Any:
    """A UNO struct, e.g. `struct("com.sun.star.table.CellAddress", sheet, column, row)`."""
    return load_uno().createUnoStruct(name, *values)


def enum_value(type_name: str, value: str) -> Any:
    return load_uno().Enum(type_name, value)


def properties(**values: Any) -> tuple[Any, ...]:
    """A sequence of `com.sun.star.beans.PropertyValue`."""
    made = []
    for name, value in values.items():
        item = struct("com.sun.star.beans.PropertyValue")
        item.Name, item.Value = name, value
        made.append(item)
    return tuple(made)


def typed_properties(**values: Any) -> Any:
    """The same as an Any that holds a PropertyValue[], for arguments that are a property themselves."""
    return load_uno().Any("[]com.sun.star.beans.PropertyValue", properties(**values))


def is_uno_exception(error: BaseException) -> bool:
    return _uno is not None and isinstance(error, _uno.getClass("com.sun.star.uno.Exception"))


def closed_meanwhile() -> LibreOfficeError:
    return LibreOfficeError(
        "LibreOffice, or the document in it, was closed meanwhile",
        remedy="open the document again and repeat the action",
    )


_GONE = ("DisposedException", "NoConnectException", "ConnectionSetupException")


def explained(error: BaseException) -> LibreOfficeError:
    """`error`, an exception of UNO's, as ours: what LibreOffice said, and what to do where that is known."""
    kind = type(error).__name__.rpartition(".")[2]
    said = " ".join(str(getattr(error, "Message", "")).split())
    said = re.sub(r"(\s+at)?\s*\./\S+:\d+", "", said)
    if kind in _GONE or "disposed" in said.lower() or "bridge" in said.lower() or said.startswith("cannot get value"):
        return closed_meanwhile()
    if kind == "ErrorCodeIOException":
        return LibreOfficeError(
            f"LibreOffice could not write the file ({said or 'input/output error'})",
            remedy="check that the folder exists, may be written to and has room, and that "
            "no other program holds the file",
        )
    return LibreOfficeError(f"LibreOffice refused: {kind}" + (f": {said}" if said else ""))


_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C", bound=type)


def _guarded(function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if not is_uno_exception(error):
                raise
            problem = _reason_known_to(args[0]) or explained(error)
        # Raised outside the handler: UNO's exceptions don't survive as __context__ in contextlib.
        raise problem

    return call


def _reason_known_to(target: Any) -> LibreOfficeError | None:
    """UNO's refusals often carry no reason; a Range can tell whether its book is closed or its sheet protected."""
    ask = getattr(target, "why_refused", None)
    if ask is None:
        return None
    try:
        reason: LibreOfficeError | None = ask()
    except Exception as error:
        if not is_uno_exception(error):
            raise
        return closed_meanwhile()
    return reason


def guarded(cls: _C) -> _C:
    """Class decorator: no UNO exception leaves a method or property of `cls`; see `explained`."""
    for name, member in list(vars(cls).items()):
        if isinstance(member, property):
            read, write = (part and _guarded(part) for part in (member.fget, member.fset))
            setattr(cls, name, property(read, write, None, member.__doc__))
        elif isinstance(member, staticmethod):
            continue
        elif callable(member) and not isinstance(member, type):
            setattr(cls, name, _guarded(member))
    return cls
