"""Excel's newer errors (#SPILL!, #CALC!, …): files hold them as #VALUE! with an index into rich value parts."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.recalc.package import Package
from workbench.recalc.values import ERROR_OF_CODE, CellErrorValue

NEWER = frozenset(e for e in CellErrorValue if e.code > 8)
"""Errors that a cell's value element spells `#VALUE!`."""


def rich_errors(package: Package, related: Mapping[str, tuple[str, str]]) -> dict[int, CellErrorValue]:
    """A cell's `vm` attribute → the error that it stands for; other rich values are left out."""
    parts = {kind: target for kind, target in related.values() if package.has(target)}
    needed = ("sheetMetadata", "rdRichValue", "rdRichValueStructure")
    if not all(kind in parts for kind in needed):
        return {}
    metadata, values, structures = (package.xml(parts[kind]) for kind in needed)
    error_kinds = {i for i, s in enumerate(structures.findall("{*}s")) if s.get("t") == "_error"}
    types = [t.get("name") for t in metadata.findall("{*}metadataTypes/{*}metadataType")]
    blocks: list[int] = []
    for future in metadata.findall("{*}futureMetadata"):
        if future.get("name") == "XLRICHVALUE":
            found = (block.find(".//{*}rvb") for block in future.findall("{*}bk"))
            blocks = [-1 if rvb is None else int(rvb.get("i", "-1")) for rvb in found]
    errors: dict[int, CellErrorValue] = {}
    records = values.findall("{*}rv")
    for index, block in enumerate(metadata.findall("{*}valueMetadata/{*}bk"), 1):
        record = block.find("{*}rc")
        if record is None or types[int(record.get("t", "1")) - 1] != "XLRICHVALUE":
            continue
        place = blocks[int(record.get("v", "0"))]
        if not 0 <= place < len(records) or int(records[place].get("s", "-1")) not in error_kinds:
            continue
        first = records[place].findtext("{*}v", "")
        if first.isdigit() and int(first) + 1 in ERROR_OF_CODE:
            errors[index] = ERROR_OF_CODE[int(first) + 1]
    return errors
