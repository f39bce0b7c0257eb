"""The packages' imports run one way, and light commands load light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import openpyxl
import pytest

ROOT = Path(__file__).parent.parent / "workbench"
COMMON = {"errors", "files", "profile", "ratios", "resources"}
LAYERS = [
    COMMON,
    {"recalc", "exchange", "profiling", "loss", "calibration"},
    {"book", "whatif"},
    {"api"},
    {"buttons", "cli"},
]
"""Lowest first; a package imports from its own layer and those below."""


def imports() -> set[tuple[str, str, str]]:
    """(package, imported package, file) for every import within workbench."""
    found = set()
    for file in ROOT.rglob("*.py"):
        parts = file.relative_to(ROOT).parts
        package = parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "workbench":
                names = [node.module] if "." in node.module else [f"workbench.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names if alias.name.startswith("workbench.")]
            for name in names:
                imported = name.split(".")[1]
                if imported != package and ((ROOT / imported).exists() or (ROOT / f"{imported}.py").exists()):
                    found.add((package, imported, "/".join(parts)))
    return found


def layer(package: str) -> int:
    return next((n for n, names in enumerate(LAYERS) if package in names), len(LAYERS))


def test_imports_run_one_way() -> None:
    found = imports()
    assert len(found) > 100
    assert not [edge for edge in found if layer(edge[0]) < layer(edge[1])]


def test_recalculation_knows_nothing_of_its_neighbours() -> None:
    assert not [edge for edge in imports() if edge[0] == "recalc" and edge[1] not in {"errors", "files"}]


def test_peers_import_one_another_in_no_circle() -> None:
    for peers in LAYERS[1:3]:
        edges = {(a, b) for a, b, _ in imports() if a in peers and b in peers}
        assert not [(a, b) for a, b in edges if (b, a) in edges and a < b]


HEAVY = ("pandas", "onnx", "onnxruntime", "openpyxl", "numba", "xlwings", "scipy", "matplotlib")


@pytest.mark.parametrize("arguments", [["--help"], ["recompute", "b.xlsx"], ["recompute", "--help"]], ids=" ".join)
def test_light_commands_load_light(tmp_path: Path, arguments: list[str]) -> None:
    book = openpyxl.Workbook()
    book.active["A1"] = "=1+1"
    book.save(tmp_path / "b.xlsx")
    code = (
        "import sys\nfrom workbench.cli import main\n"
        f"sys.argv = ['workbench', *{arguments!r}]\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code, stop.code\n"
        f"print('LOADED', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout.rstrip().endswith("LOADED []"), done.stdout[-300:] + done.stderr


def test_every_command_is_a_function_of_the_api() -> None:
    from workbench import api
    from workbench.cli import COMMANDS

    names = {"import": "import_file", "export": "export_table", "buttons": None}
    for command in COMMANDS:
        name = names.get(command, command)
        assert name is None or callable(getattr(api, name)), command
