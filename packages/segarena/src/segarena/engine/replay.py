"""Asking a segmenter again what it was asked before: the same prompts, round by round, in other batches or elsewhere.

Segmenters keep nothing between calls, so whatever stands around a question must not change its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from segarena.arrays.rle import decode_rle
from segarena.engine.lockstep import BatchOrder, RunCast, open_sessions, run_sample
from segarena.engine.plan import Plan
from segarena.engine.rows import Rows
from segarena.engine.sample_job import time_limit_of
from segarena.engine.session import Session
from segarena.engine.time_limit import TimeLimit
from segarena.prompts import Prompt
from segarena.records.configuration import Agreement
from segarena.records.row_types import MaskRow, RoundRecord
from segarena.roles import Turn, User
from segarena.samples import Sample

RoundPrompts: TypeAlias = "tuple[Prompt, ...] | None"
"""The prompts of a round; None where only the user can give them again, as masks and examples, which no record has."""

ReplayKey: TypeAlias = tuple[str, str, int]
"""Target, user, repeat: a dialogue about a sample."""

AnswerKey: TypeAlias = tuple[str, str, str, int, int]
"""Sample, target, user, repeat, round."""

Answer: TypeAlias = "list[KeptMask] | str"
"""The mask of each object; or why there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """Dialogues about one sample that are to be held again, each as far as its prompts go."""

    sample: str
    rounds: Mapping[ReplayKey, Sequence[RoundPrompts]]
    batches: BatchOrder = "together"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayJob:
    """The job of holding dialogues again with a segmenter that is built anew in each process."""

    plan: Plan

    def open(self) -> Callable[[ReplayRequest], dict[AnswerKey, Answer]]:
        """Build the cast."""
        return partial(replay_dialogues, replay_cast(self.plan), time_limit_of(self.plan))


def replay_cast(plan: Plan) -> RunCast:
    """Return who takes part when a plan's dialogues are held again: nothing is measured, timed or read from a cache."""
    cast = replace(plan, cache=None).cast()
    rules = cast.rules
    every = tuple(range(1, rules.rounds + 1))
    return replace(
        cast, rules=replace(rules, metrics=(), stop_at=None, budget=None, keep_rounds=every)
    )


def replay_dialogues(
    cast: RunCast, limit: TimeLimit, question: ReplayRequest
) -> dict[AnswerKey, Answer]:
    """Hold dialogues again; return the answer to each of their rounds, or why it is missing."""

    def opening(cast: RunCast, sample: Sample) -> list[Session]:
        return [
            _replayed(each, given)
            for each in open_sessions(cast, sample)
            if (given := rounds_of(each))
        ]

    def rounds_of(session: Session) -> Sequence[RoundPrompts]:
        return question.rounds.get((session.target.id, session.user_name, session.repeat), ())

    return answers_in(
        run_sample(cast, question.sample, limit, opening=opening, batches=question.batches)
    )


def answers_in(rows: Rows) -> dict[AnswerKey, Answer]:
    """Return the answers that rows hold."""
    found: dict[AnswerKey, Answer] = {}
    for mask in rows.masks:
        same = found.setdefault(key_of(mask), [])
        if isinstance(same, list):
            same.append(mask)
    found.update((key_of(row), row.failure) for row in rows.records if row.failure is not None)
    return found


def key_of(row: MaskRow | RoundRecord) -> AnswerKey:
    """Return which answer a row is about."""
    return (row.sample, row.target, row.user, row.repeat, row.round)


def agreement(
    before: Mapping[AnswerKey, Answer], again: Iterable[Mapping[AnswerKey, Answer]]
) -> Agreement:
    """Hold answers against those that were given again, once or several times."""
    worst: dict[AnswerKey, tuple[float, str]] = dict.fromkeys(before, (1.0, ""))
    for answers in again:
        for key, first in before.items():
            second = answers.get(key, "no answer: a round before it failed")
            why = second if isinstance(second, str) else ""
            worst[key] = min(
                worst[key], (_iou(first, second), f"{name_of(key)}{why and ': '}{why}")
            )
    lowest, where = min(worst.values(), default=(1.0, ""))
    differed = sum(iou < 1 for iou, _ in worst.values())
    return Agreement(
        asked=len(before), differed=differed, worst_iou=lowest, worst=where if differed else ""
    )


def name_of(key: AnswerKey) -> str:
    """Return what people call an answer."""
    sample, target, user, repeat, round_ = key
    return f"sample {sample}, target {target}, user {user}, {f'repeat {repeat}, ' if repeat else ''}round {round_}"


class _Again:
    """A user who gives the prompts that were given before, then nothing more."""

    def __init__(self, user: User, given: Sequence[RoundPrompts]) -> None:
        self._user = user
        self._given = given

    def next(self, turn: Turn) -> Sequence[Prompt] | None:
        if turn.round > len(self._given):
            return None
        prompts = self._given[turn.round - 1]
        return self._user.next(turn) if prompts is None else prompts


def _replayed(session: Session, given: Sequence[RoundPrompts]) -> Session:
    session.user = _Again(session.user, given)
    session.abilities = replace(session.abilities, shared=None)  # there is nothing to prepare for
    return session


def _iou(first: Answer, second: Answer) -> float:
    """Return the lowest IoU of an object in two answers; 1 only where they are equal, 0 where one is missing."""
    if isinstance(first, str) or isinstance(second, str) or len(first) != len(second):
        return 0.0
    return min((_iou_of_object(*pair) for pair in zip(first, second, strict=True)), default=1.0)


def _iou_of_object(first: MaskRow, second: MaskRow) -> float:
    if (first.rle, first.shape) == (second.rle, second.shape):
        return 1.0
    one, two = (decode_rle(mask.rle, mask.shape) for mask in (first, second))
    return float(np.count_nonzero(one & two) / np.count_nonzero(one | two))
