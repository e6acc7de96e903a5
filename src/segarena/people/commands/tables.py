"""`segarena people check`: tables of prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segarena.terminal.exits import FAILURES, one_line_errors


def check(table: Annotated[Path, typer.Argument(help="A table of people's prompts (Parquet).")]) -> None:
    """Say what is in a table of people's prompts, and what is wrong with it.

        segarena people check prompts.parquet

    Exit code 0: usable; 1: something is wrong; 2: it cannot be read.
    """
    from segarena.people.checks import check_prompts
    from segarena.people.table import read_frame

    with one_line_errors():
        frame = read_frame(table)
        findings = check_prompts(frame)
    typer.echo(f"{frame.height} prompts of {frame['person'].n_unique()} people")
    for finding in findings:
        mark = "error: " if finding.is_error else ""
        typer.secho(mark + finding.message, fg="red" if finding.is_error else None)
    if any(finding.is_error for finding in findings):
        raise typer.Exit(FAILURES)
