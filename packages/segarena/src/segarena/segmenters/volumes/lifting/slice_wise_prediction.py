"""Predicts a dialogue about a volume by dialogues about its slices.

`answer_by_slices` is a generator: it yields dialogues about slices, receives their predictions, and
returns the prediction of the volume. A caller that runs several of these generators can predict
each slice for all of them in one call.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypedDict, TypeVar

import numpy as np

from segarena.arrays.boxes import Window
from segarena.dialogue import Dialogue, Lift, Prediction
from segarena.prompts import (
    Box,
    Click,
    DrawnPrompt,
    Lasso,
    Limits,
    MaskPrompt,
    Prompt,
    Scribble,
)
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
from segarena.serialization import plain_numbers


class SliceLogits(TypedDict):
    """Logits of a slice-wise prediction, as values that can be sent to another process (`segarena.worker.flatten`).

    Attributes:
        logits: logits of the image segmenter, by number of the slice, for slices predicted so far.
        propagated: kind and fields of the prompts that a propagation created, by number of the slice; restoring them
            would require new predictions.
    """

    logits: dict[str, Any]
    propagated: dict[str, list[dict[str, Any]]]


_PROMPTS: Mapping[str, type[DrawnPrompt | MaskPrompt]] = {
    kind.kind: kind for kind in (Click, Box, Limits, Scribble, Lasso, MaskPrompt)
}


@dataclass(frozen=True, slots=True)
class _PreviousRound:
    """State before this round: the mask of the volume, and logits and propagated prompts by slice."""

    mask: Mask
    logits: Mapping[int, Any]
    propagated: SlicePrompts

    @classmethod
    def of(cls, dialogue: Dialogue, shape: Shape) -> _PreviousRound:
        """Return the mask and logits before this round; a mask prompt replaces the previous mask."""
        drawn = [prompt for prompt in dialogue.rounds[-1] if isinstance(prompt, MaskPrompt)]
        earlier: Any = None if dialogue.previous is None else dialogue.previous.logits
        # The previous mask may come from another segmenter, whose logits have another form.
        stored = earlier if isinstance(earlier, dict) else {}
        propagated = _read_prompts(stored.get("propagated", {}))
        if drawn:
            return cls(drawn[-1].mask, {}, propagated)
        previous = dialogue.previous_mask(shape).astype(np.bool_, copy=False)
        logits = {int(plane): value for plane, value in stored.get("logits", {}).items()}
        return cls(previous, logits, propagated)

    def on(self, plane: int, *, is_published: bool) -> Prediction | None:
        """Return the previous prediction of a slice; without logits, None if the mask is empty or `is_published`."""
        mask = self.mask[plane]
        logits = self.logits.get(plane)
        # The published code passes on logits only, so a slice without logits has no mask prompt.
        has_mask = bool(mask.any()) and not is_published
        if plane in self.logits or has_mask:
            return Prediction(mask, logits)
        return None


def answer_by_slices(
    dialogue: Dialogue,
    shape: Shape,
    kinds: Collection[str],
    lift: Lift,
) -> Generator[SliceDialogues, SlicePredictions, Prediction]:
    """Yield dialogues about slices until this round is answered.

    In the first round, prompts are spread according to `lift`. Later prompts stay on their slices,
    and only these slices are predicted again, from all their prompts so far with
    `lift.keeps_prompts`, otherwise from the new ones. All other slices stay unchanged. Slices and
    pixels outside the newest limits of each axis are not predicted, and are empty in the result. A
    mask drawn in this round replaces the previous mask.

    With "careful", a slice gets the mask and logits of its last prediction, of whatever round. With
    "published", it gets them only if it was predicted in the previous round; and with
    `lift.keeps_prompts` every slice prompted so far is predicted again, even without new prompts
    (the paper says only slices with new prompts are).

    Args:
        dialogue: dialogue about the volume.
        shape: (D, H, W).
        kinds: prompt kinds of the image segmenter.
        lift: how prompts spread, the protocol, and whether earlier prompts are kept.
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
        dialogues: dict[int, Dialogue] = {}
        for plane, rounds in asked.items():
            previous = before.on(plane, is_published=is_published)
            dialogues[plane] = Dialogue(rounds, previous=previous)
        answers = yield dialogues
    logits = {} if is_published else dict(before.logits)
    logits |= {plane: answer.logits for plane, answer in sorted(answers.items())}
    return Prediction(
        mask=_merge_slices(before.mask, answers, limits),
        logits=SliceLogits(
            logits={str(plane): value for plane, value in logits.items()},
            propagated=_plain_prompts(propagated),
        ),
        score=_mean_score(answers),
    )


