"""What a kind of job is made of."""

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
    """One kind of job: what is done in a worker process, and what becomes of it in the database.

    Attributes:
        name: in the table.
        is_long: whether it may take minutes; then it does not keep those waiting that take seconds.
    """

    name: ClassVar[str]
    is_long: ClassVar[bool] = False

    def is_due(self) -> ColumnElement[bool]:
        """Return the condition under which a row of `Job` that waits may be begun."""
        return true()

    @abstractmethod
    def unit(self, session: Session, site: Site, job: Job) -> WorkerTask[Any] | None:
        """Return what is to be done, with all that the process needs, since that has no database; None for nothing.

        Raises:
            SegarenaError: it cannot be; that is one of the tries.
        """

    @abstractmethod
    def write(self, session: Session, site: Site, job: Job, result: Any) -> None:
        """Write what came of it, in the transaction in which the job is done."""

    def fail(self, session: Session, site: Site, job: Job, error: SegarenaError) -> None:  # noqa: B027 - most need nothing
        """Write that nothing came of it, in the transaction in which it is given up.

        That is after all tries, or at once after `InvalidInput`: then what was sent is wrong, and no try would help.
        """


def is_due(kinds: Iterable[JobKind]) -> ColumnElement[bool]:
    """Return the condition under which a job that waits, of one of these kinds, may be begun."""
    return or_(*(and_(Job.kind == kind.name, kind.is_due()) for kind in kinds))
