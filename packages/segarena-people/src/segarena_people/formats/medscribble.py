"""MedScribble: strokes by three people on one object, and on the background, in each of 64 medical images.

The repository has one folder per image with `seg.npy` (256, 256) and `scribble_0.npy` to
`scribble_2.npy`, each (2, 256, 256): strokes on the object, and strokes on the background. The
arrays are float32 from 0 to 1 and were resized with an interpolation filter, so values above one
half count as ink. Eight images have no `seg.npy`. An `.npz` packs several images: `name`, and bits
along the last axis in `mask` (N, 256, 32), `positive` and `negative` (N, 3, 256, 32).

The first two people drew with a stylus on a tablet, the third with a trackpad. The pen width is not
documented.

Source: Wong et al., ScribblePrompt (ECCV 2024), and the README of MedScribble in its repository.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import DatasetMissing, InvalidMask
from segarena.files.npy import read_arrays
from segarena.samples import Mask
from segarena_people.import_format import (
    ImportedPrompt,
    ImportInputs,
    UnitReader,
    Units,
    prompt_format,
)
from segarena_people.prompts import DeviceKind, PersonPrompt, PointerKind

# The first two people drew with a stylus on a tablet, the third with a trackpad (README of
# MedScribble).
ANNOTATORS: tuple[tuple[DeviceKind, PointerKind], ...] = (
    ("mobile", "pen"),
    ("mobile", "pen"),
    ("pc", "mouse"),
)
# The authors resized the strokes with an interpolation filter, which produces values between 0 and
# 1.
_INK_THRESHOLD = 0.5
_PACKED = ("name", "mask", "positive", "negative")


@prompt_format(
    "medscribble",
    source="the folder MedScribble of the ScribblePrompt repository, or an .npz of several images",
    holds=(
        "56 images with masks from 12 sources (64 from 14 in total), strokes by three people on and "
        "next to the object"
    ),
    terms="Apache-2.0; the images keep the licences of their sources; cite Wong et al. 2024",
    origin="halleewong/ScribblePrompt, MedScribble",
)
def open_medscribble(source: Path, _: ImportInputs) -> Units:
    """Return the images of either layout."""
    if source.is_file():
        return _packed(source)
    folders = sorted({path.parent for path in source.rglob("scribble_*.npy")})
    if not folders:
        raise DatasetMissing(
            f"{source}: expected folders with scribble_0.npy and seg.npy, found none"
        )
    units: dict[str, UnitReader] = {}
    for folder in folders:
        name = _name(folder, source)
        units[name] = partial(_example, folder, name)
    return units


def _name(folder: Path, source: Path) -> str:
    return folder.relative_to(source).as_posix() if folder != source else folder.name


def _example(folder: Path, name: str) -> Iterator[ImportedPrompt]:
    # Eight images have no mask: the error marks their folder as a skipped unit.
    goal = _bits(folder / "seg.npy", 2)
    for number in range(len(ANNOTATORS)):
        path = folder / f"scribble_{number}.npy"
        if path.is_file():
            drawn = _bits(path, 3)
            if drawn.shape != (2, *goal.shape):
                raise InvalidMask(f"{path}: expected shape {(2, *goal.shape)}, got {drawn.shape}")
            yield from _strokes(name, number, goal, drawn)


def _bits(path: Path, axes: int) -> Mask:
    values = read_arrays(path).get("")
    if values is None or values.ndim != axes or not np.isfinite(values).all():
        raise InvalidMask(f"{path}: expected an array of finite numbers with {axes} axes")
    return values > _INK_THRESHOLD


def _packed(path: Path) -> Units:
    arrays = read_arrays(path, _PACKED, has_text=True)
    missing = [name for name in _PACKED if name not in arrays]
    if missing:
        raise InvalidMask(
            f"{path}: expected arrays {', '.join(_PACKED)}; missing: {', '.join(missing)}"
        )
    names, goals, positive, negative = (arrays[name] for name in _PACKED)
    people = (names.size, len(ANNOTATORS), *goals.shape[1:])
    has_right_shapes = names.ndim == 1 and goals.ndim == 3 and len(goals) == names.size
    has_right_shapes &= positive.shape == negative.shape == people
    types = {goals.dtype, positive.dtype, negative.dtype}
    if not has_right_shapes or types != {np.dtype(np.uint8)}:
        raise InvalidMask(
            f"{path}: expected packed bits of shape (N, H, W / 8), and (N, 3, H, W / 8) for people's strokes"
        )
    units: dict[str, UnitReader] = {}
    for i, name in enumerate(names):
        drawn = np.stack([positive[i], negative[i]], axis=1)
        units[str(name)] = partial(_of_bits, str(name), goals[i], drawn)
    return units


def _of_bits(
    name: str,
    goal: NDArray[Any],
    drawn: NDArray[Any],
) -> Iterator[ImportedPrompt]:
    """Yield the strokes on one picture from its bit-packed arrays."""
    target = np.unpackbits(goal, axis=-1).view(np.bool_)
    for number, packed in enumerate(drawn):
        masks = np.unpackbits(packed, axis=-1).view(np.bool_)
        yield from _strokes(name, number, target, masks)


def _strokes(
    name: str,
    number: int,
    goal: Mask,
    drawn: Mask,
) -> Iterator[ImportedPrompt]:
    """Yield one person's non-empty strokes on one image, on the object and on the background."""
    device, pointer = ANNOTATORS[number]
    for stroke, is_positive in zip(drawn, (True, False), strict=True):
        row = PersonPrompt(
            id=f"{name}-{number + 1}-{'on' if is_positive else 'beside'}",
            study="medscribble",
            dataset="medscribble",
            sample=name,
            target="object",
            label=name.partition("/")[0],
            height=goal.shape[0],
            width=goal.shape[1],
            person=f"medscribble-{number + 1}",
            kind="scribble",
            is_positive=is_positive,
            device=device,
            declared_device=device,
            pointer=pointer,
        )
        if stroke.any():
            yield ImportedPrompt(
                row=row,
                goal=goal,
                goal_name=name,
                drawn=stroke,
            )
