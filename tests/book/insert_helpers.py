"""Small profiles, edited workbooks, and a check of packages that no reader would have to repair."""

from __future__ import annotations

import functools
import importlib.util
import posixpath
import re
import tempfile
import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import openpyxl
from lxml import etree

from workbench.book.render import render_book
from workbench.book.template_file import load_template
from workbench.book.write import sheet_groups, write_book
from workbench.profile import Machine, ModelInfo, OperatorRecord, PerformanceProfile, Tensor, Weight

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
OFFICE = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"

_GROWING = {
    "[Content_Types].xml",
    "xl/workbook.xml",
    "xl/_rels/workbook.xml.rels",
    "xl/styles.xml",
    "xl/sharedStrings.xml",
}

_WORKBOOK_ORDER = [
    "fileVersion",
    "fileSharing",
    "workbookPr",
    "AlternateContent",
    "revisionPtr",
    "workbookProtection",
    "bookViews",
    "sheets",
    "functionGroups",
    "externalReferences",
    "definedNames",
    "calcPr",
    "oleSize",
    "customWorkbookViews",
    "pivotCaches",
    "smartTagPr",
    "smartTagTypes",
    "webPublishing",
    "fileRecoveryPr",
    "webPublishObjects",
    "extLst",
]
_STYLES_ORDER = [
    "numFmts",
    "fonts",
    "fills",
    "borders",
    "cellStyleXfs",
    "cellXfs",
    "cellStyles",
    "dxfs",
    "tableStyles",
    "colors",
    "extLst",
]

_LAYERS: tuple[tuple[tuple[int, int] | None, str, float], ...] = (
    ((256, 256), "FusedMatMul", 1.0),
    ((1024, 256), "FusedMatMul", 1.37),
    ((256, 1024), "Gemm", 1.74),
    (None, "Softmax", 0.25),
    (None, "SkipLayerNormalization", 0.5),
)


def profile(
    name: str, batch: int = 1, cores: int = 2, scale: float = 1.0, model: str = "mini.onnx"
) -> PerformanceProfile:
    """Five operators, of which three have weights; latencies are `scale` times round figures."""
    operators = []
    for number, (shape, kind, latency) in enumerate(_LAYERS):
        weight = Weight(f"w{number}", shape, "fp32", 0.1 * number, 0.0, shape[0] * shape[1]) if shape else None
        operators.append(
            OperatorRecord(
                index=number,
                operator_type=kind,
                name=f"op_{number}",
                layer_id=f"/layer{number}",
                post_ops=(),
                inputs=(Tensor("x", (batch, 8, 256), "fp32"),),
                outputs=(Tensor("y", (batch, 8, 256), "fp32"),),
                weight=weight,
                sparse_support=weight is not None,
                support_reason="constant weight" if weight else "no weight",
                latency_ms=scale * latency,
                latency_spread=0.02,
                latency_min_ms=scale * latency * 0.9,
                flops=1e6 * batch,
                bytes_moved=1e5,
                parameters=weight.parameters if weight else 0,
            )
        )
    return PerformanceProfile(
        name=name,
        model=ModelInfo(model, "ab" * 32, 17, "hand", 327680, 5),
        machine=Machine("CPU of a test", 2, 2, 2, ("avx2", "avx512f"), 8 << 30, "Linux", "3.11"),
        batch=batch,
        dims={"batch": batch},
        assumed_dims=(),
        cores=cores,
        threads=cores,
        instances=1,
        runtime="onnxruntime 1.31.1, CPUExecutionProvider",
        operators=tuple(operators),
        end_to_end_ms=scale * 5.0,
        end_to_end_spread=0.01,
        profiled_ms=scale * 5.5,
        warmup=3,
        iterations=30,
        sessions=2,
        created=datetime(2026, 11, 21),
    )


@functools.cache
def first_book() -> bytes:
    """A book of the one profile `baseline` as we write it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "book.xlsx"
        write_book([profile("baseline")], path)
        return path.read_bytes()


@functools.cache
def rendered_sheets() -> bytes:
    """Sheets of a profile `b8`, ready to be taken over."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rendered.xlsx"
        render_book(load_template(None), path, sheet_groups([profile("b8", 8, 1, 4.0)]), protect=False)
        return path.read_bytes()


