"""The 4x1 sparse kernel against ONNX Runtime dense, SciPy, PyTorch, and what the machine could do at most.

    python tests/benchmarks/kernels/kernel_benchmark.py [--tokens 1024,128] [--threads 2] [--levels .9,.8,.7] [--quick]

Every row is timed in turn with the dense product of the same shape. `limit` is the larger of two bare times:
the operations on stored values at the rate of multiply-adds on registers, and the bytes of weight, activations
and result at the rate of copying memory. Ratios are dense time / sparse time; quartiles behind ±.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils

from workbench.calibration.cache import machine_key
from workbench.calibration.codegen import LANES, intrinsic
from workbench.calibration.comparison import compare_libraries
from workbench.calibration.measure import Calibration, calibrate_shapes
from workbench.calibration.packing import blocks_to_prune
from workbench.calibration.product import LAYOUTS

SHAPES = [(256, 256), (256, 1024), (1024, 256), (768, 768), (768, 3072), (3072, 768)]
"""N x K of the products of small and base-size transformers."""
_SUMS = 12
"""Independent multiply-adds: enough to hide their latency."""


@intrinsic
def _multiply_adds(typing: Any, count: Any) -> Any:
    """`count` rounds of _SUMS vector multiply-adds on registers; gives a number that depends on all of them."""
    signature = types.float32(types.int64)

    def codegen(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.VectorType(ir.FloatType(), LANES)
        function = ir.FunctionType(kind, [kind] * 3)
        fma = cgutils.get_or_insert_function(b.module, function, f"llvm.fma.v{LANES}f32")
        sums = [cgutils.alloca_once_value(b, ir.Constant(kind, [float(i)] * LANES)) for i in range(_SUMS)]
        factor = ir.Constant(kind, [0.999] * LANES)
        with cgutils.for_range(b, arguments[0]):
            for place in sums:
                b.store(b.call(fma, [b.load(place), factor, factor]), place)
        total = b.load(sums[0])
        for place in sums[1:]:
            total = b.fadd(total, b.load(place))
        return b.extract_element(total, ir.Constant(ir.IntType(32), 0))

    return signature, codegen


@njit(nogil=True)
def _registers(count: int) -> float:
    return _multiply_adds(count)


def _rate(work: Callable[[int], object], amount: float, threads: int, repeats: int = 5) -> float:
    """The best rate, per second, at which `threads` threads do `amount` each."""
    best = 0.0
    for _ in range(repeats):
        running = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
        started = time.perf_counter()
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        best = max(best, threads * amount / (time.perf_counter() - started))
    return best


def peak_flops(threads: int) -> float:
    """fp32 operations per second of multiply-adds on registers, 2 each."""
    _registers(1)
    rounds = 20_000_000
    return _rate(lambda worker: _registers(rounds), 2.0 * LANES * _SUMS * rounds, threads)


def peak_bytes(threads: int) -> float:
    """Bytes per second read and written by copies that no cache holds."""
    source = [np.ones(1 << 24, np.float32) for _ in range(threads)]
    target = [np.empty_like(s) for s in source]
    return _rate(lambda worker: np.copyto(target[worker], source[worker]), 2.0 * source[0].nbytes, threads)


def limit_ms(shape: tuple[int, int], level: float, tokens: int, flops: float, bandwidth: float) -> float:
    """The time that no kernel with these zeros can be below: operations or bytes, whichever takes longer."""
    outputs, inputs = shape
    blocks = outputs // 4 * inputs
    kept = blocks - blocks_to_prune(blocks, level)
    moved = 20.0 * kept + 4.0 * tokens * (inputs + outputs)
    return 1000.0 * max(8.0 * kept * tokens / flops, moved / bandwidth)


def _table(found: Calibration, layout: str, flops: float, bandwidth: float) -> None:
    for m in found.shapes:
        cells, rates, shares = [], [], []
        for level, value in m.levels.items():
            cells.append(f"{value.ratio:5.2f} ±{value.spread:3.0%}")
            rates.append(f"{value.gflops:4.0f}")
            shares.append(f"{limit_ms(m.shape, level, m.tokens, flops, bandwidth) / value.sparse_ms:4.0%}")
        first = next(iter(m.levels.values()))
        dense = 2e-6 * m.tokens * m.shape[0] * m.shape[1] / first.dense_ms
        size = "x".join(map(str, m.shape))
        noise = " NOISY" if m.noisy else ""
        print(
            f"{size:>9} {m.tokens:6d}  4x1 {layout:8}{'  '.join(cells)}   {'/'.join(rates)}   {dense:5.0f}   "
            f"{'/'.join(shares)}{noise}"
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", default="1024,128", help="rows of the activations")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--levels", default=".9,.8,.7")
    parser.add_argument("--quick", action="store_true", help="only our kernel, row-major")
    given = parser.parse_args()
    levels = [float(level) for level in given.levels.split(",")]
    flops, bandwidth = peak_flops(given.threads), peak_bytes(given.threads)
    print(machine_key())
    print(
        f"{given.threads} threads: at most {flops / 1e9:.0f} GFLOP/s on registers, {bandwidth / 1e9:.1f} GB/s copying"
    )
    heads = "  ".join(f"{level:>9.0%} " for level in levels)
    for tokens in map(int, given.tokens.split(",")):
        print(f"\n    shape      M  product     {heads}   GFLOP/s   dense   share of limit")
        for layout in LAYOUTS[:1] if given.quick else LAYOUTS:
            found = calibrate_shapes(SHAPES, levels, tokens, given.threads, layout=layout)
            _table(found, layout, flops, bandwidth)
            medians = [np.nanmedian([m.levels[level].ratio for m in found.shapes]) for level in levels]
            print(f"{'median':>9} {tokens:6d}  4x1 {layout:8}{'  '.join(f'{m:5.2f}     ' for m in medians)}")
        if given.quick:
            continue
        for c in compare_libraries(dict.fromkeys(SHAPES, tokens), levels, given.threads, budget_s=2.0):
            cells = [f"{c.ratios[level].median:5.2f} ±{c.ratios[level].relative:3.0%}" for level in levels]
            print(f"{'x'.join(map(str, c.shape)):>9} {tokens:6d}  {c.library[:11]:12}{'  '.join(cells)}")


if __name__ == "__main__":
    main()
