"""`segarena data`: preparation and checks of datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segarena.cli.check import show_findings
from segarena.datasets.dataset_spec import is_folder_of_data
from segarena.datasets.folder_detection import detect_dataset
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


@app.command("check-dataset")
def check_dataset(
    name: Annotated[
        str,
        typer.Argument(help="Name from `segarena list datasets`, file.py:Class, or a folder."),
    ],
    path: Annotated[
        str | None, typer.Argument(help="Folder of the dataset, if it needs one.")
    ] = None,
) -> None:
    """Read every file of a dataset and report counts, anomalies and missing files.

        segarena data check-dataset demo

        segarena data check-dataset folder photos

        segarena data check-dataset photos

    The layout of a folder is detected; the first line says which dataset is used.

    Exit code 0: usable; 1: errors were found; 2: there is no such dataset.
    """
    with one_line_errors():
        if path is None and is_folder_of_data(name):
            detected = detect_dataset(Path(name).expanduser())
            typer.echo(f"dataset: {detected}")
            spec = detected.spec
        else:
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
    """Return the name of a dataset's option for its folder: `path` if it exists, else the first required option."""
    options = options_of(find("dataset", dataset))
    required = [option.name for option in options if option.is_required]
    if not required or "path" in [option.name for option in options]:
        return "path"
    return required[0]
