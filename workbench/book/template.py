"""Workbook templates: TOML files that declare sheets, sections, columns, formats and charts as data.

A template of the user's own is laid over the shipped one: tables merge key by key, arrays of tables merge
by `id` (an entry of the same id is changed, `remove = true` drops it, a new id is added, at the end or
`after = "<id>"`). So a new column is one entry. `load_template` reads, merges, builds and checks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

SECTION_KINDS = ("title", "cards", "cells", "grid", "table", "chart", "text", "legend")
CHART_KINDS = ("bar", "column", "stacked bar", "stacked column", "line", "scatter")


@dataclass(frozen=True)
class Validation:
    """What an input cell accepts: a `list` (with `choices` or a `source` range), a `decimal` or `custom`.

    `suggestions` is a list that a person is told of but may leave."""

    kind: str
    choices: tuple[str, ...] = ()
    source: str = ""
    minimum: float | None = None
    maximum: float | None = None
    formula: str = ""
    """For `custom`; `@` stands for the cell itself."""
    message: str = ""
    """Shown when the value is refused."""
    prompt: str = ""
    """Shown when the cell is selected."""


@dataclass(frozen=True)
class Role:
    """How cells of one role look, and whether a person may write into them."""

    fill: str = ""
    color: str = ""
    bold: bool = False
    italic: bool = False
    unlocked: bool = False
    framed: bool = False
    """Drawn with a frame, as inputs are."""
    meaning: str = ""
    """The legend's words; a role without any stays out of the legend."""


@dataclass(frozen=True)
class Column:
    """A column of a table or grid. At most one of `field`, `formula` and `value` fills it."""

    id: str
    header: str
    field: str = ""
    """Name of a record's field."""
    formula: str = ""
    """`@[column]` is this row's cell of another column, `{…}` a placeholder (see `formulas`)."""
    value: str | float | bool | None = None
    role: str = "plain"
    role_field: str = ""
    """A record's field that names the role of its cell (e.g. its provenance), over `role`."""
    format: str = "text"
    width: float | None = None
    """In characters."""
    width_max: float | None = None
    """Texts longer than `width` widen the column up to this."""
    help: str = ""
    validation: str = ""
    repeat: str = ""
    """Name of a list: a column for each item, `{item}` in header, formula and field."""
    header_value: str = ""
    """`item`: the header cell holds the repeated item, a number; `blank`: it is free to be typed into."""
    header_format: str = ""
    header_role: str = ""
    header_validation: str = ""
    helper: bool = False
    """Grouped away at the right: a step of a calculation, not something to read."""
    mark: str = ""
    """`bar` draws a data bar, `heat` a colour scale."""
    mark_color: str = "accent"
    total: str = ""
    """Formula of the total row; `{column}` is the column's range."""
    align: str = ""
    spare: str = ""
    """What the spare rows hold: empty, or `formula` (the column's formula there, too)."""
    name: str = ""
    """Defined name of its data cells, in a grid, with `{p}` for the profile's part of it."""
    span: int = 1
    """How many of the zone's columns it takes; text runs on over the further ones."""
    after: str = ""
    remove: bool = False


@dataclass(frozen=True)
class Cell:
    """A labelled cell, or a card. At most one of `field`, `formula` and `value` fills it."""

    id: str
    label: str = ""
    field: str = ""
    formula: str = ""
    value: str | float | bool | None = None
    role: str = "plain"
    role_field: str = ""
    format: str = "text"
    name: str = ""
    """Defined name, with `{p}` for the profile's part of it."""
    note: str = ""
    """A text, or a formula where it begins with `=`."""
    note_field: str = ""
    help: str = ""
    validation: str = ""
    bold: bool = False
    align: str = ""
    columns: int = 1
    """For cards: how many columns the card spans."""
    skip: int = 0
    """For cards: how many columns are left free before it."""
    skip_empty: bool = False
    """Leave the line out where the field holds nothing."""
    after: str = ""
    remove: bool = False


@dataclass(frozen=True)
class Series:
    """A chart's series: `values` and `categories` are placeholders for ranges, `name` a text or a placeholder."""

    name: str
    values: str
    categories: str
    color: str = "accent"
    line: bool = False
    """A marker in a column chart rather than a column; in a scatter chart, a ring around points."""


