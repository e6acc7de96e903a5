"""Verification of a finished run: predict some answers again, alone and in a batch of two, in another process."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from contextlib import closing

import msgspec
import polars as pl

from segarena.engine.dialogue_replay import (
    Answer,
    AnswerKey,
    ReplayJob,
    ReplayKey,
    ReplayRequest,
    RoundPrompts,
    agreement,
    answers_in,
)
from segarena.engine.lockstep_dialogues import BatchOrder
from segarena.engine.plan import Plan
from segarena.engine.random_streams import random_stream
from segarena.engine.rows import Rows
from segarena.engine.run_folder import RunFolder
from segarena.engine.sample_job import failure_reason
from segarena.errors import InvalidInput
from segarena.prompts import Prompt
from segarena.records.configuration import Agreement
from segarena.records.prompts import RecordedMask, RecordedSupport, read_prompts
from segarena.records.row_types import MaskRow
from segarena.work.jobs import Executor, UnitFailure

_DIALOGUE = ("sample", "target", "user", "repeat")
_BATCH_ORDERS: tuple[BatchOrder, ...] = ("alone", "paired")


def check_verifiable(plan: Plan, count: int) -> None:
    """Raise an error before the run if its answers could not be verified afterwards.

    Raises:
        InvalidInput: the number of answers is negative, or an object in the plan cannot be sent to another process.
    """
    if count < 0:
        raise InvalidInput(
            f"verify: expected the number of answers to repeat, 0 or more, got {count}"
        )
    if count:
        try:
            pickle.dumps(plan)
        # Pickling runs code of every object in the plan, so any exception is possible.
        except Exception as error:
            raise InvalidInput(
                f"verify repeats answers in another process, but an object of this run cannot be pickled ({error}); "
                "pass a plug-in such as my_model.py:MyModel, or omit verify"
            ) from error


def verify_answers(
    plan: Plan,
    folder: RunFolder,
    count: int,
    executor: Executor,
) -> Agreement:
    """Replay up to `count` answers of a run and return their agreement with the recorded ones.

    The seed of the run selects them among the answers whose masks were stored. Each answer is
    replayed twice, starting at the first round of its dialogue: alone, and in a batch with a copy
    of itself. The executor chooses the process. Replays are not timed, so a benchmark's time budget
    never ends them.
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
    """Draw `count` stored answers of a run at random, with the run's seed; return all if there are fewer."""
    # Only stored masks can be compared: masks of the rounds to keep and of the last round.
    records = folder.read("records", [*_DIALOGUE, "round", "failure"])
    answered = records.filter(pl.col("failure").is_null())
    round_ = pl.col("round")
    is_last = round_ == round_.max().over(_DIALOGUE)
    is_chosen_round = round_.is_in(folder.config.keep_rounds)
    with_masks = answered.filter(is_last | is_chosen_round)
    random = random_stream(folder.config.seed, "verify")
    chosen_count = min(count, with_masks.height)
    chosen = random.choice(with_masks.height, chosen_count, replace=False)
    chosen_records = with_masks[sorted(chosen.tolist())]
    keys = set(chosen_records.select(*_DIALOGUE, "round").rows())
    masks = folder.read("masks", only=_sample_indices(folder, keys))
    rows = Rows(masks=msgspec.convert(masks.to_dicts(), list[MaskRow]))
    # The files of a sample also contain masks of other answers.
    return {key: answer for key, answer in answers_in(rows).items() if key in keys}


def _prompts_before(
    folder: RunFolder, keys: Iterable[AnswerKey]
) -> dict[str, dict[ReplayKey, list[RoundPrompts]]]:
    """Return the prompts of each dialogue up to its last chosen answer, by sample."""
    last_rounds: dict[tuple[str, ReplayKey], int] = {}
    for sample, target, user, repeat, round_ in keys:
        dialogue = (sample, (target, user, repeat))
        last_rounds[dialogue] = max(round_, last_rounds.get(dialogue, 0))
    columns = [*_DIALOGUE, "round", "prompts"]
    records = folder.read("records", columns, only=_sample_indices(folder, keys))
    in_order = records.sort("round", maintain_order=True)
    by_sample: dict[str, dict[ReplayKey, list[RoundPrompts]]] = {}
    for sample, target, user, repeat, round_, prompts in in_order.rows():
        key = (target, user, repeat)
        if round_ <= last_rounds.get((sample, key), 0):
            of_sample = by_sample.setdefault(sample, {})
            of_dialogue = of_sample.setdefault(key, [])
            of_dialogue.append(given_prompts(prompts))
    return by_sample


def given_prompts(text: str) -> RoundPrompts:
    """Return the prompts of a record; None if there are masks or examples among them, whose pixels are not recorded."""
    prompts = read_prompts(text)
    complete: list[Prompt] = []
    for prompt in prompts:
        if isinstance(prompt, RecordedMask | RecordedSupport):
            return None
        complete.append(prompt)
    return tuple(complete)


def _sample_indices(folder: RunFolder, keys: Iterable[AnswerKey]) -> set[int]:
    wanted = {key[0] for key in keys}
    return {index for index, sample in enumerate(folder.samples) if sample in wanted}
