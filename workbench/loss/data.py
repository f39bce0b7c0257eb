"""The data that a loss is measured over: read, checked, cut into batches, kept within a limit of memory."""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ModelError
from workbench.profiling.inputs import Arrays, ModelInput, check_input, dims_of

LABELS = ("labels", "label", "targets", "target", "y")
"""Names under which an .npz file may hold the expected classes."""

Feeds = Mapping[str, NDArray[np.generic]]
DataSource = str | Path | Callable[[], Iterable[Feeds]] | Iterable[Feeds] | Feeds
"""An .npz file, a folder of them, one mapping of arrays, several, or a function that yields them."""


@dataclass(frozen=True)
class Batch:
    """What goes into one run, and what is expected of it."""

    feeds: Arrays
    labels: NDArray[np.generic] | None
    samples: int


def read_batches(
    source: DataSource, inputs: tuple[ModelInput, ...], batch: int, *, labels_needed: bool = False
) -> Iterator[Batch]:
    """Checked batches of at most `batch` samples (of the model's own number where it fixes one).

    Raises `ModelError` where an array is missing, has no sample, NaN, the wrong type or shape, or where the
    arrays don't agree on the number of samples.
    """
    count = 0
    for where, arrays in _pieces(source):
        labels = _take_labels(arrays, inputs)
        if labels_needed and labels is None:
            raise ModelError(
                "cross-entropy needs the expected classes, and the data has none",
                where=where,
                remedy=f"add an array named {LABELS[0]!r}, or choose --metric kl",
            )
        _check_names(arrays, inputs, where)
        for part, part_labels, samples in _cut(arrays, labels, inputs, batch, where):
            _check_values(part, inputs, where)
            count += 1
            yield Batch(part, part_labels, samples)
    if not count:
        named = source if isinstance(source, str | Path) else "data"
        raise ModelError("there is no data", where=named, remedy="give at least one sample")


def _pieces(source: DataSource) -> Iterator[tuple[Path, Arrays]]:
    """Each source of arrays with what to call it; read one at a time."""
    if isinstance(source, str | Path):
        path = Path(source)
        if path.is_dir():
            files = sorted(path.glob("*.npz"))
            if not files:
                raise ModelError("no .npz file in this folder", where=path, remedy="write them with numpy.savez")
            for file in files:
                yield file, _archive(file)
            return
        yield path, _archive(path)
        return
    items = source() if callable(source) else source
    if isinstance(items, Mapping):
        items = [items]
    for number, item in enumerate(items, 1):
        if not isinstance(item, Mapping):
            raise ModelError(
                f"item {number} is {type(item).__name__}, not a mapping of input names to arrays",
                where="data",
                remedy="yield e.g. {'input': array}",
            )
        yield Path(f"data, item {number}"), {name: np.asarray(value) for name, value in item.items()}


def _archive(file: Path) -> Arrays:
    try:
        loaded = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            raise ValueError("it holds a single array without a name")
        with loaded as archive:
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise ModelError("no such file", where=file, remedy="name an .npz file or a folder of them") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        reason = " ".join(str(error).split())[:120]
        raise ModelError(f"no readable .npz file ({reason})", where=file, remedy="write it with numpy.savez") from None


def _take_labels(arrays: Arrays, inputs: tuple[ModelInput, ...]) -> NDArray[np.generic] | None:
    taken = {item.name for item in inputs}
    name = next((n for n in LABELS if n in arrays and n not in taken), None)
    return arrays.pop(name) if name is not None else None


def _check_names(arrays: Arrays, inputs: tuple[ModelInput, ...], where: Path) -> None:
    wanted = {item.name for item in inputs}
    missing, extra = sorted(wanted - set(arrays)), sorted(set(arrays) - wanted)
    if missing:
        problem = f"no array for the input {missing[0]!r}"
    elif extra:
        problem = f"{extra[0]!r} is no input of the model"
    else:
        return
    raise ModelError(problem, where=where, remedy=f"the model takes: {', '.join(sorted(wanted))}")


