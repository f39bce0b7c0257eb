"""Sheets of a freshly rendered workbook spliced into an existing one.

Everything a sheet leads to comes along under fresh part names: drawings, charts, tables, comments, pictures.
Formats and strings are appended to the target's. What the target holds besides keeps its bytes, but for the
workbook part, its relationships, the content types, the stylesheet and the shared strings, which grow.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from workbench.book.insert.chart_defaults import say_defaults
from workbench.book.insert.parts import OFFICE, Element, Parts, main
from workbench.book.insert.strings import StringMerger
from workbench.book.insert.styles import StyleMerger
from workbench.book.insert.workbook import WorkbookPart
from workbench.errors import BookError
from workbench.files import refuse_if_open_elsewhere, replacing

_STYLES_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"
_TABLE_FORMATS = (
    "headerRowDxfId",
    "dataDxfId",
    "totalsRowDxfId",
    "headerRowBorderDxfId",
    "tableBorderDxfId",
    "totalsRowBorderDxfId",
)
_COMMENT_SHAPES = 1024
"""Shape numbers of one sheet's comments form a block of this size; `o:idmap` names the block."""


def insert_sheets(
    path: str | Path,
    rendered: str | Path,
    sheets: Sequence[str],
    *,
    replace: bool = False,
    out: str | Path | None = None,
    before: str | None = None,
) -> None:
    """Copy `sheets` of the workbook `rendered` into the workbook `path`, and write that (or `out`).

    New sheets stand before the sheet `before`, or at the end. With `replace`, a sheet of the same name is swapped
    in place: formulas elsewhere that point to it by name live on, what stood only in it is gone.
    Raises `BookError` when a sheet is there already without `replace`, or a name of the new sheets is taken.
    """
    path = Path(path)
    target = Path(out) if out is not None else path
    refuse_if_open_elsewhere(target)
    with Splice(path, Path(rendered)) as splice:
        splice.insert(sheets, replace=replace, before=before)
        with replacing(target) as temporary:
            splice.write(temporary)


