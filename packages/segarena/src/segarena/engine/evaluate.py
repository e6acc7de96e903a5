"""Run a benchmark on a segmenter: the engine's end of the session."""

from __future__ import annotations

import datetime
import os
import shlex
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import closing, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segarena.capabilities import segmenter_capabilities
from segarena.engine.answer_verification import check_verifiable, verify_answers
from segarena.engine.human_loop import close_finished_samples, human_users, run_info, serve_samples
from segarena.engine.human_prompts import (
    PageServer,
    PeopleSettings,
    executor_for_people,
    page_server,
)
from segarena.engine.lockstep import RunCast
from segarena.engine.plan import Plan, environment, make_plan
from segarena.engine.rows import CACHE_READ_ROUND, ENCODER_PASS_ROUND
from segarena.engine.run_identity import identity_of
from segarena.engine.sample_job import SampleJob, SampleResult, run_samples
from segarena.engine.sample_queue import ExclusiveSampleQueue, SampleQueue, SharedSampleQueue
from segarena.engine.session import Rules
from segarena.engine.session_protocol import RemoteDataset, remote_evaluation
from segarena.engine.store import RunFolder
from segarena.errors import InvalidInput, WorkError
from segarena.plugin_spec import Plugin
from segarena.records.configuration import RunConfiguration, RunCounts
from segarena.records.failures import FailureCause, group_by_cause
from segarena.records.fingerprints import Fingerprints
from segarena.roles import Benchmark, Dataset, Segmenter
from segarena.work.executors import make_executor
from segarena.work.jobs import Executor, Workers
from segarena.work.progress import OnProgress, Progress, ignore_progress
from segarena.work.signals import stoppable

if TYPE_CHECKING:
    import polars as pl

FIRST_SAMPLES = 3
"""If everything about this many samples fails for one cause, the others are expected to fail too."""

MAX_REPORTED_CAUSES = 5
"""Limit of failure causes reported while a run goes on; its summary counts them all."""


