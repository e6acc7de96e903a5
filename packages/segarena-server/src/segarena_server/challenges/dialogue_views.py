"""Views of the dialogues about a sample of a run, with the prompts and answers of every round.

There are two views with separate sources. The organiser's view replays the dialogues from all
turns, including truth and metrics. The participant's view reads only the messages exchanged with
the participant, so it cannot reveal anything else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np

from segarena.dialogue import Lift
from segarena.engine.round_recorder import DialogueKey, RecordedDialogue
from segarena.engine.rows import Rows
from segarena.errors import SampleInvalid
from segarena.protocol.participant_dialogue import ParticipantDialogue
from segarena.protocol.replies import unpack_reply
from segarena.protocol.sample_serialization import unpack_sample
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
"""Placeholder for the name of a sample in a participant's view."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicDialogue:
    """A dialogue as its participant received it; see `PackedSample.dialogues`."""

    target: str
    user: str
    repeat: int
    objects: int
    lift: dict[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeLog:
    """All messages exchanged about a sample of a run.

    Attributes:
        challenge: the description of the challenge.
        phase: name of the phase.
        sample: the sample as the participant received it.
        dialogues: the dialogues as described to the participant.
        turns: requests and responses, in order.
    """

    challenge: ChallengeDescription
    phase: str
    sample: bytes = field(repr=False)
    dialogues: tuple[PublicDialogue, ...]
    turns: tuple[tuple[bytes, bytes], ...] = field(repr=False)


def organiser_view(
    evaluator: Evaluator,
    request: EvaluationRequest,
    numbers: Collection[int],
    *,
    decimals: int | None = None,
) -> RenderedSample:
    """Return dialogues about a sample, with their ground truth and metrics.

    Args:
        evaluator: evaluator of the challenge.
        request: the sample with all its turns.
        numbers: indices of the dialogues.
        decimals: number of decimals of the metrics; None for exact values.

    Raises:
        SegarenaError: the sample is unusable, or the turns cannot be replayed.
    """
    replayed = evaluator.replay(request)
    keys = {number: key for number, key in replayed.dialogues.items() if number in numbers}
    rows = _rows_of(replayed.rows, set(keys.values()), decimals)
    selected = replace(replayed, dialogues=keys, rows=rows)
    return RenderedSample(dialogues=render_dialogues(selected, has_truth=True), has_truth=True)


def participant_view(log: ExchangeLog, numbers: Collection[int]) -> RenderedSample:
    """Return dialogues about a sample, with only the data that their participant knows.

    Raises:
        InvalidInput: the log is damaged.
        PluginError: the benchmark cannot be built.
    """
    plan = participant_plan(log.challenge, log.challenge.phase(log.phase))
    all_rounds = tuple(range(1, plan.benchmark.rounds + 1))
    config = replace(plan.describe(_NoDataset()), keep_rounds=all_rounds)
    sample = unpack_sample(log.sample, ANONYMOUS_SAMPLE)
    dialogues, supports = _participant_dialogues(log, sample, all_rounds)
    keys: dict[int, DialogueId] = {}
    rows = Rows()
    for number, described in enumerate(log.dialogues):
        if number in numbers:
            keys[number] = (ANONYMOUS_SAMPLE, described.target, described.user, described.repeat)
            rows.extend(dialogues[number].rows())
    replayed = ReplayedSample(
        config=config,
        sample=_with_hidden_targets(sample, log.dialogues, supports),
        rows=rows,
        dialogues=keys,
    )
    return RenderedSample(dialogues=render_dialogues(replayed, has_truth=False), has_truth=False)


class _NoDataset:
    """Placeholder for the dataset in a run configuration, without any loadable sample."""

    name = "challenge"
    sample_ids = (ANONYMOUS_SAMPLE,)
    fingerprint = ""

    def load(self, sample_id: str) -> Sample:
        """Raise `SampleInvalid`."""
        raise SampleInvalid(f"{sample_id}: only the messages about it are known here")

    def check(self) -> Sequence[Finding]:
        """Return no findings."""
        return ()


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class _HiddenTarget(Target):
    """A target of which only the number of objects is known."""

    count: int = 1

    @property
    def objects(self) -> int:
        return self.count


def _with_hidden_targets(
    sample: Sample,
    described: Sequence[PublicDialogue],
    supports: Mapping[str, Sequence[Support]],
) -> Sample:
    empty: Mask = np.zeros(sample.shape, dtype=np.bool_)
    targets: dict[str, _HiddenTarget] = {}
    for dialogue in described:
        target = _HiddenTarget(id=dialogue.target, mask=empty, count=dialogue.objects)
        targets[dialogue.target] = target
    hidden = replace(sample, targets=tuple(targets.values()))
    return replace(hidden, supports=supports) if isinstance(hidden, ImageSample) else hidden


def _participant_dialogues(
    log: ExchangeLog,
    sample: Sample,
    keep_rounds: tuple[int, ...],
) -> tuple[list[ParticipantDialogue], dict[str, tuple[Support, ...]]]:
    """Return the dialogues as their participant knows them, and the support examples shown for each target."""
    dialogues: list[ParticipantDialogue] = []
    for described in log.dialogues:
        recorded = _recorded_dialogue(log.challenge.benchmark, described)
        lift = None if described.lift is None else msgspec.convert(described.lift, Lift)
        dialogues.append(
            ParticipantDialogue(recorded, sample.shape, lift=lift, keep_rounds=keep_rounds)
        )
    supports: dict[str, tuple[Support, ...]] = {}
    awaits_answer: dict[int, int] = {}
    for request, response in log.turns:
        _, answers = unpack_turn(request, shape=sample.shape, objects=awaits_answer)
        for reply in unpack_reply(response, sample.shape):
            number = reply.dialogue
            dialogues[number].receive(reply, answers.get(number))
            target = log.dialogues[number].target
            shown = supports.get(target, ())
            for prompts in reply.rounds:
                shown += tuple(prompt for prompt in prompts if isinstance(prompt, Support))
            supports[target] = shown
            awaits_answer.pop(number, None)
            if not reply.over:
                awaits_answer[number] = reply.objects
    return dialogues, supports


def _recorded_dialogue(benchmark: str, described: PublicDialogue) -> RecordedDialogue:
    key = DialogueKey(
        sample=ANONYMOUS_SAMPLE,
        target=described.target,
        user=described.user,
        repeat=described.repeat,
    )
    return RecordedDialogue(
        benchmark=benchmark,
        dataset=_NoDataset.name,
        key=key,
        objects=described.objects,
    )


def _rows_of(
    rows: Rows,
    keys: Collection[DialogueId],
    decimals: int | None,
) -> Rows:
    """Return the rows of some dialogues, with metrics rounded to `decimals`; None leaves them exact."""

    def is_kept(row: Any) -> bool:
        return (row.sample, row.target, row.user, row.repeat) in keys

    records = [row for row in rows.records if is_kept(row)]
    if decimals is not None:
        records = [
            msgspec.structs.replace(row, values=_rounded(row.values, decimals)) for row in records
        ]
    return Rows(
        records=records,
        timings=[row for row in rows.timings if is_kept(row)],
        masks=[row for row in rows.masks if is_kept(row)],
        parts=[row for row in rows.parts if is_kept(row)],
    )


def _rounded(values: Mapping[str, float | None], decimals: int) -> dict[str, float | None]:
    return {
        name: None if value is None else round(value, decimals) for name, value in values.items()
    }
