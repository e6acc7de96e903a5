"""Runs for a published table, and its measures read from their reports."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

from segarena.engine.evaluate import evaluate
from segarena.engine.store import RunFolder
from segarena.files.hashes import sha256
from segarena.published.table_files import condition_label
from segarena.published.table_types import Measurement, PublishedTable
from segarena.records.trust import restrict_plugins
from segarena.reports.measure_lookup import look_up_measure, page_tables
from segarena.reports.pages import page_of
from segarena.reports.recorded_run import read_runs
from segarena.reproduction.requirements import ReproductionJob
from segarena.work.jobs import Workers
from segarena.work.progress import OnProgress, ignore_progress

FigureKey = tuple[str, str, str, str]


def job_folder(job: ReproductionJob, out: Path) -> Path:
    """Return the run folder of a job: the same for the same job, so that it resumes."""
    words = re.sub(r"[^\w.+-]+", "-", f"{job.model} {job.dataset}".lower()).strip("-")[:60]
    return out / f"{words}-{sha256(repr(sorted(job.options.items())))[:6]}"


def evaluate_arguments(job: ReproductionJob) -> dict[str, Any]:
    """Return the arguments of a job for `segarena.evaluate` and `segarena.forecast`."""
    return {"segmenter": job.segmenter, "dataset": job.data, **job.options}


def is_finished(job: ReproductionJob, out: Path) -> bool:
    """Return whether the run of a job exists and is complete."""
    folder = job_folder(job, out)
    return (folder / "run.json").is_file() and not RunFolder.open(folder).pending()


def run_job(
    table: PublishedTable,
    job: ReproductionJob,
    out: Path,
    *,
    limit: int | None = None,
    workers: Workers = 0,
    on_progress: OnProgress = ignore_progress,
) -> Path:
    """Run or resume a job; return its folder.

    Raises:
        SegarenaError: as `segarena.evaluate`.
    """
    options = {"workers": workers, "limit": limit, "keep_going": False, "on_progress": on_progress}
    return evaluate(
        table.benchmark, out=job_folder(job, out), **options, **evaluate_arguments(job)
    ).path


def has_all_samples(table: PublishedTable, job: ReproductionJob, path: Path) -> bool:
    """Return whether a run has as many samples as the dataset of the paper, if the table states them."""
    expected = table.data[job.dataset].samples if job.dataset in table.data else None
    return expected is None or len(RunFolder.open(path).samples) == expected


def read_measurements(
    table: PublishedTable, job: ReproductionJob, path: Path
) -> dict[FigureKey, Measurement]:
    """Return the measures of the table from the report of a run, by model, dataset, condition and measure."""
    with restrict_plugins(trust=True):  # trusted, because we have just run it
        sheets = page_tables(page_of(read_runs([path], trust=True)))
        found: dict[FigureKey, Measurement] = {}
        for row in job.rows:
            for name, measure in table.measures.items():
                if not measure.sheet:
                    continue
                value = look_up_measure(sheets, measure, row.words)
                if value is not None:
                    found[
                        job.model,
                        job.dataset,
                        condition_label(row.condition, row.words, measure),
                        name,
                    ] = value
        return found


def add_means(
    table: PublishedTable, found: Mapping[FigureKey, Measurement]
) -> dict[FigureKey, Measurement]:
    """Return the measurements and the means over datasets of the table whose parts are all measured."""
    every = dict(found)
    means = [name for name in table.datasets if name in table.data and table.data[name].mean_of]
    for dataset, (model, condition, measure) in product(means, {(m, c, k) for m, _, c, k in found}):
        key = (model, dataset, condition, measure)
        value = _mean(table, found, key)
        if value is not None:
            every[key] = Measurement(mean=value)
    return every


def _mean(
    table: PublishedTable, found: Mapping[FigureKey, Measurement], key: FigureKey
) -> float | None:
    model, dataset, condition, measure = key
    parts = table.data[dataset].mean_of if dataset in table.data else ()
    if not parts:
        return found[key].mean if key in found else None
    values = [_mean(table, found, (model, part, condition, measure)) for part in parts]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None
