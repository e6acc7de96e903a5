"""Runs what a table takes, and reads the measures off the reports of the runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

from segarena.engine.evaluate import evaluate
from segarena.engine.store import RunFolder
from segarena.files.hashes import sha256
from segarena.published.table_files import told_apart
from segarena.published.table_types import Found, PublishedTable
from segarena.records.trust import restrict_plugins
from segarena.reports.measure_lookup import look_up_measure, page_tables
from segarena.reports.pages import page_of
from segarena.reports.recorded_run import read_runs
from segarena.reproduction.requirements import Job
from segarena.work.jobs import Workers
from segarena.work.progress import OnProgress, ignore_progress

Key = tuple[str, str, str, str]


def folder_of(job: Job, out: Path) -> Path:
    """Return where the run of a job lies: the same for the same job, so that it resumes."""
    words = re.sub(r"[^\w.+-]+", "-", f"{job.model} {job.dataset}".lower()).strip("-")[:60]
    return out / f"{words}-{sha256(repr(sorted(job.options.items())))[:6]}"


def arguments_of(job: Job) -> dict[str, Any]:
    """Return what a job gives to `segarena.evaluate` and `segarena.forecast`."""
    return {"segmenter": job.segmenter, "dataset": job.data, **job.options}


def is_finished(job: Job, out: Path) -> bool:
    """Tell whether the run of a job is there and whole."""
    folder = folder_of(job, out)
    return (folder / "run.json").is_file() and not RunFolder.open(folder).pending()


def run_job(
    table: PublishedTable,
    job: Job,
    out: Path,
    *,
    limit: int | None = None,
    workers: Workers = 0,
    on_progress: OnProgress = ignore_progress,
) -> Path:
    """Run a job, or go on with it; return its folder.

    Raises:
        SegarenaError: as `segarena.evaluate`.
    """
    options = {"workers": workers, "limit": limit, "keep_going": False, "on_progress": on_progress}
    return evaluate(table.benchmark, out=folder_of(job, out), **options, **arguments_of(job)).path


def has_all_samples(table: PublishedTable, job: Job, path: Path) -> bool:
    """Tell whether a run is over as many samples as the paper's, where the table says how many these are."""
    expected = table.data[job.dataset].samples if job.dataset in table.data else None
    return expected is None or len(RunFolder.open(path).samples) == expected


def measured_by(table: PublishedTable, job: Job, path: Path) -> dict[Key, Found]:
    """Return what the report of a run says of the table's measures, by model, dataset, condition and measure."""
    with restrict_plugins(trust=True):  # we have just run it
        sheets = page_tables(page_of(read_runs([path], trust=True)))
        found: dict[Key, Found] = {}
        for row in job.rows:
            for name, measure in table.measures.items():
                value = look_up_measure(sheets, measure, row.words) if measure.sheet else None
                if value is not None:
                    found[
                        job.model, job.dataset, told_apart(row.condition, row.words, measure), name
                    ] = value
        return found


def with_means(table: PublishedTable, found: Mapping[Key, Found]) -> dict[Key, Found]:
    """Return the numbers, and the means over datasets that the table has, where all their parts are there."""
    every = dict(found)
    means = [name for name in table.datasets if name in table.data and table.data[name].mean_of]
    for dataset, (model, condition, measure) in product(means, {(m, c, k) for m, _, c, k in found}):
        key = (model, dataset, condition, measure)
        value = _mean(table, found, key)
        if value is not None:
            every[key] = Found(mean=value)
    return every


def _mean(table: PublishedTable, found: Mapping[Key, Found], key: Key) -> float | None:
    model, dataset, condition, measure = key
    parts = table.data[dataset].mean_of if dataset in table.data else ()
    if not parts:
        return found[key].mean if key in found else None
    values = [_mean(table, found, (model, part, condition, measure)) for part in parts]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None
