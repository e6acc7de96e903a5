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
"""Target duration of a call; long beside the overhead of about 2 ms."""

_LARGEST_BATCH = 1000
_PATIENCE_S = 5.0
"""Time without an answer after which the cluster is checked."""

_MOST_STARTS = 10
"""Limit of consecutive workers lost before they began; more than go with a node that is taken away."""

_MOST_LOSSES = 5
"""Limit of losses of a unit with its worker; its own process may die twice besides, as on one machine."""

Task = tuple[int, Any]


class WorkerLost(Exception):
    """A worker died, with its node or alone."""


@dataclass(slots=True)
class BatchSize:
    """The number of units per call, from the duration of finished units."""

    mean_s: float | None = None

    @property
    def batch(self) -> int:
        """Number of units per call; one until a unit is finished."""
        if self.mean_s is None:
            return 1
        return max(1, min(_LARGEST_BATCH, round(_BATCH_S / max(self.mean_s, 1e-9))))

    def learn(self, outcomes: Sequence[Outcome[Any, Any]]) -> None:
        """Update the mean duration; the latest units count most."""
        if not outcomes:
            return
        mean_s = sum(outcome.seconds for outcome in outcomes) / len(outcomes)
        self.mean_s = mean_s if self.mean_s is None else (self.mean_s + mean_s) / 2


@dataclass(slots=True, eq=False)
class RayWorker:
    """One worker on the cluster.

    Attributes:
        actor: a handle of its `NodeActor`.
        asked: reference of the unanswered call; None for an idle worker.
        tasks: the units of that call.
        has_begun: whether its node was found fit for the work.
        since: moment of the call.
    """

    actor: Any
    asked: Any
    tasks: Sequence[Task] = ()
    has_begun: bool = False
    since: float = field(default_factory=time.monotonic)

    def do(self, tasks: Sequence[Task], packed: Sequence[bytes]) -> None:
        """Send units to the worker."""
        self.tasks = tasks
        self.since = time.monotonic()
        self.asked = self.actor.do.remote(packed)

    def go_on(self) -> None:
        """Let the worker continue with its current unit."""
        self.asked = self.actor.go_on.remote()


