"""Workbench: estimates, in a spreadsheet, what pruning would do to a network's speed."""

__version__ = "0.1.0"
