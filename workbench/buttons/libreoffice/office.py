"""LibreOffice processes: finding the program, starting one of our own, connecting to one, ending it."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.buttons.libreoffice.bridge import LibreOfficeError, is_uno_exception, load_uno

_PLACES = (
    "/usr/bin/soffice",
    "/usr/bin/libreoffice",
    "/usr/lib/libreoffice/program/soffice",
    "/usr/lib64/libreoffice/program/soffice",
    "/opt/libreoffice/program/soffice",
    "/snap/bin/libreoffice",
)


def find_soffice() -> Path:
    """The LibreOffice program: `$WORKBENCH_SOFFICE`, then the PATH, then the usual places."""
    named = os.environ.get("WORKBENCH_SOFFICE")
    candidates = [named] if named else [shutil.which("soffice"), shutil.which("libreoffice"), *_PLACES]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            return Path(candidate)
    if named:
        raise LibreOfficeError(
            "WORKBENCH_SOFFICE names no program that can be run", where=named, remedy="correct or unset it"
        )
    raise LibreOfficeError(
        "LibreOffice is not installed, or its program soffice is not on the PATH",
        remedy="install it (Debian: apt install libreoffice-calc python3-uno), or set WORKBENCH_SOFFICE",
    )


@dataclass
class OfficeProcess:
    """A LibreOffice that this process started, with the user profile it was given."""

    process: subprocess.Popen[bytes]
    connection: str
    profile: Path
    profile_is_ours: bool

    def end(self, patience_s: float = 5.0) -> None:
        """Wait for it, then end the whole process group (soffice is a shell script around the program)."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(patience_s)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        if self.profile_is_ours:
            shutil.rmtree(self.profile, ignore_errors=True)
        _running.discard(self.process.pid)
        _offices.pop(self.process.pid, None)


_running: set[int] = set()
_offices: dict[int, OfficeProcess] = {}


@atexit.register
def _end_all() -> None:
    for office in list(_offices.values()):
        office.end(patience_s=0)


def start_office(*, visible: bool = False, profile: Path | None = None) -> OfficeProcess:
    """Start a private LibreOffice that listens on a pipe of its own; it ends with this process.

    `profile` is the folder of its user profile (settings, extensions), a temporary one by default.
    """
    program = find_soffice()
    name = f"workbench{uuid.uuid4().hex}"
    folder = profile or Path(tempfile.mkdtemp(prefix="workbench-office-"))
    command = [
        str(program),
        f"-env:UserInstallation={folder.resolve().as_uri()}",
        "--norestore",
        "--nologo",
        "--nodefault",
        "--nofirststartwizard",
        *(() if visible else ("--headless", "--invisible")),
        f"--accept=pipe,name={name};urp;StarOffice.ComponentContext",
    ]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    office = OfficeProcess(process, f"pipe,name={name}", folder, profile is None)
    _running.add(process.pid)
    _offices[process.pid] = office
    return office


def component_context(connection: str, *, patience_s: float = 60.0, office: OfficeProcess | None = None) -> Any:
    """The component context of the LibreOffice that listens at `connection` (`pipe,name=…`, `socket,…`)."""
    uno = load_uno()
    local = uno.getComponentContext()
    resolver = local.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", local)
    end = time.monotonic() + patience_s
    while True:
        try:
            return resolver.resolve(f"uno:{connection};urp;StarOffice.ComponentContext")
        except Exception as error:
            if not is_uno_exception(error):
                raise
        if office is not None and office.process.poll() is not None:
            raise LibreOfficeError(
                f"LibreOffice ended while starting (exit code {office.process.returncode})",
                remedy="start it once by hand; a user profile that another LibreOffice holds open does this",
            )
        if time.monotonic() > end:
            raise LibreOfficeError(
                f"no LibreOffice answers at {connection!r}",
                remedy="start it with --accept='pipe,name=NAME;urp;' or let the workbench start one",
            )
        time.sleep(0.03)
