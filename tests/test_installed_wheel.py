"""The wheel, installed in an environment of its own, does the main job away from the checkout."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import openpyxl
import pytest

pytest.importorskip("hatchling")

ROOT = Path(__file__).parent.parent


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of a virtual environment that holds the wheel; libraries come from this one."""
    folder = tmp_path_factory.mktemp("wheel")
    run(
        sys.executable, "-m", "pip", "wheel", ROOT, "--no-deps", "--no-build-isolation", "-q", "-w", folder,
        cwd=folder,
    )  # fmt: skip
    (wheel,) = folder.glob("workbench-*.whl")
    environment = folder / "env"
    venv.create(environment, with_pip=False, symlinks=True)
    python = environment / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", wheel, cwd=folder)
    site = next((environment / "lib").glob("python*")) / "site-packages"
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return environment / "bin"


def test_the_package_comes_from_the_wheel_with_templates_and_models(installed: Path, tmp_path: Path) -> None:
    code = (
        "import json, workbench, workbench.resources as r;"
        "print(json.dumps([workbench.__file__, [p.name for p in r.templates_folder().iterdir()],"
        "[p.name for p in r.sample_models_folder().iterdir()]]))"
    )
    where, templates, models = json.loads(run(installed / "python", "-c", code, cwd=tmp_path))
    assert Path(where).is_relative_to(installed.parent)
    assert any(name.endswith(".toml") for name in templates)
    assert any(name.endswith(".onnx") for name in models)
    assert "SHA256SUMS" in models


def test_a_sample_model_becomes_a_workbook(installed: Path, tmp_path: Path) -> None:
    run(
        installed / "workbench", "profile", "resnet_small", "-o", "out.xlsx", "--iterations", "3",
        "--sessions", "1", cwd=tmp_path,
    )  # fmt: skip
    book = openpyxl.load_workbook(tmp_path / "out.xlsx", data_only=True)
    assert {"Summary", "baseline", "baseline ops", "Guide"} <= set(book.sheetnames)
    headers = [cell.value for cell in next(book["baseline ops"].iter_rows(min_row=1, max_row=1))]
    assert headers, "the operators sheet is empty"
