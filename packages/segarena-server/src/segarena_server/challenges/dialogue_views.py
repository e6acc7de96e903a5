"""What can be looked at of a place of a run: every round of its dialogues, with prompts and answers over the sample.

There are two ways, and they share no source. As it was judged: the dialogues are held again with the turns that came,
truth and values included; for the organiser. As it was heard: from what was sent to the participant and what they sent
alone; nothing else is opened, so nothing else can be shown.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import msgspec
import numpy as np

from segarena.dialogue import Lift
from segarena.engine.round_recorder import DialogueKey, RecordedDialogue
from segarena.engine.rows import Rows
from segarena.errors import SampleInvalid
from segarena.protocol.participant_dialogue import ParticipantDialogue
from segarena.protocol.replies import unpack_reply
from segarena.protocol.sample_frames import unpack_sample
from segarena.protocol.turns import unpack_turn
from segarena.reports.round_table import DialogueId
from segarena.roles import Finding
from segarena.samples import ImageSample, Mask, Sample, Support, Target
from segarena_server.challenges.description import ChallengeDescription
from segarena_server.challenges.dialogue_rendering import RenderedSample, render_dialogues
from segarena_server.challenges.evaluation_request import EvaluationRequest
from segarena_server.challenges.evaluator import Evaluator, ReplayedSample
from segarena_server.challenges.run_plan import participant_plan

ANONYMOUS_SAMPLE = "sample"
"""What a participant's sample is called where it needs a name."""

