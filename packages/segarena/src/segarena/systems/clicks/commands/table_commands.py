"""`segarena click-data` commands for clicks tables: create, check, count, filter and map clicks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress

from segarena.errors import InvalidInput, SampleInvalid
from segarena.files.atomic_write import open_atomic, write_atomic
from segarena.files.safe_paths import safe_join
from segarena.plugin_spec import PluginSpec
from segarena.registry import build
from segarena.reports.sheets import Sheet
from segarena.roles import Dataset
from segarena.systems.clicks.click_maps import click_map
from segarena.systems.clicks.commands.command_inputs import (
    DatasetOption,
    PreviousOption,
    RowsOption,
    TableFileOption,
    TableOption,
    build_dataset,
    match_and_report,
    read_clicked_instances,
    read_first_rounds,
    track_progress,
)
from segarena.systems.clicks.commands.map_pictures import save_click_picture
from segarena.systems.clicks.crowd.click_filter import filter_valid
from segarena.systems.clicks.crowd.clicks_table import (
    check_clicks,
    count_clicks,
    read_clicks,
    write_clicks,
)
from segarena.systems.clicks.crowd.clicks_table_matching import target_loader
from segarena.systems.clicks.crowd.instances import Instance, group_clicks, place_clicks
from segarena.systems.clicks.crowd.synthetic_crowd import collect_clicks, later_rounds
from segarena.terminal.exit_codes import FAILURES, one_line_errors
from segarena.terminal.sheet_output import check_table_path, show_sheet

if TYPE_CHECKING:
    import polars as pl


def check_command(
    table: TableOption,
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", "-d", help="Also check the table against these images."),
    ] = None,
    rows_of: RowsOption = None,
) -> None:
    """Report the contents and the problems of a clicks table.

        segarena click-data check-table clicks.csv --dataset demo

    Exit code 0: the table is usable; 1: the table has errors or does not match the dataset; 2: the table is unreadable.
    """
    with one_line_errors():
        clicks = read_clicks(table, is_checked=False)
        expected: list[str] = []
        if dataset is not None:
            images = build_dataset(dataset)
            expected = [instance.full_stem for instance in read_first_rounds(images)]
        report = check_clicks(clicks, expected=expected)
        typer.echo(f"{report.rows} clicks on {report.instances} instances")
        has_errors = any(finding.is_error for finding in report.findings)
        for finding in report.findings:
            if finding.is_error:
                typer.secho(f"error: {finding.message}", fg="red")
            else:
                typer.secho(finding.message)
        if dataset is not None and not has_errors:
            matched = match_and_report(clicks, build_dataset(dataset), rows_of)
            wrong = _count_mismatches(matched.table, build_dataset(dataset))
            colour = "red" if wrong else None
            message = f"{wrong} instances have an image of another size or an unknown object"
            typer.secho(message, fg=colour)
            has_errors = wrong > 0
    if has_errors:
        raise typer.Exit(FAILURES)


def counts_command(table: TableOption, out: TableFileOption = None) -> None:
    """Count the clicks of each dataset, separately for first and later rounds.

    segarena click-data counts clicks.csv
    """
    with one_line_errors():
        check_table_path(out)
        counted = count_clicks(read_clicks(table))
        sheet = Sheet(
            name="counts",
            caption="Clicks",
            head=tuple(counted.columns),
            rows=tuple(counted.iter_rows()),
        )
        show_sheet(sheet, out)


def filter_command(
    raw: Annotated[
        Path,
        typer.Argument(
            help="A clicks table with a column `batch`, which identifies clicks made in one task."
        ),
    ],
    dataset: DatasetOption,
    out: Annotated[Path, typer.Option("--out", "-o", help="Write the valid clicks to this file.")],
    dropped: Annotated[
        Path | None,
        typer.Option(help="Write the invalid clicks to this file, with a column `reason`."),
    ] = None,
    previous_masks: PreviousOption = None,
    rows_of: RowsOption = None,
    required_share: Annotated[
        float, typer.Option(help="Share of a batch's clicks that must fall inside their objects.")
    ] = 0.7,
    radius_share: Annotated[
        float, typer.Option(help="Click radius as a share of the image diagonal.")
    ] = 0.01,
) -> None:
    """Keep the valid clicks of a raw collection, and report the dropped clicks with the reason.

    By default, a batch is valid if at least 7 of its 10 clicks fall inside their objects. A click
    of a valid batch is valid if it is inside its object or at most one click radius away.

        segarena click-data filter raw.csv --dataset demo --out clicks.csv
    """
    import numpy as np

    with one_line_errors():
        images = build_dataset(dataset)
        table, instances = read_clicked_instances(raw, images, rows_of, previous_masks)
        with Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("filtering", total=len(instances))
            stems = table["full_stem"].unique(maintain_order=True)
            index_of = {stem: index for index, stem in enumerate(stems)}

            def mask_of(full_stem: str) -> Any:
                progress.advance(task)
                return np.asarray(instances[index_of[full_stem]].error >= 0.5)

            valid = filter_valid(
                table, mask_of, required_share=required_share, radius_share=radius_share
            )
        write_clicks(valid.kept, out)
        if dropped is not None:
            write_clicks(valid.dropped, dropped)
        typer.echo(f"{valid}\nwritten: {out}")


def maps_command(
    table: TableOption,
    dataset: DatasetOption,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the maps and the pictures.")],
    previous_masks: PreviousOption = None,
    rows_of: RowsOption = None,
    sigma: Annotated[
        float,
        typer.Option(
            help="Blur in pixels of a Full-HD image; in other images it scales with the diagonal."
        ),
    ] = 5.0,
    radius: Annotated[
        str,
        typer.Option(
            help="Smoothing radius of the error: paper (as in the paper) or published (as in the published code)."
        ),
    ] = "paper",
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="Also draw the map of this click model (or NAME=MODEL); repeat the option for several models.",
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Use only the first N instances.")] = None,
) -> None:
    """Compute a click map for each instance, and draw it over the photograph.

    Maps are written to FOLDER/maps/FULL_STEM.npz as the array `map`, which sums to 1. Pictures are
    written to FOLDER/pictures/FULL_STEM.jpg and can also show the maps of click models.

        segarena click-data maps clicks.csv --dataset demo --out maps --limit 20

        segarena click-data maps clicks.csv -d demo -o maps -m depth -m
        "mine=network(path='run/best.pt')"
    """
    import numpy as np

    with one_line_errors("stopped; the maps computed so far are kept"):
        if radius not in ("paper", "published"):
            raise InvalidInput(f"--radius {radius}: expected paper or published")
        specs = [PluginSpec.parse_named(text) for text in model or ()]
        models = {spec.name: build("click-model", spec) for spec in specs}
        images = build_dataset(dataset)
        _, instances = read_clicked_instances(table, images, rows_of, previous_masks)
        wanted = instances if limit is None else instances[:limit]
        for instance in track_progress(wanted, len(wanted), "maps"):
            values = click_map(instance.positions, instance.error, sigma=sigma, radius=radius)
            name = instance.full_stem.replace("/", "__")
            with open_atomic(safe_join(out / "maps", f"{name}.npz")) as file:
                np.savez_compressed(file, map=values)
            inputs = (instance.image, instance.target, instance.error)
            model_maps = {key: click_model(*inputs) for key, click_model in models.items()}
            picture = safe_join(out / "pictures", f"{name}.jpg")
            save_click_picture(picture, instance, values, model_maps)
        # Imported here to keep `--help` fast.
        from segarena.reports.wording import count_text

        typer.echo(f"{count_text(len(wanted), 'map')}: {out}/maps, {out}/pictures")


def crowd_command(
    dataset: DatasetOption,
    out: Annotated[Path, typer.Option("--out", "-o", help="Write the clicks table to this file.")],
    clicks: Annotated[int, typer.Option(help="Clicks per instance.")] = 48,
    seed: Annotated[int, typer.Option(help="Seed for all random numbers.")] = 0,
    previous_masks: Annotated[
        Path | None,
        typer.Option(
            "--previous-masks",
            help="Also simulate later rounds, and write their previous masks to this folder.",
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Use only the first N images.")] = None,
) -> None:
    """Simulate a crowd that clicks on a dataset, to try out the other commands. Its clicks are not human data.

    segarena click-data crowd --dataset demo --out raw.csv --previous-masks masks
    """
    import cv2
    import numpy as np

    with one_line_errors():
        first_rounds = list(read_first_rounds(build_dataset(dataset), limit))
        later: list[Instance] = []
        if previous_masks is not None:
            previous_masks.mkdir(parents=True, exist_ok=True)
            for first_round in first_rounds:
                later += later_rounds(first_round, seed=seed)
            for instance in later:
                file = safe_join(previous_masks, f"{instance.full_stem}.png")
                if instance.previous is not None:
                    grey = np.rint(255 * instance.previous).astype(np.uint8)
                    png = cv2.imencode(".png", grey)[1]
                    write_atomic(file, png.tobytes())
        # First rounds come before later rounds, because the table's rows are in the order of the
        # instances.
        instances = [*first_rounds, *later]
        with Console(stderr=True).status("simulating clicks"):
            table = collect_clicks(instances, clicks=clicks, seed=seed)
        write_clicks(table, out)
        # Imported here to keep `--help` fast.
        from segarena.reports.wording import count_text

        crowd_clicks = count_text(table.height, "click")
        clicked = count_text(len(instances), "instance")
        typer.echo(f"{crowd_clicks} of a synthetic crowd on {clicked}: {out}")


def _count_mismatches(table: pl.DataFrame, dataset: Dataset) -> int:
    """Count first-round instances whose image size differs from the table or whose object is missing."""
    import polars as pl

    load = target_loader(dataset)
    mismatches = 0
    first_clicks = table.filter(pl.col("click_type") == "first")
    firsts = group_clicks(place_clicks(first_clicks))
    for row in track_progress(firsts.iter_rows(named=True), firsts.height, "comparing sizes"):
        try:
            _, target = load(row["dataset"], row["image_stem"], row["object_stem"])
        except SampleInvalid:
            mismatches += 1
            continue
        if target.shape != (row["height"], row["width"]):
            mismatches += 1
    return mismatches
