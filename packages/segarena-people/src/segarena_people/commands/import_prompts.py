"""`segarena people formats` and `segarena people import`: import of published prompts into collections."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from segarena.reports.cells import Cell, Column
from segarena.reports.sheets import Sheet
from segarena.reports.wording import count_text
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
        str | None, typer.Argument(help="A format; all formats are listed by default.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the table to this file, .csv or .tex.")
    ] = None,
) -> None:
    """List the import formats for people's prompts, with their contents and terms of use.

    segarena people formats
    """
    with one_line_errors():
        formats = [find_format(name)] if name else known().values()
        show_sheet(_sheet(formats), out)


def _sheet(known: Iterable[ImportFormat]) -> Sheet:
    columns: list[Column] = []
    for text in ("source", "additional input", "contents", "terms", "origin"):
        columns.append(Column(text, "words"))
    head = (Column("format", "text"), *columns)
    rows: list[tuple[Cell, ...]] = []
    for one in known:
        rows.append((one.name, one.source, one.beside, one.holds, one.terms, one.origin))
    return Sheet(
        name="formats",
        caption="Formats of people's prompts",
        head=head,
        rows=tuple(rows),
    )


def import_command(
    form: Annotated[
        str,
        typer.Argument(
            metavar="FORMAT", help="Format of the source; see `segarena people formats`."
        ),
    ],
    source: Annotated[Path, typer.Argument(help="The published file or folder.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to create.")],
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", "-d", help="The dataset shown to people, as for `segarena run`."),
    ] = None,
    masks: Annotated[Path | None, typer.Option(help="Folder with object masks.")] = None,
    previous: Annotated[
        Path | None,
        typer.Option("--previous-masks", help="Folder with corrected masks."),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option(min=1, help="Import only the first N units: files, images or objects."),
    ] = None,
) -> None:
    """Import published prompts and masks into a collection folder; see docs/people.md.

        segarena people import medscribble ScribblePrompt/MedScribble --out collections/medscribble

    The folder appears only after the import is complete. Exit code 0: everything was imported; 1:
    something was skipped, or the table has errors; 2: nothing could be imported.
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
                found,
                source,
                out,
                beside=beside,
                most=most,
                dataset=dataset or "",
                on_progress=bar.update,
            )
    people = count_text(summary.people, "person", "people") if summary.people else "unknown people"
    typer.echo(f"{out}: {count_text(summary.prompts, 'prompt')} of {people}")
    typer.echo(f"terms: {found.terms}")
    for finding in summary.findings:
        mark = "error: " if finding.is_error else ""
        typer.secho(mark + finding.message, fg="red" if finding.is_error else None)
    if summary.left_out:
        typer.secho(
            f"skipped: {len(summary.left_out)} of {summary.units} units, such as",
            fg="yellow",
            err=True,
        )
        for line in summary.left_out[:_REASONS_SHOWN]:
            typer.secho(line, fg="yellow", err=True)
    if summary.left_out or any(finding.is_error for finding in summary.findings):
        raise typer.Exit(FAILURES)