def evaluate(
    benchmark: Plugin | Benchmark = "clicks",
    *,
    segmenter: Plugin | Segmenter,
    challenge: str | None = None,
    dataset: Plugin | Dataset | None = None,
    users: Sequence[Plugin] | None = None,
    metrics: Sequence[Plugin] | None = None,
    rounds: int | None = None,
    out: str | Path | None = None,
    workers: Workers = 0,
    retry_failed: bool = False,
    retry_damaged: bool = False,
    overwrite: bool = False,
    keep_going: bool = True,
    verify: int = 0,
    share: bool = False,
    people: PeopleSettings | None = None,
    on_progress: OnProgress = ignore_progress,
    **options: Any,
) -> RunFolder:
    """Evaluate `segmenter` on `benchmark` and return the finished run; the same `out` resumes a run.

    Args:
        benchmark: a plug-in, or a benchmark.
        segmenter: a plug-in as written ("grabcut", "my_model.py:MyModel(scale=2)"), a `PluginSpec`,
            or an object.
        challenge: `https://host/challenges/NAME`: a server prompts and judges, by its own rules and
            on its own data; see `segarena.client.participate.evaluate`.
        dataset: a plug-in or an object; the benchmark's own by default.
        users: plug-ins as written, instead of the benchmark's.
        metrics: further metrics.
        rounds: instead of the benchmark's.
        out: folder of the run; by default `runs/<benchmark>-<segmenter>-<dataset>`.
        workers: number of processes, or an executor such as `segarena.Ray`; 0 works in this process.
            Objects travel to processes by pickling.
        retry_failed: run samples again in which something failed.
        retry_damaged: run samples again whose files are damaged or whose values are contradictory.
        overwrite: start anew where `out` holds a run, whichever it was; only that run is deleted.
        keep_going: False ends the run if everything about the first `FIRST_SAMPLES` samples fails
            for one and the same cause.
        verify: number of answers to request again after the run
            (`segarena.engine.answer_verification`); the agreement is in `config.verified`.
        share: take part in a run on which other processes, on any hosts that see the folder, work at
            the same time. Each of these calls returns when the whole run is done.
        people: where human users give prompts; by default on a page on this machine, whose
            address is the first note of `on_progress`. The run waits for them as long as they take.
        on_progress: called with the state of the run.
        options: seed, repeats, limit, keep_rounds, time_limit_s, name, cache, cache_gb,
            check_plugins: see `segarena.engine.plan.Plan`; and the benchmark's own, like
            `protocol="published"`.

    Raises:
        SegarenaError: before anything runs, when something is missing or does not fit.
        StoreError: the run cannot be written.
        WorkError: the run was ended because everything fails; the failed samples are pending again.
            Any other error of a segmenter becomes a record.
    """
    if challenge is not None:
        if people is not None:
            raise InvalidInput("people: a challenge asks nobody here; leave one of the two out")
        rules = {
            "benchmark": benchmark,
            "dataset": dataset,
            "users": users,
            "metrics": metrics,
            "rounds": rounds,
        }
        run_options: dict[str, Any] = {
            **options,
            "retry_failed": retry_failed,
            "retry_damaged": retry_damaged,
            "keep_going": keep_going,
            "verify": verify,
            "share": share,
            "out": out,
            "workers": workers,
            "overwrite": overwrite,
            "on_progress": on_progress,
        }
        remote = remote_evaluation()
        return remote.evaluate(challenge, segmenter=segmenter, rules=rules, **run_options)
    executor = make_executor(workers)
    # A plug-in may change the working directory; relative paths are meant from where we started.
    home = Path.cwd()
    options.setdefault("name", "" if isinstance(segmenter, Plugin) else type(segmenter).__name__)
    plan = make_plan(
        benchmark,
        dataset=dataset,
        users=users,
        metrics=metrics,
        rounds=rounds,
        segmenter=segmenter,
        **options,
    )
    check_verifiable(plan, verify)
    if share and overwrite:
        raise InvalidInput(
            "share: processes that share a folder would overwrite each other's work; overwrite it first, without share"
        )
    cast = plan.cast()
    people_users = human_users(cast)
    if people_users:
        executor = executor_for_people(executor, people_users)
    path, config, data = _describe_run(plan, cast.dataset, out, segmenter=cast.segmenter, home=home)
    beside = _files_beside(cast.dataset)
    retries = {"retry_failed": retry_failed, "retry_damaged": retry_damaged}
    samples: SampleQueue
    if share:
        samples = SharedSampleQueue(
            path, config, data=data, beside=beside, workers=executor.workers, **retries
        )
    else:
        folder = RunFolder.create(path, config, data=data, overwrite=overwrite, beside=beside)
        samples = ExclusiveSampleQueue(folder, **retries)
    if not executor.is_here:
        os.chdir(home)
    with (
        stoppable(),
        samples,
        page_server(people_users, path, run_info(plan, cast), people or PeopleSettings()) as pages,
    ):
        job = SampleJob(plan=plan, path=path, cast=cast if executor.is_here else None)
        rules = cast.rules
        counted_dataset = _dataset_to_count(cast)
        # Workers build their own cast, and a large model must not stay in memory beside theirs.
        del cast
        has_worked = _run_all(
            job, rules, samples, executor, on_progress, keep_going=keep_going, pages=pages
        )
        # Free the plug-ins of the job before others are built in this process.
        del job

        def finish_run(folder: RunFolder) -> None:
            if has_worked or folder.config.counts is None:
                finish(folder, counted_dataset)
            if verify:
                os.chdir(home)
                # Another process, so that no state of this one can make the answers agree.
                other = make_executor(1) if executor.is_here else executor
                verified = verify_answers(plan, folder, verify, other)
                folder.write_config(replace(folder.config, verified=verified))

        return samples.finish(finish_run)


def _dataset_to_count(cast: RunCast) -> Dataset | None:
    """Return the dataset if its targets must be counted, because all users choose their own.

    The records then do not mention the targets that no user chose.
    """
    abilities = cast.user_abilities.values()
    if abilities and all(one.repeats is not None for one in abilities):
        return cast.dataset
    return None


