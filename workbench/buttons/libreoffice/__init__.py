"""An xlwings engine over UNO: ordinary xlwings code drives LibreOffice Calc.

    import xlwings as xw
    from workbench.buttons import libreoffice

    with libreoffice.start() as app:                # or libreoffice.connect("pipe,name=office")
        book = app.books.open("book.xlsx")
        book.sheets["Ratios"]["B2"].value = 4.0
        app.calculate()
        print(book.sheets["Summary"]["A1"].expand().options(pd.DataFrame).value)

Importing this package registers `xw.engines["libreoffice"]`. Only xlwings' BSD-licensed parts are used.
"""

from __future__ import annotations

from workbench.buttons.libreoffice.books import ALL_MACROS, TRUSTED_MACROS
from workbench.buttons.libreoffice.bridge import LibreOfficeError, NotSupported
from workbench.buttons.libreoffice.engine import connect, engine, register, start
from workbench.buttons.libreoffice.office import find_soffice

__all__ = [
    "ALL_MACROS",
    "TRUSTED_MACROS",
    "LibreOfficeError",
    "NotSupported",
    "connect",
    "engine",
    "find_soffice",
    "register",
    "start",
]

register()
