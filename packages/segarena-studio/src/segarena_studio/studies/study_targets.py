"""Targets of a study: every object of an image, of some slices of a volume, or of some frames of a video."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.slices import spaced_slices
from segarena.samples import ImageSample, Labels, Mask, Sample, Target, VideoSample, VolumeSample
from segarena.segmenters.volumes.intensity_windows import Range, percentile_range, to_grey
from segarena_people.prompts import GoalKind


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class StudyTarget:
    """A part of a picture that participants point at.

    Attributes:
        image: identifier of the picture, the same for all targets on it.
        sample, target, object_id, plane, label: as in `segarena_people.prompts.PersonPrompt`.
        is_alone: whether its object is the only one of its sample.
        goal: the whole object, a part of it that a mask misses, or a part that the mask covers
            wrongly.
        model: segmenter whose mask is corrected; "" if there is none.
        is_easy: whether the target serves training and attention checks.
        picture: uint8 (H, W, 3), RGB.
        edges: height and width of a pixel, which is not square in every slice.
        is_turned: whether the picture is displayed rotated by 180 degrees: anterior on top, the
            patient's right on the left.
        mask: bool (H, W), the part to point at.
        previous: the mask to correct; None if there is none.
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
    """Yield every object of a sample in the order of its targets; empty objects are left out.

    Args:
        sample: an image, a volume or a video.
        planes: number of slices or frames of each object, evenly spread over those that contain it;
            1 takes the one where it is largest.
    """
    levels = (0.0, 1.0)
    edges = (1.0, 1.0)
    if isinstance(sample, VolumeSample):
        # Percentiles of a whole volume take seconds, and are the same for every slice.
        levels = percentile_range(sample.voxels)
        edges = (sample.spacing_mm[1], sample.spacing_mm[2])
    objects: list[tuple[Target, int, Mask]] = []
    for target in sample.targets:
        for number, mask in _masks(target):
            objects.append((target, number, mask))
    for target, number, mask in objects:
        values: dict[str, Any] = {
            "sample": sample.id,
            "target": target.id,
            "object_id": number,
            "label": target.label,
            "is_alone": len(objects) == 1,
            "edges": edges,
            "is_turned": isinstance(sample, VolumeSample),
        }
        if isinstance(sample, ImageSample):
            yield StudyTarget(
                image=sample.id,
                picture=sample.image,
                mask=mask,
                **values,
            )
            continue
        for plane in _planes(mask, planes):
            yield StudyTarget(
                image=f"{sample.id}:{plane}",
                plane=plane,
                picture=_plane(sample, plane, levels),
                mask=mask[plane],
                **values,
            )


def _masks(target: Target) -> Iterator[tuple[int, Mask]]:
    """Yield the non-empty objects of a target with their numbers."""
    labels: Mask | Labels = target.mask
    for number in range(1, target.objects + 1):
        mask = np.asarray(labels == number)
        if mask.any():
            yield number, mask


def _planes(mask: Mask, count: int) -> list[int]:
    areas = np.count_nonzero(mask, axis=(1, 2))
    if count == 1:
        return [int(np.argmax(areas))]
    # Choose among the slices that contain the object, because the object may have gaps.
    occupied = np.flatnonzero(areas)
    positions = spaced_slices(0, len(occupied) - 1, count)
    return sorted({int(occupied[position]) for position in positions})


def _plane(
    sample: Sample,
    plane: int,
    levels: Range,
) -> NDArray[np.uint8]:
    """Return an image, a frame, or a slice in grey levels that span the whole volume."""
    if isinstance(sample, VideoSample):
        return sample.frames[plane]
    if isinstance(sample, ImageSample):
        return sample.image
    grey = to_grey(sample.voxels[plane], levels)
    return np.repeat(grey[:, :, None], 3, axis=2)