_Dialogues: TypeAlias = Mapping[int, DialogueId]


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueInfo:
    """A dialogue as its participant was told of it."""

    target: str
    user: str
    repeat: int
    objects: int
    lift: dict[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeLog:
    """What went to and fro about a place.

    Attributes:
        challenge, phase: the rules.
        sample: as the participant got it.
        dialogues: as they were told of them.
        turns: what they sent and what was sent back, in order.
    """

    challenge: ChallengeDescription
    phase: str
    sample: bytes = field(repr=False)
    dialogues: tuple[RecordedDialogue, ...]
    turns: tuple[tuple[bytes, bytes], ...] = field(repr=False)


def organiser_view(
    evaluator: Evaluator,
    job: EvaluationRequest,
    numbers: Collection[int],
    *,
    decimals: int | None = None,
) -> RenderedSample:
    """Return dialogues of a place with truth and values.

    Args:
        evaluator: of the challenge.
        job: the place with all its turns.
        numbers: of the dialogues that are wanted.
        decimals: to which values are rounded; None as they are.

    Raises:
        SegarenaError: the sample cannot be used, or the turns cannot be taken again.
    """
    held = evaluator.replay(job)
    wanted = {number: key for number, key in held.dialogues.items() if number in numbers}
    held = replace(held, dialogues=wanted, rows=_about(held.rows, wanted, decimals))
    return RenderedSample(dialogues=render_dialogues(held, has_truth=True), has_truth=True)


def participant_view(exchanged: ExchangeLog, numbers: Collection[int]) -> RenderedSample:
    """Return dialogues of a place as their participant knows them.

    Raises:
        InvalidInput: what came is damaged.
        PluginError: the benchmark cannot be built.
    """
    plan = participant_plan(exchanged.challenge, exchanged.challenge.phase(exchanged.phase))
    every = tuple(range(1, plan.benchmark.rounds + 1))
    config = replace(plan.describe(_OneSample()), keep_rounds=every)
    sample = unpack_sample(exchanged.sample, ANONYMOUS_SAMPLE)
    heard, supports = _heard(exchanged, sample, every)
    dialogues = {
        number: (ANONYMOUS_SAMPLE, told.target, told.user, told.repeat)
        for number, told in enumerate(exchanged.dialogues)
        if number in numbers
    }
    rows = Rows()
    for number in dialogues:
        rows.extend(heard[number].heard_rows())
    held = ReplayedSample(
        config=config,
        sample=_with_hidden(sample, exchanged.dialogues, supports),
        rows=rows,
        dialogues=dialogues,
    )
    return RenderedSample(dialogues=render_dialogues(held, has_truth=False), has_truth=False)


class _OneSample:
    """Stands for a dataset where there is none: the rules are described without any."""

    name = "challenge"
    sample_ids = (ANONYMOUS_SAMPLE,)
    fingerprint = ""

    def load(self, sample_id: str) -> Sample:
        """Raise: there is none."""
        raise SampleInvalid(f"{sample_id}: only what was sent of it is known here")

    def check(self) -> Sequence[Finding]:
        """Return nothing."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Hidden(Target):
    """A target of which nothing is known but how many objects it has."""

    count: int = 1

    @property
    def objects(self) -> int:
        return self.count


def _with_hidden(
    sample: Sample, told: Sequence[RecordedDialogue], supports: Mapping[str, Sequence[Support]]
) -> Sample:
    nothing: Mask = np.zeros(sample.shape, dtype=np.bool_)
    targets = {one.target: _Hidden(id=one.target, mask=nothing, count=one.objects) for one in told}
    hidden = replace(sample, targets=tuple(targets.values()))
    return replace(hidden, supports=supports) if isinstance(hidden, ImageSample) else hidden


def _heard(
    exchanged: ExchangeLog, sample: Sample, keep_rounds: tuple[int, ...]
) -> tuple[list[ParticipantDialogue], dict[str, tuple[Support, ...]]]:
    """Return the dialogues as they were heard, and the examples that were shown about each target."""
    name = exchanged.challenge.benchmark
    told = exchanged.dialogues
    heard = [
        ParticipantDialogue(
            _about_told(name, one), sample.shape, lift=_lift(one), keep_rounds=keep_rounds
        )
        for one in told
    ]
    supports: dict[str, tuple[Support, ...]] = {}
    waiting: dict[int, int] = {}
    for sent, came in exchanged.turns:
        answers = {
            answer.dialogue: answer
            for answer in unpack_turn(sent, shape=sample.shape, objects=waiting).answers
        }
        for asked in unpack_reply(came, sample.shape).dialogues:
            dialogue = heard[asked.dialogue]
            dialogue.hear(asked, answers.get(asked.dialogue))
            shown = [one for prompts in asked.rounds for one in prompts if isinstance(one, Support)]
            target = told[asked.dialogue].target
            supports[target] = (*supports.get(target, ()), *shown)
            waiting.pop(asked.dialogue, None)
            if not asked.over:
                waiting[asked.dialogue] = asked.objects
    return heard, supports


def _about_told(benchmark: str, told: RecordedDialogue) -> RecordedDialogue:
    key = DialogueKey(
        sample=ANONYMOUS_SAMPLE, target=told.target, user=told.user, repeat=told.repeat
    )
    return RecordedDialogue(
        benchmark=benchmark, dataset=_OneSample.name, key=key, objects=told.objects
    )


def _lift(told: RecordedDialogue) -> Lift | None:
    return None if told.lift is None else msgspec.convert(told.lift, Lift)


def _about(rows: Rows, dialogues: _Dialogues, decimals: int | None) -> Rows:
    """Return the rows of some dialogues, with values rounded."""
    wanted = set(dialogues.values())

    def kept(row: Any) -> bool:
        return (row.sample, row.target, row.user, row.repeat) in wanted

    records = [row for row in rows.records if kept(row)]
    if decimals is not None:
        records = [
            msgspec.structs.replace(
                row, values={name: _rounded(each, decimals) for name, each in row.values.items()}
            )
            for row in records
        ]
    return Rows(
        records=records,
        timings=[row for row in rows.timings if kept(row)],
        masks=[row for row in rows.masks if kept(row)],
        parts=[row for row in rows.parts if kept(row)],
    )


def _rounded(value: float | None, decimals: int) -> float | None:
    return None if value is None else round(value, decimals)
