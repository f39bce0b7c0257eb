"""The spreadsheet functions, one module for each of Excel's categories; importing this declares them all."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    if not _module.name.startswith("_"):
        import_module(f"{__name__}.{_module.name}")
