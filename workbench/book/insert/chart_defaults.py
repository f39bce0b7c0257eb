"""What a chart leaves unsaid, said.

XlsxWriter leaves out what Excel 2007 takes for granted. LibreOffice takes the same only in files that call
themselves Excel 2007's; in others a missing element means the contrary: hidden cells aren't drawn, axes are
deleted, every data label is shown. A chart that moves to another workbook must therefore say everything.
"""

from __future__ import annotations

from lxml import etree

from workbench.book.insert.parts import Element

_CHART = "http://schemas.openxmlformats.org/drawingml/2006/chart"

_AXIS = (
    "axId scaling delete axPos majorGridlines minorGridlines title numFmt majorTickMark minorTickMark tickLblPos spPr "
    "txPr crossAx crosses crossesAt crossBetween auto lblAlgn lblOffset noMultiLvlLbl"
)
_SERIES = (
    "idx order tx spPr invertIfNegative pictureOptions marker explosion dPt dLbls trendline errBars cat val xVal yVal "
    "smooth shape"
)
_SHOWN = "showLegendKey showVal showCatName showSerName showPercent showBubbleSize"

_ORDER = {
    "chartSpace": "date1904 lang roundedCorners AlternateContent style clrMapOvr pivotSource protection chart",
    "chart": "title autoTitleDeleted pivotFmts view3D floor sideWall backWall plotArea legend plotVisOnly dispBlanksAs",
    "title": "tx layout overlay spPr txPr",
    "legend": "legendPos legendEntry layout overlay spPr txPr",
    "catAx": _AXIS,
    "valAx": _AXIS,
    "barChart": "barDir grouping varyColors ser",
    "lineChart": "grouping varyColors ser",
    "scatterChart": "scatterStyle varyColors ser",
    "ser": _SERIES,
    "dLbls": f"dLbl delete numFmt spPr txPr dLblPos {_SHOWN} separator",
}
"""The schema's order of children, as far as it matters here."""

_AXIS_DEFAULTS = {"delete": "0", "majorTickMark": "out", "minorTickMark": "none"}
_DEFAULTS = {
    "chartSpace": {"roundedCorners": "0"},
    "chart": {"autoTitleDeleted": "0", "plotVisOnly": "0", "dispBlanksAs": "gap"},
    "title": {"overlay": "0"},
    "legend": {"overlay": "0"},
    "catAx": _AXIS_DEFAULTS | {"noMultiLvlLbl": "0"},
    "valAx": _AXIS_DEFAULTS,
    "barChart": {"varyColors": "0"},
    "lineChart": {"varyColors": "0"},
    "scatterChart": {"varyColors": "0"},
    "dLbls": dict.fromkeys(_SHOWN.split(), "0"),
}
_SERIES_DEFAULTS = {
    "barChart": ("invertIfNegative", "0"),
    "lineChart": ("smooth", "0"),
    "scatterChart": ("smooth", "0"),
}


def say_defaults(root: Element) -> None:
    """Add the missing elements to a `chartSpace` that XlsxWriter wrote."""
    for element in list(root.iter(f"{{{_CHART}}}*")):
        kind = etree.QName(element).localname
        for child, value in _DEFAULTS.get(kind, {}).items():
            _add(element, kind, child, value)
        if kind == "ser":
            parent = element.getparent()
            assert parent is not None
            found = _SERIES_DEFAULTS.get(etree.QName(parent).localname)
            if found is not None:
                _add(element, kind, *found)


def _add(parent: Element, kind: str, name: str, value: str) -> None:
    if parent.find(f"{{{_CHART}}}{name}") is not None or (
        kind == "dLbls" and parent.find(f"{{{_CHART}}}delete") is not None
    ):
        return
    order = _ORDER[kind].split()
    before = set(order[: order.index(name)])
    names = [etree.QName(child).localname if isinstance(child.tag, str) else "" for child in parent]
    place = max((n + 1 for n, child in enumerate(names) if child in before), default=0)
    fresh = etree.Element(f"{{{_CHART}}}{name}")
    fresh.set("val", value)
    parent.insert(place, fresh)
