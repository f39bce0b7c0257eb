"""The sparse product as a Python object, and what it is compared with: one small interface, `Product`.

A product computes Y = act(X·Wᵀ + bias) for a fixed weight N x K: row-major X is M x K and Y is M x N,
feature-major X is K x M and Y is N x M.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.calibration.packing import PackedInt8, PackedWeight, pack, pack_int8
from workbench.errors import MissingExtra

Floats = NDArray[np.float32]
Layout = Literal["row", "feature"]
LAYOUTS: tuple[Layout, ...] = ("row", "feature")


class Product(Protocol):
    """A product with a fixed weight, ready to run."""

    def __call__(self, activations: Floats) -> Floats:
        """Y for X; the result may be overwritten by the next call."""


def require_numba() -> None:
    """Raise `MissingExtra` when Numba, which compiles the kernels, is not installed."""
    if importlib.util.find_spec("numba") is None:
        raise MissingExtra("measuring with the sparse kernel", "numba", "calibration")


def kernel_name() -> str:
    """The kernel's name with its version and vector width; part of every measurement's key."""
    from workbench.calibration.codegen import LANES
    from workbench.calibration.kernels import KERNEL_VERSION

    return f"4x1 kernel {KERNEL_VERSION}, {LANES} lanes"


@dataclass(frozen=True, eq=False)
class JobMemory:
    """The int64 slots of a job and the arrays that their addresses point into."""

    slots: NDArray[np.int64]
    kept: tuple[Any, ...]

    @property
    def address(self) -> int:
        """Where the slots are; valid while this object lives."""
        return int(self.slots.ctypes.data)


def job_memory(
    packed: PackedWeight | PackedInt8,
    *,
    bias: Floats | None,
    activation: str,
    layout: Layout,
    workers: int,
    spare: int = 0,
    scales: Floats | None = None,
) -> JobMemory:
    """A job without X, Y and M; `spare` slots more than the kernel needs, `scales` for an int8 one.

    Raises `ValueError` for an unknown activation or a bias whose length is not N.
    """
    from workbench.calibration.codegen import ACTIVATIONS
    from workbench.calibration.kernels import Job, scratch_bytes

    if activation not in ACTIVATIONS:
        raise ValueError(f"unknown activation {activation!r}: expected one of {', '.join(ACTIVATIONS)}")
    offsets = np.zeros(packed.outputs, np.float32)
    if bias is not None:
        if bias.shape != (packed.outputs,):
            raise ValueError(f"a bias of shape {bias.shape} for {packed.outputs} output channels")
        offsets[:] = bias
    stride = scratch_bytes(packed.inputs)
    scratch = np.zeros(stride * workers // 8 + 8, np.int64)
    aligned = scratch.ctypes.data + -scratch.ctypes.data % 64
    slots = np.zeros(Job.SIZE + spare, np.int64)
    for slot, value in (
        (Job.WORKERS, workers),
        (Job.VALUES, packed.values.ctypes.data),
        (Job.COLUMNS, packed.columns.ctypes.data),
        (Job.STARTS, packed.starts.ctypes.data),
        (Job.BIAS, offsets.ctypes.data),
        (Job.N, packed.outputs),
        (Job.K, packed.inputs),
        (Job.FEATURE_MAJOR, layout == "feature"),
        (Job.ACTIVATION, ACTIVATIONS[activation]),
        (Job.SCRATCH, aligned),
        (Job.SCRATCH_STRIDE, stride),
        (Job.SCALES, 0 if scales is None else scales.ctypes.data),
    ):
        slots[slot] = value
    return JobMemory(slots, (packed, offsets, scratch, scales))


class SparseProduct:
    """Our 4x1 kernel on Numba's threads. Not to be called from two threads at once."""

    def __init__(
        self,
        weight: NDArray[np.floating] | PackedWeight,
        *,
        bias: Floats | None = None,
        activation: str = "",
        layout: Layout = "row",
        threads: int = 1,
    ) -> None:
        """`weight` is N x K (zero blocks are left out) or packed; `activation` is "", relu, gelu or tanh.

        Raises `MissingExtra` without Numba, `ValueError` for a weight that has no 4x1 blocks.
        """
        require_numba()
        self.packed = weight if isinstance(weight, PackedWeight) else pack(weight)
        self.layout = layout
        self._threads = threads
        self._job = job_memory(self.packed, bias=bias, activation=activation, layout=layout, workers=threads)
        self._result: Floats = np.empty((0, 0), np.float32)

    def __call__(self, activations: Floats) -> Floats:
        """Y for X in the product's layout; overwritten by the next call of the same shape."""
        from workbench.calibration.kernels import Job, run, run_alone

        x = np.ascontiguousarray(activations, dtype=np.float32)
        rows = self.layout == "row"
        if x.ndim != 2 or x.shape[1 if rows else 0] != self.packed.inputs:
            raise ValueError(f"activations of shape {x.shape} for a weight {self.packed.shape}, {self.layout}-major")
        tokens = x.shape[0 if rows else 1]
        shape = (tokens, self.packed.outputs) if rows else (self.packed.outputs, tokens)
        if self._result.shape != shape:
            self._result = np.empty(shape, np.float32)
        slots = self._job.slots
        slots[Job.X], slots[Job.Y], slots[Job.M] = x.ctypes.data, self._result.ctypes.data, tokens
        (run if self._threads > 1 else run_alone)(self._job.address)
        return self._result


