"""Evaluation of segments in COCO results files against amodal scenes.

Source: amodalAPI (2017). A file is a flat list of {image_id, score, segmentation, amodal_mask?};
several files are merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from segarena.datasets.annotations.record_parsing import parse_mask, parse_number, parse_records
from segarena.errors import DatasetError, InvalidInput, InvalidMask
from segarena.samples import Mask
from segarena.systems.scenes.files import read_scenes
from segarena.systems.scenes.files.json_reading import read_json
from segarena.systems.scenes.measures.segment_recall import (
    SEGMENT_LIMITS,
    SegmentRecall,
    SegmentRecallMeter,
    TrueRegion,
)
from segarena.systems.scenes.model.rasters import rasterise
from segarena.systems.scenes.model.scene import Scene

_AMODAL_KEYS = ("amodal_mask", "amodalMask")


def judge_segments(
    files: Iterable[Path],
    truth: Path,
    *,
    against: str = "amodal",
    segment_extent: str = "segmentation",
    most: Sequence[int] = SEGMENT_LIMITS,
    is_published: bool = False,
) -> list[SegmentRecall]:
    """Return the average recall of segments over all images of `truth`, including images without segments.

    If an image has several annotations, only the first counts, as in the published code.

    Args:
        files: COCO results.
        truth: amodal scenes.
        against: "amodal" or "visible": the masks of the ground truth that segments should match.
        segment_extent: "segmentation" or "amodal": the mask of a segment that is evaluated;
            segments without an amodal mask use their segmentation.
        most: limits on the number of segments per image.
        is_published: use values in the file instead of those computed from the pixels:
            `occlude_rate` and, if `against` is "visible", `visible_mask` or else the full extent.
            Also count a hidden share of exactly .25 as both partial and heavy, and give -1 without
            regions.

    Raises:
        InvalidInput: an option has an unknown value.
        DatasetError: a file is not a list of segments.
        InvalidMask: a mask differs in size from its image.
    """
    is_known = against in ("amodal", "visible") and segment_extent in ("segmentation", "amodal")
    if not is_known:
        raise InvalidInput(
            f"against={against!r}: expected amodal or visible; "
            f"given={segment_extent!r}: expected segmentation or amodal"
        )
    segments = read_segments(files)
    # Like COCO's, the published evaluation marks a missing value by -1.
    none_value = -1.0 if is_published else float("nan")
    quality = SegmentRecallMeter(most=most, open_upper_end=not is_published, none_value=none_value)
    for image_id, scenes in read_scenes(truth).by_image().items():
        # The published code does not average over the annotators of an image.
        regions = _regions(scenes[0], against, is_published=is_published)
        masks: list[Mask] = []
        scores: list[float] = []
        for segment in segments.get(image_id, []):
            masks.append(_mask(segment, scenes[0], segment_extent))
            # A segment without a score ranks last, as if its score were 0.
            scores.append(parse_number(segment.get("score")) or 0.0)
        quality.add(masks, scores, regions)
    return quality.results()


def read_segments(files: Iterable[Path]) -> dict[str, list[dict[str, Any]]]:
    """Return the segments in COCO results files by image, in file order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for file in files:
        value = read_json(file)[0]
        if not isinstance(value, list):
            raise DatasetError(
                f"{file}: expected a list of segments (COCO results), got {type(value).__name__}"
            )
        for segment in parse_records(value):
            found.setdefault(str(segment.get("image_id")), []).append(segment)
    return found


def _regions(
    scene: Scene,
    against: str,
    *,
    is_published: bool,
) -> list[TrueRegion]:
    regions: list[TrueRegion] = []
    for region, raster in zip(scene.regions, rasterise(scene).regions, strict=True):
        is_stuff = region.is_stuff is True
        occlusion = raster.occlusion
        patch = raster.amodal
        # With its option for visible masks, the published code uses the full extent where the file
        # has no visible mask.
        if against == "visible" and not is_published:
            patch = raster.visible
        mask = patch.full(scene.shape)
        if is_published and region.stated_occlusion is not None:
            occlusion = region.stated_occlusion
        if is_published and against == "visible" and region.visible_mask is not None:
            mask = region.visible_mask.decode()
        regions.append(TrueRegion(mask=mask, occlusion=occlusion, is_stuff=is_stuff))
    return regions


def _mask(
    segment: dict[str, Any],
    scene: Scene,
    extent: str,
) -> Mask:
    keys: tuple[str, ...] = ("segmentation",)
    if extent == "amodal":
        keys = (*_AMODAL_KEYS, "segmentation")
    value = None
    for key in keys:
        value = segment.get(key)
        if value is not None:
            break
    try:
        return parse_mask(value, scene.shape).decode()
    except InvalidMask as cause:
        raise InvalidMask(
            f"{scene.title}, segment with score {segment.get('score')}: {cause}"
        ) from cause
