"""The job of a run: run all dialogues about one sample, and write their rows."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segarena.engine.forecast_subset import EMPTY_WORKLOAD, SampleWorkload, open_session_subset
from segarena.engine.lockstep_dialogues import RunCast, load_sample, run_sample
from segarena.engine.plan import Plan, time_limit_of
from segarena.engine.plugin_errors import collected_tracebacks
from segarena.engine.rows import Rows, failed_sample
from segarena.engine.run_location import RunLocation
from segarena.engine.sample_prefetch import SamplePrefetcher
from segarena.engine.sample_row_merging import DialogueName, KeptSample, merge_rows
from segarena.engine.session import Rules
from segarena.engine.session_protocol import SessionLike
from segarena.engine.time_limit import SLOW_CALLS, TimeLimit
from segarena.errors import UnitHung
from segarena.files.folder_probe import place_probe
from segarena.plugin_capabilities import peak_bytes_elsewhere
from segarena.records.configuration import read_configuration
from segarena.records.failures import FailureCause
from segarena.records.sample_file import SampleFileWriter
from segarena.samples import Sample
from segarena.work.jobs import Executor, UnitFailure

if TYPE_CHECKING:
    # Both import Polars, which takes longer than everything else at the start of a worker.
    from segarena.engine.rows_before_extension import EarlierRows
    from segarena.engine.run_folder import RunFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleResult:
    """Outcome of one sample.

    Attributes:
        index: index of the sample in the run.
        rounds: number of answered rounds.
        causes: failures by cause.
        encodes: number of encoder passes.
        seconds: duration from loading to writing.
        peak_bytes: peak memory so far of the process that ran it, plus that of a model in another process.
        opened: the existing dialogues, and the share of them that was run.
        file: the file of the sample for the parent to write, if the process that ran the sample cannot access the
            run folder; b"" otherwise.
        tracebacks: tracebacks of the plug-ins' errors, by message.
    """

    index: int
    rounds: int
    causes: Sequence[FailureCause]
    encodes: int
    seconds: float
    peak_bytes: int
    opened: SampleWorkload = EMPTY_WORKLOAD
    file: bytes = field(default=b"", repr=False)
    tracebacks: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @property
    def failures(self) -> int:
        """Number of failed dialogues."""
        return sum(cause.count for cause in self.causes)


@dataclass(frozen=True, kw_only=True)
class SampleJob:
    """The job of a run; its units of work are the indices of samples.

    Attributes:
        plan: the plan; other processes receive it and build their plug-ins from it.
        path: path of the run folder.
        part: fraction of each sample's rounds to run, below 1 for a forecast.
        cast: the plug-in objects, if this process has already built them; never sent to other processes.
        home: location of the run, for processes on any machine; None if all are on this one.
    """

    plan: Plan
    path: Path
    part: float = 1.0
    cast: RunCast | None = field(default=None, repr=False)
    home: RunLocation | None = None

    def open(self) -> Callable[[int], SampleResult]:
        """Build the plug-ins, and return the function that runs one sample.

        Raises:
            DatasetError, WorkersInvalid: the run would give other results on this machine.
        """
        cast = self.cast or self.plan.cast()
        # Without the earlier rows, all dialogues run again, with the same results.
        earlier = None
        if self.home is None or self.home.mark.is_visible:
            writer = SampleFileWriter(self.path)
            samples = read_configuration(self.path / "run.json").config.dataset.samples
            if (self.path / "earlier").is_dir():
                from segarena.engine.rows_before_extension import EarlierRows

                earlier = EarlierRows(self.path)
        else:
            writer = None
            samples = self.home.config.dataset.samples
        if self.home is not None:
            self.home.check(cast)
        limit = time_limit_of(self.plan)
        return partial(_run_one, cast, samples, writer, earlier, limit, self.part)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "plan": self.plan,
            "path": self.path,
            "part": self.part,
            "cast": None,
            "home": self.home,
        }


def run_samples(
    job: SampleJob,
    rules: Rules,
    folder: RunFolder,
    indices: Iterable[int],
    executor: Executor,
    *,
    upcoming: Sequence[int] = (),
) -> Generator[SampleResult]:
    """Run samples and yield their results as they finish.

    A sample that kills its process is recorded as failed.

    Args:
        job: the job.
        rules: the rules of the dialogues.
        folder: folder of the run.
        indices: indices of the samples, each requested when a process is free.
        executor: runs the job.
        upcoming: the same indices, if they are known before they are requested. If the job runs in
            this process, the next samples are then loaded while one runs.

    Raises:
        StoreError: a file cannot be written.
        SegarenaError: the plug-ins cannot be built.
    """
    with ExitStack() as stack:
        if not executor.is_near:
            mark = stack.enter_context(place_probe(folder.path))
            job = replace(job, home=RunLocation(mark, folder.config))
        prefetcher = _create_prefetcher(job, [folder.samples[index] for index in upcoming])
        if prefetcher is not None and job.cast is not None:
            stack.enter_context(closing(prefetcher))
            job = replace(job, cast=replace(job.cast, prefetcher=prefetcher))
        outcomes = stack.enter_context(closing(executor.map(job, indices)))
        for outcome in outcomes:
            if isinstance(outcome, UnitFailure):
                why = failure_reason(outcome, job.plan)
                sample_id = folder.samples[outcome.unit]
                record = failed_sample(rules.benchmark, rules.dataset, sample_id, why)
                yield write_sample_rows(
                    folder.writer, outcome.unit, Rows([record]), outcome.seconds
                )
            else:
                yield _write_returned_file(folder, outcome.result)


def _create_prefetcher(job: SampleJob, sample_ids: Sequence[str]) -> SamplePrefetcher | None:
    """Return the prefetcher of a run in this process; None if samples are not to be loaded ahead."""
    plan = job.plan
    # A challenge hands out samples one by one.
    if (
        job.cast is None
        or not plan.prefetch
        or not sample_ids
        or job.cast.remote_dataset is not None
    ):
        return None
    return SamplePrefetcher(
        partial(load_sample, job.cast.dataset),
        sample_ids,
        limit_s=SLOW_CALLS * plan.time_limit_s,
        # The samples that share a pass of the encoder are loaded in addition.
        max_samples=plan.prefetch + job.cast.encoder.image_batch - 1,
        max_bytes=int(plan.prefetch_gb * 1e9),
    )


def _write_returned_file(folder: RunFolder, result: SampleResult) -> SampleResult:
    """Write the sample's file if the result contains it; return the result without the file."""
    if not result.file:
        return result
    folder.writer.write(result.index, result.file)
    return replace(result, file=b"")


