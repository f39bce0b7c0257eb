"""Foreign files into workbooks and workbooks into foreign files: what `import` and `export` do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import BookError, FormatError, WorkbenchError
from workbench.exchange.imported import ImportedProfile
from workbench.exchange.neural_engine.sheet_reader import load_cells
from workbench.profile import PerformanceProfile, RatioTable

if TYPE_CHECKING:
    import pandas as pd

    from workbench.book import Book

TABLES = ("operators", "ratios", "types", "totals", "estimates", "layers", "summary")
"""`types`: the layer summary by operator type; `layers`: a loss profile's; `summary`: a row a profile."""
NEURAL_ENGINE = "neural-engine"


@dataclass(frozen=True)
class ImportResult:
    """What an import did."""

    book: Path
    format: str
    profile: PerformanceProfile | None
    """None for a file of ratios."""
    ratios: RatioTable | None
    """The ratios that the file had."""
    extended: bool
    """Whether the workbook existed."""
    ratios_set: int
    """Ratio rows of the workbook that a file of ratios changed."""
    notes: tuple[str, ...]


def import_file(
    file: str | Path,
    book: str | Path,
    *,
    model: str | Path | None = None,
    name: str | None = None,
    replace_profile: bool = False,
    batch: int | None = None,
    cores: int | None = None,
) -> ImportResult:
    """Import a foreign `file` into the workbook `book`, which is made where it isn't there.

    A profile becomes a profile of the workbook called `name` (`baseline`), with the ratios and targets that the
    file has. A file of ratios alone replaces the rows of its weight shapes in the ratio table of the profile
    `name`. Raises `WorkbenchError`s before anything is written.
    """
    from workbench.exchange.registry import read_with_format
    from workbench.files import refuse_if_open_elsewhere

    path = Path(book)
    if path.suffix.lower() not in (".xlsx", ".xlsm"):
        raise BookError("a workbook's name ends in .xlsx", where=path, remedy="choose another output with -o")
    refuse_if_open_elsewhere(path)
    if path.exists() and Path(file).exists() and path.samefile(file):
        raise BookError("this is the file to import", where=path, remedy="name another workbook with -o")
    form, found = read_with_format(file, model, batch=batch, cores=cores)
    kind = form.name
    if found.profile is None:
        return _import_ratios(path, kind, found, name)
    profile = replace(found.profile, name=name or found.profile.name)
    extended = path.exists()
    notes = (*found.notes, *_write(path, profile, found, extended=extended, replace_profile=replace_profile))
    return ImportResult(path, kind, profile, found.ratios, extended, 0, notes)


def _write(
    path: Path, profile: PerformanceProfile, found: ImportedProfile, *, extended: bool, replace_profile: bool
) -> tuple[str, ...]:
    from workbench.book import check_profile_name, write_book

    check_profile_name(profile.name)
    if extended:
        from workbench.book.insert import add_profile

        done = add_profile(path, profile, replace=replace_profile, ratios=found.ratios, targets=found.targets)
        return done.notes
    if not path.parent.is_dir():
        raise BookError(f"the folder {path.parent} does not exist", where=path, remedy="create it or choose another -o")
    targets = {profile.name: found.targets} if found.targets is not None else None
    write_book([profile], path, ratios=found.ratios, targets=targets)
    return ()


def _import_ratios(path: Path, kind: str, found: ImportedProfile, name: str | None) -> ImportResult:
    from workbench.book import open_book
    from workbench.recalc import recompute

    if not path.exists():
        raise BookError(
            "ratios go into a workbook that is there, and this one is not",
            where=path,
            remedy="profile the model into it first, or name another workbook with -o",
        )
    opened = open_book(path)
    profile = only_profile(opened, name)
    part = opened.objects[profile]
    present = opened.ratio_table(profile)
    assert found.ratios is not None
    shapes = {row.shape for row in present.rows}
    rows = [row for row in found.ratios.rows if row.shape in shapes]
    if not rows:
        have = ", ".join(row.label for row in present.rows[:5])
        raise FormatError(
            f"the file has no ratios for the weight shapes of profile {profile!r} ({have})",
            where=path,
            remedy="are they of another model?",
        )
    levels = {round(level, 6) for level in present.levels}
    edits: dict[str, float | str] = {}
    for row in rows:
        for level, ratio in row.ratios.items():
            if round(level, 6) in levels:
                edits[f"ratios_{part}[{row.label}][{level * 100:g}%]"] = ratio
        edits[f"ratios_{part}[{row.label}][source]"] = row.source
    recompute(path, edits=edits)
    left = len(found.ratios.rows) - len(rows)
    notes = (*found.notes, *([f"{left} weight shapes of the file are not in profile {profile!r}"] if left else []))
    return ImportResult(path, kind, None, found.ratios, True, len(rows), notes)


def only_profile(book: Book, name: str | None) -> str:
    """The profile called `name`, or the book's only one. Raises `BookError` where that isn't clear."""
    names = book.profile_names
    if name is None and len(names) == 1:
        return names[0]
    if name is None:
        raise BookError(
            f"the workbook has {len(names)} profiles: {', '.join(names)}", where=book.path, remedy="say which one"
        )
    found = next((n for n in names if n.casefold() == name.casefold()), None)
    if found is None:
        raise BookError(
            f"the workbook has no profile {name!r}", where=book.path, remedy=f"it has {', '.join(names) or 'none'}"
        )
    return found


