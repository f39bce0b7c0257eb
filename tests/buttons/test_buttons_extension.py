"""The LibreOffice extension as a package, and installing it from the command line."""

from __future__ import annotations

import configparser
import json
import zipfile
from pathlib import Path

import pytest
from libreoffice import SOFFICE
from lxml import etree
from typer.testing import CliRunner

from workbench import __version__
from workbench.buttons.libreoffice.extension import Entry, build_extension
from workbench.buttons.registry import actions
from workbench.cli.buttons import app

VALUE = "{http://openoffice.org/2001/registry}name"


def test_the_package_names_every_action_in_menu_and_toolbar(tmp_path: Path) -> None:
    entries = (*(Entry(action.name, action.title) for action in actions()), Entry("odd", "A & B < C"))
    path = build_extension(tmp_path / "buttons.oxt", entries, python=Path("/some where/python"), log=tmp_path / "log")
    with zipfile.ZipFile(path) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    trees = {name: etree.fromstring(data) for name, data in parts.items() if name.endswith((".xml", ".xcu"))}
    manifest = {item.get(item.keys()[0]) for item in trees["META-INF/manifest.xml"]}
    assert manifest == {name for name in parts if name.endswith((".xcu", ".py"))}
    urls = [prop.findtext("value") for prop in trees["Addons.xcu"].iter("prop") if prop.get(VALUE) == "URL"]
    assert urls == [f"org.workbench.buttons:{entry.action}" for entry in entries] * 2
    titles = [prop.findtext("value") for prop in trees["Addons.xcu"].iter("prop") if prop.get(VALUE) == "Title"]
    assert "A & B < C" in titles
    version = trees["description.xml"].find("{*}version")
    assert version is not None and version.get("value") == __version__
    settings = configparser.ConfigParser(interpolation=None)
    settings.read_string(parts["workbench.ini"].decode())
    assert dict(settings["workbench"]) == {
        "python": "/some where/python",
        "module": "workbench.buttons",
        "log": str(tmp_path / "log"),
    }


def test_the_same_package_twice_is_the_same_bytes(tmp_path: Path) -> None:
    first, second = (
        build_extension(tmp_path / name, (Entry("check", "Check"),), python=Path("/p"), log=Path("/l")).read_bytes()
        for name in ("one.oxt", "two.oxt")
    )
    assert first == second


def test_the_component_needs_nothing_but_pythons_library_and_uno(tmp_path: Path) -> None:
    from workbench.resources import templates_folder

    text = (templates_folder() / "libreoffice" / "workbench_buttons.py").read_text(encoding="utf-8")
    compile(text, "workbench_buttons.py", "exec")
    imported = {line.split()[1].split(".")[0] for line in text.splitlines() if line.startswith(("import ", "from "))}
    assert "workbench" not in imported and "xlwings" not in imported


@pytest.mark.libreoffice
def test_install_and_uninstall_from_the_command_line(tmp_path: Path) -> None:
    if SOFFICE is None:
        pytest.skip("LibreOffice is not installed")
    profile = str(tmp_path / "profile")
    done = CliRunner().invoke(app, ["install", "--libreoffice", "--profile", profile, "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["profile"] == profile and told["actions"] == [action.name for action in actions()]
    again = CliRunner().invoke(app, ["install", "--libreoffice", "--profile", profile])
    assert "installed the toolbar in LibreOffice" in again.stdout, "the one that is there is replaced"
    removed = CliRunner().invoke(app, ["uninstall", "--libreoffice", "--profile", profile, "--json"])
    assert json.loads(removed.stdout) == {"removed": True}
    nothing = CliRunner().invoke(app, ["uninstall", "--libreoffice", "--profile", str(tmp_path / "other")])
    assert nothing.stdout == "the toolbar was not installed\n"


@pytest.mark.libreoffice
def test_a_running_libreoffice_is_not_tampered_with(tmp_path: Path) -> None:
    from workbench.buttons import libreoffice
    from workbench.buttons.install import install_toolbar

    if SOFFICE is None:
        pytest.skip("LibreOffice is not installed")
    with (
        libreoffice.start(profile=tmp_path / "profile"),
        pytest.raises(libreoffice.LibreOfficeError, match="LibreOffice is running on this user profile; close it"),
    ):
        install_toolbar(profile=tmp_path / "profile")


@pytest.mark.parametrize("python", ["/nowhere/python", "/bin/false"])
def test_an_interpreter_that_will_not_do_is_refused(python: str, tmp_path: Path) -> None:
    from workbench.buttons.install import install_toolbar
    from workbench.errors import WorkbenchError

    with pytest.raises(WorkbenchError, match=python):
        install_toolbar(profile=tmp_path / "profile", python=Path(python))


def test_one_place_has_to_be_named(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["install"])
    assert "name one place for the buttons" in str(result.exception)


def test_the_list_says_what_each_button_does() -> None:
    shown = CliRunner().invoke(app, ["list", "--json"])
    titles = [entry["title"] for entry in json.loads(shown.stdout)]
    assert titles == [
        *("Recalculate", "Profile again", "Add profile…", "Calibrate", "Loss profile"),
        *("Sweep", "Plan", "Export CSV", "Check"),
    ]
