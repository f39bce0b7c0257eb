"""Fixtures for all tests."""

from __future__ import annotations

import sys
from pathlib import Path

for folder in (Path(__file__).parent, Path(__file__).parent / "profiling"):
    sys.path.insert(0, str(folder))
