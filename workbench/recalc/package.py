"""The .xlsx package: opening it safely, finding its parts, writing it back with some parts replaced.

Untouched parts are copied as their compressed bytes; order, names and dates stay.
"""

from __future__ import annotations

import io
import posixpath
import re
import struct
import types
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO

from workbench.errors import BookError

LARGEST_PART = 2 << 30
LARGEST_WHOLE = 4 << 30
SUSPICIOUS_RATIO = 400
SUSPICIOUS_SIZE = 64 << 20
"""A part above this size that shrinks by more than the ratio is taken for a zip bomb."""

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_RELATIONSHIPS = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_SAVE_AS_XLSX = "open it in a spreadsheet program and save it as .xlsx"


class Package:
    """A workbook file as it was when opened, held in memory; parts are unpacked when asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._data = _content(path)
        self._zip = _opened(path, self._data)
        self.names = frozenset(self._zip.namelist())
        self._entries = {_part_name(name): name for name in self._zip.namelist()}
        _refuse_bombs(path, self._zip)

    def has(self, name: str) -> bool:
        """Whether there is a part of that name; case doesn't count, nor which slash."""
        return _part_name(name) in self._entries

    def close(self) -> None:
        """Release the reader; what was read stays usable, `write` too."""
        self._zip.close()

    def read(self, name: str) -> bytes:
        """A part's bytes, in UTF-8. Raises `BookError` when it is missing, damaged or declares entities."""
        try:
            data = self._zip.read(self._entries[_part_name(name)])
        except KeyError:
            raise BookError(f"the part {name} is missing", where=self.path, remedy=_SAVE_AS_XLSX) from None
        except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError) as problem:
            raise BookError(f"the part {name} is damaged ({problem})", where=self.path) from None
        except Exception as problem:
            if type(problem).__module__ != "zlib":
                raise
            raise BookError(f"the part {name} is damaged ({problem})", where=self.path) from None
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            data = re.sub(rb"""encoding=["'][\w-]+["']""", b'encoding="UTF-8"', data.decode("utf-16").encode(), count=1)
        if b"<!DOCTYPE" in data[:4096] or b"<!ENTITY" in data[:65536]:
            raise BookError(f"the part {name} declares XML entities, which no workbook needs", where=self.path)
        return data

    def xml(self, name: str) -> ElementTree.Element:
        """A part parsed. Raises `BookError` when it is no XML."""
        try:
            return ElementTree.fromstring(self.read(name))
        except (ElementTree.ParseError, LookupError, ValueError) as problem:
            raise BookError(f"the part {name} is broken XML ({problem})", where=self.path) from None

    def relationships(self, part: str) -> dict[str, tuple[str, str]]:
        """Relationship id → (type's last word, target part) of a part; external targets are left out."""
        folder, name = posixpath.split(part)
        rels = posixpath.join(folder, "_rels", name + ".rels")
        if not self.has(rels):
            return {}
        found = {}
        for item in self.xml(rels).iter(_RELATIONSHIPS):
            if item.get("TargetMode") == "External":
                continue
            target = item.get("Target", "")
            target = (
                target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
            )
            found[item.get("Id", "")] = (item.get("Type", "").rsplit("/", 1)[-1], target)
        return found

    @property
    def signed(self) -> bool:
        """Whether the package carries a digital signature, which any change invalidates."""
        return any(name.startswith("_xmlsignatures/") for name in self.names)

    def write(
        self,
        out: Path,
        replaced: Mapping[str, bytes],
        added: Mapping[str, bytes] = types.MappingProxyType({}),
        removed: Collection[str] = (),
    ) -> None:
        """Write the package to `out` with some parts replaced, some left out and others appended."""
        fresh = {_part_name(name): data for name, data in replaced.items()}
        with io.BytesIO(self._data) as source, out.open("wb") as target:
            entries = [entry for entry in self._zip.infolist() if entry.filename not in removed]
            written: list[tuple[zipfile.ZipInfo, int]] = []
            for entry in entries:
                offset = target.tell()
                if _part_name(entry.filename) in fresh:
                    entry = _deflated(entry, fresh[_part_name(entry.filename)], target)
                else:
                    _copy_raw(source, entry, target, self.path)
                written.append((entry, offset))
            for name, data in added.items():
                offset = target.tell()
                written.append((_deflated(zipfile.ZipInfo(name), data, target), offset))
            _write_directory(target, written, self._zip.comment)


def _part_name(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").lower()


def _content(path: Path) -> bytes:
    """The file's bytes, once its start looks like a zip file's."""
    try:
        with path.open("rb") as file:
            head = file.read(8)
            if head == _OLE:
                start = head + file.read(1 << 20)
                if "EncryptedPackage".encode("utf-16-le") in start:
                    raise BookError(
                        "the workbook is encrypted with a password", where=path, remedy="remove the password"
                    )
                raise BookError("this is an old .xls workbook, not .xlsx", where=path, remedy=_SAVE_AS_XLSX)
            if head and not head.startswith(b"PK"):
                raise BookError("this is not an .xlsx workbook (it is no zip file)", where=path)
            rest = file.read(LARGEST_WHOLE)
    except FileNotFoundError:
        raise BookError("there is no such file", where=path) from None
    except IsADirectoryError:
        raise BookError("this is a folder, not a workbook", where=path) from None
    except PermissionError:
        raise BookError("no permission to read this file", where=path) from None
    if not head:
        raise BookError("the file is empty", where=path)
    return head + rest


def _opened(path: Path, data: bytes) -> zipfile.ZipFile:
    try:
        package = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, struct.error, ValueError, NotImplementedError) as problem:
        raise BookError(f"this is not an .xlsx workbook ({problem})", where=path) from None
    names = set(package.namelist())
    if "mimetype" in names and "content.xml" in names:
        package.close()
        raise BookError("this is an OpenDocument file (.ods), not .xlsx", where=path, remedy=_SAVE_AS_XLSX)
    if any(name.endswith("workbook.bin") for name in names):
        package.close()
        raise BookError("this is a binary workbook (.xlsb), not .xlsx", where=path, remedy=_SAVE_AS_XLSX)
    if any(entry.flag_bits & 1 for entry in package.infolist()):
        package.close()
        raise BookError("the zip file is encrypted", where=path, remedy="remove the password")
    return package