def parts(path: Path) -> dict[str, bytes]:
    """Part → bytes, in the package's order."""
    with zipfile.ZipFile(path) as package:
        assert package.testzip() is None
        return {name: package.read(name) for name in package.namelist()}


def edit_with_openpyxl(path: Path) -> None:
    """What a person might do: change inputs, add a sheet with formulas, a chart, a comment, a picture, a name."""
    book = openpyxl.load_workbook(path)
    sheet = book["baseline"]
    area = book.defined_names["ratios_baseline"].attr_text.split("!")[1].replace("$", "")
    sheet[area][1][1].value = 3.75
    notes = book.create_sheet("My notes", 1)
    notes["A1"] = "=SUM(ops_baseline[operator latency (ms)])"
    notes["A2"] = "=total_latency_baseline*2"
    notes["A3"] = "='baseline ops'!M2+'baseline ops'!M3"
    notes["A4"] = "Überschrift <&> 😀"
    notes["A4"].font = openpyxl.styles.Font(name="Courier New", bold=True, color="FF00AA00")
    notes["A5"] = 0.123
    notes["A5"].number_format = '0.0000" own"'
    notes["A4"].comment = openpyxl.comments.Comment("mine", "a person")
    notes.conditional_formatting.add(
        "A1:A5",
        openpyxl.formatting.rule.CellIsRule(
            operator="greaterThan", formula=["1"], fill=openpyxl.styles.PatternFill(bgColor="FFFF00")
        ),
    )
    validation = openpyxl.worksheet.datavalidation.DataValidation(type="list", formula1='"yes,no"')
    validation.add("B1")
    notes.add_data_validation(validation)
    chart = openpyxl.chart.BarChart()
    chart.add_data(
        openpyxl.chart.Reference(book["baseline ops"], min_col=13, min_row=1, max_row=6), titles_from_data=True
    )
    notes.add_chart(chart, "D2")
    if importlib.util.find_spec("PIL") is not None:
        from PIL import Image

        file = path.with_name("picture.png")
        Image.new("RGB", (24, 16), (200, 30, 30)).save(file)
        notes.add_image(openpyxl.drawing.image.Image(str(file)), "D20")
    book.defined_names["mine"] = openpyxl.workbook.defined_name.DefinedName("mine", attr_text="'My notes'!$A$1:$A$3")
    notes.defined_names["local_one"] = openpyxl.workbook.defined_name.DefinedName(
        "local_one", attr_text="'My notes'!$A$5"
    )
    book.active = 2
    book.save(path)


def _looks(sheet: openpyxl.worksheet.worksheet.Worksheet) -> dict[str, object]:
    """The content and format in full of every cell that the file holds."""
    return {
        cell.coordinate: (
            cell.value,
            cell.data_type,
            cell.number_format,
            repr(cell.font),
            repr(cell.fill),
            repr(cell.border),
            repr(cell.alignment),
            repr(cell.protection),
            cell.quotePrefix,
            cell.comment.text if cell.comment else None,
        )
        for cell in sheet._cells.values()
        if not isinstance(cell, openpyxl.cell.MergedCell)
    }


def assert_same_sheet(name: str, one: Path, other: Path) -> None:
    """The sheet reads the same in both books: cells, formats, tables, conditional formats, validations, widths."""
    left, right = (openpyxl.load_workbook(path)[name] for path in (one, other))
    a, b = _looks(left), _looks(right)
    assert len(a) > 100
    assert a.keys() == b.keys()
    assert {k: (a[k], b[k]) for k in a if a[k] != b[k]} == {}
    for read in (
        lambda s: {t.displayName: (t.ref, [c.name for c in t.tableColumns]) for t in s.tables.values()},
        lambda s: {
            str(area.sqref): [(r.type, r.formula, r.priority, repr(r.dxf)) for r in rules]
            for area, rules in s.conditional_formatting._cf_rules.items()
        },
        lambda s: [(str(v.sqref), v.type, v.formula1, v.formula2) for v in s.data_validations.dataValidation],
        lambda s: {k: (d.width, d.hidden, d.outlineLevel) for k, d in s.column_dimensions.items()},
        lambda s: {k: (d.height, d.hidden) for k, d in s.row_dimensions.items()},
        lambda s: sorted(map(str, s.merged_cells.ranges)),
        lambda s: (s.freeze_panes, s.sheet_view.showGridLines, s.sheet_properties.tabColor, s.print_area),
        lambda s: [(type(c).__name__, c.anchor._from.row, [x.val.numRef.f for x in c.series]) for c in s._charts],
    ):
        assert read(left) == read(right)


