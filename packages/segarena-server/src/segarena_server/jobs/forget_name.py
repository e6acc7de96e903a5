"""Taking the name out of a run's folder that somebody gave it whose account is deleted."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.orm import Session, aliased

from segarena.files.whole import write_whole
from segarena.records.configuration import configuration_text, read_configuration
from segarena_server.auth import account_deletion
from segarena_server.db.orm_models import Job, Turn
from segarena_server.jobs.job_kind import JobKind
from segarena_server.jobs.worker import WorkerContext
from segarena_server.runs import run_repository
from segarena_server.site import Site
from segarena_server.storage.run_folders import RunFolders


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveNameTask:
    """The unit that renames what a run's folder says was judged.

    Attributes:
        run: its id.
        runs: where its folder is.
    """

    run: str
    runs: RunFolders

    def do(self, bench: WorkerContext, /) -> None:
        """Rename it; a run of which there is no folder yet begins it without the name."""
        file = self.runs.fetch(self.run) / "run.json"
        if not file.is_file():
            return
        config = read_configuration(file).config
        renamed = replace(
            config, segmenter=replace(config.segmenter, name=account_deletion.NAMELESS)
        )
        write_whole(file, configuration_text(renamed))
        self.runs.keep(self.run)


class RemoveName(JobKind):
    """The kind; each job is about the id of a run."""

    name = run_repository.FORGET

    def is_due(self) -> ColumnElement[bool]:
        """Wait for whoever writes into the folder, and knew the name before."""
        ending = aliased(Job)
        ended_now = select(ending.about).where(
            ending.kind == run_repository.END, ending.state == "leased"
        )
        judged_now = select(Turn.run_id).where(Turn.state.in_(("waiting", "leased")))
        return and_(Job.about.not_in(ended_now), Job.about.not_in(judged_now))

    def unit(self, session: Session, site: Site, job: Job) -> RemoveNameTask:
        """Return what renames it."""
        return RemoveNameTask(run=job.about, runs=site.folder.run_folders)

    def write(self, session: Session, site: Site, job: Job, result: None) -> None:
        """Nothing is kept."""
