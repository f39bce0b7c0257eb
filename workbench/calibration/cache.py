"""Measurements kept per machine, so that a second workbook costs nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from functools import cache
from pathlib import Path

from workbench.calibration.product import Layout
from workbench.files import replacing

_FILE = "calibration.json"
_VERSION = 2


@dataclass(frozen=True)
class MeasuredLevel:
    """The perf ratio of a shape at one pruning level. Ratios are dense time / sparse time."""

    ratio: float
    low: float
    high: float
    """Quartiles over undisturbed blocks."""
    dense_ms: float
    sparse_ms: float
    gflops: float
    """Of the sparse kernel, counting stored values only, 2 operations per multiply-add."""
    blocks: int
    """Undisturbed blocks behind the ratio."""

    @property
    def spread(self) -> float:
        """Half the distance of the quartiles over the ratio."""
        return (self.high - self.low) / 2 / self.ratio


@dataclass(frozen=True)
class CacheKey:
    """What a measurement holds for."""

    machine: str
    kernel: str
    shape: tuple[int, int]
    """N x K."""
    dtype: str
    tokens: int
    threads: int
    layout: Layout

    @property
    def text(self) -> str:
        """The key as it stands in the file."""
        size = "x".join(map(str, self.shape))
        return f"{self.machine} | {self.kernel} | {size} {self.dtype} M={self.tokens} {self.threads}t {self.layout}"


@dataclass(frozen=True)
class Entry:
    """A kept measurement."""

    levels: Mapping[float, MeasuredLevel]
    measured_on: str
    """ISO date."""


@cache
def machine_key() -> str:
    """CPU, cores, instruction sets and library versions: measurements of one key may stand for one another."""
    from importlib.metadata import PackageNotFoundError, version

    from workbench.profiling.machine import this_machine

    def installed(library: str) -> str:
        try:
            return version(library)
        except PackageNotFoundError:
            return "none"

    machine = this_machine()
    features = hashlib.sha256(" ".join(machine.instruction_sets).encode()).hexdigest()[:8]
    return (
        f"{machine.cpu_model} | {machine.usable_cores} of {machine.logical_cores} cores, {features} | "
        f"onnxruntime {installed('onnxruntime')}, numba {installed('numba')}"
    )


class CalibrationCache:
    """Measurements in a JSON file in `folder`; a file that can't be read counts as empty and is replaced."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder` defaults to the workbench's cache folder ($WORKBENCH_CACHE)."""
        if folder is None:
            from workbench.profiling.samples import cache_folder

            folder = cache_folder()
        self.path = folder / _FILE

    def find(self, key: CacheKey, levels: Sequence[float]) -> Entry | None:
        """The measurement of `key` at `levels`; None unless all of them are there."""
        entry = self._read().get(key.text)
        if entry is None or not set(levels) <= set(entry.levels):
            return None
        return Entry({level: entry.levels[level] for level in levels}, entry.measured_on)

    def keep(self, key: CacheKey, levels: Mapping[float, MeasuredLevel]) -> None:
        """Keep `levels` of `key`, beside other levels that are there."""
        entries = self._read()
        before = entries[key.text].levels if key.text in entries else {}
        entries[key.text] = Entry({**before, **levels}, date.today().isoformat())
        document = {
            "version": _VERSION,
            "entries": {
                text: {
                    "measured_on": entry.measured_on,
                    "levels": {repr(level): asdict(value) for level, value in entry.levels.items()},
                }
                for text, entry in entries.items()
            },
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.path) as temporary:
            temporary.write_text(json.dumps(document, indent=1), encoding="utf-8")

    def _read(self) -> dict[str, Entry]:
        try:
            document = json.loads(self.path.read_text(encoding="utf-8"))
            if document["version"] != _VERSION:
                return {}
            return {
                text: Entry(
                    {float(level): MeasuredLevel(**value) for level, value in entry["levels"].items()},
                    entry["measured_on"],
                )
                for text, entry in document["entries"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}
