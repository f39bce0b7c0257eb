"""Charts of a template, drawn by XlsxWriter: one look, axes always visible, ranges live."""

from __future__ import annotations

from typing import Any

from workbench.book.layout import PlacedSection
from workbench.book.page import Page
from workbench.book.styles import Styles
from workbench.book.template import Chart, Series

_KINDS: dict[str, dict[str, str]] = {
    "bar": {"type": "bar"},
    "column": {"type": "column"},
    "stacked bar": {"type": "bar", "subtype": "stacked"},
    "stacked column": {"type": "column", "subtype": "stacked"},
    "line": {"type": "line"},
    "scatter": {"type": "scatter", "subtype": "straight_with_markers"},
}


def add_chart(page: Page, placed: PlacedSection, pixels: tuple[int, int]) -> None:
    """Insert the section's chart at its place, `pixels` wide and high."""
    spec = placed.section.chart
    assert spec is not None
    chart = page.workbook.add_chart(dict(_KINDS[spec.kind]))
    markers = None
    for series in spec.series:
        options = _series(series, spec, page)
        if series.line and "column" in spec.kind:
            if markers is None:
                markers = page.workbook.add_chart({"type": "line"})
            marker = _marker(page.styles.color(series.color), "diamond")
            markers.add_series(options | marker | {"line": {"none": True}})
        else:
            chart.add_series(options)
    if markers is not None:
        chart.combine(markers)
    _finish(chart, spec, page.styles)
    chart.set_size({"width": pixels[0], "height": pixels[1]})
    place = {"object_position": 2, "x_offset": 2, "y_offset": 2, "description": spec.title}
    page.worksheet.insert_chart(placed.row, placed.left, chart, place)


def _marker(color: str, kind: str) -> dict[str, Any]:
    return {"marker": {"type": kind, "size": 7, "fill": {"color": color}, "border": {"color": "#FFFFFF"}}}


def _series(series: Series, spec: Chart, page: Page) -> dict[str, Any]:
    styles = page.styles
    color = styles.color(series.color)

    def area(text: str) -> str:
        return "=" + page.scope.expand(text, page.sheet, absolute_sheet=True)

    options: dict[str, Any] = {
        "name": area(series.name) if series.name.startswith("{") else series.name,
        "values": area(series.values),
        "categories": area(series.categories),
    }
    if spec.kind in ("line", "scatter"):
        options |= {"line": {"color": color, "width": 2}} | _marker(color, "circle")
        if series.line:
            ring = {"type": "circle", "size": 13, "fill": {"none": True}, "border": {"color": color, "width": 1.5}}
            options |= {"line": {"none": True}, "marker": ring}
    else:
        options |= {"fill": {"color": color}, "border": {"none": True}, "gap": spec.gap}
        options["overlap"] = 100 if spec.kind.startswith("stacked") else -5
    if spec.kind != "scatter":
        # Cached categories that are texts make a text reference; formula cells would read as numbers.
        options["categories_data"] = ["text label"]
    if spec.labels:
        inside = spec.kind.startswith("stacked")
        font = {"size": 8, "name": styles.type.font, "color": "#FFFFFF" if inside else styles.color("muted")}
        options["data_labels"] = {"value": True, "num_format": spec.labels, "font": font}
    if spec.named_points:
        # A ring's name stands below; where there are rings, no line's name does.
        lowest = series.line or (series is spec.series[0] and not any(other.line for other in spec.series))
        font = {"size": 8, "name": styles.type.font, "color": color}
        place = "below" if lowest else "above"
        options["data_labels"] = {"series_name": True, "value": False, "position": place, "font": font}
    return options


def _finish(chart: Any, spec: Chart, styles: Styles) -> None:
    face = {"name": styles.type.font, "size": 9, "color": styles.color("muted"), "bold": False}
    grid = {"visible": True, "line": {"color": styles.color("line"), "width": 0.75}}
    values = {
        "num_font": face,
        "name_font": face,
        "num_format": spec.number_format,
        "major_gridlines": grid,
        "line": {"none": True},
        "min": 0,
    }
    categories: dict[str, Any] = {
        "num_font": face,
        "name_font": face,
        "line": {"color": styles.color("rule")},
        "major_gridlines": {"visible": False},
        "label_position": "low",
    }
    if spec.kind == "scatter":
        categories |= {"num_format": '[<1]"";0'} | (
            {"min": 0.5, "log_base": 2, "major_unit": 2} if spec.doubling else {"min": 0}
        )
        chart.show_blanks_as("span")
    if spec.kind.endswith("bar"):
        # A bar chart's first category stands at the bottom unless its axis is turned.
        categories["reverse"] = True
        values["label_position"] = "high"
    categories |= {"name": spec.x_title} if spec.x_title else {}
    values |= {"name": spec.y_title} if spec.y_title else {}
    # XlsxWriter's x axis is the horizontal one, which holds a bar chart's values.
    chart.set_x_axis(values if spec.kind.endswith("bar") else categories)
    chart.set_y_axis(categories if spec.kind.endswith("bar") else values)
    title = {"name": styles.type.font, "size": 10.5, "bold": True, "color": styles.color("ink")}
    chart.set_title({"name": spec.title, "name_font": title, "overlay": False})
    legend = {"none": True} if spec.legend == "none" else {"position": spec.legend, "font": face}
    chart.set_legend(legend)
    chart.set_chartarea({"border": {"color": styles.color("line")}, "fill": {"color": "#FFFFFF"}})
    chart.set_plotarea({"fill": {"none": True}})
    if spec.hidden_data:
        chart.show_hidden_data()
