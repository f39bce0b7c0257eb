"""LLVM building blocks of the sparse kernel, as Numba intrinsics over raw addresses.

Addresses are `int64`; Numba then compiles one variant of each function, whatever the arrays' layout.
The vector width follows the host at compile time: 16 lanes of fp32 with AVX-512, 8 with AVX, 4 elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as _numba_intrinsic

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_F32 = ir.FloatType()


def _host_lanes() -> int:
    features = binding.get_host_cpu_features()
    if features.get("avx512f"):
        return 16
    return 8 if features.get("avx") else 4


LANES = _host_lanes()
"""fp32 lanes of a vector register of this machine."""
VECTORS = {16: 4, 8: 3, 4: 4}[LANES]
"""Vector registers a row of the register tile: 4 rows x VECTORS x LANES accumulators."""
TILE = LANES * VECTORS
"""Tokens (columns of the feature-major activations) of a full register tile."""

_VEC = ir.VectorType(_F32, LANES)

Builder = Any
Value = Any


def intrinsic(body: Callable[..., Any]) -> Any:
    """Numba's `intrinsic`; its own type says that callers pass the typing context, which Numba does."""
    return _numba_intrinsic(body)


def _const(value: int) -> Value:
    return ir.Constant(_I64, value)


def _at(b: Builder, address: Value, kind: Any) -> Value:
    return b.inttoptr(address, kind.as_pointer())


def _load_vector(b: Builder, address: Value) -> Value:
    loaded = b.load(_at(b, address, _VEC))
    loaded.align = 4
    return loaded


def _store_vector(b: Builder, value: Value, address: Value) -> None:
    stored = b.store(value, _at(b, address, _VEC))
    stored.align = 4


def _splat(b: Builder, scalar: Value) -> Value:
    undefined = ir.Constant(_VEC, ir.Undefined)
    first = b.insert_element(undefined, scalar, ir.Constant(_I32, 0))
    zeros = ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
    return b.shuffle_vector(first, undefined, zeros)


def _load_splat(b: Builder, address: Value) -> Value:
    scalar = b.load(_at(b, address, _F32))
    scalar.align = 4
    return _splat(b, scalar)


def _vector_function(b: Builder, name: str, arity: int) -> Callable[..., Value]:
    kind = ir.FunctionType(_VEC, [_VEC] * arity)
    function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
        b.module, kind, f"llvm.{name}.v{LANES}f32"
    )
    return lambda *arguments: b.call(function, list(arguments))


def block_row(vectors: int) -> Any:
    """Intrinsic: 4 output rows x `vectors` x LANES tokens of one block row, kept in registers.

    (values, columns, first, last, tile, bias, out, out_stride): `values` fp32[blocks][4], `columns`
    int32[blocks], blocks `first` up to `last` of them; `tile` fp32[K][TILE]; `bias` fp32[4];
    `out` fp32[4][out_stride], stride in bytes. out[r] = bias[r] + sum over p of values[p][r] * tile[columns[p]].
    """

    @intrinsic
    def product(typing: Any, values: Any, columns: Any, first: Any, last: Any, tile: Any, bias: Any, out: Any, stride: Any) -> Any:  # fmt: skip  # noqa: E501
        signature = types.void(*[types.int64] * 8)

        def codegen(context: Any, b: Builder, signature: Any, arguments: Sequence[Value]) -> Value:
            values, columns, first, last, tile, bias, out, stride = arguments
            fma = _vector_function(b, "fma", 3)
            start = [_load_splat(b, b.add(bias, _const(4 * r))) for r in range(4)]
            entry = b.block
            loop, done = b.append_basic_block("block.loop"), b.append_basic_block("block.done")
            b.cbranch(b.icmp_signed("<", first, last), loop, done)

            b.position_at_end(loop)
            p = b.phi(_I64)
            p.add_incoming(first, entry)
            sums = [[b.phi(_VEC) for _ in range(vectors)] for _ in range(4)]
            for r in range(4):
                for s in sums[r]:
                    s.add_incoming(start[r], entry)
            column = b.load(_at(b, b.add(columns, b.shl(p, _const(2))), _I32))
            row = b.add(tile, b.mul(b.zext(column, _I64), _const(4 * TILE)))
            xs = [_load_vector(b, b.add(row, _const(4 * LANES * v))) for v in range(vectors)]
            block = b.add(values, b.shl(p, _const(4)))
            after = []
            for r in range(4):
                weight = _load_splat(b, b.add(block, _const(4 * r)))
                after.append([fma(weight, xs[v], sums[r][v]) for v in range(vectors)])
            following = b.add(p, _const(1))
            p.add_incoming(following, loop)
            for r in range(4):
                for v in range(vectors):
                    sums[r][v].add_incoming(after[r][v], loop)
            b.cbranch(b.icmp_signed("<", following, last), loop, done)

            b.position_at_end(done)
            results = []
            for r in range(4):
                for v in range(vectors):
                    result = b.phi(_VEC)
                    result.add_incoming(start[r], entry)
                    result.add_incoming(after[r][v], loop)
                    results.append((r, v, result))
            for r, v, result in results:
                place = b.add(out, b.add(b.mul(stride, _const(r)), _const(4 * LANES * v)))
                _store_vector(b, result, place)
            return context.get_dummy_value()

        return signature, codegen

    return product


