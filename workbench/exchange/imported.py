"""What an importer gives, and what importers share: reading text and numbers, profiles with unknowns."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import prod
from pathlib import Path

from workbench.errors import FormatError
from workbench.profile import (
    BLOCK_ROWS,
    ModelInfo,
    OperatorRecord,
    PerformanceProfile,
    Provenance,
    RatioTable,
    Tensor,
    Weight,
)

DEFAULT_NAME = "baseline"
_SHAPE = re.compile(r"\d+(x\d+)*")
_DECIMAL_COMMA = re.compile(r"\s*\d+,\d+\s*%?\s*")


@dataclass(frozen=True)
class ImportedProfile:
    """A foreign file in our terms. Files of ratios alone have no profile, most profiles no ratios."""

    profile: PerformanceProfile | None
    ratios: RatioTable | None = None
    targets: tuple[float | None, ...] | None = None
    """One an operator; None for an operator: stays dense. None: the file sets no targets."""
    notes: tuple[str, ...] = ()
    """What was read otherwise than it stands, or is unknown; a sentence each."""


def text_of(path: Path) -> str:
    """The file's text. Raises `FormatError` where it can't be read or isn't text."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise FormatError("there is no such file", where=path, remedy="check the name") from None
    except IsADirectoryError:
        raise FormatError("this is a folder, not a file", where=path, remedy="name the file in it") from None
    except OSError as error:
        raise FormatError(f"the file can't be read ({error.strerror})", where=path) from None
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace")
    if b"\0" in data[:4096]:
        raise FormatError("this is a binary file, not a profile's text", where=path, remedy="name a CSV or JSON file")
    return data.decode("utf-8-sig", errors="replace")


def csv_rows(path: Path, text: str, delimiter: str = ",") -> list[list[str]]:
    """The rows of a CSV text. Raises `FormatError` where it can't be split."""
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise FormatError(f"this is no CSV that can be read ({error})", where=path, remedy="save it again") from None


def whole_of(value: object) -> int | None:
    """`value` as a whole number above 0; None for anything else."""
    valid = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e15
    return int(value) if valid else None  # type: ignore[call-overload]


def json_of(path: Path, text: str | None = None) -> object:
    """The file's JSON. Raises `FormatError` where it is broken or cut short."""
    text = text_of(path) if text is None else text
    try:
        document: object = json.loads(text)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) - 1 or "Unterminated" in error.msg
        problem = "the JSON is cut short" if cut else f"the JSON is broken ({error.msg})"
        raise FormatError(
            f"{problem} at line {error.lineno}, column {error.colno}", where=path, remedy="write or copy it again"
        ) from None
    except RecursionError:
        raise FormatError("the JSON is nested too deeply for a profile", where=path) from None
    return document


def number_of(text: str, path: Path, place: str, *, what: str = "a number") -> float:
    """`text` as a number that is finite and not negative; `place` (`row 7, column M`) goes into the error."""
    try:
        value = float(text)
    except ValueError:
        if _DECIMAL_COMMA.fullmatch(text):
            raise decimal_comma(text, path, place) from None
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise FormatError(f"{place}: {text.strip()!r} is not {what}", where=path, remedy="correct the cell")
    return value


def decimal_comma(text: str, path: Path, place: str) -> FormatError:
    """The error for a number such as `0,075`."""
    return FormatError(
        f"{place}: {text.strip()!r} has a decimal comma",
        where=path,
        remedy="save the file with decimal points (a spreadsheet's English number format)",
    )


def shape_of(text: str) -> tuple[int, ...] | None:
    """`256x1024` → (256, 1024); empty → (); None where it is no shape."""
    text = text.strip()
    if not text:
        return ()
    return tuple(map(int, text.split("x"))) if _SHAPE.fullmatch(text) else None


def rank_two_support(shape: tuple[int, ...]) -> tuple[bool, str]:
    """Whether a matrix product with a constant weight of `shape`, N x K, can run 4x1 sparse, and why."""
    if len(shape) != 2:
        return False, f"weight of rank {len(shape)}, not 2"
    if shape[0] % BLOCK_ROWS:
        return False, f"N = {shape[0]} is not divisible by {BLOCK_ROWS}"
    return True, f"matrix product, N = {shape[0]} divisible by {BLOCK_ROWS}"


