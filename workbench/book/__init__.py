"""Profiles → XLSX by a template, XLSX → pandas tables."""

from workbench.book.names import check_profile_name
from workbench.book.read import Book, open_book
from workbench.book.write import write_book

__all__ = ["Book", "check_profile_name", "open_book", "write_book"]
