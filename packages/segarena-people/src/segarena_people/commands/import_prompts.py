"""`segarena people formats` and `segarena people import`: published prompts as collections."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from segarena.reports.cells import Column
from segarena.reports.sheets import Sheet
from segarena.terminal.exit_codes import FAILURES, one_line_errors
from segarena.terminal.progress import ProgressBar
from segarena.terminal.sheet_output import show_sheet
from segarena_people.import_format import ImportFormat, ImportInputs, find_format
from segarena_people.import_format import import_formats as known
from segarena_people.prompt_import import import_prompts
from segarena_people.target_masks import TargetMasks

if TYPE_CHECKING:
    from collections.abc import Iterable


_REASONS_SHOWN = 5


def formats_command(
    name: Annotated[
        str | None, typer.Argument(help="A format; without it, all are listed.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the table here, .csv or .tex.")
    ] = None,
) -> None:
    """List the import formats of people's prompts, with their contents and terms.

    segarena people formats
    """
    with one_line_errors():
        show_sheet(_sheet([find_format(name)] if name else known().values()), out)


def _sheet(known: Iterable[ImportFormat]) -> Sheet:
    head = (
        Column("format", "text"),
        *(Column(text, "words") for text in ("source", "beside it", "holds", "terms", "from")),
    )
    rows = tuple(
        (one.name, one.source, one.beside, one.holds, one.terms, one.origin) for one in known
    )
    return Sheet(name="formats", caption="Formats of people's prompts", head=head, rows=rows)


def import_command(
    form: Annotated[str, typer.Argument(metavar="FORMAT", help="See `segarena people formats`.")],
    source: Annotated[Path, typer.Argument(help="The published file or folder.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to create.")],
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", "-d", help="The dataset that people saw, as for `segarena run`."),
    ] = None,
    masks: Annotated[Path | None, typer.Option(help="Folder with object masks.")] = None,
    previous: Annotated[
        Path | None,
        typer.Option("--previous-masks", help="Folder with corrected masks."),
    ] = None,
    most: Annotated[
        int | None, typer.Option(min=1, help="Import only this many files, images or objects.")
    ] = None,
) -> None:
    """Import published prompts and masks into a folder, a collection; see docs/people.md.

        segarena people import medscribble ScribblePrompt/MedScribble --out collections/medscribble

    The folder appears once it is complete. Exit code 0: all was read; 1: something was left out,
    and is listed; 2: nothing can be read.
    """
    with one_line_errors("stopped; nothing was written"):
        found = find_format(form)
        beside = ImportInputs(
            masks=masks,
            previous=previous,
            targets=None if dataset is None else TargetMasks(dataset),
        )
        with ProgressBar("import", Console(stderr=True), unit="items") as bar:
            summary = import_prompts(
                found, source, out, beside=beside, most=most, on_progress=bar.update
            )
    typer.echo(f"{out}: {summary.prompts} prompts of {summary.people or 'unknown'} people")
    typer.echo(f"terms: {found.terms}")
    for finding in summary.findings:
        mark = "error: " if finding.is_error else ""
        typer.secho(mark + finding.message, fg="red" if finding.is_error else None)
    if summary.left_out:
        typer.secho(
            f"left out: {len(summary.left_out)} of {summary.units}, such as", fg="yellow", err=True
        )
        for line in summary.left_out[:_REASONS_SHOWN]:
            typer.secho(line, fg="yellow", err=True)
    if summary.left_out or any(finding.is_error for finding in summary.findings):
        raise typer.Exit(FAILURES)
