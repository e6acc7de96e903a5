"""Commands on damaged files and full disks: one line, an exit code, nothing half written.

`tests/stress/commands.py` has the cases and runs as many as wanted; here are a few.
"""

import importlib
import os
import random
import resource
import shutil
import subprocess
import sys
from contextlib import chdir, contextmanager

import numpy as np
import pytest
from PIL import Image
from repository import ROOT
from typer.testing import CliRunner

from segarena.cli.main import app

STRESS = ROOT / "tests" / "stress" / "commands.py"


@pytest.mark.long
def test_damaged_files_of_all_systems_are_told_in_one_line():
    done = subprocess.run(  # others are drawn by `make stress`
        [sys.executable, STRESS, "--cases", "8", "--seed", "7"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("8 cases of ")


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A folder with a scene and a table of clicks."""
    folder = tmp_path_factory.mktemp("sound")
    with chdir(folder):
        for command in (
            "amodal demo --images 1 --out am",
            "click-data crowd -d sample-squares(count=2) --clicks 9 -o raw.csv",
        ):
            assert CliRunner().invoke(app, command.split()).exit_code == 0
    return folder


@pytest.fixture(scope="module")
def stress():
    """Return `tests/stress/commands.py` as a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(STRESS.parent))
        yield importlib.import_module(STRESS.stem)


@pytest.mark.long
def test_damaged_files_are_told_in_one_line(stress, sound):
    scenes = [case for case in stress.cases() if case.file == "am/scenes.json"]
    tables = [stress.Case(("click-data", "counts", "raw.csv", "-o", "out.csv"), "raw.csv")]
    assert len(scenes) > 5
    for number, case in enumerate([*scenes, *tables] * 2):
        way, problem = stress.run_case(case, sound, random.Random(number))
        assert problem == "", (case, number, way)


@contextmanager
def full_disk(most_bytes, monkeypatch):
    """Limit the size of files: the operating system rejects further bytes, as on a full disk."""
    monkeypatch.setattr(
        sys, "dont_write_bytecode", True
    )  # Python would keep a module that was cut off
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, before[1]))
    try:
        yield
    finally:  # before pytest writes its own report, which may go to a file too
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    ("most_bytes", "command"),
    [
        (60, "amodal demo --images 1 --out out"),
        (60, "amodal agreement am/scenes.json --only regions --out out"),
        (2000, "amodal agreement am/scenes.json --only regions --out out"),
        (60, "amodal convert am/scenes.json out --to png-16"),
        (60, "amodal convert am/scenes.json out/scenes.csv --to csv"),
        (60, "amodal review am/scenes.json --out out/page.html"),
        (
            60,
            "click-data crowd -d sample-squares(count=2) --clicks 9 -o out/raw.csv --previous-masks out/masks",
        ),
        (1000, "click-data crowd -d sample-squares(count=2) --clicks 9 -o out/raw.csv"),
        (60, "click-data maps raw.csv -d sample-squares(count=2) -o out"),
        (60, "toss sgtss oneshot-demo --folds 2 --out out"),
        (60, "run clicks -s nothing -d sample-squares(count=2) --rounds 2 -o out"),
    ],
)
def test_a_full_disk_is_one_line_and_leaves_nothing_half_written(
    segarena, sound, most_bytes, command, tmp_path, monkeypatch
):
    shutil.copytree(sound, tmp_path, dirs_exist_ok=True)
    with full_disk(most_bytes, monkeypatch):
        answer = segarena(*command.split())
    assert answer.exit_code == 2, answer.output
    told = [line for line in answer.stderr.splitlines() if line.startswith("error: ")]
    assert len(told) == 1
    assert " cannot be written: " in told[0]
    files = [
        path for path in (tmp_path / "out").rglob("*") if path.is_file() and path.suffix != ".jsonl"
    ]
    assert all(0 < path.stat().st_size <= most_bytes for path in files), files


def test_a_file_name_that_is_not_utf8_is_told_in_one_line(tmp_path):
    folder = tmp_path / "data"
    for kind, pixels in (("images", (16, 16, 3)), ("masks", (16, 16))):
        (folder / kind).mkdir(parents=True)
        name = os.fsdecode(b"caf\xe9.png")
        Image.fromarray(np.full(pixels, 255, np.uint8)).save(folder / kind / name)
    done = CliRunner().invoke(
        app, ["run", "clicks", "-s", "everything", "-d", str(folder), "-o", str(tmp_path / "run")]
    )
    assert done.exit_code == 2
    assert "expected text in UTF-8, got" in done.stderr
    assert "caf\\udce9" in done.stderr
    assert "rename the file" in done.stderr
