"""What is measured of an item, a class in an image: its place and size, salience, difficulty, and looks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.abilities import abilities_of_segmenter
from segarena.arrays.boxes import bounding_window, grow_window, window_shape
from segarena.arrays.components import component_labels
from segarena.comparison import Comparison
from segarena.dialogue import Dialogue, as_prediction
from segarena.errors import DatasetError, InvalidInput, PluginInvalid, SegarenaError
from segarena.files.hashes import sha256
from segarena.files.images import read_values
from segarena.files.within import within
from segarena.registry import build, find
from segarena.samples import ImageSample, Mask, Support
from segarena.systems.oneshot.pairs.image_sources import ClassMask, ImageSource, binarize_mask
from segarena.systems.oneshot.saliency import build_saliency
from segarena.systems.oneshot.tier_building.stage_cache import ItemMeasure, ItemRow

INDEX_COLUMNS: dict[str, Any] = {
    **dict.fromkeys(("height", "width", "area_px"), pl.Int64),
    **dict.fromkeys(("box_share", "centredness"), pl.Float64),
    "components": pl.Int64,
    **dict.fromkeys(("sha256", "left_out"), pl.String),
}
"""Of the stage `index`; `left_out` says why an item is not used, "" where it is."""
_CROP_MARGIN = 0.1


def index_measure(source: ImageSource, *, min_area_px: int) -> ItemMeasure:
    """Return the stage `index`: size, place, number of parts and hash of what is there.

    `box_share` is the share of the image that the mask's bounding box takes; `centredness` is 1 where the box lies in
    the middle of the image and 0 in its corners; `components` counts 8-connected parts.
    """

    def measure(label: str, image: str) -> ItemRow:
        nothing = dict.fromkeys(INDEX_COLUMNS)
        try:
            pixels = source.image(image)
            found = source.mask(label, image)
            if found.mask.shape != pixels.shape[:2]:
                raise DatasetError(
                    f"mask of {label} in {image}: expected {pixels.shape[:2]}, got {found.mask.shape}"
                )
        except SegarenaError as error:
            return {**nothing, "left_out": str(error)}
        area = int(np.count_nonzero(found.mask))
        if area < max(1, min_area_px):
            if not area:
                reason = "the mask shows nothing"
            else:
                reason = f"{area} pixels are fewer than {min_area_px}"
            return {**nothing, "area_px": area, "left_out": reason}
        arrays = (pixels, found.mask, *(() if found.ignore is None else (found.ignore,)))
        digest = sha256(repr(pixels.shape), *(array.tobytes() for array in arrays))
        return {**_place(found.mask), "area_px": area, "sha256": digest, "left_out": ""}

    return measure


def salience_measure(source: ImageSource, written: str, *, threshold: float) -> ItemMeasure:
    """Return the stage `salience`: the IoU of the target with what stands out in its image."""
    saliency = build_saliency(written)

    @lru_cache(maxsize=1)  # items of one image follow each other
    def salient(image: str) -> Mask:
        return np.asarray(saliency(ImageSample(id=image, image=source.image(image))) >= threshold)

    def measure(label: str, image: str) -> ItemRow:
        return {"salience": mask_iou(salient(image), source.mask(label, image))}

    return measure


def difficulty_measure(source: ImageSource, written: str) -> ItemMeasure:
    """Return the stage `difficulty`: the IoU that a reference method reaches on the item; high is easy.

    The method is a table made elsewhere (`.csv` with columns class, image, iou), a folder of predicted masks
    (`CLASS/IMAGE.png`), or a one-shot segmenter that is shown the item itself: what it could at best know.

    Raises:
        InvalidInput: a path that does not exist.
        DatasetError: the table lacks a column.
        PluginInvalid: the segmenter answers no supports.
    """
    if written.endswith(".csv"):
        return _from_table(Path(written).expanduser())
    folder = Path(written).expanduser()
    if folder.is_dir():
        return _from_folder(folder, source)
    if "/" in written and ".py:" not in written and "(" not in written:
        raise InvalidInput(
            f"difficulty {written!r}: nothing is there; expected a CSV, a folder of masks, a segmenter"
        )
    return _from_segmenter(written, source)


def appearance_measure(source: ImageSource, written: str) -> ItemMeasure:
    """Return the stage `looks`: a vector of unit length that says what the item looks like.

    "colour-texture" is a histogram of colours and local binary patterns of the object's pixels. `file.py:function` gets
    a crop, uint8 (H, W, 3), to the object's box and a tenth more, and returns numbers.

    Raises:
        InvalidInput: another name.
        PluginInvalid: the file has no such function.
    """
    if written != "colour-texture" and ".py:" not in written:
        raise InvalidInput(f"looks {written!r}: expected colour-texture, or file.py:function")
    function = None if written == "colour-texture" else find("looks", written)

    def measure(label: str, image: str) -> ItemRow:
        pixels = source.image(image)
        mask = source.mask(label, image).mask
        box = bounding_window(mask)
        window = grow_window(box, round(_CROP_MARGIN * max(window_shape(box))), mask.shape)
        if function is None:
            vector = colour_texture_histogram(pixels[window], mask[window])
        else:
            vector = function(pixels[window])
        return {"looks": _unit(vector, label, image, written)}

    return measure


def colour_texture_histogram(image: NDArray[np.uint8], mask: Mask) -> NDArray[np.float64]:
    """Return the square roots of shares of 256 colours and 10 local binary patterns of a mask's pixels, float64 (266,).

    Args:
        image: uint8 (H, W, 3), RGB.
        mask: bool (H, W), not empty.
    """
    from skimage.feature import local_binary_pattern

    lab = np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2LAB), np.int64)
    colours = (lab[..., 0] // 64) * 64 + (lab[..., 1] // 32) * 8 + lab[..., 2] // 32
    grey = np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), np.uint8)
    patterns = np.asarray(local_binary_pattern(grey, 8, 1, "uniform"), np.int64)
    counts = [
        np.bincount(values[mask], minlength=size)
        for values, size in ((colours, 256), (patterns, 10))
    ]
    return np.sqrt(np.concatenate(counts) / np.count_nonzero(mask))


def mask_iou(prediction: Mask, target: ClassMask) -> float:
    """Return intersection over union, void pixels left out; 0 where both are empty."""
    found = Comparison.of(prediction, target.mask, target.ignore)
    return found.intersection / max(1, found.union)


def _place(mask: Mask) -> ItemRow:
    height, width = mask.shape
    rows, columns = bounding_window(mask)
    middle = np.array([rows.start + rows.stop - height, columns.start + columns.stop - width]) / (
        height,
        width,
    )
    return {
        "height": height,
        "width": width,
        "box_share": (rows.stop - rows.start) * (columns.stop - columns.start) / mask.size,
        "centredness": float(1 - np.linalg.norm(middle) / np.sqrt(2)),
        "components": int(component_labels(mask).max()),
    }


def _from_table(file: Path) -> ItemMeasure:
    try:
        table = pl.read_csv(file, infer_schema=False)
        known = {
            (row["class"], row["image"]): float(row["iou"]) for row in table.iter_rows(named=True)
        }
    except (OSError, KeyError, ValueError, TypeError, pl.exceptions.PolarsError) as error:
        raise DatasetError(
            f"{file}: expected CSV with columns class, image, iou, got: {error!r}"
        ) from error
    wrong = [pair for pair, value in known.items() if not 0 <= value <= 1]
    if wrong:
        raise DatasetError(f"{file}: expected IoU of 0 to 1, got {known[wrong[0]]} for {wrong[0]}")
    return lambda label, image: {"difficulty": known.get((label, image))}


def _from_folder(folder: Path, source: ImageSource) -> ItemMeasure:
    def measure(label: str, image: str) -> ItemRow:
        target = source.mask(label, image)
        for name in (image, image.rpartition("/")[2]):
            file = within(folder, f"{label}/{name}.png")
            if file.is_file():
                return {"difficulty": mask_iou(binarize_mask(read_values(file), file), target)}
        return {"difficulty": None}

    return measure


def _from_segmenter(written: str, source: ImageSource) -> ItemMeasure:
    segmenter = build("segmenter", written)
    if not abilities_of_segmenter(segmenter).understands("support"):
        raise PluginInvalid(f"difficulty {written!r}: expected a segmenter that answers supports")

    @lru_cache(maxsize=1)
    def seen(image: str) -> tuple[ImageSample, Any]:
        sample = ImageSample(id=image, image=source.image(image))
        return sample, segmenter.encode(sample)

    def measure(label: str, image: str) -> ItemRow:
        sample, encoded = seen(image)
        target = source.mask(label, image)
        (answer,) = segmenter.predict(
            encoded, [Dialogue().ask((Support(sample, target.mask, encoded=encoded),))]
        )
        return {
            "difficulty": mask_iou(
                np.asarray(as_prediction(answer, sample.shape).mask, np.bool_), target
            )
        }

    return measure


def _unit(vector: Any, label: str, image: str, written: str) -> Sequence[float]:
    values = np.asarray(vector, np.float64).ravel()
    length = float(np.linalg.norm(values)) if values.size else 0.0
    if not np.isfinite(length) or length <= 0:
        raise InvalidInput(
            f"looks {written}: expected finite numbers, not all 0, for {label} in {image}"
        )
    return (values / length).tolist()
