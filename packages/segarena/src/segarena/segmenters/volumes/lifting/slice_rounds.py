"""One dialogue about a volume, carried on as dialogues about its slices.

A conversation is a generator: it yields what it wants to know of slices, gets the answers, and returns the volume's
prediction. So a caller that drives several of them can ask about each slice once for all.
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
    """What a lift wants handed back with the next round.

    Attributes:
        logits: of each slice predicted so far what the image segmenter wants handed back.
        propagated: what each slice was asked by a propagation, which cannot be found again without predicting.
    """

    logits: dict[int, Any]
    propagated: SlicePrompts


@dataclass(frozen=True, slots=True)
class _Before:
    """How things stood before this round: the volume's mask, and what the image segmenter wanted back."""

    mask: Mask
    logits: Mapping[int, Any]
    propagated: SlicePrompts

    @classmethod
    def of(cls, dialogue: Dialogue, shape: Shape) -> _Before:
        drawn = [prompt for prompt in dialogue.rounds[-1] if isinstance(prompt, MaskPrompt)]
        handed: Any = None if dialogue.previous is None else dialogue.previous.logits
        kept = (
            handed if isinstance(handed, dict) else {}
        )  # a previous mask may come from elsewhere, without logits
        propagated = kept.get("propagated", {})
        if drawn:
            return cls(drawn[-1].mask, {}, propagated)
        previous = dialogue.previous_mask(shape).astype(np.bool_, copy=False)
        return cls(previous, kept.get("logits", {}), propagated)

    def on(self, plane: int, *, is_published: bool) -> Prediction | None:
        """Return the last prediction of a slice, None when there is none."""
        known = plane in self.logits
        if known or (self.mask[plane].any() and not is_published):
            return Prediction(self.mask[plane], self.logits.get(plane))
        return None


def answer_by_slices(
    dialogue: Dialogue, shape: Shape, kinds: Collection[str], lift: Lift
) -> Generator[SliceDialogues, SlicePredictions, Prediction]:
    """Ask about slices until this round is answered.

    In the first round prompts are spread as `lift` says. Later prompts stay on their slices: these are predicted again,
    with `lift.keeps_prompts` from all their prompts so far, otherwise from the new ones. All other slices stay as
    they were. Nothing outside the newest limits of each axis is asked about or belongs to the answer. A mask drawn in
    this round takes the place of the previous one.

    "careful": a slice gets back the mask and the logits of its last prediction, however long ago.
    "published": only if it was predicted in the round before; and with `lift.keeps_prompts` every slice prompted so
    far is predicted again, prompted anew or not (the paper says that only slices prompted anew are).
    `kinds` are those that the image segmenter understands.
    """
    is_published = lift.protocol == "published"
    before = _Before.of(dialogue, shape)
    limits = limits_window(dialogue.prompts, shape)
    propagated = before.propagated
    if len(dialogue.rounds) == 1 and lift.spread == "propagate":
        seeds = _inside(_said(dialogue, 0, shape, kinds, lift), limits[0])
        answers, propagated = yield from propagate(
            seeds, limits[0].start, limits[0].stop - 1, lift.protocol
        )
    else:
        asked = _inside(_asked(dialogue, shape, kinds, lift, propagated), limits[0])
        dialogues = {
            plane: Dialogue(rounds, previous=before.on(plane, is_published=is_published))
            for plane, rounds in asked.items()
        }
        answers = yield dialogues
    logits = {} if is_published else dict(before.logits)
    logits |= {plane: answer.logits for plane, answer in sorted(answers.items())}
    return Prediction(
        mask=_merged(before.mask, answers, limits),
        logits=SliceLogits(logits=logits, propagated=propagated),
        score=_mean_score(answers),
    )


def _asked(
    dialogue: Dialogue, shape: Shape, kinds: Collection[str], lift: Lift, propagated: SlicePrompts
) -> dict[int, tuple[tuple[Prompt, ...], ...]]:
    """Return what slices are asked in this round: one tuple of prompts per round that said something there."""
    newest = len(dialogue.rounds) - 1
    numbers = range(newest + 1) if lift.keeps_prompts else (newest,)
    said = [
        propagated if number == 0 and propagated else _said(dialogue, number, shape, kinds, lift)
        for number in numbers
    ]
    planes = sorted(set[int]().union(*said) if lift.protocol == "published" else said[-1])
    return {plane: tuple(there[plane] for there in said if plane in there) for plane in planes}


def _said(
    dialogue: Dialogue, number: int, shape: Shape, kinds: Collection[str], lift: Lift
) -> SlicePrompts:
    """Return what the prompts of a round say on each slice; those of the first one are spread."""
    is_opening = number == 0
    prompts = dialogue.rounds[number]
    prompts = spread_prompts(prompts, lift.spread) if is_opening else prompts
    return draw_on_slices(prompts, kinds, shape, is_opening=is_opening, protocol=lift.protocol)


_OnPlanes = TypeVar("_OnPlanes")


def _inside(said: Mapping[int, _OnPlanes], limits: slice) -> dict[int, _OnPlanes]:
    return {plane: there for plane, there in said.items() if limits.start <= plane < limits.stop}


def _merged(before: Mask, answers: SlicePredictions, limits: Window) -> Mask:
    """Return the slices answered now and, for all others, what was there before; nothing outside the limits."""
    merged = np.zeros(before.shape, dtype=np.bool_)
    merged[limits] = before[limits]
    for plane, answer in answers.items():
        merged[plane, *limits[1:]] = answer.mask[limits[1:]]
    return merged


def _mean_score(answers: SlicePredictions) -> float | None:
    scores = [answer.score for answer in answers.values() if answer.score is not None]
    return sum(scores) / len(scores) if scores else None
