"""Dry runs: stand-ins for models and data that are not there, so that the way to every measure can be tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from segarena.published.table_files import names_in
from segarena.published.table_types import PublishedTable
from segarena.reproduction.requirements import Job, Need, put_around


def stood_in(table: PublishedTable, jobs: Sequence[Job], *, own_models: bool = False) -> list[Job]:
    """Return a dry run for each different segmenter and set of options of the jobs, on the table's small data.

    With `own_models` a model whose adapter is set up answers itself, with random weights where its own are missing.
    """
    made: dict[str, Job] = {}
    for job in jobs:
        if any(need.kind == "method" and need.name == job.rows[0].condition for need in job.needs):
            continue  # a condition that cannot be measured
        dry = _dry(table, job, own_models=own_models)
        key = f"{dry.segmenter} {dry.options}"
        rows = {repr(row): row for row in (*(made[key].rows if key in made else ()), *dry.rows)}
        made[key] = replace(dry, rows=tuple(rows.values()))
    return list(made.values())


def _dry(table: PublishedTable, job: Job, *, own_models: bool) -> Job:
    told = table.stand_in
    kept = {name: value for name, value in job.written.items() if not names_in(value)}
    segmenter = put_around(job.around, told.segmenter or "")
    model = segmenter
    if (
        own_models
        and job.segmenter
        and not any(need.kind in ("adapter", "environment") for need in job.lacks)
    ):
        random = any(need.kind == "weights" for need in job.lacks)
        # Without weights only an adapter has a network: it makes a random one.
        if not random or any(need.kind == "adapter" for need in job.needs):
            segmenter = job.segmenter
            model = f"{job.model}{', random weights' if random else ''}"
    is_possible = bool(segmenter and told.dataset)
    return replace(
        job,
        model=model,
        dataset=told.dataset or "",
        segmenter=segmenter,
        data=told.dataset or "",
        options={**kept, **told.options},
        needs=()
        if is_possible
        else (Need(kind="method", name=table.name, get="nothing stands in"),),
    )
