"""Run a benchmark: the engine's end of the session."""

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

from segarena.abilities import abilities_of_segmenter
from segarena.engine.answer_verification import check_verifiable
from segarena.engine.answer_verification import verify_answers as ask_some_again
from segarena.engine.human_loop import close_finished_samples, human_users, run_info, serve_samples
from segarena.engine.human_prompts import (
    PageServer,
    PeopleSettings,
    executor_for_people,
    page_server,
)
from segarena.engine.plan import Plan, environment, make_plan
from segarena.engine.rows import CACHE_READ_ROUND, ENCODER_PASS_ROUND
from segarena.engine.run_identity import identity_of
from segarena.engine.sample_job import SampleJob, SampleResult, run_samples
from segarena.engine.sample_queue import ExclusiveSampleQueue, SampleQueue, SharedSampleQueue
from segarena.engine.session import Rules
from segarena.engine.session_protocol import RemoteDataset, taking_part
from segarena.engine.store import RunFolder
from segarena.errors import InvalidInput, WorkError
from segarena.records.configuration import RunConfiguration, RunCounts
from segarena.records.failures import FailureCause, group_by_cause
from segarena.records.fingerprints import Fingerprints
from segarena.roles import Benchmark, Dataset, Segmenter
from segarena.specs import Plugin
from segarena.work.executors import make_executor
from segarena.work.jobs import Executor, Workers
from segarena.work.progress import OnProgress, Progress, ignore_progress
from segarena.work.signals import stoppable

if TYPE_CHECKING:
    import polars as pl

FIRST_SAMPLES = 3
"""When all about so many samples fails for one cause, the others are not expected to do better."""

