"""Profile again, and Add profile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.buttons.actions.common import (
    MODEL,
    PROFILE,
    REQUIRED_MODEL,
    SECONDS,
    chosen_profile,
    model_path,
    profiles_in,
    seconds,
    speed,
    whole,
)
from workbench.buttons.messages import Setting
from workbench.buttons.registry import Outcome, action
from workbench.buttons.session import Session

if TYPE_CHECKING:
    from pandas import DataFrame

    from workbench.profile import PerformanceProfile


@action("Profile again", [PROFILE, MODEL, SECONDS])
def profile_again(session: Session, settings: dict[str, str]) -> Outcome:
    """Measure the profile of the sheet in front once more; its ratios, targets and sparse support stay."""
    from workbench.book.fields import targets_by_name
    from workbench.book.insert import add_profile
    from workbench.profiling import profile_model

    measuring_s = seconds(settings)
    with session.changing_file() as copy:
        book = profiles_in(copy)
        name = chosen_profile(session, book, settings["profile"])
        facts = book.facts(name)
        measured = profile_model(
            model_path(session, settings["model"], str(facts["model"] or "")),
            name=name,
            batch=whole(facts["batch"]),
            cores=whole(facts["cores"]),
            budget_s=measuring_s or 1.0,
            measure=measuring_s > 0,
            progress=session.progress,
        )
        kept = book.operators(name).drop_duplicates("operator name").set_index("operator name")
        targets = {op: None if blank else target for op, target, blank in _column(kept, "aim to weight sparse ratio")}
        measured = _with_support(measured, {op: bool(value) for op, value, _ in _column(kept, "sparse support")})
        add_profile(
            copy,
            measured,
            replace=True,
            ratios=book.ratio_table(name),
            targets=targets_by_name(measured, targets),
        )
    return Outcome(f"Profiled {name} again{speed(session, name)}")


def _column(operators: DataFrame, header: str) -> Iterator[tuple[str, Any, bool]]:
    """(operator, value, whether the cell is empty) of a column."""
    values = operators[header]
    return zip(map(str, operators.index), values, values.isna(), strict=True)


def _with_support(profile: PerformanceProfile, support: Mapping[str, bool]) -> PerformanceProfile:
    """The profile, with sparse support as a person left it in the sheet where that differs."""
    operators = tuple(
        replace(op, sparse_support=support[op.name], support_reason="set in the workbook")
        if op.name in support and support[op.name] != op.sparse_support
        else op
        for op in profile.operators
    )
    return replace(profile, operators=operators)


@action(
    "Add profile…",
    [
        Setting("name", "", "the new profile's name", required=True),
        REQUIRED_MODEL,
        Setting("batch", "", "batch size; empty: the model's own, or 1"),
        Setting("cores", "", "CPU cores; empty: all"),
        SECONDS,
    ],
)
def add_profile(session: Session, settings: dict[str, str]) -> Outcome:
    """Measure a model, or the same one with another batch or number of cores, and add it to the book."""
    from workbench import api

    measuring_s, name = seconds(settings), settings["name"]
    with session.changing_file() as copy:
        api.profile(
            model_path(session, settings["model"], ""),
            copy,
            name=name,
            batches=(whole(settings["batch"], "batch"),),
            cores=(whole(settings["cores"], "cores"),),
            budget_s=measuring_s or 1.0,
            measure=measuring_s > 0,
            progress=session.progress,
        )
    return Outcome(f"Added the profile {name}{speed(session, name)}")
