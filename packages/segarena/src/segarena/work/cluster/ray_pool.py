"""All workers of one piece of work on a cluster, seen from the driver, which hands out units and takes what comes."""

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
from segarena.version import COMPUTING
from segarena.work.cluster import node_actor
from segarena.work.jobs import Outcome, UnitFailure, UnitResult, with_unit
from segarena.work.task_queue import TaskQueue
from segarena.work.worker_process import WorkerExit

_POLL_S = 0.2
_BATCH_S = 0.2
"""So long a call takes at least: handing over costs about 2 ms."""

_LARGEST_BATCH = 1000
_PATIENCE_S = 5.0
_MOST_STARTS = 10
"""So many workers in a row may be lost before they began: more than go with a node that was taken away."""

_MOST_LOSSES = 5
"""A unit is lost so often with its worker; its own process may die twice, as on one machine."""

Task = tuple[int, Any]


class WorkerLost(Exception):
    """A worker is gone, with its node or alone."""


@dataclass(slots=True)
class BatchSize:
    """How many units are handed over at once, from what those took that are done."""

    mean_s: float | None = None

    @property
    def batch(self) -> int:
        """One, until something is known."""
        if self.mean_s is None:
            return 1
        return max(1, min(_LARGEST_BATCH, round(_BATCH_S / max(self.mean_s, 1e-9))))

    def learn(self, outcomes: Sequence[Outcome[Any, Any]]) -> None:
        """Take in what some units took; the latest count most."""
        if not outcomes:
            return
        mean_s = sum(outcome.seconds for outcome in outcomes) / len(outcomes)
        self.mean_s = mean_s if self.mean_s is None else (self.mean_s + mean_s) / 2


@dataclass(slots=True, eq=False)
class RayWorker:
    """One worker.

    Attributes:
        actor: its foreman.
        asked: what it was asked last and has not answered; None when it has nothing to do.
        tasks: the units that this was about.
        has_begun: it can work where it is.
        since: when it was asked.
    """

    actor: Any
    asked: Any
    tasks: Sequence[Task] = ()
    has_begun: bool = False
    since: float = field(default_factory=time.monotonic)

    def do(self, tasks: Sequence[Task], packed: Sequence[bytes]) -> None:
        """Hand it units, and their numbers."""
        self.tasks = tasks
        self.since = time.monotonic()
        self.asked = self.actor.do.remote(packed)

    def go_on(self) -> None:
        """Have it go on with the unit that it is at."""
        self.asked = self.actor.go_on.remote()


