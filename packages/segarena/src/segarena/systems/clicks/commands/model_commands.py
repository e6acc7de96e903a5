"""`segarena click-data` commands that train click models and compare models, display modes and devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from segarena.errors import InvalidInput
from segarena.files.atomic_write import write_atomic
from segarena.options import parse_protocol
from segarena.plugin_spec import PluginSpec
from segarena.registry import build
from segarena.systems.clicks.commands.command_inputs import (
    DatasetOption,
    PreviousOption,
    RowsOption,
    TableFileOption,
    TableOption,
    build_dataset,
    match_and_report,
    read_clicked_instances,
    track_progress,
)
from segarena.systems.clicks.commands.means_table import show_means
from segarena.systems.clicks.crowd.clicks_table import read_clicks, read_display_modes
from segarena.systems.clicks.crowd.clicks_table_matching import clicked_instances, target_loader
from segarena.systems.clicks.crowd.instances import ClickedInstances
from segarena.systems.clicks.network.training_options import (
    PUBLISHED_OPTIONS,
    TINY_OPTIONS,
    TrainingOptions,
)
from segarena.systems.clicks.page.click_comparisons import (
    device_rows,
    difference_rows,
    display_mode_rows,
    evaluate_click_models,
    quality_rows,
)
from segarena.systems.clicks.page.training_curves import training_svg
from segarena.terminal.exit_codes import one_line_errors
from segarena.terminal.sheet_output import check_table_path

QUALITY_FORMATS = {"pl1": ".3f", "wd": ".3f", "ks": ".2f", "nss": ".2f", "pde": ".2e"}
DIFFERENCE_FORMATS = {"pl1": "+.3f", "wd": "+.3f", "ks": "+.2f", "nss": "+.2f", "pde": "+.2e"}
MODE_FORMATS = {"pl1": ".3f", "ks": ".2f", "wd": ".3f"}
DEVICE_FORMATS = {"ks": ".2f", "wd": ".3f", "pl1": ".3f"}


def judge_command(
    table: TableOption,
    dataset: DatasetOption,
    model: Annotated[
        list[str],
        typer.Option(
            "--model",
            "-m",
            help="A click model, or NAME=MODEL; repeat the option for several models.",
        ),
    ],
    previous_masks: PreviousOption = None,
    rows_of: RowsOption = None,
    draws: Annotated[int, typer.Option(help="Number of click sets sampled from each map.")] = 100,
    seed: Annotated[int, typer.Option(help="Seed for sampling.")] = 0,
    limit: Annotated[int | None, typer.Option(help="Use only the first N instances.")] = None,
    protocol: Annotated[str, typer.Option(help="Protocol: careful or published.")] = "careful",
    against: Annotated[
        str | None,
        typer.Option(
            help="Also compare each of the other models with this one, paired by instance."
        ),
    ] = None,
    out: TableFileOption = None,
    instances_out: Annotated[
        Path | None,
        typer.Option("--instances", help="Write the values of every instance to this CSV file."),
    ] = None,
) -> None:
    """Compare click models with real clicks by PL1, WD, KS, NSS and PDE for each kind of round.

    Intervals are 95 % confidence intervals over images. Lower is better for PL1 and WD, higher for
    KS, NSS and PDE. KS is the share of sampled click sets that a Kolmogorov-Smirnov test cannot
    distinguish from the real clicks.

        segarena click-data judge clicks.csv --dataset demo --model depth --model uniform

        segarena click-data judge clicks.csv -d demo -m "mine=network(path='run/best.pt')" -m depth
        --against mine -o q.csv
    """
    with one_line_errors():
        check_table_path(out)
        rules = parse_protocol(protocol)
        specs = [PluginSpec.parse_named(text) for text in model]
        named = {spec.name: spec for spec in specs}
        if against is not None and (against not in named or len(named) < 2):
            raise InvalidInput(
                f"--against {against}: expected one of several models, got {', '.join(named)}"
            )
        if len(named) != len(model):
            raise InvalidInput(f"each model may be named once, got {', '.join(model)}")
        models = {name: build("click-model", spec) for name, spec in named.items()}
        images = build_dataset(dataset)
        _, instances = read_clicked_instances(table, images, rows_of, previous_masks)
        chosen = instances if limit is None else instances[:limit]
        skipped, on_skip = _skip_recorder()
        tracked = track_progress(chosen, len(chosen), "judging")
        evaluations = evaluate_click_models(
            tracked,
            models,
            draws=draws,
            seed=seed,
            protocol=rules,
            on_skip=on_skip,
        )
        _report_skipped(skipped)
        title = f"Click models on {images.name} ({rules} protocol, {draws} draws)"
        names = ["dataset", "round", "model"]
        show_means(title, names, quality_rows(evaluations), QUALITY_FORMATS, out)
        if against is not None:
            differences = difference_rows(evaluations, against)
            differences_out = out and out.with_stem(f"{out.stem}-differences")
            show_means(
                f"Differences from {against}",
                names,
                differences,
                DIFFERENCE_FORMATS,
                differences_out,
            )
        if instances_out is not None:
            import polars as pl

            rows = [evaluation.row() for evaluation in evaluations]
            write_atomic(instances_out, pl.DataFrame(rows).write_csv())


def compare_modes_command(
    table: Annotated[
        Path, typer.Argument(help="Clicks table whose column `dataset` contains the display mode.")
    ],
    dataset: DatasetOption,
    out: TableFileOption = None,
) -> None:
    """Compare clicks on targets shown in each display mode with clicks on targets described in text.

    segarena click-data compare-modes previews.csv --dataset "tetris(path='TETRIS')"
    """
    with one_line_errors():
        check_table_path(out)
        images = build_dataset(dataset)
        with Console(stderr=True).status("comparing"):
            rows = display_mode_rows(read_display_modes(table), target_loader(images), images.name)
        show_means("Display modes against Text_Description", ["mode"], rows, MODE_FORMATS, out)


def compare_devices_command(
    table: TableOption,
    dataset: DatasetOption,
    rows_of: RowsOption = None,
    least_clicks: Annotated[
        int, typer.Option(help="Skip instances with fewer clicks than this on either device.")
    ] = 10,
    protocol: Annotated[
        str,
        typer.Option(
            help="Protocol: careful; or published, which also uses the columns of PC clicks as their rows."
        ),
    ] = "careful",
    out: TableFileOption = None,
) -> None:
    """Compare mouse clicks with clicks on a phone, on the same instances.

    segarena click-data compare-devices clicks.csv --dataset demo
    """
    with one_line_errors():
        check_table_path(out)
        rules = parse_protocol(protocol)
        images = build_dataset(dataset)
        matched = match_and_report(read_clicks(table), images, rows_of)
        skipped, on_skip = _skip_recorder()
        with Console(stderr=True).status("comparing"):
            rows = device_rows(
                matched.table,
                target_loader(images),
                least_clicks=least_clicks,
                protocol=rules,
                on_skip=on_skip,
            )
        _report_skipped(skipped, f"fewer than {least_clicks} clicks on a device")
        if not rows:
            raise InvalidInput(
                f"no instance has {least_clicks} clicks on each device; lower --least-clicks"
            )
        show_means(f"Phone against PC ({rules} protocol)", ["dataset"], rows, DEVICE_FORMATS, out)


def train_command(
    table: TableOption,
    dataset: DatasetOption,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="Folder for the checkpoints; training resumes from existing ones."
        ),
    ],
    previous_masks: PreviousOption = None,
    rows_of: RowsOption = None,
    size: Annotated[
        str,
        typer.Option(
            help="Size of the network: b (the paper's), s, t, or tiny, which trains in minutes on a CPU."
        ),
    ] = "b",
    epochs: Annotated[
        int | None,
        typer.Option(help="Number of passes over the instances. [default: 20; tiny: 14]"),
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(help="Number of instances per step. [default: 16; tiny: 8]")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="Highest learning rate. [default: 0.01; tiny: 0.005]")
    ] = None,
    sigma: Annotated[
        list[float] | None,
        typer.Option(
            help="Blur of the click maps; repeat to train one network per value. [default: 5; tiny: 20]"
        ),
    ] = None,
    validation_share: Annotated[
        float,
        typer.Option(help="Share of images used for validation, which selects the best epoch."),
    ] = 0.2,
    initial: Annotated[Path | None, typer.Option(help="Checkpoint to start from.")] = None,
    device: Annotated[
        str, typer.Option(help="Device of the network: auto, cpu, cuda, ...")
    ] = "auto",
    seed: Annotated[
        int,
        typer.Option(help="Seed for weights, order, flips and the choice of validation images."),
    ] = 0,
    workers: Annotated[
        int, typer.Option("--workers", "-w", help="Number of processes that prefetch images.")
    ] = 0,
    cached: Annotated[
        bool,
        typer.Option(
            help="Keep prepared instances in memory; each takes 24 bytes per pixel of the network's canvas."
        ),
    ] = True,
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="Use the learning-rate schedule and map smoothing of the published script.",
        ),
    ] = False,
) -> None:
    """Train the clickability network on a clicks table. Needs torch.

    After each epoch, FOLDER contains last.pt and best.pt. Running the same command again resumes an
    interrupted training. At the end, history.csv and curves.svg show losses and validation
    measures. If --sigma is repeated, the files of each value are in a subfolder.

        segarena click-data train clicks.csv --dataset demo --out network --size tiny
    """
    with one_line_errors(
        "stopped; completed epochs are kept, and the same command continues after them"
    ):
        import polars as pl

        from segarena.systems.clicks.network.training import TrainingResult, train_network

        if published:
            base = PUBLISHED_OPTIONS
        elif size == "tiny":
            base = TINY_OPTIONS
        else:
            base = TrainingOptions()
        overrides = {"epochs": epochs, "batch_size": batch_size, "rate": rate, "seed": seed}
        stated = {name: value for name, value in overrides.items() if value is not None}
        options = replace(base, **stated)
        images = build_dataset(dataset)
        rows = match_and_report(read_clicks(table), images, rows_of).table
        parts: list[ClickedInstances] = []
        for stems in _split_images(rows["image_stem"].to_list(), validation_share, seed):
            chosen = rows.filter(rows["image_stem"].is_in(stems))
            parts.append(clicked_instances(chosen, images, previous_masks=previous_masks))
        typer.echo(
            f"instances for training: {len(parts[0])}, for validation: {len(parts[1])}",
            err=True,
        )
        # A single sigma trains in the folder itself; several sigmas get one subfolder each.
        sigmas = sigma or [options.sigma]
        folders = [out] if len(sigmas) == 1 else [out / f"sigma_{value:g}" for value in sigmas]
        results: dict[Path, TrainingResult] = {}
        for folder, value in zip(folders, sigmas, strict=True):
            results[folder] = train_network(
                parts[0],
                parts[1],
                folder,
                size=size,
                options=replace(options, sigma=value),
                initial=initial,
                device=device,
                workers=workers,
                is_cached=cached,
                progress=_print_epoch,
            )
        for folder, result in results.items():
            history = pl.DataFrame(list(result.history))
            write_atomic(folder / "history.csv", history.write_csv())
            curves = folder / "curves.svg"
            write_atomic(curves, training_svg(result.history))
            typer.echo(f"best epoch: {result.best}   curves: {curves}")
            model = f"network(path='{result.best}')"
            typer.echo(
                f'compare this model with real clicks on other images: segarena click-data judge ... -m "{model}"'
            )


def _split_images(
    stems: Sequence[str],
    share: float,
    seed: int,
) -> tuple[list[str], list[str]]:
    """Split the images at random into training and validation sets, each with at least one image."""
    import numpy as np

    images = sorted(set(stems))
    if not 0 < share < 1 or len(images) < 2:
        raise InvalidInput(
            f"expected a validation share in (0, 1) and two images or more, got share {share} and images: {len(images)}"
        )
    count = min(len(images) - 1, max(1, round(share * len(images))))
    order = np.random.default_rng(seed).permutation(len(images)).tolist()
    validation = [images[i] for i in order[:count]]
    training = [images[i] for i in order[count:]]
    return training, validation


def _print_epoch(row: dict[str, float]) -> None:
    measures = [f"{name} {value:.4g}" for name, value in row.items() if name != "epoch"]
    typer.echo(f"epoch {row['epoch']:g}: {', '.join(measures)}", err=True)


def _skip_recorder() -> tuple[list[tuple[str, str]], Callable[[str, str], None]]:
    """Return an empty list, and a callback that appends (instance, reason) to it."""
    skipped: list[tuple[str, str]] = []

    def on_skip(name: str, reason: str) -> None:
        skipped.append((name, reason))

    return skipped, on_skip


def _report_skipped(skipped: Sequence[tuple[str, str]], common_reason: str = "") -> None:
    """Report skipped instances on stderr: one line per reason, with the first instance as an example.

    `common_reason` replaces the reason of every instance.
    """
    names_by_reason: dict[str, list[str]] = {}
    for name, reason in skipped:
        names_by_reason.setdefault(common_reason or reason, []).append(name)
    for reason, names in names_by_reason.items():
        text = f"skipped instances ({len(names)}), for example {names[0]}: {reason}"
        typer.secho(text, fg="yellow", err=True)
