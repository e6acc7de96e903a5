"""`segarena data`: preparation and checks of datasets."""

from __future__ import annotations

from typing import Annotated

import typer

from segarena.cli.check import show_findings
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
        str, typer.Argument(help="Name from `segarena list datasets`, or file.py:Class.")
    ],
    path: Annotated[
        str | None, typer.Argument(help="Folder of the dataset, if it needs one.")
    ] = None,
) -> None:
    """Read every file of a dataset and report counts, anomalies and missing files.

        segarena data check demo

        segarena data check folder photos

    Exit code 0: usable; 1: errors were found; 2: there is no such dataset.
    """
    with one_line_errors():
        spec = PluginSpec.parse(name)
        if path is not None:
            spec = PluginSpec(
                spec.reference, {_folder_option(spec.reference): path, **spec.options}
            )
        dataset = build("dataset", spec)
        findings = list(dataset.check())
        show_findings(findings)
    if any(finding.is_error for finding in findings):
        raise typer.Exit(FAILURES)


def _folder_option(dataset: str) -> str:
    """Return the name of the option for the folder of a dataset: `path`, or else the first required one."""
    options = options_of(find("dataset", dataset))
    required = [option.name for option in options if option.is_required]
    if not required or "path" in [option.name for option in options]:
        return "path"
    return required[0]
