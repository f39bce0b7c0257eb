"""Results so far, on disk: an interrupted measurement goes on where it stopped."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import IO

_VERSION = 1


class Journal:
    """Losses by (layer, level), appended to a file of its own for each question asked.

    A line that was cut short by a kill, or that isn't understood, counts as not there.
    """

    def __init__(self, folder: Path, question: str) -> None:
        """`question` is all that the results depend on: model, data, settings, versions."""
        digest = hashlib.sha256(f"{_VERSION}\n{question}".encode()).hexdigest()[:24]
        self.path = folder / f"{digest}.jsonl"
        self.known: dict[tuple[str, float], float] = {}
        self._file: IO[str] | None = None
        with contextlib.suppress(OSError):
            for line in self.path.read_text(encoding="utf-8", errors="replace").splitlines():
                with contextlib.suppress(ValueError, TypeError):
                    layer, level, loss = json.loads(line)
                    self.known[str(layer), float(level)] = float(loss)

    def add(self, layer: str, level: float, loss: float) -> None:
        """Note one result; it is on disk when this returns."""
        self.known[layer, level] = loss
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            torn = self.path.exists() and not self.path.read_bytes().endswith(b"\n")
            self._file = self.path.open("a", encoding="utf-8")
            if torn:
                self._file.write("\n")
        self._file.write(json.dumps([layer, level, loss]) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Stop writing; what is there stays."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def remove(self) -> None:
        """The question is answered: drop the file."""
        self.close()
        self.path.unlink(missing_ok=True)
