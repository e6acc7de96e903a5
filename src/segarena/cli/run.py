"""`segarena run`: judge a segmenter by a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segarena.cli import options as what
from segarena.terminal.exits import FAILURES, one_line_errors
from segarena.terminal.running import run_and_show

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
        asked = what.gather(config, given)
        failures = run_and_show(what.with_own(asked.pop("benchmark"), asked), retry_failed=retry_failed, **asked)
    if failures:
        raise typer.Exit(FAILURES)
