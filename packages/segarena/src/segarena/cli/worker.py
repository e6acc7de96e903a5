"""`segarena worker`: templates and checks for models in other processes."""

from __future__ import annotations

import ast
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
    help="Evaluate models that run in another Python, in a container or on another machine.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@app.callback()
def _worker() -> None:
    """Evaluate models that run in another Python, in a container or on another machine."""


@app.command("new")
def new_adapter(
    name: Annotated[str, typer.Argument(help="Name of the adapter; the command writes NAME.py.")],
    folder: Annotated[
        Path, typer.Option("--folder", help="Target folder, usually that of the model.")
    ] = Path(),
) -> None:
    """Write an adapter template and segarena_worker.py, the only file that it needs.

        segarena worker new ritm --folder ../ritm_interactive_segmentation

    The template runs unchanged, with a colour rule instead of a model:

        segarena worker check-adapter "python ../ritm_interactive_segmentation/ritm.py"

    Then load your model in `__init__`, and call it in `encode` and `predict`. The command never
    overwrites an existing adapter; it always replaces segarena_worker.py.
    """
    with one_line_errors():
        adapter, is_new = write_adapter(name, folder)
    outcome = "written" if is_new else "unchanged"
    typer.echo(f"{adapter}: {outcome}; next to it: segarena_worker.py")
    typer.echo(f'next: segarena worker check-adapter "python {adapter}"')


@app.command("check-adapter")
def check_adapter(
    worker: Annotated[
        str,
        typer.Argument(
            help='Command or address of the worker: "python my_adapter.py", tcp://host:port, '
            "or \"worker('python my_adapter.py', python='envs/mine/bin/python')\" as in a run."
        ),
    ],
    python: Annotated[
        str,
        typer.Option("--python", help="Interpreter that replaces the word python in the command."),
    ] = "",
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option", "-o", help="Option of the model as NAME=VALUE; repeat for several."
        ),
    ] = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", help="Time limit for an answer, in seconds.")
    ] = 60.0,
) -> None:
    """Test a worker with valid and invalid requests, and report each result.

    The test sends every kind of prompt that the worker accepts: on tiny and thin samples, in
    batches, in other orders, after other samples and to another process. It also sends invalid
    requests and damaged frames, and closes the connection in the middle of a message.

        segarena worker check-adapter "python my_adapter.py" --python envs/ritm/bin/python -o checkpoint=ritm.pth

    To measure the quality of its predictions, run a benchmark:

        segarena run clicks --segmenter "worker('python my_adapter.py')"

    Exit code 0: all tests passed; 1: a test failed; 2: invalid request, with a one-line message.
    """
    with one_line_errors():
        spec = _worker_spec(worker, python, option or ())
        with Console(stderr=True).status(f"checking {worker}"):
            results = check_worker(lambda: build("segmenter", spec), limit_s=time_limit)
    show_sheet(_sheet(worker, results))
    failed = sum(not result.has_passed for result in results)
    if failed:
        # Imported here to keep `--help` fast.
        from segarena.reports.wording import count_text

        typer.secho(f"{failed} of {count_text(len(results), 'check')} failed", fg="red")
        raise typer.Exit(FAILURES)
    typer.echo("all checks passed")


def _worker_spec(
    worker: str,
    python: str,
    options: Sequence[str],
) -> PluginSpec:
    """Return the specification of the plug-in `worker` for a command or address."""
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
    """Parse a text as a Python literal; return the text itself if it is not one."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def _sheet(worker: str, found: Sequence[CheckResult]) -> Sheet:
    return Sheet(
        name="check",
        caption=f"{worker}, tested with valid and invalid requests",
        head=("", "it", "what came"),
        rows=tuple(
            ("right" if each.has_passed else "WRONG", each.check, each.details) for each in found
        ),
    )
