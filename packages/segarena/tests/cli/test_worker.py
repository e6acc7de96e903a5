"""A new adapter from its template to an evaluated worker, and messages for invalid ones."""

import sys
from pathlib import Path

import pytest

from segarena import worker


@pytest.mark.long
def test_the_template_runs_as_it_is(segarena, tmp_path):
    (tmp_path / "model").mkdir()
    written = segarena("worker", "new", "ritm", "--folder", "model")
    assert written.exit_code == 0, written.output
    assert (
        written.stdout.splitlines()[-1]
        == 'next: segarena worker check-adapter "python model/ritm.py"'
    )
    assert (tmp_path / "model/segarena_worker.py").read_text() == Path(worker.__file__).read_text()
    assert len((tmp_path / "model/ritm.py").read_text().splitlines()) <= 50

    checked = segarena(
        "worker",
        "check-adapter",
        "model/ritm.py",
        "--python",
        sys.executable,
        "-o",
        "tolerance=40.5",
    )
    assert checked.exit_code == 0, checked.output
    assert "WRONG" not in checked.stdout
    assert checked.stdout.splitlines()[-1] == "all checks passed"

    plugin = f"worker('python ritm.py', folder='model', python={sys.executable!r})"
    run = segarena(
        "run", "clicks", "-s", plugin, "-d", "demo", "--limit", 1, "--rounds", 1, "--out", "run"
    )
    assert run.exit_code == 0, run.output


def test_an_adapter_that_is_there_is_left_as_it_is(segarena, tmp_path):
    (tmp_path / "ritm.py").write_text("mine")
    assert "unchanged" in segarena("worker", "new", "ritm.py").stdout
    assert (tmp_path / "ritm.py").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["new", "my model"], "expected a name for a module"),
        (["new", "segarena_worker"], "expected a name for a module"),
        (["new", "ritm", "--folder", "nowhere"], "nowhere: the folder does not exist"),
        (
            ["check-adapter", "python x.py", "-o", "checkpoint"],
            "--option checkpoint: expected NAME=VALUE",
        ),
        (["check-adapter", "worker("], "expected NAME"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(refused, arguments, message):
    assert message in refused("worker", *arguments)


def test_what_is_wrong_is_said_in_a_row_and_in_the_exit_code(segarena):
    checked = segarena("worker", "check-adapter", "python nowhere.py", "--python", sys.executable)
    assert checked.exit_code == 1
    assert "WRONG  starts and sends its greeting" in checked.stdout
    assert "1 of 1 check failed" in checked.stdout
