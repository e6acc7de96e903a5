"""Jobs that create a study or add its second round for a page, because opening samples takes time."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena_server.db.orm_models import Job
from segarena_server.site import Site
from segarena_server.storage.content_store import ContentStore
from segarena_server.workers.job_runner import JobKind
from segarena_server.workers.worker import WorkerContext
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
    """Work unit that prepares a study.

    Attributes:
        study: description of the study.
        storage: storage for the pictures of the study.
        hidden: datasets that the study must not show.
    """

    study: str
    storage: ContentStore
    hidden: tuple[HiddenDataset, ...]

    def __call__(self, context: WorkerContext, /) -> PreparedStudy:
        """Return the prepared study."""
        watch = partial(_watched, context)
        return prepare_study(decode_study(self.study), self.storage, watch, self.hidden)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickAnswering:
    """Work unit in which a segmenter answers the clicks of a study."""

    asked: CorrectionRequest
    storage: ContentStore

    def __call__(self, context: WorkerContext, /) -> list[ItemRow]:
        """Return rows of the targets to correct."""
        return compute_corrections(self.asked, self.storage, partial(_watched, context))


@contextmanager
def _watched(
    context: WorkerContext,
    done: int,
    of: int,
) -> Generator[None]:
    with context.time_limit(f"sample {done + 1} of {of}"):
        yield


class MakeStudy(JobKind):
    """Job kind that creates a study; `about` of a job is the slug."""

    name = "make study"
    is_long = True

    def task(
        self,
        session: Session,
        site: Site,
        job: Job,
    ) -> StudyPreparation:
        """Return the work unit."""
        text = json.loads(job.told)["study"]
        # Check again, because hours may have passed since the form was submitted.
        check_new(session, decode_study(text))
        return StudyPreparation(
            study=text,
            storage=site.folder.samples,
            hidden=tuple(list_hidden_datasets(session)),
        )

    def write(
        self,
        session: Session,
        site: Site,
        job: Job,
        result: PreparedStudy,
    ) -> None:
        """Add the study."""
        fields = json.loads(job.told)
        study = decode_study(fields["study"])
        write_study(session, site.now(), study, result, fields["by"])
        # A dataset may have thousands of unusable samples, so the page shows only some.
        summary = {"items": len(result.rows), "unusable": result.unusable[:20]}
        job.said = json.dumps(summary)


class CorrectStudy(JobKind):
    """Job kind of second rounds; see the method `about` for the subject of a job."""

    name = "correct study"
    is_long = True

    @staticmethod
    def about(slug: str, segmenter: str) -> str:
        """Return the subject of the job in which a segmenter answers the clicks of a study."""
        return f"{slug}: {model_name(segmenter)}"

    @staticmethod
    def of_study(session: Session, row: StudyRow) -> Sequence[Job]:
        """Return the jobs of a study; jobs of an earlier, deleted study of the same name are left out."""
        query = (
            select(Job)
            .where(Job.kind == CorrectStudy.name)
            .where(Job.about.startswith(f"{row.slug}: ", autoescape=True))
            # Jobs of a deleted study of this name are older than the study.
            .where(Job.made_at >= row.made_at)
            .order_by(Job.id)
        )
        return session.scalars(query).all()

    def task(
        self,
        session: Session,
        site: Site,
        job: Job,
    ) -> ClickAnswering:
        """Return the work unit, with the clicks that exist now."""
        return ClickAnswering(asked=_request(session, job), storage=site.folder.samples)

    def write(
        self,
        session: Session,
        site: Site,
        job: Job,
        result: list[ItemRow],
    ) -> None:
        """Add the targets of the second round to the study."""
        actor = json.loads(job.told)["by"]
        write_corrections(session, site.now(), _request(session, job), result, actor)
        job.said = str(len(result))


def _request(session: Session, job: Job) -> CorrectionRequest:
    slug = job.about.partition(": ")[0]
    return build_request(session, slug, json.loads(job.told)["segmenter"])
