"""The unit that evaluates a turn. It stands apart from all that knows the tables: a participant waits for its process.

A process that is started anew, after an evaluation that hung, imports what is imported here.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from segarena.engine.store import files_of_rows
from segarena_server.challenges.evaluation_request import EvaluationRequest
from segarena_server.jobs.worker import WorkerContext
from segarena_server.storage.run_folders import RunFolders


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """What came of a turn.

    Attributes:
        reply: for the participant.
        given: see `StepDone.given`.
        judged: where its dialogues stand, as JSON.
        is_over: nothing more will be asked about this place.
        digest: see `StepDone.digest`.
    """

    reply: bytes
    given: bytes
    judged: str
    is_over: bool
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateTurn:
    """The unit that evaluates the last turn of a place.

    Attributes:
        challenge: its description.
        job: what `segarena_server.challenges` needs of it.
        runs: where its rows go when the place is over.
    """

    challenge: str
    job: EvaluationRequest
    runs: RunFolders

    def do(self, bench: WorkerContext, /) -> Evaluated:
        """Evaluate it."""
        evaluator = bench.evaluator(self.challenge)
        with bench.within("evaluating a turn"):
            done = evaluator.step(self.job)
        if done.rows is not None:
            run_id = self.job.run.id
            files = files_of_rows(done.rows)
            evaluator.open_folder(self.runs.path(run_id), self.job.run).write_files(
                self.job.place, files
            )
            self.runs.keep_place(run_id, self.job.place, files)
        judged = json.dumps([asdict(one) for one in done.judged])
        return Evaluated(
            reply=done.reply,
            given=done.given,
            judged=judged,
            is_over=done.is_over,
            digest=done.digest,
        )
