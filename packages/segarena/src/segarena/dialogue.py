"""Dialogues about one target: the prompts of each round, and the last prediction.

A segmenter sees only the dialogue and its own encoding of the sample, never the ground truth, and
keeps no state; data for its next round go into `Prediction.logits`. Every round can therefore be
predicted again from the dialogue alone, on any machine and in any batch.
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

_MAX_NAMED = 4
"""Maximum number of keys, types or values that a message about a wrong answer lists."""


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """A segmenter's answer to one dialogue.

    Attributes:
        mask: bool (or uint8 labels for several objects), shape of the sample.
        logits: any data that the segmenter needs in the next round (SAM: low-resolution logits), or None.
        score: the segmenter's own estimate of its quality, or None.
        candidates: frames of a video in which the segmenter requests the next prompts; None lets the user choose.
    """

    mask: Mask | Labels
    logits: Any = None
    score: float | None = None
    candidates: tuple[int, ...] | None = None


Spread: TypeAlias = Literal["stay", "interpolate", "propagate", "extrude"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift:
    """Rules for extending prompts in a few slices to other slices; wrappers of image segmenters apply them.

    The effort of a user counts the prompts that the user gave, not the slices to which they are
    extended.

    Attributes:
        spread: how prompts of the first round are used. "stay": each prompt applies to its own slice only.
            "interpolate": clicks or boxes are interpolated on the slices between them. "propagate":
            from the prompted slice on, each slice is prompted with the prediction of its
            neighbour, up to the given limits. "extrude": the box of the volume is drawn on every
            slice inside it.
        keeps_prompts: whether a slice that gets further prompts is predicted from all its prompts so far
            (the "*" of RadioActive's tables); under "published", so is every previously prompted
            slice. Otherwise such a slice is predicted from the new prompts only.
        protocol: "careful", or "published" for the published rules where these differ.
    """

    spread: Spread = "stay"
    keeps_prompts: bool = True
    protocol: Protocol = "careful"


@dataclass(frozen=True, slots=True, eq=False)
class Dialogue:
    """The prompts of a dialogue by round, and the last prediction.

    Attributes:
        rounds: one tuple of prompts per round; when a segmenter receives them, the last is not answered yet.
        previous: the last answer; None before the first.
        lift: rules for extending prompts to other slices; None lets the segmenter choose.
    """

    rounds: tuple[tuple[Prompt, ...], ...] = ()
    previous: Prediction | None = field(default=None, repr=False)
    lift: Lift | None = None

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """All prompts so far, in the order in which they were given."""
        return tuple(chain.from_iterable(self.rounds))

    @property
    def clicks(self) -> tuple[Click, ...]:
        """All clicks so far, in the order in which they were given."""
        return tuple(
            [prompt for prompt in chain.from_iterable(self.rounds) if isinstance(prompt, Click)]
        )

    @property
    def effort(self) -> float:
        """Total effort of all prompts, in interactions."""
        return sum([prompt.effort for prompt in chain.from_iterable(self.rounds)])

    def ask(self, prompts: tuple[Prompt, ...]) -> Dialogue:
        """Return this dialogue with one more round of prompts."""
        return Dialogue((*self.rounds, prompts), self.previous, self.lift)

    def answer(self, prediction: Prediction) -> Dialogue:
        """Return this dialogue with an answer to its last round."""
        return Dialogue(self.rounds, prediction, self.lift)

    def previous_mask(self, shape: Shape) -> Mask | Labels:
        """Return the mask of the last answer; before the first answer, an all-False mask of `shape`."""
        if self.previous is None:
            return np.zeros(shape, dtype=np.bool_)
        return self.previous.mask


def as_prediction(
    answer: Any,
    shape: Shape,
    *,
    objects: int = 1,
    name: str = "prediction",
) -> Prediction:
    """Check a segmenter's answer to a dialogue and return it as a `Prediction`.

    An array is used as the mask. Values of dtypes other than bool must all be 0 or 1 (one object) or integers
    0..255 (several objects): the segmenter must threshold probabilities itself.

    Args:
        answer: a `Prediction`, or an array that is its mask.
        shape: shape of the sample.
        objects: number of objects in the target; above 1 the mask contains labels.
        name: name of the segmenter for error messages.

    Raises:
        PredictionInvalid: the mask is not an array, or has a wrong shape, a wrong dtype, NaN or other invalid
            values.
    """
    prediction = answer if isinstance(answer, Prediction) else Prediction(mask=answer)
    if _is_no_array(prediction.mask):
        raise PredictionInvalid(
            f"{name}: expected a mask of shape {tuple(shape)}, got {_kind_of(prediction.mask)}; return an array, or "
            "segarena.Prediction(mask=...)"
        )
    try:
        mask = np.asarray(prediction.mask)
    except Exception as error:  # conversion of a foreign object may raise any type
        raise PredictionInvalid(
            f"{name}: {type(prediction.mask).__name__} is not a mask: {error}"
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
        raise PredictionInvalid(f"{name}: expected {wanted}, got {_values_of(mask, objects)}")
    mask_type = np.uint8 if objects > 1 else np.bool_
    return replace(prediction, mask=mask.astype(mask_type))


def _is_no_array(mask: Any) -> bool:
    """Return whether an answer is of a type that is often returned by mistake and is never a mask."""
    return mask is None or isinstance(mask, (dict, str, tuple, bool, int, float))


def _kind_of(answer: Any) -> str:
    """Describe the type of an answer: "None", "a dict with the keys 'mask', 'score'"."""
    if answer is None:
        return "None"
    if isinstance(answer, dict):
        keys = ", ".join(repr(key) for key in list(answer)[:_MAX_NAMED])
        return f"a dict with the keys {keys}" if keys else "an empty dict"
    if isinstance(answer, tuple):
        kinds = ", ".join(type(each).__name__ for each in answer[:_MAX_NAMED])
        return f"a tuple of {len(answer)} ({kinds})"
    article = "an" if isinstance(answer, int) else "a"
    return f"{article} {type(answer).__name__}"


def _values_of(mask: Any, objects: int) -> str:
    """Describe the invalid values of a mask, and how to convert them."""
    advice = "return the label of each pixel" if objects > 1 else "threshold it first"
    if mask.dtype.kind in "iu":
        values = np.unique(mask)
        if values.tolist() == [0, 255]:
            return f"{mask.dtype} with the values 0 and 255; return mask > 0"
        if len(values) <= _MAX_NAMED:
            listed = ", ".join(map(str, values.tolist()))
            return f"{mask.dtype} with the values {listed}; {advice}"
    return f"other {mask.dtype} values; {advice}"
