"""Boxes around the regions of BSDS500 that several people outlined: opinions on the extent of one thing.

Each photograph has complete segmentations by four to nine people. The goals are the regions of the
one with the median number of regions, as for the dataset `bsds500`. A region of another person
matches where each is the other's best match, with an IoU of 0.5 or more; the prompt is then the
smallest box around that region. Nobody drew these boxes: they lack errors of the hand, and include
disagreement about the thing itself. People cannot be identified across photographs, so persons are
unknown.

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
"""Range of a goal's area as a share of the picture; a goal also touches at most one side of it."""

MATCHING_IOU = 0.5
"""Least IoU of regions that match."""


@prompt_format(
    "bsds-boxes",
    source="a folder of BSDS500's human segmentations of one split: ID.npz (compact) or ID.mat (original)",
    holds="boxes around regions that 4 to 9 people outlined in 200, 100 and 200 photographs; not drawn as boxes",
    terms="non-commercial research and education; cite Arbelaez et al. 2011",
    origin="Berkeley Segmentation Data Set and Benchmarks 500",
)
def open_bsds_boxes(source: Path, _: ImportInputs) -> Units:
    """Return the photographs of a split."""
    if source.is_dir():
        files = sorted(path for path in source.iterdir() if path.suffix in (".npz", ".mat"))
    else:
        files = []
    if not files:
        raise DatasetMissing(f"{source}: expected a folder with ID.npz or ID.mat, found none in it")
    return {path.stem: partial(_boxes, path) for path in files}


def _boxes(path: Path) -> Iterator[ImportedPrompt]:
    people = read_compact(path) if path.suffix == ".npz" else read_original(path)
    if len({labels.shape for labels in people}) > 1:
        raise InvalidMask(f"{path}: expected segmentations of one size; copy it again")
    middle = median_annotator(people)
    goals = dict(_goals(people[middle]))
    for number, labels in enumerate(people):
        if number != middle:
            for region, theirs in _matches(people[middle], labels):
                if region in goals:
                    yield _given(path.stem, number, region, goals[region], labels == theirs)


def _goals(labels: NDArray[np.int32]) -> Iterator[tuple[int, Mask]]:
    low, high = (share * labels.size for share in GOAL_AREA_SHARES)
    areas = np.bincount(labels.ravel())
    for region in np.flatnonzero((areas >= low) & (areas <= high)).tolist():
        mask = labels == region
        if region and borders_touched(mask) <= 1:
            yield region, mask


def _matches(ours: NDArray[np.int32], theirs: NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """Yield pairs of regions that are each other's best match."""
    rows = int(ours.max()) + 1
    columns = int(theirs.max()) + 1
    shared = np.bincount(
        (ours.astype(np.int64) * columns + theirs).ravel(), minlength=rows * columns
    )
    table = shared.reshape(rows, columns)
    union = table.sum(axis=1, keepdims=True) + table.sum(axis=0, keepdims=True) - table
    iou = table / np.maximum(union, 1)
    best = iou.argmax(axis=1)
    back = iou.argmax(axis=0)
    for region in np.flatnonzero(iou.max(axis=1) >= MATCHING_IOU).tolist():
        if back[best[region]] == region:
            yield region, int(best[region])


def _given(name: str, number: int, region: int, goal: Mask, theirs: Mask) -> ImportedPrompt:
    rows, columns = bounding_window(theirs)
    # Centres of the first and the last pixel: both are inside of people's boxes.
    corners = [(columns.start + 0.5, rows.start + 0.5), (columns.stop - 0.5, rows.stop - 0.5)]
    row = PersonPrompt(
        id=f"{name}-{number}-{region}", study="bsds500", dataset="bsds500", sample=name, target=f"region-{region}",
        height=goal.shape[0], width=goal.shape[1], kind="box", group=name, points=build_stroke(corners),
    )  # fmt: skip
    return ImportedPrompt(row=row, goal=goal, goal_name=f"{name}-region-{region}")
