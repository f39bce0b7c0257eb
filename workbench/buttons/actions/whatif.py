"""Sweep, and Plan."""

from __future__ import annotations

from workbench.buttons.actions.common import PROFILE, chosen_profile, number, profiles_in, speed, yes
from workbench.buttons.messages import Setting
from workbench.buttons.registry import Outcome, action
from workbench.buttons.session import Session


@action(
    "Sweep",
    [
        Setting(
            "vary", "", "cells and values to try, as ratios_baseline[256x1024][90%]=2..6:1; A1=1,2,3", required=True
        ),
        Setting("show", "", "cells to watch, as sparse_improve_baseline; B7; empty: each profile's estimates"),
        Setting("one at a time", "no", "no tries all combinations, yes varies one cell at a time"),
    ],
)
def sweep(session: Session, settings: dict[str, str]) -> Outcome:
    """Try values in cells, and list what the book's formulas make of each in the sheet Scenarios."""
    from workbench.whatif.outputs import listed_values
    from workbench.whatif.sheet import save_scenarios
    from workbench.whatif.sweep import sweep as run

    vary = dict(listed_values(text) for text in _parts(settings["vary"]))
    with session.changing_file() as copy:
        session.progress("Sweeping", 0.3)
        table = run(copy, vary, outputs=_parts(settings["show"]), one_at_a_time=yes(settings, "one at a time"))
        save_scenarios(copy, table, inputs=len(vary))
    return Outcome(f"Tried {len(table)} scenarios; they are in the sheet Scenarios")


@action(
    "Plan",
    [
        PROFILE,
        Setting("speed-up", "", "the speed-up to reach, as 1.5 (total latency / total aim)", required=True),
        Setting("levels", "", "levels to choose from, as 70%, 80%, 90%; empty: the ratio table's"),
        Setting("apply", "yes", "yes writes the targets into the operators' sheet, no only lists them"),
    ],
)
def plan(session: Session, settings: dict[str, str]) -> Outcome:
    """Find the targets that reach a speed-up with the least loss, and set them."""
    from workbench.whatif.plan import plan as run

    speedup = number(settings["speed-up"], "speed-up", low=1.0)
    levels = tuple(number(text, "levels") for text in settings["levels"].replace(";", ",").split(",") if text.strip())
    apply = yes(settings, "apply")
    if apply:
        with session.changing_file() as copy:
            name = chosen_profile(session, profiles_in(copy), settings["profile"])
            session.progress("Planning", 0.3)
            made = run(copy, speedup, profile=name, levels=levels or None, apply=True)
    else:
        copy = session.snapshot()
        name = chosen_profile(session, profiles_in(copy), settings["profile"])
        session.progress("Planning", 0.3)
        made = run(copy, speedup, profile=name, levels=levels or None)
    rows: list[tuple[object, ...]] = [("operator", "target", "ms", "aim ms", "loss")]
    rows += [(op.operator, op.target or "dense", op.latency_ms, op.aim_ms, op.loss) for op in made.operators]
    pruned = sum(op.target > 0 for op in made.operators)
    message = f"{name}: speed-up {made.speedup:.3f} with {pruned} of {len(made.operators)} operators pruned"
    return Outcome(f"{message}; loss is {made.loss_is}{speed(session, name) if apply else ''}", rows)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.replace("\n", ";").split(";") if part.strip()]
