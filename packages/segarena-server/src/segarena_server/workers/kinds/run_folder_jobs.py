"""Jobs that write a run folder after its turns are evaluated: ending the run, and removing a name from it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session, aliased

from segarena.engine.evaluate import finish
from segarena.engine.rows import Rows, failed_sample
from segarena.engine.run_folder import RunFolder
from segarena.errors import SegarenaError
from segarena.files.atomic_write import write_atomic
from segarena.records.configuration import configuration_text, read_configuration
from segarena.records.row_types import RoundRecord
from segarena.reports.boards.extracts import extract_of, extract_text
from segarena_server.challenges.evaluation_request import EvaluationRequest, RunInfo
from segarena_server.db.orm_models import Challenge, Job, Run, Turn
from segarena_server.jobs.job_queue import END_RUN, REMOVE_NAME
from segarena_server.runs import run_repository
from segarena_server.runs.evaluation_requests import evaluation_request, run_info
from segarena_server.site import Site
from segarena_server.storage.run_folders import RunFolders
from segarena_server.workers.job_runner import JobKind
from segarena_server.workers.worker import WorkerContext


@dataclass(frozen=True, slots=True, kw_only=True)
class EndRunTask:
    """The task of ending a run.

    Attributes:
        challenge: description of the challenge as JSON.
        participant_run: the run.
        unfinished: turns of each sample that was started and is not over.
        reason: why the dialogues end, in one line.
        run_folders: store of the run folder.
    """

    challenge: str
    participant_run: RunInfo
    unfinished: tuple[EvaluationRequest, ...]
    reason: str
    run_folders: RunFolders

    def __call__(self, context: WorkerContext, /) -> str:
        """End the run; return its extract for boards as JSON, or "" if no sample was evaluated."""
        run = self.participant_run
        evaluator = context.evaluator(self.challenge)
        folder = evaluator.open_folder(self.run_folders.path(run.id), run)
        for place in folder.pending():
            data = self.run_folders.place(run.id, place)
            if data:  # another machine evaluated this sample
                folder.writer.write(place, data)
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
    """Ends a closing run; `about` of each job is the run id."""

    name = END_RUN

    def is_due(self) -> ColumnElement[bool]:
        """Return the condition that all turns of the run are evaluated."""
        unevaluated = select(Turn.run_id).where(Turn.state.in_(("waiting", "leased")))
        return Job.about.not_in(unevaluated)

    def task(
        self,
        session: Session,
        site: Site,
        job: Job,
    ) -> EndRunTask | None:
        """Return the task, or None if the run is no longer closing."""
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
            reason=run.fault or "the run ended before this dialogue",
            run_folders=site.folder.run_folders,
        )

    def write(
        self,
        session: Session,
        site: Site,
        job: Job,
        result: str,
    ) -> None:
        """Close the run with its extract."""
        run_repository.close_run(session, job.about, site.now(), extract=result, fault="")

    def fail(
        self,
        session: Session,
        site: Site,
        job: Job,
        error: SegarenaError,
    ) -> None:
        """Close the run without a result."""
        fault = "the server could not finish the run; the organiser can see the reason"
        run_repository.close_run(session, job.about, site.now(), extract="", fault=fault)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveNameTask:
    """The task of removing the name of a segmenter from the folder of a run.

    Attributes:
        run_id: id of the run.
        run_folders: store of the run folder.
    """

    run_id: str
    run_folders: RunFolders

    def __call__(self, context: WorkerContext, /) -> None:
        """Replace the name; a run without a folder will be created without the name."""
        file = self.run_folders.fetch(self.run_id) / "run.json"
        if not file.is_file():
            return
        config = read_configuration(file).config
        segmenter = replace(config.segmenter, name=run_repository.NAMELESS)
        write_atomic(file, configuration_text(replace(config, segmenter=segmenter)))
        self.run_folders.keep(self.run_id)


class RemoveName(JobKind):
    """Removes a deleted account's name for a segmenter from a run folder; `about` of each job is the run id."""

    name = REMOVE_NAME

    def is_due(self) -> ColumnElement[bool]:
        """Return the condition that no task is about to write the folder with the old name."""
        other = aliased(Job)
        ending = select(other.about).where(
            other.kind == END_RUN,
            other.state == "leased",
        )
        evaluating = select(Turn.run_id).where(Turn.state.in_(("waiting", "leased")))
        is_written = Job.about.in_(ending) | Job.about.in_(evaluating)
        return ~is_written

    def task(
        self,
        session: Session,
        site: Site,
        job: Job,
    ) -> RemoveNameTask:
        """Return the task."""
        return RemoveNameTask(run_id=job.about, run_folders=site.folder.run_folders)

    def write(
        self,
        session: Session,
        site: Site,
        job: Job,
        result: None,
    ) -> None:
        """Store nothing."""


def _not_begun(folder: RunFolder, place: int) -> RoundRecord:
    benchmark = folder.config.benchmark.name
    dataset = folder.config.dataset.name
    failure = "the run ended before this sample was started"
    return failed_sample(benchmark, dataset, folder.samples[place], failure)
