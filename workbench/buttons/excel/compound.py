"""OLE compound files ([MS-CFB], version 3): a small writer for storages and streams."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

_SECTOR, _MINI_SECTOR, _MINI_CUTOFF = 512, 64, 4096
_END, _FREE, _NOTHING, _FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFD
_HEADER_FAT_ENTRIES = 109

Storage = Mapping[str, "bytes | Storage"]
"""Name → a stream's bytes, or a storage within."""


@dataclass
class _Entry:
    name: str
    kind: int
    """1 storage, 2 stream, 5 root."""
    data: bytes = b""
    children: list[int] = field(default_factory=list)
    left: int = _NOTHING
    right: int = _NOTHING
    child: int = _NOTHING
    start: int = 0

    def packed(self) -> bytes:
        name = (self.name + "\0").encode("utf-16le")
        black = 1
        return (
            name.ljust(64, b"\0")
            + struct.pack("<HBBIII", len(name), self.kind, black, self.left, self.right, self.child)
            + bytes(36)
            + struct.pack("<IQ", self.start, len(self.data))
        )


class _Sectors:
    """Chains of sectors, with the allocation table that links them."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.table: list[int] = []
        self.content = bytearray()

    def add(self, data: bytes) -> int:
        """Store `data` as a chain; returns its first sector."""
        if not data:
            return _END
        count, first = -(-len(data) // self.size), len(self.table)
        self.table += [*range(first + 1, first + count), _END]
        self.content += data.ljust(count * self.size, b"\0")
        return first


def compound_file(root: Storage) -> bytes:
    """A compound file with the streams and storages of `root`; at most 6.8 MB."""
    entries = [_Entry("Root Entry", 5)]
    _collect(root, 0, entries)
    for entry in entries:
        entry.child = _tree(entry.children, entries)
    sectors, mini = _Sectors(_SECTOR), _Sectors(_MINI_SECTOR)
    for entry in entries:
        if entry.kind == 2:
            entry.start = (mini if len(entry.data) < _MINI_CUTOFF else sectors).add(entry.data)
    entries[0].data = bytes(mini.content)
    entries[0].start = sectors.add(entries[0].data)
    mini_table = _packed_table(mini.table)
    mini_start = sectors.add(mini_table)
    directory = b"".join(entry.packed() for entry in entries)
    unused = struct.pack("<64xHBBIII36xIQ", 0, 0, 0, _NOTHING, _NOTHING, _NOTHING, 0, 0)
    while len(directory) % _SECTOR:
        directory += unused
    directory_start = sectors.add(directory)
    return _assembled(sectors, directory_start, mini_start, len(mini_table) // _SECTOR)


def _assembled(sectors: _Sectors, directory_start: int, mini_start: int, mini_count: int) -> bytes:
    fat_count = 1
    while len(sectors.table) + fat_count > fat_count * (_SECTOR // 4):
        fat_count += 1
    if fat_count > _HEADER_FAT_ENTRIES:
        raise ValueError("the compound file would be larger than 6.8 MB")
    fat_start = len(sectors.table)
    table = _packed_table(sectors.table + [_FAT] * fat_count)
    header = bytes.fromhex("D0CF11E0A1B11AE1") + bytes(16)
    header += struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
    header += struct.pack("<IIIIIIIII", 0, fat_count, directory_start, 0, _MINI_CUTOFF, mini_start, mini_count, _END, 0)
    places = [fat_start + i if i < fat_count else _FREE for i in range(_HEADER_FAT_ENTRIES)]
    return header + struct.pack(f"<{_HEADER_FAT_ENTRIES}I", *places) + bytes(sectors.content) + table


def _packed_table(table: list[int]) -> bytes:
    packed = struct.pack(f"<{len(table)}I", *table)
    return packed.ljust(-(-len(packed) // _SECTOR) * _SECTOR, b"\xff")


def _collect(storage: Storage, parent: int, entries: list[_Entry]) -> None:
    for name, content in storage.items():
        number = len(entries)
        entries[parent].children.append(number)
        if isinstance(content, bytes):
            entries.append(_Entry(name, 2, content))
        else:
            entries.append(_Entry(name, 1))
            _collect(content, number, entries)


def _tree(children: list[int], entries: list[_Entry]) -> int:
    """Link siblings as a balanced search tree in CFB's order (length, then upper case); returns its root."""
    ordered = sorted(children, key=lambda i: (len(entries[i].name.encode("utf-16le")), entries[i].name.upper()))

    def link(low: int, high: int) -> int:
        if low >= high:
            return _NOTHING
        middle = (low + high) // 2
        entry = entries[ordered[middle]]
        entry.left, entry.right = link(low, middle), link(middle + 1, high)
        return ordered[middle]

    return link(0, len(ordered))
