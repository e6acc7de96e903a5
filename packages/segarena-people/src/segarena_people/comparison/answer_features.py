"""Features of people's answers and of a simulated user's replies to the same questions.

Each answer is a separate unit of work, so that several processes can share the work and an
interrupted comparison can be resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.distance_transform import squared_distance
from segarena.arrays.thinning import thin
from segarena.errors import InvalidInput
from segarena.plugin_spec import PluginSpec
from segarena.prompts import Box, Click
from segarena.records.prompts import prompts_text, read_prompts
from segarena.registry import build
from segarena.roles import Dataset
from segarena.samples import ImageSample, Mask, Sample, VideoSample, VolumeSample
from segarena_people.collection import CollectedPrompt, Collection
from segarena_people.comparison.user_replies import (
    PlanarPrompt,
    ReplyCollector,
    RgbPicture,
    UserReply,
    project_to_plane,
    requested_target,
)
from segarena_people.measures.box_features import BOX_FEATURES, box_features
from segarena_people.measures.click_features import CLICK_FEATURES, click_features
from segarena_people.measures.stroke_features import (
    COARSE_STROKE_FEATURES,
    LEAST_GOAL_PX,
    STROKE_FEATURES,
    stroke_features,
)
from segarena_people.measures.user_shift import measure_behaviour
from segarena_people.rasterization import rasterize_prompts

FeatureVector = NDArray[np.float64]

FEATURE_DEFINITIONS: Mapping[str, Mapping[str, str]] = {
    "scribble": STROKE_FEATURES,
    "box": BOX_FEATURES,
    "click": CLICK_FEATURES,
}
"""Feature names for each prompt kind, with their definitions."""

COARSE_FEATURES: Mapping[str, Sequence[str]] = {"scribble": COARSE_STROKE_FEATURES}
"""For prompt kinds with features that depend on the width of the drawing tool: the features that do not."""


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class MeasuredAnswer:
    """Features of one answer, or the reason why it has none.

    Attributes:
        values: features; None if there is no answer or it cannot be measured.
        behaviour: measures of user shift; None if `values` is None, and for boxes.
        prompts: prompts of the answer; () if there are none or only a raster is known.
        refusal: message of the error that the simulated user raised; "" without an error.
    """

    values: FeatureVector | None
    behaviour: FeatureVector | None = None
    prompts: tuple[PlanarPrompt, ...] = ()
    refusal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementJob:
    """Job that measures answers; a unit is the pair (index in the collection, index of the dialogue).

    Attributes:
        people: path of the collection.
        dataset: dataset that was shown to people, as for `segarena run -d`; None if unknown.
        user: simulated user that replies; None measures people's own answers.
        name: name of the user; part of the seed of every random stream.
        seed: seed of all random numbers.
    """

    people: str
    dataset: str | None = None
    user: PluginSpec | None = None
    name: str = ""
    seed: int = 0

    def open(self) -> Callable[[tuple[int, int]], dict[str, Any]]:
        """Open the collection and build the simulated user, if any; return a function that measures a unit."""
        collection = Collection.open(self.people, self.dataset)
        if self.user is None:
            return lambda unit: _encode_measured(measure_person(collection[unit[0]]))
        if self.dataset is None:
            picture_of = None
        else:
            picture_of = picture_reader(build("dataset", self.dataset))
        collector = ReplyCollector(
            build("user", self.user),
            name=self.name,
            seed=self.seed,
            picture_of=picture_of,
        )

        def measure(unit: tuple[int, int]) -> dict[str, Any]:
            given = collection[unit[0]]
            return _encode_measured(measure_reply(given, collector.ask(given, unit[1])))

        return measure


def _encode_measured(measured: MeasuredAnswer) -> dict[str, Any]:
    return {
        "values": None if measured.values is None else measured.values.tolist(),
        "behaviour": None if measured.behaviour is None else measured.behaviour.tolist(),
        "prompts": prompts_text(measured.prompts),
        "refusal": measured.refusal,
    }


def decode_measured(plain: Mapping[str, Any]) -> MeasuredAnswer:
    """Decode the result of one unit of a `MeasurementJob`."""
    arrays: dict[str, FeatureVector | None] = {"values": None, "behaviour": None}
    for name in arrays:
        if plain[name] is not None:
            arrays[name] = np.asarray(plain[name], np.float64)
    prompts: Any = read_prompts(plain["prompts"])
    return MeasuredAnswer(
        values=arrays["values"],
        behaviour=arrays["behaviour"],
        prompts=prompts,
        refusal=plain["refusal"],
    )


def measure_person(given: CollectedPrompt) -> MeasuredAnswer:
    """Measure one person's answer."""
    # The points of a rasterized stroke are unknown, so measure its ink instead.
    if given.row.raster:
        return _measured(given, ())
    return _measured(given, tuple(map(project_to_plane, given.prompts)))


