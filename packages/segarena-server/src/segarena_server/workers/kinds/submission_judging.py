"""Jobs that evaluate a submission, one per sample. The run folder has the same rows as for dialogues."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from segarena.dialogue import Prediction
from segarena.engine.plan import time_limit_of
from segarena.engine.rows import Rows
from segarena.engine.run_folder import RunFolder
from segarena.errors import InvalidInput, SegarenaError
from segarena.files.hashes import sha256
from segarena.protocol.turns import DialogueAnswer, TurnHeader, pack_turn, read_turn_header
from segarena_server.audit_log import record_event
from segarena_server.challenges.evaluation_request import (
    ChargedTurn,
    EvaluationRequest,
    EvaluationResult,
    RunInfo,
)
from segarena_server.challenges.evaluator import Evaluator
from segarena_server.challenges.prompt_replay import pack_first_rounds
from segarena_server.challenges.submissions import masks, runs
from segarena_server.challenges.submissions.submission_cache import (
    MaskSample,
    SubmissionContent,
    process_cache,
)
from segarena_server.db.orm_models import Challenge, Job, Run, RunSample
from segarena_server.db.orm_models import Turn as TurnRow
from segarena_server.jobs.job_queue import JUDGE_SAMPLE, enqueue_job
from segarena_server.runs import submissions
from segarena_server.runs.evaluation_requests import evaluation_request, run_info
from segarena_server.runs.run_repository import end_run_sample, refund_run
from segarena_server.site import Site
from segarena_server.storage.compression import compress_body
from segarena_server.storage.run_folders import RunFolders
from segarena_server.workers.job_runner import JobKind
from segarena_server.workers.worker import WorkerContext

LocalTurn: TypeAlias = tuple[ChargedTurn, EvaluationResult]
"""A turn inside the worker process, with its result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSampleTask:
    """The task of evaluating one sample of a run.

    Attributes:
        content: the answers, or the program that produces them.
        request: the sample, with the turns that sent its first prompts.
        run_folders: store for the rows.
        mask_sample: requirements on the masks; None for other submissions.
        given_up: why the sample is abandoned, so that all its dialogues fail; otherwise "".
    """

    content: SubmissionContent
    request: EvaluationRequest = field(repr=False)
    run_folders: RunFolders
    mask_sample: MaskSample | None = None
    given_up: str = ""

    def __call__(self, context: WorkerContext, /) -> tuple[LocalTurn, ...]:
        """Write the rows; return the turns for the pages of the run.

        Raises:
            SegarenaError: a server fault, because the inspection has already found all faults of the submission.
        """
        evaluator = context.evaluator(self.request.challenge)
        run = self.request.run
        place = self.request.place
        folder = evaluator.open_folder(self.run_folders.path(run.id), run)
        for number in folder.pending():
            data = self.run_folders.place(run.id, number)
            if data:  # another machine judged this sample
                folder.writer.write(number, data)
        turns: list[LocalTurn] = []
        if self.given_up:
            rows = evaluator.leave(self.request, self.given_up)
        elif self.mask_sample is not None:
            rows = self._judge_masks(evaluator, self.mask_sample, turns)
        elif self.content.kind == "run":
            rows = self._judge_run(evaluator, run)
        else:
            rows = self._run_program(folder, run, turns)
        data = rows.pack()
        folder.writer.write(place, data)
        self.run_folders.keep_place(run.id, place, data)
        if folder.is_complete:  # no other job needs the unpacked submission
            process_cache().clear()
        return tuple(turns)

    def _judge_masks(
        self,
        evaluator: Evaluator,
        mask_sample: MaskSample,
        turns: list[LocalTurn],
    ) -> Rows:
        """Send the masks as the answers of one turn, after opening the dialogues that are not open yet."""
        expected = mask_sample.expected_masks()
        root = process_cache().unpacked(self.content).root
        numbers = range(len(expected.objects))
        answers: dict[int, DialogueAnswer] = {}
        for number in numbers:
            mask = masks.read_submitted_mask(root, expected, number)
            answers[number] = Prediction(mask)
        opened: set[int] = set()
        for turn in self.request.turns:
            opened.update(read_turn_header(turn.body).open)
        unopened = [number for number in numbers if number not in opened]
        to_send = [pack_turn(TurnHeader(id=_new_id()), answers)]
        if unopened:
            to_send.insert(0, pack_turn(TurnHeader(id=_new_id(), open=unopened)))
        past = pack_first_rounds(self.request.past, expected.shape)
        sent = self.request.turns
        rows = None
        for body in to_send:
            charged = ChargedTurn(body=body)
            sent = (*sent, charged)
            request = EvaluationRequest(
                run=self.request.run,
                place=self.request.place,
                turns=sent,
                past=past,
            )
            result = evaluator.evaluate(request)
            turns.append((charged, result))
            rows = result.rows
        if rows is None:
            raise InvalidInput("expected masks to end all dialogues, but some are still open")
        return rows

    def _judge_run(self, evaluator: Evaluator, run: RunInfo) -> Rows:
        plan, cast = evaluator.cast(run.phase)
        submitted = runs.SubmittedRun(process_cache().unpacked(self.content).root)
        sample = run.samples[self.request.place]
        rejudged = submitted.rejudge(sample, cast, time_limit_of(plan))
        if rejudged.faults:
            raise InvalidInput(f"the accepted run now differs: {rejudged.faults[0]}")
        return rejudged.rows

    def _run_program(
        self,
        folder: RunFolder,
        run: RunInfo,
        turns: list[LocalTurn],
    ) -> Rows:
        """Let the program answer; its time for other samples counts towards the time limit of the run."""
        rehearsal = (
            process_cache().unpacked(self.content).rehearsal(self.request.challenge, run.phase)
        )
        timings = folder.read("timings", ["round", "predict_s"])
        answered = timings.filter(timings["round"] > 0)
        spent_s = float(answered["predict_s"].sum())
        rehearsed, rows = rehearsal.rehearse_sample(run, self.request.place, spent_s=spent_s)
        turns += rehearsed.exchanged
        return rows


