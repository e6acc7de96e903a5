"""`segarena data prepare`: convert the downloads of RadioActive's radiology datasets to dataset folders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from segarena.plugin_spec import PluginSpec
from segarena.systems.volumes.preparation.dataset_case_types import PublishedSet
from segarena.systems.volumes.preparation.dataset_catalogue import SETS, find_set
from segarena.systems.volumes.preparation.file_download import download_files as fetch_files
from segarena.systems.volumes.preparation.preparation_metadata_files import PreparationResult
from segarena.systems.volumes.preparation.prepare import prepare_set
from segarena.terminal.exit_codes import FAILURES, one_line_errors
from segarena.terminal.progress import ProgressBar

if TYPE_CHECKING:
    from collections.abc import Iterable


_MOST_LISTED = 5


def prepare(
    name: Annotated[
        str | None,
        typer.Argument(help="Name of one of the ten datasets; without it, all are listed."),
    ] = None,
    download: Annotated[
        Path | None,
        typer.Option("--from", help="Folder with the downloaded files. [default: downloads/NAME]"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Output folder. [default: prepared/NAME]")
    ] = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Download missing files first.")] = False,
    password: Annotated[
        str | None,
        typer.Option(
            help="Password for encrypted archives, as received from the data providers.",
            envvar="SEGARENA_ARCHIVE_PASSWORD",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Prepare only the first N cases, for a trial.")
    ] = None,
    workers: Annotated[
        int,
        typer.Option("--workers", "-w", min=0, help="Worker processes; 0 starts none."),
    ] = 0,
    listing: Annotated[
        bool, typer.Option("--list", help="Show the ten datasets and what each of them needs.")
    ] = False,
) -> None:
    """Prepare a radiology dataset of RadioActive: download, unpack and convert it, and list skipped cases.

        segarena data prepare

        segarena data prepare pengwin --fetch

        segarena data prepare lnq --from DIR/lnq --out DIR/prepared/lnq

    Running the command again resumes after an interruption. Exit code 0: no case failed, and their
    number is that of the paper or limited by --limit; 1: cases failed, or their number differs; 2:
    nothing could be prepared.
    """
    with one_line_errors("stopped; run the command again to continue"):
        if name is None or listing:
            _show_sets([find_set(name)] if name else SETS.values())
            return
        published = find_set(name)
        source = download or Path("downloads") / name

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
        numbers = f"{one.cases:>3} cases  {one.size_gb:>4g} GB"
        typer.echo(f"{one.name:<11} {one.paper:<4} {one.modality}  {numbers}  {one.title}")
        if one.source.needs:
            typer.echo(f"    first save: {one.source.needs}")
        else:
            typer.echo(f"    needs only --fetch, which downloads from {one.source.page}")
        typer.echo(f"    terms: {one.licence}")


def _report(published: PublishedSet, prepared: PreparationResult) -> None:
    # Imported here to keep `--help` fast.
    from segarena.reports.wording import count_text

    objects = sum(sum(case.objects.values()) for case in prepared.cases)
    limited = " (--limit)" if prepared.is_partial else ""
    typer.echo(
        f"{prepared.name}: {count_text(len(prepared.cases), 'case')} with {count_text(objects, 'object')}; "
        f"the paper states {prepared.stated} cases{limited}"
    )
    _report_cases("left out by the published rule", prepared.left_out)
    _report_cases("failed", prepared.failed)
    for folder, output in zip(prepared.folders, published.outputs, strict=True):
        options = {"path": folder.as_posix()}
        if output.kind == "instance":
            options["labels"] = "instance"
        if output.tissue:
            options["kind"] = output.tissue
        typer.echo(f'use it with --dataset "{PluginSpec("nifti-folder", options)}"')


def _report_cases(title: str, reasons: dict[str, str]) -> None:
    if not reasons:
        return
    typer.echo(f"{len(reasons)} {title}:")
    for case in list(reasons)[:_MOST_LISTED]:
        typer.echo(f"  {case}: {reasons[case]}")
    if len(reasons) > _MOST_LISTED:
        typer.echo(f"  and {len(reasons) - _MOST_LISTED} more, all in prepared.json")
