"""`workbench profile` and `show` as a user runs them: what they print, and what bad input gets."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import openpyxl
import pytest
from models import model, product
from onnx import TensorProto, helper

QUICK = ("--iterations", "3", "--warmup", "1", "--sessions", "1")


def workbench(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "workbench", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)


@pytest.fixture()
def folder(tmp_path: Path) -> Path:
    onnx.save(product(), tmp_path / "ok.onnx")
    return tmp_path


def test_a_profile_is_written_shown_and_extended(folder: Path) -> None:
    first = workbench("profile", "ok.onnx", *QUICK, cwd=folder)
    assert first.returncode == 0, first.stderr
    assert "wrote ok.xlsx" in first.stdout
    assert "assumed batch = 1" in first.stdout
    again = workbench("profile", "ok.onnx", *QUICK, cwd=folder)
    assert again.returncode == 2
    assert "baseline" in again.stderr and "--replace" in again.stderr
    more = workbench("profile", "ok.onnx", "--name", "more", "--batch", "2,3", *QUICK, "--json", cwd=folder)
    assert more.returncode == 0, more.stderr
    assert [p["profile"] for p in json.loads(more.stdout)["profiles"]] == ["more b2", "more b3"]
    shown = workbench("show", "ok.xlsx", "--json", cwd=folder)
    profiles = json.loads(shown.stdout)["profiles"]
    assert [(p["profile"], p["facts"]["batch"]) for p in profiles] == [("baseline", 1), ("more b2", 2), ("more b3", 3)]
    assert all(p["totals"]["total_latency"] > 0 for p in profiles)


def test_nothing_runs_without_measuring(folder: Path) -> None:
    done = workbench("profile", "ok.onnx", "--no-measure", "--peak", "1", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    (made,) = json.loads(done.stdout)["profiles"]
    assert made["facts"]["provenance"] == "estimated from FLOPs"
    assert made["estimates"]["end_to_end"] is None


def save(path: Path, proto: onnx.ModelProto) -> None:
    path.write_bytes(proto.SerializeToString())


def external(folder: Path, location: str) -> None:
    onnx.save(product(), folder / "bad.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    (folder / "w.bin").unlink()
    proto = onnx.load(folder / "bad.onnx", load_external_data=False)
    for tensor in proto.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = location
    save(folder / "bad.onnx", proto)


def broken(folder: Path, kind: str) -> None:
    path = folder / "bad.onnx"
    if kind == "not ONNX":
        path.write_text("hello")
    elif kind == "truncated":
        path.write_bytes(product().SerializeToString()[:200])
    elif kind == "missing data":
        external(folder, "w.bin")
    elif kind == "path outside":
        external(folder, "../../etc/passwd")
    elif kind == "unknown operator":
        save(path, model([helper.make_node("Frobnicate", ["x"], ["y"], name="fr")], {"x": [1, 4]}, ["y"]))
    elif kind == "unknown opset":
        proto = product()
        proto.opset_import[0].version = 999
        save(path, proto)
    elif kind == "wrong size":
        save(path, product(rows=("batch", "width")))
    elif kind == "unsupported input":
        node = helper.make_node("Identity", ["x"], ["y"])
        save(path, model([node], {"x": [1, 4]}, ["y"], element_type=TensorProto.COMPLEX64))


BROKEN = {
    "no file": "no such file",
    "not ONNX": "not an ONNX model",
    "truncated": "damaged or cut short",
    "missing data": "'w.bin'",
    "path outside": "outside the model's folder",
    "unknown operator": "'Frobnicate'",
    "unknown opset": "999",
    "wrong size": "--dim NAME=V",
    "unsupported input": "complex64",
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_bad_model_gets_one_sentence_and_writes_nothing(folder: Path, kind: str) -> None:
    broken(folder, kind)
    done = workbench("profile", "bad.onnx", "-o", "out.xlsx", *QUICK, cwd=folder)
    assert done.returncode == 2
    assert BROKEN[kind] in done.stderr
    assert one_sentence(done.stderr)
    assert not (folder / "out.xlsx").exists()


def one_sentence(text: str) -> bool:
    return text.startswith("error: ") and text.count("\n") == 1 and "Traceback" not in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--batch", "0"), "--batch"),
        (("--batch", "2", "--dim", "batch=3"), "--dim batch says 3"),
        (("--dim", "q"), "NAME=V"),
        (("--dim", "nope=3"), "it has: batch"),
        (("--cores", "9999"), "9999 cores"),
        (("--inputs", "none.npz"), "no such file"),
        (("--name", "a/b"), "can't contain '/'"),
        (("--trace", "t", "--no-measure"), "--no-measure"),
        (("-o", "out.txt"), ".xlsx"),
        (("-o", "nowhere/out.xlsx"), "does not exist"),
        (("-o", "junk.xlsx"), "not an XLSX workbook"),
        (("-o", "foreign.xlsx"), "no profile"),
        (("-o", "opened.xlsx"), "open"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_bad_options_and_outputs_get_one_sentence(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    (folder / "junk.xlsx").write_text("no workbook")
    openpyxl.Workbook().save(folder / "foreign.xlsx")
    (folder / ".~lock.opened.xlsx#").write_text("someone")
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    done = workbench("profile", "ok.onnx", *QUICK, *arguments, cwd=folder)
    assert done.returncode == 2
    assert words in done.stderr
    assert one_sentence(done.stderr)
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


def test_inputs_of_the_users_own(folder: Path) -> None:
    np.savez(folder / "in.npz", x=np.ones((5, 8), np.float32))
    done = workbench("profile", "ok.onnx", "--inputs", "in.npz", *QUICK, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["profiles"][0]["facts"]["batch"] == 5
    np.savez(folder / "wrong.npz", y=np.ones((5, 8), np.float32))
    wrong = workbench("profile", "ok.onnx", "--inputs", "wrong.npz", "-o", "w.xlsx", *QUICK, cwd=folder)
    assert wrong.returncode == 2
    assert "x" in wrong.stderr and one_sentence(wrong.stderr)


def test_an_interrupt_leaves_the_old_file_whole_and_no_temporary(folder: Path) -> None:
    assert workbench("profile", "ok.onnx", *QUICK, cwd=folder).returncode == 0
    before = (folder / "ok.xlsx").read_bytes()
    command = [sys.executable, "-m", "workbench", "profile", "ok.onnx", "-o", "ok.xlsx", "--name", "more"]
    process = subprocess.Popen(
        [*command, "--iterations", "100000000"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted" in errors and "Traceback" not in errors
    assert (folder / "ok.xlsx").read_bytes() == before
    assert sorted(p.name for p in folder.iterdir()) == ["ok.onnx", "ok.xlsx"]


@pytest.mark.skipif(os.name != "posix", reason="needs /dev/full and limits")
def test_a_full_disk_leaves_the_old_file_whole(folder: Path) -> None:
    assert workbench("profile", "ok.onnx", *QUICK, cwd=folder).returncode == 0
    before = (folder / "ok.xlsx").read_bytes()
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000));"
        "from workbench.cli import main; sys.exit(main())"
    )
    arguments = ["profile", "ok.onnx", "-o", "ok.xlsx", "--replace", "--no-measure", "--peak", "1"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert one_sentence(done.stderr), done.stderr
    assert (folder / "ok.xlsx").read_bytes() == before
    assert sorted(p.name for p in folder.iterdir()) == ["ok.onnx", "ok.xlsx"]