def _run_all(
    job: SampleJob,
    rules: Rules,
    samples: SampleQueue,
    executor: Executor,
    on_progress: OnProgress,
    *,
    keep_going: bool,
    pages: PageServer,
) -> bool:
    """Run samples until all are done, here or elsewhere; return whether any were pending before."""
    resumed = samples.count_done
    count = len(samples.folder.samples)
    progress = Progress(units=count, done=resumed, resumed=resumed)
    if pages.address:
        close_finished_samples(samples.folder)
        progress.notes.append(f"people are asked at {pages.address}")
    on_progress(progress)

    def report(waiting_for: str = "") -> None:
        progress.done = samples.count_done
        progress.sharers = samples.sharers
        progress.waiting_for = waiting_for
        progress.elsewhere = progress.done - resumed - done_here
        on_progress(progress)

    first = _FirstSamples()
    reported = set[str]()
    cause = None
    done_here = 0
    while cause is None and (turn := samples.turn(report)) is not None:
        order = first.in_order(turn)
        if pages.address:
            results = serve_samples(job, samples.folder, order, pages.check)
        else:
            results = run_samples(job, rules, samples.folder, order, executor)
        # Closing the generator ends the workers, also when this loop is left by an error.
        with closing(results):
            for result in results:
                samples.note(result)
                done_here += 1
                _advance(progress, result, reported)
                report()
                if not keep_going:
                    cause = first.shared_cause(result)
                    if cause is not None:
                        break
    if cause is not None:
        samples.undo()
        raise WorkError(
            f"all about the first {FIRST_SAMPLES} samples failed alike: {cause}; the run was ended and they are "
            "not kept. Mend that and give the same command again; --keep-going goes on and records the failures"
        )
    # Other processes may have done the rest after our last report.
    if progress.done < count:
        report()
    return resumed < count


def open_folder(
    plan: Plan,
    dataset: Dataset,
    out: str | Path | None,
    *,
    segmenter: Any = None,
    home: Path = Path(),
    overwrite: bool = False,
    samples: Sequence[str] | None = None,
) -> RunFolder:
    """Start or continue the run folder of `plan`; see `RunFolder.create`.

    Args:
        plan: plan of the run.
        dataset: as built.
        out: the folder; None for the default.
        segmenter: as built, if it is.
        home: the folder from which relative paths are meant.
        overwrite: start anew in a folder that holds a run.
        samples: restricts the run to these samples, in this order; None for those of the plan.
    """
    path, config, data = _describe_run(
        plan, dataset, out, segmenter=segmenter, home=home, samples=samples
    )
    return RunFolder.create(
        path, config, data=data, overwrite=overwrite, beside=_files_beside(dataset)
    )


def _describe_run(
    plan: Plan,
    dataset: Dataset,
    out: str | Path | None,
    *,
    segmenter: Any,
    home: Path,
    samples: Sequence[str] | None = None,
) -> tuple[Path, RunConfiguration, Fingerprints]:
    """Return the folder of a run, its configuration at the start, and the fingerprints of its data."""
    config = plan.describe(dataset)
    if samples is not None:
        config = replace(config, dataset=replace(config.dataset, samples=tuple(samples)))
    path = home / (_default_path(config) if out is None else Path(out))
    abilities = segmenter_capabilities(segmenter)
    used = replace(
        config.segmenter,
        sees_truth=abilities.sees_truth,
        encodes_with_prompts=abilities.encodes_with_prompts,
    )
    config = replace(config, segmenter=used)
    identity, data = identity_of(config, dataset, segmenter=segmenter, by=plan.fingerprint)
    config = replace(
        config,
        created=_now(),
        environment=environment(),
        identity=identity,
        command=_command(sys.argv),
        directory=str(home.resolve()),
    )
    return path, config, data


def _files_beside(dataset: Dataset) -> Set[str]:
    return dataset.beside if isinstance(dataset, RemoteDataset) else frozenset()


