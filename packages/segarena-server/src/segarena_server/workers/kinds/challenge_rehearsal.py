"""The job behind the rehearsal page: a segmenter takes part in a challenge, separately from all runs."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from sqlalchemy.orm import Session

from segarena_server.challenges.challenge_repository import find_challenge
from segarena_server.challenges.description import read_challenge
from segarena_server.challenges.prompt_attacks import (
    ATTACKED_SAMPLES,
    AttackLeaks,
    measure_prompt_attacks,
)
from segarena_server.challenges.rehearsal import Rehearsal, SampleRehearsal
from segarena_server.challenges.score_visibility import Score, folder_scores
from segarena_server.db.orm_models import Job
from segarena_server.site import Site
from segarena_server.workers.job_runner import JobKind
from segarena_server.workers.worker import WorkerContext

REHEARSAL_SAMPLES = 2
"""Number of samples of a rehearsal on a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalResult:
    """The result of a rehearsal.

    Attributes:
        samples: one entry for each sample.
        scores: scores as the participant would see them.
        attacks: how much prompts reveal to each attacker that never looks at a sample; empty in a practice phase.
    """

    samples: list[SampleRehearsal]
    scores: list[Score]
    attacks: list[AttackLeaks]


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalTask:
    """The task of rehearsing a challenge.

    Attributes:
        challenge: description of the challenge as JSON.
        phase: name of the phase.
        segmenter: as in `segarena run -s`.
        samples: number of samples, from the start of the pool.
    """

    challenge: str
    phase: str
    segmenter: str
    samples: int

    def __call__(self, context: WorkerContext, /) -> RehearsalResult:
        """Rehearse in a temporary folder, which is deleted afterwards."""
        challenge = read_challenge(self.challenge)
        rehearsal = Rehearsal(challenge, self.phase, self.segmenter)
        pool = rehearsal.evaluator.samples(self.phase)
        names = pool[: self.samples]
        with tempfile.TemporaryDirectory(prefix="segarena-rehearsal-") as temporary:
            folder = Path(temporary) / "run"
            run, samples = rehearsal.rehearse(names, folder, context.sample_time_limit)
            scores = folder_scores(run.path, challenge.phase(self.phase))
        attacks: list[AttackLeaks] = []
        if challenge.phase(self.phase).kind == "test":
            attacks = measure_prompt_attacks(
                challenge, self.phase, pool[:ATTACKED_SAMPLES], context.sample_time_limit
            )
        return RehearsalResult(samples=samples, scores=scores, attacks=attacks)


class RehearseChallenge(JobKind):
    """Rehearses a challenge; `about` of each job is the challenge's slug."""

    name = "rehearse"
    is_long = True

    def task(
        self,
        session: Session,
        site: Site,
        job: Job,
    ) -> RehearsalTask:
        """Return the task."""
        fields = json.loads(job.told)
        return RehearsalTask(
            challenge=find_challenge(session, job.about).description,
            phase=fields["phase"],
            segmenter=fields["segmenter"],
            samples=REHEARSAL_SAMPLES,
        )

    def write(
        self,
        session: Session,
        site: Site,
        job: Job,
        result: RehearsalResult,
    ) -> None:
        """Store the data that the page shows."""
        samples = [_sample_summary(sample) for sample in result.samples]
        scores = [asdict(score) for score in result.scores]
        attacks = [asdict(attack) for attack in result.attacks]
        job.said = json.dumps({"places": samples, "scores": scores, "attacks": attacks})


def _sample_summary(rehearsed: SampleRehearsal) -> dict[str, object]:
    peaks = [leak.peak for leak in rehearsed.leaks.values()]
    last_status = {status.number: status for status in rehearsed.judged}
    failures = {status.failure for status in last_status.values() if status.failure}
    return {
        "sample": rehearsed.sample,
        "turns": rehearsed.turns,
        "dialogues": len(last_status),
        "failures": sorted(failures),
        "sample_bytes": rehearsed.sample_bytes,
        "bytes_down": rehearsed.bytes_down,
        "bytes_up": rehearsed.bytes_up,
        "seconds": rehearsed.seconds,
        "blind": sum(peaks) / len(peaks) if peaks else None,
    }
