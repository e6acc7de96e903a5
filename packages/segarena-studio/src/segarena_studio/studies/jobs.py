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
    CorrectionRequest,
    ItemRow,
    build_request,
    compute_corrections,
    model_name,
    write_corrections,
)
from segarena_studio.studies.description import decode_study
from segarena_studio.studies.hidden_datasets import HiddenDataset, list_hidden_datasets
from segarena_studio.studies.management import check_new, write_study
from segarena_studio.studies.orm_models import StudyRow
from segarena_studio.studies.preparation import PreparedStudy, prepare_study


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPreparation:
    """The unit that makes a study ready.

    Attributes:
        study: its description.
        storage: where its pictures are kept.
        hidden: what it may not show.
    """

    study: str
    storage: Storage
    hidden: tuple[HiddenDataset, ...]

    def run(self, context: WorkerContext, /) -> PreparedStudy:
        """Return what can begin."""
        watch = partial(_watched, context)
        return prepare_study(decode_study(self.study), self.storage, watch, self.hidden)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickAnswering:
    """The unit that has a segmenter answer what people gave in a study."""

    asked: CorrectionRequest
    storage: Storage

    def run(self, context: WorkerContext, /) -> list[ItemRow]:
        """Return what is to be corrected."""
        return compute_corrections(self.asked, self.storage, partial(_watched, context))


@contextmanager
def _watched(context: WorkerContext, done: int, of: int) -> Generator[None]:
    with context.time_limit(f"sample {done + 1} of {of}"):
        yield


class MakeStudy(JobKind):
    """The kind; each job is about the slug of a study to be."""

    name = "make study"
    is_long = True

    def task(self, session: Session, site: Site, job: Job) -> StudyPreparation:
        """Return what makes it ready."""
        text = json.loads(job.told)["study"]
        check_new(session, decode_study(text))
        return StudyPreparation(
            study=text, storage=site.folder.samples, hidden=tuple(list_hidden_datasets(session))
        )

    def write(self, session: Session, site: Site, job: Job, result: PreparedStudy) -> None:
        """Add the study."""
        told = json.loads(job.told)
        write_study(session, site.now(), decode_study(told["study"]), result, told["by"])
        job.said = json.dumps({"items": len(result.rows), "unusable": result.unusable[:20]})


class CorrectStudy(JobKind):
    """The kind of second rounds; each job is about a study and what the segmenter's masks are called, see `about`."""

    name = "correct study"
    is_long = True

    @staticmethod
    def about(slug: str, segmenter: str) -> str:
        """Return what the job of a segmenter in a study is about."""
        return f"{slug}: {model_name(segmenter)}"

    @staticmethod
    def of_study(session: Session, row: StudyRow) -> Sequence[Job]:
        """Return the jobs of a study; those of one that had its name before and was deleted are older than it."""
        own = Job.about.startswith(f"{row.slug}: ", autoescape=True), Job.made_at >= row.made_at
        return session.scalars(
            select(Job).where(Job.kind == CorrectStudy.name, *own).order_by(Job.id)
        ).all()

    def task(self, session: Session, site: Site, job: Job) -> ClickAnswering:
        """Return what answers the clicks that there are now."""
        return ClickAnswering(asked=_question(session, job), storage=site.folder.samples)

    def write(self, session: Session, site: Site, job: Job, result: list[ItemRow]) -> None:
        """Add what is to be corrected."""
        write_corrections(
            session, site.now(), _question(session, job), result, json.loads(job.told)["by"]
        )
        job.said = str(len(result))


def _question(session: Session, job: Job) -> CorrectionRequest:
    return build_request(session, job.about.partition(": ")[0], json.loads(job.told)["segmenter"])
