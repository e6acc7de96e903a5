"""Sessions: the rounds of a dialogue, and the only implementation of its rules.

The caller runs the loop: it calls `next()`, lets a model answer and calls `submit()`. The engine
does so with a segmenter, the script of a participant with its own model. The records are the same
in both cases.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from segarena.benchmark_rules import TimeBudget
from segarena.dialogue import Dialogue, as_prediction
from segarena.engine.metric_values import metric_values, part_values
from segarena.engine.mutation_guard import forbid_mutation
from segarena.engine.random_streams import random_stream
from segarena.engine.round_recorder import DialogueKey, RecordedDialogue, RoundRecorder
from segarena.engine.rows import Rows
from segarena.errors import InvalidInput, ProtocolViolation
from segarena.multi_object import AnyComparison, compare_prediction
from segarena.plugin_capabilities import (
    MetricCapabilities,
    UserCapabilities,
    metric_capabilities,
    user_capabilities,
)
from segarena.prompts import MaskPrompt, Prompt, check_prompt
from segarena.readonly import freeze, freeze_mask
from segarena.roles import MOST_PROMPTS, Metric, Turn, User
from segarena.samples import Sample, Support, Target

_FREE_OF_CHARGE = nullcontext()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Settings that all sessions of a run share.

    Attributes:
        benchmark: name of the benchmark; part of every random stream.
        dataset: name of the dataset.
        metrics: metrics computed after each round.
        measures: the metrics with their capabilities.
        judges: names of the metrics in error messages.
        rounds: maximum number of rounds in a dialogue.
        stop_at: (column, value): a dialogue ends as soon as the column reaches the value; None:
            no early stop.
        budget: time budget of a dialogue; None: no limit.
        seed: seed of all random streams.
        keep_rounds: rounds whose masks are stored, in addition to the last round of each dialogue.
        most_prompts: maximum number of prompts from a user in one round.
        check_plugins: whether to check shared arrays for changes after each call
            (`segarena.engine.mutation_guard`).
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
        """Read the capabilities and names of the metrics, once per run."""
        object.__setattr__(self, "measures", tuple(map(metric_capabilities, self.metrics)))
        object.__setattr__(
            self, "judges", ", ".join(type(metric).__name__ for metric in self.metrics)
        )


class Session:
    """The rounds of one dialogue between a user and a segmenter or participant.

    Args:
        rules: settings of the run.
        sample: the sample to segment.
        target: the ground truth.
        start: comparison of the empty prediction with the target; all sessions about the target share it.
        user: the user that gives the prompts.
        user_name: name of the user in the records.
        abilities: capabilities of the user, if they are already known.
        repeat: index of this repetition, from 0.
        clock: returns seconds; measures scoring, and answers that are submitted without their duration.

    Attributes:
        dialogue: all prompts so far and the last answer.
        spent_s: seconds of the time budget used so far.
        is_over: whether the dialogue has ended, so that no further prompts will come.
        failure: error message of a failed dialogue, otherwise "".
        last_values: metric values of the last answer.
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
        key = DialogueKey(
            sample=sample.id,
            target=target.id,
            user=user_name,
            repeat=repeat,
        )
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
        """Number of answered rounds."""
        return self._kept.answered

    @property
    def name(self) -> str:
        """Name of the dialogue in error messages."""
        return self._kept.about.name

    @property
    def judges(self) -> str:
        """Names of the metrics in error messages."""
        return self.rules.judges

    @property
    def key(self) -> dict[str, str | int]:
        """The columns that identify this dialogue in the records."""
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
        """Whether the time budget is exceeded; using exactly the whole budget is allowed."""
        return self.is_late_after(0.0)

    def is_late_after(self, seconds: float) -> bool:
        """Return whether `seconds` more would exceed the time budget."""
        budget = self.rules.budget
        return (
            budget is not None
            and self.spent_s + seconds > budget.seconds_per_object * self.target.objects
        )

    def spend(self, seconds: float) -> None:
        """Charge time outside of answers, such as encoding time, to the budget."""
        self.spent_s += seconds

    def turn(self) -> Turn:
        """Return the turn that the user receives to choose the prompts of the next round."""
        if self._turn is None:
            round_ = len(self.dialogue.rounds) + 1
            self._turn = Turn(
                sample=self.sample,
                target=self.target,
                dialogue=self.dialogue,
                comparison=self._comparison,
                repeat=self.repeat,
                # A stream per round, so that random choices do not depend on earlier rounds or on
                # other dialogues.
                rng=partial(random_stream, self.rules.seed, *self.key.values(), round_),
            )
        return self._turn

    def next(self) -> Dialogue | None:
        """Get the next prompts from the user; return the dialogue, or None once it is over.

        Raises:
            ProtocolViolation: the previous round has not been answered.
            InvalidPrompt: the user gave an invalid prompt, such as one outside the sample.
            InvalidInput: several objects are scored together, but the user can correct only one;
                the user gave more than `most_prompts` prompts, or something other than a list.
        """
        if self._is_asked:
            raise ProtocolViolation(
                f"round {len(self.dialogue.rounds)} is not answered yet; call submit() first"
            )
        # Checked here and not at the start, because only the dialogues of such users should fail.
        if self.target.mask.dtype != np.bool_ and not self.abilities.corrects_objects:
            several = f"target {self.target.id} has {self.target.objects} objects that are scored together"
            raise InvalidInput(f"{several}, but {self.user_name} corrects only one")
        self.is_over = self.is_over or self.is_late
        with self._judging():
            prompts = None if self.is_over else self._ask_user()
        if prompts is None or not (prompts or self.abilities.may_be_silent):
            self.is_over = True
            return None
        for prompt in prompts:
            check_prompt(prompt, self.sample.shape)
            if isinstance(prompt, MaskPrompt | Support):
                # The record and later rounds refer to this mask, so its owner must not change it.
                freeze(prompt.mask)
        self.dialogue = self.dialogue.ask(prompts)
        self._is_asked = True
        self._asked_at = self._clock()
        return self.dialogue

    def _ask_user(self) -> tuple[Prompt, ...] | None:
        turn = self.turn()
        most = self.rules.most_prompts
        with forbid_mutation(f"user {self.user_name}", turn, is_on=self.rules.check_plugins):
            prompts: Any = self.user.next(turn)
            if prompts is not None and not isinstance(prompts, Iterable):
                raise InvalidInput(
                    f"expected a list of prompts, or None, got {type(prompts).__name__}"
                )
            # Take one prompt more than allowed to detect an excess, because a generator may be
            # endless.
            given = None if prompts is None else tuple(islice(prompts, most + 1))
        if given is not None and len(given) > most:
            raise InvalidInput(
                f"{self.user_name} gave more than {most} prompts in one round; most_prompts allows more"
            )
        return given

    def submit(self, answer: Any, seconds: float | None = None) -> Mapping[str, float]:
        """Submit the answer to the last prompts, and return its metric values.

        An answer that exceeds the time budget ends the dialogue: it is discarded, only its duration
        is recorded, and the returned mapping is empty.

        Args:
            answer: a `Prediction`, or a mask of the sample's shape.
            seconds: duration of answering; by default the time since `next()` returned.

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
        # Freeze the mask, because a segmenter may reuse its buffer for the next round.
        prediction = prediction if mask is prediction.mask else replace(prediction, mask=mask)
        self.spent_s += elapsed_s
        # Checked before scoring, so that a late answer gets no values.
        if self.is_late:
            self.drop(elapsed_s)
            return {}
        with self._judging():
            comparison = compare_prediction(prediction.mask, self._comparison)
            values = metric_values(self.rules.measures, comparison, check=self.rules.check_plugins)
            with forbid_mutation("parts of a metric", comparison, is_on=self.rules.check_plugins):
                parts = part_values(self.rules.measures, comparison)
        self._comparison = comparison
        # The next round needs a turn with the new comparison.
        self._turn = None
        self.dialogue = self.dialogue.answer(prediction)
        self._is_asked = False
        self._kept.answer(self.dialogue, elapsed_s, values, parts)
        self.last_values = values
        self.is_over = self.answered >= self.rules.rounds or self._has_reached(values)
        return values

    def drop(self, elapsed_s: float) -> None:
        """Discard a late answer, which ends the dialogue; record only its duration."""
        self._is_asked = False
        self.is_over = True
        self._kept.drop(elapsed_s)

    def fail(self, message: str) -> None:
        """Record this dialogue as failed, and end it."""
        if not self._is_asked:  # the user failed to give prompts
            self.dialogue = self.dialogue.ask(())
        self._kept.failure(self.dialogue, message)
        self.failure = message
        self._is_asked = False
        self.is_over = True

    def rows(self) -> Rows:
        """Return the rows of this dialogue; they always include the mask of the last answered round."""
        return self._kept.rows(self.dialogue)

    def _judging(self) -> AbstractContextManager[None]:
        """Return a context manager that charges the time of its block to the budget, if the budget includes scoring."""
        if self.rules.budget is None or not self.rules.budget.counts_judging:
            return _FREE_OF_CHARGE
        return self._charging()

    @contextmanager
    def _charging(self) -> Generator[None]:
        started = self._clock()
        yield
        self.spent_s += self._clock() - started

    def _has_reached(self, values: Mapping[str, float]) -> bool:
        return (
            self.rules.stop_at is not None
            and values[self.rules.stop_at[0]] >= self.rules.stop_at[1]
        )
