"""An export that takes long is made by a job; who asked for it finds it on the page for a day."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena_server.db.orm_models import Job
from segarena_server.http import http_errors
from segarena_server.jobs.job_kind import JobKind
from segarena_server.jobs.job_queue import enqueue_job, find_job
from segarena_server.jobs.worker import WorkerContext
from segarena_server.runs.submissions import drop_when_written
from segarena_server.site import Site
from segarena_server.storage.content_store import Storage
from segarena_studio.annotation.export_contents import (
    ExportContents,
    ExportOptions,
    archive_name,
    collect_export,
)
from segarena_studio.annotation.project_export import export_archive
from segarena_studio.orm_models import Project

KEPT_S = 86_400.0
"""So long at least an export can be fetched."""
_AT_ONCE = 100
_AT_ONCE_BYTES = 64 * 2**20
"""So many drawings, and photographs, are written while somebody waits."""


class StoredArchive(NamedTuple):
    """An export that is kept: its hash, its size, and what it is called."""

    sha256: str
    bytes: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveWriter:
    """The unit that writes an export.

    Attributes:
        told: what goes out.
        photographs: where the photographs are.
        exports: where it is kept.
    """

    told: ExportContents
    photographs: Storage
    exports: Storage

    def run(self, context: WorkerContext, /) -> StoredArchive:
        """Return what was made."""

        @contextmanager
        def watch(step: str) -> Generator[None]:
            with context.time_limit(step):
                yield

        with TemporaryDirectory(prefix="segarena-") as scratch:
            archive = Path(scratch) / "export.zip"
            export_archive(self.told, self.photographs, archive, watch)
            size = archive.stat().st_size
            return StoredArchive(
                self.exports.take(archive), size, archive_name(self.told.title, self.told.wanted)
            )


class ExportProject(JobKind):
    """The kind; each job is about the number of a project, and that of who asked."""

    name = "export project"
    is_long = True

    def task(self, session: Session, site: Site, job: Job) -> ArchiveWriter | None:
        """Return what writes it; None where the project is there no more."""
        project = session.get(Project, _project_of(job))
        if project is None:
            return None
        told = collect_export(
            session, project, msgspec.json.decode(job.told, type=ExportOptions), site.now()
        )
        return ArchiveWriter(
            told=told, photographs=site.folder.photographs, exports=site.folder.exports
        )

    def write(self, session: Session, site: Site, job: Job, result: StoredArchive) -> None:
        """Keep which file it is, and no longer the one before; nothing of a project that was removed meanwhile."""
        if job.said and json.loads(job.said)[0] != result.sha256:
            _drop(session, site.folder.exports, job)
        job.said = json.dumps(result)
        if session.get(Project, _project_of(job)) is None:
            _drop(session, site.folder.exports, job)


def is_quick(told: ExportContents) -> bool:
    """Tell whether an export is written while somebody waits for it."""
    return len(told.drawn) <= _AT_ONCE and told.photograph_bytes <= _AT_ONCE_BYTES


def request_export(
    session: Session, site: Site, project_id: int, person_id: int, wanted: ExportOptions
) -> None:
    """Have an export made; those that were kept for long enough go.

    Raises:
        Refusal: another one of theirs is being made.
    """
    old = select(Job).where(
        Job.kind == ExportProject.name, Job.said != "", Job.done_at < site.now() - KEPT_S
    )
    for job in session.scalars(old):
        _drop(session, site.folder.exports, job)
    told = msgspec.json.encode(wanted).decode()
    if (
        enqueue_job(session, ExportProject.name, f"{project_id} {person_id}", site.now(), told).told
        != told
    ):
        raise http_errors.conflict(
            "another export of yours is being made; ask again when it is ready"
        )


def find_export(
    session: Session, project_id: int, person_id: int
) -> tuple[Job, StoredArchive | None] | None:
    """Return the job of the last large export that somebody asked for, and what it made; None where there is none."""
    job = find_job(session, ExportProject.name, f"{project_id} {person_id}")
    if job is None or (job.state == "done" and not job.said):
        return None
    return job, StoredArchive(*json.loads(job.said)) if job.state == "done" else None


def drop_exports(session: Session, exports: Storage, project_id: int) -> None:
    """Keep no export of a project any longer, whoever asked for it."""
    own = Job.kind == ExportProject.name, Job.about.startswith(f"{project_id} ")
    for job in session.scalars(select(Job).where(*own).with_for_update()):
        _drop(session, exports, job)


def _project_of(job: Job) -> int:
    return int(job.about.split()[0])


def _drop(session: Session, exports: Storage, job: Job) -> None:
    """Keep what a job made no longer."""
    if job.said:
        drop_when_written(session, exports, json.loads(job.said)[0])
        job.said = ""
