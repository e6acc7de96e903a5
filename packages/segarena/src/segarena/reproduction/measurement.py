"""Runs for a published table, and their measures, read from the reports."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

from segarena.engine.evaluate import evaluate
from segarena.engine.run_folder import RunFolder
from segarena.files.hashes import sha256
from segarena.published.table_files import condition_label
from segarena.published.table_types import Measurement, PublishedTable
from segarena.records.plugin_trust import restrict_plugins
from segarena.reports.measure_lookup import look_up_measure, page_tables
from segarena.reports.pages import page_of
from segarena.reports.recorded_run import read_runs
from segarena.reproduction.requirements import ReproductionJob
from segarena.work.jobs import Workers
from segarena.work.progress import OnProgress, ignore_progress

FigureKey = tuple[str, str, str, str]


def job_folder(job: ReproductionJob, out: Path) -> Path:
    """Return the run folder of a job, which is the same for equal jobs so that they resume."""
    title = f"{job.model} {job.dataset}".lower()
    words = re.sub(r"[^\w.+-]+", "-", title).strip("-")
    options_hash = sha256(repr(sorted(job.options.items())))
    # Shortened, because file systems limit the length of names.
    return out / f"{words[:60]}-{options_hash[:6]}"


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
        SegarenaError: see `segarena.evaluate`.
    """
    run = evaluate(
        table.benchmark,
        out=job_folder(job, out),
        workers=workers,
        limit=limit,
        keep_going=False,
        on_progress=on_progress,
        **evaluate_arguments(job),
    )
    return run.path


def has_all_samples(
    table: PublishedTable,
    job: ReproductionJob,
    path: Path,
) -> bool:
    """Return whether a run has as many samples as the paper's dataset; True if the table does not state the number."""
    if job.dataset not in table.data:
        return True
    expected = table.data[job.dataset].samples
    return expected is None or len(RunFolder.open(path).samples) == expected


def read_measurements(
    table: PublishedTable,
    job: ReproductionJob,
    path: Path,
) -> dict[FigureKey, Measurement]:
    """Return the measures of the table from the report of a run, by model, dataset, condition and measure."""
    measured: dict[FigureKey, Measurement] = {}
    with restrict_plugins(trust=True):  # trusted, because we have just run it
        page = page_of(read_runs([path], trust=True))
        sheets = page_tables(page)
        for row in job.rows:
            for name, measure in table.measures.items():
                if not measure.sheet:
                    continue
                value = look_up_measure(sheets, measure, row.words)
                if value is not None:
                    condition = condition_label(row.condition, row.words, measure)
                    measured[job.model, job.dataset, condition, name] = value
    return measured


def add_means(
    table: PublishedTable, found: Mapping[FigureKey, Measurement]
) -> dict[FigureKey, Measurement]:
    """Return the measurements, plus the table's means over datasets that have all been measured."""
    with_means = dict(found)
    means = [name for name in table.datasets if name in table.data and table.data[name].mean_of]
    # A set, because a model, condition and measure may have a figure on each dataset, and each mean
    # is computed only once.
    measured = {(model, condition, measure) for model, _, condition, measure in found}
    for dataset, (model, condition, measure) in product(means, measured):
        key = (model, dataset, condition, measure)
        value = _mean(table, found, key)
        if value is not None:
            with_means[key] = Measurement(mean=value)
    return with_means


def _mean(
    table: PublishedTable,
    found: Mapping[FigureKey, Measurement],
    key: FigureKey,
) -> float | None:
    model, dataset, condition, measure = key
    parts = table.data[dataset].mean_of if dataset in table.data else ()
    if not parts:
        return found[key].mean if key in found else None
    total = 0.0
    for part in parts:
        value = _mean(table, found, (model, part, condition, measure))
        # A mean over only some parts is not the figure of the paper.
        if value is None:
            return None
        total += value
    return total / len(parts)
