"""Replay of recorded dialogues: the same prompts, round by round, in other batches or another process.

Segmenters keep no state between calls, so their answers must not depend on how requests are batched
or ordered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from segarena.arrays.rle import decode_rle
from segarena.engine.lockstep_dialogues import BatchOrder, RunCast, open_sessions, run_sample
from segarena.engine.plan import Plan, time_limit_of
from segarena.engine.rows import Rows
from segarena.engine.session import Session
from segarena.engine.time_limit import TimeLimit
from segarena.prompts import Prompt
from segarena.records.configuration import Agreement
from segarena.records.row_types import MaskRow, RoundRecord
from segarena.roles import Turn, User
from segarena.samples import Sample

RoundPrompts: TypeAlias = "tuple[Prompt, ...] | None"
"""Prompts of a round; None if the user must create them again, because masks and examples are not recorded."""

ReplayKey: TypeAlias = tuple[str, str, int]
"""(target, user, repeat) of a dialogue about a known sample."""

AnswerKey: TypeAlias = tuple[str, str, str, int, int]
"""Key of an answer: (sample, target, user, repeat, round)."""

Answer: TypeAlias = list[MaskRow] | str
"""The mask of each object, or the reason why there is no answer."""

_MISSING = "no answer: a round before it failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """Recorded dialogues about one sample; each is replayed up to its last recorded prompts."""

    sample: str
    rounds: Mapping[ReplayKey, Sequence[RoundPrompts]]
    batches: BatchOrder = "together"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayJob:
    """Job that replays dialogues; each process builds its own segmenter."""

    plan: Plan

    def open(self) -> Callable[[ReplayRequest], dict[AnswerKey, Answer]]:
        """Build the plug-ins, and return the function that replays one request."""
        return partial(replay_dialogues, replay_cast(self.plan), time_limit_of(self.plan))


def replay_cast(plan: Plan) -> RunCast:
    """Return the plug-ins for replays of a plan, without metrics, time budget, early stop or cache."""
    cast = replace(plan, cache=None).cast()
    rules = cast.rules
    all_rounds = tuple(range(1, rules.rounds + 1))
    rules = replace(
        rules,
        metrics=(),
        stop_at=None,
        budget=None,
        keep_rounds=all_rounds,
    )
    return replace(cast, rules=rules)


def replay_dialogues(
    cast: RunCast,
    limit: TimeLimit,
    request: ReplayRequest,
) -> dict[AnswerKey, Answer]:
    """Replay dialogues; return the answer to each of their rounds, or the reason for its absence."""
    return answers_in(replay_rows(cast, limit, request))


def replay_rows(
    cast: RunCast,
    limit: TimeLimit,
    request: ReplayRequest,
) -> Rows:
    """Replay dialogues; return their rows of all tables."""

    def open_replayed(cast: RunCast, sample: Sample) -> list[Session]:
        replayed: list[Session] = []
        for session in open_sessions(cast, sample):
            key = (session.target.id, session.user_name, session.repeat)
            recorded = request.rounds.get(key, ())
            if recorded:
                replayed.append(_replay(session, recorded))
        return replayed

    return run_sample(cast, request.sample, limit, opening=open_replayed, batches=request.batches)


def answers_in(rows: Rows) -> dict[AnswerKey, Answer]:
    """Return the answers and failures that rows contain, by key."""
    found: dict[AnswerKey, Answer] = {}
    for mask in rows.masks:
        masks = found.setdefault(key_of(mask), [])
        if isinstance(masks, list):
            masks.append(mask)
    for record in rows.records:
        if record.failure is not None:
            found[key_of(record)] = record.failure
    return found


def key_of(row: MaskRow | RoundRecord) -> AnswerKey:
    """Return the key of the answer in a row."""
    return (row.sample, row.target, row.user, row.repeat, row.round)


def agreement(
    before: Mapping[AnswerKey, Answer], again: Iterable[Mapping[AnswerKey, Answer]]
) -> Agreement:
    """Compare recorded answers with one or several replays of them.

    Ties in IoU are broken by the name of the answer, so that equal comparisons give equal reports.
    """
    worst: dict[AnswerKey, tuple[float, str]] = dict.fromkeys(before, (1.0, ""))
    for answers in again:
        for key, recorded in before.items():
            replayed = answers.get(key, _MISSING)
            description = name_of(key)
            if isinstance(replayed, str) and replayed:
                description = f"{description}: {replayed}"
            worst[key] = min(worst[key], (iou_of_answers(recorded, replayed), description))
    worst_iou, description = min(worst.values(), default=(1.0, ""))
    differed = sum(iou < 1 for iou, _ in worst.values())
    return Agreement(
        asked=len(before),
        differed=differed,
        worst_iou=worst_iou,
        worst=description if differed else "",
    )


def name_of(key: AnswerKey) -> str:
    """Return the name of an answer for messages."""
    sample, target, user, repeat, round_ = key
    # Most runs have no repeats, so the first dialogue is named without an index.
    repetition = f"repeat {repeat}, " if repeat else ""
    return f"sample {sample}, target {target}, user {user}, {repetition}round {round_}"


class _RecordedUser:
    """A user that repeats recorded prompts, and then has nothing more to correct.

    Rounds without recorded prompts are requested from the original user.
    """

    def __init__(self, user: User, recorded: Sequence[RoundPrompts]) -> None:
        self._user = user
        self._recorded = recorded

    def next(self, turn: Turn) -> Sequence[Prompt] | None:
        if turn.round > len(self._recorded):
            return None
        prompts = self._recorded[turn.round - 1]
        if prompts is None:
            return self._user.next(turn)
        return prompts


def _replay(session: Session, recorded: Sequence[RoundPrompts]) -> Session:
    session.user = _RecordedUser(session.user, recorded)
    # Recorded prompts need no shared preparation.
    session.abilities = replace(session.abilities, shared=None)
    return session


def iou_of_answers(first: Answer, second: Answer) -> float:
    """Return the lowest IoU over the objects of two answers; 1 only if they are equal.

    The result is 0 if an answer is missing, or if the answers have different numbers of objects.
    """
    if isinstance(first, str) or isinstance(second, str) or len(first) != len(second):
        return 0.0
    pairs = zip(first, second, strict=True)
    return min((_iou_of_object(one, other) for one, other in pairs), default=1.0)


def _iou_of_object(first: MaskRow, second: MaskRow) -> float:
    if first.rle == second.rle and first.shape == second.shape:
        return 1.0
    one = decode_rle(first.rle, first.shape)
    other = decode_rle(second.rle, second.shape)
    intersection = np.count_nonzero(one & other)
    # The denominator is never 0: two empty masks have equal run lengths and return early.
    union = np.count_nonzero(one | other)
    return float(intersection / union)