def int8_unavailable() -> str:
    """Why the int8 kernel can't run on this machine; empty where it can."""
    from workbench.calibration.codegen_int8 import has_vnni

    return "" if has_vnni() else "the int8 kernel needs AVX-512 VNNI, which this CPU does not have"


@dataclass(frozen=True, eq=False)
class Int8Linear:
    """act(scale·(W·(X - zero)) + bias) for u8 X: `scale` fp32[N] is that of X times that of W, whose zero is 0."""

    weight: NDArray[np.int8]
    scale: Floats
    zero: int = 0
    bias: Floats | None = None
    activation: str = ""

    def job(self, workers: int, spare: int = 0, packed: PackedInt8 | None = None) -> JobMemory:
        """The kernel's job; row-major. Raises `ValueError` as `job_memory` and `pack` do."""
        packed = packed or pack_int8(self.weight)
        scales = np.ascontiguousarray(np.broadcast_to(self.scale, packed.outputs), dtype=np.float32)
        offsets = -np.float32(self.zero) * self.weight.astype(np.float32).sum(axis=1) * scales
        if self.bias is not None:
            offsets = offsets + self.bias
        return job_memory(
            packed, bias=offsets.astype(np.float32), activation=self.activation, layout="row", workers=workers,
            spare=spare, scales=scales,
        )  # fmt: skip


class SparseInt8Product:
    """Our int8 4x1 kernel on the calling thread: u8 M x K to fp32 M x N."""

    def __init__(self, linear: Int8Linear) -> None:
        """Raises `MissingExtra` without Numba, `ValueError` for a weight without 4x1 blocks or a CPU without VNNI."""
        require_numba()
        reason = int8_unavailable()
        if reason:
            raise ValueError(reason)
        self._linear = linear
        self._job = linear.job(1)

    def __call__(self, activations: NDArray[np.uint8]) -> Floats:
        """Y for X."""
        from workbench.calibration.kernels import Job
        from workbench.calibration.kernels_int8 import run_int8_alone

        x = np.ascontiguousarray(activations, dtype=np.uint8)
        if x.ndim != 2 or x.shape[1] != self._linear.weight.shape[1]:
            raise ValueError(f"activations of shape {x.shape} for a weight {self._linear.weight.shape}")
        result = np.empty((x.shape[0], self._linear.weight.shape[0]), np.float32)
        slots = self._job.slots
        slots[Job.X], slots[Job.Y], slots[Job.M] = x.ctypes.data, result.ctypes.data, x.shape[0]
        run_int8_alone(self._job.address)
        return result


class DenseNumpy:
    """Dense product by NumPy's BLAS."""

    def __init__(self, weight: Floats, *, layout: Layout = "row") -> None:
        self._weight, self._rows = weight, layout == "row"

    def __call__(self, activations: Floats) -> Floats:
        product: Floats = activations @ self._weight.T if self._rows else self._weight @ activations
        return product


class ScipyCsr:
    """Sparse product by SciPy's compressed rows, on one thread (it has no others)."""

    def __init__(self, weight: Floats, *, layout: Layout = "row") -> None:
        from scipy.sparse import csr_matrix

        self._matrix, self._rows = csr_matrix(weight), layout == "row"

    def __call__(self, activations: Floats) -> Floats:
        if self._rows:
            return np.asarray((self._matrix @ activations.T).T, dtype=np.float32)
        return np.asarray(self._matrix @ activations, dtype=np.float32)


class TorchCsr:
    """Sparse product by PyTorch's compressed rows; only where PyTorch is installed."""

    def __init__(self, weight: Floats, *, layout: Layout = "row") -> None:
        import torch

        self._torch = torch
        self._matrix, self._rows = torch.from_numpy(weight).to_sparse_csr(), layout == "row"

    def __call__(self, activations: Floats) -> Floats:
        x = self._torch.from_numpy(activations)
        result: Floats = ((self._matrix @ x.T).T if self._rows else self._matrix @ x).numpy()
        return result


COMPARISONS: dict[str, type[DenseNumpy] | type[ScipyCsr] | type[TorchCsr]] = {
    "numpy": DenseNumpy,
    "scipy": ScipyCsr,
    "torch": TorchCsr,
}
"""Library → the product that it offers, for comparison; each takes (weight, layout=)."""


def available_comparisons() -> tuple[str, ...]:
    """Those of COMPARISONS whose library is installed."""
    return tuple(name for name in COMPARISONS if importlib.util.find_spec(name) is not None)
