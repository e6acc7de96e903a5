"""The edge benchmark on folders: a detector's maps or segmentations against what people drew, image by image.

Source: BSDS500, `boundaryBench`, `regionBench`, `allBench`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.label_edges import label_edges
from segarena.arrays.thinning import thin
from segarena.errors import DatasetMissing, InvalidMask
from segarena.files.arrays import read_arrays
from segarena.files.images import read_grey
from segarena.files.matlab import list_matlab, read_matlab
from segarena.files.within import within
from segarena.samples import Shape
from segarena.systems.scenes.edges.edge_counts import (
    EdgeCounts,
    as_soft,
    count_edges,
    edge_thresholds,
    maps_of_soft,
    regions_of_ultrametric,
)
from segarena.systems.scenes.edges.edge_matching import TOLERANCE, match_radius_px
from segarena.systems.scenes.edges.region_measures import RegionCounts, count_regions
from segarena.systems.scenes.measures.human_images import HumanImage

JudgedPart: TypeAlias = Literal["edges", "regions"]
DETECTION_SUFFIXES = (".png", ".npy", ".mat", ".npz")
_SOFT_NAMES = ("ucm2", "ucm", "E", "edges", "map")


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeBenchmarkOptions:
    """How maps are judged.

    Attributes:
        thresholds: how many; segmentations bring their own.
        tolerance: how far matched pixels may lie apart, as a share of the diagonal.
        thins: whether maps are thinned before they are matched.
        judged: "edges", "regions", or both.
    """

    thresholds: int = 99
    tolerance: float = TOLERANCE
    thins: bool = True
    judged: tuple[JudgedPart, ...] = ("edges",)

    def as_json(self) -> dict[str, Any]:
        """Return the rules as plain values, which a folder of results remembers."""
        return {"survey": "edges", **asdict(self)}

    @property
    def work(self) -> partial[dict[str, Any]]:
        """The function that judges (image, file of its detection), to be sent to a process."""
        return partial(count_image, rules=self)


def find_detections(
    folder: Path, images: Sequence[HumanImage], *, is_partial: bool = False
) -> dict[str, tuple[HumanImage, Path]]:
    """Return (image, file of its detection) for every image, by its id; `is_partial` leaves out images without a file.

    Files are ID.png (8 or 16 bit), ID.npy, or ID.mat / ID.npz with `segs`, `ucm2` or a soft map.

    Raises:
        DatasetMissing: an image has no file; with `is_partial`, none has.
    """
    found: dict[str, tuple[HumanImage, Path]] = {}
    missing: list[str] = []
    for image in images:
        files = [within(folder, f"{image.id}{suffix}") for suffix in DETECTION_SUFFIXES]
        file = next((file for file in files if file.is_file()), None)
        if file is None:
            missing.append(image.id)
        else:
            found[image.id] = (image, file)
    if missing and not (is_partial and found):
        raise DatasetMissing(
            f"{folder}: expected ID{' or ID'.join(DETECTION_SUFFIXES)} for every annotated image, found none for "
            f"{len(missing)} of {len(images)}: {', '.join(missing[:3])}{', ...' if len(missing) > 3 else ''}"
        )
    return found


def count_image(item: tuple[HumanImage, Path], *, rules: EdgeBenchmarkOptions) -> dict[str, Any]:
    """Return the counts of one image as plain values; see `edge_counts_of` and `region_counts_of`."""
    image, file = item
    drawings = image.drawings()
    shape: Shape = drawings[0].labels.shape
    detection = read_detection(file)
    thresholds = edge_thresholds(rules.thresholds)
    result: dict[str, Any] = {}
    if isinstance(detection, list):
        thresholds = np.arange(1.0, len(detection) + 1)
    if "edges" in rules.judged:
        if isinstance(detection, list):
            maps = [
                thin(label_edges(one)) if rules.thins else label_edges(one) for one in detection
            ]
        else:
            maps = maps_of_soft(
                as_soft(detection, shape, name=str(file)), thresholds, thins=rules.thins
            )
        references = [drawing.edges for drawing in drawings]
        radius_px = match_radius_px(shape, rules.tolerance)
        counts = count_edges(maps, references, thresholds=thresholds, radius_px=radius_px)
        result["edges"] = _plain(counts)
    if "regions" in rules.judged:
        if isinstance(detection, list):
            segmentations = detection
        else:
            segmentations = [
                regions_of_ultrametric(detection, float(t), shape, name=str(file))
                for t in thresholds
            ]
        references = [drawing.labels for drawing in drawings]
        result["regions"] = _plain(count_regions(segmentations, references, thresholds=thresholds))
    return result


def edge_counts_of(result: dict[str, Any]) -> EdgeCounts:
    """Return the edge counts in a result of `judge_image`."""
    return EdgeCounts(*map(np.array, result["edges"]))


def region_counts_of(result: dict[str, Any]) -> RegionCounts:
    """Return the region counts in a result of `judge_image`."""
    values: list[Any] = [
        np.array(value) if isinstance(value, list) else value for value in result["regions"]
    ]
    return RegionCounts(*values)


def _plain(counts: EdgeCounts | RegionCounts) -> list[Any]:
    """Return the values of counts in the order of their attributes, arrays as lists."""
    values = [getattr(counts, field.name) for field in fields(counts)]
    return [value.tolist() if isinstance(value, np.ndarray) else value for value in values]


def read_detection(path: Path) -> NDArray[Any] | list[NDArray[Any]]:
    """Return a soft map, or the segmentations of one image, one per threshold; raises `InvalidMask` without either."""
    if path.suffix == ".png":
        return read_grey(path)
    if path.suffix == ".mat":
        return _of_matlab(path)
    arrays = read_arrays(path)
    if not arrays:
        raise InvalidMask(
            f"{path}: expected an array, or `segs` (T, H, W), got an empty file; copy it again"
        )
    return list(arrays["segs"]) if "segs" in arrays else next(iter(arrays.values()))


def _of_matlab(path: Path) -> NDArray[Any] | list[NDArray[Any]]:
    names = list_matlab(path)
    if "segs" in names:
        return [np.asarray(one).astype(np.int64) for one in read_matlab(path, "segs").ravel()]
    name = next((name for name in _SOFT_NAMES if name in names), None)
    if name is None:
        raise InvalidMask(
            f"{path}: expected one of segs, {', '.join(_SOFT_NAMES)}; got {', '.join(names) or 'nothing'}"
        )
    return read_matlab(path, name)
