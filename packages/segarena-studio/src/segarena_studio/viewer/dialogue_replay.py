"""Replay of a dialogue with its recorded prompts, for rounds without stored masks.

The segmenter of the run is built in a new process and called as in `segarena run --verify`
(`segarena.engine.dialogue_replay`). Stored masks stay on display; the agreement of the repeated answers with
them is reported.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from segarena.engine.answer_verification import given_prompts
from segarena.engine.dialogue_replay import (
    Answer,
    AnswerKey,
    ReplayRequest,
    agreement,
    answers_in,
    replay_cast,
    replay_dialogues,
)
from segarena.engine.plan import Plan, time_limit_of
from segarena.engine.rows import Rows
from segarena.engine.run_folder import RunFolder
from segarena.engine.sample_job import failure_reason
from segarena.errors import SegmenterError, UntrustedPlugin
from segarena.plugin_spec import PluginSpec
from segarena.records.configuration import RunConfiguration, move_data, resolve_paths
from segarena.records.plugin_trust import HOW_TO_TRUST, restrict_plugins, trust_refusal
from segarena.records.row_types import MaskRow
from segarena.reports.dialogue_gallery import error_line
from segarena.roles import Benchmark
from segarena.work.executors import ProcessExecutor
from segarena.work.jobs import FunctionJob, UnitFailure
from segarena_studio.viewer.dialogue_table import DialogueKey

ReplayResult: TypeAlias = "tuple[dict[int, list[MaskRow]], str]"
"""The masks of each object after each round, and a sentence about their agreement with stored masks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReplayTask:
    plan: Plan
    question: ReplayRequest
    trust: bool


class ReplayQueue:
    """Runs replays one after the other in threads: the first request starts one, later requests poll it."""

    def __init__(self) -> None:
        self._results: dict[tuple[int, DialogueKey], str | None] = {}
        self._lock = threading.Lock()

    def poll(
        self,
        run: int,
        key: DialogueKey,
        replay: Callable[[], str],
    ) -> str | None:
        """Return the result of a replay as a sentence; None while it runs.

        The first call starts the replay, and so does the first call after a result was returned.

        Args:
            run: number of the run.
            key: the dialogue.
            replay: replays it and returns the sentence.
        """
        replay_id = (run, key)
        if replay_id not in self._results:
            self._results[replay_id] = None
            threading.Thread(target=self._run, args=(replay_id, replay), daemon=True).start()
        found = self._results.get(replay_id)
        if found is not None:
            self._results.pop(replay_id, None)  # two pages may ask at once
        return found

    def _run(self, replay_id: tuple[int, DialogueKey], replay: Callable[[], str]) -> None:
        with self._lock:
            try:
                self._results[replay_id] = replay()
            except Exception as error:  # plug-in code of a segmenter or a dataset
                self._results[replay_id] = f"The replay failed: {error_line(error)}"


def replay_dialogue(
    folder: RunFolder,
    key: DialogueKey,
    *,
    trust: bool,
    data: str | None = None,
) -> ReplayResult:
    """Replay a dialogue of a run with its recorded prompts.

    Raises:
        UntrustedPlugin: the run names plug-ins from outside segarena, and `trust` is False.
        SegarenaError: the dialogue cannot be replayed; the message says why.
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
            FunctionJob(_replay), [_ReplayTask(plan=plan, question=question, trust=trust)]
        )
    ) as outcomes:
        (outcome,) = outcomes
    if isinstance(outcome, UnitFailure):
        raise SegmenterError(failure_reason(outcome, plan))
    masks = folder.read("masks", only=[folder.samples.index(sample)]).filter(
        target=target, user=user, repeat=repeat
    )
    before = answers_in(Rows(masks=msgspec.convert(masks.to_dicts(), list[MaskRow])))
    return _by_round(outcome.result), _describe_agreement(before, outcome.result)


def replay_plan(
    config: RunConfiguration,
    *,
    trust: bool,
    data: str | None = None,
) -> Plan:
    """Return the plan of a run from run.json, without metrics.

    Raises:
        UntrustedPlugin: as for `replay_dialogue`.
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


def _replay(asked: _ReplayTask) -> dict[AnswerKey, Answer]:
    with restrict_plugins(trust=asked.trust):
        return replay_dialogues(replay_cast(asked.plan), time_limit_of(asked.plan), asked.question)


def _by_round(answers: Mapping[AnswerKey, Answer]) -> dict[int, list[MaskRow]]:
    masks: dict[int, list[MaskRow]] = {}
    for (*_, round_), answer in answers.items():
        if not isinstance(answer, str):
            masks[round_] = answer
    return masks


def _describe_agreement(
    before: Mapping[AnswerKey, Answer], again: Mapping[AnswerKey, Answer]
) -> str:
    found = agreement(before, [again])
    if not found.differed:
        return (
            f"Replayed: all {found.asked} stored answers are reproduced, so the other rounds show the "
            "original answers."
        )
    return (
        f"Replayed, but {found.differed} of {found.asked} stored answers differ (lowest IoU "
        f"{found.worst_iou:.3f}): the other rounds may differ from the original answers."
    )