class JudgeSubmission(JobKind):
    """Evaluates one sample of a submission; `about` of each job is a run id, a space and the index of a sample."""

    name = JUDGE_SAMPLE
    is_long = True

    def task(
        self,
        session: Session,
        site: Site,
        job: Job,
    ) -> JudgeSampleTask | None:
        """Return the task, or None if the run or the sample is over."""
        run, sample = _run_sample(session, job)
        submission = submissions.accepted_submission(session, run.id)
        if run.state != "open" or sample.state != "open" or submission is None:
            return None
        challenge = session.get_one(Challenge, run.challenge_id)
        if submission.kind == "masks":
            request = evaluation_request(session, challenge, run, sample)
            mask_sample = submissions.mask_samples(session, site, submission)[sample.number]
        else:
            info = run_info(session, run)
            request = EvaluationRequest(
                run=info, place=sample.number, turns=(), challenge=challenge.description
            )
            mask_sample = None
        return JudgeSampleTask(
            content=submissions.submission_content(site, submission),
            request=request,
            run_folders=site.folder.run_folders,
            mask_sample=mask_sample,
            given_up=json.loads(job.told or "{}").get("given_up", ""),
        )

    def write(
        self,
        session: Session,
        site: Site,
        job: Job,
        result: tuple[LocalTurn, ...],
    ) -> None:
        """Store the turns and mark the sample as over; the run ends after the last sample."""
        run, sample = _run_sample(session, job)
        of_sample = (
            select(func.count())
            .select_from(TurnRow)
            .where(TurnRow.run_id == run.id, TurnRow.place == sample.number)
        )
        first_number = session.scalar(of_sample) or 0
        for number, turn in enumerate(result, start=first_number):
            session.add(_turn_row(sample, number, turn, site.now()))
        end_run_sample(session, run.id, sample.number, site.now())

    def fail(
        self,
        session: Session,
        site: Site,
        job: Job,
        error: SegarenaError,
    ) -> None:
        """Refund the run, or fail the dialogues about this sample if a program crashed in every attempt."""
        run, _ = _run_sample(session, job)
        if run.kind == "worker" and not job.told:
            reason = f"the program crashed: {error}"
            told = json.dumps({"given_up": reason})
            enqueue_job(session, self.name, job.about, site.now(), told)
        else:
            record_event(session, site.now(), "sample not judged", f"{job.about}: {error}")
            reason = "a sample could not be evaluated; the organiser can see the reason"
            refund_run(session, run.id, site.now(), reason)


def _turn_row(
    sample: RunSample,
    number: int,
    turn: LocalTurn,
    now: float,
) -> TurnRow:
    """Return the database row of a turn that took place in the worker process."""
    charged, result = turn
    return TurnRow(
        run_id=sample.run_id,
        place=sample.number,
        number=number,
        state="done",
        sha256=sha256(charged.body),
        request=compress_body(charged.body),
        response=compress_body(result.reply),
        # No participant saw these prompts, so they do not count towards a budget.
        given=b"",
        judged=result.judged,
        digest=result.digest,
        received_at=now,
        done_at=now,
        charged_s=charged.charged_s,
        client_s=charged.charged_s,
        spent_s=charged.spent_s,
    )


def _run_sample(session: Session, job: Job) -> tuple[Run, RunSample]:
    run_id, _, number = job.about.partition(" ")
    return session.get_one(Run, run_id), session.get_one(RunSample, (run_id, int(number)))


def _new_id() -> str:
    return str(uuid.uuid4())
