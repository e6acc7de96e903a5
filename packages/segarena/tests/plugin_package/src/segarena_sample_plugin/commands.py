"""`segarena sample`: a group with one command."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Commands of the sample package.", no_args_is_help=True)


@app.callback()
def sample() -> None:
    """Commands of the sample package."""


@app.command()
def rounds(run: Annotated[Path, typer.Argument(help="A run folder.")]) -> None:
    """Count the rounds of a run."""
    from segarena.reports.recorded_run import read_runs

    (read,) = read_runs([run])
    typer.echo(f"{sum(len(dialogue.prompts) for dialogue in read.dialogues)} rounds")
