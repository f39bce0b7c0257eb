"""The command line: one module a command, listed here, loaded when it is asked for."""

from __future__ import annotations

import importlib
import os
import sys
from keyword import iskeyword
from typing import Any

import typer
from typer.core import TyperGroup

from workbench import __version__
from workbench.cli.common import run_reporting_errors

COMMANDS: dict[str, str] = {
    "profile": "Measure an ONNX model and write (or extend) a workbook.",
    "recompute": "Apply edits and recalculate every formula of a workbook; nothing is lost.",
    "verify": "Recalculate a workbook with LibreOffice and list the cells that differ.",
    "loss": "Tell how sensitive each layer is to pruning, by its weights or over data.",
    "show": "Print a workbook's summary.",
    "calibrate": "Replace a workbook's perf ratios by ones measured on this machine.",
    "prune": "Prune a model's weights to the targets of a workbook.",
    "validate": "Run a model as sparse as planned and compare it with the workbook's estimate.",
    "sweep": "Try values in the workbook's cells, all combinations.",
    "simulate": "Draw random ratio tables: how sure is the estimate?",
    "plan": "Find the targets of least loss for a speed-up.",
    "compare": "List what two workbooks say differently.",
    "import": "Import another tool's profile or ratios into a workbook.",
    "export": "Write a workbook's tables as CSV, JSON, Markdown, Parquet or Neural Engine files.",
    "buttons": "Put buttons into LibreOffice or a workbook for Excel, or take them out.",
}
"""Command → its line in `workbench --help`; the module is `workbench.cli.<command>`, with `app` in it."""


class _LazyGroup(TyperGroup):
    """Imports a command's module only when that command is run, so that `--help` starts fast."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        if not ctx.resilient_parsing and ctx.invoked_subcommand is None and "--help" in sys.argv[1:2]:
            return _placeholder(cmd_name)
        return _loaded(cmd_name)


def _loaded(name: str) -> Any:
    file = name.replace("-", "_")
    # A word of the language can't be imported by statement: its module has an underscore behind.
    module = importlib.import_module(f"workbench.cli.{file}_" if iskeyword(file) else f"workbench.cli.{file}")
    command: Any = typer.main.get_command(module.app)
    command.name = name
    return command


def _placeholder(name: str) -> Any:
    """A command that only has its help line, for the listing."""

    def nothing() -> None: ...

    app = typer.Typer(add_completion=False)
    app.command(name, help=COMMANDS[name])(nothing)
    return typer.main.get_command(app)


_root = typer.Typer(
    cls=_LazyGroup,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Estimate, in a spreadsheet, what pruning would do to a network's speed.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"workbench {__version__}")
        raise typer.Exit


@_root.callback()
def _main_options(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    """Estimate, in a spreadsheet, what pruning would do to a network's speed."""


def main() -> None:
    """Run the command line; `WorkbenchError`s become one line on stderr and an exit code."""
    status = run_reporting_errors(_root)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status) if status == 130 else sys.exit(status)
