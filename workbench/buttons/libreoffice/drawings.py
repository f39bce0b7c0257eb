"""What lies over the cells: shapes and pictures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlwings import base_classes as base

from workbench.buttons.libreoffice.bridge import LibreOfficeError, NotSupported, guarded, properties, struct
from workbench.buttons.libreoffice.formats import Characters, Font, mm100_of_points, points

if TYPE_CHECKING:
    from workbench.buttons.libreoffice.sheets import Sheet

_PICTURE = "com.sun.star.drawing.GraphicObjectShape"
_TYPES = {
    _PICTURE: "picture",
    "com.sun.star.drawing.OLE2Shape": "chart",
    "com.sun.star.drawing.ControlShape": "form_control",
    "com.sun.star.drawing.CaptionShape": "comment",
    "com.sun.star.drawing.TextShape": "text_box",
    "com.sun.star.drawing.LineShape": "line",
    "com.sun.star.drawing.GroupShape": "group",
    "com.sun.star.drawing.ClosedFreeHandShape": "free_form",
}
"""LibreOffice's kinds of shapes as xlwings names them; any other is an `auto_shape`."""

_NATURAL = -1
"""The width or height that stands for the picture's own."""


@guarded
class Shape(base.Shape):
    """A shape. `api` is the `com.sun.star.drawing.XShape`; distances are points."""

    def __init__(self, sheet: Sheet, shape: Any) -> None:
        self.sheet, self.uno = sheet, shape

    @property
    def api(self) -> Any:
        return self.uno

    @property
    def parent(self) -> Sheet:
        return self.sheet

    @property
    def name(self) -> str:
        return str(self.uno.Name)

    @name.setter
    def name(self, value: str) -> None:
        self.uno.Name = value

    @property
    def type(self) -> str:
        return _TYPES.get(self.uno.ShapeType, "auto_shape")

    @property
    def index(self) -> int:
        return next(i for i, shape in enumerate(Shapes(self.sheet), 1) if shape.uno == self.uno)

    def _move(self, **distances: int) -> None:
        place = self.uno.Position
        self.uno.setPosition(struct("com.sun.star.awt.Point", distances.get("x", place.X), distances.get("y", place.Y)))

    def _resize(self, width: int, height: int) -> None:
        self.uno.setSize(struct("com.sun.star.awt.Size", width, height))

    @property
    def left(self) -> float:
        return points(self.uno.Position.X)

    @left.setter
    def left(self, value: float) -> None:
        self._move(x=mm100_of_points(value))

    @property
    def top(self) -> float:
        return points(self.uno.Position.Y)

    @top.setter
    def top(self, value: float) -> None:
        self._move(y=mm100_of_points(value))

    @property
    def width(self) -> float:
        return points(self.uno.Size.Width)

    @width.setter
    def width(self, value: float) -> None:
        self._resize(mm100_of_points(value), self.uno.Size.Height)

    @property
    def height(self) -> float:
        return points(self.uno.Size.Height)

    @height.setter
    def height(self, value: float) -> None:
        self._resize(self.uno.Size.Width, mm100_of_points(value))

    def scale_width(self, factor: float, relative_to_original_size: bool, scale: str) -> None:
        self._scale(factor, factor if self.type == "picture" else 1.0, relative_to_original_size)

    def scale_height(self, factor: float, relative_to_original_size: bool, scale: str) -> None:
        self._scale(factor if self.type == "picture" else 1.0, factor, relative_to_original_size)

    def _scale(self, across: float, down: float, from_original: bool) -> None:
        """As in Excel, a picture keeps its proportions."""
        size = _own_size(self.uno.Graphic) if from_original and self.type == "picture" else self.uno.Size
        self._resize(round(size.Width * across), round(size.Height * down))

    def delete(self) -> None:
        self.sheet.uno.DrawPage.remove(self.uno)

    def activate(self) -> None:
        self.sheet.activate()
        controller = self.sheet.book.doc.CurrentController
        if controller is not None:
            controller.select(self.uno)

    @property
    def text(self) -> str | None:
        return str(self.uno.String) or None

    @text.setter
    def text(self, value: str) -> None:
        self.uno.String = value

    @property
    def font(self) -> Font:
        return Font(self.uno)

    @property
    def characters(self) -> Characters:
        return Characters(self.uno)


