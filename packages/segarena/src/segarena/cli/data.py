"""`segarena data`: prepare datasets, and look at them before judging anything on them."""

from __future__ import annotations

from typing import Annotated

import typer

from segarena.options import options_of
from segarena.plugin_spec import PluginSpec
from segarena.registry import build, find
from segarena.terminal.exit_codes import FAILURES, one_line_errors

app = typer.Typer(
    help="Prepare datasets and check them before an evaluation.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@app.callback()
def _data() -> None:
    """Prepare datasets, and check them before evaluating on them."""


@app.command("check")
def check_dataset(
    name: Annotated[
        str, typer.Argument(help="A dataset from `segarena list datasets`, or file.py:Class.")
    ],
    path: Annotated[str | None, typer.Argument(help="Its folder, if it needs one.")] = None,
) -> None:
    """Read every file of a dataset; report what is there, what is odd, and exactly what is missing.

        segarena data check demo

        segarena data check folder photos

    Exit code 0: usable; 1: something is wrong; 2: there is nothing to look at.
    """
    with one_line_errors():
        spec = PluginSpec.parse(name)
        if path is not None:
            spec = PluginSpec(
                spec.reference, {_folder_option(spec.reference): path, **spec.options}
            )
        dataset = build("dataset", spec)
        findings = list(dataset.check())
        for finding in findings:
            typer.secho(
                ("error: " if finding.is_error else "") + finding.message,
                fg="red" if finding.is_error else None,
            )
    if any(finding.is_error for finding in findings):
        raise typer.Exit(FAILURES)


def _folder_option(dataset: str) -> str:
    """Return the option of a dataset that is its folder: `path`, or else the first that must be given."""
    options = options_of(find("dataset", dataset))
    required = [option.name for option in options if option.is_required]
    if not required or "path" in [option.name for option in options]:
        return "path"
    return required[0]