def finish(folder: RunFolder, dataset: Dataset | None = None) -> None:
    """Compact the files of a run that is over, and write its counts into run.json.

    Targets are counted in the records, and in `dataset` too if one is given.
    """
    folder.gather()
    records = folder.read("records", ["sample", "target", "user", "failure"])
    dialogues = records.filter(records["target"] != "").select("sample", "target", "user").unique()
    targets = set(dialogues.select("sample", "target").iter_rows())
    if dataset is not None:
        targets.update(_targets_of(dataset, folder.samples))
    timings = folder.read("timings", ["round"])
    if folder.config.segmenter.encodes_with_prompts:
        is_pass = timings["round"] > 0
    else:
        is_pass = timings["round"] == ENCODER_PASS_ROUND
    users = [user.written for user in folder.config.users]
    counts = RunCounts(
        samples=len(folder.samples),
        targets=len(targets),
        rounds=records.filter(records["failure"].is_null()).height,
        encodes=timings.filter(is_pass).height,
        encodes_from_cache=timings.filter(timings["round"] == CACHE_READ_ROUND).height,
        failures=records.filter(records["failure"].is_not_null()).height,
        targets_without=_targets_without(dialogues, len(targets), users),
    )
    # What was verified before does not cover the samples that were added since.
    folder.write_config(replace(folder.config, finished=_now(), counts=counts, verified=None))


def _targets_of(dataset: Dataset, samples: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (sample, target) for the targets of a dataset; a sample that cannot be loaded has failed already."""
    for name in samples:
        with suppress(Exception):
            for target in dataset.load(name).targets:
                yield name, target.id


def _targets_without(dialogues: pl.DataFrame, targets: int, users: Sequence[str]) -> dict[str, int]:
    """Return the number of targets without a dialogue for each user that lacks some."""
    without: dict[str, int] = {}
    for user in users:
        missing = targets - dialogues.filter(dialogues["user"] == user).height
        if missing:
            without[user] = missing
    return without


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _command(arguments: Sequence[str]) -> str:
    """Return a command line that a shell accepts for these arguments."""
    program, *rest = arguments
    if program.endswith(".py"):
        words = ["python", program, *rest]
    else:
        words = [Path(program).name or program, *rest]
    return " ".join(_quote(word) for word in words)


def _quote(word: str) -> str:
    # Plug-ins are full of single quotes; between double ones they stay readable.
    if "'" in word and not set('"$`\\!') & set(word):
        return f'"{word}"'
    return shlex.quote(word)


def _advance(progress: Progress, result: SampleResult, reported: set[str]) -> None:
    """Add a sample to the progress; add a note for each failure cause not `reported` yet."""
    progress.failures += result.failures
    progress.seconds += result.seconds
    progress.counts["rounds"] += result.rounds
    for cause in result.causes:
        if cause.first.cause not in reported and len(reported) < MAX_REPORTED_CAUSES:
            reported.add(cause.first.cause)
            progress.notes.append(f"failed: {cause.first.where}: {cause.first.message}")


class _FirstSamples:
    """The first `FIRST_SAMPLES` samples with any result, in the order they were started.

    The order makes the outcome independent of which worker is quicker.
    """

    def __init__(self) -> None:
        self._order = deque[int]()
        # Results that arrived before that of an earlier sample.
        self._early: dict[int, SampleResult] = {}
        self._first: list[SampleResult] = []

    def in_order(self, indices: Iterable[int]) -> Iterator[int]:
        """Yield the indices of samples to run, and remember their order."""
        for index in indices:
            if len(self._first) < FIRST_SAMPLES:
                self._order.append(index)
            yield index

    def shared_cause(self, result: SampleResult) -> FailureCause | None:
        """Add a result; return the failure cause that all first samples share, if any."""
        if len(self._first) == FIRST_SAMPLES:
            return None
        self._early[result.index] = result
        while self._order and self._order[0] in self._early and len(self._first) < FIRST_SAMPLES:
            following = self._early.pop(self._order.popleft())
            # A sample without targets gives no evidence about the segmenter.
            if following.rounds or following.causes:
                self._first.append(following)
        causes = group_by_cause(chain.from_iterable(each.causes for each in self._first))
        has_answers = any(each.rounds for each in self._first)
        if len(self._first) == FIRST_SAMPLES and len(causes) == 1 and not has_answers:
            return causes[0]
        return None


def _default_path(config: RunConfiguration) -> Path:
    names = [config.benchmark.name, config.segmenter.name, config.dataset.name]
    return Path("runs") / "-".join(_file_name(name) for name in names)


def _file_name(name: str) -> str:
    last = name.rpartition("/")[2].replace(".py:", "-")
    return "".join(letter if letter.isalnum() else "-" for letter in last)
