"""The executor that works on a cluster of Ray."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

from segarena.errors import InvalidInput, MissingExtra
from segarena.work.cluster.connection import check_address, connect_ray
from segarena.work.cluster.ray_pool import RayPool
from segarena.work.jobs import Job, Outcome, Result, Unit
from segarena.work.worker_process import unsendable_result


@dataclass(frozen=True, slots=True)
class Ray:
    """Works on a cluster of Ray, in processes of one thread each.

    Attributes:
        workers: how many, at most one per unit. Each has a CPU for itself; those for which there is no room yet wait,
            while the others work.
        address: of the cluster, "host:port", or "auto" for the one that this machine is a node of. "" starts one on
            this machine that lasts as long as the work.
        gpus_per_worker: what part of a GPU each has, or how many. With 0 workers see none.

    Raises:
        MissingExtra: Ray is not installed.
        InvalidInput: no worker, no address, or a part of a GPU that Ray cannot give.
    """

    workers: int
    address: str = ""
    gpus_per_worker: float = 0.0

    def __post_init__(self) -> None:
        """Check what was given."""
        if find_spec("ray") is None:
            raise MissingExtra("working on Ray needs ray: pip install 'segarena[ray]'")
        if self.workers < 1:
            raise InvalidInput(f"workers on Ray must be 1 or more, got {self.workers}")
        if self.address:
            check_address(self.address)
        gpus = self.gpus_per_worker
        if not (0 <= gpus <= 1 or (gpus > 1 and float(gpus).is_integer())):
            raise InvalidInput(f"GPUs per worker: expected 0 to 1, or a whole number, got {gpus:g}")

    @property
    def is_here(self) -> bool:
        """Never."""
        return False

    @property
    def is_near(self) -> bool:
        """Not necessarily."""
        return False

    def map(
        self, job: Job[Unit, Result], units: Iterable[Unit], *, limit_s: float | None = None
    ) -> Generator[Outcome[Unit, Result]]:
        """Yield what came of each unit, as they finish; see `segarena.work.jobs.Executor`.

        Raises:
            WorkersInvalid: no cluster answers, it can never have room, or a node has other versions.
        """
        with connect_ray(self.address, self.workers) as ray:
            site = RayPool(
                ray,
                PickledJob(job),
                self.workers,
                {"CPU": 1.0, "GPU": self.gpus_per_worker},
                limit_s,
            )
            try:
                yield from site.work(units)
            finally:
                site.end()


@dataclass(frozen=True, slots=True)
class PickledJob:
    """A job whose units and results are bytes, so that they can be passed on unknown."""

    job: Job[Any, Any]

    def open(self) -> Callable[[bytes], bytes]:
        """Open the job."""
        return partial(_do_packed, self.job.open())


def _do_packed(do: Callable[[Any], Any], unit: bytes) -> bytes:
    result = do(pickle.loads(unit))  # noqa: S301 - from our own driver
    try:
        return pickle.dumps(result)
    except Exception as error:  # pickling runs the code of whatever the result holds
        raise unsendable_result(result, error) from error
