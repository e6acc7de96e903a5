"""Run a benchmark on a segmenter: the top level of the engine."""

from __future__ import annotations

import datetime
import os
import shlex
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segarena.engine.answer_verification import check_verifiable, verify_answers
from segarena.engine.human_page_server import (
    PageServer,
    PeopleSettings,
    executor_for_people,
    page_server,
)
from segarena.engine.human_user_run_loop import (
    close_finished_samples,
    human_users,
    run_info,
    serve_samples,
)
from segarena.engine.object_fingerprint import object_fingerprint
from segarena.engine.plan import Plan, environment, make_plan
from segarena.engine.plugin_errors import debugging, note_traceback
from segarena.engine.rows import CACHE_READ_ROUND, ENCODER_PASS_ROUND
from segarena.engine.rows_before_extension import forget_earlier_rows
from segarena.engine.run_folder import RunFolder
from segarena.engine.run_identity import identity_of
from segarena.engine.sample_job import SampleJob, SampleResult, run_samples
from segarena.engine.sample_queue import ExclusiveSampleQueue, SampleQueue, SharedSampleQueue
from segarena.engine.session import Rules
from segarena.engine.session_protocol import RemoteDataset, remote_evaluation
from segarena.engine.synthetic_sample_trial import check_trial_answer
from segarena.errors import InvalidInput, WorkError
from segarena.plugin_capabilities import dataset_assumptions, display_name, segmenter_capabilities
from segarena.plugin_spec import Plugin, PluginSpec
from segarena.records.configuration import RunConfiguration, RunCounts
from segarena.records.failures import LOADING_PREFIX, Failure, FailureCause, group_by_cause
from segarena.records.run_identity_record import Fingerprints
from segarena.registry import forget_edited_files
from segarena.roles import Benchmark, Dataset, Segmenter
from segarena.samples import word_of_kind
from segarena.segmenters.workers.isolation import PROCESS, sandbox_fault
from segarena.work.executors import make_executor
from segarena.work.jobs import Executor, Workers
from segarena.work.progress import OnProgress, Progress, ignore_progress
from segarena.work.signals import stoppable

if TYPE_CHECKING:
    import polars as pl

FIRST_SAMPLES = 3
"""With `keep_going=False`, a run ends early if everything fails for the same cause in this many first samples."""

