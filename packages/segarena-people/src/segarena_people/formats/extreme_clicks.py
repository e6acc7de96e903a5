"""Extreme clicks of Open Images: boxes from clicks on an object's top, bottom, left and right extreme points.

Open Images publishes them as boxes, in fractions of the picture. The column `Source` is `xclick`
for boxes that people clicked; boxes from other sources were not drawn by people. Tables since V6
also contain the four clicks, whose bounding box is the published box.

    ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,...
    000002b66c9c498e,xclick,/m/01g317,1,0.012500,0.195312,0.148438,0.587500,0,...

Masks are matched with the boxes in the segmentation table, which must be in the same folder as the
masks: a mask belongs to the box with the same picture, label and edges. Boxes without a mask are
skipped.

The boxes of Papadopoulos et al. for PASCAL VOC are not supported, because their file format is not
documented.

Source: Papadopoulos et al., Extreme clicking for efficient object annotation (ICCV 2017);
Kuznetsova et al., The Open Images Dataset V4 (IJCV 2020); data formats of the Open Images download
page.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import polars as pl

from segarena.errors import DatasetMissing
from segarena_people.csv_columns import read_columns
from segarena_people.formats.open_images import (
    OPEN_IMAGES_MASKS,
    SEGMENTATION_COLUMNS,
    mask_files,
    read_open_images_mask,
)
from segarena_people.import_format import (
    ImportedPrompt,
    ImportInputs,
    UnitReader,
    Units,
    build_stroke,
    prompt_format,
)
from segarena_people.prompts import PersonPrompt

_EDGES = ("XMin", "XMax", "YMin", "YMax")
# One of the tables rounds edges to six digits; this tolerance is a tenth of a pixel in a
# photograph.
_EDGE_TOLERANCE = 1e-4


@prompt_format(
    "extreme-clicks",
    source="a CSV ...-annotations-bbox.csv",
    beside=f"--masks: {OPEN_IMAGES_MASKS}, and ...-annotations-object-segmentation.csv in the same folder",
    holds="15.4 million boxes, most of them by extreme clicks, up to 2.8 million with masks; anonymous",
    terms="CC BY 4.0",
    origin="Open Images V4 to V7; Papadopoulos et al. 2017",
)
def open_extreme_clicks(source: Path, beside: ImportInputs) -> Units:
    """Return the boxes that people clicked and that have a mask, by mask name."""
    boxes = read_columns(source, ("ImageID", "Source", "LabelName", *_EDGES)).filter(
        pl.col("Source") == "xclick"
    )
    files = mask_files(beside)
    folder = beside.need_masks(OPEN_IMAGES_MASKS)
    tables = sorted(folder.rglob("*segmentation*.csv"))
    if not tables:
        raise DatasetMissing(
            f"--masks {folder}: expected ...-annotations-object-segmentation.csv, found none"
        )
    mask_edges = [f"Box{edge}" for edge in _EDGES]
    masks = pl.concat([read_columns(path, (*SEGMENTATION_COLUMNS, *mask_edges)) for path in tables])
    masks = masks.filter(pl.col("MaskPath").is_in(list(files)))
    both = _numbers(boxes, _EDGES).join(
        _numbers(masks, mask_edges),
        on=["ImageID", "LabelName"],
    )
    # The tables share no box id; equal edges identify a box.
    is_close: list[pl.Expr] = []
    for edge, mask_edge in zip(_EDGES, mask_edges, strict=True):
        difference = pl.col(edge) - pl.col(mask_edge)
        is_close.append(difference.abs() < _EDGE_TOLERANCE)
    is_same = pl.all_horizontal(is_close)
    pairs = both.filter(is_same).unique("MaskPath", keep="first", maintain_order=True)
    columns = pairs.select("MaskPath", "ImageID", "LabelName", *_EDGES)
    units: dict[str, UnitReader] = {}
    for mask, image, label, *edges in columns.iter_rows():
        units[mask] = partial(_box, files[mask], image, label, edges)
    return units


def _numbers(table: pl.DataFrame, columns: tuple[str, ...] | list[str]) -> pl.DataFrame:
    """Convert columns to numbers, and drop rows with invalid numbers or with edges outside the picture."""
    made = table.with_columns(pl.col(*columns).cast(pl.Float64, strict=False))
    return made.filter(pl.all_horizontal(pl.col(*columns).is_between(0, 1)))


def _box(
    path: Path,
    image: str,
    label: str,
    edges: list[float],
) -> Iterator[ImportedPrompt]:
    goal = read_open_images_mask(path)
    height, width = goal.shape
    left, right, top, bottom = edges
    first = (left * width, top * height)
    last = (right * width, bottom * height)
    row = PersonPrompt(
        id=f"{path.stem}-box",
        study="extreme-clicks",
        dataset="open-images",
        sample=image,
        target=path.stem,
        label=label,
        height=height,
        width=width,
        kind="box",
        points=build_stroke([first, last]),
    )
    if goal.any():
        yield ImportedPrompt(row=row, goal=goal, goal_name=path.stem)
