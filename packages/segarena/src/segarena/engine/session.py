"""A session: the rounds of one dialogue, and the only place where its rules are written.

Either end may hold the loop. The engine takes `next()`, asks a segmenter and calls `submit()`; a participant's
own script does the same with its own model; later a server and a browser do. All of them leave the same
records.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from segarena.benchmark_rules import TimeBudget
from segarena.capabilities import (
    MetricCapabilities,
    UserCapabilities,
    metric_capabilities,
    user_capabilities,
)
from segarena.dialogue import Dialogue, as_prediction
from segarena.engine.metric_values import metric_values, part_values
from segarena.engine.mutation_guard import forbid_mutation
from segarena.engine.random_streams import random_stream
from segarena.engine.round_recorder import DialogueKey, RecordedDialogue, RoundRecorder
from segarena.engine.rows import Rows
from segarena.errors import InvalidInput, ProtocolViolation
from segarena.multi_object import AnyComparison, compare_prediction
from segarena.prompts import MaskPrompt, Prompt, check_prompt
from segarena.readonly import freeze, freeze_mask
from segarena.roles import MOST_PROMPTS, Metric, Turn, User
from segarena.samples import Sample, Support, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What all sessions of a run have in common.

    Attributes:
        benchmark: its name; part of every random stream.
        dataset: its name.
        metrics: what is measured after each round.
        measures: the same, with what each can do.
        judges: what errors call them.
        rounds: the most rounds a dialogue may have.
        stop_at: (column, value): the dialogue ends as soon as the column reaches the value; None goes on.
        budget: what time a dialogue has; None: no limit.
        seed: of all random streams.
        keep_rounds: after which rounds masks are kept; the last of a dialogue always is.
        most_prompts: that a user may give in one round.
        check_plugins: whether each call is followed by a look at all that is shared (`segarena.engine.mutation_guard`).
    """

    benchmark: str
    dataset: str
    metrics: tuple[Metric, ...]
    rounds: int
    stop_at: tuple[str, float] | None = None
    budget: TimeBudget | None = None
    seed: int = 0
    keep_rounds: tuple[int, ...] = ()
    most_prompts: int = MOST_PROMPTS
    check_plugins: bool = False
    measures: tuple[MetricCapabilities, ...] = field(init=False)
    judges: str = field(init=False)

    def __post_init__(self) -> None:
        """Look at the metrics, once for the run."""
        object.__setattr__(self, "measures", tuple(map(metric_capabilities, self.metrics)))
        object.__setattr__(
            self, "judges", ", ".join(type(metric).__name__ for metric in self.metrics)
        )


