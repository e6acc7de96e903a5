"""Single query of a user: the prompts for one prediction and one target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from segarena.dialogue import Dialogue, as_prediction
from segarena.engine.session import Rules, Session
from segarena.errors import InvalidInput
from segarena.multi_object import compare_prediction, empty_comparison
from segarena.plugin_capabilities import user_capabilities
from segarena.plugin_spec import Plugin, PluginSpec
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PixellessSample:
    """A sample with a known shape but no pixels; users that read pixels reject it."""

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
    """Return the prompts with which a user corrects `prediction` towards `target`.

    The result is empty if the user has nothing to correct.

    >>> import numpy as np
    >>> square = np.zeros((7, 9), dtype=bool)
    >>> square[1:6, 2:7] = True
    >>> next_prompts("centre", None, square)
    (Click(position=(3, 4), is_positive=True, object_id=1),)
    >>> next_prompts("centre", square, square)
    ()

    Args:
        user: a user, or the specification of one: "centre", "scribble-robot(kernel_size=0.3)".
        prediction: bool or integer labels, in the shape of the target. None stands for the
            first round, without a prediction; a mask stands for a later round.
        target: bool, or integer labels of several objects that are scored together; 255 is
            ignored. (H, W) in an image, (D, H, W) in a volume, (T, H, W) in a video.
        image: the pixels of an image, or any sample, for users that read pixels.
        ignore: bool, shape of the target: True for ignored pixels.
        dialogue: the rounds before this one, for users that read them.
        seed: seed of the random choices. Each seed stands for a different dialogue: a user that
            simulates people chooses the person by the seed, so all rounds with one seed come from
            the same person.

    Raises:
        UnknownPlugin, PluginInvalid: no user has this name, or it does not accept these options.
        InvalidInput: masks have different shapes, or this user cannot work with the target, image or
            dialogue.
    """
    labels, void = without_void(as_labels(target, name="target"), ignore)
    has_several_objects = labels.max(initial=0) > 1
    mask = labels if has_several_objects else labels.astype(np.bool_)
    wanted = Target(id="target", mask=mask, ignore=void)
    sample = _make_sample(image, wanted)
    start = empty_comparison(sample, wanted)
    if dialogue is None and prediction is not None:
        # Users distinguish the first round from later ones by the rounds of the dialogue.
        history = Dialogue(rounds=((),))
    else:
        history = dialogue or Dialogue()
    if prediction is not None:
        answer = as_prediction(prediction, sample.shape, objects=wanted.objects)
        start = compare_prediction(answer.mask, start)
        history = history.answer(answer)
    if isinstance(user, Plugin):
        name = str(user)
        built = build("user", PluginSpec.of(user))
    else:
        name = type(user).__name__
        built = user
    session = Session(
        rules=Rules(
            benchmark="",
            dataset="",
            metrics=(),
            rounds=len(history.rounds) + 1,
            seed=seed,
        ),
        sample=sample,
        target=wanted,
        start=start,
        user=built,
        user_name=name,
        repeat=_repeat(built, sample, wanted, seed),
    )
    session.dialogue = history
    asked = session.next()
    return () if asked is None else asked.rounds[-1]


def _repeat(
    user: User,
    sample: Sample,
    target: Target,
    seed: int,
) -> int:
    """Return the repetition that a seed selects; the repetition determines which person a user simulates."""
    repeats = user_capabilities(user).repeats
    if repeats is None:
        # Random generators accept no negative numbers, but `seed` may be one.
        return seed % 2**32
    # A user with its own number of dialogues has one for each of its people, and no more.
    return seed % repeats(sample, target)


def _make_sample(image: Any, target: Target) -> Sample:
    """Return the given sample, or make one from an image, or from the shape alone."""
    shape = target.mask.shape
    if isinstance(image, ImageSample | VolumeSample | VideoSample):
        if image.shape != shape:
            raise InvalidInput(
                f"image: expected the target's shape {shape}, got {image.shape} for sample {image.id}"
            )
        return image
    if image is None:
        return cast("Sample", PixellessSample(id="given", shape=shape, targets=(target,)))
    if len(shape) != 2:
        raise InvalidInput(
            f"image: expected a VolumeSample or VideoSample for a target of shape {shape}, got an array"
        )
    sample = ImageSample(id="given", image=as_image(image), targets=(target,))
    check_sample(sample)
    return sample
