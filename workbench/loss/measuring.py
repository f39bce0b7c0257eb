"""One-shot losses: each layer pruned alone at each level, the model's outputs compared with the dense ones.

One session runs everything. A layer's weight is changed in place between runs, so that a loss costs a plain
run over the data; results go to a journal as they come, and an interrupted measurement goes on from there.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from workbench.errors import ModelError, WorkbenchError
from workbench.loss.data import Batch, BatchStore, DataSource, read_batches
from workbench.loss.feeding import FedSession, LayerPruner
from workbench.loss.journal import Journal
from workbench.loss.layers import PrunableLayer
from workbench.loss.metrics import Loss
from workbench.loss.patterns import Pattern
from workbench.profiling.inputs import Arrays, model_inputs
from workbench.profiling.loading import LoadedModel
from workbench.profiling.runs import open_unique
from workbench.profiling.sessions import runtime_version, session_options

Progress = Callable[[str, float], None]
"""Called with what is being done, with the time left, and the share of the whole that is done, 0 to 1."""

_FLOATS = frozenset(
    {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE, onnx.TensorProto.UNDEFINED}
)


@dataclass(frozen=True)
class Measurement:
    """What was measured: losses by weight name and level, over `samples` samples in `batches` runs."""

    losses: Mapping[str, Mapping[float, float]]
    samples: int
    batches: int
    run_ms: float
    """Median time of a run over one batch, with a pruned weight; NaN where all was known already."""
    control: float
    """Dense control run: the largest difference to the unchanged model's outputs, relative to the largest value."""
    resumed: int
    """How many of the losses an earlier, interrupted measurement had found."""


def measure_losses(
    model: LoadedModel,
    layers: Sequence[PrunableLayer],
    *,
    data: DataSource,
    loss: Loss,
    pattern: Pattern,
    levels: Sequence[float],
    batch: int,
    threads: int,
    journals: Path | None,
    memory_bytes: int,
    progress: Progress,
) -> Measurement:
    """The loss of every layer at every level (ascending); 0 at level 0, where nothing is changed.

    Batches with the dense outputs take at most `memory_bytes`; what is above goes to a temporary folder.
    `journals` is where results so far are kept (None: nowhere). Raises `ModelError` for data that doesn't fit the
    model, and for dense outputs or losses that aren't numbers.
    """
    outputs = _outputs(model)
    session = FedSession(model, layers, threads, outputs)
    control = 0.0
    store = BatchStore(memory_bytes)
    journal: Journal | None = None
    try:
        progress("running the dense model", 0.0)
        for one in read_batches(data, model_inputs(model.proto), batch, labels_needed=loss.needs_labels):
            dense = session.run(one.feeds)
            _check_dense(dense, model.path)
            _check_labels(one, dense, loss, model.path)
            if not store.batches:
                control = _control(model, one.feeds, dense, threads)
            store.add(one, dense)
        if journals is not None:
            journal = Journal(journals, _question(model, session.weights, store, loss, pattern))
        found = _Losses(session, store, loss, model.path, journal, control)
        result = found.measure(model, layers, pattern, levels, progress)
        if journal is not None:
            journal.remove()
        return result
    finally:
        if journal is not None:
            journal.close()
        store.close()


