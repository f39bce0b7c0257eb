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
    book: Annotated[Path | None, typer.Argument(help="The workbook that gets buttons, for Excel.")] = None,
    libreoffice: Annotated[bool, typer.Option("--libreoffice", help="Toolbar and menu in LibreOffice.")] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The workbook with buttons; default: BOOK's name, .xlsm.")
    ] = None,
    sheet: Annotated[str | None, typer.Option(help="The sheet for the buttons; default: the first.")] = None,
    add_in: Annotated[
        bool, typer.Option("--add-in", help="No macros: an .xlsx for the xlwings add-in's Run main.")
    ] = False,
    python: Annotated[
        str | None,
        typer.Option(help="The interpreter that the buttons start; for Excel, its path on Excel's machine."),
    ] = None,
    profile: _Profile = None,
    as_json: _Json = False,
) -> None:
    """Put buttons into BOOK for Excel, or toolbar and menu into LibreOffice (close it first)."""
    from dataclasses import asdict

    from workbench.buttons.install import install_in_book, install_toolbar
    from workbench.cli.common import print_json

    _check(book, libreoffice)
    if book is not None:
        made = install_in_book(book, out=output, sheet=sheet, python=python, add_in=add_in)
        if as_json:
            print_json(asdict(made))
        elif made.main is not None:
            typer.echo(f"wrote {made.book}, whose sheet {made.sheet} says what the add-in's Run main does")
            typer.echo(f"wrote {made.main}, which Run main calls; keep it beside the workbook")
        else:
            typer.echo(f"wrote {made.book} with {len(made.buttons)} buttons on the sheet {made.sheet}")
        return
    done = install_toolbar(profile=profile, python=Path(python) if python else None)
    if as_json:
        print_json(asdict(done))
        return
    typer.echo(f"installed the toolbar in LibreOffice {done.libreoffice}, user profile {done.profile}")
    typer.echo(f"its {len(done.actions)} buttons start {done.python}; what goes wrong there is in {done.log}")


@app.command()
def uninstall(
    book: Annotated[Path | None, typer.Argument(help="The workbook that loses its buttons.")] = None,
    libreoffice: Annotated[bool, typer.Option("--libreoffice", help="Toolbar and menu in LibreOffice.")] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The workbook without; default: BOOK's name, .xlsx.")
    ] = None,
    profile: _Profile = None,
    as_json: _Json = False,
) -> None:
    """Take the buttons out of BOOK, or toolbar and menu out of LibreOffice (close it first)."""
    from workbench.buttons.install import uninstall_from_book, uninstall_toolbar
    from workbench.cli.common import print_json

    _check(book, libreoffice)
    if book is not None:
        target, removed = uninstall_from_book(book, out=output)
        if as_json:
            print_json({"removed": removed, "book": str(target) if removed else None})
        else:
            typer.echo(f"wrote {target}, without buttons" if removed else f"{book} has no buttons of the workbench")
        return
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


def _check(book: Path | None, libreoffice: bool) -> None:
    """Exactly one place was named."""
    from workbench.errors import WorkbenchError

    if (book is None) != libreoffice:
        raise WorkbenchError("name one place for the buttons", remedy="give a workbook (for Excel), or --libreoffice")