def table_of(book: Book, table: str, profile: str | None = None) -> pd.DataFrame:
    """One of `TABLES`, or an Excel table or named range of the workbook, as a data frame.

    `profile` may be left out where there is one; for `layers` it is a loss profile. Raises `WorkbenchError` for
    a table that isn't there.
    """
    if table == "summary":
        return book.summary()
    if table == "layers":
        return book.layers(_loss_profile(book, profile))
    if table not in TABLES:
        return _named_range(book, table)
    name = only_profile(book, profile)
    if table == "operators":
        return book.operators(name)
    if table == "ratios":
        return book.ratios(name)
    if table == "types":
        return _named_range(book, f"types_{book.objects[name]}")
    return _figures(book.totals(name) if table == "totals" else book.estimates(name))


def _figures(values: Mapping[str, float]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({"name": list(values), "value": list(values.values())})


def _loss_profile(book: Book, name: str | None) -> str:
    names = book.loss_profile_names
    if name is None and len(names) != 1:
        listed = f"{len(names)} loss profiles: {', '.join(names)}" if names else "no loss profile"
        remedy = "say which one with --profile" if names else "add one with `workbench loss`"
        raise BookError(f"the workbook has {listed}", where=book.path, remedy=remedy)
    return name if name is not None else names[0]


def _named_range(book: Book, name: str) -> pd.DataFrame:
    """An Excel table, or a defined name's range, whose first row has the headers; empty rows are left out."""
    import pandas as pd

    opened = load_cells(book.path, data_only=True)
    tables = {t.name.casefold() for sheet in opened.worksheets for t in sheet.tables.values()}
    if name.casefold() in tables:
        return book.table(name)
    defined = next((d for n, d in opened.defined_names.items() if n.casefold() == name.casefold()), None)
    areas = [] if defined is None or "#REF!" in defined.attr_text else list(defined.destinations)
    if len(areas) != 1 or ":" not in areas[0][1]:
        raise WorkbenchError(
            f"there is no table {name!r} in {book.path.name}",
            where="--table",
            remedy=f"use one of {', '.join(TABLES)}, or a table or named range of the workbook",
        )
    title, area = areas[0]
    rows = [[cell.value for cell in row] for row in opened[title][area.replace("$", "")]]
    keep = [n for n, header in enumerate(rows[0]) if header not in (None, "")]
    body = [[row[n] for n in keep] for row in rows[1:] if row[keep[0]] not in (None, "")] if keep else []
    return pd.DataFrame(body, columns=pd.Index([str(rows[0][n]) for n in keep], dtype=object))


def export_table(
    book: str | Path, kind: str, out: str | Path, *, table: str = "operators", profile: str | None = None
) -> Path:
    """Write a table of the workbook to `out` in the format `kind` and return the file."""
    from workbench.book import open_book
    from workbench.exchange.tables import write_table

    path = Path(out)
    write_table(table_of(open_book(book), table, profile), kind, path)
    return path


def export_neural_engine(
    book: str | Path, out: str | Path, *, profiles: Sequence[str] | None = None
) -> tuple[Path, ...]:
    """Write Neural Engine CSV files of `profiles` (all where None) into the folder `out`, or to `out` if it is
    one `.csv` file. Ratios, targets and latencies are those the workbook has now.
    """
    from workbench.book import open_book
    from workbench.exchange.neural_engine.csv_writer import profile_csv, write_profile_csv
    from workbench.exchange.part2 import profile_of_rows, ratios_off_table, targets_of_rows
    from workbench.files import replacing

    opened = open_book(book)
    names = [only_profile(opened, name) for name in profiles] if profiles else list(opened.profile_names)
    target = Path(out)
    single = target.suffix.lower() == ".csv" and not target.is_dir()
    if single and len(names) > 1:
        raise WorkbenchError(
            f"{len(names)} profiles don't go into one file", where=target, remedy="name a folder, or one --profile"
        )
    written: list[Path] = []
    for name in names:
        rows = opened.operators(name)
        profile = profile_of_rows(rows, name, opened.facts(name), _settings(opened, name), f"{opened.path}, {name}")
        ratios = opened.ratio_table(name)
        targets = targets_of_rows(rows)
        fixed = ratios_off_table(rows, profile, targets, ratios)
        if single:
            text = profile_csv(profile, ratios=ratios, targets=targets, fixed_ratios=fixed)
            with replacing(target) as temporary:
                temporary.write_text(text, encoding="utf-8", newline="")
            written.append(target)
        else:
            written.append(write_profile_csv(profile, target, ratios=ratios, targets=targets, fixed_ratios=fixed))
    return tuple(written)


def _settings(book: Book, profile: str) -> dict[str, str]:
    """The layout of the file that the profile was imported from, which its dashboard notes."""
    from workbench.exchange.neural_engine.csv_writer import FILE_LAYOUT

    opened = load_cells(book.path, read_only=True, data_only=True)
    try:
        for row in opened[profile].iter_rows(values_only=True):
            cells = [cell for cell in row if cell not in (None, "")]
            if FILE_LAYOUT in cells[:-1]:
                return {FILE_LAYOUT: str(cells[cells.index(FILE_LAYOUT) + 1])}
    finally:
        opened.close()
    return {}
