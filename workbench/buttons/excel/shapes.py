"""Form buttons as VML, the way Excel keeps them in a sheet, and where on the sheet they go."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from lxml import etree

from workbench.book.insert.parts import Element, main
from workbench.buttons.libreoffice.formulas import column_number

V = "urn:schemas-microsoft-com:vml"
O = "urn:schemas-microsoft-com:office:office"  # noqa: E741  the prefix that everyone uses
X = "urn:schemas-microsoft-com:office:excel"

WIDTH, HEIGHT, GAP, MARGIN = 104, 24, 8, 4
"""Pixels."""

_DEFAULT_COLUMN_PX, _DEFAULT_ROW_PX = 64, 20

_EMPTY = f"""<xml xmlns:v="{V}" xmlns:o="{O}" xmlns:x="{X}"><o:shapelayout v:ext="edit"><o:idmap v:ext="edit" \
data="1"/></o:shapelayout></xml>"""

_TYPE = f"""<v:shapetype xmlns:v="{V}" xmlns:o="{O}" id="_x0000_t201" coordsize="21600,21600" o:spt="201" \
path="m,l,21600r21600,l21600,xe"><v:stroke joinstyle="miter"/><v:path shadowok="f" o:extrusionok="f" strokeok="f" \
fillok="f" o:connecttype="rect"/><o:lock v:ext="edit" shapetype="t"/></v:shapetype>"""

_SHAPE = """<v:shape xmlns:v="{v}" xmlns:o="{o}" xmlns:x="{x}" id="_x0000_s{number}" type="#_x0000_t201" \
style="position:absolute;margin-left:{left}pt;margin-top:{top}pt;width:{width}pt;height:{height}pt;z-index:{order};\
mso-wrap-style:tight" o:button="t" fillcolor="buttonFace [67]" strokecolor="windowText [64]" o:insetmode="auto">\
<v:fill color2="buttonFace [67]" o:detectmouseclick="t"/><o:lock v:ext="edit" rotation="t"/>\
<v:textbox style="mso-direction-alt:auto" o:singleclick="f"><div style="text-align:center">\
<font face="Calibri" size="220" color="#000000">{title}</font></div></v:textbox>\
<x:ClientData ObjectType="Button"><x:Anchor>{anchor}</x:Anchor><x:PrintObject>False</x:PrintObject>\
<x:AutoFill>False</x:AutoFill><x:FmlaMacro>[0]!{macro}</x:FmlaMacro><x:TextHAlign>Center</x:TextHAlign>\
<x:TextVAlign>Center</x:TextVAlign></x:ClientData></v:shape>"""


@dataclass(frozen=True)
class Button:
    """A form button: its text and the macro that it runs."""

    title: str
    macro: str


class Drawing:
    """The VML of one sheet: its buttons, beside whatever else is there (notes, other controls)."""

    def __init__(self, data: bytes | None) -> None:
        # Excel reads and writes loose HTML in text boxes; lxml's recovery keeps it where it isn't XML.
        parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
        self.root: Element = etree.fromstring(data or _EMPTY.encode(), parser)

    def add(self, buttons: Sequence[Button], left: int, column_px: Sequence[int], row_px: Sequence[int]) -> None:
        """Put `buttons` side by side at the sheet's top, from `left` (pixels) on."""
        if not any(item.get("id") == "_x0000_t201" for item in self.root.iter(f"{{{V}}}shapetype")):
            self.root.append(etree.fromstring(_TYPE))
        taken = [_number(item.get("id", "")) for item in self.root.iter(f"{{{V}}}shape")]
        first = max([1024, *taken]) + 1
        for i, button in enumerate(buttons):
            x, y = left + i * (WIDTH + GAP), MARGIN
            ends = [*_cell(x, column_px, _DEFAULT_COLUMN_PX), *_cell(y, row_px, _DEFAULT_ROW_PX)]
            ends += [*_cell(x + WIDTH, column_px, _DEFAULT_COLUMN_PX), *_cell(y + HEIGHT, row_px, _DEFAULT_ROW_PX)]
            shape = _SHAPE.format(
                v=V, o=O, x=X, number=first + i, order=first + i - 1024, title=escape(button.title),
                macro=escape(button.macro), anchor=", ".join(map(str, ends)), left=_points(x), top=_points(y),
                width=_points(WIDTH), height=_points(HEIGHT),
            )  # fmt: skip
            self.root.append(etree.fromstring(shape))

    def remove(self, macros: Collection[str]) -> set[str]:
        """Take out the buttons that run one of `macros`; returns the ids of their shapes."""
        found: set[str] = set()
        for shape in list(self.root.iter(f"{{{V}}}shape")):
            macro = shape.findtext(f"{{{X}}}ClientData/{{{X}}}FmlaMacro") or ""
            if macro.replace("!", ".").rpartition(".")[2] in macros:
                parent = shape.getparent()
                assert parent is not None, "a shape is never the root"
                parent.remove(shape)
                found.add(shape.get("id", ""))
        return found

    @property
    def is_empty(self) -> bool:
        return next(self.root.iter(f"{{{V}}}shape"), None) is None

    def bytes(self) -> bytes:
        data: bytes = etree.tostring(self.root)
        return data


