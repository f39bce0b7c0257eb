"""The compression of VBA source in `vbaProject.bin`: [MS-OVBA] 2.4.1, both ways."""

from __future__ import annotations

import struct

_CHUNK = 4096
_SIGNATURE = b"\x01"
_LONGEST_CHAIN = 32
"""How many earlier places of the same three bytes are tried: enough for source text, linear in time."""


def compress(data: bytes) -> bytes:
    """`data` as a CompressedContainer."""
    return _SIGNATURE + b"".join(_chunk(data[i : i + _CHUNK]) for i in range(0, len(data), _CHUNK))


def _offset_bits(position: int) -> int:
    """Bits of a copy token that hold the offset at `position` in the chunk: ceil(log2(position)), at least 4."""
    return max((position - 1).bit_length(), 4)


def _chunk(data: bytes) -> bytes:
    body = bytearray()
    places: dict[bytes, list[int]] = {}
    position = 0
    while position < len(data):
        flags_at = len(body)
        body.append(0)
        for bit in range(8):
            if position >= len(data):
                break
            length, offset = _longest_match(data, position, places)
            if length:
                bits = _offset_bits(position)
                body[flags_at] |= 1 << bit
                body += struct.pack("<H", (offset - 1) << (16 - bits) | (length - 3))
            else:
                length = 1
                body.append(data[position])
            for i in range(position, position + length):
                places.setdefault(data[i : i + 3], []).append(i)
            position += length
    if len(body) >= _CHUNK:
        # Incompressible: stored as it is, which only a full chunk can be.
        return struct.pack("<H", 0x3000 | (_CHUNK + 2 - 3)) + data.ljust(_CHUNK, b"\0")
    return struct.pack("<H", 0xB000 | (len(body) + 2 - 3)) + bytes(body)


def _longest_match(data: bytes, position: int, places: dict[bytes, list[int]]) -> tuple[int, int]:
    """Length and distance back of the longest earlier text that repeats at `position`; (0, 0) below 3 bytes."""
    if position + 3 > len(data):
        return 0, 0
    limit = min((0xFFFF >> _offset_bits(position)) + 3, len(data) - position)
    best = offset = 0
    for candidate in reversed(places.get(data[position : position + 3], ())[-_LONGEST_CHAIN:]):
        length = 3
        while length < limit and data[candidate + length] == data[position + length]:
            length += 1
        if length > best:
            best, offset = length, position - candidate
    return best, offset


def decompress(container: bytes) -> bytes:
    """The text of a CompressedContainer; the other way round, for tests and for reading projects."""
    if container[:1] != _SIGNATURE:
        raise ValueError("not a compressed container: it must begin with 0x01")
    out = bytearray()
    at = 1
    while at < len(container):
        (header,) = struct.unpack_from("<H", container, at)
        end = at + (header & 0x0FFF) + 3
        at += 2
        if not header & 0x8000:
            out += container[at:end]
            at = end
            continue
        start = len(out)
        while at < end:
            flags = container[at]
            at += 1
            for bit in range(8):
                if at >= end:
                    break
                if not flags >> bit & 1:
                    out.append(container[at])
                    at += 1
                    continue
                (token,) = struct.unpack_from("<H", container, at)
                at += 2
                bits = _offset_bits(len(out) - start)
                length, offset = (token & 0xFFFF >> bits) + 3, (token >> (16 - bits)) + 1
                for _ in range(length):
                    out.append(out[-offset])
        at = end
    return bytes(out)
