"""Answer a dialogue about a volume by dialogues about its slices.

`answer_by_slices` is a generator: it yields dialogues about slices, receives their predictions, and
returns the volume's prediction. So a caller that drives several of them can predict each slice for
all of them in one call.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar

import numpy as np

from segarena.arrays.boxes import Window
from segarena.dialogue import Dialogue, Lift, Prediction
from segarena.prompts import MaskPrompt, Prompt
from segarena.samples import Mask, Shape
from segarena.segmenters.volumes.lifting.prompt_spreading import spread_prompts
from segarena.segmenters.volumes.lifting.propagation import (
    SliceDialogues,
    SlicePredictions,
    propagate,
)
from segarena.segmenters.volumes.lifting.slice_prompts import (
    SlicePrompts,
    draw_on_slices,
    limits_window,
)


class SliceLogits(TypedDict):
    """Logits of a slice-wise prediction.

    Attributes:
        logits: of the image segmenter, by slice predicted so far.
        propagated: prompts by slice from a propagation, which only new predictions could restore.
    """

    logits: dict[int, Any]
    propagated: SlicePrompts


@dataclass(frozen=True, slots=True)
class _PreviousRound:
    """State before this round: the volume's mask, and logits and propagated prompts by slice."""

    mask: Mask
    logits: Mapping[int, Any]
    propagated: SlicePrompts

    @classmethod
    def of(cls, dialogue: Dialogue, shape: Shape) -> _PreviousRound:
        drawn = [prompt for prompt in dialogue.rounds[-1] if isinstance(prompt, MaskPrompt)]
        handed: Any = None if dialogue.previous is None else dialogue.previous.logits
        # A previous mask may come from another segmenter, without logits of this form.
        kept = handed if isinstance(handed, dict) else {}
        propagated = kept.get("propagated", {})
        if drawn:
            return cls(drawn[-1].mask, {}, propagated)
        previous = dialogue.previous_mask(shape).astype(np.bool_, copy=False)
        return cls(previous, kept.get("logits", {}), propagated)

    def on(self, plane: int, *, is_published: bool) -> Prediction | None:
        """Return the last prediction of a slice; None without one."""
        known = plane in self.logits
        if known or (self.mask[plane].any() and not is_published):
            return Prediction(self.mask[plane], self.logits.get(plane))
        return None


def answer_by_slices(
    dialogue: Dialogue, shape: Shape, kinds: Collection[str], lift: Lift
) -> Generator[SliceDialogues, SlicePredictions, Prediction]:
    """Yield dialogues about slices until this round is answered.

    In the first round prompts are spread according to `lift`. Later prompts stay on their slices,
    which are predicted again: with `lift.keeps_prompts` from all their prompts so far, otherwise from
    the new ones. All other slices stay unchanged. Slices and pixels outside of the newest limits of
    each axis are neither predicted nor part of the answer. A mask drawn in this round replaces the
    previous one.

    "careful": a slice gets the mask and logits of its last prediction, of whatever round.
    "published": only if it was predicted in the previous round; and with `lift.keeps_prompts` every
    slice prompted so far is predicted again, with or without new prompts (the paper says only slices
    with new prompts).

    Args:
        dialogue: about the volume.
        shape: (D, H, W).
        kinds: prompt kinds of the image segmenter.
        lift: spreading, protocol and memory of prompts.
    """
    is_published = lift.protocol == "published"
    before = _PreviousRound.of(dialogue, shape)
    limits = limits_window(dialogue.prompts, shape)
    propagated = before.propagated
    if len(dialogue.rounds) == 1 and lift.spread == "propagate":
        seeds = _within_limits(_prompts_by_slice(dialogue, 0, shape, kinds, lift), limits[0])
        answers, propagated = yield from propagate(
            seeds, limits[0].start, limits[0].stop - 1, lift.protocol
        )
    else:
        asked = _within_limits(
            _rounds_by_slice(dialogue, shape, kinds, lift, propagated), limits[0]
        )
        dialogues = {
            plane: Dialogue(rounds, previous=before.on(plane, is_published=is_published))
            for plane, rounds in asked.items()
        }
        answers = yield dialogues
    logits = {} if is_published else dict(before.logits)
    logits |= {plane: answer.logits for plane, answer in sorted(answers.items())}
    return Prediction(
        mask=_merge_slices(before.mask, answers, limits),
        logits=SliceLogits(logits=logits, propagated=propagated),
        score=_mean_score(answers),
    )


def _rounds_by_slice(
    dialogue: Dialogue, shape: Shape, kinds: Collection[str], lift: Lift, propagated: SlicePrompts
) -> dict[int, tuple[tuple[Prompt, ...], ...]]:
    """Return the slices to predict: one tuple of prompts per round with prompts on that slice."""
    newest = len(dialogue.rounds) - 1
    numbers = range(newest + 1) if lift.keeps_prompts else (newest,)
    said = [
        propagated
        if number == 0 and propagated
        else _prompts_by_slice(dialogue, number, shape, kinds, lift)
        for number in numbers
    ]
    planes = sorted(set[int]().union(*said) if lift.protocol == "published" else said[-1])
    return {plane: tuple(there[plane] for there in said if plane in there) for plane in planes}


def _prompts_by_slice(
    dialogue: Dialogue, number: int, shape: Shape, kinds: Collection[str], lift: Lift
) -> SlicePrompts:
    """Return the prompts of a round by slice; those of the first round are spread."""
    is_opening = number == 0
    prompts = dialogue.rounds[number]
    prompts = spread_prompts(prompts, lift.spread) if is_opening else prompts
    return draw_on_slices(prompts, kinds, shape, is_opening=is_opening, protocol=lift.protocol)


_OnPlanes = TypeVar("_OnPlanes")


def _within_limits(said: Mapping[int, _OnPlanes], limits: slice) -> dict[int, _OnPlanes]:
    return {plane: there for plane, there in said.items() if limits.start <= plane < limits.stop}


def _merge_slices(before: Mask, answers: SlicePredictions, limits: Window) -> Mask:
    """Return the new slices, and the previous mask elsewhere; empty outside of the limits."""
    merged = np.zeros(before.shape, dtype=np.bool_)
    merged[limits] = before[limits]
    for plane, answer in answers.items():
        merged[plane, *limits[1:]] = answer.mask[limits[1:]]
    return merged


def _mean_score(answers: SlicePredictions) -> float | None:
    scores = [answer.score for answer in answers.values() if answer.score is not None]
    return sum(scores) / len(scores) if scores else None
