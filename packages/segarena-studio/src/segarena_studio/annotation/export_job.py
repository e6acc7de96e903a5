"""Job for slow exports; the person who requested one can download it from the page for at least a day."""

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

from segarena_server import http_errors
from segarena_server.db.orm_models import Job
from segarena_server.jobs.job_queue import enqueue_job, find_job
from segarena_server.runs.submissions import drop_when_written
from segarena_server.site import Site
from segarena_server.storage.content_store import ContentStore
from segarena_server.workers.job_runner import JobKind
from segarena_server.workers.worker import WorkerContext
from segarena_studio.annotation.export_contents import (
    ExportContents,
    ExportOptions,
    archive_name,
    collect_export,
)
from segarena_studio.annotation.project_export import export_archive
from segarena_studio.orm_models import Project

KEPT_S = 86_400.0
"""Minimum time for which an export is kept."""
_AT_ONCE = 100
# Up to this many drawings and bytes of photographs, an export is written within the request.
_AT_ONCE_BYTES = 64 * 2**20


class StoredArchive(NamedTuple):
    """An export in the storage: hash, size, file name."""

    sha256: str
    bytes: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveWriter:
    """Work unit that writes an export.

    Attributes:
        contents: contents of the export.
        photographs: storage of the photographs.
        exports: storage of exports.
    """

    contents: ExportContents
    photographs: ContentStore
    exports: ContentStore

    def __call__(self, context: WorkerContext, /) -> StoredArchive:
        """Write the archive to the storage."""

        @contextmanager
        def watch(step: str) -> Generator[None]:
            with context.time_limit(step):
                yield

        with TemporaryDirectory(prefix="segarena-") as scratch:
            archive = Path(scratch) / "export.zip"
            export_archive(self.contents, self.photographs, archive, watch)
            size = archive.stat().st_size
            return StoredArchive(
                self.exports.take(archive),
                size,
                archive_name(self.contents.title, self.contents.wanted),
            )


class ExportProject(JobKind):
    """Exports a project; `about` of each job contains the ids of the project and of the person."""

    name = "export project"
    is_long = True

    def task(
        self,
        session: Session,
        site: Site,
        job: Job,
    ) -> ArchiveWriter | None:
        """Return the work unit; None if the project was deleted."""
        project = session.get(Project, _project_of(job))
        if project is None:
            return None
        contents = collect_export(
            session,
            project,
            msgspec.json.decode(job.told, type=ExportOptions),
            site.now(),
        )
        return ArchiveWriter(
            contents=contents,
            photographs=site.folder.photographs,
            exports=site.folder.exports,
        )

    def write(
        self,
        session: Session,
        site: Site,
        job: Job,
        result: StoredArchive,
    ) -> None:
        """Store the result and delete the previous export; delete both if the project was deleted in the meantime."""
        exports = site.folder.exports
        if job.said:
            previous_sha256 = json.loads(job.said)[0]
            # An unchanged project produces the same archive, which must not be deleted.
            if previous_sha256 != result.sha256:
                _drop(session, exports, job)
        job.said = json.dumps(result)
        # The project was deleted during the export, so nobody could download it.
        if session.get(Project, _project_of(job)) is None:
            _drop(session, exports, job)


def is_quick(contents: ExportContents) -> bool:
    """Return whether an export is small enough to be written within the request."""
    return len(contents.drawn) <= _AT_ONCE and contents.photograph_bytes <= _AT_ONCE_BYTES


def request_export(
    session: Session,
    site: Site,
    project_id: int,
    person_id: int,
    wanted: ExportOptions,
) -> None:
    """Enqueue an export and delete expired exports.

    Raises:
        Refusal: another export for this person is in progress.
    """
    # Delete them here, because no other process checks exports regularly.
    old = select(Job).where(
        Job.kind == ExportProject.name,
        Job.said != "",
        Job.done_at < site.now() - KEPT_S,
    )
    for job in session.scalars(old):
        _drop(session, site.folder.exports, job)
    options = msgspec.json.encode(wanted).decode()
    about = f"{project_id} {person_id}"
    job = enqueue_job(session, ExportProject.name, about, site.now(), options)
    # If an unfinished job with the same subject exists, it is returned instead of a new one.
    if job.told != options:
        raise http_errors.conflict(
            "another of your exports is being created; try again when it is ready"
        )


def find_export(
    session: Session,
    project_id: int,
    person_id: int,
) -> tuple[Job, StoredArchive | None] | None:
    """Return the job of a person's last large export, with its archive once finished; None if there is none."""
    job = find_job(session, ExportProject.name, f"{project_id} {person_id}")
    if job is None or (job.state == "done" and not job.said):
        return None
    if job.state != "done":
        return job, None
    return job, StoredArchive(*json.loads(job.said))


def drop_exports(
    session: Session,
    exports: ContentStore,
    project_id: int,
) -> None:
    """Drop all exports of a project."""
    # The blank ends the number, so that project 1 does not match project 12.
    is_own = Job.about.startswith(f"{project_id} ")
    own = select(Job).where(Job.kind == ExportProject.name, is_own)
    for job in session.scalars(own.with_for_update()):
        _drop(session, exports, job)


def _project_of(job: Job) -> int:
    return int(job.about.split()[0])


def _drop(
    session: Session,
    exports: ContentStore,
    job: Job,
) -> None:
    """Delete the archive that a job created."""
    if job.said:
        drop_when_written(session, exports, json.loads(job.said)[0])
        job.said = ""
