"""Cell formats from the template's palette and roles, made once each."""

from __future__ import annotations

from typing import Any

from workbench.book.template import Role, Style, Template


class Styles:
    """Formats of one XlsxWriter workbook, by their properties."""

    def __init__(self, workbook: Any, template: Template) -> None:
        self._workbook = workbook
        self._template = template
        self._formats: dict[tuple[tuple[str, Any], ...], Any] = {}

    @property
    def type(self) -> Style:
        """Type faces and sizes."""
        return self._template.style

    def make(self, **properties: Any) -> Any:
        """The format with these XlsxWriter properties over the template's type face."""
        base = {"font_name": self.type.font, "font_size": self.type.size, "valign": "vcenter"}
        base |= {"font_color": self.color("ink")} | properties
        key = tuple(sorted(base.items()))
        if key not in self._formats:
            self._formats[key] = self._workbook.add_format(base)
        return self._formats[key]

    def color(self, name: str) -> str:
        """`#RRGGBB` of a palette entry; a colour itself passes."""
        return name if name.startswith("#") else self._template.palette[name]

    def _role(self, role: Role) -> dict[str, Any]:
        properties: dict[str, Any] = {"locked": not role.unlocked}
        if role.fill:
            properties |= {"bg_color": self.color(role.fill), "pattern": 1}
        if role.color:
            properties["font_color"] = self.color(role.color)
        if role.bold:
            properties["bold"] = True
        if role.italic:
            properties["italic"] = True
        return properties

    def cell(self, role: str, number_format: str, **extra: Any) -> Any:
        """A cell of a role with a named number format: texts to the left, numbers to the right."""
        code = self._template.formats[number_format]
        spec = self._template.roles[role]
        properties = self._role(spec) | {"align": default_align(number_format)}
        if code not in ("@", "General"):
            properties["num_format"] = code
        if spec.framed:
            properties |= {"border": 1, "border_color": self.color("input_line")}
        return self.make(**(properties | {k: v for k, v in extra.items() if v is not None}))

    def row_cell(self, role: str, number_format: str, **extra: Any) -> Any:
        """A cell of a list: with a hairline under it."""
        line: dict[str, Any] = {}
        if not self._template.roles[role].framed:
            line = {"bottom": 1, "bottom_color": self.color("line")}
        return self.cell(role, number_format, **(line | extra))

    def header(self, align: str, **extra: Any) -> Any:
        """A column's header."""
        base = {
            "bold": True,
            "font_size": self.type.size - 1,
            "bg_color": self.color("header"),
            "font_color": self.color("header_text"),
            "pattern": 1,
            "text_wrap": True,
            "align": align,
            "valign": "vcenter",
            "bottom": 1,
            "bottom_color": self.color("accent"),
        }
        return self.make(**(base | extra))

    def section_title(self) -> Any:
        """A section's title, and the rule along its zone."""
        return self.make(bold=True, font_size=self.type.section_size, bottom=1, bottom_color=self.color("rule"))

    def small(self, **extra: Any) -> Any:
        """Hints and notes."""
        base = {"font_size": self.type.small_size, "font_color": self.color("muted")}
        return self.make(**(base | extra))


def default_align(number_format: str) -> str:
    """Texts stand at the left, everything else at the right."""
    return "left" if number_format.startswith("text") else "right"
