"""`segarena demo`: evaluation and report on bundled photographs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segarena.demos import RunDemo
from segarena.reports import write_report
from segarena.terminal.exit_codes import FAILURES, one_line_errors
from segarena.terminal.run_display import run_and_show
from segarena.terminal.worker_options import Workers, with_worker_options

PHOTOGRAPHS = RunDemo(
    name="photographs",
    command="segarena demo",
    summary="ten photographs with hand-drawn masks",
    benchmark="clicks",
    dataset="demo",
    # The last one ignores the image: a baseline that any useful segmenter must exceed.
    segmenters=("graph", "grabcut", "image-blind"),
)


@with_worker_options
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for runs and report.")] = Path(
        "runs/demo"
    ),
    rounds: Annotated[int, typer.Option(help="Number of clicks per target.")] = 20,
    workers: Workers = 2,
) -> None:
    """Evaluate two segmenters and a baseline on ten bundled photographs and write a report.

    Needs no download.
    """
    with one_line_errors("stopped; repeat the command to resume"):
        runs = [out / name for name in PHOTOGRAPHS.segmenters]
        failures = 0
        for name, folder in zip(PHOTOGRAPHS.segmenters, runs, strict=True):
            failures += run_and_show(
                PHOTOGRAPHS.benchmark,
                segmenter=name,
                dataset=PHOTOGRAPHS.dataset,
                rounds=rounds,
                workers=workers,
                out=folder,
            )
        files = write_report(runs, out / "report")
        typer.echo(
            f"\nThe report is at {files.html.resolve()}\nOpen it in a browser; it works offline."
        )
    if failures:
        raise typer.Exit(FAILURES)
