"""Encodings of objects as pixel values in mask files, and conversion of objects to targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidMask, PluginInvalid
from segarena.files.images import LOSSY_SUFFIXES, read_mask_colours, read_mask_values
from segarena.samples import Mask, Target

EncodingKind: TypeAlias = Literal["binary", "index", "colour"]

Colour: TypeAlias = int | str
"""0xRRGGBB or "#rrggbb"."""

# Limits of size classes, as shares of the image area.
MEDIUM_SHARE = 0.01
LARGE_SHARE = 0.10
_MOST_NAMED = 4


class DecodedMask(NamedTuple):
    """Content of a mask file: bool (H, W) masks by object name, and the ignored pixels (None if there are none)."""

    masks: dict[str, Mask]
    ignore: Mask | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskEncoding:
    """The meaning of pixel values in mask files.

    Attributes:
        kind: "binary": 0 is background and one other value the object; "index": 0 is background and every
            other value an object; "colour": black is background and every other colour an object.
        ignore_value: value (or colour, 0xRRGGBB or "#rrggbb") of ignored pixels.
        threshold: for "binary": smallest value that belongs to the object; None allows only two values.

    Raises:
        PluginInvalid: inconsistent attributes.
    """

    kind: EncodingKind = "binary"
    ignore_value: Colour | None = None
    threshold: int | None = None

    def __post_init__(self) -> None:
        if self.threshold is not None and (self.kind != "binary" or self.threshold < 1):
            raise PluginInvalid(
                f"threshold={self.threshold} with encoding {self.kind!r}: expected a threshold of at least 1, "
                "and only with encoding='binary'"
            )
        if self._ignored == 0:
            raise PluginInvalid(
                "ignore_value=0: 0 is the background in every encoding; expected another value"
            )

    def read(self, path: Path) -> DecodedMask:
        """Return the objects in a mask file, named "" (binary), "3" (index) or "#ff0000" (colour), in ascending order.

        Raises:
            InvalidMask: the file is unreadable, has no object pixel, has values outside the encoding, or has a
                lossy format, which only "binary" allows.
        """
        self._check_lossless(path)
        if self.kind == "colour":
            values = _codes(path)
        else:
            values = read_mask_values(path, palette_must_agree=self.kind == "binary")
        ignore = None if self._ignored is None else values == self._ignored
        if ignore is not None:
            values = np.where(ignore, 0, values)
        if self.kind == "binary":
            masks = {"": self._binary(values, path)}
        else:
            masks = self._split(values, path)
        if not any(mask.any() for mask in masks.values()):
            raise InvalidMask(
                f"{path}: expected at least one object pixel, got none; fix the mask or remove the pair"
            )
        if ignore is not None and not ignore.any():
            ignore = None
        return DecodedMask(masks, ignore)

    @property
    def _ignored(self) -> int | None:
        if not isinstance(self.ignore_value, str):
            return self.ignore_value
        try:
            if (
                self.kind != "colour"
                or not self.ignore_value.startswith("#")
                or len(self.ignore_value) != 7
            ):
                raise ValueError
            return int(self.ignore_value[1:], 16)
        except ValueError:
            raise PluginInvalid(
                f"ignore_value={self.ignore_value!r} with encoding {self.kind!r}: expected a number, "
                "or \"#rrggbb\" with encoding='colour'"
            ) from None

    def _check_lossless(self, path: Path) -> None:
        if path.suffix.lower() in LOSSY_SUFFIXES and self.kind != "binary":
            raise InvalidMask(
                f"{path}: expected a lossless mask for encoding {self.kind!r}, got {path.suffix}, which changes "
                "values; export it as PNG from the source"
            )

    def _binary(self, values: NDArray[np.int32], path: Path) -> Mask:
        if self.threshold is not None:
            return values >= self.threshold
        others = np.unique(values[values != 0])
        if len(others) > 1:
            named = [str(value) for value in others[:_MOST_NAMED].tolist()]
            if len(others) > _MOST_NAMED:
                named.append("...")
            listed = ", ".join(named)
            raise InvalidMask(
                f"{path}: encoding 'binary' expects 0 and one other value, got 0 and {len(others)} others ({listed}); "
                "use encoding='index' for several objects, ignore_value for ignored pixels, "
                "threshold=128 for soft edges"
            )
        return values != 0

    def _split(self, values: NDArray[np.int32], path: Path) -> dict[str, Mask]:
        if values.min(initial=0) < 0:
            raise InvalidMask(
                f"{path}: expected values from 0 on, got {int(values.min())}; save it unsigned"
            )
        codes = np.unique(values)
        object_codes = codes[codes != 0]
        return {self._name(code): values == code for code in object_codes.tolist()}

    def _name(self, code: int) -> str:
        if self.kind == "colour":
            return f"#{code:06x}"
        return str(code)


def to_targets(
    objects: DecodedMask, *, labels: Mapping[str, str] | None = None
) -> tuple[Target, ...]:
    """Return one target per object; an object without a name gets the id "object".

    Each target has the attribute "size": see `size_class`.
    """
    label_by_name = labels or {}
    targets: list[Target] = []
    for name, mask in objects.masks.items():
        target = Target(
            id=name or "object",
            mask=mask,
            ignore=objects.ignore,
            label=label_by_name.get(name, name),
            attributes={"size": size_class(mask)},
        )
        targets.append(target)
    return tuple(targets)


def size_class(mask: Mask) -> str:
    """Return "small", "medium" or "large": less than 1 %, less than 10 %, or more of the image's pixels."""
    share = np.count_nonzero(mask) / max(mask.size, 1)
    if share < MEDIUM_SHARE:
        return "small"
    if share < LARGE_SHARE:
        return "medium"
    return "large"


def _codes(path: Path) -> NDArray[np.int32]:
    """Return the colour of each pixel as an integer, 0xRRGGBB."""
    pixels = read_mask_colours(path).astype(np.int32)
    red = pixels[:, :, 0]
    green = pixels[:, :, 1]
    blue = pixels[:, :, 2]
    return (red << 16) | (green << 8) | blue