class RayPool:
    """The workers of one job.

    Args:
        ray: the module, connected.
        job: with pickled units and results.
        workers: maximum number of workers; no more than units.
        needs: resources of each worker: "CPU" and "GPU".
        limit_s: time limit of one unit.
    """

    def __init__(
        self, ray: Any, job: Any, workers: int, needs: dict[str, float], limit_s: float | None
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
        """Yield the outcome of each unit as they finish."""
        waiting = TaskQueue(units)
        for _ in range(waiting.count_ahead(self._workers)):
            self._start_worker()
        while self._active:
            outcomes: list[Outcome[Any, Any]] = []
            # An answer leaves its worker idle, so units are sent only after all answers are read.
            for worker in self._ready():
                try:
                    outcomes += self._answer(worker, waiting)
                except WorkerLost:
                    outcomes += self._replace(worker, waiting)
            for worker in [worker for worker in self._active if worker.asked is None]:
                self._hand_out(worker, waiting)
            yield from outcomes

    def end(self) -> None:
        """End all workers."""
        for worker in list(self._active):
            self._stop_worker(worker)

    def _make_begin_arguments(self, job: Any, limit_s: float | None) -> tuple[Any, ...]:
        """Return the arguments of `NodeActor.begin`; Ray sends the job to each node once."""
        try:
            packed = self._ray.cloudpickle.dumps(job)
        # Pickling runs the code of whatever the job holds, so any exception is possible.
        except Exception as error:
            raise WorkersInvalid(
                f"this cannot be sent to workers: {error}; do it with 0 workers"
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
        # Also without room for it: an autoscaler adds nodes for waiting actors.
        self._ray.cloudpickle.register_pickle_by_value(node_actor)
        needs = {"num_cpus": self._needs["CPU"], "num_gpus": self._needs["GPU"]}
        actor = self._ray.remote(**needs, scheduling_strategy="SPREAD")(
            node_actor.NodeActor
        ).remote()
        self._active.append(RayWorker(actor, actor.begin.remote(*self._begin_arguments)))

    def _stop_worker(self, worker: RayWorker) -> None:
        self._active.remove(worker)
        self._ray.kill(worker.actor)

    def _ready(self) -> Iterator[RayWorker]:
        """Wait a moment; yield the workers that answered or died."""
        asked = {worker.asked: worker for worker in self._active if worker.asked is not None}
        if not self._ray.wait(list(asked), timeout=_POLL_S)[0]:
            self._check_cluster()
            return
        self._last_answer_s = time.monotonic()
        for answered in self._ray.wait(list(asked), num_returns=len(asked), timeout=0)[0]:
            yield asked[answered]

    def _answer(self, worker: RayWorker, waiting: TaskQueue) -> list[Outcome[Any, Any]]:
        """Return the outcomes in a worker's answer, none if it has just begun; units not begun wait again."""
        errors = self._ray.exceptions
        try:
            answer = self._ray.get(worker.asked)
        except errors.RayTaskError as error:
            raise WorkersInvalid(
                f"a worker on Ray failed: {' '.join(str(error).split())}"
            ) from error
        except errors.RayError as error:
            raise WorkerLost(str(error)) from error
        if not worker.has_begun:
            if answer:
                raise WorkersInvalid(answer)
            worker.has_begun = True
            worker.asked = None
            self._failed_starts = 0
            return []
        message: WorkerExit | tuple[list[UnitResult[None, bytes] | UnitFailure[None]], int]
        message = pickle.loads(answer)  # noqa: S301 - from our own actor
        if isinstance(message, WorkerExit):
            raise message.error
        outcomes, not_begun = message
        self._batch_size.learn(outcomes)
        at = len(outcomes)
        stop = len(worker.tasks) - not_begun
        done = worker.tasks[:at]
        again = worker.tasks[stop:]
        worker.tasks = worker.tasks[at:stop]
        worker.asked = None
        for task in reversed(again):
            waiting.put_back(task)
        if worker.tasks:
            worker.go_on()
        return [
            with_unit(unit, _unpacked(outcome))
            for (_, unit), outcome in zip(done, outcomes, strict=True)
        ]

    def _hand_out(self, worker: RayWorker, waiting: TaskQueue) -> None:
        """Send units to a worker; stop it, to make room on the cluster, if there will be no more."""
        tasks = self._batch(waiting)
        if tasks:
            worker.do(tasks, [self._ray.cloudpickle.dumps(unit) for _, unit in tasks])
        elif all(len(other.tasks) < 2 for other in self._active):
            # With two tasks or more, a worker may still return some.
            self._stop_worker(worker)

    def _batch(self, waiting: TaskQueue) -> list[Task]:
        """Return the units of the next call; a unit that was lost before goes alone."""
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
        """Start a worker in place of a dead one; yield the units lost too often, the others wait again."""
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
                why = f"the worker process was lost {_MOST_LOSSES} times; out of memory, or nodes that go away"
                yield UnitFailure(
                    unit=unit, error=UnitDied(why), seconds=time.monotonic() - worker.since
                )
        self._start_worker()

    def _check_cluster(self) -> None:
        """Raise if the cluster is gone, or can never have room for a worker."""
        if time.monotonic() < self._last_answer_s + _PATIENCE_S:
            return
        self._last_answer_s = time.monotonic()
        nodes = {node["NodeID"]: node for node in self._ray.nodes() if node["Alive"]}
        if self._ray.get_runtime_context().get_node_id() not in nodes:
            raise WorkersInvalid(
                "the cluster of Ray is gone, or this machine is no node of it any more"
            )
        if any(worker.has_begun for worker in self._active) or self._grows():
            return
        if not any(_fits(self._needs, node["Resources"]) for node in nodes.values()):
            has = "; ".join(
                f"{node['NodeManagerHostname']} {_amounts(node['Resources'])}"
                for node in nodes.values()
            )
            raise WorkersInvalid(
                f"no node of the cluster has {_amounts(self._needs)} for a worker: {has}"
            )

    def _grows(self) -> bool:
        """Return whether the cluster has an autoscaler."""
        # Ray has no public function for it.
        state: Any = self._ray._private.state.state
        return state.get_max_resources_from_cluster_config() is not None


def _fits(needs: dict[str, float], resources: dict[str, float]) -> bool:
    return all(resources.get(name, 0.0) >= amount for name, amount in needs.items())


def _amounts(resources: dict[str, float]) -> str:
    return " and ".join(f"{resources.get(name, 0.0):g} {name}" for name in ("CPU", "GPU"))


def _unpacked(
    outcome: UnitResult[None, bytes] | UnitFailure[None],
) -> UnitResult[None, Any] | UnitFailure[None]:
    if isinstance(outcome, UnitFailure):
        return outcome
    try:
        return UnitResult(unit=None, result=pickle.loads(outcome.result), seconds=outcome.seconds)  # noqa: S301 - as above
    except Exception as error:
        failure = UnitFailed(f"the result cannot be read: {type(error).__name__}: {error}")
        return UnitFailure(unit=None, error=failure, seconds=outcome.seconds)
