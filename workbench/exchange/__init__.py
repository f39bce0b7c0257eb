"""Profiles of other tools in, and ours out: one module a foreign format."""

from workbench.exchange.imported import ImportedProfile
from workbench.exchange.registry import FORMATS, Format, detect, read_any

__all__ = ["FORMATS", "Format", "ImportedProfile", "detect", "read_any"]
