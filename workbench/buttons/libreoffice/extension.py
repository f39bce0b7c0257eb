"""The LibreOffice extension (.oxt) with menu and toolbar: built from `templates/libreoffice/`, installed by UNO.

`unopkg` refuses to run as root and needs a display's worth of luck; LibreOffice's own ExtensionManager
service does neither, so a private headless LibreOffice on the user's profile installs the package.
"""

from __future__ import annotations

import configparser
import io
import os
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from workbench import __version__
from workbench.buttons.libreoffice.bridge import (
    LibreOfficeError,
    explained,
    importing_interfaces,
    is_uno_exception,
    load_uno,
)
from workbench.buttons.libreoffice.office import OfficeProcess, component_context, start_office
from workbench.errors import WorkbenchError
from workbench.files import replacing
from workbench.resources import templates_folder

IDENTIFIER = "org.workbench.buttons"
PROTOCOL = "org.workbench.buttons:"
_FILES = ("META-INF/manifest.xml", "ProtocolHandler.xcu", "CalcWindowState.xcu", "workbench_buttons.py")


@dataclass(frozen=True)
class Entry:
    """A menu and toolbar entry: the action it starts and its title."""

    action: str
    title: str


def default_log() -> Path:
    """Where the buttons' children write what went wrong."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return root / "workbench" / "buttons.log"


def build_extension(path: Path, entries: tuple[Entry, ...], *, python: Path, log: Path | None = None) -> Path:
    """Write the extension to `path`; its component starts `python -m workbench.buttons`.

    The same arguments give the same bytes.
    """
    folder = templates_folder() / "libreoffice"
    if not (folder / "Addons.xcu").is_file():
        raise WorkbenchError("the extension's templates are missing", where=folder, remedy="reinstall the workbench")
    one = (folder / "entry.xml").read_text(encoding="utf-8").rstrip("\n")
    listed = "".join(
        one.format(number=f"{i:02d}", action=escape(entry.action), title=escape(entry.title))
        for i, entry in enumerate(entries)
    )
    parts = {name: (folder / name).read_bytes() for name in _FILES}
    parts["Addons.xcu"] = _filled(folder / "Addons.xcu", entries=listed)
    parts["description.xml"] = _filled(folder / "description.xml", version=__version__)
    parts["workbench.ini"] = _settings(python, log or default_log())
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in sorted(parts.items()):
            package.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return path


def _filled(template: Path, **values: str) -> bytes:
    text = template.read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text.encode("utf-8")


def _settings(python: Path, log: Path) -> bytes:
    parser = configparser.ConfigParser(interpolation=None)
    parser["workbench"] = {"python": str(python), "module": "workbench.buttons", "log": str(log)}
    written = io.StringIO()
    parser.write(written)
    return written.getvalue().encode("utf-8")


def default_profile() -> Path:
    """The user profile that LibreOffice uses when it is started without one."""
    root = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return root / "libreoffice" / "4"


def install_extension(package: Path, *, profile: Path | None = None) -> str:
    """Install (or replace) `package` for this user; returns LibreOffice's version. LibreOffice must be closed."""
    with _Office(profile) as office:
        return office.install(package)


def uninstall_extension(*, profile: Path | None = None) -> bool:
    """Remove the extension; False where it wasn't installed. LibreOffice must be closed."""
    with _Office(profile) as office:
        return office.uninstall()


def installed_version(*, profile: Path | None = None) -> str | None:
    """The version of the extension that is installed for this user, None where it isn't."""
    with _Office(profile) as office:
        return office.installed()