def _number(shape_id: str) -> int:
    tail = shape_id.rpartition("_s")[2]
    return int(tail) if tail.isdigit() else 0


def _points(pixels: int) -> str:
    return f"{pixels * 0.75:g}"


def _cell(pixels: int, sizes: Sequence[int], default: int) -> tuple[int, int]:
    """The column (or row), from 0, in which a distance from the sheet's edge ends, and the rest of it."""
    for i, size in enumerate(sizes):
        if pixels < size:
            return i, pixels
        pixels -= size
    return len(sizes) + pixels // default, pixels % default


def column_pixels(sheet: Element) -> list[int]:
    """Widths of the columns up to the last one of an own width."""
    settings = sheet.find(main("sheetFormatPr"))
    width = settings.get("defaultColWidth") if settings is not None else None
    default = _column_px(float(width)) if width else _DEFAULT_COLUMN_PX
    sizes: list[int] = []
    for item in sheet.iterfind(f"{main('cols')}/{main('col')}"):
        first, last = int(item.get("min", "1")), min(int(item.get("max", "1")), 256)
        sizes += [default] * (first - 1 - len(sizes))
        hidden = item.get("hidden") in ("1", "true")
        own = 0 if hidden else _column_px(float(item.get("width", "9.140625")))
        sizes += [own] * (last - first + 1)
    return sizes


def _column_px(width: float) -> int:
    """Excel's stored width: digits of 7 pixels, the margin of 5 included."""
    return int(width * 7 + 0.5)


def row_pixels(sheet: Element, count: int = 8) -> list[int]:
    """Heights of the first `count` rows."""
    sizes = [_DEFAULT_ROW_PX] * count
    for row in sheet.iterfind(f"{main('sheetData')}/{main('row')}"):
        number = int(row.get("r", "0"))
        if number > count:
            break
        if row.get("ht"):
            sizes[number - 1] = round(float(row.get("ht", "15")) / 0.75)
    return sizes


def first_free_pixel(sheet: Element, rows: int = 3) -> int:
    """Where, from the left, the top `rows` rows are empty: two columns behind their last filled cell."""
    last = 0
    for row in sheet.iterfind(f"{main('sheetData')}/{main('row')}"):
        if int(row.get("r", "0")) > rows:
            break
        for cell in row:
            if len(cell):
                last = max(last, column_number(cell.get("r", "A1").rstrip("0123456789")))
    widths = column_pixels(sheet)
    edge = last + 1
    return sum(widths[:edge]) + _DEFAULT_COLUMN_PX * max(0, edge - len(widths))
