"""4x1 block-sparse weights: which blocks to prune, and the packed format that the kernel reads.

A block is 4 consecutive output channels by 1 input channel. The packed form of an N x K weight, N divisible
by 4, is block compressed rows:

    values   fp32[blocks, 4]   the 4 weights of each block that is not all zero, block row by block row,
                               in ascending order of input channel
    columns  int32[blocks]     the block's input channel
    starts   int32[N/4 + 1]    block row r holds blocks starts[r] up to starts[r + 1]

The int8 form takes the blocks of a block row four at a time (*groups*; the last one is filled with zeros at
input channel 0), so that four input channels of a token meet in one 32-bit lane:

    values   int8[groups, 4, 4]   output channel by block
    columns  int32[groups, 4]
    starts   int32[N/4 + 1]       in groups

Explicit zeros inside a kept block stay; no padding, so 90 % zero blocks take 0.1 x 20/16 of the dense bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.profile import BLOCK_ROWS

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class PackedWeight:
    """An N x K weight in block compressed rows; see the module's text."""

    outputs: int
    inputs: int
    values: Floats
    columns: Ints
    starts: Ints

    @property
    def shape(self) -> tuple[int, int]:
        """N x K."""
        return self.outputs, self.inputs

    @property
    def zero_block_ratio(self) -> float:
        """Share of all-zero blocks, 0 to 1."""
        blocks = self.outputs // BLOCK_ROWS * self.inputs
        return 1.0 - len(self.columns) / blocks if blocks else 0.0

    @property
    def nbytes(self) -> int:
        """Bytes of the packed form."""
        return self.values.nbytes + self.columns.nbytes + self.starts.nbytes

    def flops(self, tokens: int) -> int:
        """Operations on stored values for `tokens` columns, 2 per multiply-add."""
        return 2 * BLOCK_ROWS * len(self.columns) * tokens

    def copy(self) -> PackedWeight:
        """The same weight elsewhere in memory."""
        arrays = (self.values.copy(), self.columns.copy(), self.starts.copy())
        return PackedWeight(self.outputs, self.inputs, *arrays)


def pack(weight: NDArray[np.floating]) -> PackedWeight:
    """The packed form of an N x K weight. Raises `ValueError` unless it is a matrix with N divisible by 4."""
    if weight.ndim != 2 or weight.shape[0] % BLOCK_ROWS:
        raise ValueError(f"a weight of shape {weight.shape} has no 4x1 blocks")
    outputs, inputs = weight.shape
    blocks = weight.reshape(outputs // BLOCK_ROWS, BLOCK_ROWS, inputs).transpose(0, 2, 1)
    kept = (blocks != 0).any(axis=2)
    starts = np.zeros(outputs // BLOCK_ROWS + 1, np.int32)
    np.cumsum(kept.sum(axis=1), out=starts[1:])
    columns = np.ascontiguousarray(np.nonzero(kept)[1], dtype=np.int32)
    return PackedWeight(outputs, inputs, np.ascontiguousarray(blocks[kept], dtype=np.float32), columns, starts)


@dataclass(frozen=True, eq=False)
class PackedInt8:
    """An N x K int8 weight in groups of four blocks; see the module's text."""

    outputs: int
    inputs: int
    blocks: int
    """Stored blocks, without the filling."""
    values: NDArray[np.int8]
    columns: Ints
    starts: Ints

    def flops(self, tokens: int) -> int:
        """Operations on stored values for `tokens` columns, 2 per multiply-add."""
        return 2 * BLOCK_ROWS * self.blocks * tokens

    def copy(self) -> PackedInt8:
        """The same weight elsewhere in memory."""
        arrays = (self.values.copy(), self.columns.copy(), self.starts.copy())
        return PackedInt8(self.outputs, self.inputs, self.blocks, *arrays)


def pack_int8(weight: NDArray[np.int8]) -> PackedInt8:
    """The int8 form of an N x K weight whose zero point is 0. Raises `ValueError` as `pack` does."""
    packed = pack(weight.astype(np.float32))
    counts = np.diff(packed.starts)
    groups = -(-counts // 4)
    starts = np.zeros(len(packed.starts), np.int32)
    np.cumsum(groups, out=starts[1:])
    places = np.arange(len(packed.columns)) - np.repeat(packed.starts[:-1] - 4 * starts[:-1], counts)
    values = np.zeros((4 * int(starts[-1]), BLOCK_ROWS), np.int8)
    columns = np.zeros(4 * int(starts[-1]), np.int32)
    values[places] = packed.values.astype(np.int8)
    columns[places] = packed.columns
    turned = np.ascontiguousarray(values.reshape(-1, 4, BLOCK_ROWS).transpose(0, 2, 1))
    return PackedInt8(*packed.shape, len(packed.columns), turned, columns.reshape(-1, 4), starts)


def unpack(packed: PackedWeight) -> Floats:
    """The N x K weight of a packed form."""
    rows = packed.outputs // BLOCK_ROWS
    blocks = np.zeros((rows, packed.inputs, BLOCK_ROWS), np.float32)
    blocks[np.repeat(np.arange(rows), np.diff(packed.starts)), packed.columns] = packed.values
    return blocks.transpose(0, 2, 1).reshape(packed.outputs, packed.inputs)


def blocks_to_prune(blocks: int, level: float) -> int:
    """How many of `blocks` blocks make the share `level`: the nearest whole number, a half upwards."""
    return min(blocks, int(np.floor(blocks * level + 0.5)))


def pruning_mask(weight: NDArray[np.floating], level: float) -> NDArray[np.bool_]:
    """N x K: the elements to zero so that the share `level` of the 4x1 blocks is all zero.

    Blocks of least Euclidean norm go first, all of one weight ranked together; equal norms in order of
    position, so that the same weight always gives the same mask. Blocks that are zero already count.
    """
    if weight.ndim != 2 or weight.shape[0] % BLOCK_ROWS:
        raise ValueError(f"a weight of shape {weight.shape} has no 4x1 blocks")
    blocks = weight.astype(np.float64).reshape(weight.shape[0] // BLOCK_ROWS, BLOCK_ROWS, weight.shape[1])
    norms = np.square(blocks).sum(axis=1)
    order = np.argsort(norms, axis=None, kind="stable")
    mask = np.zeros(norms.size, bool)
    mask[order[: blocks_to_prune(norms.size, level)]] = True
    return np.repeat(mask.reshape(norms.shape), BLOCK_ROWS, axis=0)
