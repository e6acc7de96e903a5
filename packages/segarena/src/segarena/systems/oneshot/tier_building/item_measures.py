"""Measures of an item (a class in an image): size, position, salience, difficulty and appearance."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window, grow_window, window_shape
from segarena.arrays.connected_components import label_components
from segarena.comparison import Comparison
from segarena.dialogue import Dialogue, as_prediction
from segarena.errors import DatasetError, InvalidInput, PluginInvalid, SegarenaError
from segarena.files.hashes import sha256
from segarena.files.images import read_mask_values
from segarena.files.safe_paths import safe_join
from segarena.plugin_capabilities import segmenter_capabilities
from segarena.registry import build, find
from segarena.samples import ImageSample, Mask, Support
from segarena.systems.oneshot.pairs.image_sources import ClassMask, ImageSource, binarize_mask
from segarena.systems.oneshot.saliency import build_saliency
from segarena.systems.oneshot.tier_building.stage_cache import ItemMeasure, ItemRow

INDEX_COLUMNS: dict[str, Any] = {
    "height": pl.Int64,
    "width": pl.Int64,
    "area_px": pl.Int64,
    "box_share": pl.Float64,
    "centredness": pl.Float64,
    "components": pl.Int64,
    "sha256": pl.String,
    "left_out": pl.String,
}
"""Columns of the stage `index`; `left_out` is the reason why an item is not used, or "" if it is used."""
_IOU_COLUMNS = ("class", "image", "iou")
_CROP_MARGIN = 0.1  # share of the longer side of the object's box
_COLOUR_BINS = 256  # 4 of lightness, 8 of either colour axis of Lab
_PATTERN_BINS = 10  # of uniform local binary patterns with 8 neighbours


def index_measure(source: ImageSource, *, min_area_px: int) -> ItemMeasure:
    """Return the measure of the stage `index`: size, position, number of components and hash.

    `box_share` is the area of the mask's bounding box as a share of the image; `centredness` is 1
    for a box centred in the image and falls towards 0 for one in a corner; `components` counts
    8-connected components; `sha256` is the hash of image, mask and void pixels.
    """

    def measure(label: str, image: str) -> ItemRow:
        row: ItemRow = dict.fromkeys(INDEX_COLUMNS)
        try:
            pixels, target = _load_item(source, label, image)
        except SegarenaError as error:
            return {**row, "left_out": str(error)}
        area = int(np.count_nonzero(target.mask))
        if area < max(1, min_area_px):
            reason = "the mask is empty"
            if area:
                reason = f"{area} pixels are fewer than {min_area_px}"
            return {**row, "area_px": area, "left_out": reason}
        arrays: list[NDArray[Any]] = [pixels, target.mask]
        if target.ignore is not None:
            arrays.append(target.ignore)
        digest = sha256(repr(pixels.shape), *(array.tobytes() for array in arrays))
        position = _measure_position(target.mask)
        return {**position, "area_px": area, "sha256": digest, "left_out": ""}

    return measure


def _load_item(
    source: ImageSource,
    label: str,
    image: str,
) -> tuple[NDArray[np.uint8], ClassMask]:
    pixels = source.image(image)
    target = source.mask(label, image)
    if target.mask.shape != pixels.shape[:2]:
        raise DatasetError(
            f"mask of {label} in {image}: expected {pixels.shape[:2]}, got {target.mask.shape}"
        )
    return pixels, target


def salience_measure(
    source: ImageSource,
    written: str,
    *,
    threshold: float,
) -> ItemMeasure:
    """Return the measure of the stage `salience`: the IoU of the target with the salient region."""
    saliency = build_saliency(written)

    @lru_cache(maxsize=1)  # items of one image are consecutive
    def salient_region(image: str) -> Mask:
        sample = ImageSample(id=image, image=source.image(image))
        return np.asarray(saliency(sample) >= threshold)

    def measure(label: str, image: str) -> ItemRow:
        return {"salience": mask_iou(salient_region(image), source.mask(label, image))}

    return measure


def difficulty_measure(source: ImageSource, written: str) -> ItemMeasure:
    """Return the measure of the stage `difficulty`: the IoU of a reference method; high means easy.

    The method is a table of another tool's results (`.csv` with columns class, image, iou), a
    folder of predicted masks (`CLASS/IMAGE.png`), or a one-shot segmenter. A segmenter gets the
    item itself as its support, so its IoU is an upper bound.

    Raises:
        InvalidInput: the path of a folder does not exist.
        DatasetError: the table cannot be read, lacks a column, or has an IoU outside 0 to 1.
        PluginInvalid: the segmenter does not exist or does not accept supports.
    """
    path = Path(written).expanduser()
    if written.endswith(".csv"):
        return _from_table(path)
    if path.is_dir():
        return _from_folder(path, source)
    is_plugin = ".py:" in written or "(" in written
    if "/" in written and not is_plugin:
        raise InvalidInput(
            f"difficulty {written!r}: no such path; expected a CSV, a folder of masks, a segmenter"
        )
    return _from_segmenter(written, source)


def appearance_measure(source: ImageSource, written: str) -> ItemMeasure:
    """Return the measure of the stage `looks`: an appearance vector of unit length.

    "colour-texture" is a histogram of colours and local binary patterns of the object's pixels.
    `file.py:function` receives a crop, uint8 (H, W, 3), of the object's box with a margin of a
    tenth of its longer side, and returns numbers.

    Raises:
        InvalidInput: the name is unknown.
        PluginInvalid: the file has no such function.
    """
    if written != "colour-texture" and ".py:" not in written:
        raise InvalidInput(f"looks {written!r}: expected colour-texture, or file.py:function")
    function = None if written == "colour-texture" else find("looks", written)

    def measure(label: str, image: str) -> ItemRow:
        pixels = source.image(image)
        mask = source.mask(label, image).mask
        box = bounding_window(mask)
        margin = round(_CROP_MARGIN * max(window_shape(box)))
        crop = grow_window(box, margin, mask.shape)
        if function is None:
            vector = colour_texture_histogram(pixels[crop], mask[crop])
        else:
            vector = function(pixels[crop])
        return {"looks": _unit_vector(vector, label, image, written)}

    return measure


def colour_texture_histogram(image: NDArray[np.uint8], mask: Mask) -> NDArray[np.float64]:
    """Return the square roots of a histogram of 256 colours and 10 local binary patterns.

    With square roots, the cosine of two histograms is their Bhattacharyya coefficient.

    Args:
        image: RGB image, uint8 (H, W, 3).
        mask: bool (H, W), not empty; pixels outside it are ignored.

    Returns:
        float64 (266,), colours first.
    """
    # scikit-image takes long to import, and only this histogram needs it.
    from skimage.feature import local_binary_pattern

    lab = np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2LAB), np.int64)
    lightness = lab[..., 0] // 64
    green_red = lab[..., 1] // 32
    blue_yellow = lab[..., 2] // 32
    colours = lightness * 64 + green_red * 8 + blue_yellow
    grey = np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), np.uint8)
    patterns = np.asarray(local_binary_pattern(grey, 8, 1, "uniform"), np.int64)
    colour_counts = np.bincount(colours[mask], minlength=_COLOUR_BINS)
    pattern_counts = np.bincount(patterns[mask], minlength=_PATTERN_BINS)
    counts = np.concatenate([colour_counts, pattern_counts])
    return np.sqrt(counts / np.count_nonzero(mask))


def mask_iou(prediction: Mask, target: ClassMask) -> float:
    """Return the intersection over union without void pixels; 0 if both masks are empty."""
    comparison = Comparison.of(prediction, target.mask, target.ignore)
    return comparison.intersection / max(1, comparison.union)


def _measure_position(mask: Mask) -> ItemRow:
    height, width = mask.shape
    rows, columns = bounding_window(mask)
    box_area = (rows.stop - rows.start) * (columns.stop - columns.start)
    # Offset from the image centre to the box centre; 1 is half the image.
    offset = np.array(
        [
            (rows.start + rows.stop - height) / height,
            (columns.start + columns.stop - width) / width,
        ]
    )
    return {
        "height": height,
        "width": width,
        "box_share": box_area / mask.size,
        "centredness": float(1 - np.linalg.norm(offset) / np.sqrt(2)),
        "components": int(label_components(mask).max()),
    }


def _from_table(file: Path) -> ItemMeasure:
    ious: dict[tuple[str, str], float] = {}
    try:
        table = pl.read_csv(file, infer_schema=False)
        missing = [name for name in _IOU_COLUMNS if name not in table.columns]
        if missing:
            raise DatasetError(
                f"{file}: expected columns {', '.join(_IOU_COLUMNS)}; missing: {', '.join(missing)}"
            )
        for row in table.iter_rows(named=True):
            ious[row["class"], row["image"]] = float(row["iou"])
    except (OSError, ValueError, TypeError, pl.exceptions.PolarsError) as error:
        raise DatasetError(
            f"{file}: expected CSV with columns class, image, iou, got: {error}"
        ) from error
    invalid = [item for item, value in ious.items() if not 0 <= value <= 1]
    if invalid:
        raise DatasetError(
            f"{file}: expected IoU of 0 to 1, got {ious[invalid[0]]} for {invalid[0]}"
        )
    return lambda label, image: {"difficulty": ious.get((label, image))}


def _from_folder(folder: Path, source: ImageSource) -> ItemMeasure:
    def measure(label: str, image: str) -> ItemRow:
        target = source.mask(label, image)
        # If images are sorted by class, their names start with the class, which would repeat the
        # folder's name.
        for name in (image, image.rpartition("/")[2]):
            file = safe_join(folder, f"{label}/{name}.png")
            if file.is_file():
                prediction = binarize_mask(read_mask_values(file), file)
                return {"difficulty": mask_iou(prediction, target)}
        return {"difficulty": None}

    return measure


def _from_segmenter(written: str, source: ImageSource) -> ItemMeasure:
    segmenter = build("segmenter", written)
    if not segmenter_capabilities(segmenter).understands("support"):
        raise PluginInvalid(f"difficulty {written!r}: expected a segmenter that accepts supports")

    @lru_cache(maxsize=1)  # items of one image are consecutive
    def encode(image: str) -> tuple[ImageSample, Any]:
        sample = ImageSample(id=image, image=source.image(image))
        return sample, segmenter.encode(sample)

    def measure(label: str, image: str) -> ItemRow:
        sample, encoded = encode(image)
        target = source.mask(label, image)
        dialogue = Dialogue().ask((Support(sample, target.mask, encoded=encoded),))
        (answer,) = segmenter.predict(encoded, [dialogue])
        prediction = as_prediction(answer, sample.shape)
        return {"difficulty": mask_iou(np.asarray(prediction.mask, np.bool_), target)}

    return measure


def _unit_vector(
    vector: Any,
    label: str,
    image: str,
    written: str,
) -> Sequence[float]:
    values = np.asarray(vector, np.float64).ravel()
    length = float(np.linalg.norm(values)) if values.size else 0.0
    if not np.isfinite(length) or length <= 0:
        raise InvalidInput(
            f"looks {written}: expected finite numbers, not all 0, for {label} in {image}"
        )
    return (values / length).tolist()
