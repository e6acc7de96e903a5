"""Looking at what was sent, before it costs anything: all that is wrong with it is told at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy.orm import Session

from segarena.engine.sample_job import limit_of
from segarena.errors import InvalidInput, PluginInvalid, SegarenaError
from segarena_server.challenges.description import read_challenge
from segarena_server.challenges.run_plan import plan_of
from segarena_server.challenges.submissions import masks, programs, runs
from segarena_server.db.orm_models import Challenge, Job, Submission
from segarena_server.jobs.kind import Kind
from segarena_server.jobs.submission_cache import Content, MaskPlace, Unpacked, at_hand
from segarena_server.jobs.worker_processes import Bench
from segarena_server.runs import submissions
from segarena_server.site import Site


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Say what is wrong with something.

    Attributes:
        content: what.
        challenge: its description.
        phase: which phase.
        samples: that a run is about, where they are known before it begins.
        places: of the run that masks are for.
    """

    content: Content
    challenge: str
    phase: str
    samples: tuple[str, ...] = ()
    places: tuple[MaskPlace, ...] = ()

    def do(self, bench: Bench, /) -> tuple[str, ...]:
        """Return what is wrong, in lines.

        Raises:
            PluginInvalid: programs cannot be confined here.
        """
        try:
            unpacked = at_hand().unpacked(self.content)
        except InvalidInput as error:
            return (str(error),)
        try:
            return tuple(self._faults(bench, unpacked))[: masks.MOST_FAULTS]
        finally:
            at_hand().forget()

    def _faults(self, bench: Bench, unpacked: Unpacked) -> Iterator[str]:
        challenge = read_challenge(self.challenge)
        plan = plan_of(challenge, challenge.phase(self.phase))
        match self.content.kind:
            case "masks":
                yield from masks.faults_of(
                    unpacked.root, [place.expected() for place in self.places]
                )
            case "run":
                faults = runs.faults_of(unpacked.root, plan, self.samples)
                yield from faults or self._differences(bench, unpacked)
            case _:
                if why := self.content.sandbox.fault():
                    raise PluginInvalid(why)
                yield from programs.faults_of(unpacked.start, plan, limit_s=self.content.answer_s)

    def _differences(self, bench: Bench, unpacked: Unpacked) -> Iterator[str]:
        plan, cast = bench.evaluator(self.challenge).cast(self.phase)
        sent = runs.Sent(unpacked.root)
        limit = limit_of(plan)
        for name in self.samples:
            yield from sent.judge(name, cast, limit).faults


class LookAtSent(Kind):
    """The kind; each job is about the id of a submission."""

    name = submissions.LOOK
    is_long = True

    def unit(self, session: Session, site: Site, job: Job) -> Look | None:
        """Return what looks at it."""
        sent = session.get(Submission, job.about)
        if sent is None or sent.state != "waiting":
            return None
        challenge = session.get_one(Challenge, sent.challenge_id)
        return Look(
            content=submissions.content_of(site, sent),
            challenge=challenge.description,
            phase=sent.phase,
            samples=submissions.samples_of(session, challenge, sent),
            places=submissions.mask_places(session, site, sent) if sent.run_id else (),
        )

    def write(self, session: Session, site: Site, job: Job, result: tuple[str, ...]) -> None:
        """Refuse it, or have it judged."""
        sent = session.get_one(Submission, job.about)
        if sent.state != "waiting":
            return  # whose it was has deleted their account meanwhile
        if result:
            submissions.refuse(site, sent, result)
        else:
            submissions.take(session, site, sent)

    def fail(self, session: Session, site: Site, job: Job, error: SegarenaError) -> None:
        """It was not looked at, and costs nothing."""
        sent = session.get_one(Submission, job.about)
        sent.state = "dead"
        sent.failure = str(error)
        sent.done_at = site.now()
        sent.told = json.dumps(
            ["it could not be looked at, by a fault of this server; the organiser sees which"]
        )
