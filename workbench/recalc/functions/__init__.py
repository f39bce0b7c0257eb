"""The spreadsheet functions, one module for each of Excel's categories; importing this declares them all."""

from workbench.recalc.functions import logical, math_and_trigonometry

__all__ = ["logical", "math_and_trigonometry"]
