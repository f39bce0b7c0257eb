"""`vbaProject.bin` from VBA source text, without Excel ([MS-OVBA]).

No compiled code is written (MODULEOFFSET 0, an empty `_VBA_PROJECT` of version 0xFFFF), so the host compiles
the source when the file is opened.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Mapping, Sequence

from workbench.buttons.excel.compound import compound_file
from workbench.buttons.excel.compression import compress

_WORKBOOK_CLASS = "{00020819-0000-0000-C000-000000000046}"
_WORKSHEET_CLASS = "{00020820-0000-0000-C000-000000000046}"
_NO_COMPILED_CODE = bytes.fromhex("CC61FFFF000000")
_CODE_PAGE = "cp1252"

_REFERENCES = (
    (
        "stdole",
        r"*\G{00020430-0000-0000-C000-000000000046}#2.0#0#C:\Windows\System32\stdole2.tlb#OLE Automation",
    ),
    (
        "Office",
        r"*\G{2DF8D04C-5BFA-101B-BDE5-00AA0044DE52}#2.0#0#C:\Program Files\Common Files\Microsoft Shared"
        r"\OFFICE16\MSO.DLL#Microsoft Office 16.0 Object Library",
    ),
)


def vba_project(
    modules: Mapping[str, str], sheets: Sequence[str], *, workbook: str = "ThisWorkbook", name: str = "VBAProject"
) -> bytes:
    """A project of standard `modules` (name → source) beside the document modules of the workbook.

    `sheets` and `workbook` are the code names in the workbook's XML. The same input gives the same bytes.
    """
    documents = [(workbook, _WORKBOOK_CLASS)] + [(sheet, _WORKSHEET_CLASS) for sheet in sheets]
    sources = {module: _document_source(module, class_id) for module, class_id in documents}
    for module, text in modules.items():
        sources[module] = _module_source(module, text)
    storage = {module: compress(_encoded(text, module)) for module, text in sources.items()}
    storage["dir"] = compress(_dir_stream(name, sources, {module for module, _ in documents}))
    storage["_VBA_PROJECT"] = _NO_COMPILED_CODE
    project = _project_stream(name, [module for module, _ in documents], list(modules))
    return compound_file({"VBA": storage, "PROJECT": project, "PROJECTwm": _names_stream(list(sources))})


def _encoded(text: str, module: str) -> bytes:
    try:
        return text.encode(_CODE_PAGE)
    except UnicodeEncodeError as error:
        raise ValueError(f"module {module}: {text[error.start]!r} is not in code page 1252") from None


def _document_source(module: str, class_id: str) -> str:
    attributes = (
        f'VB_Name = "{module}"',
        f'VB_Base = "0{class_id}"',
        "VB_GlobalNameSpace = False",
        "VB_Creatable = False",
        "VB_PredeclaredId = True",
        "VB_Exposed = True",
        "VB_TemplateDerived = False",
        "VB_Customizable = True",
    )
    return "".join(f"Attribute {attribute}\r\n" for attribute in attributes)


def _module_source(module: str, text: str) -> str:
    lines = [line for line in text.splitlines() if not line.startswith("Attribute VB_Name")]
    return "\r\n".join([f'Attribute VB_Name = "{module}"', *lines]) + "\r\n"


def _record(number: int, content: bytes) -> bytes:
    return struct.pack("<HI", number, len(content)) + content


def _twice(number: int, unicode_number: int, text: str) -> bytes:
    """A record in the code page, followed by the same in UTF-16."""
    return _record(number, text.encode(_CODE_PAGE)) + _record(unicode_number, text.encode("utf-16le"))


def _dir_stream(name: str, sources: Mapping[str, str], documents: set[str]) -> bytes:
    """The `dir` stream, [MS-OVBA] 2.3.4.2: project information, references, modules."""
    win32, english, code_page = 1, 0x409, 1252
    parts = [
        _record(0x01, struct.pack("<I", win32)),
        _record(0x02, struct.pack("<I", english)),
        _record(0x14, struct.pack("<I", english)),
        _record(0x03, struct.pack("<H", code_page)),
        _record(0x04, name.encode(_CODE_PAGE)),
        _twice(0x05, 0x40, ""),
        _record(0x06, b"") + _record(0x3D, b""),
        _record(0x07, struct.pack("<I", 0)),
        _record(0x08, struct.pack("<I", 0)),
        struct.pack("<HIIH", 0x09, 4, 1, 0),
        _twice(0x0C, 0x3C, ""),
    ]
    for reference, library in _REFERENCES:
        identifier = library.encode(_CODE_PAGE)
        parts.append(_twice(0x16, 0x3E, reference))
        parts.append(_record(0x0D, struct.pack("<I", len(identifier)) + identifier + bytes(6)))
    parts.append(_record(0x0F, struct.pack("<H", len(sources))) + _record(0x13, struct.pack("<H", 0xFFFF)))
    for module in sources:
        source_offset, help_context, cookie = 0, 0, 0xFFFF
        kind = 0x22 if module in documents else 0x21
        parts += [
            _record(0x19, module.encode(_CODE_PAGE)),
            _record(0x47, module.encode("utf-16le")),
            _twice(0x1A, 0x32, module),
            _twice(0x1C, 0x48, ""),
            _record(0x31, struct.pack("<I", source_offset)),
            _record(0x1E, struct.pack("<I", help_context)),
            _record(0x2C, struct.pack("<H", cookie)),
            _record(kind, b""),
            _record(0x2B, b""),
        ]
    parts.append(_record(0x10, b""))
    return b"".join(parts)


def _project_stream(name: str, documents: Sequence[str], modules: Sequence[str]) -> bytes:
    """The `PROJECT` stream, [MS-OVBA] 2.3.1: text, with the protection state encrypted as the format asks."""
    project_id = "{" + str(uuid.uuid5(uuid.NAMESPACE_URL, f"workbench:{name}")).upper() + "}"
    key = sum(project_id.encode()) & 0xFF
    lines = [
        f'ID="{project_id}"',
        *(f"Document={module}/&H00000000" for module in documents),
        *(f"Module={module}" for module in modules),
        f'Name="{name}"',
        'HelpContextID="0"',
        'VersionCompatible32="393222000"',
        f'CMG="{_obfuscated(bytes(4), key, seed=0x1F)}"',
        f'DPB="{_obfuscated(bytes(1), key, seed=0x2E)}"',
        f'GC="{_obfuscated(bytes([0xFF]), key, seed=0x3D)}"',
        "",
        "[Host Extender Info]",
        "&H00000001={3832D640-CF90-11CF-8E43-00A0C911005A};VBE;&H00000000",
        "",
        "[Workspace]",
        *(f"{module}=0, 0, 0, 0, C" for module in (*documents, *modules)),
    ]
    return ("\r\n".join(lines) + "\r\n").encode(_CODE_PAGE)


def _obfuscated(data: bytes, key: int, *, seed: int) -> str:
    """Data encryption of [MS-OVBA] 2.4.3.2, as hexadecimal text. It hides nothing; the format wants it."""
    version = 2
    written = [seed, seed ^ version, seed ^ key]
    plain, previous, before = key, written[2], written[1]
    for byte in bytes([7] * ((seed & 6) // 2)) + struct.pack("<I", len(data)) + data:
        coded = byte ^ ((before + plain) & 0xFF)
        written.append(coded)
        before, previous, plain = previous, coded, byte
    return "".join(f"{byte:02X}" for byte in written)


def _names_stream(modules: Sequence[str]) -> bytes:
    """The `PROJECTwm` stream: each module's name in the code page and in UTF-16."""
    names = (m.encode(_CODE_PAGE) + b"\0" + m.encode("utf-16le") + b"\0\0" for m in modules)
    return b"".join(names) + b"\0\0"