def measure_reply(given: CollectedPrompt, reply: UserReply) -> MeasuredAnswer:
    """Measure a user's reply to a question that a person answered; strokes are drawn in that person's width."""
    if not reply.prompts:
        return MeasuredAnswer(values=None, refusal=reply.refusal)
    return _measured(given, reply.prompts)


def _measured(given: CollectedPrompt, prompts: Sequence[PlanarPrompt]) -> MeasuredAnswer:
    """Measure the first click or box, or all strokes together; without prompts, the person's raster."""
    goal = given.goal
    target = requested_target(given)
    is_too_small = given.row.kind == "scribble" and np.count_nonzero(goal) < LEAST_GOAL_PX
    if not goal.any() or is_too_small:
        return MeasuredAnswer(values=None, prompts=tuple(prompts))
    match prompts[0] if prompts else None:
        case Click() as click:
            values = click_features(click, goal)
            marked = np.array([click.position])
        case Box() as box:
            # Behaviour is defined for marked pixels, and a box marks none.
            return MeasuredAnswer(values=box_features(box, goal), prompts=(box,))
        case _:
            ink = answer_ink(given, prompts)
            if not ink.any():
                return MeasuredAnswer(values=None, prompts=tuple(prompts))
            values = stroke_features(ink, goal)
            marked = np.argwhere(ink)
    signs = np.full(len(marked), given.row.is_positive)
    return MeasuredAnswer(
        values=values,
        behaviour=measure_behaviour(marked, signs, target),
        prompts=tuple(prompts),
    )


def answer_ink(given: CollectedPrompt, prompts: Sequence[PlanarPrompt]) -> Mask:
    """Return strokes as a mask, in the person's stroke width, or the person's raster if there are no prompts."""
    if prompts:
        return rasterize_prompts(prompts, given.shape, stroke_width_px(given))
    return given.ink()


def stroke_width_px(given: CollectedPrompt) -> float:
    """Return the width of a person's line in pixels, at least 1: from the table, or estimated from the raster.

    The estimate for a raster follows from the depth of its centre line. A simulated user's strokes are drawn
    in the same width, so that the width does not reveal the user.
    """
    drawn = given.drawn
    if given.row.stroke_px or drawn is None or not drawn.any():
        return max(1.0, given.row.stroke_px)
    depths = np.sqrt(squared_distance(drawn)[thin(drawn)])
    # The centre line of a stroke of width w is (w + 1) / 2 pixels deep.
    return max(1.0, 2 * float(np.median(depths)) - 1)


def picture_reader(dataset: Dataset) -> Callable[[CollectedPrompt], RgbPicture]:
    """Return a function that loads the picture shown: an image, a slice of a volume, or a video frame."""

    @lru_cache(maxsize=1)
    def load(sample: str) -> Sample:
        return dataset.load(sample)

    return lambda given: _picture(load(given.row.sample), given)


def _picture(sample: Sample, given: CollectedPrompt) -> RgbPicture:
    plane = given.row.plane
    match sample:
        case ImageSample(image=image):
            shown = image
        case VideoSample(frames=frames) if plane is not None:
            shown = frames[plane]
        case VolumeSample(voxels=voxels) if plane is not None:
            # Clip outliers, such as metal in CT, which would compress all other values into one
            # grey level.
            low, high = np.percentile(voxels[plane], (0.5, 99.5))
            contrast = max(high - low, 1e-9)
            grey = np.clip((voxels[plane] - low) / contrast, 0, 1) * 255
            shown = np.repeat(grey.astype(np.uint8)[..., None], 3, axis=2)
        case _:
            raise InvalidInput(
                f"prompt {given.row.id}: expected the slice or frame of sample {given.row.sample} in `plane`, got none"
            )
    if shown.shape[:2] != given.shape:
        raise InvalidInput(
            f"prompt {given.row.id} was recorded on a picture of {given.shape} pixels, but sample "
            f"{given.row.sample} has {shown.shape[:2]}"
        )
    return shown
