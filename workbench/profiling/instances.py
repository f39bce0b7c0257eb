"""Several copies of a model at once, each on cores of its own."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Mapping
from pathlib import Path
from queue import Empty
from typing import Any

from workbench.errors import WorkbenchError
from workbench.profiling.machine import usable_cores
from workbench.profiling.profiler import Measurement, measure_model
from workbench.profiling.runs import Progress


def measure_instances(
    model: str | Path,
    instances: int,
    *,
    name: str = "baseline",
    cores: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> tuple[Measurement, ...]:
    """Measure `instances` copies at once in processes of their own, `cores` cores each (default: all, shared out).

    All begin to measure together. The profiles are called `<name> i0`, `<name> i1`, …; further options are
    those of `measure_model`. Raises `WorkbenchError` where there are not enough cores, or an instance's own.
    """
    usable = usable_cores()
    each = cores if cores is not None else max(len(usable) // instances, 1)
    if each * instances > len(usable):
        raise WorkbenchError(
            f"{instances} instances of {each} cores need {each * instances}, and this process may use {len(usable)}",
            where="--instances",
            remedy="ask for fewer instances or cores",
        )
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(instances)
    messages: Any = context.Queue()
    processes = [
        context.Process(
            target=_run,
            args=(barrier, messages, number, str(model), usable[number * each : (number + 1) * each]),
            kwargs={"name": f"{name} i{number}", "instances": instances, **options},
            daemon=True,
        )
        for number in range(instances)
    ]
    for process in processes:
        process.start()
    try:
        return _collected(processes, messages, instances, progress)
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _collected(
    processes: list[Any], messages: Any, instances: int, progress: Progress | None
) -> tuple[Measurement, ...]:
    found: dict[int, Measurement] = {}
    while len(found) < instances:
        try:
            number, kind, content = messages.get(timeout=1.0)
        except Empty:
            dead = [i for i, p in enumerate(processes) if not p.is_alive() and i not in found]
            if dead and messages.empty():
                code = processes[dead[0]].exitcode
                raise WorkbenchError(
                    f"instance {dead[0]} ended with exit code {code}", remedy="check memory and limits"
                ) from None
            continue
        if kind == "done":
            found[number] = content
        elif kind == "failed":
            raise content
        elif number == 0 and progress is not None:
            progress(f"{instances} instances, {content[0]}", content[1])
    return tuple(found[i] for i in range(instances))


def _run(
    barrier: Any, messages: Any, number: int, model: str, cores: tuple[int, ...], **options: Mapping[str, object]
) -> None:
    """One instance's process: wait for the others before the first session, then measure."""
    waited = threading.Event()

    def progress(stage: str, done: float) -> None:
        if stage.startswith("session") and not waited.is_set():
            waited.set()
            barrier.wait(timeout=600)
        messages.put((number, "progress", (stage, done)))

    try:
        made = measure_model(model, cores=cores, instance=number, progress=progress, **options)  # type: ignore[arg-type]
        messages.put((number, "done", made))
    except WorkbenchError as error:
        barrier.abort()
        messages.put((number, "failed", error))
