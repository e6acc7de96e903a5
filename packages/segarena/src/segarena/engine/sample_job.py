"""The job of a run: hold all dialogues about one sample, and write what came of them."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from segarena.abilities import WorksElsewhere
from segarena.engine.forecast_subset import EMPTY_WORKLOAD, SampleWorkload, open_session_subset
from segarena.engine.lockstep import RunCast, run_sample
from segarena.engine.plan import Plan
from segarena.engine.rows import Rows, failed_sample
from segarena.engine.run_location import RunLocation
from segarena.engine.session import Rules
from segarena.engine.session_protocol import RemoteDataset, SessionLike
from segarena.engine.store import RunFolder, files_of_rows
from segarena.engine.time_limit import TimeLimit
from segarena.errors import UnitHung
from segarena.files.marks import marked
from segarena.records.failures import FailureCause
from segarena.samples import Sample
from segarena.work.deadline import this_deadline
from segarena.work.jobs import Executor, UnitFailure

_GRACE_S = 5.0
"""How much later than the alarm inside its process a hanging predict is ended from outside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleResult:
    """One sample is done.

    Attributes:
        rounds: predictions made.
        causes: why dialogues went wrong.
        encodes: encoder passes.
        seconds: what it took.
        peak_bytes: the most memory that the process that held it has had so far, and that of a model elsewhere.
        opened: what there was to hold.
        files: what is to be written, where the process that held it does not see the run's folder.
    """

    index: int
    rounds: int
    causes: Sequence[FailureCause]
    encodes: int
    seconds: float
    peak_bytes: int
    opened: SampleWorkload = EMPTY_WORKLOAD
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes], repr=False)

    @property
    def failures(self) -> int:
        """Dialogues that went wrong."""
        return sum(cause.count for cause in self.causes)


@dataclass(frozen=True, kw_only=True)
class SampleJob:
    """The job: its units are the samples' places in the run.

    Attributes:
        plan: travels to other processes, where the cast is built from it.
        path: of the run folder.
        cast: the cast where it is built already; it never travels.
        part: how much of each sample is held, to see what it costs: some dialogues, and of a single one some rounds.
        home: of the run, for processes on any machine; None where all are on this one.
    """

    plan: Plan
    path: Path
    part: float = 1.0
    cast: RunCast | None = field(default=None, repr=False)
    home: RunLocation | None = None

    def open(self) -> Callable[[int], SampleResult]:
        """Build the cast.

        Raises:
            DatasetError, WorkersInvalid: on this machine the run would come to other numbers.
        """
        cast = self.cast or self.plan.cast()
        if self.home is None or self.home.mark.is_seen:
            folder = RunFolder.open(self.path)
            samples = folder.samples
        else:
            folder = None
            samples = self.home.config.dataset.samples
        if self.home is not None:
            self.home.check(cast)
        return partial(_hold, cast, samples, folder, time_limit_of(self.plan), self.part)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "plan": self.plan,
            "path": self.path,
            "part": self.part,
            "cast": None,
            "home": self.home,
        }


def time_limit_of(plan: Plan) -> TimeLimit:
    """Return the limit of each call in this process, which a parent may watch."""
    seconds = plan.time_limit_s
    # Whoever sets a limit below a few seconds does not want to wait many more for a process that hangs.
    return TimeLimit(seconds, this_deadline(), grace_s=min(_GRACE_S, max(1.0, seconds)))


def run_samples(
    job: SampleJob, rules: Rules, folder: RunFolder, indices: Iterable[int], executor: Executor
) -> Generator[SampleResult]:
    """Hold samples and yield them in the order in which they finish; one that kills its process is recorded as failed.

    Raises:
        StoreError: something cannot be written.
        SegarenaError: the cast cannot be built.
    """
    with ExitStack() as stack:
        if not executor.is_near:
            job = replace(
                job, home=RunLocation(stack.enter_context(marked(folder.path)), folder.config)
            )
        for outcome in stack.enter_context(closing(executor.map(job, indices))):
            if not isinstance(outcome, UnitFailure):
                yield _arrived(folder, outcome.result)
                continue
            why = failure_reason(outcome, job.plan)
            record = failed_sample(
                rules.benchmark, rules.dataset, folder.samples[outcome.unit], why
            )
            yield write_sample_rows(folder, outcome.unit, Rows([record]), outcome.seconds)


def _arrived(folder: RunFolder, held: SampleResult) -> SampleResult:
    """Write what could not be written where it was held."""
    if held.files:
        folder.write_files(held.index, held.files)
    return replace(held, files={})


def failure_reason(failed: UnitFailure[Any], plan: Plan) -> str:
    """Return why a unit of a plan's work came to nothing, in a line."""
    if not isinstance(failed.error, UnitHung):
        return str(failed.error)
    during = f" ({failed.during})" if failed.during else ""
    return f"a plug-in hung below Python{during}: no answer within {plan.time_limit_s:g} s per call"


def _hold(
    cast: RunCast,
    samples: Sequence[str],
    folder: RunFolder | None,
    limit: TimeLimit,
    part: float,
    index: int,
) -> SampleResult:
    started = time.perf_counter()
    opened = [EMPTY_WORKLOAD]

    def opening(cast: RunCast, sample: Sample) -> Sequence[SessionLike]:
        load_s = time.perf_counter() - started
        if isinstance(cast.dataset, RemoteDataset):
            return cast.dataset.open_sessions(sample, cast.rules.keep_rounds)
        sessions, found = open_session_subset(cast, sample, part)
        opened.append(replace(found, load_s=load_s))
        return sessions

    rows = run_sample(cast, samples[index], limit, opening=opening)
    held = write_sample_rows(folder, index, rows, time.perf_counter() - started, opened[-1])
    if isinstance(cast.segmenter, WorksElsewhere):
        elsewhere = cast.segmenter.peak_bytes_elsewhere
    else:
        elsewhere = 0
    return replace(held, peak_bytes=held.peak_bytes + elsewhere)


def write_sample_rows(
    folder: RunFolder | None,
    index: int,
    rows: Rows,
    seconds: float,
    opened: SampleWorkload = EMPTY_WORKLOAD,
) -> SampleResult:
    """Write the rows of a sample, where its run's folder is seen from here, and return what it came to."""
    files = files_of_rows(rows)
    if folder is not None:
        folder.write_files(index, files)
    return SampleResult(
        index=index,
        rounds=rows.rounds,
        causes=rows.causes,
        encodes=rows.encodes,
        seconds=seconds,
        peak_bytes=peak_bytes(),
        opened=opened,
        files={} if folder is not None else files,
    )


def peak_bytes() -> int:
    """Return the most memory that this process has had in use.

    On Linux from /proc: what getrusage says there includes the process that started this one.
    """
    with suppress(OSError):
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return next(
            1024 * int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
