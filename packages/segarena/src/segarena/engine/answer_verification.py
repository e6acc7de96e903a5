"""Verify a finished run: repeat some answers alone and beside a copy, in another process."""

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
_BATCH_ORDERS: tuple[BatchOrder, ...] = ("alone", "paired")


def check_verifiable(plan: Plan, count: int) -> None:
    """Raise before the run if its answers could not be verified afterwards.

    Raises:
        InvalidInput: fewer than 0 answers, or something in the plan cannot be sent to another process.
    """
    if count < 0:
        raise InvalidInput(
            f"verify: expected how many answers to ask again, 0 or more, got {count}"
        )
    if count:
        try:
            pickle.dumps(plan)
        # Pickling runs the code of whatever the plan holds, so any exception is possible.
        except Exception as error:
            raise InvalidInput(
                f"verify asks in another process, and an object of this run cannot be sent there ({error}); "
                "give it as a plug-in, my_model.py:MyModel, or leave verify out"
            ) from error


def verify_answers(plan: Plan, folder: RunFolder, count: int, executor: Executor) -> Agreement:
    """Replay `count` answers of a run and return the agreement.

    The seed of the run chooses them among the answers whose masks were kept. Each is replayed twice from the
    first round of its dialogue on: alone, and in a batch with a copy of itself. The executor chooses the
    process. Nothing is timed, so the time budget of a benchmark cuts nothing off.
    """
    before = _choose_answers(folder, count)
    prompts = _prompts_before(folder, before)
    requests: list[ReplayRequest] = []
    for order in _BATCH_ORDERS:
        for sample, rounds in reversed(prompts.items()):
            requests.append(ReplayRequest(sample=sample, rounds=rounds, batches=order))
    again: dict[BatchOrder, dict[AnswerKey, Answer]] = {order: {} for order in _BATCH_ORDERS}
    with closing(executor.map(ReplayJob(plan=plan), requests)) as outcomes:
        for outcome in outcomes:
            answers = again[outcome.unit.batches]
            if isinstance(outcome, UnitFailure):
                why = failure_reason(outcome, plan)
                for key in before:
                    if key[0] == outcome.unit.sample:
                        answers[key] = why
            else:
                answers.update(outcome.result)
    return agreement(before, again.values())


def _choose_answers(folder: RunFolder, count: int) -> dict[AnswerKey, Answer]:
    """Return `count` kept answers of a run, or all if there are fewer."""
    # Only kept masks can be compared: masks of the chosen rounds and of the last one.
    records = folder.read("records", [*_DIALOGUE, "round", "failure"])
    answered = records.filter(pl.col("failure").is_null())
    is_last = pl.col("round") == pl.col("round").max().over(_DIALOGUE)
    kept = answered.filter(is_last | pl.col("round").is_in(folder.config.keep_rounds))
    random = random_stream(folder.config.seed, "verify")
    picked = random.choice(kept.height, min(count, kept.height), replace=False)
    keys = set(kept[sorted(picked.tolist())].select(*_DIALOGUE, "round").rows())
    masks = folder.read("masks", only=_sample_indices(folder, keys))
    rows = Rows(masks=msgspec.convert(masks.to_dicts(), list[MaskRow]))
    return {key: answer for key, answer in answers_in(rows).items() if key in keys}


def _prompts_before(
    folder: RunFolder, keys: Iterable[AnswerKey]
) -> dict[str, dict[ReplayKey, list[RoundPrompts]]]:
    """Return the prompts of dialogues up to these answers, by sample."""
    last_rounds: dict[tuple[str, ReplayKey], int] = {}
    for sample, target, user, repeat, round_ in keys:
        dialogue = (sample, (target, user, repeat))
        last_rounds[dialogue] = max(round_, last_rounds.get(dialogue, 0))
    records = folder.read(
        "records", [*_DIALOGUE, "round", "prompts"], only=_sample_indices(folder, keys)
    ).sort("round", maintain_order=True)
    found: dict[str, dict[ReplayKey, list[RoundPrompts]]] = {}
    for sample, target, user, repeat, round_, prompts in records.rows():
        key = (target, user, repeat)
        if round_ <= last_rounds.get((sample, key), 0):
            of_sample = found.setdefault(sample, {})
            of_sample.setdefault(key, []).append(given_prompts(prompts))
    return found


def given_prompts(text: str) -> RoundPrompts:
    """Return the prompts of a record; None if it keeps only the size of some of them."""
    prompts = read_prompts(text)
    complete = tuple(
        prompt for prompt in prompts if not isinstance(prompt, RecordedMask | RecordedSupport)
    )
    return complete if len(complete) == len(prompts) else None


def _sample_indices(folder: RunFolder, keys: Iterable[AnswerKey]) -> set[int]:
    wanted = {key[0] for key in keys}
    return {index for index, sample in enumerate(folder.samples) if sample in wanted}
