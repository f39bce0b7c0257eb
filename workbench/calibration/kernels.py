"""The 4x1 block-sparse product, compiled: Y = act(W·X + bias) over tiles of tokens.

A *job* is a block of int64 slots (`Job`): addresses and sizes. Workers take its units, each from its own
contiguous share first (neighbouring tiles share memory pages), then from the shares of the others. A unit is
a tile of tokens times a chunk of block rows: the tile of activations is packed feature-major into the
worker's scratch (K x TILE floats, which the second-level cache holds), then every block row of the chunk runs
over it with its 4 x TILE sums in registers. Workers are Numba threads here, and the threads of ONNX Runtime's
own pool in `sparse_op`.
"""

from __future__ import annotations

from enum import IntEnum

from numba import prange, types

from workbench.calibration.codegen import (
    LANES,
    TILE,
    VECTORS,
    activate,
    block_row,
    copy_tile_row,
    load_int32,
    load_int64,
    move_float,
    store_int64,
    take_next,
    transpose,
)
from workbench.calibration.compiling import compiled

KERNEL_VERSION = "1"
"""Changes whenever the kernel's speed may have changed; part of every cached measurement's key."""


class Job(IntEnum):
    """Slots of a job, int64 each."""

    WORKERS = 0
    WIDTH = 1
    """Tokens of a tile: a multiple of LANES, at most TILE. WIDTH, CHUNKS and UNITS are set by `plan`."""
    CHUNKS = 2
    UNITS = 3
    RESERVED = 4
    VALUES = 5
    COLUMNS = 6
    STARTS = 7
    BIAS = 8
    X = 9
    Y = 10
    N = 11
    K = 12
    M = 13
    FEATURE_MAJOR = 14
    """1: X is K x M and Y is N x M; 0: X is M x K and Y is M x N."""
    ACTIVATION = 15
    SCRATCH = 16
    SCRATCH_STRIDE = 17
    """Bytes of scratch of a worker: its counter of units taken, its packed tile, its result tile."""
    SCALES = 18
    """fp32[N], of the int8 kernel; `BIAS` holds its offsets."""
    SIZE = 19


ROWS = LANES // 4
"""Block rows whose results are transposed together: LANES output channels."""
_FLOAT = 4
_ROW_BYTES = _FLOAT * TILE
_COUNTER = 64
"""Bytes before the packed tile; a cache line, so that counters and tiles of two workers never share one."""
_TILE_COST = 8
"""What starting a tile costs, in tokens; it only decides how tokens are divided among workers."""

_WORKERS, _WIDTH, _CHUNKS, _UNITS = (int(s) for s in list(Job)[:4])
_VALUES, _COLUMNS, _STARTS, _BIAS, _X, _Y = (int(s) for s in list(Job)[5:11])
_N, _K, _M, _FEATURE, _ACT, _SCRATCH, _STRIDE = (int(s) for s in list(Job)[11:18])

_rows1 = block_row(1)
_rows2 = block_row(min(2, VECTORS))
_rows3 = block_row(min(3, VECTORS))
_rows4 = block_row(min(4, VECTORS))


def scratch_bytes(inputs: int) -> int:
    """Scratch of a worker for a weight with `inputs` input channels; a multiple of 64."""
    return _COUNTER + _FLOAT * TILE * (inputs + LANES) + 256


