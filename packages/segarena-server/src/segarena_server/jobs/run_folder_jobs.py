"""Ending a run: what was begun ends with it, its folder is finished, and boards get what they need of it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from segarena.engine.evaluate import finish
from segarena.engine.rows import Rows, failed_sample
from segarena.engine.store import RunFolder
from segarena.errors import SegarenaError
from segarena.records.row_types import RoundRecord
from segarena.reports.boards.extracts import extract_of, extract_text
from segarena_server.challenges.evaluation_request import EvaluationRequest, RunInfo
from segarena_server.db.orm_models import Challenge, Job, Run, Turn
from segarena_server.jobs.evaluate_turn import evaluation_request, run_info
from segarena_server.jobs.job_kind import JobKind
from segarena_server.jobs.worker import WorkerContext
from segarena_server.runs import run_repository
from segarena_server.site import Site
from segarena_server.storage.run_folders import RunFolders


@dataclass(frozen=True, slots=True, kw_only=True)
class EndRunTask:
    """The unit that ends a run.

    Attributes:
        challenge: its description.
        run: which it is.
        left: the places that were begun and are not over, each with its turns.
        why: they end, in a line.
        runs: where its folder is.
    """

    challenge: str
    run: RunInfo
    left: tuple[EvaluationRequest, ...]
    why: str
    runs: RunFolders

    def do(self, bench: WorkerContext, /) -> str:
        """End it; return the extract, "" when nothing came of the run."""
        evaluator = bench.evaluator(self.challenge)
        folder = evaluator.open_folder(self.runs.path(self.run.id), self.run)
        for place in folder.pending():
            if files := self.runs.place(self.run.id, place):
                folder.write_files(place, files)
        for job in self.left:
            folder.write(job.place, evaluator.leave(job, self.why))
        if len(folder.pending()) == len(folder.samples):
            return ""
        for place in folder.pending():
            folder.write(place, Rows([_not_begun(folder, place)]))
        with folder.lock():
            finish(folder)
        self.runs.keep(self.run.id)
        return extract_text(extract_of(folder.path))


class EndRun(JobKind):
    """The kind; each job is about the id of a run that waits to be ended."""

    name = run_repository.END

    def is_due(self) -> ColumnElement[bool]:
        """Wait for the turns that came in before the run was to be ended."""
        return Job.about.not_in(select(Turn.run_id).where(Turn.state.in_(("waiting", "leased"))))

    def unit(self, session: Session, site: Site, job: Job) -> EndRunTask | None:
        """Return what ends it; None when that has become needless."""
        run = session.get(Run, job.about)
        if run is None or run.state != "closing":
            return None
        challenge = session.get_one(Challenge, run.challenge_id)
        done = select(Turn.place).where(Turn.run_id == run.id, Turn.state == "done")
        begun = set(session.scalars(done.distinct()))
        left = [
            place
            for place in run_repository.run_samples(session, run.id)
            if place.state == "open" and place.number in begun
        ]
        return EndRunTask(
            challenge=challenge.description,
            run=run_info(session, run),
            left=tuple(evaluation_request(session, challenge, run, place) for place in left),
            why=run.fault or "the run was ended before this dialogue was",
            runs=site.folder.run_folders,
        )

    def write(self, session: Session, site: Site, job: Job, result: str) -> None:
        """The run is over."""
        run_repository.close_run(session, job.about, site.now(), extract=result, fault="")

    def fail(self, session: Session, site: Site, job: Job, error: SegarenaError) -> None:
        """The run is over, and came to nothing."""
        run_repository.close_run(
            session,
            job.about,
            site.now(),
            extract="",
            fault="it could not be ended; the organiser sees why",
        )


def _not_begun(folder: RunFolder, place: int) -> RoundRecord:
    benchmark = folder.config.benchmark.name
    dataset = folder.config.dataset.name
    return failed_sample(
        benchmark, dataset, folder.samples[place], "the run was ended before this sample was begun"
    )