MAX_REPORTED_CAUSES = 5
"""Maximum number of failure causes reported during a run; its summary counts them all."""


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
    pdb: bool = False,
    on_progress: OnProgress = ignore_progress,
    **options: Any,
) -> RunFolder:
    """Evaluate `segmenter` on `benchmark` and return the finished run; a run that `out` contains is resumed.

    Args:
        benchmark: a plug-in as written ("clicks"), or an object.
        segmenter: a plug-in as written ("grabcut", "my_model.py:MyModel(scale=2)"), a `PluginSpec`,
            or an object.
        challenge: `https://host/challenges/NAME`: a server gives the prompts and evaluates, with its own rules
            and data; see `segarena.client.participate.evaluate` for its options, such as `skip_trial`.
        dataset: a plug-in or an object; the benchmark's own by default.
        users: plug-ins as written, instead of the benchmark's users.
        metrics: additional metrics.
        rounds: number of rounds, instead of the benchmark's.
        out: folder of the run; by default `runs/<benchmark>-<segmenter>-<dataset>`.
        workers: number of processes, or an executor such as `segarena.Ray`; 0 works in this process.
            Objects are pickled for other processes.
        retry_failed: run samples again in which something failed.
        retry_damaged: run samples again whose files are damaged or whose values are contradictory.
        overwrite: replace any run that `out` contains; nothing else in the folder is deleted.
        keep_going: False ends the run if everything about the first `FIRST_SAMPLES` samples fails
            for the same cause.
        verify: number of answers to request again after the run
            (`segarena.engine.answer_verification`); the agreement is in `config.verified`.
        share: share the run with other processes that work on it at the same time, on any hosts
            that can access the folder. Each of these calls returns when the whole run is done.
        people: where human users give prompts; by default on a page on this machine, whose
            address is the first note of `on_progress`. The run waits for them as long as they take.
        pdb: open the debugger at the first error in a plug-in's code, which ends the run; only with
            `workers=0`.
        on_progress: called with the state of the run.
        options: seed, repeats, limit, keep_rounds, time_limit_s, name, note, tags, cache, cache_gb,
            prefetch, prefetch_gb, check_plugins, isolate, fingerprint: see
            `segarena.engine.plan.Plan`; and the benchmark's own, like `protocol="published"`.

    Raises:
        SegarenaError: raised before the run begins, if something is missing or incompatible.
        StoreError: the run cannot be written.
        WorkError: the run was ended because everything fails; the failed samples are pending again.
            Any other error of a segmenter becomes a record.
    """
    if challenge is not None:
        if people is not None:
            raise InvalidInput(
                "people: people cannot give prompts in a challenge; omit one of the two options"
            )
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
    # In a notebook, the file of a plug-in may have been edited since the last run.
    forget_edited_files()
    # A plug-in may change the working directory; relative paths refer to the directory at the
    # start.
    home = Path.cwd()
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
    _check_processes(executor, share=share, overwrite=overwrite, pdb=pdb)
    cast = plan.cast()
    if isinstance(cast.dataset, RemoteDataset) and cast.dataset.needs_trial:
        check_trial_answer(
            cast.segmenter, plan.benchmark.sample_kind, cast.dataset.prompt_kinds.values()
        )
    people_users = human_users(cast)
    if people_users:
        executor = executor_for_people(executor, people_users)
    path, config, data = _describe_run(plan, cast.dataset, out, segmenter=cast.segmenter, home=home)
    beside = _files_beside(cast.dataset)
    retries = {"retry_failed": retry_failed, "retry_damaged": retry_damaged}
    samples: SampleQueue
    if share:
        samples = SharedSampleQueue(
            path,
            config,
            data=data,
            beside=beside,
            workers=executor.workers,
            **retries,
        )
    else:
        folder = RunFolder.create(
            path,
            config,
            data=data,
            overwrite=overwrite,
            beside=beside,
            # In a challenge, the server decides which samples a run consists of.
            may_change=not isinstance(cast.dataset, RemoteDataset),
        )
        samples = ExclusiveSampleQueue(folder, **retries)
    if not executor.is_here:
        os.chdir(home)
    with (
        stoppable(),
        debugging(is_on=pdb),
        samples,
        page_server(people_users, path, run_info(plan, cast), people or PeopleSettings()) as pages,
    ):
        job = SampleJob(plan=plan, path=path, cast=cast if executor.is_here else None)
        rules = cast.rules
        # Workers build their own plug-ins, and a large model must not stay in memory in addition to
        # theirs.
        del cast
        has_worked = _run_all(
            job, rules, samples, executor, on_progress, keep_going=keep_going, pages=pages
        )
        # Free the plug-ins of the job before others are built in this process.
        del job

        def finish_run(folder: RunFolder) -> None:
            if has_worked or folder.config.counts is None:
                finish(folder)
            if verify:
                os.chdir(home)
                # Verify in another process, so that state of this process cannot make the answers
                # agree.
                other = make_executor(1) if executor.is_here else executor
                verified = verify_answers(plan, folder, verify, other)
                folder.write_config(replace(folder.config, verified=verified))

        return samples.finish(finish_run)


