"""Where the templates and sample models are: beside the package in a checkout, inside it in a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def _shipped(folder: str) -> Path:
    inside = _PACKAGE / "_shipped" / folder
    return inside if inside.is_dir() else _PACKAGE.parent / folder


def templates_folder() -> Path:
    """The folder of the workbook, VBA and LibreOffice templates."""
    return _shipped("templates")


def sample_models_folder() -> Path:
    """The folder of the sample models and of the script that builds them."""
    return _shipped("sample_models")
