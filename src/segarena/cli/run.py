"""`segarena run`: judge a segmenter by a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from segarena.cli import options as what
from segarena.cli.exits import FAILURES, one_line_errors

_INTERRUPTED = "stopped; finished samples are kept, and the same command goes on where it was"


def run(
    benchmark: what.BenchmarkName = None,
    segmenter: what.SegmenterName = None,
    dataset: what.DatasetName = None,
    user: what.Users = None,
    metric: what.Metrics = None,
    click_model: what.ClickModel = None,
    clicks: what.Clicks = None,
    prompts: what.Prompts = None,
    refine: what.Refine = None,
    rounds: what.Rounds = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder of the run. If it holds this run already, it goes on there."),
    ] = None,
    workers: what.Workers = None,
    limit: what.Limit = None,
    repeats: what.Repeats = None,
    seed: what.Seed = None,
    time_limit: what.TimeLimit = None,
    cache: what.Cache = None,
    cache_gb: what.CacheGb = None,
    retry_failed: Annotated[bool, typer.Option(help="Do samples again in which something failed.")] = False,
    config: what.Config = None,
) -> None:
    """Judge a segmenter by a benchmark, and keep every round as a record.

    The run is a folder. Stop it with Ctrl-C (or lose the machine): the same command goes on where it was.

        segarena run clicks --segmenter grabcut --dataset demo --out runs/grabcut

        segarena run clicks -s my_model.py:MyModel -d "folder(path='photos')" -u centre -u uniform -w 2

        segarena run rclicks -s grabcut -d demo --click-model depth --clicks clicks.csv

        segarena run radioactive -s grabcut -d "nifti-folder(path='scans')" --prompts 3b-inter --refine scribble

    Exit code 0: all went well; 1: complete, but some dialogues failed (they are records, the rest is valid);
    2: refused, with one line why; 130: interrupted.
    """
    given = {
        "benchmark": benchmark,
        "segmenter": segmenter,
        "dataset": dataset,
        "users": user,
        "metrics": metric,
        "click_model": click_model,
        "clicks": clicks,
        "prompts": prompts,
        "refine": refine,
        "rounds": rounds,
        "out": out,
        "workers": workers,
        "limit": limit,
        "repeats": repeats,
        "seed": seed,
        "time_limit_s": time_limit,
        "cache": cache,
        "cache_gb": cache_gb,
    }
    with one_line_errors(_INTERRUPTED):
        failures = run_and_show(retry_failed=retry_failed, **what.gather(config, given))
    if failures:
        raise typer.Exit(FAILURES)


def run_and_show(benchmark: str, **options: Any) -> int:
    """Run with a progress bar and print where it lies; return the number of failures."""
    from segarena.cli.progress import RunProgress
    from segarena.engine.evaluate import evaluate
    from segarena.registry import PluginSpec
    from segarena.reports import terminal_table

    console = Console(stderr=True)
    benchmark = what.with_own(benchmark, options)
    title = f"{PluginSpec.parse(benchmark).reference} · {options['segmenter']}"
    with RunProgress(title, console, workers=options["workers"]) as progress:
        folder = evaluate(benchmark, on_progress=progress.update, **options)
    Console().print(terminal_table([folder.path]))
    failures = folder.config["counts"]["failures"]
    for user, count in folder.config["counts"].get("targets_without", {}).items():
        console.print(f"user {user} had nothing to say about {count} of {folder.config['counts']['targets']} targets")
    if failures:
        console.print(f"[yellow]failures among the records: {failures}; `segarena report` lists them[/yellow]")
    console.print(f"run: {folder.path}   look at it: segarena report {folder.path}")
    return failures
