"""Options of workers, and the executor that a command gets from them."""

import pytest
import typer
from typer.testing import CliRunner

from segarena import Ray
from segarena.errors import InvalidInput
from segarena.terminal.worker_options import Workers, with_worker_options, workers_from_options


@pytest.fixture
def ray_is_found(monkeypatch):
    monkeypatch.setattr("segarena.work.cluster.executor.find_spec", lambda name: object())


def test_a_number_stays_one_unless_ray_is_asked_for(ray_is_found):
    assert workers_from_options(3) == workers_from_options(3, "local") == 3
    assert workers_from_options(3, "ray") == Ray(3)
    assert workers_from_options(3, "ray", "auto", 0.5) == Ray(3, "auto", 0.5)
    assert (
        workers_from_options(3, "local", "auto") == 3
    )  # a file has the address, the line says that it is not wanted now


def test_options_that_do_not_go_together_are_refused():
    with pytest.raises(InvalidInput, match="expected local or ray"):
        workers_from_options(3, "slurm")
    with pytest.raises(InvalidInput, match="give --executor ray too"):
        workers_from_options(3, gpus_per_worker=0.5)


@with_worker_options
def command(name: str, workers: Workers = 2) -> None:
    """Do it."""
    typer.echo(f"{name} {workers}")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("it", "it 2"),
        ("it -w 5", "it 5"),
        ("it -w 5 --executor ray", "it Ray(workers=5, address='', gpus_per_worker=0.0)"),
        (
            "it --executor ray --address 10.0.0.1:6379 --gpus-per-worker 2",
            "it Ray(workers=2, address='10.0.0.1:6379', gpus_per_worker=2.0)",
        ),
    ],
)
def test_a_command_is_given_who_works(line, told, ray_is_found):
    app = typer.Typer()
    app.command()(command)
    answer = CliRunner().invoke(app, line.split())
    assert (answer.stdout, answer.exit_code) == (f"{told}\n", 0)


def test_what_is_wrong_is_a_line_and_the_command_is_not_called():
    app = typer.Typer()
    app.command()(command)
    answer = CliRunner().invoke(app, ["it", "--executor", "ray", "-w", "0"])
    assert (answer.stdout, answer.exit_code) == ("", 2)
    assert answer.stderr == "error: workers on Ray must be 1 or more, got 0\n"
