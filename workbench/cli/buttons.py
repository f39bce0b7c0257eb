"""`workbench buttons`: put the buttons into LibreOffice or into a book, and take them out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Buttons inside LibreOffice and Excel.")

_Profile = Annotated[Path | None, typer.Option(help="LibreOffice's user profile; default: this user's.")]
_Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@app.command()
def install(
    libreoffice: Annotated[bool, typer.Option("--libreoffice", help="Toolbar and menu in LibreOffice.")] = False,
    python: Annotated[
        Path | None, typer.Option(help="The interpreter that the buttons start; default: the one that runs this.")
    ] = None,
    profile: _Profile = None,
    as_json: _Json = False,
) -> None:
    """Put toolbar and menu into LibreOffice (close it first)."""
    from dataclasses import asdict

    from workbench.buttons.install import install_toolbar
    from workbench.cli.common import print_json

    _wanted(libreoffice)
    done = install_toolbar(profile=profile, python=python)
    if as_json:
        print_json(asdict(done))
        return
    typer.echo(f"installed the toolbar in LibreOffice {done.libreoffice}, user profile {done.profile}")
    typer.echo(f"its {len(done.actions)} buttons start {done.python}; what goes wrong there is in {done.log}")


@app.command()
def uninstall(
    libreoffice: Annotated[bool, typer.Option("--libreoffice", help="Toolbar and menu in LibreOffice.")] = False,
    profile: _Profile = None,
    as_json: _Json = False,
) -> None:
    """Take toolbar and menu out of LibreOffice (close it first)."""
    from workbench.buttons.install import uninstall_toolbar
    from workbench.cli.common import print_json

    _wanted(libreoffice)
    removed = uninstall_toolbar(profile=profile)
    if as_json:
        print_json({"removed": removed})
        return
    typer.echo("removed the toolbar from LibreOffice" if removed else "the toolbar was not installed")


@app.command("list")
def list_actions(as_json: _Json = False) -> None:
    """List the buttons and what they do."""
    from workbench.buttons.registry import actions
    from workbench.cli.common import print_json

    if as_json:
        print_json([{"name": a.name, "title": a.title, "help": a.help} for a in actions()])
        return
    for action in actions():
        typer.echo(f"{action.title:16} {action.help}")


def _wanted(libreoffice: bool) -> None:
    from workbench.errors import WorkbenchError

    if not libreoffice:
        raise WorkbenchError("nothing was chosen", remedy="give --libreoffice")