@dataclass(frozen=True)
class Chart:
    """A chart of a sheet, placed in its section's zone."""

    kind: str
    title: str
    series: tuple[Series, ...]
    rows: int = 14
    """Height in rows."""
    x_title: str = ""
    y_title: str = ""
    number_format: str = "General"
    legend: str = "bottom"
    labels: str = ""
    """Number format of data labels; none when empty."""
    gap: int = 60
    hidden_data: bool = False
    """Draw what hidden rows and columns hold, too."""
    columns: int = 0
    """How many of the zone's columns it spans; 0 for all."""
    offset: int = 0
    """How many columns from the zone's first it begins."""
    beside: str = ""
    """Another chart section of the zone, next to which it stands rather than below."""
    doubling: bool = False
    """For scatter: each step of the x axis doubles; it begins below 1."""
    named_points: bool = False
    """For scatter: points say which series they belong to, so that series without points leave no trace."""


@dataclass(frozen=True)
class Section:
    """A block of a sheet. Sections of a zone follow one another downwards."""

    id: str
    kind: str
    zone: str = ""
    title: str = ""
    hint: str = ""
    """A line under the title."""
    rows: str = ""
    """Name of the record list that a grid or table shows."""
    columns: tuple[Column, ...] = ()
    cells: tuple[Cell, ...] = ()
    spare: int = 0
    spare_hidden: bool = False
    """Spare rows are hidden until they are used (charts then leave them out)."""
    name: str = ""
    """Defined name of the grid's area with its header row, or the Excel table's name."""
    total_label: str = ""
    limit: int = 0
    """At most so many records; 0 for all."""
    marks: tuple[str, ...] = ()
    """Ids of conditional formats (`[[mark]]`) over the section's rows."""
    text: tuple[str, ...] = ()
    chart: Chart | None = None
    gap: int = 1
    """Blank rows after it."""
    value_column: int = 1
    """For cells: where the value stands, counted from the label's column; the note stands next to it."""
    wide_values: bool = False
    """For cells: the value takes the note's columns, too, and ends there; a longer text is in its comment."""
    header_height: float = 30
    optional: bool = False
    """Left out where it has no records."""
    after: str = ""
    remove: bool = False


@dataclass(frozen=True)
class Zone:
    """A band of columns with widths in characters; zones stand side by side."""

    id: str
    widths: tuple[float, ...]
    gutter: float = 2.0
    """Width of the empty column before it; none when 0."""
    hidden: bool = False
    """Grouped away: steps of calculations."""


@dataclass(frozen=True)
class Mark:
    """A conditional format by formula; `@[column]` and placeholders as in column formulas."""

    id: str
    formula: str
    color: str = ""
    fill: str = ""
    bold: bool = False
    columns: tuple[str, ...] = ()
    """Column ids that it colours; all when empty."""
    remove: bool = False


@dataclass(frozen=True)
class Sheet:
    """A sheet: one a book, one a performance profile or one a loss profile."""

    id: str
    name: str
    per: str
    sections: tuple[Section, ...]
    zones: tuple[Zone, ...] = ()
    tab: str = "ink"
    zoom: int = 100
    freeze_rows: int = 0
    freeze_columns: int = 0
    print_rows: int = 0
    """Rows repeated on each printed page."""
    print_to: str = ""
    """Id of the last column that is printed; all when empty."""
    pages_wide: int = 1
    pages_high: int = 0
    """Print on so many pages in height; 0: as many as it takes."""
    after: str = ""
    remove: bool = False


@dataclass(frozen=True)
class Style:
    """Type faces and sizes."""

    font: str = "Arial"
    size: float = 10
    title_size: float = 18
    section_size: float = 11
    card_size: float = 18
    small_size: float = 8.5
    row_height: float = 16.5


@dataclass(frozen=True)
class Template:
    """A whole workbook's layout."""

    path: str
    style: Style = field(default_factory=Style)
    palette: dict[str, str] = field(default_factory=dict)
    formats: dict[str, str] = field(default_factory=dict)
    roles: dict[str, Role] = field(default_factory=dict)
    validations: dict[str, Validation] = field(default_factory=dict)
    lists: dict[str, tuple[str | float, ...]] = field(default_factory=dict)
    marks: tuple[Mark, ...] = ()
    sheets: tuple[Sheet, ...] = ()

    def sheet(self, sheet_id: str) -> Sheet:
        """The sheet declared as `sheet_id`."""
        return next(sheet for sheet in self.sheets if sheet.id == sheet_id)
