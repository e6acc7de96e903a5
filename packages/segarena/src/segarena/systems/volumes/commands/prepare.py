"""`segarena data prepare`: the radiology sets of RadioActive, from their downloads to folders that can be judged on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from segarena.terminal.exits import FAILURES, one_line_errors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from segarena.systems.volumes.preparation.prepare import PreparationResult
    from segarena.systems.volumes.preparation.published_set import PublishedSet

_SHOWN = 5


def prepare(
    name: Annotated[
        str | None, typer.Argument(help="One of the ten; without it, they are listed.")
    ] = None,
    download: Annotated[
        Path | None,
        typer.Option("--from", help="Folder with what was downloaded. [default: downloads/NAME]"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder to fill. [default: prepared/NAME]")
    ] = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="First download what is missing.")] = False,
    password: Annotated[
        str | None,
        typer.Option(
            help="Of encrypted archives; the providers give it to you.",
            envvar="SEGARENA_ARCHIVE_PASSWORD",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first N cases, to try it.")
    ] = None,
    workers: Annotated[
        int,
        typer.Option("--workers", "-w", min=0, help="Processes; 0 works in this one, without any."),
    ] = 0,
    listing: Annotated[
        bool, typer.Option("--list", help="Show the ten sets and what each needs.")
    ] = False,
) -> None:
    """Prepare a radiology set of RadioActive: fetch, unpack, convert, count. What is skipped is named.

        segarena data prepare

        segarena data prepare pengwin --fetch

        segarena data prepare lnq --from DIR/lnq --out DIR/prepared/lnq

    Run it again and it goes on where it stopped. Exit code 0: as the paper states; 1: cases failed, or their
    number is another; 2: nothing could be prepared.
    """
    from segarena.systems.volumes.preparation.catalogue import SETS, find_set
    from segarena.terminal.progress import ProgressBar

    with one_line_errors("stopped; run it again to go on"):
        if name is None or listing:
            _show_sets([find_set(name)] if name else SETS.values())
            return
        published = find_set(name)
        source = download or Path("downloads") / name
        from segarena.systems.volumes.preparation.file_download import download_files as fetch_files
        from segarena.systems.volumes.preparation.prepare import prepare_set

        console = Console(stderr=True)
        if fetch:
            with ProgressBar("fetch", console, unit="files", rate="MB", workers=workers) as bar:
                fetch_files(published.source, source, workers=workers, on_progress=bar.update)
        with ProgressBar(name, console, unit="cases", workers=workers) as bar:
            prepared = prepare_set(
                published,
                source,
                out or Path("prepared") / name,
                password=password,
                limit=limit,
                workers=workers,
                on_progress=bar.update,
            )
        _report(published, prepared)
    if not (prepared.is_as_stated or (prepared.is_partial and not prepared.failed)):
        raise typer.Exit(FAILURES)


def _show_sets(sets: Iterable[PublishedSet]) -> None:
    for one in sets:
        head = f"{one.name:<11} {one.paper:<4} {one.modality}  {one.cases:>3} cases  {one.size_gb:>4g} GB  {one.title}"
        if one.source.needs:
            needs = f"save {one.source.needs}"
        else:
            needs = f"nothing but --fetch, from {one.source.page}"
        for line in (head, f"    needs: {needs}", f"    terms: {one.licence}"):
            typer.echo(line)


def _report(published: PublishedSet, prepared: PreparationResult) -> None:
    from segarena.specs import PluginSpec

    objects = sum(count for case in prepared.cases for count in case.objects.values())
    typer.echo(
        f"{prepared.name}: {len(prepared.cases)} cases with {objects} objects; the paper states {prepared.stated} cases"
        f"{' (--limit)' if prepared.is_partial else ''}"
    )
    for title, cases in (("left out by the rule", prepared.left_out), ("failed", prepared.failed)):
        if cases:
            typer.echo(f"{len(cases)} {title}:")
        for case in list(cases)[:_SHOWN]:
            typer.echo(f"  {case}: {cases[case]}")
        if len(cases) > _SHOWN:
            typer.echo(f"  and {len(cases) - _SHOWN} more, all in prepared.json")
    for folder, output in zip(prepared.folders, published.outputs, strict=True):
        options = {"path": folder.as_posix()}
        if output.kind == "instance":
            options["labels"] = "instance"
        if output.tissue:
            options["kind"] = output.tissue
        typer.echo(f'use it with --dataset "{PluginSpec("nifti-folder", options)}"')
