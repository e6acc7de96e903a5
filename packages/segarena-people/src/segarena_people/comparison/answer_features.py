"""Features of every answer: those of people, and those of a user's replies to the same questions.

Each answer is a unit of work, so that several processes can share the work and continue it where it
stopped.
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
"""Features of each prompt kind, with their definitions."""

COARSE_FEATURES: Mapping[str, Sequence[str]] = {"scribble": COARSE_STROKE_FEATURES}
"""Features that do not depend on the width of the drawing tool, for kinds where others do."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredAnswer:
    """Measured answer.

    Attributes:
        values: features; None where there is no answer, or none that can be measured.
        behaviour: measures of user shift; None where `values` is None, and for boxes.
        prompts: prompts of the answer; () where only a raster is known.
        refusal: error that a user raised.
    """

    values: FeatureVector | None
    behaviour: FeatureVector | None = None
    prompts: tuple[PlanarPrompt, ...] = ()
    refusal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementJob:
    """Job that measures answers; a unit is (index in the collection, number of the dialogue).

    Attributes:
        people: path of the collection.
        dataset: dataset that people saw, as for `segarena run -d`; None without.
        user: user that replies; None measures people's own answers.
        name: name of the user; part of every random stream.
        seed: seed of all random numbers.
    """

    people: str
    dataset: str | None = None
    user: PluginSpec | None = None
    name: str = ""
    seed: int = 0

    def open(self) -> Callable[[tuple[int, int]], dict[str, Any]]:
        """Open the collection, and build the user."""
        collection = Collection.open(self.people, self.dataset)
        if self.user is None:
            return lambda unit: _encode_measured(measure_person(collection[unit[0]]))
        asker = ReplyCollector(
            build("user", self.user),
            name=self.name,
            seed=self.seed,
            picture_of=None
            if self.dataset is None
            else picture_reader(build("dataset", self.dataset)),
        )
        return lambda unit: _encode_measured(
            measure_reply(collection[unit[0]], asker.ask(collection[unit[0]], unit[1]))
        )


def _encode_measured(measured: MeasuredAnswer) -> dict[str, Any]:
    return {
        "values": None if measured.values is None else measured.values.tolist(),
        "behaviour": None if measured.behaviour is None else measured.behaviour.tolist(),
        "prompts": prompts_text(measured.prompts),
        "refusal": measured.refusal,
    }


def decode_measured(plain: Mapping[str, Any]) -> MeasuredAnswer:
    """Return the result of a unit of `Measuring`."""
    values, conduct = (
        None if plain[name] is None else np.asarray(plain[name], np.float64)
        for name in ("values", "behaviour")
    )
    prompts: Any = read_prompts(plain["prompts"])
    return MeasuredAnswer(
        values=values, behaviour=conduct, prompts=prompts, refusal=plain["refusal"]
    )


def measure_person(given: CollectedPrompt) -> MeasuredAnswer:
    """Measure a person's answer."""
    return _measured(given, () if given.row.raster else tuple(map(project_to_plane, given.prompts)))


def measure_reply(given: CollectedPrompt, reply: UserReply) -> MeasuredAnswer:
    """Measure a user's reply in the place of a person; strokes get the width of the person's."""
    if not reply.prompts:
        return MeasuredAnswer(values=None, refusal=reply.refusal)
    return _measured(given, reply.prompts)


def _measured(given: CollectedPrompt, prompts: Sequence[PlanarPrompt]) -> MeasuredAnswer:
    """Return the features of prompts, or of a person's raster where there are none."""
    goal = given.goal
    target = requested_target(given)
    if not goal.any() or (given.row.kind == "scribble" and np.count_nonzero(goal) < LEAST_GOAL_PX):
        return MeasuredAnswer(values=None, prompts=tuple(prompts))
    match prompts[0] if prompts else None:
        case Click() as click:
            values = click_features(click, goal)
            marked = np.array([click.position])
        case Box() as box:
            return MeasuredAnswer(values=box_features(box, goal), prompts=(box,))
        case _:
            ink = answer_ink(given, prompts)
            if not ink.any():
                return MeasuredAnswer(values=None, prompts=tuple(prompts))
            values = stroke_features(ink, goal)
            marked = np.argwhere(ink)
    signs = np.full(len(marked), given.row.is_positive)
    return MeasuredAnswer(
        values=values, behaviour=measure_behaviour(marked, signs, target), prompts=tuple(prompts)
    )


def answer_ink(given: CollectedPrompt, prompts: Sequence[PlanarPrompt]) -> Mask:
    """Return strokes as pixels, as wide as the person's; the person's own raster where there are none."""
    if prompts:
        return rasterize_prompts(prompts, given.shape, stroke_width_px(given))
    return given.ink()


def stroke_width_px(given: CollectedPrompt) -> float:
    """Return the width of a person's line: from the table, else from the depth of its centre line, else one pixel.

    A raster without points has the width of its tool; strokes of a simulated user are drawn in the
    same width.
    """
    drawn = given.drawn
    if given.row.stroke_px or drawn is None or not drawn.any():
        return max(1.0, given.row.stroke_px)
    depths = np.sqrt(squared_distance(drawn)[thin(drawn)])
    return max(1.0, 2 * float(np.median(depths)) - 1)


def picture_reader(dataset: Dataset) -> Callable[[CollectedPrompt], RgbPicture]:
    """Return a function that loads the picture shown: the image, the plane of a volume, the frame of a video."""

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
            low, high = np.percentile(voxels[plane], (0.5, 99.5))
            grey = np.clip((voxels[plane] - low) / max(high - low, 1e-9), 0, 1) * 255
            shown = np.repeat(grey.astype(np.uint8)[..., None], 3, axis=2)
        case _:
            raise InvalidInput(
                f"prompt {given.row.id}: expected the plane of sample {given.row.sample}, got none"
            )
    if shown.shape[:2] != given.shape:
        raise InvalidInput(
            f"prompt {given.row.id} was given on {given.shape} pixels, sample {given.row.sample} has {shown.shape[:2]}"
        )
    return shown
