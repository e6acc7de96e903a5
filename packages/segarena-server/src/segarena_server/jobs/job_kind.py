"""The interface of a kind of job."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

from sqlalchemy import ColumnElement, and_, or_, true
from sqlalchemy.orm import Session

from segarena.errors import SegarenaError
from segarena_server.db.orm_models import Job
from segarena_server.jobs.worker import WorkerTask
from segarena_server.site import Site


class JobKind(ABC):
    """One kind of job: the task for a worker process, and how its result is stored.

    Attributes:
        name: value of the column `Job.kind`.
        is_long: whether a job may take minutes. Long jobs have threads of their own, so that short ones do not wait.
    """

    name: ClassVar[str]
    is_long: ClassVar[bool] = False

    def is_due(self) -> ColumnElement[bool]:
        """Return the condition under which a waiting row of `Job` may be started."""
        return true()

    @abstractmethod
    def task(self, session: Session, site: Site, job: Job) -> WorkerTask[Any] | None:
        """Return the task with all data that it needs, since a worker process has no database.

        Returns:
            None when the job has become unnecessary.

        Raises:
            SegarenaError: the task cannot be built; that counts as a failed try.
        """

    @abstractmethod
    def write(self, session: Session, site: Site, job: Job, result: Any) -> None:
        """Store the result, in the transaction that marks the job as done."""

    def fail(self, session: Session, site: Site, job: Job, error: SegarenaError) -> None:  # noqa: B027 - most need nothing
        """Store the failure, in the transaction that marks the job as dead.

        A job dies after its last try, or at once after `InvalidInput`: then the input is wrong, and no further try
        would help.
        """


def is_due(kinds: Iterable[JobKind]) -> ColumnElement[bool]:
    """Return the condition under which a waiting job of one of these kinds may be started."""
    return or_(*(and_(Job.kind == kind.name, kind.is_due()) for kind in kinds))
