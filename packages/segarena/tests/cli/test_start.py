"""Start of the command: a signal during imports ends it with one line."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PROGRAM = """
import os, signal, sys
class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == "{when}":
            os.kill(os.getpid(), {signal})
sys.meta_path.insert(0, Interrupts())
from {module} import {name}
{name}()
"""


@pytest.mark.parametrize(
    ("signal", "code", "when"),
    [
        ("signal.SIGINT", 130, "typer"),
        ("signal.SIGTERM", 143, "typer"),
        ("signal.SIGHUP", 129, "typer"),
        ("signal.SIGINT", 130, "segarena.work.exit_reporter"),
    ],
)
def test_a_signal_while_the_command_is_imported_prints_no_traceback(signal, code, when):
    scripts = tomllib.loads(Path(__file__).parents[2].joinpath("pyproject.toml").read_text())[
        "project"
    ]["scripts"]
    module, name = scripts["segarena"].split(":")
    program = PROGRAM.format(signal=signal, when=when, module=module, name=name)
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (code, "stopped\n")
