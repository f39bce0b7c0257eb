"""Calibrate: perf ratios measured on this machine."""

from __future__ import annotations

from workbench.buttons.actions.common import PROFILE, chosen_profile, profiles_in, speed, yes
from workbench.buttons.messages import Setting
from workbench.buttons.registry import Outcome, action
from workbench.buttons.session import Session


@action(
    "Calibrate",
    [
        PROFILE,
        Setting("seconds", "", "seconds of measuring, at most; empty: 3 a weight shape"),
        Setting("overwrite", "no", "yes replaces rows whose source is 'user', too"),
    ],
)
def calibrate(session: Session, settings: dict[str, str]) -> Outcome:
    """Measure the 4x1 perf ratios of the profile's weight shapes here, and put them into its ratio table."""
    from workbench.book.calibration import calibrate_book
    from workbench.buttons.actions.common import seconds

    budget = seconds(settings) if settings["seconds"] else None
    with session.changing_file() as copy:
        name = chosen_profile(session, profiles_in(copy), settings["profile"])
        (done,) = calibrate_book(
            copy, profile=name, budget_s=budget, overwrite=yes(settings, "overwrite"), progress=session.progress
        )
    rows: list[tuple[object, ...]] = [("weight shape", "written", "remark")]
    rows += [(row.label, "yes" if row.written else "no", row.reason or row.note) for row in done.rows]
    message = f"Calibrated {done.written} of {len(done.rows)} weight shapes of {name}{speed(session, name)}"
    return Outcome(message, rows, exit_code=0 if done.written else 1)
