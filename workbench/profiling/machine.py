"""Facts of the machine that a profile was measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.profile import Machine

_INTERESTING = (
    "sse4_2", "avx", "f16c", "fma", "avx2", "avx_vnni", "avx512f", "avx512bw", "avx512vl", "avx512_vnni",
    "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16", "neon", "asimd", "asimddp", "sve", "i8mm",
    "bf16",
)  # fmt: skip


def usable_cores() -> tuple[int, ...]:
    """The cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def chosen_cores(cores: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """The cores to run on: all usable ones, the first so many, or those given. Raises `WorkbenchError` for too many."""
    usable = usable_cores()
    if isinstance(cores, tuple):
        return cores
    if cores is not None and cores > len(usable):
        raise WorkbenchError(
            f"{cores} cores were asked for, and this process may use {len(usable)}",
            where="--cores",
            remedy=f"choose 1 to {len(usable)}",
        )
    return usable if cores is None else usable[:cores]


def this_machine() -> Machine:
    """CPU, cores, instruction sets, memory and system of this machine."""
    import psutil

    model, features = _cpu()
    return Machine(
        cpu_model=model,
        physical_cores=psutil.cpu_count(logical=False) or psutil.cpu_count() or 1,
        logical_cores=psutil.cpu_count() or 1,
        usable_cores=len(usable_cores()),
        instruction_sets=tuple(f for f in _INTERESTING if f in features),
        memory_bytes=int(psutil.virtual_memory().total),
        operating_system=platform.platform(terse=True),
        python=platform.python_version(),
    )


def _cpu() -> tuple[str, frozenset[str]]:
    """Model name and feature flags, from the kernel where it tells, else from archspec."""
    info = Path("/proc/cpuinfo")
    fields: dict[str, str] = {}
    if info.is_file():
        for line in info.read_text(errors="replace").split("\n\n")[0].splitlines():
            key, _, value = line.partition(":")
            fields[key.strip().lower()] = value.strip()
    flags = frozenset((fields.get("flags") or fields.get("features") or "").split())
    name = fields.get("model name", "")
    if not name or not flags:
        import archspec.cpu

        host = archspec.cpu.host()
        name = name or host.name
        flags = flags or frozenset(host.features)
    return name, flags
