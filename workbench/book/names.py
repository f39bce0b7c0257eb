"""Names that spreadsheets take: sheets, defined names, tables."""

from __future__ import annotations

from collections.abc import Collection

from workbench.book.text import utf16_length
from workbench.errors import BookError

SHEET_NAME_LIMIT = 31
PROFILE_NAME_LIMIT = SHEET_NAME_LIMIT - len(" ops")
_FORBIDDEN = "[]:*?/\\"
_RESERVED = ("summary", "scenarios", "guide", "history", "xlwings.conf")


def check_profile_name(name: str, taken: Collection[str] = ()) -> None:
    """Raise `BookError` unless `name` can name a profile's sheets and these aren't among `taken`."""
    remedy = "choose another with --name"
    where = f"profile name {name!r}"
    if not name.strip():
        raise BookError("a profile needs a name", where=where, remedy=remedy)
    if name != name.strip():
        raise BookError("it begins or ends with a space", where=where, remedy=remedy)
    length = utf16_length(name)
    if length > PROFILE_NAME_LIMIT:
        raise BookError(
            f"it has {length} characters; a sheet's name allows {SHEET_NAME_LIMIT}, and ' ops' is added",
            where=where,
            remedy=f"use at most {PROFILE_NAME_LIMIT}",
        )
    bad = [c for c in name if c in _FORBIDDEN or not c.isprintable()]
    if bad:
        raise BookError(f"a sheet's name can't contain {bad[0]!r}", where=where, remedy=remedy)
    if name.startswith("'") or name.endswith("'"):
        raise BookError("a sheet's name can't begin or end with an apostrophe", where=where, remedy=remedy)
    if name.casefold() in _RESERVED:
        raise BookError("this sheet name is reserved", where=where, remedy=remedy)
    sheets = {sheet.casefold() for sheet in taken}
    for sheet in (name, f"{name} ops"):
        if sheet.casefold() in sheets:
            raise BookError(
                f"there is a sheet {sheet!r} already", where=where, remedy="choose another name, or --replace"
            )


def object_name(profile: str, taken: Collection[str] = ()) -> str:
    """The profile's part of defined names (`ratios_<it>`): letters, digits, `_`, `.` only, none of `taken`."""
    base = "".join(c if c.isalnum() or c in "_." else "_" for c in profile)
    name, number = base, 1
    used = {other.casefold() for other in taken}
    while name.casefold() in used:
        number += 1
        name = f"{base}_{number}"
    return name


def quoted_sheet(name: str) -> str:
    """`name` as formulas write it: `'batch 8'`."""
    return "'" + name.replace("'", "''") + "'"
