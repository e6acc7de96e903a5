"""Dialogues about one target: the prompts by round, and the last prediction.

A segmenter sees only the dialogue and its own encoding of the sample, never the ground truth, and keeps
no state: data for its next round go into `Prediction.logits`. So each round can be predicted again
from the dialogue alone, on any machine and in any batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal, TypeAlias

import numpy as np

from segarena.errors import PredictionInvalid
from segarena.options import Protocol
from segarena.prompts import Click, Prompt
from segarena.samples import Labels, Mask, Shape


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """A segmenter's answer to one dialogue.

    Attributes:
        mask: bool (or uint8 labels for several objects), shape of the sample.
        logits: any data that the segmenter needs in the next round (SAM: low-resolution logits), or None.
        score: the segmenter's own estimate of its quality, or None.
        candidates: frames of a video in which it requests the next prompts; None lets the user choose.
    """

    mask: Mask | Labels
    logits: Any = None
    score: float | None = None
    candidates: tuple[int, ...] | None = None


Spread: TypeAlias = Literal["stay", "interpolate", "propagate", "extrude"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift:
    """How to extend prompts in a few slices to other slices; implemented by wrappers of image segmenters.

    The effort of a user counts the prompts given, not the slices they are extended to.

    Attributes:
        spread: use of the prompts of the first round. "stay": each belongs to its own slice.
            "interpolate": clicks or boxes are interpolated on the slices between them. "propagate":
            from the prompted slice on, each slice is prompted with the prediction of its
            neighbour, up to the given limits. "extrude": the box of the volume is drawn on every
            slice inside it.
        keeps_prompts: whether a slice with further prompts is predicted from all its prompts so far
            (the "*" of RadioActive's tables); under "published", so is every slice prompted before.
            Otherwise it is predicted from the new prompts only.
        protocol: "careful", or "published" for the published rules where these differ.
    """

    spread: Spread = "stay"
    keeps_prompts: bool = True
    protocol: Protocol = "careful"


@dataclass(frozen=True, slots=True, eq=False)
class Dialogue:
    """The prompts of a dialogue by round, and the prediction of the previous round.

    Attributes:
        rounds: one tuple of prompts per round, the last one not answered yet.
        previous: the answer to the previous round; None in the first round.
        lift: how to extend prompts to other slices; None lets the segmenter choose.
    """

    rounds: tuple[tuple[Prompt, ...], ...] = ()
    previous: Prediction | None = field(default=None, repr=False)
    lift: Lift | None = None

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """All prompts so far, in the order given."""
        return tuple(chain.from_iterable(self.rounds))

    @property
    def clicks(self) -> tuple[Click, ...]:
        """All clicks so far, in the order given."""
        return tuple(
            [prompt for prompt in chain.from_iterable(self.rounds) if isinstance(prompt, Click)]
        )

    @property
    def effort(self) -> float:
        """Sum of the effort of all prompts, in interactions."""
        return sum([prompt.effort for prompt in chain.from_iterable(self.rounds)])

    def ask(self, prompts: tuple[Prompt, ...]) -> Dialogue:
        """Return this dialogue with one more round of prompts."""
        return Dialogue((*self.rounds, prompts), self.previous, self.lift)

    def answer(self, prediction: Prediction) -> Dialogue:
        """Return this dialogue with its last round answered."""
        return Dialogue(self.rounds, prediction, self.lift)

    def previous_mask(self, shape: Shape) -> Mask | Labels:
        """Return the mask of the previous round; all False with `shape` in the first round."""
        return np.zeros(shape, dtype=np.bool_) if self.previous is None else self.previous.mask


def as_prediction(
    answer: Any, shape: Shape, *, objects: int = 1, name: str = "prediction"
) -> Prediction:
    """Check the answer of a segmenter to a dialogue and return it as a `Prediction`.

    An array is the mask. Values of other types than bool must all be 0 or 1 (one object) or integers
    0..255 (several objects): thresholding probabilities is up to the segmenter.

    Args:
        answer: a `Prediction`, or an array that is its mask.
        shape: the shape of the sample.
        objects: how many objects the target has; above 1 the mask holds labels.
        name: how the error names it.

    Raises:
        PredictionInvalid: wrong shape or dtype, NaN, or other values.
    """
    prediction = answer if isinstance(answer, Prediction) else Prediction(mask=answer)
    try:
        mask = np.asarray(prediction.mask)
    except Exception as error:  # conversion of a foreign object may raise any type
        raise PredictionInvalid(
            f"{name}: {type(prediction.mask).__name__} is no mask: {error}"
        ) from error
    if mask.shape != tuple(shape):
        raise PredictionInvalid(
            f"{name}: expected a mask of shape {tuple(shape)}, got {mask.shape}"
        )
    if mask.dtype == np.bool_ or (objects > 1 and mask.dtype == np.uint8):
        return prediction if mask is prediction.mask else replace(prediction, mask=mask)
    if mask.dtype.kind == "f" and not np.isfinite(mask).all():
        raise PredictionInvalid(f"{name}: the mask contains NaN or infinity; return a bool mask")
    highest = 255 if objects > 1 else 1
    is_number = mask.dtype.kind in "iuf"
    is_float = mask.dtype.kind == "f"
    whole = is_number and bool(mask.min(initial=0) >= 0 and mask.max(initial=0) <= highest)
    whole = whole and not (is_float and (mask != np.floor(mask)).any())
    if not whole:
        wanted = "labels 0..255" if objects > 1 else "a bool mask"
        raise PredictionInvalid(
            f"{name}: expected {wanted}, got other {mask.dtype} values; threshold it first"
        )
    return replace(prediction, mask=mask.astype(np.uint8 if objects > 1 else np.bool_))