def _check_processes(
    executor: Executor,
    *,
    share: bool,
    overwrite: bool,
    pdb: bool,
) -> None:
    """Raise InvalidInput for options that are incompatible with the executor or with each other."""
    if pdb and not executor.is_here:
        raise InvalidInput("pdb: a debugger needs the plug-ins in this process; set workers to 0")
    if share and overwrite:
        raise InvalidInput(
            "share: processes that share a folder would overwrite each other's work; overwrite it first, without share"
        )


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
    """Run samples, in this and other processes, until all are done; return whether any were pending before."""
    resumed = samples.count_done
    count = len(samples.folder.samples)
    progress = Progress(
        units=count,
        unit=f"{word_of_kind(job.plan.benchmark.sample_kind)}s",
        done=resumed,
        resumed=resumed,
    )
    progress.notes += _isolation_notes(samples.folder.config)
    if pages.address:
        close_finished_samples(samples.folder)
        progress.notes.append(f"people give prompts at {pages.address}")
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
            results = run_samples(
                job, rules, samples.folder, order, executor, upcoming=samples.upcoming
            )
        # Closing the generator ends the workers, even if an error leaves this loop.
        with closing(results):
            for result in results:
                samples.note(result)
                done_here += 1
                _advance(progress, result, reported, samples.folder.path)
                report()
                if not keep_going:
                    cause = first.shared_cause(result)
                    if cause is not None:
                        break
    if cause is not None:
        samples.undo()
        raise WorkError(
            f"the first {FIRST_SAMPLES} samples all failed for the same reason: {cause}; the run was ended, and "
            "these samples are not kept. Fix the cause and repeat the command; --keep-going continues and records "
            "the failures"
        )
    # Other processes may have finished the rest after our last report.
    if progress.done < count:
        report()
    return resumed < count


def _isolation_notes(config: RunConfiguration) -> list[str]:
    if config.segmenter.isolation != PROCESS:
        return []
    return [
        f"isolate: {sandbox_fault()}, so the segmenter runs in a separate process, but can read "
        "the dataset's files"
    ]


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
        dataset: the dataset object.
        out: the folder; None for the default.
        segmenter: the segmenter object, if it is already built.
        home: the folder to which relative paths refer.
        overwrite: replace a run that the folder contains.
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
    assumptions = dataset_assumptions(dataset, config.dataset.samples)
    config = replace(config, dataset=replace(config.dataset, assumptions=assumptions))
    path = home / (_default_path(config) if out is None else Path(out))
    abilities = segmenter_capabilities(segmenter)
    used = replace(
        config.segmenter,
        sees_truth=abilities.sees_truth,
        encodes_with_prompts=abilities.encodes_with_prompts,
        display_name=display_name(segmenter),
    )
    config = replace(config, segmenter=used)
    identity, data = identity_of(config, dataset, segmenter=segmenter, by=plan.fingerprint)
    if not (plan.segmenter is None or isinstance(plan.segmenter, PluginSpec)):
        identity = replace(identity, segmenter_object=object_fingerprint(plan.segmenter))
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
    if isinstance(dataset, RemoteDataset):
        return dataset.beside
    return frozenset()


def finish(folder: RunFolder) -> None:
    """Compact the files of a finished run, and write its counts into run.json.

    No sample is loaded for counting: the tables list all targets, including those that no user
    chose.
    """
    folder.gather()
    records = folder.read("records", ["sample", "target", "user", "failure"])
    failed = records.filter(records["failure"].is_not_null())
    columns = failed.select("sample", "target", "user", "failure")
    unloaded = sum(Failure(*row).is_of_loading for row in columns.iter_rows())
    # The record of an unusable sample has no target.
    with_target = records.filter(records["target"] != "")
    dialogues = with_target.select("sample", "target", "user").unique()
    targets = set(dialogues.select("sample", "target").iter_rows())
    targets.update(folder.read("without_dialogue", ["sample", "target"]).iter_rows())
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
        failures=failed.height - unloaded,
        unloaded=unloaded,
        targets_without=_targets_without(dialogues, len(targets), users),
    )
    # An earlier verification does not cover samples that were added since.
    folder.write_config(replace(folder.config, finished=_now(), counts=counts, verified=None))
    forget_earlier_rows(folder.path)