def _refuse_bombs(path: Path, package: zipfile.ZipFile) -> None:
    total = 0
    seen: set[str] = set()
    for entry in package.infolist():
        total += entry.file_size
        ratio = entry.file_size / max(entry.compress_size, 1)
        if entry.file_size > LARGEST_PART or total > LARGEST_WHOLE:
            package.close()
            raise BookError(f"the part {entry.filename} unpacks to more than workbooks hold", where=path)
        if entry.file_size > SUSPICIOUS_SIZE and ratio > SUSPICIOUS_RATIO:
            package.close()
            raise BookError(
                f"the part {entry.filename} unpacks to {ratio:.0f} times its size, as zip bombs do", where=path
            )
        if _part_name(entry.filename) in seen:
            package.close()
            raise BookError(f"the part {entry.filename} is there twice", where=path, remedy=_SAVE_AS_XLSX)
        seen.add(_part_name(entry.filename))


_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s4B4HL2L5H2L")


def _copy_raw(source: IO[bytes], entry: zipfile.ZipInfo, target: IO[bytes], path: Path) -> None:
    """The entry with its compressed data as they are; sizes go to the header, as a data descriptor may be used."""
    source.seek(max(entry.header_offset, 0))
    header = source.read(_LOCAL.size)
    if entry.header_offset < 0 or len(header) < _LOCAL.size or header[:4] != b"PK\3\4":
        raise BookError(f"the part {entry.filename} is not where the zip file's directory says", where=path)
    fields = _LOCAL.unpack(header)
    source.seek(fields[9] + fields[10], 1)
    _write_local(entry, target)
    left = entry.compress_size
    while left:
        piece = source.read(min(left, 1 << 20))
        if not piece:
            raise BookError(f"the part {entry.filename} is cut off", where=path)
        target.write(piece)
        left -= len(piece)


def _deflated(entry: zipfile.ZipInfo, data: bytes, target: IO[bytes]) -> zipfile.ZipInfo:
    import zlib

    packer = zlib.compressobj(1 if len(data) > 1 << 22 else 6, zlib.DEFLATED, -15)
    packed = packer.compress(data) + packer.flush()
    fresh = zipfile.ZipInfo(entry.filename, entry.date_time)
    fresh.compress_type = zipfile.ZIP_DEFLATED
    fresh.external_attr, fresh.create_system = entry.external_attr, entry.create_system
    fresh.flag_bits = entry.flag_bits & 0x800
    fresh.CRC, fresh.compress_size, fresh.file_size = zlib.crc32(data), len(packed), len(data)
    _write_local(fresh, target)
    target.write(packed)
    return fresh


def _encoded_name(entry: zipfile.ZipInfo) -> tuple[bytes, int]:
    try:
        return entry.filename.encode("ascii"), entry.flag_bits & ~0x808
    except UnicodeEncodeError:
        return entry.filename.encode("utf-8"), (entry.flag_bits & ~8) | 0x800


def _dos_time(entry: zipfile.ZipInfo) -> tuple[int, int]:
    year, month, day, hour, minute, second = entry.date_time
    return hour << 11 | minute << 5 | second // 2, (year - 1980) << 9 | month << 5 | day


def _write_local(entry: zipfile.ZipInfo, target: IO[bytes]) -> None:
    name, flags = _encoded_name(entry)
    time, date = _dos_time(entry)
    header = _LOCAL.pack(
        b"PK\3\4",
        20,
        flags,
        entry.compress_type,
        time,
        date,
        entry.CRC,
        entry.compress_size,
        entry.file_size,
        len(name),
        0,
    )
    target.write(header + name)


def _write_directory(target: IO[bytes], written: list[tuple[zipfile.ZipInfo, int]], comment: bytes) -> None:
    start = target.tell()
    for entry, offset in written:
        name, flags = _encoded_name(entry)
        time, date = _dos_time(entry)
        header = _CENTRAL.pack(
            b"PK\1\2",
            20,
            entry.create_system,
            20,
            0,
            flags,
            entry.compress_type,
            time,
            date,
            entry.CRC,
            entry.compress_size,
            entry.file_size,
            len(name),
            0,
            len(entry.comment),
            0,
            entry.internal_attr,
            entry.external_attr,
            offset,
        )
        target.write(header + name + entry.comment)
    size = target.tell() - start
    if start + size >= 1 << 32 or len(written) >= 1 << 16:
        raise BookError("the workbook is larger than 4 GB")
    count = len(written)
    target.write(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, size, start, len(comment)) + comment)
