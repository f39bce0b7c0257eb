"""The int8 4x1 block-sparse product, compiled: Y = act(scale·(W·(X - zero)) + bias) for u8 X and s8 W.

Work is divided as in `kernels`; the packed tile holds bytes, K x 64. Y is fp32, row-major.
"""

from __future__ import annotations

from numba import types

from workbench.calibration.codegen import (
    LANES,
    VECTORS,
    activate,
    load_int32,
    load_int64,
    move_float,
    take_next,
    transpose,
)
from workbench.calibration.codegen_int8 import TILE_BYTES, group_row, move_byte, transpose_bytes
from workbench.calibration.compiling import callback, compiled
from workbench.calibration.kernels import (
    _ACT,
    _BIAS,
    _CHUNKS,
    _COLUMNS,
    _COUNTER,
    _FLOAT,
    _K,
    _M,
    _N,
    _ROW_BYTES,
    _SCRATCH,
    _STARTS,
    _STRIDE,
    _UNITS,
    _VALUES,
    _WIDTH,
    _WORKERS,
    _X,
    _Y,
    ROWS,
    Job,
    plan,
)

_SCALES = int(Job.SCALES)
_EDGE = 16


@compiled(types.void(*[types.int64] * 5))
def _pack_bytes(x: int, tile: int, inputs: int, start: int, width: int) -> None:
    """Row-major bytes (M x K), tokens `start`…: transposed into the tile."""
    full, even = width // _EDGE * _EDGE, inputs // _EDGE * _EDGE
    for j in range(0, full, _EDGE):
        source = x + (start + j) * inputs
        for k in range(0, even, _EDGE):
            transpose_bytes(source + k, inputs, tile + k * TILE_BYTES + j, TILE_BYTES)
        for k in range(even, inputs):
            for i in range(_EDGE):
                move_byte(source + i * inputs + k, tile + k * TILE_BYTES + j + i)
    for j in range(full, width):
        for k in range(inputs):
            move_byte(x + (start + j) * inputs + k, tile + k * TILE_BYTES + j)


@compiled(types.void(*[types.int64] * 7))
def _rows_out(job: int, tile: int, result: int, first: int, last: int, start: int, width: int) -> None:
    """Block rows `first` to `last` of a tile into row-major Y (M x N)."""
    values, columns, starts = load_int64(job, _VALUES), load_int64(job, _COLUMNS), load_int64(job, _STARTS)
    scales, offsets = load_int64(job, _SCALES), load_int64(job, _BIAS)
    activation, stride = load_int64(job, _ACT), load_int64(job, _N) * _FLOAT
    full = width // LANES * LANES
    for group in range(first, last, ROWS):
        rows = min(ROWS, last - group)
        for i in range(rows):
            row = group + i
            begin, end = load_int32(starts, row), load_int32(starts, row + 1)
            channel = 4 * row * _FLOAT
            out = result + 4 * i * _ROW_BYTES
            group_row(values, columns, begin, end, tile, scales + channel, offsets + channel, out, _ROW_BYTES)
        if activation != 0:
            activate(activation, result, 4 * rows * VECTORS)
        target = load_int64(job, _Y) + start * stride + 4 * group * _FLOAT
        whole = full if rows == ROWS else 0
        for j in range(0, whole, LANES):
            transpose(result + j * _FLOAT, _ROW_BYTES, target + j * stride, stride)
        for j in range(whole, width):
            for r in range(4 * rows):
                move_float(result + r * _ROW_BYTES + j * _FLOAT, target + j * stride + r * _FLOAT)


@compiled(types.void(types.int64, types.int64))
def work_int8(job: int, worker: int) -> None:
    """As `kernels.work`, for an int8 job."""
    units, chunks = load_int64(job, _UNITS), load_int64(job, _CHUNKS)
    inputs, tokens, tile_width = load_int64(job, _K), load_int64(job, _M), load_int64(job, _WIDTH)
    block_rows = load_int64(job, _N) // 4
    groups = (block_rows + ROWS - 1) // ROWS
    workers, scratch, stride = load_int64(job, _WORKERS), load_int64(job, _SCRATCH), load_int64(job, _STRIDE)
    tile = scratch + worker * stride + _COUNTER
    result = tile + inputs * TILE_BYTES
    packed = -1
    for turn in range(workers):
        owner = (worker + turn) % workers
        end = units * (owner + 1) // workers
        while True:
            unit = units * owner // workers + take_next(scratch + owner * stride)
            if unit >= end:
                break
            index, chunk = unit // chunks, unit % chunks
            start = index * tile_width
            width = min(tile_width, tokens - start)
            if packed != index:
                _pack_bytes(load_int64(job, _X), tile, inputs, start, width)
                packed = index
            first = groups * chunk // chunks * ROWS
            last = min(block_rows, groups * (chunk + 1) // chunks * ROWS)
            _rows_out(job, tile, result, first, last, start, width)


@compiled(types.void(types.int64))
def run_int8_alone(job: int) -> None:
    """Do the whole int8 job on the calling thread."""
    plan(job)
    work_int8(job, 0)


@callback(types.void(types.int64, types.int64))
def work_int8_callback(job: int, worker: int) -> None:
    """`work_int8` as a C function."""
    work_int8(job, worker)