def assert_untouched(before: dict[str, bytes], after: dict[str, bytes], but: set[str] = frozenset()) -> None:
    """All parts that were there are there, in their order, with their bytes."""
    kept = [name for name in after if name in before]
    assert kept == [name for name in before if not name.endswith("calcChain.xml")]
    assert [name for name in kept if before[name] != after[name] and name not in _GROWING | but] == []


def problems(path: Path) -> list[str]:
    """What a strict reader would have to repair in the package."""
    content = parts(path)
    lower = [name.casefold() for name in content]
    found = [f"part twice: {name}" for name in content if lower.count(name.casefold()) > 1]
    found += _content_type_problems(content)
    targets: dict[str, list[tuple[str, str, str]]] = {}
    for name in (n for n in content if n.endswith(".rels")):
        folder, file = posixpath.split(name)
        owner = posixpath.join(posixpath.dirname(folder), file.removesuffix(".rels"))
        if owner and owner not in content:
            found.append(f"{name} belongs to no part")
        ids = []
        for item in etree.fromstring(content[name]):
            ids.append(item.get("Id"))
            if item.get("TargetMode") == "External":
                continue
            target = item.get("Target")
            base = posixpath.dirname(owner)
            target = target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(base, target))
            targets.setdefault(owner, []).append((item.get("Id"), item.get("Type").rsplit("/", 1)[-1], target))
            if target not in content:
                found.append(f"{name}: {target} is missing")
        if len(set(ids)) != len(ids):
            found.append(f"{name}: an id twice")
    return found + _workbook_problems(content, targets)


def _content_type_problems(content: dict[str, bytes]) -> list[str]:
    types = etree.fromstring(content["[Content_Types].xml"])
    overrides = [item.get("PartName") for item in types if item.get("PartName")]
    defaults = [item.get("Extension").casefold() for item in types if item.get("Extension")]
    found = [f"content type of a missing part {name}" for name in overrides if name.lstrip("/") not in content]
    if len(set(overrides)) != len(overrides) or len(set(defaults)) != len(defaults):
        found.append("a content type twice")
    found += [
        f"{name} has no content type"
        for name in content
        if name != "[Content_Types].xml"
        and "/" + name not in overrides
        and name.rpartition(".")[2].casefold() not in defaults
    ]
    return found