class Splice:
    """An existing workbook under change, and the rendered one that sheets are taken from."""

    def __init__(self, path: Path, rendered: Path) -> None:
        self.target = Parts(path)
        try:
            self.source = Parts(rendered)
            self.workbook = WorkbookPart(self.target)
            self._rendered = WorkbookPart(self.source)
            self._refuse()
            self.formats = StyleMerger(self.source, self._rendered.linked("styles"), self.target, self._stylesheet())
            strings = self._rendered.linked("sharedStrings")
            self.strings = StringMerger(self.source, strings, self.target, self.workbook.part)
        except BaseException:
            self.target.close()
            raise
        self._uses = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.target.close()
        self.source.close()

    def _refuse(self) -> None:
        if self.target.signed:
            raise BookError(
                "the workbook is digitally signed, and any change would void the signature",
                where=self.target.path,
                remedy="remove the signature, or write another workbook",
            )
        if self.workbook.structure_locked:
            raise BookError(
                "the workbook's structure is protected, so sheets can't be added",
                where=self.target.path,
                remedy="unprotect the workbook in a spreadsheet program",
            )

    def _stylesheet(self) -> str:
        part = self.workbook.linked("styles")
        if part:
            return part
        part = "xl/styles.xml"
        self.target.put(part, self.source.read(self._rendered.linked("styles")))
        self.target.declare(part, _STYLES_TYPE)
        self.target.add_link(self.workbook.part, f"{OFFICE}/styles", part)
        return part

    def rendered_names(self) -> list[str]:
        """The rendered workbook's sheets, in order."""
        return self._rendered.sheet_names

    def drop_names_of(self, names: Collection[str]) -> None:
        """Take these global names, in lower case, out of the workbook."""
        self.workbook.drop_names({(name, None) for name in names})

    def rendered_sheet(self, name: str) -> Element:
        """The XML of a sheet of the rendered workbook, to be read only."""
        return self.source.tree(self._rendered.sheet_part(name))

    def insert(self, sheets: Sequence[str], *, replace: bool = False, before: str | None = None) -> None:
        """Take the sheets over, with the defined names that refer to them."""
        present = {name.casefold(): name for name in self.workbook.sheet_names}
        clashing = [name for name in sheets if name.casefold() in present]
        if clashing and not replace:
            raise BookError(
                f"there is a sheet {present[clashing[0].casefold()]!r} already",
                where=self.target.path,
                remedy="choose another name, or replace it with --replace",
            )
        reachable = self.target.reachable()
        self._check_names(sheets)
        for name in sheets:
            part = self._rendered.sheet_part(name)
            if not part:
                raise BookError(f"the rendered workbook has no sheet {name!r}", where=self.source.path)
            if name.casefold() in present:
                old = self.workbook.sheet_part(name)
                if not old:
                    raise BookError(f"the sheet {name!r} is no worksheet", where=self.target.path)
                for kind in {link.kind for link in self.target.links(old)}:
                    self.target.drop_links(old, kind)
                self._copy_sheet(part, old)
            else:
                fresh = self.target.fresh(part)
                self._copy_sheet(part, fresh)
                names = [sheet.casefold() for sheet in self.workbook.sheet_names]
                wanted = before.casefold() if before is not None else ""
                self.workbook.add_sheet(name, fresh, names.index(wanted) if wanted in names else len(names))
        self._take_names(sheets)
        for part in reachable - self.target.reachable():
            self.target.remove(part)
        self._drop_calculation_chain()

    def write(self, out: Path) -> None:
        """Write the changed workbook to `out`."""
        self.strings.finish(self._uses)
        self.target.write(out)

    # Sheets

    def _copy_sheet(self, source: str, fresh: str) -> None:
        # The source's tree is changed in place: each of its sheets is copied once.
        root = self.source.editable(source)
        self._rewrite_cells(root)
        for rule in root.iter(main("cfRule")):
            if rule.get("dxfId") is not None:
                rule.set("dxfId", str(self.formats.differential(int(rule.get("dxfId", "0")))))
        for view in root.iter(main("sheetView")):
            if view.get("tabSelected") is not None:
                del view.attrib["tabSelected"]
        self.target.put(fresh, self.source.read(source))
        self.target.declare(fresh, self.source.content_type(source))
        self._copy_links(source, fresh)

    def _rewrite_cells(self, root: Element) -> None:
        plain = self.formats.cell_format(0)
        for column in root.iter(main("col")):
            if column.get("style") is not None:
                column.set("style", str(self.formats.cell_format(int(column.get("style", "0")))))
        for row in root.iter(main("row")):
            if row.get("s") is not None:
                row.set("s", str(self.formats.cell_format(int(row.get("s", "0")))))
            for cell in row:
                self.rewrite_cell(cell, plain)

    def rewrite_cell(self, cell: Element, plain: int = 0) -> None:
        """Turn a rendered cell's format and string into the target's; `plain` is that of unformatted cells."""
        style = cell.get("s")
        mapped = plain if style is None else self.formats.cell_format(int(style))
        if style is not None or mapped:
            cell.set("s", str(mapped))
        if cell.get("cm") is not None:
            # Points into the rendered workbook's metadata; without it, the formula is an array formula as ever.
            del cell.attrib["cm"]
        if cell.get("t") == "s":
            value = cell.find(main("v"))
            if value is not None:
                value.text = str(self.strings.index(int(value.text or "0")))
                self._uses += 1

    def _copy_links(self, source: str, fresh: str) -> None:
        """Copy what `source` leads to, part by part, and lead `fresh` there under the same relationship ids."""
        for link in self.source.links(source):
            if link.external:
                self.target.add_link(fresh, link.type, link.target, external=True, link_id=link.id)
                continue
            part = self.target.fresh(link.target)
            self.target.put(part, self.source.read(link.target))
            self.target.declare(part, self.source.content_type(link.target))
            if link.kind == "table":
                self._fit_table(part)
            elif link.kind == "chart":
                say_defaults(self.target.editable(part))
            elif link.kind == "vmlDrawing":
                self._fit_comment_shapes(part)
            self.target.add_link(fresh, link.type, part, link_id=link.id)
            self._copy_links(link.target, part)

    def _fit_table(self, part: str) -> None:
        """A table id of its own, and its formats' indexes."""
        ids = [0]
        names = {}
        for other in self.target.names():
            if other != part and self.target.content_type(other).endswith("spreadsheetml.table+xml"):
                table = self.target.tree(other)
                ids.append(int(table.get("id", "0")))
                names[table.get("displayName", "").casefold()] = other
        root = self.target.editable(part)
        root.set("id", str(max(ids) + 1))
        for element in root.iter():
            for attribute in _TABLE_FORMATS:
                if isinstance(element.tag, str) and element.get(attribute) is not None:
                    element.set(attribute, str(self.formats.differential(int(element.get(attribute, "0")))))

    def _fit_comment_shapes(self, part: str) -> None:
        """Shape numbers that no other sheet's comments have."""
        used = {0}
        for other in self.target.names():
            if other != part and other.endswith(".vml"):
                used |= {int(n) for n in re.findall(rb"idmap[^>]*\bdata=\"(\d+)\"", self.target.read(other))}
        data = self.target.read(part)
        found = re.search(rb"(idmap[^>]*\bdata=\")(\d+)\"", data)
        if found is None:
            return
        shift = (max(used) + 1 - int(found[2])) * _COMMENT_SHAPES
        data = data.replace(found[0], found[1] + str(max(used) + 1).encode() + b'"')
        data = re.sub(rb"_x0000_s(\d+)", lambda m: b"_x0000_s%d" % (int(m[1]) + shift), data)
        self.target.put(part, data)

    # Names

    def _check_names(self, sheets: Sequence[str]) -> None:
        """Names and tables of the new sheets must be free, or belong to a sheet that is replaced."""
        replaced = {name.casefold() for name in sheets}
        used = {
            name.name.casefold()
            for name in self.workbook.names
            if name.scope is None and not (name.sheets() and name.sheets() <= replaced)
        }
        tables = tables_of(self.target, self.workbook, replaced)
        for name in self._new_names(sheets):
            if name.casefold() in used | tables:
                raise BookError(
                    f"the name {name!r}, which the new sheets need, is taken",
                    where=self.target.path,
                    remedy="rename it there, or choose another profile name",
                )

    def _new_names(self, sheets: Sequence[str]) -> list[str]:
        """The global names and the tables that come with the sheets."""
        wanted = {name.casefold() for name in sheets}
        found = [n.name for n in self._rendered.names if n.scope is None and n.sheets() & wanted]
        for sheet in sheets:
            for link in self.source.links(self._rendered.sheet_part(sheet)):
                if link.kind == "table":
                    found.append(self.source.tree(link.target).get("displayName", ""))
        return found

    def _take_names(self, sheets: Sequence[str]) -> None:
        wanted = {name.casefold() for name in sheets}
        order = [name.casefold() for name in self._rendered.sheet_names]
        places = {name.casefold(): n for n, name in enumerate(self.workbook.sheet_names)}
        for element, name in zip(self._rendered.name_elements(), self._rendered.names, strict=True):
            if name.scope is not None:
                if order[name.scope] not in wanted:
                    continue
                scope: int | None = places[order[name.scope]]
            elif name.sheets() & wanted:
                scope = None
            else:
                continue
            self.workbook.drop_names({(name.name.casefold(), scope)})
            self.workbook.add_name(element, scope)

    def _drop_calculation_chain(self) -> None:
        """The chain lists formula cells; programs build it anew where there is none."""
        part = self.workbook.linked("calcChain")
        if part:
            self.target.drop_links(self.workbook.part, "calcChain")
            self.target.remove(part)


def tables_of(parts: Parts, workbook: WorkbookPart, except_on: Collection[str] = ()) -> set[str]:
    """Names, in lower case, of the tables on all sheets but those named (in lower case)."""
    found = set()
    for sheet in workbook.sheet_names:
        part = workbook.sheet_part(sheet)
        if part and sheet.casefold() not in except_on:
            tables = [link.target for link in parts.links(part) if link.kind == "table" and link.target in parts]
            found |= {parts.tree(table).get("displayName", "").casefold() for table in tables}
    return found
