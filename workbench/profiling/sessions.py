"""ONNX Runtime sessions: options, running, and sentences for what goes wrong."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import ModelError
from workbench.profiling.machine import usable_cores

if TYPE_CHECKING:
    import onnxruntime as ort

    from workbench.profiling.inputs import Arrays

PROVIDERS = ["CPUExecutionProvider"]


def runtime_version() -> str:
    """`onnxruntime 1.31.1, CPUExecutionProvider`."""
    import onnxruntime

    return f"onnxruntime {onnxruntime.__version__}, {PROVIDERS[0]}"


def session_options(threads: int) -> ort.SessionOptions:
    """Sequential execution on `threads` threads, errors only on stderr."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 4
    return options


def open_session(model: bytes | Path, options: ort.SessionOptions, where: Path) -> ort.InferenceSession:
    """A session on the CPU. Raises `ModelError` with the runtime's reason in one sentence."""
    import onnxruntime as ort

    try:
        return ort.InferenceSession(model if isinstance(model, bytes) else str(model), options, providers=PROVIDERS)
    except Exception as error:
        if not _is_runtime_error(error):
            raise
        raise ModelError(
            f"ONNX Runtime can't load the model: {reason(error)}",
            where=where,
            remedy="check the export, or upgrade onnxruntime",
        ) from None


def run_once(session: ort.InferenceSession, inputs: Arrays, where: Path) -> list[Any]:
    """One run. Raises `ModelError` with the node and reason where the runtime fails."""
    try:
        return list(session.run(None, inputs))
    except Exception as error:
        if not _is_runtime_error(error) and not isinstance(error, ValueError):
            raise
        raise ModelError(
            f"the model can't be run with these inputs: {reason(error)}",
            where=where,
            remedy="set sizes with --batch and --dim NAME=V, or give inputs with --inputs FILE.npz",
        ) from None


def reason(error: Exception) -> str:
    """The runtime's message without its codes and source paths."""
    text = " ".join(str(error).split())
    text = re.sub(r"\[ONNXRuntimeError\] : \d+ : [A-Z_]+ : ", "", text)
    text = re.sub(r"/[\w./+-]+\.(?:cc|h|cpp):\d+ ", "", text)
    text = re.sub(r"onnxruntime::[\w:]+\([^)]*\)\s*", "", text)
    return text[:400].rstrip(". ")


def _is_runtime_error(error: Exception) -> bool:
    return type(error).__module__.startswith("onnxruntime")


@contextlib.contextmanager
def on_cores(cores: tuple[int, ...]) -> Iterator[None]:
    """Threads started in the block run on `cores` only, where the system can say so."""
    if not hasattr(os, "sched_setaffinity") or tuple(cores) == usable_cores():
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
