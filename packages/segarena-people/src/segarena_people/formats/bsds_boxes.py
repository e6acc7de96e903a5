"""Boxes around regions of BSDS500 that several people outlined: opinions on the extent of the same region.

Four to nine people segmented each photograph completely. The goals are the regions of the
segmentation with the median number of regions, as in the dataset `bsds500`. A region by another
person matches a goal if each is the other's best match, with an IoU of at least 0.5; the prompt is
then the tight box around the matching region. Nobody drew these boxes as boxes: they contain no
hand error, but they include disagreement about the region itself. People cannot be identified
across photographs, so persons are unknown.

Source: Arbelaez et al., Contour Detection and Hierarchical Image Segmentation, TPAMI 2011.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window
from segarena.datasets.bsds500 import borders_touched, median_annotator, read_compact, read_original
from segarena.errors import DatasetMissing, InvalidMask
from segarena.samples import Mask
from segarena_people.import_format import (
    ImportedPrompt,
    ImportInputs,
    Units,
    build_stroke,
    prompt_format,
)
from segarena_people.prompts import PersonPrompt

GOAL_AREA_SHARES = (0.0005, 0.4)
"""Allowed area of a goal as a share of the picture; a goal must also touch at most one side of the picture."""

MATCHING_IOU = 0.5
"""Minimum IoU of matching regions."""


@prompt_format(
    "bsds-boxes",
    source="a folder of BSDS500's human segmentations of one split: ID.npz (compact) or ID.mat (original)",
    holds=(
        "boxes around regions that 4 to 9 people outlined, 200, 100 and 200 photographs per split; "
        "not drawn as boxes"
    ),
    terms="non-commercial research and education; cite Arbelaez et al. 2011",
    origin="Berkeley Segmentation Data Set and Benchmarks 500",
)
def open_bsds_boxes(source: Path, _: ImportInputs) -> Units:
    """Return the photographs of one split."""
    if source.is_dir():
        files: list[Path] = []
        for path in source.iterdir():
            if path.suffix in (".npz", ".mat"):
                files.append(path)
        files = sorted(files)
    else:
        files = []
    if not files:
        raise DatasetMissing(f"{source}: expected a folder with ID.npz or ID.mat files, found none")
    return {path.stem: partial(_boxes, path) for path in files}


def _boxes(path: Path) -> Iterator[ImportedPrompt]:
    people = read_compact(path) if path.suffix == ".npz" else read_original(path)
    if len({labels.shape for labels in people}) > 1:
        raise InvalidMask(f"{path}: expected segmentations of one size; copy it again")
    # Same goals as in the dataset `bsds500`, so that the boxes fit its targets.
    middle = median_annotator(people)
    goals = dict(_goals(people[middle]))
    for number, labels in enumerate(people):
        if number != middle:
            for region, theirs in _matches(people[middle], labels):
                if region in goals:
                    yield _imported(path.stem, number, region, goals[region], labels == theirs)


def _goals(labels: NDArray[np.int32]) -> Iterator[tuple[int, Mask]]:
    low = GOAL_AREA_SHARES[0] * labels.size
    high = GOAL_AREA_SHARES[1] * labels.size
    areas = np.bincount(labels.ravel())
    for region in np.flatnonzero((areas >= low) & (areas <= high)).tolist():
        mask = labels == region
        if region and borders_touched(mask) <= 1:
            yield region, mask


def _matches(ours: NDArray[np.int32], theirs: NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """Yield pairs of regions that are each other's best match, with an IoU of at least `MATCHING_IOU`."""
    rows = int(ours.max()) + 1
    columns = int(theirs.max()) + 1
    # Encode each pair of labels as one integer, so that a single bincount yields all overlaps.
    label_pairs = (ours.astype(np.int64) * columns + theirs).ravel()
    shared = np.bincount(label_pairs, minlength=rows * columns)
    table = shared.reshape(rows, columns)
    our_areas = table.sum(axis=1, keepdims=True)
    their_areas = table.sum(axis=0, keepdims=True)
    union = our_areas + their_areas - table
    iou = table / np.maximum(union, 1)
    best = iou.argmax(axis=1)
    back = iou.argmax(axis=0)
    for region in np.flatnonzero(iou.max(axis=1) >= MATCHING_IOU).tolist():
        # Require mutual matches: one person may outline a car, another each of its windows.
        if back[best[region]] == region:
            yield region, int(best[region])


def _imported(
    name: str,
    number: int,
    region: int,
    goal: Mask,
    theirs: Mask,
) -> ImportedPrompt:
    rows, columns = bounding_window(theirs)
    # Centres of the first and last pixel, both of which are inside people's boxes.
    first = (columns.start + 0.5, rows.start + 0.5)
    last = (columns.stop - 0.5, rows.stop - 0.5)
    row = PersonPrompt(
        id=f"{name}-{number}-{region}",
        study="bsds500",
        dataset="bsds500",
        sample=name,
        target=f"region-{region}",
        height=goal.shape[0],
        width=goal.shape[1],
        kind="box",
        group=name,
        points=build_stroke([first, last]),
    )
    return ImportedPrompt(
        row=row,
        goal=goal,
        goal_name=f"{name}-region-{region}",
    )