def _cut(
    arrays: Arrays,
    labels: NDArray[np.generic] | None,
    inputs: tuple[ModelInput, ...],
    batch: int,
    where: Path,
) -> Iterator[tuple[Arrays, NDArray[np.generic] | None, int]]:
    """Pieces of `arrays` along the first axis of every input that has samples there."""
    sizes = {i.name: arrays[i.name].shape[0] for i in inputs if i.dims and arrays[i.name].ndim}
    if any(size == 0 for size in sizes.values()):
        name = next(name for name, size in sizes.items() if size == 0)
        raise ModelError(f"input {name!r} has no sample", where=where, remedy="give at least one")
    fixed = {int(i.dims[0]) for i in inputs if i.dims and isinstance(i.dims[0], int)}
    if len(set(sizes.values())) > 1:
        (name, size), (other, unlike) = _two_unlike(sizes)
        if not fixed or len(fixed) == 1:
            raise ModelError(
                f"input {name!r} has {size} samples and {other!r} has {unlike}",
                where=where,
                remedy="give every input the same number",
            )
        yield arrays, labels, 1
        return
    samples = next(iter(sizes.values()), 1)
    step = fixed.pop() if len(fixed) == 1 else samples if fixed else batch
    if samples % step and not any(isinstance(i.dims[0], str) for i in inputs if i.dims):
        raise ModelError(
            f"{samples} samples don't divide into batches of {step}, which the model fixes",
            where=where,
            remedy=f"give a multiple of {step}",
        )
    if labels is not None and (labels.ndim == 0 or labels.shape[0] != samples):
        raise ModelError(
            f"there are {labels.shape[0] if labels.ndim else 1} labels for {samples} samples",
            where=where,
            remedy="give a label for each sample",
        )
    for start in range(0, samples, step):
        stop = min(start + step, samples)
        part = {name: value[start:stop] if name in sizes else value for name, value in arrays.items()}
        yield part, None if labels is None else labels[start:stop], stop - start


def _two_unlike(sizes: Mapping[str, int]) -> tuple[tuple[str, int], tuple[str, int]]:
    first = next(iter(sizes.items()))
    return first, next(item for item in sizes.items() if item[1] != first[1])


def _check_values(part: Arrays, inputs: tuple[ModelInput, ...], where: Path) -> None:
    for item in inputs:
        array = part[item.name]
        check_input(item, array, where)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ModelError(
                f"input {item.name!r} holds NaN or infinite values",
                where=where,
                remedy="replace or leave out those samples",
            )
    dims_of(inputs, part, where)


@dataclass
class BatchStore:
    """Batches with the dense model's outputs; beyond `limit_bytes` they are kept in a temporary folder."""

    limit_bytes: int
    batches: list[tuple[Batch, Arrays]] = field(default_factory=list)
    _used: int = 0
    _folder: tempfile.TemporaryDirectory[str] | None = None
    _digest: hashlib._Hash = field(default_factory=hashlib.sha256)

    @property
    def samples(self) -> int:
        """Samples in all batches."""
        return sum(batch.samples for batch, _ in self.batches)

    @property
    def digest(self) -> str:
        """A hash of all inputs and labels."""
        return self._digest.hexdigest()

    def add(self, batch: Batch, outputs: Arrays) -> None:
        """Keep a batch and what the dense model made of it."""
        for name, array in [*sorted(batch.feeds.items()), ("labels", batch.labels)]:
            if array is not None:
                self._digest.update(f"{name} {array.dtype} {array.shape}".encode())
                self._digest.update(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data)
        labels = None if batch.labels is None else self._kept(batch.labels)
        feeds = {name: self._kept(array) for name, array in batch.feeds.items()}
        kept = {name: self._kept(array) for name, array in outputs.items()}
        self.batches.append((Batch(feeds, labels, batch.samples), kept))

    def _kept(self, array: NDArray[np.generic]) -> NDArray[np.generic]:
        if self._used + array.nbytes <= self.limit_bytes or not array.nbytes:
            self._used += array.nbytes
            return np.ascontiguousarray(array)
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="workbench-loss-")
        file = Path(self._folder.name) / f"{len(list(Path(self._folder.name).iterdir()))}.npy"
        np.save(file, array, allow_pickle=False)
        return np.asarray(np.load(file, mmap_mode="r", allow_pickle=False))

    def close(self) -> None:
        """Give the temporary folder back."""
        self.batches.clear()
        if self._folder is not None:
            self._folder.cleanup()