class _Losses:
    """The state of a measurement that is under way."""

    def __init__(
        self,
        session: FedSession,
        store: BatchStore,
        loss: Loss,
        where: Path,
        journal: Journal | None,
        control: float,
    ) -> None:
        self._session, self._store, self._loss, self._where = session, store, loss, where
        self._journal, self._control = journal, control
        self._run_ms: list[float] = []

    def measure(
        self,
        model: LoadedModel,
        layers: Sequence[PrunableLayer],
        pattern: Pattern,
        levels: Sequence[float],
        progress: Progress,
    ) -> Measurement:
        """All losses, known ones from the journal."""
        known = self._journal.known if self._journal is not None else {}
        todo = [(at, level) for at, layer in enumerate(layers) for level in levels if level > 0]
        left = [(at, level) for at, level in todo if (layers[at].product.weight_name, level) not in known]
        losses: dict[str, dict[float, float]] = {
            layer.product.weight_name: {level: 0.0 for level in levels if level <= 0}
            | {level: known[layer.product.weight_name, level] for level in levels
               if (layer.product.weight_name, level) in known}
            for layer in layers
        }  # fmt: skip
        started = time.perf_counter()
        done = 0
        for at, layer in enumerate(layers):
            mine = [level for where, level in left if where == at]
            if not mine:
                continue
            name = layer.product.weight_name
            pruner = LayerPruner(model, layer, pattern, self._session.weights[name])
            try:
                for level in mine:
                    pruner.prune(level)
                    value = self._mean_loss(layer, level)
                    losses[name][level] = value
                    if self._journal is not None:
                        self._journal.add(name, level, value)
                    done += 1
                    rest = (time.perf_counter() - started) / done * (len(left) - done)
                    progress(
                        f"layer {at + 1} of {len(layers)} at {level * 100:.4g} %, {_clock(rest)} left",
                        (len(todo) - len(left) + done) / len(todo),
                    )
            finally:
                pruner.restore()
        ordered = {name: dict(sorted(values.items())) for name, values in losses.items()}
        run_ms = float(np.median(self._run_ms)) if self._run_ms else math.nan
        return Measurement(
            ordered, self._store.samples, len(self._store.batches), run_ms, self._control, len(todo) - len(left)
        )

    def _mean_loss(self, layer: PrunableLayer, level: float) -> float:
        total = 0.0
        for batch, dense in self._store.batches:
            before = time.perf_counter()
            pruned = self._session.run(batch.feeds)
            self._run_ms.append((time.perf_counter() - before) * 1000)
            total += _number(self._loss, dense, pruned, batch) * batch.samples
        value = total / self._store.samples
        if not math.isfinite(value):
            raise ModelError(
                f"with the layer {layer.name!r} at {level:.4g}, the loss is {value}",
                where=self._where,
                remedy="leave the layer or the level out with --layers or --levels, or choose another --metric",
            )
        return value


def _control(model: LoadedModel, feeds: Arrays, dense: Arrays, threads: int) -> float:
    """How far the session with weights as inputs is from a plain one, dense."""
    plain = open_unique(model, session_options(threads))
    expected = dict(zip(dense, plain.run(list(dense), feeds), strict=True))
    worst = 0.0
    for name, array in expected.items():
        if array.size and array.shape == dense[name].shape:
            largest = float(np.abs(array.astype(np.float64)).max())
            difference = np.abs(array.astype(np.float64) - dense[name].astype(np.float64)).max()
            worst = max(worst, float(difference) / largest if largest else float(difference))
    return worst


def _number(loss: Loss, dense: Arrays, pruned: Arrays, batch: Batch) -> float:
    value: object = loss.of(dense, pruned, batch.labels)
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if not isinstance(value, int | float | np.number):
        raise WorkbenchError(
            f"the metric returned {type(value).__name__}, not a number",
            where=loss.name,
            remedy="return the loss of the batch as a float",
        )
    return float(value)


def _outputs(model: LoadedModel) -> list[str]:
    """The outputs that are compared: those of floats, else all."""
    outputs = [value for value in model.proto.graph.output if value.type.WhichOneof("value") != "sequence_type"]
    floats = [value.name for value in outputs if value.type.tensor_type.elem_type in _FLOATS]
    names = floats or [value.name for value in outputs]
    if not names:
        raise ModelError("no output is a tensor that could be compared", where=model.path, remedy="wrap the model")
    return names


def _check_dense(dense: Arrays, where: Path) -> None:
    for name, array in dense.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ModelError(
                f"the dense model's output {name!r} holds NaN or infinite values for this data",
                where=where,
                remedy="give other samples, or check the model",
            )


def _check_labels(batch: Batch, dense: Arrays, loss: Loss, where: Path) -> None:
    if not loss.needs_labels or batch.labels is None:
        return
    name, first = next(iter(dense.items()))
    classes = first.shape[-1] if first.ndim else 1
    rows = first.size // max(classes, 1)
    labels = batch.labels
    if labels.dtype.kind not in "iub" or labels.size != rows:
        raise ModelError(
            f"the labels are {labels.size} of type {labels.dtype}, and the output {name!r} needs {rows} class numbers",
            where=where,
            remedy="give a whole number for each row of the first output",
        )
    if labels.size and int(labels.max()) >= classes:
        raise ModelError(
            f"a label is {int(labels.max())}, and the output {name!r} has {classes} classes, numbered from 0",
            where=where,
            remedy="correct the labels",
        )


def _question(model: LoadedModel, weights: Arrays, store: BatchStore, loss: Loss, pattern: Pattern) -> str:
    """All that the losses depend on."""
    digest = hashlib.sha256()
    if model.external_bytes:
        for name, array in sorted(weights.items()):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data)
    try:
        code = inspect.getsource(loss.of)
    except (OSError, TypeError):
        code = repr(loss.of)
    parts = (model.info.sha256, digest.hexdigest(), store.digest, loss.name, code, pattern, runtime_version())
    return "\n".join(parts)


def _clock(seconds: float) -> str:
    """`0:42`, `1:03:20`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
