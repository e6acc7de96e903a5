"""Jobs that write the folder of a run once its turns are evaluated: ending the run, and removing a name from it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.orm import Session, aliased

from segarena.engine.evaluate import finish
from segarena.engine.rows import Rows, failed_sample
from segarena.engine.store import RunFolder
from segarena.errors import SegarenaError
from segarena.files.atomic_write import write_atomic
from segarena.records.configuration import configuration_text, read_configuration
from segarena.records.row_types import RoundRecord
from segarena.reports.boards.extracts import extract_of, extract_text
from segarena_server.auth import account_deletion
from segarena_server.challenges.evaluation_request import EvaluationRequest, RunInfo
from segarena_server.db.orm_models import Challenge, Job, Run, Turn
from segarena_server.jobs.job_kind import JobKind
from segarena_server.jobs.job_queue import END_RUN, REMOVE_NAME
from segarena_server.jobs.turn_evaluation import evaluation_request, run_info
from segarena_server.jobs.worker import WorkerContext
from segarena_server.runs import run_repository
from segarena_server.site import Site
from segarena_server.storage.run_folders import RunFolders


@dataclass(frozen=True, slots=True, kw_only=True)
class EndRunTask:
    """The task of ending a run.

    Attributes:
        challenge: its description as JSON.
        participant_run: which run.
        unfinished: the turns of each sample that was begun and is not over.
        reason: why their dialogues end, in one line.
        run_folders: where the folder is.
    """

    challenge: str
    participant_run: RunInfo
    unfinished: tuple[EvaluationRequest, ...]
    reason: str
    run_folders: RunFolders

    def run(self, context: WorkerContext, /) -> str:
        """End the run; return its extract for boards as JSON, "" when no sample was evaluated."""
        run = self.participant_run
        evaluator = context.evaluator(self.challenge)
        folder = evaluator.open_folder(self.run_folders.path(run.id), run)
        for place in folder.pending():
            files = self.run_folders.place(run.id, place)
            if files:  # another machine evaluated this sample
                folder.write_files(place, files)
        for request in self.unfinished:
            folder.write(request.place, evaluator.leave(request, self.reason))
        if len(folder.pending()) == len(folder.samples):
            return ""
        for place in folder.pending():
            folder.write(place, Rows([_not_begun(folder, place)]))
        with folder.lock():
            finish(folder)
        self.run_folders.keep(run.id)
        return extract_text(extract_of(folder.path))


class EndRun(JobKind):
    """Ends a run that is closing; each job is about the id of a run."""

    name = END_RUN

    def is_due(self) -> ColumnElement[bool]:
        """Wait until the turns that came before are evaluated."""
        unevaluated = select(Turn.run_id).where(Turn.state.in_(("waiting", "leased")))
        return Job.about.not_in(unevaluated)

    def task(self, session: Session, site: Site, job: Job) -> EndRunTask | None:
        """Return the task; None when the run is not closing any more."""
        run = session.get(Run, job.about)
        if run is None or run.state != "closing":
            return None
        challenge = session.get_one(Challenge, run.challenge_id)
        evaluated = select(Turn.place).where(Turn.run_id == run.id, Turn.state == "done")
        begun = set(session.scalars(evaluated.distinct()))
        samples = run_repository.run_samples(session, run.id)
        unfinished = [row for row in samples if row.state == "open" and row.number in begun]
        requests = [evaluation_request(session, challenge, run, row) for row in unfinished]
        return EndRunTask(
            challenge=challenge.description,
            participant_run=run_info(session, run),
            unfinished=tuple(requests),
            reason=run.fault or "the run was ended before this dialogue was",
            run_folders=site.folder.run_folders,
        )

    def write(self, session: Session, site: Site, job: Job, result: str) -> None:
        """Close the run with its extract."""
        run_repository.close_run(session, job.about, site.now(), extract=result, fault="")

    def fail(self, session: Session, site: Site, job: Job, error: SegarenaError) -> None:
        """Close the run without a result."""
        fault = "it could not be ended; the organiser sees why"
        run_repository.close_run(session, job.about, site.now(), extract="", fault=fault)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveNameTask:
    """The task of removing the name of a segmenter from the folder of a run.

    Attributes:
        run_id: of the run.
        run_folders: where its folder is.
    """

    run_id: str
    run_folders: RunFolders

    def run(self, context: WorkerContext, /) -> None:
        """Replace the name; a run without a folder will begin it without the name."""
        file = self.run_folders.fetch(self.run_id) / "run.json"
        if not file.is_file():
            return
        config = read_configuration(file).config
        segmenter = replace(config.segmenter, name=account_deletion.NAMELESS)
        write_atomic(file, configuration_text(replace(config, segmenter=segmenter)))
        self.run_folders.keep(self.run_id)


class RemoveName(JobKind):
    """Removes a name that somebody chose whose account is deleted; each job is about the id of a run."""

    name = REMOVE_NAME

    def is_due(self) -> ColumnElement[bool]:
        """Wait for tasks that write the folder and were started with the name."""
        other = aliased(Job)
        ending = select(other.about).where(other.kind == END_RUN, other.state == "leased")
        evaluating = select(Turn.run_id).where(Turn.state.in_(("waiting", "leased")))
        return and_(Job.about.not_in(ending), Job.about.not_in(evaluating))

    def task(self, session: Session, site: Site, job: Job) -> RemoveNameTask:
        """Return the task."""
        return RemoveNameTask(run_id=job.about, run_folders=site.folder.run_folders)

    def write(self, session: Session, site: Site, job: Job, result: None) -> None:
        """Store nothing."""


def _not_begun(folder: RunFolder, place: int) -> RoundRecord:
    benchmark = folder.config.benchmark.name
    dataset = folder.config.dataset.name
    failure = "the run was ended before this sample was begun"
    return failed_sample(benchmark, dataset, folder.samples[place], failure)
