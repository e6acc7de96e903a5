"""Local worker processes: each builds the cast once, takes a sample, holds its dialogues, writes its files.

The parent only hands out samples and watches. It ends a worker that overruns its deadline below Python, and
replaces one that dies; the sample at fault is tried once more in a fresh process, then becomes a failure
record, and the run goes on. Workers end by themselves when the parent is gone.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from typing import Any

from segarena.engine.guard import TimeLimit
from segarena.engine.lockstep import Cast, run_sample
from segarena.engine.plan import Plan
from segarena.engine.rows import Rows, failed_sample
from segarena.engine.session import Rules
from segarena.engine.store import RunFolder
from segarena.errors import PluginInvalid, SegarenaError, StoreError

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
_POLL_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """One sample is done.

    Attributes:
        rounds: predictions made.
        failures: dialogues that went wrong.
        encodes: encoder passes.
        seconds: what it took the process that held it, from loading to writing.
        peak_bytes: the most memory that this process has had so far.
    """

    index: int
    rounds: int
    failures: int
    encodes: int
    seconds: float
    peak_bytes: int


def run_here(cast: Cast, folder: RunFolder, indices: Sequence[int], time_limit_s: float) -> Iterator[Done]:
    """Hold the samples one after the other in this process."""
    limit = TimeLimit(time_limit_s)
    for index in indices:
        yield _hold(cast, folder, index, limit)


def run_in_workers(
    plan: Plan, rules: Rules, folder: RunFolder, indices: Sequence[int], workers: int
) -> Generator[Done]:
    """Hold the samples in `workers` processes; yields in the order in which they finish.

    Raises:
        StoreError: a worker cannot write.
        SegarenaError: a worker cannot build the cast.
    """
    pool = [_Worker(plan, folder) for _ in range(min(workers, len(indices)))]
    waiting = deque(indices)
    tries: dict[int, int] = {}
    try:
        while waiting or any(worker.index is not None for worker in pool):
            for worker in pool:
                if worker.index is None and waiting:
                    worker.take(waiting.popleft())
            for worker in _speaking(pool):
                answer = worker.listen()
                if isinstance(answer, SegarenaError):
                    raise answer
                if isinstance(answer, _Ready):
                    worker.is_ready = True
                    continue
                if isinstance(answer, Done):
                    worker.index = None
                    yield answer
                    continue
                worker.check_started()
                index, why = worker.bury()
                tries[index] = tries.get(index, 0) + 1
                if tries[index] == 1 and not worker.was_overdue:
                    waiting.appendleft(index)
                else:
                    yield _give_up(rules, folder, index, why)
                pool[pool.index(worker)] = _Worker(plan, folder)
    finally:
        for worker in pool:
            worker.end()


def _hold(cast: Cast, folder: RunFolder, index: int, limit: TimeLimit) -> Done:
    started = time.perf_counter()
    return _keep(folder, index, run_sample(cast, folder.samples[index], limit), started)


def _keep(folder: RunFolder, index: int, rows: Rows, started: float) -> Done:
    folder.write(index, rows)
    return Done(
        index=index,
        rounds=rows.rounds,
        failures=rows.failures,
        encodes=rows.encodes,
        seconds=time.perf_counter() - started,
        peak_bytes=peak_bytes(),
    )


def peak_bytes() -> int:
    """Return the most memory that this process has had in use.

    On Linux from /proc: what getrusage says there includes the process that started this one.
    """
    with suppress(OSError):
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return next(1024 * int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _give_up(rules: Rules, folder: RunFolder, index: int, why: str) -> Done:
    record = failed_sample(rules.benchmark, rules.dataset, folder.samples[index], why)
    return _keep(folder, index, Rows([record]), time.perf_counter())


class _Ready:
    """What a worker says first: it has built the cast and waits for samples."""


@dataclass(slots=True)
class _Worker:
    """The parent's end of one worker process."""

    plan: Plan
    folder: RunFolder
    index: int | None = None
    was_overdue: bool = False
    is_ready: bool = False
    process: SpawnProcess = field(init=False)
    pipe: Any = field(init=False)
    deadline: Any = field(init=False)

    def __post_init__(self) -> None:
        context: SpawnContext = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.deadline = context.Value("d", 0.0, lock=False)
        arguments = (self.plan, str(self.folder.path), theirs, self.deadline)
        self.process = context.Process(target=_work, args=arguments, daemon=True)
        with _one_thread_each(), _away_from_main(needed=self.plan.holds_objects):
            self.process.start()
        theirs.close()

    def take(self, index: int) -> None:
        self.index = index
        with suppress(OSError):  # it died while idle; listening will find out
            self.pipe.send(index)

    def is_overdue(self) -> bool:
        return 0.0 < self.deadline.value < time.monotonic()

    def check_started(self) -> None:
        """Raise when the process ended before it was ready: no sample can be held then."""
        if not self.is_ready:
            self.end()
            raise PluginInvalid(
                f"a worker process could not start (exit code {self.process.exitcode}); its error stands above. "
                "A script that gives objects to workers must start them under 'if __name__ == \"__main__\":'"
            )

    def listen(self) -> Done | _Ready | SegarenaError | None:
        """Return what the worker says; None when it died or is overdue."""
        try:
            return self.pipe.recv() if self.pipe.poll() else None
        except (EOFError, OSError):
            return None

    def bury(self) -> tuple[int, str]:
        """End the process; return the sample it had and what happened."""
        self.was_overdue = self.is_overdue()
        self.end()
        index = -1 if self.index is None else self.index
        if self.was_overdue:
            return index, f"the segmenter hung: no answer within {self.plan.time_limit_s:g} s per prediction"
        code = self.process.exitcode or 0
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return index, f"the worker process died ({how}); out of memory, or a crash in compiled code"

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _speaking(pool: Sequence[_Worker]) -> list[_Worker]:
    busy = [worker for worker in pool if worker.index is not None]
    ready = wait([worker.pipe for worker in busy], timeout=_POLL_S)
    return [worker for worker in busy if worker.pipe in ready or worker.is_overdue()]


@contextmanager
def _one_thread_each() -> Generator[None]:
    """Give each worker one thread: workers are the parallelism, and results must not depend on their number."""
    before = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _away_from_main(*, needed: bool) -> Generator[None]:
    """Start processes that do not import the caller's script again, unless it is `needed`.

    A script without the usual guard would otherwise start the whole run anew in every worker.
    """
    main = vars(sys.modules["__main__"])
    hidden = {} if needed else {name: main.pop(name) for name in ("__file__", "__spec__") if name in main}
    main.setdefault("__spec__", None)
    try:
        yield
    finally:
        main.update(hidden)


def _work(plan: Plan, path: str, pipe: Connection, deadline: Any) -> None:
    """Live in a worker process: build the cast, then hold samples until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=_die_with_parent, daemon=True).start()
    _single_thread_opencv()
    try:
        cast, folder = plan.cast(), RunFolder.open(path)
        limit = TimeLimit(plan.time_limit_s, deadline)
        pipe.send(_Ready())
        while True:
            pipe.send(_hold(cast, folder, pipe.recv(), limit))
    except (EOFError, BrokenPipeError):
        return
    except SegarenaError as error:
        pipe.send(error if isinstance(error, StoreError) else type(error)(str(error)))


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _single_thread_opencv() -> None:
    import cv2

    cv2.setNumThreads(1)