MOST_CAUSES = 5
"""So many causes are said while a run goes on; its summary counts them all."""


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
    """Judge `segmenter` by `benchmark`; return the finished run. Called again with the same `out`, it resumes.

    Args:
        benchmark: a plug-in, or a benchmark.
        segmenter: a plug-in as written ("grabcut", "my_model.py:MyModel(scale=2)"), a `PluginSpec`, or an object.
        challenge: `https://host/challenges/NAME`: a server asks and judges, by its own rules about its own data; see
            `segarena.client.participate.evaluate`.
        dataset: a plug-in or an object; the benchmark's own by default.
        users: plug-ins as written, instead of the benchmark's.
        metrics: further metrics.
        rounds: instead of the benchmark's.
        out: folder of the run; by default `runs/<benchmark>-<segmenter>-<dataset>`.
        workers: processes, or an executor such as `segarena.Ray`; 0 works in this one. Objects travel to processes by
            pickling.
        retry_failed: do samples again in which something failed.
        retry_damaged: do samples again whose files are damaged or whose values contradict one another.
        overwrite: start anew where `out` holds a run, whatever it was; nothing but that run is deleted.
        keep_going: False ends the run when all about the first `FEW` samples fails for one and the same cause.
        verify: so many answers are asked again when the run is over (`segarena.engine.answer_verification`), and what came of it
            stands in `config.verified`.
        share: take part in a run on which other processes, of any hosts that see the folder, work at the same time;
            each that is called so returns when all of it is done.
        people: where users who are people are asked; by default at a page on this machine, whose address the first
            note of `on_progress` tells. It waits for them as long as they take.
        on_progress: called with the state of the run.
        options: seed, repeats, limit, keep_rounds, time_limit_s, name, cache, cache_gb, check_plugins: see
            `segarena.engine.plan.Plan`; and the benchmark's own, like `protocol="published"`.

    Raises:
        SegarenaError: before anything runs, when something is missing or does not fit; StoreError when the
            run cannot be written; WorkError when it was ended because everything fails, whereupon the samples that
            failed are pending again. Otherwise what a segmenter does wrong becomes a record.
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
        how = {
            "retry_failed": retry_failed,
            "retry_damaged": retry_damaged,
            "keep_going": keep_going,
            "verify": verify,
        }
        given: dict[str, Any] = {
            **options,
            **how,
            "share": share,
            "out": out,
            "workers": workers,
            "overwrite": overwrite,
            "on_progress": on_progress,
        }
        return taking_part().evaluate(challenge, segmenter=segmenter, rules=rules, **given)
    executor = make_executor(workers)
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
    cast = (
        plan.cast()
    )  # a plug-in may change the working directory: paths are meant from where we were
    if asked := human_users(cast):
        executor = executor_for_people(executor, asked)
    path, config, data = _described(plan, cast.dataset, out, segmenter=cast.segmenter, home=home)
    retries = {"retry_failed": retry_failed, "retry_damaged": retry_damaged}
    samples: SampleQueue
    if share:
        samples = SharedSampleQueue(
            path,
            config,
            data=data,
            beside=_beside(cast.dataset),
            workers=executor.workers,
            **retries,
        )
    else:
        folder = RunFolder.create(
            path, config, data=data, overwrite=overwrite, beside=_beside(cast.dataset)
        )
        samples = ExclusiveSampleQueue(folder, **retries)
    if not executor.is_here:
        os.chdir(home)
    with (
        stoppable(),
        samples,
        page_server(asked, path, run_info(plan, cast), people or PeopleSettings()) as pages,
    ):
        job = SampleJob(plan=plan, path=path, cast=cast if executor.is_here else None)
        rules = cast.rules
        # Where everyone chooses targets, those that nobody chose stand in no record.
        abilities = cast.user_abilities.values()
        if abilities and all(one.repeats is not None for one in abilities):
            dataset = cast.dataset
        else:
            dataset = None
        del cast  # workers build their own; a large model is not held here beside theirs
        has_worked = _hold_all(
            job, rules, samples, executor, on_progress, keep_going=keep_going, pages=pages
        )
        del job  # and with it the plug-ins that worked here

        def finish_run(folder: RunFolder) -> None:
            if has_worked or folder.config.counts is None:
                finish(folder, dataset)
            if verify:
                os.chdir(home)
                verified = ask_some_again(
                    plan, folder, verify, make_executor(1) if executor.is_here else executor
                )
                folder.write_config(replace(folder.config, verified=verified))

        return samples.finish(finish_run)


def _hold_all(
    job: SampleJob,
    rules: Rules,
    samples: SampleQueue,
    executor: Executor,
    on_progress: OnProgress,
    *,
    keep_going: bool,
    pages: PageServer,
) -> bool:
    """Hold samples until all are done, here or elsewhere; return whether any were not done before."""
    resumed = samples.count_done
    count = len(samples.folder.samples)
    progress = Progress(units=count, done=resumed, resumed=resumed)
    if pages.address:
        close_finished_samples(samples.folder)
        progress.notes.append(f"people are asked at {pages.address}")
    on_progress(progress)

    def tell(waiting_for: str = "") -> None:
        progress.done = samples.count_done
        progress.sharers = samples.sharers
        progress.waiting_for = waiting_for
        progress.elsewhere = progress.done - resumed - held_here
        on_progress(progress)

    first = _FirstSamples()
    known = set[str]()
    cause = None
    held_here = 0
    while cause is None and (turn := samples.turn(tell)) is not None:
        order = first.in_order(turn)
        attended = serve_samples(job, samples.folder, order, pages.check) if pages.address else None
        with closing(attended or run_samples(job, rules, samples.folder, order, executor)) as steps:
            for held in steps:
                samples.note(held)
                held_here += 1
                _advance(progress, held, known)
                tell()
                if not keep_going and (cause := first.shared_cause(held)):
                    break
    if cause is not None:
        samples.undo()
        raise WorkError(
            f"all about the first {FIRST_SAMPLES} samples failed alike: {cause}; the run was ended and they are not kept. "
            "Mend that and give the same command again; --keep-going goes on and records the failures"
        )
    if progress.done < count:  # others did the rest
        tell()
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
    """Start or continue the run folder of `plan`, whose segmenter may be built; see `RunFolder.create`.

    With `samples` the run is about these of the dataset, in this order.
    """
    path, config, data = _described(
        plan, dataset, out, segmenter=segmenter, home=home, samples=samples
    )
    return RunFolder.create(path, config, data=data, overwrite=overwrite, beside=_beside(dataset))


def _described(
    plan: Plan,
    dataset: Dataset,
    out: str | Path | None,
    *,
    segmenter: Any,
    home: Path,
    samples: Sequence[str] | None = None,
) -> tuple[Path, RunConfiguration, Fingerprints]:
    """Return the folder of a run, what its run.json says when it begins, and the fingerprints of its data."""
    config = plan.describe(dataset)
    if samples is not None:
        config = replace(config, dataset=replace(config.dataset, samples=tuple(samples)))
    path = home / (Path(out) if out is not None else _default_path(config))
    abilities = abilities_of_segmenter(segmenter)
    used = replace(
        config.segmenter,
        sees_truth=abilities.sees_truth,
        encodes_with_prompts=abilities.encodes_with_prompts,
    )
    config = replace(config, segmenter=used)
    identity, data = identity_of(config, dataset, segmenter=segmenter, by=plan.fingerprint)
    config = replace(config, created=_now(), environment=environment(), identity=identity)
    return path, replace(config, command=_command(sys.argv), directory=str(home.resolve())), data


def _beside(dataset: Dataset) -> Set[str]:
    return dataset.beside if isinstance(dataset, RemoteDataset) else frozenset()


def finish(folder: RunFolder, dataset: Dataset | None = None) -> None:
    """Gather the files of a run that is over, and write into run.json what it came to.

    Targets are those of the records; of `dataset` too, where one is given.
    """
    folder.gather()
    records = folder.read("records", ["sample", "target", "user", "failure"])
    asked = records.filter(records["target"] != "").select("sample", "target", "user").unique()
    targets = {*asked.select("sample", "target").iter_rows(), *_targets_of(dataset, folder.samples)}
    timings = folder.read("timings", ["round"])
    if folder.config.segmenter.encodes_with_prompts:
        is_pass = timings["round"] > 0
    else:
        is_pass = timings["round"] == ENCODER_PASS_ROUND
    counts = RunCounts(
        samples=len(folder.samples),
        targets=len(targets),
        rounds=records.filter(records["failure"].is_null()).height,
        encodes=timings.filter(is_pass).height,
        encodes_from_cache=timings.filter(timings["round"] == CACHE_READ_ROUND).height,
        failures=records.filter(records["failure"].is_not_null()).height,
        targets_without=_targets_without(
            asked, len(targets), [user.written for user in folder.config.users]
        ),
    )
    folder.write_config(replace(folder.config, finished=_now(), counts=counts, verified=None))


def _targets_of(dataset: Dataset | None, samples: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield sample and target of what a dataset has; a sample that cannot be loaded has failed already."""
    if dataset is None:
        return
    for name in samples:
        with suppress(Exception):
            yield from ((name, target.id) for target in dataset.load(name).targets)


