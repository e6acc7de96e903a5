"""`segarena people formats` and `segarena people import`: what others published, as collections."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from segarena.terminal.exits import FAILURES, one_line_errors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from segarena.reports.sheets import Sheet
    from segarena_people.import_format import ImportFormat

_SHOWN = 5


def formats_command(
    name: Annotated[
        str | None, typer.Argument(help="One of them; without it, all are listed.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the table here, .csv or .tex.")
    ] = None,
) -> None:
    """List the formats of people's prompts that can be imported, with what each holds and its terms.

    segarena people formats
    """
    from segarena.terminal.tables import show_sheet
    from segarena_people.import_format import find_format
    from segarena_people.import_format import import_formats as known

    with one_line_errors():
        show_sheet(_sheet([find_format(name)] if name else known().values()), out)


def _sheet(known: Iterable[ImportFormat]) -> Sheet:
    from segarena.reports.sheets import Column, Sheet

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
    source: Annotated[Path, typer.Argument(help="The file or folder that was published.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to be made.")],
    dataset: Annotated[
        str | None, typer.Option("--dataset", "-d", help="What was shown, as for `segarena run`.")
    ] = None,
    masks: Annotated[
        Path | None, typer.Option(help="Folder with the masks of the objects.")
    ] = None,
    previous: Annotated[
        Path | None,
        typer.Option("--previous-masks", help="Folder with the masks that were corrected."),
    ] = None,
    most: Annotated[
        int | None, typer.Option(min=1, help="Only the first so many files, images or objects.")
    ] = None,
) -> None:
    """Make a folder of prompts and masks of what others published: a collection; see docs/people.md.

        segarena people import medscribble ScribblePrompt/MedScribble --out collections/medscribble

    The folder is there once all of it is. Exit code 0: all was read; 1: something was left out, and is named;
    2: nothing can be read.
    """
    from segarena.terminal.progress import ProgressBar
    from segarena_people.import_format import ImportInputs, find_format
    from segarena_people.prompt_import import import_prompts
    from segarena_people.target_masks import TargetMasks

    with one_line_errors("stopped; nothing was written"):
        found = find_format(form)
        beside = ImportInputs(
            masks=masks,
            previous=previous,
            targets=None if dataset is None else TargetMasks(dataset),
        )
        with ProgressBar("import", Console(stderr=True), unit="items") as bar:
            brought = import_prompts(
                found, source, out, beside=beside, most=most, on_progress=bar.update
            )
    typer.echo(f"{out}: {brought.prompts} prompts of {brought.people or 'unknown'} people")
    typer.echo(f"terms: {found.terms}")
    for finding in brought.findings:
        mark = "error: " if finding.is_error else ""
        typer.secho(mark + finding.message, fg="red" if finding.is_error else None)
    if brought.left_out:
        typer.secho(
            f"left out: {len(brought.left_out)} of {brought.units}, such as", fg="yellow", err=True
        )
        for line in brought.left_out[:_SHOWN]:
            typer.secho(line, fg="yellow", err=True)
    if brought.left_out or any(finding.is_error for finding in brought.findings):
        raise typer.Exit(FAILURES)