@intrinsic
def transpose(typing: Any, source: Any, source_stride: Any, target: Any, target_stride: Any) -> Any:
    """LANES x LANES floats from `source` to `target`, transposed; strides in bytes."""
    signature = types.void(*[types.int64] * 4)

    def codegen(context: Any, b: Builder, signature: Any, arguments: Sequence[Value]) -> Value:
        source, source_stride, target, target_stride = arguments
        rows = [_load_vector(b, b.add(source, b.mul(source_stride, _const(i)))) for i in range(LANES)]
        half = LANES // 2
        while half:
            for i in range(LANES):
                if i & half:
                    continue
                top, bottom = rows[i], rows[i + half]
                upper = [j if not j & half else LANES + j - half for j in range(LANES)]
                lower = [j + half if not j & half else LANES + j for j in range(LANES)]
                kind = ir.VectorType(_I32, LANES)
                rows[i] = b.shuffle_vector(top, bottom, ir.Constant(kind, upper))
                rows[i + half] = b.shuffle_vector(top, bottom, ir.Constant(kind, lower))
            half //= 2
        for i in range(LANES):
            _store_vector(b, rows[i], b.add(target, b.mul(target_stride, _const(i))))
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def copy_tile_row(typing: Any, source: Any, target: Any) -> Any:
    """TILE floats from `source` to `target`."""
    signature = types.void(types.int64, types.int64)

    def codegen(context: Any, b: Builder, signature: Any, arguments: Sequence[Value]) -> Value:
        source, target = arguments
        for v in range(VECTORS):
            offset = _const(4 * LANES * v)
            _store_vector(b, _load_vector(b, b.add(source, offset)), b.add(target, offset))
        return context.get_dummy_value()

    return signature, codegen


# Rational approximations x·P(x²)/Q(x²), the ones that Eigen evaluates for fp32 tanh and erf.
_TANH_LIMIT = 7.90531110763549805
_TANH_P = (
    4.89352455891786e-03, 6.37261928875436e-04, 1.48572235717979e-05, 5.12229709037114e-08,
    -8.60467152213735e-11, 2.00018790482477e-13, -2.76076847742355e-16,
)  # fmt: skip
_TANH_Q = (4.89352518554385e-03, 2.26843463243900e-03, 1.18534705686654e-04, 1.19825839466702e-06)
_ERF_LIMIT = 4.0
_ERF_P = (
    -1.60960333262415e-02, -2.95459980854025e-03, -7.34990630326855e-04, -5.69250639462346e-05,
    -2.10102402082508e-06, 2.77068142495902e-08, -2.72614225801306e-10,
)  # fmt: skip
_ERF_Q = (
    -1.42647390514189e-02, -7.37332916720468e-03, -1.68282697438203e-03, -2.13374055278905e-04,
    -1.45660718464996e-05,
)  # fmt: skip


