"""Commands are imported on use, and their help without an import is the same as with one."""

import subprocess
import sys

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from segarena.cli import lazy_commands
from segarena.cli.lazy_commands import first_sentence, load_command
from segarena.cli.main import COMMANDS, RENAMED_COMMANDS, app
from segarena.files.install_cache import DeclaredEntryPoint


@pytest.fixture
def help_with(monkeypatch):
    """Return a function that prints the help of `segarena` if packages add these commands."""

    def show(*points, words=("--help",)):
        declared = tuple(DeclaredEntryPoint(*point) for point in points)
        monkeypatch.setattr(lazy_commands, "declared_entry_points", lambda group: declared)
        # The command is built anew, as `commands_are_built_once` keeps the one with what is really installed.
        monkeypatch.setattr("typer.testing._get_command", get_command)
        return CliRunner().invoke(app, list(words))

    return show


@pytest.mark.parametrize("entry", [one for one in COMMANDS if one.target], ids=lambda one: one.name)
def test_help_repeats_the_first_sentence_of_each_command(entry):
    command = get_command(app).get_command(None, entry.name)
    assert entry.help == first_sentence(command)


@pytest.mark.long
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
    assert "\n  serve " not in help_with().stdout


def test_old_names_of_commands_work_and_name_the_new_ones_in_one_line():
    group = get_command(app)
    renamed = {**RENAMED_COMMANDS, "amodal check": "amodal check-annotations"}
    for old, new in renamed.items():
        answer = CliRunner().invoke(app, [*old.split(), "--help"])
        if "not installed" in answer.stderr:  # a companion's command, and only the core is here
            continue
        assert answer.exit_code == 0, answer.output
        assert answer.stderr == f"`segarena {old}` is now `segarena {new}`\n"
        assert answer.stdout == CliRunner().invoke(app, [*new.split(), "--help"]).stdout
        parent = group
        for word in new.split()[:-1]:
            parent = load_command(parent.get_command(None, word))
        names = parent.list_commands(None)
        assert new.split()[-1] in names
        assert old.split()[-1] not in names


def test_a_package_may_use_an_old_name(help_with):
    answer = help_with(("clicks", "segarena.cli.export:export"), words=("clicks", "--help"))
    assert answer.stderr == ""
    assert "Write the predicted masks" in answer.stdout


def test_completion_of_an_old_name_prints_nothing(capfd):
    group = get_command(app)
    with group.make_context("segarena", ["data", "check"], resilient_parsing=True) as context:
        name, _, rest = group.resolve_command(context, ["data", "check", "--"])
    assert (name, rest) == ("data", ["check-dataset", "--"])
    assert capfd.readouterr().err == ""


def test_a_package_adds_a_command_and_one_that_is_broken_takes_none_away(help_with):
    answer = help_with(
        ("mine", "segarena.cli.export:export"), ("gone", "segarena.no_such_module:x")
    )
    assert answer.exit_code == 0
    assert "\n  mine " in answer.stdout
    assert "\n  run " in answer.stdout
    assert "command gone of segarena.no_such_module:x cannot be used" in answer.stderr


def test_a_command_that_lacks_an_extra_stays_in_the_help_and_names_the_extra(
    help_with, tmp_path, monkeypatch
):
    (tmp_path / "lacks_an_extra.py").write_text(
        "from segarena.errors import MissingExtra\n"
        "raise MissingExtra(\"downloading needs x: pip install 'segarena[radiology]'\")\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    point = ("data.get", "lacks_an_extra:get")
    answer = help_with(point, words=("data", "get", "mine", "--out", "x"))
    assert answer.exit_code == 2
    assert answer.stderr == "error: downloading needs x: pip install 'segarena[radiology]'\n"
    listed = help_with(point, words=("data", "--help"))
    assert "Unavailable: downloading needs x" in " ".join(listed.stdout.split())
    assert listed.stderr == ""


def test_a_package_adds_a_command_to_a_group(help_with):
    answer = help_with(
        ("data.mine", "segarena.cli.export:export"), words=("data", "mine", "--help")
    )
    assert answer.exit_code == 0
    assert "Write the predicted masks" in answer.stdout


def test_a_group_imports_a_command_of_a_package_when_it_is_used(help_with):
    points = (("data.gone", "segarena.no_such_module:x"),)
    assert "gone" not in help_with(*points, words=("data", "check-dataset", "--help")).stderr
    assert "command data.gone" in help_with(*points, words=("data", "--help")).stderr
    assert "command data.gone" in help_with(*points, words=("data", "gone")).stderr