class Session:
    """The rounds of one dialogue between a user and a segmenter, or a participant in its place.

    Args:
        rules: of the run.
        sample: what is looked at.
        target: what is to be segmented.
        start: the empty prediction against the target; shared by all sessions about it.
        user: who gives the prompts.
        user_name: as it appears in the records.
        abilities: of the user, when they were looked at before.
        repeat: number of this repetition, from 0.
        clock: seconds since some fixed moment; measures the time to answer when nobody else does.

    Attributes:
        dialogue: all prompts so far and the last answer.
        spent_s: what has been taken off the dialogue's time so far.
        is_over: no further prompts will come.
        failure: what went wrong; "" when nothing did.
        last_values: what was measured of the last answer.
    """

    def __init__(
        self,
        *,
        rules: Rules,
        sample: Sample,
        target: Target,
        start: AnyComparison,
        user: User,
        user_name: str,
        abilities: UserCapabilities | None = None,
        repeat: int = 0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.rules = rules
        self.sample = sample
        self.target = target
        self.user_name = user_name
        self.repeat = repeat
        self.abilities = user_capabilities(user) if abilities is None else abilities
        self.dialogue = Dialogue(lift=self.abilities.lift)
        self.is_over = False
        self.failure = ""
        self.last_values: Mapping[str, float] = {}
        self.spent_s = 0.0
        key = DialogueKey(sample=sample.id, target=target.id, user=user_name, repeat=repeat)
        about = RecordedDialogue(
            benchmark=rules.benchmark,
            dataset=rules.dataset,
            key=key,
            label=target.label,
            attributes=target.attributes,
            objects=target.objects,
        )
        self._kept = RoundRecorder(about, rules.keep_rounds)
        self._comparison = start
        self.user = user
        self._is_asked = False
        self._asked_at = 0.0
        self._turn: Turn | None = None
        self._clock = clock

    @property
    def answered(self) -> int:
        """Rounds that have been answered."""
        return self._kept.answered

    @property
    def name(self) -> str:
        """What errors call it."""
        return self._kept.about.name

    @property
    def judges(self) -> str:
        """What errors call those who judge."""
        return self.rules.judges

    @property
    def key(self) -> dict[str, str | int]:
        """The columns that name this dialogue in the records."""
        sample = self.sample.id
        target = self.target.id
        user = self.user_name
        repeat = self.repeat
        own: dict[str, str | int] = {
            "sample": sample,
            "target": target,
            "user": user,
            "repeat": repeat,
        }
        return {"benchmark": self.rules.benchmark, "dataset": self.rules.dataset, **own}

    @property
    def is_late(self) -> bool:
        """Whether more time was spent than the dialogue has; exactly as much is not late."""
        return self.is_late_after(0.0)

    def is_late_after(self, seconds: float) -> bool:
        """Tell whether more time than the dialogue has will be spent when `seconds` more are."""
        budget = self.rules.budget
        return (
            budget is not None
            and self.spent_s + seconds > budget.seconds_per_object * self.target.objects
        )

    def spend(self, seconds: float) -> None:
        """Take time off that belongs to no answer, such as encoding or a participant's work between two answers."""
        self.spent_s += seconds

    def turn(self) -> Turn:
        """Return what the user looks at when asked for the prompts of the next round."""
        if self._turn is None:
            round_ = len(self.dialogue.rounds) + 1
            self._turn = Turn(
                sample=self.sample,
                target=self.target,
                dialogue=self.dialogue,
                comparison=self._comparison,
                repeat=self.repeat,
                rng=random_stream(self.rules.seed, *self.key.values(), round_),
            )
        return self._turn

    def next(self) -> Dialogue | None:
        """Ask the user for the prompts of the next round; return the dialogue to answer, None at the end.

        Raises:
            ProtocolViolation: the round before has not been answered.
            InvalidPrompt: the user gave a prompt outside the sample.
            InvalidInput: several objects are judged together, and the user corrects one; or the user gave too many.
        """
        if self._is_asked:
            raise ProtocolViolation(
                f"round {len(self.dialogue.rounds)} is not answered yet; call submit() first"
            )
        if self.target.mask.dtype != np.bool_ and not self.abilities.corrects_objects:
            several = f"target {self.target.id} has {self.target.objects} objects judged together"
            raise InvalidInput(f"{several}; {self.user_name} corrects one")
        self.is_over = self.is_over or self.is_late
        with self._judging():
            prompts = None if self.is_over else self._ask_user()
        if prompts is None or not (prompts or self.abilities.may_be_silent):
            self.is_over = True
            return None
        for prompt in prompts:
            check_prompt(prompt, self.sample.shape)
            if isinstance(prompt, MaskPrompt | Support):
                freeze(prompt.mask)
        self.dialogue = self.dialogue.ask(prompts)
        self._is_asked = True
        self._asked_at = self._clock()
        return self.dialogue

    def _ask_user(self) -> tuple[Prompt, ...] | None:
        turn = self.turn()
        most = self.rules.most_prompts
        with forbid_mutation(f"user {self.user_name}", turn, is_on=self.rules.check_plugins):
            prompts = self.user.next(turn)
            given = None if prompts is None else tuple(islice(prompts, most + 1))
        if given is not None and len(given) > most:
            raise InvalidInput(
                f"{self.user_name} gave more than {most} prompts in one round; most_prompts allows more"
            )
        return given

    def submit(self, answer: Any, seconds: float | None = None) -> Mapping[str, float]:
        """Take the answer to the last prompts, judge it, and return the measured values.

        An answer that comes when the dialogue's time is over is dropped and ends it: nothing is judged, nothing is
        returned, and only its seconds are recorded.

        Args:
            answer: a `Prediction` or a bare mask of the sample's shape.
            seconds: what answering took; by default the time since `next()` returned.

        Raises:
            ProtocolViolation: no prompts are waiting for an answer.
            PredictionInvalid: the answer has the wrong shape, type or content. The round stays open.
        """
        if not self._is_asked:
            raise ProtocolViolation("there are no prompts to answer; call next() first")
        elapsed_s = self._clock() - self._asked_at if seconds is None else seconds
        name = f"answer for {self.name}"
        objects = self._kept.about.objects
        prediction = as_prediction(answer, self.sample.shape, objects=objects, name=name)
        mask = freeze_mask(prediction.mask)
        prediction = prediction if mask is prediction.mask else replace(prediction, mask=mask)
        self.spent_s += elapsed_s
        if self.is_late:
            self.drop(elapsed_s)
            return {}
        with self._judging():
            comparison = compare_prediction(prediction.mask, self._comparison)
            values = metric_values(self.rules.measures, comparison, check=self.rules.check_plugins)
            with forbid_mutation("parts of a metric", comparison, is_on=self.rules.check_plugins):
                parts = part_values(self.rules.measures, comparison)
        self._comparison = comparison
        self._turn = None
        self.dialogue = self.dialogue.answer(prediction)
        self._is_asked = False
        self._kept.answer(self.dialogue, elapsed_s, values, parts)
        self.last_values = values
        self.is_over = self.answered >= self.rules.rounds or self._has_reached(values)
        return values

    def drop(self, elapsed_s: float) -> None:
        """Let an answer be too late, which ends the dialogue: nothing is judged, only its seconds are recorded."""
        self._is_asked = False
        self.is_over = True
        self._kept.drop(elapsed_s)

    def fail(self, message: str) -> None:
        """Record that this dialogue went wrong, and end it."""
        if not self._is_asked:  # the prompts themselves could not be had
            self.dialogue = self.dialogue.ask(())
        self._kept.failure(self.dialogue, message)
        self.failure = message
        self._is_asked = False
        self.is_over = True

    def rows(self) -> Rows:
        """Return what this dialogue leaves; the mask of the last answered round is always among it."""
        return self._kept.rows(self.dialogue)

    @contextmanager
    def _judging(self) -> Generator[None]:
        """Take what is done inside off the dialogue's time, where the rules say so."""
        if self.rules.budget is None or not self.rules.budget.counts_judging:
            yield
            return
        started = self._clock()
        yield
        self.spent_s += self._clock() - started

    def _has_reached(self, values: Mapping[str, float]) -> bool:
        return (
            self.rules.stop_at is not None
            and values[self.rules.stop_at[0]] >= self.rules.stop_at[1]
        )
