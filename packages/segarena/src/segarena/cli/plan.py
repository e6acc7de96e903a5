"""`segarena plan`: cost forecast of a run."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from segarena.cli.run_options import BenchmarkOptionsCommand, with_run_options
from segarena.engine.forecast import Forecast, forecast
from segarena.reports.wording import count_text
from segarena.terminal.progress import duration_text

COMMAND_CLASS = BenchmarkOptionsCommand


@with_run_options(leaves_out=("out",))
def plan(
    options: dict[str, Any],
    samples: Annotated[
        int, typer.Option(help="Maximum number of samples to time, spread over the dataset.")
    ] = 3,
) -> None:
    """Estimate the cost of a run (passes, hours, memory, disk) from a few samples.

    Accepts the options of `segarena run`. The trial takes at most about a tenth of the forecast time, plus startup
    and one encoder pass; for small datasets it runs only part of a sample. It leaves no files except in the folder of
    --cache.

        segarena plan rclicks --segmenter grabcut --dataset demo --workers 8
    """
    with Console(stderr=True).status("starting") as status:
        cost = forecast(
            timed=samples,
            on_sample=lambda done, tried: status.update(f"timing: {done} of {tried} done"),
            **options,
        )
    _show(cost, options)


def _show(cost: Forecast, options: dict[str, Any]) -> None:
    samples = count_text(cost.samples, cost.sample_word)
    typer.echo(
        f"{options['benchmark']} · {options['segmenter']}, from {cost.timed} of {samples} timed"
    )
    for name, text in forecast_rows(cost):
        typer.echo(f"{name:<16}{text}")
    if cost.predictions < cost.predictions_at_most:
        typer.echo(
            f"Some dialogues of the timed {cost.sample_word}s ended early; if none does, "
            'the "at most" values apply.'
        )
    else:
        typer.echo(
            f"No dialogue of the timed {cost.sample_word}s ended early, so this is an upper estimate."
        )
    if cost.failures:
        typer.secho(
            f"failures in the tried {cost.sample_word}s: {cost.failures}; a run would record them",
            fg="yellow",
            err=True,
        )


def forecast_rows(cost: Forecast) -> list[tuple[str, str]]:
    """Format a forecast as pairs of label and text."""
    low, middle, high, most = (
        duration_text(3600 * hours)
        for hours in (cost.hours_low, cost.hours, cost.hours_high, cost.hours_at_most)
    )
    sample_word = cost.sample_word if cost.samples == 1 else f"{cost.sample_word}s"
    processes = max(1, cost.workers)
    memory = f"{bytes_text(cost.process_bytes)} in a process"
    if processes > 1:
        memory += f", {bytes_text(processes * cost.process_bytes)} in {processes}"
    encoder_passes = f"{cost.encodes:,}"
    if cost.encodes_with_prompts:
        encoder_passes += ", one per answer"
    lines = [
        ("targets", f"{cost.targets:,} in {cost.samples:,} {sample_word}"),
        ("encoder passes", encoder_passes),
        ("predictions", f"{cost.predictions:,}, at most {cost.predictions_at_most:,}"),
        ("time", f"{middle} with --workers {cost.workers}, at most {most}"),
        ("", f"including {duration_text(cost.startup_s)} of startup before the first sample"),
        ("memory", memory),
        (
            "disk",
            f"{bytes_text(cost.records_bytes)} for records, {bytes_text(cost.masks_bytes)} for masks",
        ),
    ]
    if cost.gpu_hours is not None:
        lines.insert(5, ("GPU", f"{cost.gpu_hours:.3g} GPU hours on {cost.device}"))
    if cost.timed > 1:
        range_text = f"{low} to {high} if all targets were like those of the quickest or the slowest {cost.sample_word}"
        lines.insert(4, ("", range_text))
    return lines


def bytes_text(size_bytes: float) -> str:
    """Format a size with a suitable unit: "12 kB", "3.4 MB", "1.2 TB"."""
    for unit in ("kB", "MB", "GB"):
        size_bytes /= 1000
        if size_bytes < 999.5:
            return f"{size_bytes:.3g} {unit}"
    return f"{size_bytes / 1000:.3g} TB"
