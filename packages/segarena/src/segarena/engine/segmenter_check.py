"""Do a segmenter's answers depend on the prompts alone? The same questions, asked in every other way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from segarena.abilities import abilities_of_segmenter
from segarena.engine.lockstep import BatchOrder, RunCast, open_sessions, run_sample
from segarena.engine.plan import Plan, make_plan
from segarena.engine.random_streams import random_stream
from segarena.engine.replay import (
    Answer,
    AnswerKey,
    ReplayRequest,
    agreement,
    answers_in,
    replay_cast,
    replay_dialogues,
)
from segarena.engine.sample_job import failure_reason, time_limit_of
from segarena.engine.session import Session
from segarena.engine.time_limit import TimeLimit
from segarena.errors import PluginInvalid, SegarenaError, SegmenterError
from segarena.records.configuration import Agreement
from segarena.registry import build, names
from segarena.samples import Sample
from segarena.specs import Plugin, PluginSpec
from segarena.work.jobs import FunctionJob, UnitFailure
from segarena.work.processes import ProcessExecutor

DIALOGUES = 4
"""So many are held about a sample, two about each target and user at most."""

ROUNDS = 2

Unit = TypeVar("Unit")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class DependenceCheck:
    """Whether answers depend on one thing.

    Attributes:
        on: what, as in "answers depend on ...".
        how: what was done otherwise than when they were asked first.
        found: what came of it.
    """

    on: str
    how: str
    found: Agreement


@dataclass(frozen=True, slots=True)
class _Otherwise:
    """A way to ask again in the process that asked first."""

    on: str
    how: str
    batches: tuple[BatchOrder, ...] = ("together",)
    is_fresh: bool = True
    is_backwards: bool = False


_WAYS = (
    _Otherwise("hidden state or chance", "the same instance is asked once more", is_fresh=False),
    _Otherwise("the instance", "another instance in the same process"),
    _Otherwise(
        "batches", "each dialogue by itself, then beside its own copy", batches=("alone", "paired")
    ),
    _Otherwise(
        "order",
        "dialogues and samples from last to first",
        batches=("reversed",),
        is_backwards=True,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InProcessChecks:
    """What a segmenter was asked first, what it answered, and whether that depends on what is around it."""

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
    """Ask a segmenter the same in several ways; return for each what came of it.

    Users of the benchmark hold a few dialogues of up to two rounds about a few samples; then the same prompts are
    given again. Each way but the first has an instance of its own. Whoever keeps a hidden state or answers by chance
    differs in other ways, too.

    Args:
        segmenter: a plug-in as written.
        dataset: by default that of the benchmark.
        benchmark: whose users ask; by default the first whose samples and prompts the segmenter takes.
        samples: how many, the first ones.
        seed: chooses the dialogues.

    Raises:
        PluginInvalid: no benchmark fits it.
        SegmenterError: it answers nothing, or ends its process.
    """
    written = PluginSpec.of(segmenter)
    chosen = benchmark or fitting_benchmark(written)
    plan = make_plan(
        chosen, segmenter=written, dataset=dataset, repeats=2, limit=samples, seed=seed
    )
    rules = plan.benchmark
    plan = replace(plan, benchmark=replace(rules, rounds=min(ROUNDS, rules.rounds)))
    asked = _in_a_process(check_in_process, plan, plan)
    elsewhere = _in_a_process(_ask_elsewhere, (plan, asked.questions), plan)
    found = agreement(asked.answers, [elsewhere])
    return [
        *asked.dependences,
        DependenceCheck(on="the process", how="another process", found=found),
    ]


def fitting_benchmark(segmenter: PluginSpec) -> str:
    """Return the first benchmark, our own before those of packages, whose samples and prompts a segmenter takes.

    Raises:
        PluginInvalid: there is none.
    """
    built: Any = build("segmenter", segmenter)
    kinds = abilities_of_segmenter(built).sample_kinds
    known = names("benchmark")
    for name in sorted(
        known, key=lambda name: (not known[name].__module__.startswith("segarena."), name)
    ):
        try:
            plan = make_plan(name, segmenter=built)
            if plan.benchmark.sample_kind in kinds:
                plan.cast()
                return name
        except SegarenaError:  # its users ask otherwise, or it needs options or files
            continue
    raise PluginInvalid(
        f"{segmenter}: no benchmark's users and samples fit it; name one with --benchmark"
    )


def _in_a_process(call: Callable[[Unit], Result], unit: Unit, plan: Plan) -> Result:
    with closing(ProcessExecutor(1).map(FunctionJob(call), [unit])) as outcomes:
        (outcome,) = outcomes
    if isinstance(outcome, UnitFailure):
        raise SegmenterError(f"{plan.segmenter}: {failure_reason(outcome, plan)}")
    return outcome.result


def check_in_process(plan: Plan) -> InProcessChecks:
    """Ask the segmenter of a plan, then again in every way that one process allows."""
    cast = replay_cast(plan)
    limit = time_limit_of(plan)
    questions, answers = _ask_first(cast, limit, plan)
    dependences: list[DependenceCheck] = []
    for way in _WAYS:
        if way.is_fresh:
            del cast  # a large model is not held beside the next one
            cast = replay_cast(plan)
        order = questions[::-1] if way.is_backwards else questions
        again = [_ask_all(cast, limit, order, batches) for batches in way.batches]
        dependences.append(DependenceCheck(on=way.on, how=way.how, found=agreement(answers, again)))
    return InProcessChecks(questions=questions, answers=answers, dependences=dependences)


def _ask_elsewhere(asked: tuple[Plan, list[ReplayRequest]]) -> dict[AnswerKey, Answer]:
    plan, questions = asked
    return _ask_all(replay_cast(plan), time_limit_of(plan), questions, "together")


def _ask_all(
    cast: RunCast, limit: TimeLimit, questions: Sequence[ReplayRequest], batches: BatchOrder
) -> dict[AnswerKey, Answer]:
    found: dict[AnswerKey, Answer] = {}
    for question in questions:
        found |= replay_dialogues(cast, limit, replace(question, batches=batches))
    return found


def _ask_first(
    cast: RunCast, limit: TimeLimit, plan: Plan
) -> tuple[list[ReplayRequest], dict[AnswerKey, Answer]]:
    """Let users hold a few dialogues about each sample; return their prompts and all that was answered."""
    questions: list[ReplayRequest] = []
    answers: dict[AnswerKey, Answer] = {}
    for sample in cast.dataset.sample_ids[: plan.limit]:
        opened: list[Session] = []

        def opening(cast: RunCast, sample: Sample, opened: list[Session] = opened) -> list[Session]:
            every = open_sessions(cast, sample)
            picks = random_stream(plan.seed, "check", sample.id).permutation(len(every))[:DIALOGUES]
            opened.extend(every[place] for place in sorted(picks.tolist()))
            return opened

        answers |= answers_in(run_sample(cast, sample, limit, opening=opening))
        rounds = {
            (each.target.id, each.user_name, each.repeat): each.dialogue.rounds[: each.answered]
            for each in opened
            if each.answered
        }
        questions.append(ReplayRequest(sample=sample, rounds=rounds))
    given: dict[AnswerKey, Answer] = {
        key: one for key, one in answers.items() if not isinstance(one, str)
    }
    if not given:
        why = next(
            (answer for answer in answers.values() if isinstance(answer, str)), "there is no target"
        )
        raise SegmenterError(f"nothing was answered; the first failure: {why}")
    return questions, given