@compiled(types.void(types.int64))
def plan(job: int) -> None:
    """Divide the job's tokens among its workers; sets WIDTH, CHUNKS, UNITS and the counters."""
    tokens, workers = load_int64(job, _M), load_int64(job, _WORKERS)
    best, width = -1, TILE
    for vectors in range(VECTORS, 0, -1):
        tiles = (tokens + vectors * LANES - 1) // (vectors * LANES)
        cost = ((tiles + workers - 1) // workers) * (vectors * LANES + _TILE_COST)
        if best < 0 or cost < best:
            best, width = cost, vectors * LANES
    tiles = (tokens + width - 1) // width
    groups = (load_int64(job, _N) // 4 + ROWS - 1) // ROWS
    chunks = min(groups, (workers + tiles - 1) // tiles) if tiles > 0 else 1
    store_int64(job, _WIDTH, width)
    store_int64(job, _CHUNKS, max(chunks, 1))
    store_int64(job, _UNITS, tiles * max(chunks, 1))
    for worker in range(workers):
        store_int64(load_int64(job, _SCRATCH) + worker * load_int64(job, _STRIDE), 0, 0)


@compiled(types.void(*[types.int64] * 6))
def _pack_rows(x: int, tile: int, inputs: int, tokens: int, start: int, width: int) -> None:
    """Row-major activations (M x K), tokens `start`…: transposed into the tile."""
    stride = inputs * _FLOAT
    full, even = width // LANES * LANES, inputs // LANES * LANES
    for j in range(0, full, LANES):
        source = x + (start + j) * stride
        for k in range(0, even, LANES):
            transpose(source + k * _FLOAT, stride, tile + k * _ROW_BYTES + j * _FLOAT, _ROW_BYTES)
        for k in range(even, inputs):
            for i in range(LANES):
                move_float(source + i * stride + k * _FLOAT, tile + k * _ROW_BYTES + (j + i) * _FLOAT)
    for j in range(full, width):
        source = x + (start + j) * stride
        for k in range(inputs):
            move_float(source + k * _FLOAT, tile + k * _ROW_BYTES + j * _FLOAT)


@compiled(types.void(*[types.int64] * 6))
def _pack_features(x: int, tile: int, inputs: int, tokens: int, start: int, width: int) -> None:
    """Feature-major activations (K x M), tokens `start`…: copied into the tile."""
    source = x + start * _FLOAT
    if start + TILE <= tokens:
        for k in range(inputs):
            copy_tile_row(source + k * tokens * _FLOAT, tile + k * _ROW_BYTES)
    else:
        for k in range(inputs):
            for j in range(width):
                move_float(source + (k * tokens + j) * _FLOAT, tile + k * _ROW_BYTES + j * _FLOAT)


@compiled(types.void(*[types.int64] * 6))
def _block_row(job: int, row: int, tile: int, width: int, out: int, stride: int) -> None:
    """4 output channels x `width` tokens (rounded up to whole vectors)."""
    values, columns, starts = load_int64(job, _VALUES), load_int64(job, _COLUMNS), load_int64(job, _STARTS)
    first, last = load_int32(starts, row), load_int32(starts, row + 1)
    bias = load_int64(job, _BIAS) + 4 * row * _FLOAT
    if width > 3 * LANES:
        _rows4(values, columns, first, last, tile, bias, out, stride)
    elif width > 2 * LANES:
        _rows3(values, columns, first, last, tile, bias, out, stride)
    elif width > LANES:
        _rows2(values, columns, first, last, tile, bias, out, stride)
    else:
        _rows1(values, columns, first, last, tile, bias, out, stride)


@compiled(types.void(*[types.int64] * 7))
def _rows_out(job: int, tile: int, result: int, first: int, last: int, start: int, width: int) -> None:
    """Block rows `first` to `last` of a tile into row-major Y (M x N)."""
    outputs, activation = load_int64(job, _N), load_int64(job, _ACT)
    y = load_int64(job, _Y)
    stride = outputs * _FLOAT
    full = width // LANES * LANES
    for group in range(first, last, ROWS):
        rows = min(ROWS, last - group)
        for i in range(rows):
            _block_row(job, group + i, tile, width, result + 4 * i * _ROW_BYTES, _ROW_BYTES)
        if activation != 0:
            activate(activation, result, 4 * rows * VECTORS)
        target = y + start * stride + 4 * group * _FLOAT
        whole = full if rows == ROWS else 0
        for j in range(0, whole, LANES):
            transpose(result + j * _FLOAT, _ROW_BYTES, target + j * stride, stride)
        for j in range(whole, width):
            for r in range(4 * rows):
                move_float(result + r * _ROW_BYTES + j * _FLOAT, target + j * stride + r * _FLOAT)


@compiled(types.void(*[types.int64] * 7))
def _features_out(job: int, tile: int, result: int, first: int, last: int, start: int, width: int) -> None:
    """Block rows `first` to `last` of a tile into feature-major Y (N x M)."""
    tokens, activation = load_int64(job, _M), load_int64(job, _ACT)
    y = load_int64(job, _Y)
    stride = tokens * _FLOAT
    for row in range(first, last):
        target = y + 4 * row * stride + start * _FLOAT
        if width % LANES == 0:
            _block_row(job, row, tile, width, target, stride)
            if activation != 0:
                for r in range(4):
                    activate(activation, target + r * stride, width // LANES)
            continue
        _block_row(job, row, tile, width, result, _ROW_BYTES)
        if activation != 0:
            activate(activation, result, 4 * VECTORS)
        for r in range(4):
            for j in range(width):
                move_float(result + r * _ROW_BYTES + j * _FLOAT, target + r * stride + j * _FLOAT)


@compiled(types.void(types.int64, types.int64))
def work(job: int, worker: int) -> None:
    """Take units of the job until none is left. Any number of workers may run at once, each with its index."""
    units, chunks = load_int64(job, _UNITS), load_int64(job, _CHUNKS)
    inputs, tokens = load_int64(job, _K), load_int64(job, _M)
    feature_major, tile_width = load_int64(job, _FEATURE), load_int64(job, _WIDTH)
    block_rows = load_int64(job, _N) // 4
    groups = (block_rows + ROWS - 1) // ROWS
    workers, scratch, stride = load_int64(job, _WORKERS), load_int64(job, _SCRATCH), load_int64(job, _STRIDE)
    tile = scratch + worker * stride + _COUNTER
    result = tile + inputs * _ROW_BYTES
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
                if feature_major != 0:
                    _pack_features(load_int64(job, _X), tile, inputs, tokens, start, width)
                else:
                    _pack_rows(load_int64(job, _X), tile, inputs, tokens, start, width)
                packed = index
            first = groups * chunk // chunks * ROWS
            last = min(block_rows, groups * (chunk + 1) // chunks * ROWS)
            if feature_major != 0:
                _features_out(job, tile, result, first, last, start, width)
            else:
                _rows_out(job, tile, result, first, last, start, width)


@compiled(types.void(types.int64), parallel=True)
def run(job: int) -> None:
    """Do the whole job on as many Numba threads as it has workers; returns when it is done."""
    plan(job)
    for worker in prange(load_int64(job, _WORKERS)):
        work(job, worker)


@compiled(types.void(types.int64))
def run_alone(job: int) -> None:
    """Do the whole job on the calling thread."""
    plan(job)
    work(job, 0)
