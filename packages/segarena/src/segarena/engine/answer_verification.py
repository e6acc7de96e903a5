"""Some answers of a finished run, asked again: each by itself and beside its own copy, in a process of its own."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from contextlib import closing

import msgspec
import polars as pl

from segarena.engine.lockstep import BatchOrder
from segarena.engine.plan import Plan
from segarena.engine.random_streams import random_stream
from segarena.engine.replay import (
    Answer,
    AnswerKey,
    ReplayJob,
    ReplayKey,
    ReplayRequest,
    RoundPrompts,
    agreement,
    answers_in,
)
from segarena.engine.rows import Rows
from segarena.engine.sample_job import failure_reason
from segarena.engine.store import RunFolder
from segarena.errors import InvalidInput
from segarena.records.configuration import Agreement
from segarena.records.prompts import RecordedMask, RecordedSupport, read_prompts
from segarena.records.row_types import MaskRow
from segarena.work.jobs import Executor, UnitFailure

_DIALOGUE = ("sample", "target", "user", "repeat")
_WAYS: tuple[BatchOrder, ...] = ("alone", "paired")


def check_verifiable(plan: Plan, count: int) -> None:
    """Refuse what could not be verified, before anything is run.

    Raises:
        InvalidInput: fewer than 0 answers, or something in the plan that cannot be sent to another process.
    """
    if count < 0:
        raise InvalidInput(
            f"verify: expected how many answers to ask again, 0 or more, got {count}"
        )
    if count:
        try:
            pickle.dumps(plan)
        except Exception as error:  # pickling runs the code of whatever the plan holds
            raise InvalidInput(
                f"verify asks in another process, and an object of this run cannot be sent there ({error}); "
                "give it as a plug-in, my_model.py:MyModel, or leave verify out"
            ) from error


def verify_answers(plan: Plan, folder: RunFolder, count: int, executor: Executor) -> Agreement:
    """Ask `count` answers of a run again, chosen by its seed among those whose masks were kept.

    Each is asked twice, from the first round of its dialogue on: by itself, and beside a copy of itself; where, is the
    executor's choice. Nothing is timed: what the clock of a benchmark would cut off is asked all the same.
    """
    before = _chosen(folder, count)
    questions = [
        ReplayRequest(sample=sample, rounds=rounds, batches=way)
        for way in _WAYS
        for sample, rounds in reversed(_prompts_before(folder, before).items())
    ]
    again: dict[BatchOrder, dict[AnswerKey, Answer]] = {way: {} for way in _WAYS}
    with closing(executor.map(ReplayJob(plan=plan), questions)) as outcomes:
        for outcome in outcomes:
            found = again[outcome.unit.batches]
            sample = outcome.unit.sample
            if isinstance(outcome, UnitFailure):
                why = failure_reason(outcome, plan)
                found.update((key, why) for key in before if key[0] == sample)
            else:
                found.update(outcome.result)
    return agreement(before, again.values())


def _chosen(folder: RunFolder, count: int) -> dict[AnswerKey, Answer]:
    """Return so many answers, or all that were kept if there are fewer."""
    records = folder.read("records", [*_DIALOGUE, "round", "failure"])
    answered = records.filter(pl.col("failure").is_null())
    is_last = pl.col("round") == pl.col("round").max().over(_DIALOGUE)
    kept = answered.filter(is_last | pl.col("round").is_in(folder.config.keep_rounds))
    picked = random_stream(folder.config.seed, "verify").choice(
        kept.height, min(count, kept.height), replace=False
    )
    keys = set(kept[sorted(picked.tolist())].select(*_DIALOGUE, "round").rows())
    masks = folder.read("masks", only=_places(folder, keys))
    rows = Rows(masks=msgspec.convert(masks.to_dicts(), list[MaskRow]))
    return {key: answer for key, answer in answers_in(rows).items() if key in keys}


def _prompts_before(
    folder: RunFolder, keys: Iterable[AnswerKey]
) -> dict[str, dict[ReplayKey, list[RoundPrompts]]]:
    """Return the prompts of dialogues up to these answers, by sample."""
    until: dict[tuple[str, ReplayKey], int] = {}
    for sample, target, user, repeat, round_ in keys:
        key = sample, (target, user, repeat)
        until[key] = max(round_, until.get(key, 0))
    found: dict[str, dict[ReplayKey, list[RoundPrompts]]] = {}
    records = folder.read("records", [*_DIALOGUE, "round", "prompts"], only=_places(folder, keys))
    for sample, target, user, repeat, round_, prompts in records.sort(
        "round", maintain_order=True
    ).rows():
        dialogue = target, user, repeat
        if round_ <= until.get((sample, dialogue), 0):
            found.setdefault(sample, {}).setdefault(dialogue, []).append(given_prompts(prompts))
    return found


def given_prompts(text: str) -> RoundPrompts:
    """Return the prompts of a record, unless there are some of which it keeps only the size."""
    prompts = read_prompts(text)
    drawn = tuple(
        prompt for prompt in prompts if not isinstance(prompt, RecordedMask | RecordedSupport)
    )
    return drawn if len(drawn) == len(prompts) else None


def _places(folder: RunFolder, keys: Iterable[AnswerKey]) -> set[int]:
    wanted = {key[0] for key in keys}
    return {index for index, sample in enumerate(folder.samples) if sample in wanted}
