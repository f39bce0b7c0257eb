"""LLVM building blocks of the int8 kernel: dot products of four bytes (AVX-512 VNNI) over 4x1 blocks.

The instruction adds to each of 16 int32 lanes the dot product of 4 unsigned with 4 signed bytes. Four kept
blocks of a block row make a *group*: their 4 rows of the packed tile, wherever they stand in it, are interleaved
so that a lane holds 4 input channels of one token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils

from workbench.calibration.codegen import (
    _F32,
    _I8,
    _I32,
    _I64,
    Builder,
    Value,
    _at,
    _const,
    _load_splat,
    _scalar_move,
    _vector_function,
    intrinsic,
)

TILE_BYTES = 64
"""Tokens of a tile, a byte each: one vector register."""
_LANES = 16
_BYTES = ir.VectorType(_I8, TILE_BYTES)
_WORDS = ir.VectorType(ir.IntType(16), TILE_BYTES // 2)
_INTS = ir.VectorType(_I32, _LANES)
_FLOATS = ir.VectorType(_F32, _LANES)
_EDGE = 16
"""Rows and columns of a byte block that is transposed at once."""


def has_vnni() -> bool:
    """Whether this machine multiplies bytes in 512-bit registers."""
    features = binding.get_host_cpu_features()
    return bool(features.get("avx512vnni") and features.get("avx512bw"))


def _load(b: Builder, address: Value, kind: Any) -> Value:
    loaded = b.load(_at(b, address, kind))
    loaded.align = 1
    return loaded


def _shuffle(b: Builder, one: Value, other: Value, places: Sequence[int]) -> Value:
    return b.shuffle_vector(one, other, ir.Constant(ir.VectorType(_I32, len(places)), list(places)))


def _interleaved(b: Builder, one: Value, other: Value, kind: Any, high: bool) -> Value:
    """The lower (or higher) halves of every 16 bytes of two registers, element by element in turn."""
    count = kind.count
    per = count // 4
    one, other = b.bitcast(one, kind), b.bitcast(other, kind)
    first = per // 2 if high else 0
    places = [q * per + first + i + side * count for q in range(4) for i in range(per // 2) for side in (0, 1)]
    return _shuffle(b, one, other, places)


def _in_token_order(b: Builder, parts: Sequence[Value]) -> list[Value]:
    """The 4 accumulators of an output channel, whose lanes follow the interleaving, by ascending token."""
    found = []
    for q in range(4):
        quarter = [4 * q + i for i in range(4)]
        pair = [_shuffle(b, parts[v], parts[v + 1], [*quarter, *(p + _LANES for p in quarter)]) for v in (0, 2)]
        found.append(_shuffle(b, pair[0], pair[1], range(_LANES)))
    return found


@intrinsic
def group_row(typing: Any, values: Any, columns: Any, first: Any, last: Any, tile: Any, scales: Any, offsets: Any, out: Any, stride: Any) -> Any:  # fmt: skip  # noqa: E501
    """4 output channels x 64 tokens of one block row.

    `values` s8[groups][4 channels][4 blocks], `columns` int32[groups][4], groups `first` up to `last` of them;
    `tile` u8[K][64]; `scales`, `offsets` fp32[4]; `out` fp32[4][64], `stride` in bytes.
    out[r] = offsets[r] + scales[r] * sum over p, i of values[p][r][i] * tile[columns[p][i]].
    """
    signature = types.void(*[types.int64] * 9)

    def codegen(context: Any, b: Builder, signature: Any, arguments: Sequence[Value]) -> Value:
        values, columns, first, last, tile, scales, offsets, out, stride = arguments
        kind = ir.FunctionType(_INTS, [_INTS] * 3)
        dot = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            b.module, kind, "llvm.x86.avx512.vpdpbusd.512"
        )
        zero = ir.Constant(_INTS, [0] * _LANES)
        entry = b.block
        loop, done = b.append_basic_block("group.loop"), b.append_basic_block("group.done")
        b.cbranch(b.icmp_signed("<", first, last), loop, done)

        b.position_at_end(loop)
        p = b.phi(_I64)
        p.add_incoming(first, entry)
        sums = [[b.phi(_INTS) for _ in range(4)] for _ in range(4)]
        place = b.add(columns, b.shl(p, _const(4)))
        rows = []
        for i in range(4):
            column = b.zext(_load(b, b.add(place, _const(4 * i)), _I32), _I64)
            rows.append(_load(b, b.add(tile, b.mul(column, _const(TILE_BYTES))), _BYTES))
        pairs = [[_interleaved(b, rows[i], rows[i + 1], _BYTES, high) for high in (False, True)] for i in (0, 2)]
        xs = [
            b.bitcast(_interleaved(b, pairs[0][half], pairs[1][half], _WORDS, high), _INTS)
            for half in (0, 1)
            for high in (False, True)
        ]
        group = b.add(values, b.shl(p, _const(4)))
        after = []
        for r in range(4):
            weight = _load(b, b.add(group, _const(4 * r)), _I32)
            splat = b.insert_element(ir.Constant(_INTS, ir.Undefined), weight, ir.Constant(_I32, 0))
            splat = b.shuffle_vector(splat, zero, zero)
            after.append([b.call(dot, [sums[r][v], xs[v], splat]) for v in range(4)])
        following = b.add(p, _const(1))
        p.add_incoming(following, loop)
        for r in range(4):
            for v in range(4):
                sums[r][v].add_incoming(zero, entry)
                sums[r][v].add_incoming(after[r][v], loop)
        b.cbranch(b.icmp_signed("<", following, last), loop, done)

        b.position_at_end(done)
        results = []
        for r in range(4):
            results.append([b.phi(_INTS) for _ in range(4)])
            for v in range(4):
                results[r][v].add_incoming(zero, entry)
                results[r][v].add_incoming(after[r][v], loop)
        fma = _vector_function(b, "fma", 3)
        for r in range(4):
            scale, offset = (_load_splat(b, b.add(array, _const(4 * r))) for array in (scales, offsets))
            for q, total in enumerate(_in_token_order(b, results[r])):
                value = fma(b.sitofp(total, _FLOATS), scale, offset)
                target = b.add(out, b.add(b.mul(stride, _const(r)), _const(4 * _LANES * q)))
                stored = b.store(value, _at(b, target, _FLOATS))
                stored.align = 4
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def transpose_bytes(typing: Any, source: Any, source_stride: Any, target: Any, target_stride: Any) -> Any:
    """16 x 16 bytes from `source` to `target`, transposed; strides in bytes."""
    signature = types.void(*[types.int64] * 4)

    def codegen(context: Any, b: Builder, signature: Any, arguments: Sequence[Value]) -> Value:
        source, source_stride, target, target_stride = arguments
        kind = ir.VectorType(_I8, _EDGE)
        rows = [_load(b, b.add(source, b.mul(source_stride, _const(i))), kind) for i in range(_EDGE)]
        half = _EDGE // 2
        while half:
            for i in range(_EDGE):
                if i & half:
                    continue
                top, bottom = rows[i], rows[i + half]
                rows[i] = _shuffle(b, top, bottom, [j if not j & half else _EDGE + j - half for j in range(_EDGE)])
                rows[i + half] = _shuffle(
                    b, top, bottom, [j + half if not j & half else _EDGE + j for j in range(_EDGE)]
                )
            half //= 2
        for i in range(_EDGE):
            stored = b.store(rows[i], _at(b, b.add(target, b.mul(target_stride, _const(i))), kind))
            stored.align = 1
        return context.get_dummy_value()

    return signature, codegen


move_byte = _scalar_move(_I8)
"""(source, target): one byte."""
