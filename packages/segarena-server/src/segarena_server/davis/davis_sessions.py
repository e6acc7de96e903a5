"""A session of the published package as a run of ours: its samples, and what was sent about each of them.

The session's key, which its program makes, names the run, so that asking again is about the same one. A sample there is
a dialogue here: a sequence with the scribbles of one person. Programs of other participants go by keys; these look for
their frames on their own disk, so the sequences have their names.
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
from segarena_server.runs.run_repository import RunRequest as AskedRun
from segarena_server.runs.run_repository import create_run, own_run, run_samples
from segarena_server.storage.compression import unpack
from segarena_server.storage.content_store import Storage
from segarena_server.turns.turn_repository import WITHOUT_BODIES

_SESSIONS = uuid.UUID("6f3c1f6e-7c39-4d0f-9a4e-1a2f0f4f7f11")
_SHORTEST_KEY = 16
_LONGEST_KEY = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class DavisSample:
    """A sample as these programs know it: a dialogue about a place of the run."""

    place: RunSample
    number: int
    scribble_idx: int
    objects: int


def run_id_of(request: Request) -> str:
    """Return the id of the run that a session's key names; another person's key of the same text is another run's.

    Raises:
        Refusal: there is no such key.
    """
    key = request.headers.get("session-key", "")
    if not _SHORTEST_KEY <= len(key) <= _LONGEST_KEY or not key.isalnum():
        raise http_errors.no_token()
    return str(uuid.uuid5(_SESSIONS, f"{visitor_of(request).person_id}:{key}"))


def begin_session_run(session: Session, request: Request, event: DavisPhase) -> Run:
    """Return the run of a session, begun if it was not."""
    run_id = run_id_of(request)
    site = site_of(request)
    asked = AskedRun(id=run_id, name=f"session {run_id[:8]}", segmenter="", note="")
    return create_run(
        session, event.challenge, event.phase, visitor_of(request).person_id or 0, asked, site.now()
    )


def find_session_run(session: Session, request: Request, event: DavisPhase) -> Run:
    """Return the run of a session.

    Raises:
        Refusal: it did not begin, or is about another phase.
    """
    run = own_run(session, run_id_of(request), visitor_of(request).person_id)
    if (run.challenge_id, run.phase) != (event.challenge.id, event.phase.name):
        raise http_errors.unknown()
    return run


def davis_samples(session: Session, run: Run) -> list[DavisSample]:
    """Return all samples of a run, in order."""
    pool = pool_of(session, session.get_one(Challenge, run.challenge_id), run.pool)
    return [
        DavisSample(
            place=place,
            number=number,
            scribble_idx=dialogue["repeat"] + 1,
            objects=dialogue["objects"],
        )
        for place in run_samples(session, run.id)
        for number, dialogue in enumerate(json.loads(pool[place.sample].dialogues))
    ]


def find_davis_sample(session: Session, run: Run, sequence: str, scribble_idx: int) -> DavisSample:
    """Return a sample of a run.

    Raises:
        Refusal: the run is not about it.
    """
    for told in davis_samples(session, run):
        if (told.place.sample, told.scribble_idx) == (sequence, scribble_idx):
            return told
    raise http_errors.invalid("the session is not about this sequence with these scribbles")


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleTurns:
    """What was sent about a sample.

    Attributes:
        turns: those about it: the one that asked for its first scribbles, then one for each interaction.
        next: the number that another turn about its sequence has.
    """

    turns: Sequence[Turn]
    next: int

    @property
    def is_over(self) -> bool:
        """Whether nothing will be asked about it any more."""
        judged = json.loads(self.turns[-1].judged or "[]") if self.turns else []
        return any(one["is_over"] for one in judged)


def turns_about(session: Session, told: DavisSample) -> SampleTurns:
    """Return what was sent about a sample, as far as it was taken."""
    place = told.place
    found = select(Turn).where(
        Turn.run_id == place.run_id, Turn.place == place.number, Turn.state != "refused"
    )
    turns = list(session.scalars(found.order_by(Turn.number).options(*WITHOUT_BODIES)))
    return SampleTurns(
        turns=[turn for turn in turns if _dialogue_of(turn) == told.number], next=len(turns)
    )


def reply_about(told: DavisSample, reply: bytes, shape: Shape) -> DialogueReply:
    """Return what a reply of ours says about a sample."""
    return next(
        asked for asked in unpack_reply(reply, shape).dialogues if asked.dialogue == told.number
    )


def next_scribbles(
    event: DavisPhase, told: DavisSample, asked: DialogueReply | None, shape: Shape
) -> Scribbles:
    """Return what a program draws on next; nothing is drawn any more when the sample is over."""
    prompts: Sequence[Any] = (
        () if asked is None or asked.over or not asked.rounds else asked.rounds[-1]
    )
    fractions = "size" if event.rules.protocol == "published" else "last-pixel"
    return scribbles_from_prompts(prompts, shape, told.place.sample, fractions=fractions)


@lru_cache(maxsize=4096)
def stored_sample_shape(samples: Storage, sha256: str) -> Shape:
    """Return the shape of the sample that is kept under this hash; its content is read once."""
    return packed_sample_shape(samples.read(sha256))


def _dialogue_of(turn: Turn) -> int:
    if turn.judged:
        return int(json.loads(turn.judged)[0]["number"])
    head = read_turn_header(unpack(turn.request))
    return head.open[0] if head.open else int(head.answers[0]["dialogue"])