def _targets_without(
    dialogues: pl.DataFrame,
    targets: int,
    users: Sequence[str],
) -> dict[str, int]:
    """Return for each user the number of targets without a dialogue, if above 0."""
    without: dict[str, int] = {}
    for user in users:
        missing = targets - dialogues.filter(dialogues["user"] == user).height
        if missing:
            without[user] = missing
    return without


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _command(arguments: Sequence[str]) -> str:
    """Return a shell-quoted command line for these arguments."""
    program, *rest = arguments
    if program.endswith(".py"):
        words = ["python", program, *rest]
    else:
        words = [Path(program).name or program, *rest]
    return " ".join(_quote(word) for word in words)


def _quote(word: str) -> str:
    # Plug-in specifications contain many single quotes; double quotes around them keep them
    # readable.
    if "'" in word and not set('"$`\\!') & set(word):
        return f'"{word}"'
    return shlex.quote(word)


def _advance(
    progress: Progress,
    result: SampleResult,
    reported: set[str],
    folder: Path,
) -> None:
    """Add a sample to the progress, with a note for each new failure cause up to `MAX_REPORTED_CAUSES` causes.

    The note contains the traceback, if there is one; the traceback is also written to the run folder.
    """
    for cause in result.causes:
        if not cause.first.is_of_loading:
            progress.failures += cause.count
    progress.seconds += result.seconds
    progress.counts["rounds"] += result.rounds
    for cause in result.causes:
        first = cause.first
        if first.cause in reported or len(reported) >= MAX_REPORTED_CAUSES:
            continue
        reported.add(first.cause)
        if first.is_of_loading:
            note = f"not loaded: {first.where}: {first.message.removeprefix(LOADING_PREFIX)}"
        else:
            note = f"failed: {first.where}: {first.message}"
        traceback = result.tracebacks.get(first.message, "")
        if traceback:
            note_traceback(folder, first.where, first.message, traceback)
            note = f"{note}\n{traceback}"
        progress.notes.append(note)


class _FirstSamples:
    """The first `FIRST_SAMPLES` samples with an answer or a failure, in the order in which they were started.

    The order makes the outcome independent of worker speed.
    """

    def __init__(self) -> None:
        self._order = deque[int]()
        # Results that arrived before the result of an earlier sample.
        self._early: dict[int, SampleResult] = {}
        self._first: list[SampleResult] = []

    def in_order(self, indices: Iterable[int]) -> Iterator[int]:
        """Yield the indices of samples to run, and remember their order."""
        for index in indices:
            if len(self._first) < FIRST_SAMPLES:
                self._order.append(index)
            yield index

    def shared_cause(self, result: SampleResult) -> FailureCause | None:
        """Add a result; return the failure cause that all first samples share, or None."""
        if len(self._first) == FIRST_SAMPLES:
            return None
        self._early[result.index] = result
        while self._order and self._order[0] in self._early and len(self._first) < FIRST_SAMPLES:
            following = self._early.pop(self._order.popleft())
            # A sample without targets is no evidence about the segmenter.
            if following.rounds or following.causes:
                self._first.append(following)
        causes = group_by_cause(chain.from_iterable(each.causes for each in self._first))
        has_answers = any(each.rounds for each in self._first)
        if len(self._first) == FIRST_SAMPLES and len(causes) == 1 and not has_answers:
            return causes[0]
        return None


def _default_path(config: RunConfiguration) -> Path:
    used = config.segmenter
    segmenter = used.label or used.display_name or used.name
    names = [config.benchmark.name, segmenter, config.dataset.name]
    return Path("runs") / "-".join(_file_name(name) for name in names)


def _file_name(name: str) -> str:
    last = name.rpartition("/")[2].replace(".py:", "-")
    return "".join(letter if letter.isalnum() else "-" for letter in last)