@guarded
class Picture(Shape):
    """A picture; it always keeps its proportions when it is scaled."""

    @property
    def index(self) -> int:
        return next(i for i, shape in enumerate(Pictures(self.sheet), 1) if shape.uno == self.uno)

    def update(self, filename: str) -> Picture:
        """Show another picture in the same place and size."""
        self.uno.Graphic = _graphic(self.sheet, filename)
        return self

    @property
    def lock_aspect_ratio(self) -> bool:
        return True

    @lock_aspect_ratio.setter
    def lock_aspect_ratio(self, value: bool) -> None:
        if not value:
            raise NotSupported("a picture that may lose its proportions", "set its width and height")


@guarded
class Shapes(base.Collection):
    """The shapes of a sheet, the lowest first."""

    wrap: type[Shape] = Shape

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet

    @property
    def api(self) -> Any:
        return self.sheet.uno.DrawPage

    @property
    def parent(self) -> Sheet:
        return self.sheet

    def _belongs(self, shape: Any) -> bool:
        return True

    def __iter__(self) -> Iterator[Shape]:
        page = self.api
        shapes = (page.getByIndex(i) for i in range(page.Count))
        return iter([self.wrap(self.sheet, shape) for shape in shapes if self._belongs(shape)])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __call__(self, key: int | str) -> Shape:
        shapes = list(self)
        if isinstance(key, int):
            if not 1 <= key <= len(shapes):
                raise KeyError(key)
            return shapes[key - 1]
        for shape in shapes:
            if shape.name.lower() == key.lower():
                return shape
        raise KeyError(key)

    def __contains__(self, key: int | str) -> bool:
        try:
            self(key)
        except KeyError:
            return False
        return True


@guarded
class Pictures(Shapes, base.Pictures):
    """The pictures of a sheet."""

    wrap = Picture

    def _belongs(self, shape: Any) -> bool:
        return bool(shape.ShapeType == _PICTURE)

    def add(
        self,
        filename: str,
        link_to_file: bool,
        save_with_document: bool,
        left: float | None,
        top: float | None,
        width: float | None,
        height: float | None,
        anchor: Any = None,
    ) -> Picture:
        """Put the file's picture on the sheet, embedded; its own size where none is given."""
        if link_to_file:
            raise NotSupported("a picture linked to its file")
        graphic = _graphic(self.sheet, filename)
        shape = self.sheet.book.doc.createInstance(_PICTURE)
        shape.Graphic = graphic
        self.api.add(shape)
        number = 1
        while f"Picture {number}" in self:
            number += 1
        shape.Name = f"Picture {number}"
        own = _own_size(graphic)
        made = Picture(self.sheet, shape)
        made._resize(
            own.Width if width in (None, _NATURAL) else mm100_of_points(float(width or 0)),
            own.Height if height in (None, _NATURAL) else mm100_of_points(float(height or 0)),
        )
        made.left = anchor.left if anchor is not None else left or 0
        made.top = anchor.top if anchor is not None else top or 0
        return made


def _graphic(sheet: Sheet, filename: str) -> Any:
    provider = sheet.book.app.service("com.sun.star.graphic.GraphicProvider")
    graphic = provider.queryGraphic(properties(URL=Path(filename).resolve().as_uri()))
    if graphic is None:
        raise LibreOfficeError("LibreOffice can't read this picture", where=filename, remedy="use PNG, JPEG or SVG")
    return graphic


def _own_size(graphic: Any) -> Any:
    """The size in 1/100 mm that a graphic asks for; 96 pixels an inch where it asks for none."""
    size = graphic.Size100thMM
    if size.Width and size.Height:
        return size
    pixels = graphic.SizePixel
    return struct("com.sun.star.awt.Size", round(pixels.Width * 2540 / 96), round(pixels.Height * 2540 / 96))
