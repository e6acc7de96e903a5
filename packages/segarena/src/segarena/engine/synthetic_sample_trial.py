"""A trial before a run whose samples can be used only once: one answer about a synthetic sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

import numpy as np

from segarena.dialogue import Dialogue, as_prediction
from segarena.engine.plugin_errors import describe_error
from segarena.engine.rows import Rows
from segarena.errors import PluginInvalid, PredictionInvalid, WorkStopped
from segarena.plugin_capabilities import prompt_kinds
from segarena.prompts import Support
from segarena.roles import Segmenter
from segarena.samples import Sample
from segarena.segmenters.workers.synthetic_samples import synthetic_prompts, synthetic_sample

_SHAPES: dict[str, tuple[int, ...]] = {
    # Large enough for networks with a minimum size, small enough for a second on a CPU.
    "image": (240, 320),
    "volume": (32, 96, 96),
    "video": (4, 120, 160),
}

_TRIED_KINDS = ("click", "box", "scribble", "lasso", "mask", "support")
"""Kinds of prompts that describe a target alone, in the order in which the trial chooses one."""

_NOT_BEGUN = (
    "the run was not begun, so it uses up no samples. Correct the cause and repeat the command"
)


def check_trial_answer(
    segmenter: Segmenter,
    sample_kind: str,
    given: Iterable[AbstractSet[str] | None],
) -> None:
    """Let a segmenter answer one prompt about a synthetic sample.

    A segmenter that understands none of the prompts that the trial can give is not tried.

    Args:
        segmenter: the segmenter.
        sample_kind: "image", "volume" or "video".
        given: kinds of prompts of each user; None if unknown.

    Raises:
        PluginInvalid: the segmenter raised an error, or its answer is not a mask of the sample's shape.
    """
    kind = _kind_to_try(prompt_kinds(segmenter), given)
    if kind is None:
        return
    shape = _SHAPES[sample_kind]
    try:
        _answer_one_prompt(segmenter, sample_kind, shape, kind)
    except WorkStopped:
        raise
    except Exception as error:
        sides = " x ".join(map(str, shape))
        raise PluginInvalid(
            f"{describe_error(f'a trial on a synthetic {sample_kind} of {sides} failed', error)}; {_NOT_BEGUN}"
        ) from error


class TrialSession:
    """A dialogue of one round about a synthetic sample, for a script that drives the loop itself.

    Args:
        sample_kind: "image", "volume" or "video".
        prompt_kind: kind of the prompt.

    Attributes:
        user_name: always "trial".
        dialogue: the prompt, and the answer once it is submitted.
        is_over: whether the prompt was answered or the script reported a failure.
    """

    name = "trial"
    judges = "the trial"

    def __init__(self, sample_kind: str, prompt_kind: str) -> None:
        shape = _SHAPES[sample_kind]
        self.user_name = "trial"
        self.dialogue = Dialogue(((synthetic_prompts(prompt_kind, shape, 0),),))
        self.is_over = False
        self._sample = synthetic_sample(sample_kind, shape, 0)
        self._is_answered = False

    @property
    def answered(self) -> int:
        """Number of answered rounds, 0 or 1."""
        return int(self._is_answered)

    @property
    def sample(self) -> Sample:
        """The synthetic sample."""
        return self._sample

    def next(self) -> Dialogue | None:
        """Return the dialogue with its prompt, or None after the answer."""
        return None if self.is_over else self.dialogue

    def submit(self, answer: Any, seconds: float | None = None) -> Mapping[str, float]:
        """Check the answer; return no scores.

        Raises:
            PredictionInvalid: the answer has a wrong shape, type or content.
        """
        del seconds
        try:
            prediction = as_prediction(answer, self._sample.shape)
        except PredictionInvalid as error:
            raise PredictionInvalid(f"{error}; {_NOT_BEGUN}") from error
        self.dialogue = replace(self.dialogue, previous=prediction)
        self._is_answered = True
        self.is_over = True
        return {}

    def fail(self, message: str) -> None:
        """End the trial without an answer."""
        del message
        self.is_over = True

    def spend(self, seconds: float) -> None:
        """Ignore the seconds, because the trial has no time budget."""

    def rows(self) -> Rows:
        """Return no rows: the trial is not recorded."""
        return Rows()


def trial_sessions(
    sample_kind: str,
    given: Iterable[AbstractSet[str] | None],
) -> Iterator[TrialSession]:
    """Yield a session about a synthetic sample; none if no user gives a prompt that the trial can give.

    Args:
        sample_kind: "image", "volume" or "video".
        given: kinds of prompts of each user; None if unknown.

    Raises:
        PredictionInvalid: the script requested the next session without answering this one.
    """
    kind = _kind_to_try(None, given)
    if kind is None:
        return
    session = TrialSession(sample_kind, kind)
    yield session
    if not session.answered:
        raise PredictionInvalid(
            f"expected an answer about the synthetic {sample_kind}, got none; {_NOT_BEGUN}"
        )


def _kind_to_try(
    understood: AbstractSet[str] | None,
    given: Iterable[AbstractSet[str] | None],
) -> str | None:
    kinds: set[str] = set()
    for of_user in given:
        kinds |= set(_TRIED_KINDS) if of_user is None else of_user
    for kind in _TRIED_KINDS:
        if kind in kinds and (understood is None or kind in understood):
            return kind
    return None


def _answer_one_prompt(
    segmenter: Segmenter,
    sample_kind: str,
    shape: tuple[int, ...],
    kind: str,
) -> None:
    encoded = segmenter.encode(synthetic_sample(sample_kind, shape, 0))
    prompt = synthetic_prompts(kind, shape, 0)
    if isinstance(prompt, Support):
        prompt = replace(prompt, encoded=segmenter.encode(prompt.sample))
    predictions: Any = segmenter.predict(encoded, [Dialogue(((prompt,),))])
    is_one_mask = isinstance(predictions, np.ndarray) and predictions.shape == shape
    if is_one_mask or not isinstance(predictions, Iterable) or isinstance(predictions, (dict, str)):
        kind = "one mask" if is_one_mask else f"a {type(predictions).__name__}"
        raise PredictionInvalid(
            f"expected a list with one prediction for each dialogue, got {kind}"
        )
    answers = list(predictions)
    if len(answers) != 1:
        raise PredictionInvalid(f"expected 1 prediction, got {len(answers)}")
    as_prediction(answers[0], shape)
