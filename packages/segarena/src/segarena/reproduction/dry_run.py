"""Dry runs: substitutes for missing models and data, to test the pipeline of each measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from segarena.published.table_files import placeholders_in
from segarena.published.table_types import PublishedTable
from segarena.reproduction.requirements import ReproductionJob, Requirement, wrap_segmenter


def dry_run_jobs(
    table: PublishedTable, jobs: Sequence[ReproductionJob], *, own_models: bool = False
) -> list[ReproductionJob]:
    """Return a dry run on small data for each distinct segmenter and set of options of the jobs.

    With `own_models`, models with an installed adapter run themselves, with random weights if their
    own are missing.
    """
    made: dict[str, ReproductionJob] = {}
    for job in jobs:
        if any(need.kind == "method" and need.name == job.rows[0].condition for need in job.needs):
            continue  # a condition that cannot be measured
        dry = _dry(table, job, own_models=own_models)
        key = f"{dry.segmenter} {dry.options}"
        rows = {repr(row): row for row in (*(made[key].rows if key in made else ()), *dry.rows)}
        made[key] = replace(dry, rows=tuple(rows.values()))
    return list(made.values())


def _dry(table: PublishedTable, job: ReproductionJob, *, own_models: bool) -> ReproductionJob:
    stand_in = table.stand_in
    kept = {name: value for name, value in job.written.items() if not placeholders_in(value)}
    segmenter = wrap_segmenter(job.around, stand_in.segmenter or "")
    model = segmenter
    missing = {need.kind for need in job.lacks}
    if own_models and job.segmenter and not missing & {"adapter", "environment"}:
        is_random = "weights" in missing
        # Without weights only an adapter can run: it initializes its network randomly.
        if not is_random or any(need.kind == "adapter" for need in job.needs):
            segmenter = job.segmenter
            model = f"{job.model}, random weights" if is_random else job.model
    is_possible = bool(segmenter and stand_in.dataset)
    needs: tuple[Requirement, ...] = ()
    if not is_possible:
        needs = (Requirement(kind="method", name=table.name, get="nothing stands in"),)
    return replace(
        job,
        model=model,
        dataset=stand_in.dataset or "",
        segmenter=segmenter,
        data=stand_in.dataset or "",
        options={**kept, **stand_in.options},
        needs=needs,
    )
