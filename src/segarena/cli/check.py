"""`segarena check`: is a run folder as it was written?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segarena.terminal.exits import FAILURES, one_line_errors


def check(run: Annotated[Path, typer.Argument(help="A run folder.")]) -> None:
    """Look at every file of a run: checksums, rounds in order, IoU against pixel counts; name what is damaged.

        segarena check runs/mine

    `segarena run ... --retry-damaged` makes what is damaged again. Exit code 0: sound; 1: something is wrong;
    2: there is no run, or run.json cannot be read.
    """
    from segarena.engine.checking import check_run

    with one_line_errors():
        findings = check_run(run)
        for finding in findings:
            typer.secho(
                ("error: " if finding.is_error else "") + finding.message, fg="red" if finding.is_error else None
            )
    if any(finding.is_error for finding in findings):
        raise typer.Exit(FAILURES)
