"""Judging what was sent, sample by sample: rows go into the run's folder, as those of dialogues do."""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict, dataclass, field

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from segarena.dialogue import Prediction
from segarena.engine.rows import Rows
from segarena.engine.sample_job import time_limit_of
from segarena.engine.store import RunFolder, files_of_rows
from segarena.errors import InvalidInput, SegarenaError
from segarena.files.hashes import sha256
from segarena.protocol.turns import Answer, Turn, pack_turn, read_turn_head
from segarena_server.audit_log import note
from segarena_server.challenges.evaluation_request import (
    ChargedTurn,
    EvaluationRequest,
    EvaluationResult,
    RunInfo,
)
from segarena_server.challenges.evaluator import Evaluator
from segarena_server.challenges.prompt_replay import pack_first_rounds
from segarena_server.challenges.submissions import masks, runs
from segarena_server.db.orm_models import Challenge, Job, Run, RunSample
from segarena_server.db.orm_models import Turn as TurnRow
from segarena_server.jobs.evaluate_turn import evaluation_request, run_info
from segarena_server.jobs.job_kind import JobKind
from segarena_server.jobs.job_queue import enqueue_job
from segarena_server.jobs.submission_cache import MaskSample, SubmissionContent, process_cache
from segarena_server.jobs.worker import WorkerContext
from segarena_server.runs import submissions
from segarena_server.runs.run_repository import end_run_sample, refund_run
from segarena_server.site import Site
from segarena_server.storage.compression import pack
from segarena_server.storage.run_folders import RunFolders


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTurn:
    """A turn that was held here.

    Attributes:
        given: as a participant would have sent it.
        reply: to it.
        judged: where its dialogues stand, as JSON.
        digest: see `StepDone.digest`.
    """

    given: ChargedTurn
    reply: bytes = field(repr=False)
    judged: str
    digest: str

    @classmethod
    def of(cls, given: ChargedTurn, done: EvaluationResult) -> LocalTurn:
        """Return what is kept of a step. Its prompts were given to nobody, so they are none of a budget."""
        judged = json.dumps([asdict(one) for one in done.judged])
        return cls(given=given, reply=done.reply, judged=judged, digest=done.digest)

    def row(self, place: RunSample, number: int, now: float) -> TurnRow:
        """Return it as one of the turns of a place."""
        body = self.given.body
        given = self.given
        times = {
            "received_at": now,
            "done_at": now,
            "charged_s": given.charged_s,
            "client_s": given.charged_s,
        }
        sent = {
            "sha256": sha256(body),
            "request": pack(body),
            "response": pack(self.reply),
            "given": b"",
        }
        told = {
            "judged": self.judged,
            "digest": self.digest,
            "spent_s": given.spent_s,
            "state": "done",
        }
        return TurnRow(
            run_id=place.run_id, place=place.number, number=number, **sent, **told, **times
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSampleTask:
    """Judge one sample of a run.

    Attributes:
        content: the answers, or what gives them.
        challenge: its description.
        job: the place, with the turns in which its first prompts were given.
        runs: where the rows go.
        place: of masks.
        given_up: why nothing is asked any more, where that is so: all dialogues about the sample fail.
    """

    content: SubmissionContent
    challenge: str
    job: EvaluationRequest = field(repr=False)
    runs: RunFolders
    place: MaskSample | None = None
    given_up: str = ""

    def do(self, bench: WorkerContext, /) -> tuple[LocalTurn, ...]:
        """Write the rows; return the turns that were held, for whoever looks at the run.

        Raises:
            SegarenaError: something is wrong here: what is wrong with what was sent was told before.
        """
        evaluator = bench.evaluator(self.challenge)
        run = self.job.run
        folder = evaluator.open_folder(self.runs.path(run.id), run)
        for number in folder.pending():
            if done := self.runs.place(run.id, number):  # by another machine
                folder.write_files(number, done)
        held: list[LocalTurn] = []
        if self.given_up:
            rows = evaluator.leave(self.job, self.given_up)
        elif self.place is not None:
            rows = self._of_masks(evaluator, self.place, held)
        elif self.content.kind == "run":
            rows = self._of_run(evaluator, run)
        else:
            rows = self._of_program(folder, run, held)
        files = files_of_rows(rows)
        folder.write_files(self.job.place, files)
        self.runs.keep_place(run.id, self.job.place, files)
        if folder.is_complete:  # nothing of it is needed any more
            process_cache().forget()
        return tuple(held)

    def _of_masks(self, evaluator: Evaluator, place: MaskSample, held: list[LocalTurn]) -> Rows:
        expected = place.expected()
        root = process_cache().unpacked(self.content).root
        read = [
            masks.read_submitted_mask(root, expected, number)
            for number in range(len(expected.objects))
        ]
        answers = [
            Answer(dialogue=number, prediction=Prediction(mask)) for number, mask in enumerate(read)
        ]
        opened = {number for given in self.job.turns for number in read_turn_head(given.body).open}
        rest = [number for number in range(len(read)) if number not in opened]
        past = pack_first_rounds(self.job.past, expected.shape)
        turns = self.job.turns
        rows = None
        for turn in (
            *([Turn(id=_new_id(), open=rest)] if rest else []),
            Turn(id=_new_id(), answers=answers),
        ):
            given = ChargedTurn(body=pack_turn(turn))
            turns = (*turns, given)
            done = evaluator.step(
                EvaluationRequest(run=self.job.run, place=self.job.place, turns=turns, past=past)
            )
            held.append(LocalTurn.of(given, done))
            rows = done.rows
        if rows is None:
            raise InvalidInput("masks end all dialogues, these did not")
        return rows

    def _of_run(self, evaluator: Evaluator, run: RunInfo) -> Rows:
        plan, cast = evaluator.cast(run.phase)
        sent = runs.SubmittedRun(process_cache().unpacked(self.content).root)
        again = sent.judge(run.samples[self.job.place], cast, time_limit_of(plan))
        if again.faults:
            raise InvalidInput(f"it was taken, and now differs: {again.faults[0]}")
        return again.rows

    def _of_program(self, folder: RunFolder, run: RunInfo, held: list[LocalTurn]) -> Rows:
        """Hold the dialogues with the program; what it took for other samples goes off the time of the run."""
        rehearsal = process_cache().unpacked(self.content).rehearsal(self.challenge, run.phase)
        timings = folder.read("timings", ["round", "predict_s"])
        spent_s = float(timings.filter(timings["round"] > 0)["predict_s"].sum())
        told, rows = rehearsal.hold_place(run, self.job.place, spent_s=spent_s)
        held += [LocalTurn.of(given, done) for given, done in told.exchanged]
        return rows


class JudgeSubmission(JobKind):
    """The kind; each job is about a place: the id of a run, a blank, a number."""

    name = submissions.JUDGE_SAMPLE
    is_long = True

    def unit(self, session: Session, site: Site, job: Job) -> JudgeSampleTask | None:
        """Return what judges it; None when that has become needless."""
        run, place = _about(session, job)
        sent = submissions.accepted_submission(session, run.id)
        if run.state != "open" or place.state != "open" or sent is None:
            return None
        challenge = session.get_one(Challenge, run.challenge_id)
        facts = run_info(session, run)
        is_masks = sent.kind == "masks"
        return JudgeSampleTask(
            content=submissions.submission_content(site, sent),
            challenge=challenge.description,
            job=evaluation_request(session, challenge, run, place)
            if is_masks
            else EvaluationRequest(run=facts, place=place.number, turns=()),
            runs=site.folder.run_folders,
            place=submissions.mask_samples(session, site, sent)[place.number] if is_masks else None,
            given_up=json.loads(job.told or "{}").get("given_up", ""),
        )

    def write(self, session: Session, site: Site, job: Job, result: tuple[LocalTurn, ...]) -> None:
        """The sample is over; after the last one the run ends."""
        run, place = _about(session, job)
        known = (
            select(func.count())
            .select_from(TurnRow)
            .where(TurnRow.run_id == run.id, TurnRow.place == place.number)
        )
        for number, held in enumerate(result, start=session.scalar(known) or 0):
            session.add(held.row(place, number, site.now()))
        end_run_sample(session, run.id, place.number, site.now())

    def fail(self, session: Session, site: Site, job: Job, error: SegarenaError) -> None:
        """Give the run back; a program that takes its process with it again and again has failed about that sample."""
        run, _ = _about(session, job)
        if run.kind == "worker" and not job.told:
            why = json.dumps({"given_up": f"the program was lost with its process: {error}"})
            enqueue_job(session, self.name, job.about, site.now(), why)
        else:
            note(session, site.now(), "sample not judged", f"{job.about}: {error}")
            refund_run(
                session, run.id, site.now(), "a sample could not be judged; the organiser sees why"
            )


def _about(session: Session, job: Job) -> tuple[Run, RunSample]:
    run_id, _, number = job.about.partition(" ")
    return session.get_one(Run, run_id), session.get_one(RunSample, (run_id, int(number)))


def _new_id() -> str:
    return str(uuid.uuid4())
