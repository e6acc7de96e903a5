"""Sessions of the published package as runs of ours: their samples, and the turns about each sample.

The key of a session, which its program makes, names the run, so that a repeated request is about the same run. A sample
of the package is a dialogue here: a sequence with the scribbles of one person. Programs of other participants address
samples by keys; these look for the frames on their own disk, so that sequences have their names.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fastapi import Request
from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.protocol.replies import DialogueReply, unpack_reply
from segarena.protocol.sample_frames import packed_sample_shape
from segarena.protocol.turns import read_turn_header
from segarena.samples import Shape
from segarena.systems.videos.scribbles.files import Scribbles
from segarena.systems.videos.scribbles.prompt_conversion import scribbles_from_prompts
from segarena_server.auth.permissions import site_of, visitor_of
from segarena_server.challenges.challenge_repository import pool_of
from segarena_server.davis.rules import DavisPhase
from segarena_server.db.orm_models import Challenge, Run, RunSample, Turn
from segarena_server.http import http_errors
from segarena_server.runs.run_repository import RunRequest, create_run, own_run, run_samples
from segarena_server.storage.compression import decompress_body
from segarena_server.storage.content_store import ContentStore
from segarena_server.turns.turn_repository import WITHOUT_BODIES

_SESSION_NAMESPACE = uuid.UUID("6f3c1f6e-7c39-4d0f-9a4e-1a2f0f4f7f11")
_SHORTEST_KEY = 16
_LONGEST_KEY = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class DavisSample:
    """A sample of the package: one dialogue about a sample of the run.

    Attributes:
        place: the sample of the run.
        number: of the dialogue.
        scribble_idx: which person's scribbles, from 1.
        objects: their number.
    """

    place: RunSample
    number: int
    scribble_idx: int
    objects: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleTurns:
    """The turns about a sample of the package.

    Attributes:
        turns: the request for the first scribbles, then one turn for each interaction.
        next: the number of the next turn about its sequence.
    """

    turns: Sequence[Turn]
    next: int

    @property
    def is_over(self) -> bool:
        """Whether the dialogue is over."""
        if not self.turns:
            return False
        statuses = json.loads(self.turns[-1].judged or "[]")
        return any(status["is_over"] for status in statuses)


def run_id_of(request: Request) -> str:
    """Return the id of the run that a session's key names; the same key of another person names another run.

    Raises:
        Refusal: the request has no valid key.
    """
    key = request.headers.get("session-key", "")
    if not _SHORTEST_KEY <= len(key) <= _LONGEST_KEY or not key.isalnum():
        raise http_errors.no_token()
    return str(uuid.uuid5(_SESSION_NAMESPACE, f"{visitor_of(request).person_id}:{key}"))


def begin_session_run(session: Session, request: Request, davis_phase: DavisPhase) -> Run:
    """Return the run of a session, which is begun unless it was before."""
    run_id = run_id_of(request)
    asked = RunRequest(id=run_id, name=f"session {run_id[:8]}", segmenter="", note="")
    person_id = visitor_of(request).person_id or 0
    now = site_of(request).now()
    return create_run(session, davis_phase.challenge, davis_phase.phase, person_id, asked, now)


def find_session_run(session: Session, request: Request, davis_phase: DavisPhase) -> Run:
    """Return the run of a session.

    Raises:
        Refusal: it was not begun, or belongs to another phase.
    """
    run = own_run(session, run_id_of(request), visitor_of(request).person_id)
    if (run.challenge_id, run.phase) != (davis_phase.challenge.id, davis_phase.phase.name):
        raise http_errors.unknown()
    return run


def davis_samples(session: Session, run: Run) -> list[DavisSample]:
    """Return all samples of a run as the package counts them, in order."""
    pool = pool_of(session, session.get_one(Challenge, run.challenge_id), run.pool)
    samples: list[DavisSample] = []
    for place in run_samples(session, run.id):
        for number, dialogue in enumerate(json.loads(pool[place.sample].dialogues)):
            samples.append(
                DavisSample(
                    place=place,
                    number=number,
                    scribble_idx=dialogue["repeat"] + 1,
                    objects=dialogue["objects"],
                )
            )
    return samples


def find_davis_sample(session: Session, run: Run, sequence: str, scribble_idx: int) -> DavisSample:
    """Return a sample of a run by its sequence and scribbles.

    Raises:
        Refusal: the run does not contain it.
    """
    for sample in davis_samples(session, run):
        if sample.place.sample == sequence and sample.scribble_idx == scribble_idx:
            return sample
    raise http_errors.invalid("the session is not about this sequence with these scribbles")


def turns_about(session: Session, sample: DavisSample) -> SampleTurns:
    """Return the turns about a sample, without those that were refused."""
    place = sample.place
    of_sequence = select(Turn).where(
        Turn.run_id == place.run_id, Turn.place == place.number, Turn.state != "refused"
    )
    ordered = of_sequence.order_by(Turn.number).options(*WITHOUT_BODIES)
    turns = list(session.scalars(ordered))
    own = [turn for turn in turns if _dialogue_of(turn) == sample.number]
    return SampleTurns(turns=own, next=len(turns))


def reply_about(sample: DavisSample, reply: bytes, shape: Shape) -> DialogueReply:
    """Return the part of a reply about the dialogue of a sample."""
    replies = unpack_reply(reply, shape).dialogues
    return next(reply for reply in replies if reply.dialogue == sample.number)


def next_scribbles(
    davis_phase: DavisPhase, sample: DavisSample, reply: DialogueReply | None, shape: Shape
) -> Scribbles:
    """Return the scribbles for the next interaction; empty ones when the dialogue is over."""
    prompts: Sequence[Any] = ()
    if reply is not None and reply.rounds and not reply.over:
        prompts = reply.rounds[-1]
    fractions = "size" if davis_phase.rules.protocol == "published" else "last-pixel"
    return scribbles_from_prompts(prompts, shape, sample.place.sample, fractions=fractions)


@lru_cache(maxsize=4096)
def stored_sample_shape(samples: ContentStore, sha256: str) -> Shape:
    """Return the shape of a stored sample by the hash of its content, which is read only once."""
    return packed_sample_shape(samples.read(sha256))


def _dialogue_of(turn: Turn) -> int:
    """Return the dialogue of a turn; turns of the package are about one dialogue each."""
    if turn.judged:
        return int(json.loads(turn.judged)[0]["number"])
    head = read_turn_header(decompress_body(turn.request))
    return head.open[0] if head.open else int(head.answers[0]["dialogue"])
