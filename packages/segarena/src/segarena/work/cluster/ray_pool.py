"""The workers of one job on a Ray cluster, managed from the driver."""

from __future__ import annotations

import pickle
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from segarena.errors import UnitDied, UnitFailed, WorkersInvalid
from segarena.version import NUMERIC_PACKAGES
from segarena.work.cluster import node_actor
from segarena.work.jobs import Outcome, UnitFailure, UnitResult, with_unit
from segarena.work.task_queue import TaskQueue
from segarena.work.worker_process import WorkerExit

_POLL_S = 0.2
_BATCH_S = 0.2
"""Target duration of a call in seconds, long compared with the call overhead of about 2 ms."""

_LARGEST_BATCH = 1000
_LEAST_MEAN_S = 1e-9
_PATIENCE_S = 5.0
"""Seconds without an answer after which the cluster is checked."""

_MOST_STARTS = 10
"""The work ends once this many workers in a row were lost before they began; removing a single node loses fewer."""

_MOST_LOSSES = 5
"""A unit fails once it was lost with its worker this many times; deaths of its process alone are counted separately."""

Task = tuple[int, Any]


class WorkerLost(Exception):
    """A worker died, alone or with its node."""


@dataclass(slots=True)
class BatchSize:
    """Number of units per call, derived from the durations of finished units."""

    mean_s: float | None = None

    @property
    def batch(self) -> int:
        """Number of units per call; one until the first unit is finished."""
        if self.mean_s is None:
            return 1
        # The measured time of a unit may be zero.
        units = round(_BATCH_S / max(self.mean_s, _LEAST_MEAN_S))
        return max(1, min(_LARGEST_BATCH, units))

    def learn(self, outcomes: Sequence[Outcome[Any, Any]]) -> None:
        """Update the mean duration, in which the latest units have the largest weight."""
        if not outcomes:
            return
        total_s = sum(outcome.seconds for outcome in outcomes)
        mean_s = total_s / len(outcomes)
        if self.mean_s is None:
            self.mean_s = mean_s
        else:
            self.mean_s = (self.mean_s + mean_s) / 2


@dataclass(slots=True, eq=False)
class RayWorker:
    """One worker on the cluster.

    Attributes:
        actor: handle of the `NodeActor`.
        pending_call: reference of the unanswered call; None for an idle worker.
        tasks: units of that call.
        has_begun: whether its node passed the checks before the work.
        since: time (of `time.monotonic`) at which the units were sent.
    """

    actor: Any
    pending_call: Any
    tasks: Sequence[Task] = ()
    has_begun: bool = False
    since: float = field(default_factory=time.monotonic)

    def do(self, tasks: Sequence[Task], packed: Sequence[bytes]) -> None:
        """Send units to the worker."""
        self.tasks = tasks
        self.since = time.monotonic()
        self.pending_call = self.actor.do.remote(packed)

    def go_on(self) -> None:
        """Let the worker continue with its current unit."""
        self.pending_call = self.actor.go_on.remote()


