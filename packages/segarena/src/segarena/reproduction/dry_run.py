"""Dry runs: substitutes for missing models and data, which test the pipeline of each measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from segarena.published.table_files import placeholders_in
from segarena.published.table_types import PublishedTable
from segarena.reproduction.requirements import ReproductionJob, Requirement, wrap_segmenter


def dry_run_jobs(
    table: PublishedTable,
    jobs: Sequence[ReproductionJob],
    *,
    own_models: bool = False,
) -> list[ReproductionJob]:
    """Return a dry run on small data for each distinct combination of segmenter and options in the jobs.

    Jobs whose condition cannot be measured are left out. With `own_models`, a model runs itself
    instead of a stand-in if its code is installed and its weights are present; a model with an
    adapter also runs without its weights, with random ones.
    """
    dry_runs: dict[str, ReproductionJob] = {}
    for job in jobs:
        if not _is_measurable(job):
            continue
        dry_run = _make_dry_run(table, job, own_models=own_models)
        key = f"{dry_run.segmenter} {dry_run.options}"
        rows = list(dry_run.rows)
        if key in dry_runs:
            rows = [*dry_runs[key].rows, *rows]
        # Rows contain dictionaries, which cannot be set members; equal rows have equal `repr`
        # texts.
        distinct_rows = {repr(row): row for row in rows}
        dry_runs[key] = replace(dry_run, rows=tuple(distinct_rows.values()))
    return list(dry_runs.values())


def _is_measurable(job: ReproductionJob) -> bool:
    """Return whether the condition of a job can be measured at all."""
    condition = job.rows[0].condition
    return not any(need.kind == "method" and need.name == condition for need in job.needs)


def _make_dry_run(
    table: PublishedTable,
    job: ReproductionJob,
    *,
    own_models: bool,
) -> ReproductionJob:
    stand_in = table.stand_in
    dataset = stand_in.dataset or ""
    # Options with placeholders stand for files, which a dry run does not need.
    options = {name: value for name, value in job.written.items() if not placeholders_in(value)}
    options.update(stand_in.options)
    segmenter = wrap_segmenter(job.around, stand_in.segmenter or "")
    model = segmenter
    missing = {need.kind for need in job.lacks}
    if own_models and job.segmenter and not missing & {"adapter", "environment"}:
        is_random = "weights" in missing
        has_adapter = any(need.kind == "adapter" for need in job.needs)
        # Without weights only an adapter can run: it initializes its network randomly.
        if has_adapter or not is_random:
            segmenter = job.segmenter
            model = f"{job.model}, random weights" if is_random else job.model
    needs: tuple[Requirement, ...] = ()
    if not segmenter or not dataset:
        needs = (Requirement(kind="method", name=table.name, get="it has no stand-in"),)
    return replace(
        job,
        model=model,
        dataset=dataset,
        segmenter=segmenter,
        data=dataset,
        options=options,
        needs=needs,
    )
