"""What a run will cost, from a few of its samples: said before anyone starts a week of work.

The trial takes at most about a tenth of what it forecasts, beside what it takes to start and one encoding. Of a run of
few samples it holds a part of the dialogues, and a single dialogue for some rounds. Samples differ most by how many
targets they have. So targets are counted in as many samples as can be loaded in a few seconds, and what was timed is
scaled to them; encoder passes go by samples.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from segarena.abilities import abilities_of_segmenter
from segarena.engine.embeddings import device_of
from segarena.engine.evaluate import open_folder
from segarena.engine.forecast_run import (
    MAX_COUNTING_S,
    TimedSample,
    count_targets,
    read_timed_sample,
)
from segarena.engine.forecast_subset import evenly_spaced
from segarena.engine.plan import make_plan
from segarena.engine.sample_job import SampleJob, run_samples
from segarena.errors import InvalidInput, SegarenaError
from segarena.notebook import table_html
from segarena.roles import Benchmark, Segmenter
from segarena.specs import Plugin
from segarena.work.cluster.executor import Ray
from segarena.work.executors import make_executor
from segarena.work.jobs import Executor, Workers
from segarena.work.signals import stoppable

_PARTS = 3
"""Into so many the time for the trial goes: the first sample, one that counts, and loading others to count targets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a run will cost on this machine, if its other targets are like those of the timed samples.

    Attributes:
        samples: of the run.
        targets: of the run; an estimate when counting them all would take long.
        timed: samples that were timed.
        failures: dialogues that went wrong among these.
        workers: processes of the run.
        device: where the segmenter works: "cpu", "cuda", ...
        encodes: encoder passes; of a network that encodes with prompts as many as predictions.
        encodes_with_prompts: whether it is such a one.
        predictions: rounds answered, if dialogues end as early as the timed ones did.
        predictions_at_most: if every dialogue goes on to the last round.
        startup_s: until the first sample is begun: processes, imports, loading the model. Part of all hours.
        hours: wall time. With workers, as if they did not slow each other down; on a GPU they share its time.
        hours_low: if a target took everywhere what it took in the quickest timed sample.
        hours_high: in the slowest.
        hours_at_most: like `hours`, if every dialogue goes on to the last round.
        gpu_hours: GPUs held for all that time; None without one.
        process_bytes: peak memory of one process, its model included; each worker needs that.
        records_bytes: disk for records and timings.
        masks_bytes: disk for kept masks.
    """

    samples: int
    targets: int
    timed: int
    failures: int
    workers: int
    device: str
    encodes: int
    encodes_with_prompts: bool = False
    predictions: int
    predictions_at_most: int
    startup_s: float
    hours: float
    hours_low: float
    hours_high: float
    hours_at_most: float
    gpu_hours: float | None
    process_bytes: int
    records_bytes: int
    masks_bytes: int

    def _repr_html_(self) -> str:
        """Show every figure under its name in a notebook."""
        return table_html(
            ["forecast", ""],
            [(name.replace("_", " "), value) for name, value in asdict(self).items()],
        )


def forecast(
    benchmark: Plugin | Benchmark = "clicks",
    *,
    segmenter: Plugin | Segmenter,
    workers: Workers = 1,
    timed: int = 3,
    share: float = 0.1,
    on_sample: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Forecast:
    """Return what `segarena.evaluate` with the same arguments will cost; runs a few samples to know it.

    Args:
        benchmark: as in `segarena.evaluate`.
        segmenter: likewise.
        workers: processes that the run will have, or an executor.
        timed: how many samples are timed at most, spread evenly over the dataset. One more is run before them, and
            counts only where it remains the only one: it pays for what is loaded on the way.
        share: of the forecast time that the trial may take, beside its start: a sample is held in part where three
            whole ones would take more, and no further sample is tried where that would exceed it.
        on_sample: called with the samples done and those to do.
        options: whatever else `segarena.evaluate` takes. With `cache`, the trial reads and fills it like a run.

    Raises:
        SegarenaError: like `segarena.evaluate` before it starts; or none of the samples could be used, or a worker
            process (the trial runs in one, with one thread, as a run's workers do) could not start.
    """
    executor = make_executor(workers)
    if timed < 1:
        raise InvalidInput(f"timed samples must be at least 1, got {timed}")
    options.setdefault("name", "" if isinstance(segmenter, Plugin) else type(segmenter).__name__)
    started = time.perf_counter()
    plan = make_plan(benchmark, segmenter=segmenter, **options)
    cast = plan.cast()
    with tempfile.TemporaryDirectory(prefix="segarena-plan-") as there:
        folder = open_folder(plan, cast.dataset, Path(there) / "trial", segmenter=cast.segmenter)
        tried = evenly_spaced(len(folder.samples), timed + 1)
        abreast = _abreast(executor, len(folder.samples))
        trials: list[TimedSample] = []
        process_bytes = 0
        startup_s = 0.0
        spent_s = 0.0
        all_s = 0.0
        part = min(1.0, share * len(folder.samples) / abreast / _PARTS)
        job = SampleJob(plan=plan, path=folder.path, part=part)
        with (
            stoppable(),
            closing(run_samples(job, cast.rules, folder, tried, make_executor(1))) as steps,
        ):
            for done in steps:
                startup_s = startup_s or time.perf_counter() - started - done.seconds
                trials.append(read_timed_sample(folder, done))
                process_bytes = max(process_bytes, done.peak_bytes)
                if on_sample is not None:
                    on_sample(len(trials), len(tried))
                spent_s += done.seconds
                all_s = (
                    startup_s
                    + mean(trial.seconds for trial in trials) * len(folder.samples) / abreast
                )
                if spent_s + spent_s / len(trials) > share * all_s:
                    break
        tries = len(trials)
        trials = trials[1:] or trials
        failures = folder.records()["failure"].drop_nulls().to_list()
    if failures and not any(trial.rounds for trial in trials):
        raise SegarenaError(
            f"none of {tries} tried samples could be used; the first: {failures[0]}"
        )
    return extrapolate(
        trials,
        samples=len(folder.samples),
        targets=count_targets(
            cast.dataset, folder.samples, within_s=min(MAX_COUNTING_S, share * all_s - spent_s)
        ),
        failures=len(failures),
        workers=executor.workers,
        abreast=abreast,
        gpus=_gpus(executor),
        startup_s=startup_s,
        device=device_of(cast.segmenter),
        process_bytes=process_bytes,
        encodes_with_prompts=abilities_of_segmenter(cast.segmenter).encodes_with_prompts,
    )


def extrapolate(
    trials: Sequence[TimedSample],
    *,
    samples: int,
    targets: float,
    failures: int = 0,
    workers: int,
    abreast: int,
    gpus: float = 1.0,
    startup_s: float = 0.0,
    device: str,
    process_bytes: int,
    encodes_with_prompts: bool = False,
) -> Forecast:
    """Return the cost of `samples` samples from those of some.

    Args:
        trials: what was timed, at least one.
        samples: of the whole run.
        targets: that a sample has on average.
        failures: among the tried ones.
        workers: of the run.
        abreast: how many samples are worked on at once.
        gpus: how many GPUs they have, if the device is one.
        startup_s: before the first sample.
        device: of the segmenter.
        process_bytes: peak of the process that was timed.
        encodes_with_prompts: whether every answer is a pass of the network.
    """

    def hours(some: Sequence[TimedSample]) -> float:
        return (
            startup_s
            + _wall_s(some, targets, abreast, gpus if device == "cuda" else None) * samples
        ) / 3600

    def total(amounts: Iterable[float], factor: float = _factor(trials, targets)) -> int:
        return round(sum(amounts) * factor * samples / len(trials))

    each = [hours([trial]) for trial in trials]
    predictions = total(trial.rounds for trial in trials)
    return Forecast(
        samples=samples,
        targets=round(targets * samples),
        timed=len(trials),
        failures=failures,
        workers=workers,
        device=device,
        encodes=predictions
        if encodes_with_prompts
        else total((trial.encodes for trial in trials), factor=1.0),
        encodes_with_prompts=encodes_with_prompts,
        predictions=predictions,
        predictions_at_most=total(trial.rounds_at_most for trial in trials),
        startup_s=startup_s,
        hours=hours(trials),
        hours_low=min(each),
        hours_high=max(each),
        hours_at_most=hours([trial.at_most() for trial in trials]),
        gpu_hours=hours(trials) * gpus if device == "cuda" else None,
        process_bytes=process_bytes,
        records_bytes=total(trial.records_bytes for trial in trials),
        masks_bytes=total(trial.masks_bytes for trial in trials),
    )


def _abreast(executor: Executor, samples: int, cores: int = os.cpu_count() or 1) -> int:
    """Return how many samples are worked on at once; more workers on this machine than cores are no quicker."""
    if isinstance(executor, Ray):
        at_work = executor.workers
    else:
        at_work = min(executor.workers, cores)
    return max(1, min(at_work, samples))


def _gpus(executor: Executor) -> float:
    """Return how many GPUs the workers have, if any: one on this machine."""
    if isinstance(executor, Ray):
        return max(1.0, executor.workers * executor.gpus_per_worker)
    return 1.0


def _factor(trials: Sequence[TimedSample], targets: float) -> float:
    """Return how many times the targets of these trials a sample has on average."""
    had = sum(trial.targets for trial in trials)
    return targets * len(trials) / had if had else 1.0


def _wall_s(
    trials: Sequence[TimedSample], targets: float, abreast: int, gpus: float | None
) -> float:
    """Return wall seconds of the run per sample; workers that share a GPU wait for it in turn."""
    scaled = [trial.times(_factor(trials, targets)) for trial in trials]
    alone_s = sum(trial.model_s for trial in scaled) / gpus if gpus else 0.0
    return max(sum(trial.seconds for trial in scaled) / abreast, alone_s) / len(trials)
