"""Studies that are made, or get a second round, on a page: by jobs, since opening samples takes time."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena_server.db.orm_models import Job
from segarena_server.jobs.job_kind import JobKind
from segarena_server.jobs.worker import WorkerContext
from segarena_server.site import Site
from segarena_server.storage.content_store import Storage
from segarena_studio.studies.correction_round import (
    Question,
    Row,
    corrected,
    name_of,
    question,
    write_corrections,
)
from segarena_studio.studies.description import read_study_text
from segarena_studio.studies.hidden_datasets import Hidden, hidden_now
from segarena_studio.studies.management import check_new, write_study
from segarena_studio.studies.orm_models import StudyRow
from segarena_studio.studies.preparation import Prepared, prepare


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareStudy:
    """The unit that makes a study ready.

    Attributes:
        study: its description.
        storage: where its pictures are kept.
        hidden: what it may not show.
    """

    study: str
    storage: Storage
    hidden: tuple[Hidden, ...]

    def run(self, context: WorkerContext, /) -> Prepared:
        """Return what can begin."""
        watch = partial(_watched, context)
        return prepare(read_study_text(self.study), self.storage, watch, self.hidden)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerClicks:
    """The unit that has a segmenter answer what people gave in a study."""

    asked: Question
    storage: Storage

    def run(self, context: WorkerContext, /) -> list[Row]:
        """Return what is to be corrected."""
        return corrected(self.asked, self.storage, partial(_watched, context))


@contextmanager
def _watched(context: WorkerContext, done: int, of: int) -> Generator[None]:
    with context.time_limit(f"sample {done + 1} of {of}"):
        yield


class MakeStudy(JobKind):
    """The kind; each job is about the slug of a study to be."""

    name = "make study"
    is_long = True

    def task(self, session: Session, site: Site, job: Job) -> PrepareStudy:
        """Return what makes it ready."""
        text = json.loads(job.told)["study"]
        check_new(session, read_study_text(text))
        return PrepareStudy(
            study=text, storage=site.folder.samples, hidden=tuple(hidden_now(session))
        )

    def write(self, session: Session, site: Site, job: Job, result: Prepared) -> None:
        """Add the study."""
        told = json.loads(job.told)
        write_study(session, site.now(), read_study_text(told["study"]), result, told["by"])
        job.said = json.dumps({"items": len(result.rows), "unusable": result.unusable[:20]})


class CorrectStudy(JobKind):
    """The kind of second rounds; each job is about a study and what the segmenter's masks are called, see `about`."""

    name = "correct study"
    is_long = True

    @staticmethod
    def about(slug: str, segmenter: str) -> str:
        """Return what the job of a segmenter in a study is about."""
        return f"{slug}: {name_of(segmenter)}"

    @staticmethod
    def of_study(session: Session, row: StudyRow) -> Sequence[Job]:
        """Return the jobs of a study; those of one that had its name before and was deleted are older than it."""
        own = Job.about.startswith(f"{row.slug}: ", autoescape=True), Job.made_at >= row.made_at
        return session.scalars(
            select(Job).where(Job.kind == CorrectStudy.name, *own).order_by(Job.id)
        ).all()

    def task(self, session: Session, site: Site, job: Job) -> AnswerClicks:
        """Return what answers the clicks that there are now."""
        return AnswerClicks(asked=_question(session, job), storage=site.folder.samples)

    def write(self, session: Session, site: Site, job: Job, result: list[Row]) -> None:
        """Add what is to be corrected."""
        write_corrections(
            session, site.now(), _question(session, job), result, json.loads(job.told)["by"]
        )
        job.said = str(len(result))


def _question(session: Session, job: Job) -> Question:
    return question(session, job.about.partition(": ")[0], json.loads(job.told)["segmenter"])
