"""Test of whether a segmenter's answers depend only on sample and prompts: requests are repeated in other ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from segarena.arrays.rle import decode_rle
from segarena.engine.dialogue_replay import (
    Answer,
    AnswerKey,
    ReplayKey,
    ReplayRequest,
    RoundPrompts,
    agreement,
    answers_in,
    iou_of_answers,
    replay_cast,
    replay_dialogues,
    replay_rows,
)
from segarena.engine.lockstep_dialogues import BatchOrder, RunCast, open_sessions, run_sample
from segarena.engine.plan import Plan, make_plan, time_limit_of
from segarena.engine.random_streams import random_stream
from segarena.engine.sample_job import failure_reason
from segarena.engine.session import Session
from segarena.engine.time_limit import TimeLimit
from segarena.errors import PluginInvalid, SegarenaError, SegmenterError
from segarena.plugin_capabilities import segmenter_capabilities
from segarena.plugin_spec import Plugin, PluginSpec
from segarena.records.configuration import Agreement
from segarena.registry import build, plugins_by_name
from segarena.samples import Sample
from segarena.work.executors import ProcessExecutor
from segarena.work.jobs import FunctionJob, UnitFailure

DIALOGUES = 4
"""Maximum number of dialogues about a sample."""

ROUNDS = 2
"""Rounds of each dialogue: one without a previous answer and one with it."""

Unit = TypeVar("Unit")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class DependenceCheck:
    """Whether answers depend on one circumstance.

    Attributes:
        on: the circumstance, as in "answers depend on ...".
        how: difference between the repeated requests and the first ones.
        found: agreement of the answers.
    """

    on: str
    how: str
    found: Agreement


@dataclass(frozen=True, slots=True)
class _Variation:
    """A way to repeat the requests in the process that sent them first."""

    on: str
    how: str
    batches: tuple[BatchOrder, ...] = ("together",)
    is_fresh: bool = True
    is_backwards: bool = False


_VARIATIONS = (
    _Variation(
        "hidden state or randomness", "the same instance gets the prompts once more", is_fresh=False
    ),
    _Variation("the instance", "another instance in the same process"),
    _Variation(
        "batches", "each dialogue alone, then in a batch with its copy", batches=("alone", "paired")
    ),
    _Variation(
        "order",
        "dialogues and samples from last to first",
        batches=("reversed",),
        is_backwards=True,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InProcessChecks:
    """The first requests to a segmenter, its answers, and the checks that are possible in one process."""

    questions: list[ReplayRequest]
    answers: dict[AnswerKey, Answer]
    dependences: list[DependenceCheck]


def check_segmenter(
    segmenter: Plugin,
    *,
    dataset: Plugin | None = None,
    benchmark: str | None = None,
    samples: int = 2,
    seed: int = 0,
) -> list[DependenceCheck]:
    """Repeat requests to a segmenter in several ways; return the agreement for each.

    Users of the benchmark run a few dialogues of up to two rounds about a few samples; then the
    same prompts are sent again. Each variation but the first uses a new segmenter instance. Hidden
    state or randomness of a segmenter shows up in the later variations as well.

    Args:
        segmenter: specification of a plug-in.
        dataset: the dataset; by default that of the benchmark.
        benchmark: source of the users; by default the first one that fits the segmenter's samples and prompts.
        samples: number of samples to take from the start of the dataset.
        seed: seed of the choice of dialogues.

    Raises:
        PluginInvalid: no benchmark fits the segmenter.
        SegmenterError: the segmenter gives no answer, or its process ends.
    """
    written = PluginSpec.of(segmenter)
    chosen = benchmark or fitting_benchmark(written)
    plan = make_plan(
        chosen,
        segmenter=written,
        dataset=dataset,
        repeats=2,
        limit=samples,
        seed=seed,
    )
    rules = plan.benchmark
    plan = replace(plan, benchmark=replace(rules, rounds=min(ROUNDS, rules.rounds)))
    first = _in_another_process(check_in_process, plan, plan)
    again = _in_another_process(_replay_with_new_cast, (plan, first.questions), plan)
    found = agreement(first.answers, [again])
    last = DependenceCheck(on="the process", how="another process", found=found)
    return [*first.dependences, last]


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskComparison:
    """Answers of two segmenters to the same prompts.

    Attributes:
        agreement: number of answers, how many differ, and the worst one.
        mean_iou: mean IoU of an answer with that of the other segmenter; 0 counts for a missing one.
        differing_pixels: share of all pixels on which the masks differ, among answers that both gave.
        seconds_ratio: seconds of the segmenter's passes and predictions, divided by those of the other.
    """

    agreement: Agreement
    mean_iou: float
    differing_pixels: float
    seconds_ratio: float


def compare_segmenters(
    segmenter: Plugin,
    other: Plugin,
    *,
    dataset: Plugin | None = None,
    benchmark: str | None = None,
    samples: int = 2,
    seed: int = 0,
) -> MaskComparison:
    """Send the same prompts to two segmenters, and compare the masks and the time that they took.

    Users of the benchmark run a few dialogues with the first segmenter; then both segmenters get the
    prompts of these dialogues. A round also depends on a segmenter's own answers to the rounds
    before. Arguments and errors are those of `check_segmenter`.
    """
    written = PluginSpec.of(segmenter)
    chosen = benchmark or fitting_benchmark(written)
    plans: list[Plan] = []
    for one in (written, PluginSpec.of(other)):
        plan = make_plan(chosen, segmenter=one, dataset=dataset, limit=samples, seed=seed)
        rules = plan.benchmark
        plans.append(replace(plan, benchmark=replace(rules, rounds=min(ROUNDS, rules.rounds))))
    return _in_another_process(compare_in_process, (plans[0], plans[1]), plans[0])


def compare_in_process(plans: tuple[Plan, Plan]) -> MaskComparison:
    """Compare the segmenters of two plans; see `compare_segmenters`."""
    plan, other_plan = plans
    cast = replay_cast(plan)
    limit = time_limit_of(plan)
    questions, _ = _first_answers(cast, limit, plan)
    answers, seconds = _timed_answers(cast, limit, questions)
    # Free the first segmenter, because two large models may not fit into memory.
    del cast
    others, other_seconds = _timed_answers(replay_cast(other_plan), limit, questions)
    ious = [iou_of_answers(answer, others.get(key, "")) for key, answer in answers.items()]
    return MaskComparison(
        agreement=agreement(answers, [others]),
        mean_iou=float(np.mean(ious)),
        differing_pixels=_differing_pixels(answers, others),
        seconds_ratio=seconds / max(other_seconds, 1e-9),
    )


def _timed_answers(
    cast: RunCast,
    limit: TimeLimit,
    questions: Sequence[ReplayRequest],
) -> tuple[dict[AnswerKey, Answer], float]:
    """Return the answers to replayed prompts, and the seconds that the segmenter took for them."""
    # The first calls of a network are slower than the others.
    replay_rows(cast, limit, questions[0])
    answers: dict[AnswerKey, Answer] = {}
    seconds = 0.0
    for question in questions:
        rows = replay_rows(cast, limit, question)
        answers |= answers_in(rows)
        seconds += sum(timing.predict_s for timing in rows.timings)
    return answers, seconds


def _differing_pixels(
    answers: Mapping[AnswerKey, Answer], others: Mapping[AnswerKey, Answer]
) -> float:
    """Return the share of pixels on which two sets of answers differ; 0 if no answer has a counterpart."""
    differing = 0
    pixels = 0
    for key, answer in answers.items():
        other = others.get(key, "")
        if isinstance(answer, str) or isinstance(other, str) or len(answer) != len(other):
            continue
        for ours, theirs in zip(answer, other, strict=True):
            mask = decode_rle(ours.rle, ours.shape)
            differing += int(np.count_nonzero(mask != decode_rle(theirs.rle, theirs.shape)))
            pixels += mask.size
    return differing / max(pixels, 1)


def fitting_benchmark(segmenter: PluginSpec) -> str:
    """Return the first benchmark that fits the samples and prompts of a segmenter.

    Benchmarks of segarena come before those of other packages; otherwise the order is alphabetical.

    Raises:
        PluginInvalid: no benchmark fits.
    """
    built: Any = build("segmenter", segmenter)
    kinds = segmenter_capabilities(built).sample_kinds
    known = plugins_by_name("benchmark")

    def order(name: str) -> tuple[bool, str]:
        is_own = known[name].__module__.startswith("segarena.")
        return not is_own, name

    for name in sorted(known, key=order):
        # The users of this benchmark may give other prompts, or it may need options or files.
        with suppress(SegarenaError):
            plan = make_plan(name, segmenter=built)
            if plan.benchmark.sample_kind in kinds:
                plan.cast()
                return name
    raise PluginInvalid(
        f"{segmenter}: no benchmark has matching users and samples; choose one with --benchmark"
    )


def _in_another_process(
    call: Callable[[Unit], Result],
    unit: Unit,
    plan: Plan,
) -> Result:
    with closing(ProcessExecutor(1).map(FunctionJob(call), [unit])) as outcomes:
        (outcome,) = outcomes
    if isinstance(outcome, UnitFailure):
        raise SegmenterError(f"{plan.segmenter}: {failure_reason(outcome, plan)}")
    return outcome.result


def check_in_process(plan: Plan) -> InProcessChecks:
    """Send requests to the segmenter of a plan, then repeat them in every way that one process allows."""
    cast = replay_cast(plan)
    limit = time_limit_of(plan)
    questions, answers = _first_answers(cast, limit, plan)
    dependences: list[DependenceCheck] = []
    for way in _VARIATIONS:
        if way.is_fresh:
            # Free the previous segmenter before building the next one, because two large models may
            # not fit into memory.
            del cast
            cast = replay_cast(plan)
        order = questions[::-1] if way.is_backwards else questions
        again = [_replay_all(cast, limit, order, batches) for batches in way.batches]
        found = agreement(answers, again)
        dependences.append(DependenceCheck(on=way.on, how=way.how, found=found))
    return InProcessChecks(questions=questions, answers=answers, dependences=dependences)


def _replay_with_new_cast(
    request: tuple[Plan, list[ReplayRequest]],
) -> dict[AnswerKey, Answer]:
    plan, questions = request
    return _replay_all(replay_cast(plan), time_limit_of(plan), questions, "together")


def _replay_all(
    cast: RunCast,
    limit: TimeLimit,
    questions: Sequence[ReplayRequest],
    batches: BatchOrder,
) -> dict[AnswerKey, Answer]:
    found: dict[AnswerKey, Answer] = {}
    for question in questions:
        found |= replay_dialogues(cast, limit, replace(question, batches=batches))
    return found


def _first_answers(
    cast: RunCast,
    limit: TimeLimit,
    plan: Plan,
) -> tuple[list[ReplayRequest], dict[AnswerKey, Answer]]:
    """Run a few dialogues of simulated users about each sample; return their prompts and all answers."""
    questions: list[ReplayRequest] = []
    answers: dict[AnswerKey, Answer] = {}
    for sample in cast.dataset.sample_ids[: plan.limit]:
        opened: list[Session] = []

        def open_some(
            cast: RunCast,
            sample: Sample,
            opened: list[Session] = opened,
        ) -> list[Session]:
            sessions = open_sessions(cast, sample)
            random = random_stream(plan.seed, "check", sample.id)
            picks = random.permutation(len(sessions))[:DIALOGUES]
            opened.extend(sessions[index] for index in sorted(picks.tolist()))
            return opened

        answers |= answers_in(run_sample(cast, sample, limit, opening=open_some))
        rounds: dict[ReplayKey, Sequence[RoundPrompts]] = {}
        for session in opened:
            if session.answered:
                key = (session.target.id, session.user_name, session.repeat)
                rounds[key] = session.dialogue.rounds[: session.answered]
        questions.append(ReplayRequest(sample=sample, rounds=rounds))
    answered: dict[AnswerKey, Answer] = {}
    failures: list[str] = []
    for key, answer in answers.items():
        if isinstance(answer, str):
            failures.append(answer)
        else:
            answered[key] = answer
    if not answered:
        why = failures[0] if failures else "the samples have no target"
        raise SegmenterError(f"the segmenter gave no answer; the first failure: {why}")
    return questions, answered