def _rational(b: Builder, x: Value, limit: float, p: Sequence[float], q: Sequence[float]) -> Value:
    def const(value: float) -> Value:
        return ir.Constant(_VEC, [value] * LANES)

    fma, smaller, larger = (
        _vector_function(b, "fma", 3),
        _vector_function(b, "minnum", 2),
        _vector_function(b, "maxnum", 2),
    )
    x = larger(smaller(x, const(limit)), const(-limit))
    square = b.fmul(x, x)

    def polynomial(coefficients: Sequence[float]) -> Value:
        total = const(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = fma(total, square, const(coefficient))
        return total

    return b.fdiv(b.fmul(x, polynomial(p)), polynomial(q))


def _relu(b: Builder, x: Value) -> Value:
    return _vector_function(b, "maxnum", 2)(x, ir.Constant(_VEC, [0.0] * LANES))


def _tanh(b: Builder, x: Value) -> Value:
    return _rational(b, x, _TANH_LIMIT, _TANH_P, _TANH_Q)


def _gelu(b: Builder, x: Value) -> Value:
    def const(value: float) -> Value:
        return ir.Constant(_VEC, [value] * LANES)

    erf = _rational(b, b.fmul(x, const(0.5**0.5)), _ERF_LIMIT, _ERF_P, _ERF_Q)
    return b.fmul(b.fmul(x, const(0.5)), b.fadd(erf, const(1.0)))


ACTIVATIONS: dict[str, int] = {"": 0, "relu": 1, "gelu": 2, "tanh": 3}
"""Activation of the fused post op → its number in a job. `gelu` is the exact one, by erf."""
_BODIES: dict[int, Callable[[Builder, Value], Value]] = {1: _relu, 2: _gelu, 3: _tanh}


@intrinsic
def activate(typing: Any, activation: Any, place: Any, vectors: Any) -> Any:
    """Apply an activation (a number of ACTIVATIONS) to `vectors` x LANES consecutive floats, in place."""
    signature = types.void(*[types.int64] * 3)

    def codegen(context: Any, b: Builder, signature: Any, arguments: Sequence[Value]) -> Value:
        activation, place, vectors = arguments
        for number, body in _BODIES.items():
            with (
                b.if_then(b.icmp_signed("==", activation, _const(number))),
                cgutils.for_range(b, vectors) as loop,
            ):
                address = b.add(place, b.mul(loop.index, _const(4 * LANES)))
                _store_vector(b, body(b, _load_vector(b, address)), address)
        return context.get_dummy_value()

    return signature, codegen


def _scalar_load(kind: Any, numba_type: Any, wide: Any) -> Any:
    @intrinsic
    def load(typing: Any, address: Any, index: Any) -> Any:
        signature = numba_type(types.int64, types.int64)

        def codegen(context: Any, b: Builder, signature: Any, arguments: Sequence[Value]) -> Value:
            size = _const({_I64: 8, _I32: 4, _F32: 4}[kind])
            value = b.load(_at(b, b.add(arguments[0], b.mul(arguments[1], size)), kind))
            return b.sext(value, wide) if wide is not None else value

        return signature, codegen

    return load


load_int64 = _scalar_load(_I64, types.int64, None)
"""(address, index) → the index-th int64 there."""
load_int32 = _scalar_load(_I32, types.int64, _I64)
"""(address, index) → the index-th int32 there."""


def _scalar_move(kind: Any) -> Any:
    @intrinsic
    def move(typing: Any, source: Any, target: Any) -> Any:
        signature = types.void(types.int64, types.int64)

        def codegen(context: Any, b: Builder, signature: Any, arguments: Sequence[Value]) -> Value:
            value = b.load(_at(b, arguments[0], kind))
            b.store(value, _at(b, arguments[1], kind))
            return context.get_dummy_value()

        return signature, codegen

    return move


move_float = _scalar_move(_F32)
"""(source, target): one float."""


@intrinsic
def store_int64(typing: Any, address: Any, index: Any, value: Any) -> Any:
    """Store `value` as the index-th int64 at `address`."""
    signature = types.void(*[types.int64] * 3)

    def codegen(context: Any, b: Builder, signature: Any, arguments: Sequence[Value]) -> Value:
        address, index, value = arguments
        b.store(value, _at(b, b.add(address, b.mul(index, _const(8))), _I64))
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def take_next(typing: Any, address: Any) -> Any:
    """Atomically add 1 to the int64 at `address`; the value before."""
    signature = types.int64(types.int64)

    def codegen(context: Any, b: Builder, signature: Any, arguments: Sequence[Value]) -> Value:
        return b.atomic_rmw("add", _at(b, arguments[0], _I64), _const(1), "acq_rel")

    return signature, codegen


def _called(arguments: Sequence[Value], builder: Builder) -> Value:
    kind = ir.FunctionType(_I64, [_I64] * (len(arguments) - 1))
    return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), list(arguments[1:]))


@intrinsic
def call1(typing: Any, function: Any, a: Any) -> Any:
    """Call the C function at an address with one pointer-sized argument; its int64 result."""
    return types.int64(*[types.int64] * 2), lambda context, b, signature, args: _called(args, b)


@intrinsic
def call2(typing: Any, function: Any, a: Any, b: Any) -> Any:
    """As `call1`, two arguments."""
    return types.int64(*[types.int64] * 3), lambda context, b, signature, args: _called(args, b)


@intrinsic
def call3(typing: Any, function: Any, a: Any, b: Any, c: Any) -> Any:
    """As `call1`, three arguments."""
    return types.int64(*[types.int64] * 4), lambda context, b, signature, args: _called(args, b)


@intrinsic
def call5(typing: Any, function: Any, a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
    """As `call1`, five arguments."""
    return types.int64(*[types.int64] * 6), lambda context, b, signature, args: _called(args, b)
