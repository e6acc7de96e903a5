"""`segarena worker`: models in a Python of their own: a first adapter, and what is wrong with one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from segarena.errors import InvalidInput
from segarena.plugin_spec import PluginSpec
from segarena.registry import build
from segarena.reports.sheets import Sheet
from segarena.segmenters.workers.conformance_check import CheckResult, check_worker
from segarena.segmenters.workers.template.adapter_file import write_adapter
from segarena.terminal.exit_codes import FAILURES, one_line_errors
from segarena.terminal.sheet_output import show_sheet

app = typer.Typer(
    help="Evaluate models that run in another Python, a container or another machine.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@app.callback()
def _worker() -> None:
    """Judge models that live in a Python, a container or a machine of their own."""


@app.command("new")
def new_adapter(
    name: Annotated[
        str, typer.Argument(help="What the adapter is called: a file NAME.py is written.")
    ],
    folder: Annotated[
        Path, typer.Option("--folder", help="Where it is put: the folder of the model.")
    ] = Path(),
) -> None:
    """Write an adapter to start from, and beside it the one file that it needs, segarena_worker.py.

        segarena worker new ritm --folder ../ritm_interactive_segmentation

    It runs as it is, with a rule about colours in place of a model:

        segarena worker check "python ritm.py"

    Then load your model in `__init__`, and let `encode` and `predict` ask it. An adapter that is there is left as it
    is, and segarena_worker.py is written anew.
    """
    with one_line_errors():
        adapter, is_new = write_adapter(name, folder)
    typer.echo(
        f"{adapter}: {'written' if is_new else 'left as it is'}; beside it segarena_worker.py"
    )
    typer.echo(f'next: segarena worker check "python {adapter}"')


@app.command("check")
def check_adapter(
    worker: Annotated[
        str,
        typer.Argument(
            help='The command that starts it, or where it listens: "python my_adapter.py", tcp://host:port; '
            "or as a run has it: \"worker('python my_adapter.py', python='envs/mine/bin/python')\"."
        ),
    ],
    python: Annotated[
        str,
        typer.Option(
            "--python", help="The interpreter in place of the word python in the command."
        ),
    ] = "",
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option", "-o", help="Of the model: NAME=VALUE; may be given several times."
        ),
    ] = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", help="Seconds that an answer may take.")
    ] = 60.0,
) -> None:
    """Talk to a worker as a hostile host does, and say what is right and what is not.

    It is asked with every kind of prompt that it takes, on tiny and thin samples, in batches and other orders, again
    after other samples and in another process. It gets requests that make no sense and frames that are none, and is
    left alone in the middle of a word.

        segarena worker check "python my_adapter.py" --python envs/ritm/bin/python -o checkpoint=ritm.pth

    Whether its answers are any good, a run says: segarena run clicks --segmenter "worker('python my_adapter.py')".
    Exit code 0: all is right; 1: something is not; 2: refused, with one line why.
    """
    with one_line_errors():
        spec = _specified(worker, python, option or ())
        with Console(stderr=True).status(f"asking {worker}"):
            found = check_worker(lambda: _built(spec), limit_s=time_limit)
    show_sheet(_sheet(worker, found))
    wrong = sum(not each.has_passed for each in found)
    typer.secho(
        f"{wrong} of {len(found)} are not right" if wrong else "all is right",
        fg="red" if wrong else None,
    )
    if wrong:
        raise typer.Exit(FAILURES)


def _built(spec: PluginSpec):
    return build("segmenter", spec)


def _specified(worker: str, python: str, options: Sequence[str]) -> PluginSpec:
    """Return the worker as a plug-in, as a run would have it."""
    if worker.startswith("worker("):
        return PluginSpec.parse(worker)
    pairs = [option.partition("=") for option in options]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise InvalidInput(f"--option {wrong[0]}: expected NAME=VALUE")
    command = f"python {worker}" if worker.endswith(".py") and " " not in worker else worker
    return PluginSpec(
        "worker",
        {"": command, "python": python, "options": {name: _value(text) for name, _, text in pairs}},
    )


def _value(text: str) -> object:
    """Return the number, flag or list that a text is, or the text."""
    import ast

    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def _sheet(worker: str, found: Sequence[CheckResult]) -> Sheet:
    return Sheet(
        name="check",
        caption=f"{worker}, asked by a hostile host",
        head=("", "it", "what came"),
        rows=tuple(
            ("right" if each.has_passed else "WRONG", each.check, each.details) for each in found
        ),
    )
