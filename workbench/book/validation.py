"""A workbook's estimate put to the test: a real sparse run, written beside it."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from workbench.book.plan import Plan, read_dims, read_plan
from workbench.book.read import open_book
from workbench.book.validation_sheet import sheet_name, write_sheet
from workbench.calibration.product import require_numba
from workbench.calibration.validation import PredictedOperator, Prediction, Validation, validate_model
from workbench.errors import BookError, ModelError
from workbench.files import refuse_if_open_elsewhere
from workbench.profiling.inputs import Arrays
from workbench.profiling.loading import load_model
from workbench.profiling.samples import resolve_model

Progress = Callable[[str, float], None]
Validate = Callable[..., Validation]


@dataclass(frozen=True)
class ValidatedBook:
    """What a validation found and where it stands."""

    book: Path
    sheet: str
    validation: Validation


def validate_book(
    book: str | Path,
    model: str | Path,
    out: str | Path | None = None,
    *,
    profile: str | None = None,
    inputs: Arrays | Path | None = None,
    progress: Progress | None = None,
    validate: Validate = validate_model,
) -> ValidatedBook:
    """Run `model` as sparse as `profile` plans it, compare with the workbook's estimate, and write a sheet of it.

    The sheet `<profile> check` is added to the workbook (or `out`), or replaced; nothing else changes.
    `profile` may be left out where there is one. Raises `MissingExtra` without Numba, `BookError` for a profile
    without measured times or without targets, `ModelError` for a model that is not the profile's.
    """
    from workbench.book.insert import insert_sheets
    from workbench.recalc import fill_cached_values

    require_numba()
    target = Path(out) if out is not None else Path(book)
    refuse_if_open_elsewhere(target)
    opened = open_book(book)
    plan = read_plan(opened, profile)
    prediction = replace(_prediction(plan), dims=read_dims(opened, plan.profile))
    _check_model(plan, model)
    found = validate(model, prediction, inputs=inputs, progress=progress)
    name = sheet_name(plan.profile)
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        rendered = Path(folder) / "check.xlsx"
        write_sheet(rendered, found, opened.objects[plan.profile])
        fill_cached_values(rendered)
        insert_sheets(book, rendered, [name], replace=True, out=target)
    return ValidatedBook(target, name, found)


def _prediction(plan: Plan) -> Prediction:
    if not plan.measured or not math.isfinite(plan.end_to_end_ms):
        raise BookError(
            f"profile {plan.profile!r} has no measured times to validate",
            where=plan.book,
            remedy="profile the model on this machine, without --no-measure",
        )
    if not plan.targets:
        raise BookError(
            f"profile {plan.profile!r} has no target on a supported operator",
            where=plan.book,
            remedy="set 'aim to weight sparse ratio' in its operators sheet",
        )
    if not math.isfinite(plan.estimated_ms):
        raise BookError(
            f"the estimate of profile {plan.profile!r} holds no number",
            where=plan.book,
            remedy="run `workbench recompute` on the workbook",
        )
    operators = tuple(
        PredictedOperator(
            o.index, o.name, o.layer_id, o.operator_type, o.label, o.latency_ms, o.target if o.pruned else 0.0,
            o.ratio, o.aim_ms,
        )
        for o in plan.operators
    )  # fmt: skip
    return Prediction(
        plan.profile, plan.batch, {}, plan.threads, plan.end_to_end_ms, plan.estimated_ms, plan.total_ms,
        plan.total_aim_ms, operators,
    )  # fmt: skip


def _check_model(plan: Plan, model: str | Path) -> None:
    """Raise unless the file is the one that was profiled: other weights would be fine, other layers not."""
    info = load_model(resolve_model(model)).info
    if plan.model_hash and info.sha256 != plan.model_hash:
        raise ModelError(
            f"profile {plan.profile!r} was made from another model file ({plan.model})",
            where=model,
            remedy="give the file that was profiled, or profile this one",
        )
