"""Sessions of the published package as runs: their samples, and the turns about each sample.

The client generates a session key, from which the run id is derived, so that a repeated request
refers to the same run. A sample of the package corresponds to one dialogue here: a sequence with
the scribbles of one person. Other clients address samples by opaque keys; the package looks for the
frames on its own disk, so it receives the names of the sequences.
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
from segarena.protocol.sample_serialization import packed_sample_shape
from segarena.protocol.turns import read_turn_header
from segarena.samples import Shape
from segarena.systems.videos.scribbles.files import no_scribbles
from segarena.systems.videos.scribbles.prompt_conversion import (
    fractions_of_round,
    scribbles_from_prompts,
)
from segarena_server import http_errors
from segarena_server.auth.permissions import site_of, visitor_of
from segarena_server.challenges.challenge_repository import pool_of
from segarena_server.davis.challenge_compatibility import DavisPhase
from segarena_server.db.orm_models import Challenge, Run, RunSample, Turn
from segarena_server.runs.run_repository import RunRequest, create_run, own_run, run_samples
from segarena_server.runs.turn_repository import WITHOUT_BODIES
from segarena_server.storage.compression import decompress_body
from segarena_server.storage.content_store import ContentStore

# Any constant would do, but changing it would detach all existing sessions from their runs.
_SESSION_NAMESPACE = uuid.UUID("6f3c1f6e-7c39-4d0f-9a4e-1a2f0f4f7f11")
_SHORTEST_KEY = 16
_LONGEST_KEY = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class DavisSample:
    """A sample in the sense of the package: one dialogue about a sample of the run.

    Attributes:
        place: the sample of the run.
        number: index of the dialogue.
        scribble_idx: index of the person whose scribbles start the dialogue, from 1.
        objects: number of objects.
    """

    place: RunSample
    number: int
    scribble_idx: int
    objects: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleTurns:
    """The turns about one sample of the package.

    Attributes:
        turns: the request for the first scribbles, then one turn for each interaction.
        next: number of the next turn about the sequence.
    """

    turns: Sequence[Turn]
    next: int

    @property
    def is_over(self) -> bool:
        """Whether the dialogue is over."""
        if not self.turns:
            return False
        # Turns are evaluated later, so the last one may not have a status yet.
        return any(status.is_over for status in self.turns[-1].judged)


def run_id_of(request: Request) -> str:
    """Derive the run id from the session key; the same key of another person yields another run.

    Raises:
        Refusal: the request has no valid session key.
    """
    key = request.headers.get("session-key", "")
    if not _SHORTEST_KEY <= len(key) <= _LONGEST_KEY or not key.isalnum():
        raise http_errors.no_token()
    return str(uuid.uuid5(_SESSION_NAMESPACE, f"{visitor_of(request).person_id}:{key}"))


def begin_session_run(
    session: Session,
    request: Request,
    davis_phase: DavisPhase,
) -> Run:
    """Return the run of a session; create it on the first call."""
    run_id = run_id_of(request)
    asked = RunRequest(
        id=run_id,
        name=f"session {run_id[:8]}",
        segmenter="",
        note="",
    )
    person_id = visitor_of(request).person_id or 0
    now = site_of(request).now()
    return create_run(session, davis_phase.challenge, davis_phase.phase, person_id, asked, now)


def find_session_run(
    session: Session,
    request: Request,
    davis_phase: DavisPhase,
) -> Run:
    """Return the run of a session.

    Raises:
        Refusal: the run does not exist, or belongs to another phase.
    """
    run = own_run(session, run_id_of(request), visitor_of(request).person_id)
    if (run.challenge_id, run.phase) != (davis_phase.challenge.id, davis_phase.phase.name):
        raise http_errors.unknown()
    return run


def davis_samples(session: Session, run: Run) -> list[DavisSample]:
    """Return all samples of a run as the package counts them, in order of the run's samples and dialogues."""
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


def find_davis_sample(
    session: Session,
    run: Run,
    sequence: str,
    scribble_idx: int,
) -> DavisSample:
    """Return the sample of a run with this sequence and these scribbles.

    Raises:
        Refusal: the run has no such sample.
    """
    for sample in davis_samples(session, run):
        if sample.place.sample == sequence and sample.scribble_idx == scribble_idx:
            return sample
    raise http_errors.invalid("the session has no sample with this sequence and these scribbles")


def turns_about(session: Session, sample: DavisSample) -> SampleTurns:
    """Return the turns about a sample, without refused ones."""
    place = sample.place
    of_sequence = select(Turn).where(
        Turn.run_id == place.run_id, Turn.place == place.number, Turn.state != "refused"
    )
    ordered = of_sequence.order_by(Turn.number).options(*WITHOUT_BODIES)
    turns = list(session.scalars(ordered))
    own = [turn for turn in turns if _dialogue_of(turn) == sample.number]
    return SampleTurns(turns=own, next=len(turns))


def reply_about(
    sample: DavisSample,
    reply: bytes,
    shape: Shape,
) -> DialogueReply:
    """Return the part of a reply that belongs to the dialogue of a sample."""
    replies = unpack_reply(reply, shape)
    return next(reply for reply in replies if reply.dialogue == sample.number)


def next_scribbles(
    davis_phase: DavisPhase,
    sample: DavisSample,
    reply: DialogueReply,
    shape: Shape,
    interactions: int,
) -> dict[str, Any]:
    """Return the scribbles of a reply in the format of a scribble file; no scribbles once the dialogue is over.

    Args:
        davis_phase: the phase of the run.
        sample: the sample of the package.
        reply: the reply to the turn with the last of these interactions, or to the turn that opened the dialogue.
        shape: (T, H, W) of the video.
        interactions: number of answers up to that turn.
    """
    sequence = sample.place.sample
    if reply.over or not reply.rounds:
        return no_scribbles(sequence, shape[0])
    # Rounds without prompts need no interaction, so this is a lower bound, exact for the first
    # round.
    round_number = interactions + len(reply.rounds)
    fractions = fractions_of_round(round_number, davis_phase.rules.protocol)
    return scribbles_from_prompts(reply.rounds[-1], shape, sequence, fractions=fractions)


@lru_cache(maxsize=4096)
def stored_sample_shape(samples: ContentStore, sha256: str) -> Shape:
    """Return the shape of a stored sample by its content hash; the file is read only once."""
    return packed_sample_shape(samples.read(sha256))


def _dialogue_of(turn: Turn) -> int:
    """Return the dialogue of a turn; each turn of the package is about one dialogue."""
    if turn.judged:
        return turn.judged[0].number
    head = read_turn_header(decompress_body(turn.request))
    return head.open[0] if head.open else head.answers[0].dialogue
