"""A foreign file as it is read once: its text, its JSON where it is JSON, and what the user said about it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """A file to import."""

    path: Path
    text: str
    """Empty for a workbook."""
    document: object
    """The parsed JSON; None where the file isn't JSON."""
    model: Path | None = None
    """The ONNX model that was profiled, where it is at hand."""
    batch: int | None = None
    cores: int | None = None

    @property
    def events(self) -> list[object]:
        """Trace events: of a list of events, or of a Chrome trace's `traceEvents`; empty where neither."""
        found = self.document.get("traceEvents") if isinstance(self.document, dict) else self.document
        return found if isinstance(found, list) else []
