"""A trial before a run whose samples can be used only once: one answer about a synthetic sample."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

import numpy as np

from segarena.capabilities import prompt_kinds
from segarena.dialogue import Dialogue, as_prediction
from segarena.engine.plugin_errors import describe_error
from segarena.errors import PluginInvalid, PredictionInvalid, WorkStopped
from segarena.prompts import Support
from segarena.roles import Segmenter
from segarena.segmenters.workers.synthetic_samples import synthetic_prompts, synthetic_sample

_SHAPES: dict[str, tuple[int, ...]] = {
    # Large enough for networks with a minimum size, small enough for a second on a CPU.
    "image": (240, 320),
    "volume": (32, 96, 96),
    "video": (4, 120, 160),
}

_TRIED_KINDS = ("click", "box", "scribble", "lasso", "mask", "support")
"""Kinds of prompts that describe a target alone, in the order in which the trial chooses one."""


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
    kind = _kind_to_try(segmenter, given)
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
            f"{describe_error(f'a trial on a synthetic {sample_kind} of {sides} failed', error)}; the run was not "
            "begun, so it uses up no samples. Correct the cause and repeat the command"
        ) from error


def _kind_to_try(segmenter: Segmenter, given: Iterable[AbstractSet[str] | None]) -> str | None:
    understood = prompt_kinds(segmenter)
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
