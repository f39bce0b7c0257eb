"""Loss profile: how sensitive each layer is to pruning."""

from __future__ import annotations

from pathlib import Path

from workbench.buttons.actions.common import MODEL, PROFILE, chosen_profile, model_path, profiles_in
from workbench.buttons.messages import Setting
from workbench.buttons.registry import Outcome, action
from workbench.buttons.session import Session


@action(
    "Loss profile",
    [
        PROFILE,
        MODEL,
        Setting("name", "loss", "the loss profile's name, its sheet's, too; one of that name is replaced"),
        Setting("data", "", "an .npz file with arrays by input name, to measure over; empty: weights' magnitudes tell"),
    ],
)
def loss_profile(session: Session, settings: dict[str, str]) -> Outcome:
    """Add a sheet that tells how sensitive each layer is to pruning, measured over data or by its weights."""
    from workbench import api

    with session.changing_file() as copy:
        book = profiles_in(copy)
        profile = chosen_profile(session, book, settings["profile"])
        name = settings["name"]
        done = api.loss(
            model_path(session, settings["model"], str(book.facts(profile)["model"] or "")),
            copy,
            name=name,
            profile=profile,
            data=_data(session, settings["data"]),
            replace=name.casefold() in (known.casefold() for known in book.loss_profile_names),
            progress=session.progress,
        )
    rows = [(note,) for note in done.notes]
    return Outcome(f"Wrote the loss profile {name} of {len(done.profile.layers)} layers ({done.profile.method})", rows)


def _data(session: Session, text: str) -> Path | None:
    return session.saved_path().parent / text if text else None
