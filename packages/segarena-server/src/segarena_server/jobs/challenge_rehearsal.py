"""A rehearsal for the pages: a built-in segmenter takes part in a challenge, apart from all runs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from sqlalchemy.orm import Session

from segarena_server.challenges.challenge_repository import find_challenge
from segarena_server.challenges.description import read_challenge
from segarena_server.challenges.rehearsal import Rehearsal, SampleRehearsal
from segarena_server.challenges.score_visibility import Score, folder_scores
from segarena_server.db.orm_models import Job
from segarena_server.jobs.job_kind import JobKind
from segarena_server.jobs.worker import WorkerContext
from segarena_server.site import Site

REHEARSAL_SAMPLES = 2
"""That a rehearsal on a page is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalResult:
    """What came of a rehearsal.

    Attributes:
        places: sample by sample.
        scores: as the participant would see them.
    """

    places: list[SampleRehearsal]
    scores: list[Score]


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalTask:
    """The unit that holds a rehearsal.

    Attributes:
        challenge: its description.
        phase: its name.
        segmenter: as written for `segarena run -s`.
        samples: how many of the pool.
    """

    challenge: str
    phase: str
    segmenter: str
    samples: int

    def do(self, bench: WorkerContext, /) -> RehearsalResult:
        """Hold it; nothing is kept but what is returned."""

        @contextmanager
        def watch(done: int, of: int) -> Generator[None]:
            with bench.within(f"sample {done + 1} of {of}"):
                yield

        challenge = read_challenge(self.challenge)
        rehearsal = Rehearsal(challenge, self.phase, self.segmenter)
        wanted = rehearsal.evaluator.samples(self.phase)[: self.samples]
        with tempfile.TemporaryDirectory(prefix="segarena-rehearsal-") as folder:
            run, places = rehearsal.hold(wanted, Path(folder) / "run", watch)
            return RehearsalResult(
                places=places, scores=folder_scores(run.path, challenge.phase(self.phase))
            )


class RehearseChallenge(JobKind):
    """The kind; each job is about the slug of a challenge."""

    name = "rehearse"
    is_long = True

    def unit(self, session: Session, site: Site, job: Job) -> RehearsalTask:
        """Return what holds it."""
        told = json.loads(job.told)
        description = find_challenge(session, job.about).description
        return RehearsalTask(
            challenge=description,
            phase=told["phase"],
            segmenter=told["segmenter"],
            samples=REHEARSAL_SAMPLES,
        )

    def write(self, session: Session, site: Site, job: Job, result: RehearsalResult) -> None:
        """Keep what the page shows."""
        job.said = json.dumps(
            {
                "places": list(map(_told, result.places)),
                "scores": [asdict(one) for one in result.scores],
            }
        )


def _told(place: SampleRehearsal) -> dict[str, object]:
    peaks = [leak.peak for leak in place.leaks.values()]
    last = {judged.number: judged for judged in place.judged}
    return {
        "sample": place.sample,
        "turns": place.turns,
        "dialogues": len(last),
        "failures": sorted({judged.failure for judged in last.values() if judged.failure}),
        "sample_bytes": place.sample_bytes,
        "bytes_down": place.bytes_down,
        "bytes_up": place.bytes_up,
        "seconds": place.seconds,
        "blind": sum(peaks) / len(peaks) if peaks else None,
    }
