"""Help texts: rare options only under `--help-all`, commands that can be copied, and at most one screen."""

import shlex
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from segarena.cli.lazy_commands import load_command
from segarena.cli.main import app as segarena_app
from segarena.registry import plugins_by_name
from segarena.terminal.help_format import RARE, HelpCommand, HelpGroup, use_help_format

SCREEN = 60
TERMINAL = {"COLUMNS": "80", "TERM": "dumb"}
EXAMPLE = (
    'tool convert --width 12 "a name with spaces.png" --out converted/folder/of/images --depth 3'
)
HELP = f"""Convert an image.

        {EXAMPLE}

        tool convert short.png

    One more paragraph.
    """


def convert(
    image: Annotated[str, typer.Argument(help="The image.")],
    width: Annotated[int, typer.Option(help="Its width.", min=1)] = 2,
    depth: Annotated[int, typer.Option(help="Bits.", rich_help_panel=RARE)] = 8,
    gamma: Annotated[float, typer.Option(help="Exponent.", rich_help_panel=RARE)] = 1.0,
    tone: Annotated[str, typer.Option(help="Words.", rich_help_panel="Colours")] = "",
) -> None:
    """Convert an image."""


def tool(*commands):
    """Return an app of these commands."""
    app = typer.Typer(add_completion=False)

    @app.callback()
    def _root() -> None:
        """Images as a tool sees them."""

    for name, command in commands:
        app.command(name, help=HELP)(command)
    use_help_format(app)
    return app


def shown(app, *words):
    answer = CliRunner(env=TERMINAL).invoke(app, list(words))
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def test_rare_options_are_counted_by_help_and_shown_by_help_all():
    app = tool(("convert", convert), ("other", convert))
    short = shown(app, "convert", "--help")
    assert "--depth" not in short.partition("Options:")[2]
    assert "--gamma" not in short
    assert short.splitlines()[-1] == "`root convert --help-all` shows 2 more options."
    everything = shown(app, "convert", "--help-all")
    assert "--gamma <float>" in everything or "--gamma FLOAT" in everything
    assert "--help-all` shows" not in everything
    assert everything.index("Options:") < everything.index("Colours:") < everything.index(RARE)


def test_help_all_of_a_command_without_rare_options_is_its_help():
    app = tool(("convert", convert))
    assert shown(app, "--help-all") == shown(app, "--help")
    assert "--help-all" not in shown(app, "--help")


def test_a_rare_option_is_parsed_like_any_other():
    depths = []

    def take(depth: Annotated[int, typer.Option(rich_help_panel=RARE)] = 8) -> None:
        depths.append(depth)

    shown(tool(("take", take), ("other", take)), "take", "--depth", "3")
    assert depths == [3]


def test_examples_can_be_copied_and_fit_the_terminal():
    text = shown(tool(("convert", convert), ("other", convert)), "convert", "--help")
    assert max(map(len, text.splitlines())) <= 80
    lines = text.splitlines()
    first = next(index for index, line in enumerate(lines) if line.startswith("  tool convert"))
    end = lines.index("  tool convert short.png")
    copied = "\n".join(lines[first:end]).replace("\\\n", " ")  # as the shell joins lines
    assert copied.count("\n") == 0
    assert shlex.split(copied) == shlex.split(EXAMPLE)


def test_an_option_stays_with_its_value():
    text = shown(tool(("convert", convert), ("other", convert)), "convert", "--help")
    assert not [line for line in text.splitlines() if line.split()[-2:-1] == ["--out"]]
    assert "--out converted/folder/of/images" in text


def test_a_group_shows_the_first_paragraph_of_each_command_and_its_options_last():
    text = shown(tool(("convert", convert), ("other", convert)), "--help")
    assert text.index("Commands:") < text.index("  convert  Convert an image.\n")
    assert text.index("  other    Convert an image.\n") < text.index("Options:")
    assert "One more paragraph" not in text


