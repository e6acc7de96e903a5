"""Label images: each pixel has the depth index (from 1) of the region visible there; uncovered pixels have 0."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from segarena.errors import InvalidInput
from segarena.files.atomic_write import write_atomic
from segarena.systems.scenes.files.record_encoding import file_stem
from segarena.systems.scenes.model.rasters import rasterise
from segarena.systems.scenes.model.scene import Scene, SceneSet

LabelDepth: TypeAlias = Literal["16-bit", "palette"]

LARGEST_LABEL = {"16-bit": 65535, "palette": 255}


def write_label_pngs(
    scenes: SceneSet,
    folder: Path,
    *,
    kind: LabelDepth,
) -> list[Path]:
    """Write IMAGE.png for each scene, or IMAGE.ANNOTATOR.png for an image with several scenes.

    "16-bit" writes grey values, which every program can read. "palette" writes 8 bits with colours,
    for at most 255 regions.

    Raises:
        InvalidInput: a scene has more regions than the kind has values.
    """
    stems = named_scenes(scenes)
    for scene in stems.values():
        if len(scene.regions) > LARGEST_LABEL[kind]:
            raise InvalidInput(
                f"{scene.title}: expected at most {LARGEST_LABEL[kind]} regions for {kind} labels, "
                f"got {len(scene.regions)}; use png-16"
            )
    files: list[Path] = []
    for stem, scene in stems.items():
        owner = rasterise(scene).owner
        if kind == "16-bit":
            png = encode_png(owner.astype(np.uint16))
        else:
            png = encode_png(owner.astype(np.uint8), palette(256))
        files.append(write_atomic(folder / f"{stem}.png", png))
    return files


def named_scenes(scenes: SceneSet) -> dict[str, Scene]:
    """Return each scene with the stem of its file names.

    The stem is that of the image, followed by the annotator if the image has several scenes. Equal
    stems, as with annotators without names, get a numeric suffix: the second one gets 2.
    """
    groups = scenes.by_image()
    named: dict[str, Scene] = {}
    for scene in scenes.scenes:
        stem = file_stem(scene, with_annotator=len(groups[scene.image.id]) > 1)
        free = stem
        number = 2
        while free in named:
            free = f"{stem}.{number}"
            number += 1
        named[free] = scene
    return named


def encode_png(values: NDArray[Any], colours: NDArray[np.uint8] | None = None) -> bytes:
    """Encode uint8 (H, W), uint8 (H, W, 3) or uint16 (H, W) as PNG, optionally with a palette (256, 3)."""
    image = Image.fromarray(values)
    if colours is not None:
        image.putpalette(colours.tobytes())
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    return buffer.getvalue()


def palette(size: int) -> NDArray[np.uint8]:
    """Return `size` distinct colours, uint8 (size, 3), black first.

    Each colour takes its bits, from the highest, from the bits of its index (the order of PASCAL
    VOC).
    """
    numbers = np.arange(size)
    colours = np.zeros((size, 3), dtype=np.uint8)
    for bit in range(8):
        for channel in range(3):
            is_set = numbers >> (3 * bit + channel) & 1
            colours[:, channel] |= (is_set << (7 - bit)).astype(np.uint8)
    return colours
