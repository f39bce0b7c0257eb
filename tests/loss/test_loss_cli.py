"""`workbench loss` as a user runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import loss_models
import numpy as np
import openpyxl
import pytest


def workbench(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "workbench", *map(str, arguments)]
    environment = os.environ | {"WORKBENCH_CACHE": str(cwd / "cache")}
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, env=environment)


@pytest.fixture()
def folder(tmp_path: Path) -> Path:
    loss_models.saved(loss_models.branches({"w1": 1.0, "w2": 0.1, "w3": 3.0}), tmp_path)
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "data.npz", x=rng.standard_normal((4, 16)).astype(np.float32))
    return tmp_path


def test_a_new_workbook_gets_a_performance_profile_too(folder: Path) -> None:
    done = workbench("loss", "model.onnx", "book.xlsx", "--name", "base", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "layers                    3 of 4" in done.stdout
    assert "approximated from FLOPs" in done.stdout
    assert openpyxl.load_workbook(folder / "book.xlsx").sheetnames == [
        "Summary", "baseline", "baseline ops", "base", "Guide",
    ]  # fmt: skip
    again = workbench("loss", "model.onnx", "book.xlsx", "--name", "base", cwd=folder)
    assert again.returncode == 2
    assert "there is a sheet 'base' already" in again.stderr
    measured = workbench(
        "loss", "model.onnx", "book.xlsx", "--name", "base", "--replace", "--data", "data.npz", "--metric", "mse",
        "--levels", "50%,90%", "--layers", "/w1,/w3", "--json", cwd=folder,
    )  # fmt: skip
    assert measured.returncode == 0, measured.stderr
    document = json.loads(measured.stdout)
    assert document["method"] == "measured"
    assert document["samples"] == 4
    assert document["levels"] == [0, 0.5, 0.9]
    assert document["most_sensitive"] == ["/w3", "/w1"]
    assert document["figures"]["average"] > 0
    assert [row["left_out_because"] for row in document["layers"]].count("not among the chosen layers") == 2


def test_a_metric_from_a_file(folder: Path) -> None:
    (folder / "mine.py").write_text(
        "def worst(dense, pruned, labels):\n    return abs(dense['y'] - pruned['y']).max()\n"
    )
    done = workbench(
        "loss", "model.onnx", "b.xlsx", "--data", "data.npz", "--metric", "mine.py:worst", "--json", cwd=folder
    )
    assert json.loads(done.stdout)["metric"] == "custom: worst"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--levels", "half"], "'half' is no level"),
        (["--metric", "custom", "--data", "data.npz"], "a metric of your own is a Python function"),
        (["--metric", "none.py:f", "--data", "data.npz"], "no such file"),
        (["--data", "none.npz"], "none.npz: no such file"),
        (["--pattern", "8x1"], "there is no pattern '8x1'"),
        (["--approximate", "--data", "data.npz"], "takes no data"),
        (["--layers", "/w7"], "no prunable layer '/w7'"),
        (["--profile", "a/b"], "can't contain '/'"),
        (["--data", "data.npz", "--batch", "0"], "a batch of 0 holds nothing"),
    ],
)
def test_bad_input_is_one_sentence(folder: Path, arguments: list[str], said: str) -> None:
    done = workbench("loss", "model.onnx", "b.xlsx", *arguments, cwd=folder)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (folder / "b.xlsx").exists()


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name == "nt", reason="needs POSIX signals")
def test_an_interrupt_keeps_what_was_measured(folder: Path) -> None:
    (folder / "slow.py").write_text(
        "import time\ndef slow(dense, pruned, labels):\n    time.sleep(0.2)\n    return 1.0\n"
    )
    command = [
        sys.executable, "-m", "workbench", "loss", "model.onnx", "b.xlsx", "--data", "data.npz", "--metric",
        "slow.py:slow",
    ]  # fmt: skip
    environment = os.environ | {"WORKBENCH_CACHE": str(folder / "cache")}
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, env=environment)
    journals = folder / "cache" / "loss"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (journals.is_dir() and any(f.stat().st_size for f in journals.iterdir())):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on from there" in said
    assert not (folder / "b.xlsx").exists()
    kept = next(journals.iterdir()).read_text().splitlines()
    assert json.loads(kept[0])[:2] == ["stem", 0.2]