def _workbook_problems(content: dict[str, bytes], targets: dict[str, list[tuple[str, str, str]]]) -> list[str]:
    part = next(target for _, kind, target in targets[""] if kind == "officeDocument")
    root = etree.fromstring(content[part])
    found = _order_problems(root, _WORKBOOK_ORDER)
    links = {link_id: target for link_id, _, target in targets[part]}
    sheets = root.findall(f"{MAIN}sheets/{MAIN}sheet")
    for values in (
        [s.get("name").casefold() for s in sheets],
        [s.get("sheetId") for s in sheets],
        [s.get(f"{OFFICE}id") for s in sheets],
    ):
        if len(set(values)) != len(values):
            found.append(f"twice among sheets: {values}")
    names = root.findall(f"{MAIN}definedNames/{MAIN}definedName")
    keys = [(n.get("name").casefold(), n.get("localSheetId")) for n in names]
    if len(set(keys)) != len(keys):
        found.append("a defined name twice")
    found += [f"scope of {n.get('name')}" for n in names if int(n.get("localSheetId", "0")) >= len(sheets)]
    found += [f"a broken name {n.get('name')}" for n in names if "#REF!" in (n.text or "")]
    for view in root.iter(f"{MAIN}workbookView"):
        if int(view.get("activeTab", "0")) >= len(sheets):
            found.append("the active tab is no sheet")
    kinds = {kind: target for _, kind, target in targets[part]}
    counts, more = _style_problems(etree.fromstring(content[kinds["styles"]]))
    found += more
    selected = [1 for s in sheets if b'tabSelected="1"' in content[links[s.get(f"{OFFICE}id")]]]
    if len(selected) > 1:
        found.append("several tabs are selected")
    strings = 0
    if "sharedStrings" in kinds:
        shared = etree.fromstring(content[kinds["sharedStrings"]])
        strings = len(shared.findall(f"{MAIN}si"))
        if int(shared.get("uniqueCount", strings)) != strings:
            found.append("the count of shared strings")
    tables: list[tuple[str, str]] = []
    shapes: list[str] = []
    for sheet in sheets:
        name = links[sheet.get(f"{OFFICE}id")]
        found += [f"{name}: {text}" for text in _sheet_problems(etree.fromstring(content[name]), counts, strings)]
        own = {link_id for link_id, _, _ in targets.get(name, [])}
        used = set(re.findall(rb' r:id="([^"]+)"', content[name]))
        found += [f"{name}: no relationship {i.decode()}" for i in used if i.decode() not in own]
        for _, kind, target in targets.get(name, []):
            if kind == "table":
                table = etree.fromstring(content[target])
                tables.append((table.get("id"), table.get("displayName").casefold()))
            if kind == "vmlDrawing":
                shapes.append(target)
    if len({t[0] for t in tables}) != len(tables) or len({t[1] for t in tables} | {k[0] for k in keys}) < len(tables):
        found.append(f"tables clash: {tables}")
    found += [f"name and table: {t[1]}" for t in tables if (t[1], None) in keys]
    if len(set(shapes)) != len(shapes):
        found.append("a drawing of comments belongs to two sheets")
    return found


def _order_problems(root: etree._Element, order: list[str]) -> list[str]:
    places = [
        order.index(n) for item in root if isinstance(item.tag, str) and (n := etree.QName(item).localname) in order
    ]
    return [] if places == sorted(places) else [f"children of {root.tag} are out of order"]


def _style_problems(root: etree._Element) -> tuple[dict[str, int], list[str]]:
    found = _order_problems(root, _STYLES_ORDER)
    counts = {}
    for container in root:
        if isinstance(container.tag, str):
            name = etree.QName(container).localname
            counts[name] = len(container)
            if container.get("count") is not None and int(container.get("count")) != len(container):
                found.append(f"the count of {name}")
    codes = [item.get("numFmtId") for item in root.iterfind(f"{MAIN}numFmts/{MAIN}numFmt")]
    if len(set(codes)) != len(codes):
        found.append("a number format's id twice")
    for item in root.iterfind(f"{MAIN}cellXfs/{MAIN}xf"):
        for name, container in (
            ("fontId", "fonts"),
            ("fillId", "fills"),
            ("borderId", "borders"),
            ("xfId", "cellStyleXfs"),
        ):
            if int(item.get(name, "0")) >= counts.get(container, 0):
                found.append(f"a cell format's {name} {item.get(name)}")
        number = int(item.get("numFmtId", "0"))
        if number >= 164 and str(number) not in codes:
            found.append(f"a cell format's number format {number}")
    return counts, found


def _sheet_problems(root: etree._Element, counts: dict[str, int], strings: int) -> Iterator[str]:
    last_row = 0
    for row in root.iter(f"{MAIN}row"):
        if int(row.get("r")) <= last_row:
            yield f"row {row.get('r')} is out of order"
        last_row = int(row.get("r"))
        last_at = 0
        for cell in row:
            match = re.fullmatch(r"([A-Z]+)(\d+)", cell.get("r"))
            at = openpyxl.utils.column_index_from_string(match[1])
            if int(match[2]) != last_row or at <= last_at:
                yield f"cell {cell.get('r')} is out of order"
            last_at = at
            if int(cell.get("s", "0")) >= counts["cellXfs"]:
                yield f"cell {cell.get('r')} has no format {cell.get('s')}"
            if cell.get("t") == "s" and int(cell.findtext(f"{MAIN}v")) >= strings:
                yield f"cell {cell.get('r')} has no string"
    for rule in root.iter(f"{MAIN}cfRule"):
        if rule.get("dxfId") is not None and int(rule.get("dxfId")) >= counts.get("dxfs", 0):
            yield f"a conditional format's dxf {rule.get('dxfId')}"