class _Office:
    """A headless LibreOffice on a user profile, for the ExtensionManager's sake."""

    def __init__(self, profile: Path | None) -> None:
        self.profile = profile or default_profile()
        self.office: OfficeProcess | None = None
        self.context: Any = None

    def __enter__(self) -> _Office:
        load_uno()
        lock = self.profile / ".lock"
        if lock.exists() and _is_locked_by_living(lock):
            raise LibreOfficeError(
                "LibreOffice is running on this user profile", where=self.profile, remedy="close it and try again"
            )
        self.profile.mkdir(parents=True, exist_ok=True)
        self.office = start_office(profile=self.profile)
        try:
            self.context = component_context(self.office.connection, office=self.office)
        except BaseException:
            self.office.end(patience_s=0)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        assert self.office is not None
        try:
            desktop = self._service("com.sun.star.frame.Desktop")
            desktop.terminate()
        except Exception as error:
            if not is_uno_exception(error):
                raise
        self.office.end(patience_s=10)

    def _service(self, name: str) -> Any:
        return self.context.ServiceManager.createInstanceWithContext(name, self.context)

    @property
    def _manager(self) -> Any:
        return self.context.getValueByName("/singletons/com.sun.star.deployment.ExtensionManager")

    def installed(self) -> str | None:
        for package in self._manager.getDeployedExtensions("user", None, None):
            if package.getIdentifier().Value == IDENTIFIER:
                return str(package.getVersion())
        return None

    def install(self, package: Path) -> str:
        manager, environment = self._manager, _approving()
        try:
            if self.installed() is not None:
                manager.removeExtension(IDENTIFIER, "", "user", manager.createAbortChannel(), environment)
            # A copy under a plain name: the manager keeps the file name it is given.
            with tempfile.TemporaryDirectory() as folder:
                copy = Path(folder) / "workbench-buttons.oxt"
                copy.write_bytes(package.read_bytes())
                manager.addExtension(copy.as_uri(), (), "user", manager.createAbortChannel(), environment)
        except Exception as error:
            if not is_uno_exception(error):
                raise
            problem = explained(error)
        else:
            return self._version()
        raise LibreOfficeError(f"LibreOffice did not take the extension ({problem})", where=package)

    def uninstall(self) -> bool:
        manager = self._manager
        if self.installed() is None:
            return False
        manager.removeExtension(IDENTIFIER, "", "user", manager.createAbortChannel(), _approving())
        return True

    def _version(self) -> str:
        from workbench.buttons.libreoffice.bridge import properties

        provider = self._service("com.sun.star.configuration.ConfigurationProvider")
        node = provider.createInstanceWithArguments(
            "com.sun.star.configuration.ConfigurationAccess", properties(nodepath="/org.openoffice.Setup/Product")
        )
        return str(node.getByName("ooSetupVersionAboutBox"))


def _is_locked_by_living(lock: Path) -> bool:
    """Whether the process group of LibreOffice that wrote `lock` still runs (a crash leaves the file behind)."""
    import psutil

    for process in psutil.process_iter(["name", "cmdline"]):
        if process.info["name"] in ("soffice.bin", "soffice"):
            arguments = " ".join(process.info["cmdline"] or ())
            profile = lock.parent
            if profile.as_uri() in arguments:
                return True
            if "-env:UserInstallation" not in arguments and profile == default_profile():
                return True
    return False


def _approving() -> Any:
    """A command environment that says yes to whatever the ExtensionManager asks (licence, replacing)."""
    uno = load_uno()
    with importing_interfaces():
        import unohelper
        from com.sun.star.task import XInteractionHandler
        from com.sun.star.ucb import XCommandEnvironment, XProgressHandler

    class Approving(unohelper.Base, XCommandEnvironment, XInteractionHandler, XProgressHandler):  # type: ignore[misc]
        def getInteractionHandler(self) -> Any:  # noqa: N802
            return self

        def getProgressHandler(self) -> Any:  # noqa: N802
            return self

        def handle(self, request: Any) -> None:
            approve = uno.getTypeByName("com.sun.star.task.XInteractionApprove")
            for continuation in request.getContinuations():
                if continuation.queryInterface(approve):
                    continuation.select()
                    return

        def push(self, status: Any) -> None: ...

        def update(self, status: Any) -> None: ...

        def pop(self) -> None: ...

    return Approving()
