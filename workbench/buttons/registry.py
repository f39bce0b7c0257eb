"""The actions: one entry each, from which menu, toolbar, VBA and command line are made."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.buttons.messages import Setting
from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from workbench.buttons.session import Session


@dataclass(frozen=True)
class Outcome:
    """What an action has to say: a line for the status bar, and a table for the messages sheet where there is one."""

    message: str
    rows: Sequence[Sequence[object]] = ()
    exit_code: int = 0
    """As the command's: 1 where the answer to the question is no, 3 where formulas were not evaluated."""


@dataclass(frozen=True)
class Action:
    """A button."""

    name: str
    """As in URLs, macros and on the command line: `profile_again`."""
    title: str
    """As on the button: `Profile again`; dots say that it asks for settings."""
    help: str
    settings: tuple[Setting, ...]
    run: Callable[[Session, dict[str, str]], Outcome]

    @property
    def macro(self) -> str:
        """The VBA macro's name: `WbProfileAgain`."""
        return macro_of(self.name)


def macro_of(name: str) -> str:
    """The VBA macro of an action's name: `profile_again` → `WbProfileAgain`."""
    return "Wb" + "".join(part.capitalize() for part in name.split("_"))


_actions: dict[str, Action] = {}

CANCEL = "cancel"
"""Not an action but the end of one: every host has a button for it, too."""


def action(
    title: str, settings: Sequence[Setting] = ()
) -> Callable[[Callable[[Session, dict[str, str]], Outcome]], Callable[[Session, dict[str, str]], Outcome]]:
    """Register a function as an action; its name and docstring are the action's."""

    def register(run: Callable[[Session, dict[str, str]], Outcome]) -> Callable[[Session, dict[str, str]], Outcome]:
        text = " ".join((run.__doc__ or "").split())
        _actions[run.__name__] = Action(run.__name__, title, text, tuple(settings), run)
        return run

    return register


def actions() -> tuple[Action, ...]:
    """All actions, in the order of the toolbar."""
    importlib.import_module("workbench.buttons.actions")
    return tuple(_actions.values())


def named(name: str) -> Action:
    """The action `name`; `-` and `_` are the same."""
    for candidate in actions():
        if candidate.name == name.replace("-", "_"):
            return candidate
    known = ", ".join(candidate.name for candidate in actions())
    raise WorkbenchError(f"there is no action {name!r}", remedy=f"use one of {known}")