def failure_reason(failed: UnitFailure[Any], plan: Plan) -> str:
    """Describe in one line why a unit failed."""
    if not isinstance(failed.error, UnitHung):
        return str(failed.error)
    during = f" ({failed.during})" if failed.during else ""
    return (
        f"a plug-in hung in native code{during}: no answer within {plan.time_limit_s:g} s per call"
    )


def _run_one(
    cast: RunCast,
    samples: Sequence[str],
    writer: SampleFileWriter | None,
    earlier: EarlierRows | None,
    limit: TimeLimit,
    part: float,
    index: int,
) -> SampleResult:
    started = time.perf_counter()
    workload = EMPTY_WORKLOAD
    kept = KeptSample() if earlier is None else earlier.of_sample(samples[index])
    order: list[DialogueName] = []

    def open_part(cast: RunCast, sample: Sample) -> Sequence[SessionLike]:
        nonlocal workload
        load_s = time.perf_counter() - started
        if cast.remote_dataset is not None:
            return cast.remote_dataset.open_sessions(sample, cast.rules.keep_rounds)
        sessions, opened = open_session_subset(cast, sample, part)
        workload = replace(opened, load_s=load_s)
        for session in sessions:
            order.append((session.target.id, session.user_name, session.repeat))
        return [session for session in sessions if session.user_name not in kept.users]

    with collected_tracebacks() as tracebacks:
        rows = run_sample(cast, samples[index], limit, opening=open_part)
    if cast.prefetcher is not None and rows.rounds:
        # Not before an answer, because a run whose first samples all fail ends early.
        cast.prefetcher.start()
    rows = merge_rows(kept, rows, order)
    seconds = time.perf_counter() - started
    return write_sample_rows(
        writer,
        index,
        rows,
        seconds,
        workload,
        elsewhere_bytes=peak_bytes_elsewhere(cast.segmenter),
        tracebacks=tracebacks,
    )


def write_sample_rows(
    writer: SampleFileWriter | None,
    index: int,
    rows: Rows,
    seconds: float,
    opened: SampleWorkload = EMPTY_WORKLOAD,
    *,
    elsewhere_bytes: int = 0,
    tracebacks: Mapping[str, str] | None = None,
) -> SampleResult:
    """Write the rows of a sample and return its result.

    Without a writer, because this process cannot access the run folder, the result contains the file.

    `elsewhere_bytes` is the peak memory of a model in another process; for the other values see `SampleResult`.
    """
    # Encode here, so that the workers share this cost.
    data = rows.pack()
    if writer is not None:
        writer.write(index, data)
        data = b""
    return SampleResult(
        index=index,
        rounds=rows.rounds,
        causes=rows.causes,
        encodes=rows.encodes,
        seconds=seconds,
        peak_bytes=peak_bytes() + elsewhere_bytes,
        opened=opened,
        file=data,
        tracebacks=tracebacks or {},
    )


def peak_bytes() -> int:
    """Return the peak memory of this process in bytes."""
    # On Linux read /proc, because getrusage also counts the process that started this one.
    with suppress(OSError):
        status = Path("/proc/self/status").read_bytes()
        # "VmHWM:   123456 kB"
        _, found, rest = status.partition(b"VmHWM:")
        if found:
            return 1024 * int(rest.split(maxsplit=1)[0])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS reports bytes, Linux reports kibibytes.
    return peak if sys.platform == "darwin" else 1024 * peak