def weight_in(shape: tuple[int, ...], inputs: Sequence[Tensor], zero_ratio: float) -> Weight:
    """The weight of that shape (N x K), named after the input that has its dims in either order."""
    either = (shape, shape[::-1])
    places = sorted(range(len(inputs)), key=lambda i: (i == 0, i))
    found = next((inputs[i] for i in places if inputs[i].shape in either), None)
    return Weight(
        name=found.name if found else "",
        shape=shape,
        dtype=found.dtype if found else "?",
        zero_ratio=zero_ratio,
        zero_block_ratio=None,
        parameters=prod(shape),
    )


def product_flops(weight: Weight | None, outputs: Sequence[Tensor]) -> float | None:
    """2 x M x N x K of a matrix product, None where a shape is unknown or the weight isn't of rank 2."""
    if weight is None or len(weight.shape) != 2 or not outputs or outputs[0].shape is None:
        return None
    return 2.0 * prod(outputs[0].shape) * weight.shape[1]


def imported_operator(
    index: int,
    operator_type: str,
    name: str,
    latency_ms: float,
    *,
    layer_id: str = "",
    post_ops: tuple[str, ...] = (),
    inputs: tuple[Tensor, ...] = (),
    outputs: tuple[Tensor, ...] = (),
    weight: Weight | None = None,
    support: tuple[bool, str] = (False, "weight unknown"),
    spread: float = math.nan,
    minimum_ms: float | None = None,
    flops: float | None = None,
    note: str = "",
) -> OperatorRecord:
    """An operator of a foreign profile."""
    return OperatorRecord(
        index=index,
        operator_type=operator_type or "?",
        name=name,
        layer_id=layer_id,
        post_ops=post_ops,
        inputs=inputs,
        outputs=outputs,
        weight=weight,
        sparse_support=support[0],
        support_reason=support[1],
        latency_ms=latency_ms,
        latency_spread=spread,
        latency_min_ms=latency_ms if minimum_ms is None else minimum_ms,
        flops=flops if flops is not None else product_flops(weight, outputs),
        bytes_moved=_bytes(operator_type, inputs, outputs),
        parameters=weight.parameters if weight is not None else 0,
        provenance=Provenance.IMPORTED,
        note=note,
    )


def _bytes(operator_type: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> float | None:
    from workbench.profiling.flops import operator_bytes

    if not (inputs or outputs):
        return None
    return operator_bytes(operator_type, [(t.shape, t.dtype) for t in inputs], [(t.shape, t.dtype) for t in outputs])


def imported_profile(
    path: Path,
    operators: Sequence[OperatorRecord],
    *,
    runtime: str,
    created: datetime | None = None,
    model: ModelInfo | None = None,
    end_to_end_ms: float | None = None,
    profiled_ms: float | None = None,
    batch: int | None = None,
    cores: int | None = None,
    warmup: int = 0,
    iterations: int = 0,
    instance: int = 0,
    warnings: Sequence[str] = (),
    settings: dict[str, str] | None = None,
) -> PerformanceProfile:
    """A profile from a file; what the file doesn't say stays unknown, and the warnings say so.

    An unknown batch counts as 1 and an unknown number of cores as 0.
    """
    unknown = [what for what, value in (("batch size (counted as 1)", batch), ("number of cores", cores)) if not value]
    said = list(warnings)
    if unknown:
        said.append(f"the file does not say the {' and the '.join(unknown)}")
    parameters = {op.weight.name or str(op.index): op.weight.parameters for op in operators if op.weight}
    return PerformanceProfile(
        name=DEFAULT_NAME,
        model=model or ModelInfo("unknown", "", 0, "", sum(parameters.values()), len(operators)),
        machine=None,
        batch=batch or 1,
        dims={},
        assumed_dims=(),
        cores=cores or 0,
        threads=cores or 0,
        instances=1,
        runtime=runtime,
        operators=tuple(replace(op, index=i) for i, op in enumerate(operators)),
        end_to_end_ms=end_to_end_ms,
        end_to_end_spread=math.nan,
        profiled_ms=profiled_ms,
        warmup=warmup,
        iterations=iterations,
        sessions=1 if iterations else 0,
        created=created or file_time(path),
        provenance=Provenance.IMPORTED,
        warnings=tuple(said),
        instance=instance,
        settings={"imported from": path.name, **(settings or {})},
    )


def file_time(path: Path) -> datetime:
    """When the file was written."""
    return datetime.fromtimestamp(path.stat().st_mtime).replace(microsecond=0)