def _targets_without(asked: pl.DataFrame, targets: int, users: Sequence[str]) -> dict[str, int]:
    """Return for each user who has no dialogue about some of the targets, about how many."""
    without = {user: targets - asked.filter(asked["user"] == user).height for user in users}
    return {user: count for user, count in without.items() if count}


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _command(arguments: Sequence[str]) -> str:
    """Return a command line that a shell takes, for what was called with these arguments."""
    program, *rest = arguments
    if program.endswith(".py"):
        called = ["python", program]
    else:
        called = [Path(program).name or program]
    # Plug-ins are full of single quotes; between double ones they stay readable.
    return " ".join(
        f'"{word}"' if "'" in word and not set('"$`\\!') & set(word) else shlex.quote(word)
        for word in (*called, *rest)
    )


def _advance(progress: Progress, held: SampleResult, known: set[str]) -> None:
    """Count a sample that was held; what failed for a cause that is not `known` yet is said at once."""
    progress.failures += held.failures
    progress.seconds += held.seconds
    progress.counts["rounds"] += held.rounds
    for cause in held.causes:
        if cause.first.cause not in known and len(known) < MOST_CAUSES:
            known.add(cause.first.cause)
            progress.notes.append(f"failed: {cause.first.where}: {cause.first.message}")


class _FirstSamples:
    """The first `FEW` samples, in order, in which anything happened: which worker is quicker decides nothing."""

    def __init__(self) -> None:
        self._order = deque[int]()
        self._early: dict[int, SampleResult] = {}  # held, while one before them is not
        self._first: list[SampleResult] = []

    def in_order(self, indices: Iterable[int]) -> Iterator[int]:
        """Yield samples as they are to be held."""
        for index in indices:
            if len(self._first) < FIRST_SAMPLES:
                self._order.append(index)
            yield index

    def shared_cause(self, held: SampleResult) -> FailureCause | None:
        """Take one more that was held; return the one cause for which everything about the first failed, if any."""
        if len(self._first) == FIRST_SAMPLES:
            return None
        self._early[held.index] = held
        while self._order and self._order[0] in self._early and len(self._first) < FIRST_SAMPLES:
            after = self._early.pop(self._order.popleft())
            self._first += [after] if after.rounds or after.causes else []
        causes = group_by_cause(chain.from_iterable(held.causes for held in self._first))
        has_answers = any(held.rounds for held in self._first)
        if len(self._first) == FIRST_SAMPLES and len(causes) == 1 and not has_answers:
            return causes[0]
        return None


def _default_path(config: RunConfiguration) -> Path:
    def plain(name: str) -> str:
        return "".join(
            letter if letter.isalnum() else "-"
            for letter in name.rpartition("/")[2].replace(".py:", "-")
        )

    names = [config.benchmark.name, config.segmenter.name, config.dataset.name]
    return Path("runs") / "-".join(plain(name) for name in names)
