"""Label images: what each pixel shows, as the number of its region in the depth order; 0 where there is none."""

from __future__ import annotations

import io
from itertools import chain, count
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from segarena.errors import InvalidInput
from segarena.files.whole import write_whole
from segarena.systems.scenes.files.record_encoding import file_stem
from segarena.systems.scenes.model.rasters import rasterise
from segarena.systems.scenes.model.scene import Scene, SceneSet

LabelDepth: TypeAlias = Literal["16-bit", "palette"]

LARGEST_LABEL = {"16-bit": 65535, "palette": 255}


def write_label_pngs(scenes: SceneSet, folder: Path, *, kind: LabelDepth) -> list[Path]:
    """Write IMAGE.png for each scene, or IMAGE.ANNOTATOR.png where an image has several.

    "16-bit" is grey, for any program; "palette", 8 bits, in colours, for at most 255 regions.

    Raises:
        InvalidInput: more regions than the kind has numbers.
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
        is_deep = kind == "16-bit"
        if is_deep:
            png = encode_png(owner.astype(np.uint16))
        else:
            png = encode_png(owner.astype(np.uint8), palette(256))
        files.append(write_whole(folder / f"{stem}.png", png))
    return files


def named_scenes(scenes: SceneSet) -> dict[str, Scene]:
    """Return each scene by the stem of its files: the image's, with the annotator where it has several.

    Where two would have the same, as of annotators without names, the later ones are numbered from 2.
    """
    groups = scenes.by_image()
    found: dict[str, Scene] = {}
    for scene in scenes.scenes:
        stem = file_stem(scene, with_annotator=len(groups[scene.image.id]) > 1)
        names = chain([stem], (f"{stem}.{number}" for number in count(2)))
        found[next(name for name in names if name not in found)] = scene
    return found


def encode_png(values: NDArray[Any], colours: NDArray[np.uint8] | None = None) -> bytes:
    """Return uint8 (H, W), uint8 (H, W, 3) or uint16 (H, W) as PNG, with a palette (256, 3) where one is given."""
    image = Image.fromarray(values)
    if colours is not None:
        image.putpalette(colours.tobytes())
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    return buffer.getvalue()


def palette(size: int) -> NDArray[np.uint8]:
    """Return `size` colours that are well apart, uint8 (size, 3), black first.

    Each colour takes its bits, from the highest, from the bits of its number (the order of PASCAL VOC).
    """
    numbers = np.arange(size)
    colours = np.zeros((size, 3), dtype=np.uint8)
    for place in range(8):
        for channel in range(3):
            colours[:, channel] |= ((numbers >> (3 * place + channel) & 1) << (7 - place)).astype(
                np.uint8
            )
    return colours
