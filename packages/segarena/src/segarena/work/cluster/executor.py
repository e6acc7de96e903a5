"""The executor for a Ray cluster."""

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
    """Executor that runs units on a Ray cluster, in single-threaded processes.

    Attributes:
        workers: number of workers, at most one per unit. Each uses one CPU; workers that do not fit on the
            cluster wait while the others work.
        address: address of the cluster, "host:port", or "auto" for the cluster of this machine. ""
            starts a cluster on this machine that lasts as long as the work.
        gpus_per_worker: fraction of a GPU, or number of GPUs, of each worker. With 0, workers have no access to GPUs.

    Raises:
        MissingExtra: Ray is not installed.
        InvalidInput: there are fewer than 1 workers, the address is invalid, or Ray cannot allocate this fraction of a
            GPU.
    """

    workers: int
    address: str = ""
    gpus_per_worker: float = 0.0

    def __post_init__(self) -> None:
        """Validate the settings."""
        if self.workers < 1:
            raise InvalidInput(f"workers on Ray must be 1 or more, got {self.workers}")
        if self.address:
            check_address(self.address)
        gpus = self.gpus_per_worker
        if not (0 <= gpus <= 1 or (gpus > 1 and float(gpus).is_integer())):
            raise InvalidInput(f"GPUs per worker: expected 0 to 1, or a whole number, got {gpus:g}")
        if find_spec("ray") is None:
            raise MissingExtra("working on Ray needs ray: pip install 'segarena[ray]'")

    @property
    def is_here(self) -> bool:
        """Always False: workers are other processes."""
        return False

    @property
    def is_near(self) -> bool:
        """Always False: workers may be on other machines."""
        return False

    def map(
        self,
        job: Job[Unit, Result],
        units: Iterable[Unit],
        *,
        limit_s: float | None = None,
    ) -> Generator[Outcome[Unit, Result]]:
        """Yield the outcome of each unit as soon as it finishes; see `segarena.work.jobs.Executor`.

        Raises:
            WorkersInvalid: no cluster answers, it never has enough resources, or a node has other package versions.
        """
        with connect_ray(self.address, self.workers) as ray:
            needs = {"CPU": 1.0, "GPU": self.gpus_per_worker}
            pool = RayPool(ray, PickledJob(job), self.workers, needs, limit_s)
            try:
                yield from pool.work(units)
            finally:
                pool.end()


@dataclass(frozen=True, slots=True)
class PickledJob:
    """A job with pickled units and results, which the actor forwards without importing their classes."""

    job: Job[Any, Any]

    def open(self) -> Callable[[bytes], bytes]:
        """Open the job."""
        return partial(_do_packed, self.job.open())


def _do_packed(do: Callable[[Any], Any], unit: bytes) -> bytes:
    result = do(pickle.loads(unit))  # noqa: S301 - from our own driver
    try:
        return pickle.dumps(result)
    # Pickling runs code of every object in the result, so any exception is possible.
    except Exception as error:
        raise unsendable_result(result, error) from error
