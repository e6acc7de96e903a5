"""One question to one user: what would they draw on these two masks?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from segarena.dialogue import Dialogue, as_prediction
from segarena.engine.session import Rules, Session
from segarena.errors import InvalidInput
from segarena.objects import begin, compare
from segarena.prompts import Prompt
from segarena.registry import build
from segarena.roles import User
from segarena.samples import (
    ImageSample,
    Sample,
    Shape,
    Target,
    VideoSample,
    VolumeSample,
    as_image,
    as_labels,
    check_sample,
    without_void,
)
from segarena.specs import Plugin, PluginSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPixels:
    """A sample of which only the shape is known; users who look at pixels refuse it."""

    id: str
    shape: Shape
    targets: tuple[Target, ...]


def next_prompts(
    user: Plugin | User,
    prediction: Any,
    target: Any,
    image: Any = None,
    *,
    ignore: Any = None,
    dialogue: Dialogue | None = None,
    seed: int = 0,
) -> tuple[Prompt, ...]:
    """Return what a user says next, who sees `prediction` and wants `target`; nothing when there is nothing to say.

    >>> import numpy as np
    >>> square = np.zeros((7, 9), dtype=bool)
    >>> square[1:6, 2:7] = True
    >>> next_prompts("centre", None, square)
    (Click(position=(3, 4), is_positive=True, object_id=1),)
    >>> next_prompts("centre", square, square)
    ()

    Args:
        user: a user, or the plug-in that makes one: "centre", "scribble-robot(kernel_size=0.3)".
        prediction: bool or whole labels, shape of the target. None: nothing is predicted yet, this is the first round;
            otherwise it is a later one.
        target: bool, or whole labels of several objects that are judged together; 255 is excluded from scoring.
            (H, W) in an image, (D, H, W) in a volume, (T, H, W) in a video.
        image: what is segmented, for users who look at it: the pixels of an image, or any sample.
        ignore: bool, shape of the target: excluded from scoring.
        dialogue: what was said before, for users who look at that.
        seed: of what is drawn at random.

    Raises:
        UnknownPlugin, PluginInvalid: no such user, or not with these options.
        InvalidInput: masks that do not fit, or a target, an image or a dialogue that this user cannot do with.
    """
    labels, void = without_void(as_labels(target, name="target"), ignore)
    mask = labels if labels.max(initial=0) > 1 else labels.astype(np.bool_)
    wanted = Target(id="target", mask=mask, ignore=void)
    sample = _sample(image, wanted)
    start = begin(sample, wanted)
    said = dialogue or Dialogue(rounds=() if prediction is None else ((),))
    if prediction is not None:
        answer = as_prediction(prediction, sample.shape, objects=wanted.objects)
        start = compare(answer.mask, start)
        said = said.answer(answer)
    name = str(user) if isinstance(user, Plugin) else type(user).__name__
    session = Session(
        rules=Rules(benchmark="", dataset="", metrics=(), rounds=len(said.rounds) + 1, seed=seed),
        sample=sample,
        target=wanted,
        start=start,
        user=build("user", PluginSpec.of(user)) if isinstance(user, Plugin) else user,
        user_name=name,
    )
    session.dialogue = said
    asked = session.next()
    return () if asked is None else asked.rounds[-1]


def _sample(image: Any, target: Target) -> Sample:
    """Return a sample with this target."""
    shape = target.mask.shape
    if isinstance(image, ImageSample | VolumeSample | VideoSample):
        if image.shape != shape:
            raise InvalidInput(
                f"image: sample {image.id} has shape {image.shape}, the target {shape}"
            )
        return image
    if image is None:
        return cast("Sample", NoPixels(id="given", shape=shape, targets=(target,)))
    if len(shape) != 2:
        raise InvalidInput(
            f"image: expected a VolumeSample or VideoSample for a target of shape {shape}, got an array"
        )
    sample = ImageSample(id="given", image=as_image(image), targets=(target,))
    check_sample(sample)
    return sample
