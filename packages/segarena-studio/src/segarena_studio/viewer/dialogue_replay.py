"""A dialogue held again, with the prompts that it had: for rounds of which no mask was kept.

The segmenter of the run is built anew in a process of its own and asked as `segarena run --verify` asks
(`segarena.engine.replay`). What the run kept stays what is shown; how far the answers given again are from it is told.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from segarena.engine.answer_verification import given_prompts
from segarena.engine.plan import Plan
from segarena.engine.replay import (
    Answer,
    AnswerKey,
    ReplayRequest,
    agreement,
    answers_in,
    replay_cast,
    replay_dialogues,
)
from segarena.engine.rows import Rows
from segarena.engine.sample_job import failure_reason, time_limit_of
from segarena.engine.store import RunFolder
from segarena.errors import SegmenterError, UntrustedPlugin
from segarena.plugin_spec import PluginSpec
from segarena.records.configuration import RunConfiguration, move_data, resolve_paths
from segarena.records.row_types import MaskRow
from segarena.records.trust import HOW_TO_TRUST, restrict_plugins, trust_refusal
from segarena.reports.gallery import error_line
from segarena.roles import Benchmark
from segarena.work.executors import ProcessExecutor
from segarena.work.jobs import FunctionJob, UnitFailure
from segarena_studio.viewer.dialogue_table import DialogueKey

ReplayResult: TypeAlias = "tuple[dict[int, list[MaskRow]], str]"
"""The mask of each object after each round, and whether it came out as before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    plan: Plan
    question: ReplayRequest
    trust: bool


class ReplayQueue:
    """What is held again, one after the other, in threads: a request begins it, later ones ask how it stands."""

    def __init__(self) -> None:
        self._told: dict[tuple[int, DialogueKey], str | None] = {}
        self._is_holding = threading.Lock()

    def told(self, run: int, key: DialogueKey, hold: Callable[[], str]) -> str | None:
        """Return what came of it, once, as a sentence; None while it is under way, which it is from the first call on.

        Args:
            run: its number.
            key: which dialogue of it.
            hold: holds it again, and says what came of it.
        """
        which = run, key
        if which not in self._told:
            self._told[which] = None
            threading.Thread(target=self._hold, args=(which, hold), daemon=True).start()
        found = self._told.get(which)
        if found is not None:
            self._told.pop(which, None)  # two pages may ask at once
        return found

    def _hold(self, which: tuple[int, DialogueKey], hold: Callable[[], str]) -> None:
        with self._is_holding:
            try:
                self._told[which] = hold()
            except Exception as error:  # the code of a segmenter or a dataset
                self._told[which] = f"It could not be held again: {error_line(error)}"


def replay_dialogue(
    folder: RunFolder, key: DialogueKey, *, trust: bool, data: str | None = None
) -> ReplayResult:
    """Hold a dialogue of a run again, as far as its prompts go.

    Raises:
        UntrustedPlugin: something in the run is not part of segarena, and `trust` is False.
        SegarenaError: it cannot be held any more; the message says why.
    """
    sample, target, user, repeat = key
    plan = replay_plan(folder.config, trust=trust, data=data)
    records = folder.read("records", only=[folder.samples.index(sample)]).sort("round")
    own = records.filter(target=target, user=user, repeat=repeat)
    question = ReplayRequest(
        sample=sample,
        rounds={(target, user, repeat): [given_prompts(text) for text in own["prompts"].to_list()]},
    )
    with closing(
        ProcessExecutor(1).map(
            FunctionJob(_ask), [_Asked(plan=plan, question=question, trust=trust)]
        )
    ) as outcomes:
        (outcome,) = outcomes
    if isinstance(outcome, UnitFailure):
        raise SegmenterError(failure_reason(outcome, plan))
    masks = folder.read("masks", only=[folder.samples.index(sample)]).filter(
        target=target, user=user, repeat=repeat
    )
    before = answers_in(Rows(masks=msgspec.convert(masks.to_dicts(), list[MaskRow])))
    return _by_round(outcome.result), _told(before, outcome.result)


def replay_plan(config: RunConfiguration, *, trust: bool, data: str | None = None) -> Plan:
    """Return the plan of a run as run.json has it, without what only measures.

    Raises:
        UntrustedPlugin: see `hold_again`.
    """
    rules = config.benchmark
    dataset = resolve_paths(config.dataset, config.directory)
    used = [
        ("dataset", dataset),
        ("segmenter", config.segmenter),
        *(("user", user) for user in config.users),
    ]
    for kind, one in used:
        if refused := trust_refusal(kind, one, trust=trust):
            raise UntrustedPlugin(
                refused.removeprefix("No photographs: ").removesuffix(HOW_TO_TRUST).strip(" .")
            )
    if data is not None:
        dataset = move_data(dataset, data)
    users = [
        PluginSpec(user.name, dict(user.options), own_name=user.written) for user in config.users
    ]
    benchmark = Benchmark(
        name=rules.name,
        users=tuple(users),
        metrics=(),
        rounds=config.rounds,
        summary=(),
        options=rules.options,
        sample_kind=rules.sample_kind,
        adapter=None if rules.adapter is None else rules.adapter.spec,
    )
    return Plan(
        benchmark=benchmark,
        segmenter=resolve_paths(config.segmenter, config.directory).spec,
        dataset=dataset.spec,
        seed=config.seed,
        repeats=config.repeats,
        time_limit_s=config.time_limit_s,
    )


def _ask(asked: _Asked) -> dict[AnswerKey, Answer]:
    with restrict_plugins(trust=asked.trust):
        return replay_dialogues(replay_cast(asked.plan), time_limit_of(asked.plan), asked.question)


def _by_round(answers: Mapping[AnswerKey, Answer]) -> dict[int, list[MaskRow]]:
    return {
        round_: answer for (*_, round_), answer in answers.items() if not isinstance(answer, str)
    }


def _told(before: Mapping[AnswerKey, Answer], again: Mapping[AnswerKey, Answer]) -> str:
    found = agreement(before, [again])
    if not found.differed:
        return f"Held again: all {found.asked} kept answers came out as they were, so the others are what it answered."
    return (
        f"Held again, and {found.differed} of {found.asked} kept answers came out otherwise (IoU from "
        f"{found.worst_iou:.3f}): the others may not be what it answered then."
    )