@pytest.mark.parametrize("words", [(), ("data",)])
def test_a_group_without_arguments_shows_its_help(words):
    answer = CliRunner(env=TERMINAL).invoke(segarena_app, list(words))
    assert answer.exit_code == 2
    assert answer.stdout == shown(segarena_app, *words, "--help")
    assert answer.stderr == ""


def test_a_command_with_a_class_of_its_own_keeps_it():
    class Loud(HelpCommand):
        pass

    app = tool(("convert", convert))
    app.command("loud", cls=Loud)(convert)
    use_help_format(app, HelpGroup)
    group = get_command(app)
    assert type(group.commands["loud"]) is Loud
    assert type(group.commands["convert"]) is HelpCommand


def commands(group, *path):
    """Yield the words of every command in a group."""
    yield path
    if not hasattr(group, "list_commands"):
        return
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if not command.hidden:  # of a companion that is not installed
            yield from commands(load_command(command), *path, name)


@pytest.mark.long
def test_the_help_of_every_command_fits_a_screen():
    lengths = {}
    for path in commands(get_command(segarena_app)):
        text = shown(segarena_app, *path, "--help")
        assert "`" not in text.splitlines()[0]
        assert max(map(len, text.splitlines())) <= 80, path
        lengths[" ".join(path)] = len(text.splitlines())
    assert len(lengths) > 20
    assert {path: length for path, length in lengths.items() if length > SCREEN} == {}


@pytest.mark.parametrize("command", ["run", "plan"])
def test_the_help_of_a_run_fits_a_screen_for_every_benchmark(command):
    for benchmark in plugins_by_name("benchmark"):
        text = shown(segarena_app, command, benchmark, "--help")
        assert len(text.splitlines()) <= SCREEN, benchmark
        assert f"`segarena {command}" not in text or "shows" in text.splitlines()[-1]


def test_only_values_that_need_a_conversion_are_converted():
    taken = {}

    def command(
        words: Annotated[list[str] | None, typer.Argument()] = None,
        name: str = "none",
        count: int = 3,
        limit: Annotated[int | None, typer.Option(min=1)] = None,
        shout: Annotated[str, typer.Option(parser=str.upper)] = "",
        needed: Annotated[str, typer.Option()] = ...,
        share: float = 0.5,
        out: Path | None = None,
        image: Annotated[Path | None, typer.Option(exists=True)] = None,
    ) -> None:
        taken.update(locals())

    def run(*arguments):
        taken.clear()
        return CliRunner(env=TERMINAL).invoke(tool(("convert", command)), ["convert", *arguments])

    assert run("--needed", "x").exit_code == 0
    names = ("words", "name", "count", "limit", "needed")
    assert [taken[name] for name in names] == [None, "none", 3, None, "x"]
    assert (
        run("a", "b", "--needed", "1", "--count", "4", "--limit", "2", "--shout", "x").exit_code
        == 0
    )
    assert [taken[name] for name in names] == [["a", "b"], "none", 4, 2, "1"]
    assert taken["shout"] == "X"
    assert "Missing option '--needed'" in run().output
    numbers = ("--needed", "x", "--count", "-4", "--share", "1e-2", "--out", "a/b", "--image", "/")
    assert run(*numbers).exit_code == 0
    assert [taken[name] for name in ("count", "share")] == [-4, 0.01]
    assert [taken[name] for name in ("out", "image")] == [Path("a/b"), Path("/")]
    assert run("--needed", "x", "--share", "-0.25").exit_code == 0
    assert taken["share"] == -0.25
    for option in ("--limit", "--count"):
        assert run("--needed", "x", option, "0.5").exit_code == 2
    for option, wrong in (("--share", "half"), ("--share", "1."), ("--image", "/no/such/file")):
        expected = 0 if wrong == "1." else 2
        assert run("--needed", "x", option, wrong).exit_code == expected, option
    assert run("--needed", "x", "--limit", "0").exit_code == 2
