"""Sheets into an existing workbook, whoever wrote it, without touching what is there."""

from workbench.book.insert.losses import add_loss_profile
from workbench.book.insert.profiles import Insertion, add_profile, add_profiles
from workbench.book.insert.sheets import insert_sheets

__all__ = ["Insertion", "add_loss_profile", "add_profile", "add_profiles", "insert_sheets"]
