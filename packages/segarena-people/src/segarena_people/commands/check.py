"""`segarena people check-prompts`: validation of prompt tables and of the masks in a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segarena.reports.wording import count_text
from segarena.terminal.exit_codes import FAILURES, one_line_errors
from segarena_people.collection import TABLE_FILE, Collection
from segarena_people.prompt_checks import check_collection, check_prompts
from segarena_people.prompt_table import read_prompt_frame


def check_command(
    table: Annotated[
        Path,
        typer.Argument(
            help="A table of people's prompts (Parquet), or the folder of a collection."
        ),
    ],
) -> None:
    """Summarize a table of people's prompts and list its problems; if there are no errors, check a folder's masks too.

        segarena people check-prompts prompts.parquet

        segarena people check-prompts collections/medscribble

    Exit code 0: usable; 1: the table or a mask has errors; 2: the table cannot be read.
    """
    with one_line_errors():
        frame = read_prompt_frame(table / TABLE_FILE if table.is_dir() else table)
        findings = check_prompts(frame)
        if table.is_dir() and not any(finding.is_error for finding in findings):
            findings += check_collection(Collection.open(table))
    people = frame["person"].unique().to_list()
    known = len([name for name in people if name])
    told = count_text(known, "person", "people") if known else "unknown people"
    typer.echo(f"{count_text(frame.height, 'prompt')} of {told}")
    for finding in findings:
        mark = "error: " if finding.is_error else ""
        typer.secho(mark + finding.message, fg="red" if finding.is_error else None)
    if any(finding.is_error for finding in findings):
        raise typer.Exit(FAILURES)
