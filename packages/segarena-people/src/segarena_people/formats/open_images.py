"""Open Images: annotators' corrective clicks on object masks, in a CSV file next to the masks.

    MaskPath,ImageID,LabelName,BoxID,BoxXMin,BoxXMax,BoxYMin,BoxYMax,PredictedIoU,Clicks
    677c...png,677c...,/m/04yx4,9a04...,0.8875,0.960938,0.454167,0.720833,0.86864,0.95498 0.65197 1;0.89370 0.56579 1

`Clicks` lists x, y as fractions of the picture, and 1 on the object or 0 on the background, in
order. Annotators started from a box and clicked in several rounds, with up to four clicks per
round; neither the round of a click nor the intermediate masks are published. Each click is
therefore imported as a correction (round 2) of the whole object, with the final mask as its goal.
Pictures have the size of their masks, which may be smaller than the photographs.

Source: Benenson et al., Large-scale interactive object segmentation with human annotators (CVPR
2019); data formats on the Open Images download page, and issue 104 of openimages/dataset on the
third value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import polars as pl

from segarena.errors import InvalidInput
from segarena.files.images import read_mask_values
from segarena.samples import Mask
from segarena_people.csv_columns import read_columns
from segarena_people.import_format import (
    ImportedPrompt,
    ImportInputs,
    UnitReader,
    Units,
    build_stroke,
    prompt_format,
)
from segarena_people.prompts import PersonPrompt

OPEN_IMAGES_MASKS = "the masks of Open Images, or any subset"
SEGMENTATION_COLUMNS = ("MaskPath", "ImageID", "LabelName")


@prompt_format(
    "open-images",
    source="a CSV ...-annotations-object-segmentation.csv",
    beside=f"--masks: {OPEN_IMAGES_MASKS}",
    holds="2.8 million masks with about a dozen corrective clicks each; anonymous",
    terms="CC BY 4.0",
    origin="Open Images V5 to V7; Benenson et al. 2019",
)
def open_open_images(source: Path, beside: ImportInputs) -> Units:
    """Return the rows whose mask file exists, by mask name."""
    table = read_columns(source, (*SEGMENTATION_COLUMNS, "Clicks"))
    files = mask_files(beside)
    # The table lists millions of masks, of which any subset may be present.
    found = table.filter(pl.col("MaskPath").is_in(list(files)))
    units: dict[str, UnitReader] = {}
    columns = found.select(*SEGMENTATION_COLUMNS, "Clicks")
    for mask, image, label, clicks in columns.iter_rows():
        units[mask] = partial(_clicks, files[mask], image, label, clicks or "")
    return units


def mask_files(beside: ImportInputs) -> dict[str, Path]:
    """Return the mask files by name.

    Raises:
        InvalidInput: the folder contains no masks.
    """
    folder = beside.need_masks(OPEN_IMAGES_MASKS)
    files = {path.name: path for path in folder.rglob("*.png")}
    if not files:
        raise InvalidInput(f"--masks {folder}: expected {OPEN_IMAGES_MASKS}, found no PNG")
    return files


def read_open_images_mask(path: Path) -> Mask:
    """Read a mask, bool (H, W); any value above 0 is the object."""
    return read_mask_values(path) > 0


def _clicks(
    path: Path,
    image: str,
    label: str,
    clicks: str,
) -> Iterator[ImportedPrompt]:
    goal = read_open_images_mask(path)
    height, width = goal.shape
    for place, text in enumerate(filter(None, clicks.split(";")), start=1):
        x, y, kind = _click(text, path.name)
        row = PersonPrompt(
            id=f"{path.stem}-{place}",
            study="open-images",
            dataset="open-images",
            sample=image,
            target=path.stem,
            label=label,
            height=height,
            width=width,
            place=place,
            # Annotators started from a box, so even the first click corrects a mask.
            round=2,
            kind="click",
            is_positive=kind == 1,
            points=build_stroke([(x * width, y * height)]),
        )
        if goal.any():
            yield ImportedPrompt(row=row, goal=goal, goal_name=path.stem)


def _click(text: str, mask: str) -> tuple[float, float, float]:
    try:
        x, y, kind = map(float, text.split())
    except ValueError:
        # Every comparison with NaN is false, so the check below rejects the click.
        x = y = kind = math.nan
    if not (0 <= x <= 1 and 0 <= y <= 1 and kind in (0, 1)):
        raise InvalidInput(
            f"{mask}: expected clicks as 'x y 0' or 'x y 1', with x and y from 0 to 1, got {text[:60]!r}"
        )
    return x, y, kind
