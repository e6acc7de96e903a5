"""Orientation of masks for photographs that EXIF rotates: one rule, and the assumptions of a dataset.

Photographs are rotated upright by their EXIF orientation, and so is a mask that has this tag. A
mask without the tag is assumed to be drawn on the upright photograph ("upright"), unless an option
of the dataset says that it shows the stored pixels ("stored"). A wrong assumption is only visible
in the shape if the photograph is not square and is rotated by 90 degrees. Datasets therefore report
the number of all other cases, with an example.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from segarena.errors import InvalidImage
from segarena.files.images import keeps_shape, read_orientation

MaskOrientation: TypeAlias = Literal["upright", "stored"]


class MaskedPhotograph(NamedTuple):
    """A photograph with the files that hold its masks or outlines."""

    image: Path
    masks: tuple[Path, ...]


def orientation_assumptions(
    pictures: Iterable[MaskedPhotograph],
    masks_are: MaskOrientation,
    *,
    remedy: str,
) -> Sequence[str]:
    """Return one line on the masks whose orientation is assumed, with their number and an example; empty for none.

    Args:
        pictures: photographs with their masks; only headers are read.
        masks_are: orientation of masks without an EXIF tag.
        remedy: advice for the case that "upright" is wrong.
    """
    assumed: list[MaskedPhotograph] = []
    for picture in pictures:
        orientation = read_orientation(picture.image)
        if orientation in (None, 1) or not picture.masks:
            continue
        is_stated = all(read_orientation(mask) is not None for mask in picture.masks)
        if is_stated:
            continue
        if masks_are == "stored" or _keeps_shape(picture.image, orientation):
            assumed.append(picture)
    if not assumed:
        return ()
    first = assumed[0]
    example = f"{first.image.name} with {first.masks[0].name}"
    if masks_are == "stored":
        return (
            f"masks of {len(assumed)} photographs are rotated with them by the EXIF orientation, as "
            f"mask_orientation='stored' says, for example {example}",
        )
    return (
        f"EXIF rotates {len(assumed)} photographs whose masks have no orientation, and the shape "
        "does not show how the masks were drawn (half turn, mirror or square), for example "
        f"{example}: the masks are assumed to be drawn on the upright photograph; if they show the "
        f"stored pixels, {remedy}",
    )


def _keeps_shape(image: Path, orientation: int | None) -> bool:
    try:
        return keeps_shape(image, orientation)
    except InvalidImage:  # loading the sample reports the problem
        return False
