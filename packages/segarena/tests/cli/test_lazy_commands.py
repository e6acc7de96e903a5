"""Commands are imported when they are used; what help says of them without importing them is what they say."""

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from segarena.cli import lazy_commands
from segarena.cli.lazy_commands import first_sentence
from segarena.cli.main import COMMANDS, app


def installed(*points):
    return [EntryPoint(name, value, lazy_commands.ENTRY_POINTS) for name, value in points]


@pytest.fixture
def help_with(monkeypatch):
    """Return a function that shows the help of `segarena` where packages add these commands."""

    def show(*points, words=("--help",)):
        monkeypatch.setattr(lazy_commands, "entry_points", lambda group: installed(*points))
        # The command is built anew, as `commands_are_built_once` keeps the one with what is really installed.
        monkeypatch.setattr("typer.testing._get_command", get_command)
        return CliRunner().invoke(app, list(words))

    return show


@pytest.mark.parametrize("entry", [one for one in COMMANDS if one.target], ids=lambda one: one.name)
def test_help_repeats_the_first_sentence_of_each_command(entry):
    command = get_command(app).get_command(None, entry.name)
    assert entry.help == first_sentence(command)


def test_help_of_one_command_imports_no_other():
    program = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from segarena.cli.main import app\n"
        "assert CliRunner().invoke(app, ['export', '--help']).exit_code == 0\n"
        "print(*(name for name in sys.modules if name.startswith('segarena.cli.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    imported = {name.rpartition(".")[2] for name in done.stdout.split()}
    assert imported == {"export", "lazy_commands", "main"}


def test_a_command_of_a_companion_that_is_not_installed_names_the_remedy(help_with):
    answer = help_with(words=("serve", "--demo"))
    assert answer.exit_code == 2
    assert answer.stderr.count("\n") == 1
    assert 'pip install "segarena[server]"' in answer.stderr
    assert "│ serve " not in help_with().stdout


def test_a_package_adds_a_command_and_one_that_is_broken_takes_none_away(help_with):
    answer = help_with(
        ("mine", "segarena.cli.export:export"), ("gone", "segarena.no_such_module:x")
    )
    assert answer.exit_code == 0
    assert "│ mine " in answer.stdout
    assert "│ run " in answer.stdout
    assert "command gone of segarena.no_such_module:x cannot be used" in answer.stderr


def test_a_package_adds_a_command_to_a_group(help_with):
    answer = help_with(
        ("data.mine", "segarena.cli.export:export"), words=("data", "mine", "--help")
    )
    assert answer.exit_code == 0
    assert "Write the predicted masks" in answer.stdout
