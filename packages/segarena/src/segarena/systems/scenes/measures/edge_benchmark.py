"""The edge benchmark on folders: a detector's maps or segmentations against human annotations.

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
from segarena.files.images import read_grey
from segarena.files.matlab import list_matlab_variables, read_matlab
from segarena.files.npy import read_arrays
from segarena.files.safe_paths import safe_join
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
from segarena.systems.scenes.measures.drawings import Drawing
from segarena.systems.scenes.measures.multi_annotator_images import HumanImage

JudgedPart: TypeAlias = Literal["edges", "regions"]
DETECTION_SUFFIXES = (".png", ".npy", ".mat", ".npz")
# Names of soft maps in .mat files; the first name found is used.
_SOFT_NAMES = ("ucm2", "ucm", "E", "edges", "map")


Detection: TypeAlias = NDArray[Any] | list[NDArray[Any]]
"""A soft map of an image, or its segmentations, one per threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeBenchmarkOptions:
    """Options of the edge benchmark.

    Attributes:
        thresholds: number of thresholds for soft maps; files of segmentations have their own.
        tolerance: maximum distance of matched pixels, as a share of the diagonal.
        thins: whether maps are thinned before matching.
        judged: "edges", "regions", or both.
    """

    thresholds: int = 99
    tolerance: float = TOLERANCE
    thins: bool = True
    judged: tuple[JudgedPart, ...] = ("edges",)

    def as_json(self) -> dict[str, Any]:
        """Return the options as plain values, which a results folder can store."""
        return {"survey": "edges", **asdict(self)}

    @property
    def work(self) -> partial[dict[str, Any]]:
        """Picklable function that evaluates an (image, detection file) pair."""
        return partial(count_image, rules=self)


def find_detections(
    folder: Path,
    images: Sequence[HumanImage],
    *,
    is_partial: bool = False,
) -> dict[str, tuple[HumanImage, Path]]:
    """Return (image, detection file) for every image, by image id.

    Files are ID.png (8 or 16 bit), ID.npy, or ID.mat / ID.npz with `segs`, `ucm2` or a soft map.

    Args:
        folder: the folder with one file per image.
        images: the annotated images.
        is_partial: skip images without a file instead of raising an error.

    Raises:
        DatasetMissing: an image has no file; with `is_partial`, no image has one.
    """
    found: dict[str, tuple[HumanImage, Path]] = {}
    missing: list[str] = []
    for image in images:
        file = _detection_file(folder, image.id)
        if file is None:
            missing.append(image.id)
        else:
            found[image.id] = (image, file)
    if missing and not (is_partial and found):
        names = ", ".join(missing[:3])
        if len(missing) > 3:
            names += ", ..."
        raise DatasetMissing(
            f"{folder}: expected ID{' or ID'.join(DETECTION_SUFFIXES)} for every annotated image, found none for "
            f"{len(missing)} of {len(images)}: {names}"
        )
    return found


def _detection_file(folder: Path, image_id: str) -> Path | None:
    for suffix in DETECTION_SUFFIXES:
        file = safe_join(folder, f"{image_id}{suffix}")
        if file.is_file():
            return file
    return None


def count_image(item: tuple[HumanImage, Path], *, rules: EdgeBenchmarkOptions) -> dict[str, Any]:
    """Evaluate one image. Return plain values, from which `edge_counts_of` and `region_counts_of` restore counts."""
    image, file = item
    drawings = image.drawings()
    detection = read_detection(file)
    if isinstance(detection, list):
        thresholds = np.arange(1.0, len(detection) + 1)
    else:
        thresholds = edge_thresholds(rules.thresholds)
    result: dict[str, Any] = {}
    if "edges" in rules.judged:
        result["edges"] = _count_edges(drawings, file, detection, thresholds, rules)
    if "regions" in rules.judged:
        result["regions"] = _count_regions(drawings, file, detection, thresholds)
    return result


def _count_edges(
    drawings: Sequence[Drawing],
    file: Path,
    detection: Detection,
    thresholds: NDArray[np.float64],
    rules: EdgeBenchmarkOptions,
) -> list[Any]:
    shape: Shape = drawings[0].labels.shape
    if isinstance(detection, list):
        maps = [label_edges(labels) for labels in detection]
        if rules.thins:
            maps = [thin(edges) for edges in maps]
    else:
        levels = as_soft(detection, shape, name=str(file))
        maps = maps_of_soft(levels, thresholds, thins=rules.thins)
    counts = count_edges(
        maps,
        [drawing.edges for drawing in drawings],
        thresholds=thresholds,
        radius_px=match_radius_px(shape, rules.tolerance),
    )
    return _plain(counts)


def _count_regions(
    drawings: Sequence[Drawing],
    file: Path,
    detection: Detection,
    thresholds: NDArray[np.float64],
) -> list[Any]:
    shape: Shape = drawings[0].labels.shape
    segmentations: list[NDArray[Any]] = []
    if isinstance(detection, list):
        segmentations = detection
    else:
        for threshold in thresholds:
            level = float(threshold)
            regions = regions_of_ultrametric(detection, level, shape, name=str(file))
            segmentations.append(regions)
    references = [drawing.labels for drawing in drawings]
    return _plain(count_regions(segmentations, references, thresholds=thresholds))


def edge_counts_of(result: dict[str, Any]) -> EdgeCounts:
    """Restore the edge counts from a result of `count_image`."""
    return EdgeCounts(*(np.array(values) for values in result["edges"]))


def region_counts_of(result: dict[str, Any]) -> RegionCounts:
    """Restore the region counts from a result of `count_image`."""
    return RegionCounts(*(_from_plain(value) for value in result["regions"]))


def _from_plain(value: Any) -> Any:
    return np.array(value) if isinstance(value, list) else value


def _plain(counts: EdgeCounts | RegionCounts) -> list[Any]:
    """Return the values of counts in attribute order, with arrays as lists."""
    plain: list[Any] = []
    for field in fields(counts):
        value = getattr(counts, field.name)
        if isinstance(value, np.ndarray):
            value = value.tolist()
        plain.append(value)
    return plain


def read_detection(path: Path) -> Detection:
    """Read a soft map or the segmentations of one image; raise `InvalidMask` if the file has neither."""
    if path.suffix == ".png":
        return read_grey(path)
    if path.suffix == ".mat":
        return _read_matlab_detection(path)
    arrays = read_arrays(path)
    if not arrays:
        raise InvalidMask(
            f"{path}: expected an array, or `segs` (T, H, W), got an empty file; copy it again"
        )
    if "segs" in arrays:
        segmentations = arrays["segs"]
        if segmentations.ndim != 3:
            raise InvalidMask(
                f"{path}: expected `segs` (T, H, W), got shape {segmentations.shape}; stack the label maps"
            )
        return list(segmentations)
    return next(iter(arrays.values()))


def _read_matlab_detection(path: Path) -> Detection:
    names = list_matlab_variables(path)
    if "segs" in names:
        cells = read_matlab(path, "segs").ravel()
        return [np.asarray(labels).astype(np.int64) for labels in cells]
    for name in _SOFT_NAMES:
        if name in names:
            return read_matlab(path, name)
    raise InvalidMask(
        f"{path}: expected one of segs, {', '.join(_SOFT_NAMES)}; got {', '.join(names) or 'nothing'}"
    )