class RayPool:
    """Workers of one job on a cluster.

    Args:
        ray: the connected module `ray`.
        job: job with pickled units and results.
        workers: maximum number of workers, at most one per unit.
        needs: resources of each worker: "CPU" and "GPU".
        limit_s: time limit of one unit.
    """

    def __init__(
        self,
        ray: Any,
        job: Any,
        workers: int,
        needs: dict[str, float],
        limit_s: float | None,
    ) -> None:
        self._ray = ray
        self._workers = workers
        self._needs = needs
        self._begin_arguments = self._make_begin_arguments(job, limit_s)
        self._active: list[RayWorker] = []
        self._batch_size = BatchSize()
        self._losses: Counter[int] = Counter()
        self._failed_starts = 0
        self._last_answer_s = time.monotonic()

    def work(self, units: Iterable[Any]) -> Generator[Outcome[Any, Any]]:
        """Yield the outcome of each unit as soon as it finishes."""
        waiting = TaskQueue(units)
        for _ in range(waiting.count_ahead(self._workers)):
            self._start_worker()
        while self._active:
            outcomes: list[Outcome[Any, Any]] = []
            # An answer leaves its worker idle, so read all answers before sending units.
            for worker in self._ready():
                try:
                    outcomes += self._answer(worker, waiting)
                except WorkerLost:
                    outcomes += self._replace(worker, waiting)
            for worker in [worker for worker in self._active if worker.pending_call is None]:
                self._hand_out(worker, waiting)
            yield from outcomes

    def end(self) -> None:
        """End all workers."""
        for worker in list(self._active):
            self._stop_worker(worker)

    def _make_begin_arguments(self, job: Any, limit_s: float | None) -> tuple[Any, ...]:
        """Return the arguments of `NodeActor.begin`; Ray sends the job to each node only once."""
        try:
            packed = self._ray.cloudpickle.dumps(job)
        # Pickling runs code of every object in the job, so any exception is possible.
        except Exception as error:
            raise WorkersInvalid(
                f"the job cannot be sent to workers: {error}; run it with 0 workers"
            ) from error
        path = [place for place in sys.path if place]
        return (
            self._ray.put(packed),
            limit_s,
            str(Path.cwd()),
            path,
            node_actor.versions(("segarena", *NUMERIC_PACKAGES)),
        )

    def _start_worker(self) -> None:
        # Start it even if it does not fit yet, because an autoscaler adds nodes for waiting actors.
        self._ray.cloudpickle.register_pickle_by_value(node_actor)
        needs = {"num_cpus": self._needs["CPU"], "num_gpus": self._needs["GPU"]}
        make_remote = self._ray.remote(**needs, scheduling_strategy="SPREAD")
        actor = make_remote(node_actor.NodeActor).remote()
        call = actor.begin.remote(*self._begin_arguments)
        self._active.append(RayWorker(actor, call))

    def _stop_worker(self, worker: RayWorker) -> None:
        self._active.remove(worker)
        self._ray.kill(worker.actor)

    def _ready(self) -> Iterator[RayWorker]:
        """Wait briefly; yield the workers that answered or died."""
        workers: dict[Any, RayWorker] = {}
        for worker in self._active:
            if worker.pending_call is not None:
                workers[worker.pending_call] = worker
        calls = list(workers)
        answered, _ = self._ray.wait(calls, timeout=_POLL_S)
        if not answered:
            self._check_cluster()
            return
        self._last_answer_s = time.monotonic()
        # The first wait returns one call; others may have been answered meanwhile.
        answered, _ = self._ray.wait(calls, num_returns=len(calls), timeout=0)
        for call in answered:
            yield workers[call]

    def _answer(self, worker: RayWorker, waiting: TaskQueue) -> list[Outcome[Any, Any]]:
        """Return the outcomes in a worker's answer; requeue the units that it did not start.

        The first answer of a worker has no outcomes: it reports the checks of its node.
        """
        errors = self._ray.exceptions
        try:
            answer = self._ray.get(worker.pending_call)
        except errors.RayTaskError as error:
            one_line = " ".join(str(error).split())
            raise WorkersInvalid(f"a worker on Ray failed: {one_line}") from error
        except errors.RayError as error:
            raise WorkerLost(str(error)) from error
        if not worker.has_begun:
            if answer:
                raise WorkersInvalid(answer)
            worker.has_begun = True
            worker.pending_call = None
            self._failed_starts = 0
            return []
        message: WorkerExit | tuple[list[UnitResult[None, bytes] | UnitFailure[None]], int]
        message = pickle.loads(answer)  # noqa: S301 - from our own actor
        if isinstance(message, WorkerExit):
            raise message.error
        outcomes, not_begun = message
        self._batch_size.learn(outcomes)
        done_count = len(outcomes)
        begun_count = len(worker.tasks) - not_begun
        done = worker.tasks[:done_count]
        returned = worker.tasks[begun_count:]
        worker.tasks = worker.tasks[done_count:begun_count]
        worker.pending_call = None
        for task in reversed(returned):
            waiting.put_back(task)
        if worker.tasks:
            worker.go_on()
        unpacked: list[Outcome[Any, Any]] = []
        for (_, unit), outcome in zip(done, outcomes, strict=True):
            unpacked.append(with_unit(unit, _unpack(outcome)))
        return unpacked

    def _hand_out(self, worker: RayWorker, waiting: TaskQueue) -> None:
        """Send units to a worker; if there will be no more, stop the worker to free its resources."""
        tasks = self._batch(waiting)
        if tasks:
            packed = [self._ray.cloudpickle.dumps(unit) for _, unit in tasks]
            worker.do(tasks, packed)
        elif all(len(other.tasks) < 2 for other in self._active):
            # A worker with two or more tasks may still return some.
            self._stop_worker(worker)

    def _batch(self, waiting: TaskQueue) -> list[Task]:
        """Return the units of the next call; a unit that was lost before is sent alone."""
        batch: list[Task] = []
        while len(batch) < self._batch_size.batch and (task := waiting.take()) is not None:
            is_lost_before = self._losses[task[0]] > 0
            if is_lost_before and batch:
                waiting.put_back(task)
                break
            batch.append(task)
            if is_lost_before:
                break
        return batch

    def _replace(self, worker: RayWorker, waiting: TaskQueue) -> Iterator[UnitFailure[Any]]:
        """Replace a dead worker; yield units that were lost too often, and requeue the others."""
        self._stop_worker(worker)
        if not worker.has_begun:
            self._failed_starts += 1
            if self._failed_starts == _MOST_STARTS:
                raise WorkersInvalid(
                    f"{_MOST_STARTS} workers on Ray in a row were lost before they began"
                )
        for number, unit in reversed(worker.tasks):
            self._losses[number] += 1
            if self._losses[number] < _MOST_LOSSES:
                waiting.put_back((number, unit))
            else:
                error = UnitDied(
                    f"the worker process was lost {_MOST_LOSSES} times; it ran out of memory, or nodes were removed"
                )
                seconds = time.monotonic() - worker.since
                yield UnitFailure(unit=unit, error=error, seconds=seconds)
        self._start_worker()

    def _check_cluster(self) -> None:
        """Raise an error if the cluster is gone, or can never have enough resources for a worker."""
        if time.monotonic() < self._last_answer_s + _PATIENCE_S:
            return
        self._last_answer_s = time.monotonic()
        nodes = {node["NodeID"]: node for node in self._ray.nodes() if node["Alive"]}
        if self._ray.get_runtime_context().get_node_id() not in nodes:
            raise WorkersInvalid(
                "the Ray cluster is gone, or this machine is no longer one of its nodes"
            )
        if any(worker.has_begun for worker in self._active) or self._grows():
            return
        descriptions: list[str] = []
        for node in nodes.values():
            resources = node["Resources"]
            if _fits(self._needs, resources):
                return
            descriptions.append(f"{node['NodeManagerHostname']} {_amounts(resources)}")
        raise WorkersInvalid(
            f"no node of the cluster has {_amounts(self._needs)} for a worker: {'; '.join(descriptions)}"
        )

    def _grows(self) -> bool:
        """Return whether the cluster has an autoscaler."""
        # Ray has no public function for this.
        state: Any = self._ray._private.state.state
        return state.get_max_resources_from_cluster_config() is not None


def _fits(needs: dict[str, float], resources: dict[str, float]) -> bool:
    return all(resources.get(name, 0.0) >= amount for name, amount in needs.items())


def _amounts(resources: dict[str, float]) -> str:
    cpus = resources.get("CPU", 0.0)
    gpus = resources.get("GPU", 0.0)
    return f"{cpus:g} CPU and {gpus:g} GPU"


def _unpack(
    outcome: UnitResult[None, bytes] | UnitFailure[None],
) -> UnitResult[None, Any] | UnitFailure[None]:
    if isinstance(outcome, UnitFailure):
        return outcome
    try:
        result = pickle.loads(outcome.result)  # noqa: S301 - as above
        return UnitResult(unit=None, result=result, seconds=outcome.seconds)
    except Exception as error:
        failure = UnitFailed(f"the result cannot be read: {type(error).__name__}: {error}")
        return UnitFailure(unit=None, error=failure, seconds=outcome.seconds)