class RayPool:
    """The workers of one piece of work.

    Args:
        ray: the module, connected.
        job: what is done, its units and results packed.
        workers: how many there are at most; no more than units.
        needs: what each has for itself: CPU, and GPU if need be.
        limit_s: for one unit.
    """

    def __init__(
        self, ray: Any, job: Any, workers: int, needs: dict[str, float], limit_s: float | None
    ) -> None:
        self._ray = ray
        self._workers = workers
        self._needs = needs
        self._told = self._tell(job, limit_s)
        self._hands: list[RayWorker] = []
        self._pace = BatchSize()
        self._losses: Counter[int] = Counter()
        self._failed_starts = 0
        self._heard = time.monotonic()

    def work(self, units: Iterable[Any]) -> Generator[Outcome[Any, Any]]:
        """Yield what came of each unit, in the order in which they finish."""
        waiting = TaskQueue(units)
        for _ in range(waiting.count_ahead(self._workers)):
            self._hire()
        while self._hands:
            outcomes: list[Outcome[Any, Any]] = []
            for hand in self._ready():
                try:
                    outcomes += self._answer(hand, waiting)
                except WorkerLost:
                    outcomes += self._replace(hand, waiting)
            for hand in [hand for hand in self._hands if hand.asked is None]:
                self._hand_out(hand, waiting)
            yield from outcomes

    def end(self) -> None:
        """End all workers."""
        for hand in list(self._hands):
            self._dismiss(hand)

    def _tell(self, job: Any, limit_s: float | None) -> tuple[Any, ...]:
        """Return what every foreman is told when it begins; the job is sent to each node once."""
        try:
            packed = self._ray.cloudpickle.dumps(job)
        except Exception as error:  # pickling runs the code of whatever the job holds
            raise WorkersInvalid(
                f"this cannot be sent to workers: {error}; do it with 0 workers"
            ) from error
        path = [place for place in sys.path if place]
        return (
            self._ray.put(packed),
            limit_s,
            str(Path.cwd()),
            path,
            node_actor.versions(("segarena", *COMPUTING)),
        )

    def _hire(self) -> None:
        # All at once, whether there is room for them or not: who makes the cluster larger goes by what waits.
        self._ray.cloudpickle.register_pickle_by_value(node_actor)
        needs = {"num_cpus": self._needs["CPU"], "num_gpus": self._needs["GPU"]}
        actor = self._ray.remote(**needs, scheduling_strategy="SPREAD")(
            node_actor.NodeActor
        ).remote()
        self._hands.append(RayWorker(actor, actor.begin.remote(*self._told)))

    def _dismiss(self, hand: RayWorker) -> None:
        self._hands.remove(hand)
        self._ray.kill(hand.actor)

    def _ready(self) -> Iterator[RayWorker]:
        """Wait a moment; yield those who answered or are lost."""
        asked = {hand.asked: hand for hand in self._hands if hand.asked is not None}
        if not self._ray.wait(list(asked), timeout=_POLL_S)[0]:
            self._check_cluster()
            return
        self._heard = time.monotonic()
        for answered in self._ray.wait(list(asked), num_returns=len(asked), timeout=0)[0]:
            yield asked[answered]

    def _answer(self, hand: RayWorker, waiting: TaskQueue) -> list[Outcome[Any, Any]]:
        """Return what came of its units, none when it has just begun. Those after one that takes long wait again."""
        errors = self._ray.exceptions
        try:
            answer = self._ray.get(hand.asked)
        except errors.RayTaskError as error:
            raise WorkersInvalid(
                f"a worker on Ray failed: {' '.join(str(error).split())}"
            ) from error
        except errors.RayError as error:
            raise WorkerLost(str(error)) from error
        if not hand.has_begun:
            if answer:
                raise WorkersInvalid(answer)
            hand.has_begun = True
            hand.asked = None
            self._failed_starts = 0
            return []
        said: WorkerExit | tuple[list[UnitResult[None, bytes] | UnitFailure[None]], int]
        said = pickle.loads(answer)  # noqa: S301 - from our own foreman
        if isinstance(said, WorkerExit):
            raise said.error
        outcomes, not_begun = said
        self._pace.learn(outcomes)
        at = len(outcomes)
        stop = len(hand.tasks) - not_begun
        done = hand.tasks[:at]
        again = hand.tasks[stop:]
        hand.tasks = hand.tasks[at:stop]
        hand.asked = None
        for task in reversed(again):
            waiting.put_back(task)
        if hand.tasks:
            hand.go_on()
        return [
            with_unit(unit, _unpacked(outcome))
            for (_, unit), outcome in zip(done, outcomes, strict=True)
        ]

    def _hand_out(self, hand: RayWorker, waiting: TaskQueue) -> None:
        """Give it units. One for whom there will be none makes room on the cluster."""
        tasks = self._batch(waiting)
        if tasks:
            hand.do(tasks, [self._ray.cloudpickle.dumps(unit) for _, unit in tasks])
        elif all(len(other.tasks) < 2 for other in self._hands):  # else some may come back
            self._dismiss(hand)

    def _batch(self, waiting: TaskQueue) -> list[Task]:
        """Return the next units; one that was lost before goes alone."""
        batch: list[Task] = []
        while len(batch) < self._pace.batch and (task := waiting.take()) is not None:
            is_lost_before = self._losses[task[0]] > 0
            if is_lost_before and batch:
                waiting.put_back(task)
                break
            batch.append(task)
            if is_lost_before:
                break
        return batch

    def _replace(self, hand: RayWorker, waiting: TaskQueue) -> Iterator[UnitFailure[Any]]:
        """Hire another for one who is lost; yield the units that were lost too often, the others wait again."""
        self._dismiss(hand)
        if not hand.has_begun:
            self._failed_starts += 1
            if self._failed_starts == _MOST_STARTS:
                raise WorkersInvalid(
                    f"{_MOST_STARTS} workers on Ray in a row were lost before they began"
                )
        for number, unit in reversed(hand.tasks):
            self._losses[number] += 1
            if self._losses[number] < _MOST_LOSSES:
                waiting.put_back((number, unit))
            else:
                why = f"the worker process was lost {_MOST_LOSSES} times; out of memory, or nodes that go away"
                yield UnitFailure(
                    unit=unit, error=UnitDied(why), seconds=time.monotonic() - hand.since
                )
        self._hire()

    def _check_cluster(self) -> None:
        """Refuse to wait for a cluster that is gone, or where there can never be room for a worker."""
        if time.monotonic() < self._heard + _PATIENCE_S:
            return
        self._heard = time.monotonic()
        nodes = {node["NodeID"]: node for node in self._ray.nodes() if node["Alive"]}
        if self._ray.get_runtime_context().get_node_id() not in nodes:
            raise WorkersInvalid(
                "the cluster of Ray is gone, or this machine is no node of it any more"
            )
        if any(hand.has_begun for hand in self._hands) or self._grows():
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
        """Tell whether the cluster gets further nodes when work waits; Ray has no public word for it."""
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
