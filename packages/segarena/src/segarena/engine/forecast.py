"""Forecast of a run's cost from a few of its samples.

By default, the trial takes at most about a tenth of the forecast time, plus startup and one encoder
pass. If a run has few samples, the trial runs part of the dialogues, or some rounds of one. Samples
differ most in their number of targets. Therefore targets are counted in all samples that can be
loaded in a few seconds, and the measured times are scaled to that number; encoder passes are scaled
to the number of samples.
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

from segarena.engine.encoding_cache import device_of
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
from segarena.html_table import table_html
from segarena.plugin_capabilities import segmenter_capabilities
from segarena.plugin_spec import Plugin
from segarena.roles import Benchmark, Segmenter
from segarena.samples import word_of_kind
from segarena.work.cluster.executor import Ray
from segarena.work.executors import make_executor
from segarena.work.jobs import Executor, Workers
from segarena.work.signals import stoppable

_TRIAL_PARTS = 3
"""Parts of the trial's time: the first sample, one timed sample, and loading others to count targets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Estimated cost of a run on this machine, if all targets are like the timed ones.

    Attributes:
        samples: number of samples of the run.
        sample_word: the benchmark's word for a sample, such as "photograph" or "volume".
        targets: number of targets of the run; estimated if counting all would take long.
        timed: number of timed samples.
        failures: number of failed dialogues about the timed samples.
        workers: number of processes of the run.
        device: device of the segmenter: "cpu", "cuda", ...
        encodes: encoder passes; for a network that encodes with prompts, as many as predictions.
        encodes_with_prompts: whether the segmenter is such a network.
        predictions: number of answered rounds if dialogues end as early as the timed ones.
        predictions_at_most: number of answered rounds if every dialogue continues to the last round.
        startup_s: seconds until the first sample begins: processes, imports, loading the model. Included in all
            `hours`.
        hours: wall time. Workers are assumed not to slow each other down, except that they share GPUs.
        hours_low: `hours`, if every target takes as long as in the quickest timed sample.
        hours_high: `hours`, if every target takes as long as in the slowest.
        hours_at_most: `hours`, if every dialogue continues to the last round.
        gpu_hours: `hours` times the GPUs in use; None without a GPU.
        process_bytes: peak memory of one process with its model; each worker needs as much.
        records_bytes: disk space for records and timings.
        masks_bytes: disk space for stored masks.
    """

    samples: int
    sample_word: str = "sample"
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
        """Return an HTML table of all figures for notebooks."""
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
    """Estimate the cost of `segarena.evaluate` with the same arguments by running a few samples.

    The trial runs in one worker process with one thread, like each worker of a run.

    Args:
        benchmark: see `segarena.evaluate`.
        segmenter: see `segarena.evaluate`.
        workers: number of processes of the run, or an executor.
        timed: largest number of timed samples, spread evenly over the dataset. One more sample runs before them. It
            includes one-time loading, so it counts only if no other sample runs.
        share: largest fraction of the forecast time that the trial may take after its start. Samples are run in part
            if three whole ones would exceed it, and no further sample is tried if that would exceed it.
        on_sample: called with the number of finished samples and the total.
        options: any further option of `segarena.evaluate`. With `cache`, the trial reads and fills it like a run.

    Raises:
        SegarenaError: see `segarena.evaluate`; also raised if no sample is usable, or if the
            worker process could not start.
    """
    executor = make_executor(workers)
    if timed < 1:
        raise InvalidInput(f"timed samples must be at least 1, got {timed}")
    options.setdefault("name", "" if isinstance(segmenter, Plugin) else type(segmenter).__name__)
    started = time.perf_counter()
    plan = make_plan(benchmark, segmenter=segmenter, **options)
    cast = plan.cast()
    with tempfile.TemporaryDirectory(prefix="segarena-plan-") as temporary:
        out = Path(temporary) / "trial"
        folder = open_folder(plan, cast.dataset, out, segmenter=cast.segmenter)
        samples = len(folder.samples)
        tried = evenly_spaced(samples, timed + 1)
        concurrent = _concurrent_samples(executor, samples)
        part = min(1.0, share * samples / concurrent / _TRIAL_PARTS)
        job = SampleJob(plan=plan, path=folder.path, part=part)
        trials: list[TimedSample] = []
        process_bytes = 0
        startup_s = 0.0
        spent_s = 0.0
        forecast_s = 0.0
        results = run_samples(job, cast.rules, folder, tried, make_executor(1))
        with stoppable(), closing(results):
            for result in results:
                startup_s = startup_s or time.perf_counter() - started - result.seconds
                trials.append(read_timed_sample(folder, result))
                process_bytes = max(process_bytes, result.peak_bytes)
                if on_sample is not None:
                    on_sample(len(trials), len(tried))
                spent_s += result.seconds
                mean_s = mean(trial.seconds for trial in trials)
                forecast_s = startup_s + mean_s * samples / concurrent
                next_s = spent_s / len(trials)
                if spent_s + next_s > share * forecast_s:
                    break
        tries = len(trials)
        # The first sample includes one-time costs, such as compiling kernels.
        trials = trials[1:] or trials
        failures = folder.records()["failure"].drop_nulls().to_list()
    if failures and not any(trial.rounds for trial in trials):
        raise SegarenaError(
            f"none of {tries} tried samples could be used; the first failure: {failures[0]}"
        )
    counting_s = min(MAX_COUNTING_S, share * forecast_s - spent_s)
    return extrapolate(
        trials,
        samples=samples,
        sample_word=word_of_kind(plan.benchmark.sample_kind),
        targets=count_targets(cast.dataset, folder.samples, within_s=counting_s),
        failures=len(failures),
        workers=executor.workers,
        concurrent=concurrent,
        gpus=_gpus(executor),
        startup_s=startup_s,
        device=device_of(cast.segmenter),
        process_bytes=process_bytes,
        encodes_with_prompts=segmenter_capabilities(cast.segmenter).encodes_with_prompts,
    )


def extrapolate(
    trials: Sequence[TimedSample],
    *,
    samples: int,
    sample_word: str = "sample",
    targets: float,
    failures: int = 0,
    workers: int,
    concurrent: int,
    gpus: float = 1.0,
    startup_s: float = 0.0,
    device: str,
    process_bytes: int,
    encodes_with_prompts: bool = False,
) -> Forecast:
    """Extrapolate the cost of `samples` samples from the cost of a few.

    Args:
        trials: the timed samples, at least one.
        samples: number of samples of the run.
        sample_word: word for a sample.
        targets: mean number of targets of a sample.
        failures: number of failed dialogues of the trial.
        workers: number of processes of the run.
        concurrent: number of samples that run concurrently.
        gpus: number of GPUs of the workers, if the device is a GPU.
        startup_s: seconds before the first sample.
        device: device of the segmenter.
        process_bytes: peak memory of the timed process.
        encodes_with_prompts: whether every prediction is an encoder pass.
    """
    shared_gpus = gpus if device == "cuda" else None
    target_factor = _target_factor(trials, targets)

    def hours(some: Sequence[TimedSample]) -> float:
        wall_s = startup_s + _wall_s(some, targets, concurrent, shared_gpus) * samples
        return wall_s / 3600

    def total(amounts: Iterable[float], factor: float = target_factor) -> int:
        return round(sum(amounts) * factor * samples / len(trials))

    hours_each = [hours([trial]) for trial in trials]
    predictions = total(trial.rounds for trial in trials)
    if encodes_with_prompts:
        encodes = predictions
    else:
        # Encoding runs once per sample, whatever the number of targets.
        encodes = total((trial.encodes for trial in trials), factor=1.0)
    return Forecast(
        samples=samples,
        sample_word=sample_word,
        targets=round(targets * samples),
        timed=len(trials),
        failures=failures,
        workers=workers,
        device=device,
        encodes=encodes,
        encodes_with_prompts=encodes_with_prompts,
        predictions=predictions,
        predictions_at_most=total(trial.rounds_at_most for trial in trials),
        startup_s=startup_s,
        hours=hours(trials),
        hours_low=min(hours_each),
        hours_high=max(hours_each),
        hours_at_most=hours([trial.at_most() for trial in trials]),
        gpu_hours=hours(trials) * gpus if device == "cuda" else None,
        process_bytes=process_bytes,
        records_bytes=total(trial.records_bytes for trial in trials),
        masks_bytes=total(trial.masks_bytes for trial in trials),
    )


def _concurrent_samples(
    executor: Executor,
    samples: int,
    cores: int = os.cpu_count() or 1,
) -> int:
    """Return the number of samples that run concurrently, at least 1."""
    if isinstance(executor, Ray):
        workers = executor.workers
    else:
        # On this machine, more workers than cores do not speed up a run.
        workers = min(executor.workers, cores)
    return max(1, min(workers, samples))


def _gpus(executor: Executor) -> float:
    """Return the number of GPUs of workers on a cluster, at least 1; return 1 for workers on this machine."""
    if isinstance(executor, Ray):
        return max(1.0, executor.workers * executor.gpus_per_worker)
    return 1.0


def _target_factor(trials: Sequence[TimedSample], targets: float) -> float:
    """Return the mean number of targets divided by their mean number in the trials; 1 if the trials had none."""
    tried_targets = sum(trial.targets for trial in trials)
    return targets * len(trials) / tried_targets if tried_targets else 1.0


def _wall_s(
    trials: Sequence[TimedSample],
    targets: float,
    concurrent: int,
    gpus: float | None,
) -> float:
    """Return the wall time in seconds per sample; workers that share a GPU take turns."""
    factor = _target_factor(trials, targets)
    scaled = [trial.times(factor) for trial in trials]
    worker_s = sum(trial.seconds for trial in scaled) / concurrent
    gpu_s = sum(trial.model_s for trial in scaled) / gpus if gpus else 0.0
    return max(worker_s, gpu_s) / len(trials)