def _plain_prompts(by_slice: SlicePrompts) -> dict[str, list[dict[str, Any]]]:
    """Return prompts by slice as values that can be sent."""
    plain: dict[str, list[dict[str, Any]]] = {}
    for plane, prompts in by_slice.items():
        plain[str(plane)] = [_plain_prompt(prompt) for prompt in prompts]
    return plain


def _plain_prompt(prompt: Prompt) -> dict[str, Any]:
    plain: dict[str, Any] = {"kind": prompt.kind}
    for field in fields(prompt):
        plain[field.name] = plain_numbers(getattr(prompt, field.name))
    return plain


def _read_prompts(plain: Mapping[str, Sequence[Mapping[str, Any]]]) -> SlicePrompts:
    """Return the prompts of `_plain_prompts`."""
    by_slice: SlicePrompts = {}
    for plane, prompts in plain.items():
        read: list[Prompt] = []
        for prompt in prompts:
            values = {name: value for name, value in prompt.items() if name != "kind"}
            read.append(_PROMPTS[prompt["kind"]](**values))
        by_slice[int(plane)] = tuple(read)
    return by_slice


def _rounds_by_slice(
    dialogue: Dialogue,
    shape: Shape,
    kinds: Collection[str],
    lift: Lift,
    propagated: SlicePrompts,
) -> dict[int, tuple[tuple[Prompt, ...], ...]]:
    """Return, for each slice to predict, its prompts by round, without the rounds that have none on this slice."""
    newest = len(dialogue.rounds) - 1
    numbers = range(newest + 1) if lift.keeps_prompts else (newest,)
    rounds: list[SlicePrompts] = []
    for number in numbers:
        if number == 0 and propagated:
            rounds.append(propagated)
        else:
            rounds.append(_prompts_by_slice(dialogue, number, shape, kinds, lift))
    # The published code predicts every slice prompted so far again, but the paper only slices with
    # a new prompt.
    changed = set[int]().union(*rounds) if lift.protocol == "published" else set(rounds[-1])
    by_slice: dict[int, tuple[tuple[Prompt, ...], ...]] = {}
    for plane in sorted(changed):
        by_slice[plane] = tuple(prompts[plane] for prompts in rounds if plane in prompts)
    return by_slice


def _prompts_by_slice(
    dialogue: Dialogue,
    number: int,
    shape: Shape,
    kinds: Collection[str],
    lift: Lift,
) -> SlicePrompts:
    """Return the prompts of a round by slice; prompts of the first round are spread."""
    is_opening = number == 0
    prompts = dialogue.rounds[number]
    prompts = spread_prompts(prompts, lift.spread) if is_opening else prompts
    return draw_on_slices(prompts, kinds, shape, is_opening=is_opening, protocol=lift.protocol)


_OnPlanes = TypeVar("_OnPlanes")


def _within_limits(prompts: Mapping[int, _OnPlanes], limits: slice) -> dict[int, _OnPlanes]:
    planes = range(limits.start, limits.stop)
    return {plane: on_plane for plane, on_plane in prompts.items() if plane in planes}


def _merge_slices(
    before: Mask,
    answers: SlicePredictions,
    limits: Window,
) -> Mask:
    """Merge the new slices with the previous mask; the result is empty outside the limits."""
    # As published, slices that were not predicted in this round keep their mask.
    merged = np.zeros(before.shape, dtype=np.bool_)
    merged[limits] = before[limits]
    for plane, answer in answers.items():
        merged[plane, *limits[1:]] = answer.mask[limits[1:]]
    return merged


def _mean_score(answers: SlicePredictions) -> float | None:
    scores = [answer.score for answer in answers.values() if answer.score is not None]
    if not scores:
        return None
    return sum(scores) / len(scores)
