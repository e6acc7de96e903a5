"""What is shown in a study: every object of a picture, of some slices of a volume, or of some frames of a video."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.slices import spaced_slices
from segarena.samples import ImageSample, Labels, Mask, Sample, Target, VideoSample, VolumeSample
from segarena.segmenters.volumes.preprocessing import Range, percentile_range, to_grey
from segarena_people.prompts import GoalKind


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StudyTarget:
    """A part of a picture that people are to point at.

    Attributes:
        image: the same for all items on one picture.
        sample, target, object_id, plane, label: as in `segarena_people.prompts.PersonPrompt`.
        is_alone: whether its object is the only one of its sample.
        goal: what is asked for.
        model: whose mask is corrected; "" where none is.
        is_easy: whether it is for training and attention.
        picture: uint8 (H, W, 3), RGB.
        edges: height and width of a pixel, which are not squares in every slice.
        is_turned: whether people see it turned round: anterior is on top then, the patient's right on the left.
        mask: bool (H, W): what is to be pointed at.
        previous: the mask that is corrected; None where none is.
    """

    image: str
    sample: str
    target: str
    object_id: int = 1
    plane: int | None = None
    label: str = ""
    is_alone: bool = True
    goal: GoalKind = "object"
    model: str = ""
    is_easy: bool = False
    picture: NDArray[np.uint8]
    edges: tuple[float, float] = (1.0, 1.0)
    is_turned: bool = False
    mask: Mask
    previous: Mask | None = None


def list_targets(sample: Sample, planes: int = 1) -> Iterator[StudyTarget]:
    """Yield every object of a sample, in the order of its targets; objects without a pixel are left out.

    Args:
        sample: an image, a volume or a video.
        planes: how many slices or frames of each object, evenly spread over those that it is on; of one, the one on
            which it is largest.
    """
    # Percentiles of a whole volume take seconds, and are those of every slice.
    if isinstance(sample, VolumeSample):
        levels = percentile_range(sample.voxels)
    else:
        levels = (0.0, 1.0)
    if isinstance(sample, VolumeSample):
        edges = (sample.spacing_mm[1], sample.spacing_mm[2])
    else:
        edges = (1.0, 1.0)
    objects = [
        (target, number, mask) for target in sample.targets for number, mask in _masks(target)
    ]
    for target, number, mask in objects:
        about: dict[str, Any] = {
            "sample": sample.id, "target": target.id, "object_id": number, "label": target.label,
            "is_alone": len(objects) == 1, "edges": edges, "is_turned": isinstance(sample, VolumeSample),
        }  # fmt: skip
        if isinstance(sample, ImageSample):
            yield StudyTarget(image=sample.id, picture=sample.image, mask=mask, **about)
            continue
        for plane in _planes(mask, planes):
            image = f"{sample.id}:{plane}"
            picture = _plane(sample, plane, levels)
            yield StudyTarget(image=image, plane=plane, picture=picture, mask=mask[plane], **about)


def _masks(target: Target) -> Iterator[tuple[int, Mask]]:
    """Yield the objects of a target with their numbers."""
    labels: Mask | Labels = target.mask
    for number in range(1, target.objects + 1):
        mask = np.asarray(labels == number)
        if mask.any():
            yield number, mask


def _planes(mask: Mask, count: int) -> list[int]:
    areas = np.count_nonzero(mask, axis=(1, 2))
    if count == 1:
        return [int(np.argmax(areas))]
    there = np.flatnonzero(areas)
    return sorted({int(there[place]) for place in spaced_slices(0, len(there) - 1, count)})


def _plane(sample: Sample, plane: int, levels: Range) -> NDArray[np.uint8]:
    """Return a slice as a grey picture, by what is black and white in the volume; or a frame."""
    if isinstance(sample, VideoSample):
        return sample.frames[plane]
    if isinstance(sample, ImageSample):
        return sample.image
    grey = to_grey(sample.voxels[plane], levels)
    return np.repeat(grey[:, :, None], 3, axis=2)
