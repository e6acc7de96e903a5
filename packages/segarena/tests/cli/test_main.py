"""The whole command: its help, completion, and the exit codes of the real program."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import segarena as package

PROGRAM = Path(sys.executable).with_name("segarena")
ENVIRONMENT = {
    **os.environ,
    "COLUMNS": "120",
    "TERM": "dumb",
    "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
}


def program(*arguments, **environment):
    """Run the installed program in a separate process."""
    return subprocess.run(
        [PROGRAM, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**ENVIRONMENT, **environment},
    )


def test_the_version_is_that_of_the_package(segarena):
    answer = segarena("--version")
    assert (answer.exit_code, answer.stdout) == (0, f"segarena {package.__version__}\n")


def test_the_first_screen_begins_with_the_first_commands_and_groups_the_rest(segarena):
    answer = segarena("--help")
    assert answer.exit_code == 0
    assert "Start with `segarena demo`" in answer.stdout
    panels = {}
    for line in answer.stdout.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            panels[line] = []
        elif panels and (name := re.match(r"  ([a-z-]+) ", line)):
            panels[list(panels)[-1]].append(name[1])
    first, *others = panels
    assert first == "First commands:"
    assert panels[first] in (
        ["demo", "list", "run", "report", "look", "studio", "data", "check"],
        ["demo", "list", "run", "report", "data", "check"],  # without the companions
    )
    assert "Commands:" not in others
    assert others[-1] == "Options:"
    assert len(answer.stdout.splitlines()) <= 60


@pytest.mark.parametrize(
    ("command", "taught"),
    [
        (["demo"], ["Needs no download", "--rounds"]),
        (["list"], ["NAME(option=value, ...)", "my_model.py:MyClass"]),
        (
            ["run"],
            [
                "segarena run clicks --segmenter grabcut",
                "the same command resumes it",
                "130: interrupted",
            ],
        ),
        (["report"], ["segarena report runs/grabcut", "works offline"]),
        (["data"], ["check"]),
        (
            ["data", "check-dataset"],
            [
                "segarena data check-dataset demo",
                "segarena data check-dataset folder photos",
                "Exit code 0: usable",
            ],
        ),
    ],
)
def test_the_help_of_each_command_shows_how_to_use_it(segarena, command, taught):
    answer = segarena(*command, "--help")
    assert answer.exit_code == 0
    assert all(text in answer.stdout for text in taught), answer.stdout


@pytest.mark.parametrize(
    "arguments", [["runn"], ["run", "--sgmenter", "x"], ["run", "--rounds", "many"], ["report"]]
)
def test_what_is_no_command_or_option_ends_with_2_and_no_traceback(segarena, arguments):
    answer = segarena(*arguments)
    assert answer.exit_code == 2
    assert "Traceback" not in answer.output


def test_completion_can_be_shown_and_installed(segarena):
    shown = program("--show-completion", "bash")
    assert shown.returncode == 0
    assert "complete -o default -F _segarena_completion segarena" in shown.stdout
    assert "--install-completion" in segarena("--help").stdout


@pytest.mark.long
def test_completion_offers_commands_and_options():
    commands = program(
        _SEGARENA_COMPLETE="complete_bash", COMP_WORDS="segarena ", COMP_CWORD="1"
    ).stdout.split()
    assert {"demo", "list", "run", "report", "data"} <= set(commands)
    options = program(
        _SEGARENA_COMPLETE="complete_bash", COMP_WORDS="segarena run --se", COMP_CWORD="2"
    ).stdout.split()
    assert {"--segmenter", "--seed"} <= set(options)


@pytest.mark.long
def test_the_program_refuses_in_one_line_with_exit_code_2():
    done = program("run", "clicks", "-s", "sample-dsic")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "error: no segmenter is called 'sample-dsic'; did you mean 'sample-disc'"
    )
    assert done.stderr.endswith("A file works too: my_file.py:MyClass.\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.long
def test_ctrl_c_leaves_a_run_that_goes_on_and_exit_code_130(plugin, tmp_path):
    arguments = ["run", "--out", tmp_path / "run", "--rounds", "3", "--workers", "1"]
    arguments += ["-s", plugin("Good", pause_s=0.02), "-d", "sample-squares(count=60, side=160)"]
    process = subprocess.Popen(
        [PROGRAM, *arguments], stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    waited = time.monotonic() + 60
    while not list((tmp_path / "run" / "records").glob("*.msgpack")) and time.monotonic() < waited:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert errors.endswith("stopped; finished samples are kept; repeat the command to resume\n")
    assert "Traceback" not in errors
    done = len(list((tmp_path / "run" / "records").glob("*.msgpack")))
    assert 0 < done < 60
    assert len(package.RunFolder.open(tmp_path / "run").pending()) == 60 - done
