"""COCO mask encoding: run lengths in column-major order, as a string of printable characters.

Each value is written in groups of five bits, lowest first, one group per character. A character
adds 32 if more characters of the same value follow, and 48 to be printable. From the fourth run on,
the value is the difference from the length two runs before. segarena's own run lengths
(`segarena.arrays.rle`) are row-major bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.rle import decode_digits, encode_digits, run_lengths
from segarena.errors import InvalidMask
from segarena.samples import Mask

_MAX_CHARACTERS = 12  # limit for one number, which then has 60 bits
_BITS = 5  # number of bits per character
_CONTINUES = 1 << _BITS  # set on all characters of a number but the last
_SIGN = 1 << (_BITS - 1)  # sign bit, in the last character of a number
_ZERO = 48  # the character "0"


@dataclass(frozen=True, slots=True)
class Rle:
    """A mask of `shape` (H, W) as the compressed COCO string `counts`, which `decode` validates."""

    shape: tuple[int, int]
    counts: str

    @classmethod
    def of(cls, mask: Mask) -> Rle:
        """Encode a bool mask (H, W)."""
        height, width = mask.shape
        shape = (int(height), int(width))
        occupied = np.flatnonzero(mask.any(axis=0))
        if not len(occupied):
            return cls.of_lengths(run_lengths(mask.T), shape)
        # Most objects are small, and only their columns need to be transposed and searched.
        first = int(occupied[0])
        return cls.of_columns(mask[:, first : int(occupied[-1]) + 1], first, shape)

    @classmethod
    def of_columns(
        cls,
        columns: Mask,
        first: int,
        shape: tuple[int, int],
    ) -> Rle:
        """Encode a mask (H, W) whose only True pixels are in `columns`, bool (H, n), which start at column `first`."""
        height, width = shape
        columns_after = width - first - columns.shape[1]
        lengths = run_lengths(_transpose(columns))
        if len(lengths) % 2 == 0:
            # End with a run outside the mask, which is then extended by the empty columns to the
            # right.
            lengths = np.concatenate([lengths, [0]])
        lengths[0] += first * height
        lengths[-1] += columns_after * height
        # COCO omits a final run of length 0.
        if not lengths[-1]:
            lengths = lengths[:-1]
        return cls.of_lengths(lengths, shape)

    @classmethod
    def of_lengths(
        cls,
        lengths: Sequence[int] | NDArray[np.int64],
        shape: tuple[int, int],
    ) -> Rle:
        """Encode run lengths in column-major order, starting outside the mask, without checking them."""
        return cls(shape, _pack(np.asarray(lengths, dtype=np.int64)))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Run lengths in column-major order, starting outside the mask.

        Raises:
            InvalidMask: `counts` is not a COCO string, or its lengths are negative or do not sum to the pixel count of
                `shape`.
        """
        lengths = _unpack(self.counts)
        height, width = self.shape
        pixels = height * width
        # Reject negative and very large lengths first, because an overflowing sum could match the
        # pixel count.
        is_impossible = (lengths < 0) | (lengths > pixels)
        if is_impossible.any() or int(lengths.sum()) != pixels:
            raise InvalidMask(
                f"run lengths: expected {pixels} pixels for {height} x {width} (rows by columns), "
                "got a different number; export the mask again"
            )
        return lengths

    def decode(self) -> Mask:
        """Return the mask, bool (H, W).

        Raises:
            InvalidMask: the string is invalid; see `lengths`.
        """
        return self._decoded(self.lengths)

    def decode_columns(self) -> tuple[int, Mask]:
        """Return the index of the first non-empty column, and the columns up to the last non-empty one, bool (H, n).

        Raises:
            InvalidMask: the string is invalid; see `lengths`.
        """
        height = self.shape[0]
        lengths = self.lengths
        ends = np.cumsum(lengths)
        starts = ends - lengths
        is_on = _is_in_mask(lengths) & (lengths > 0)
        if not is_on.any():
            return 0, np.zeros((height, 0), dtype=np.bool_)
        first_on = int(starts[is_on][0])
        last_on = int(ends[is_on][-1]) - 1
        first_column = first_on // height
        stop_column = last_on // height + 1
        first_pixel = first_column * height
        stop_pixel = stop_column * height
        clipped_ends = np.clip(ends, first_pixel, stop_pixel)
        clipped_lengths = np.diff(clipped_ends, prepend=first_pixel)
        return first_column, self._decoded(clipped_lengths)

    def _decoded(self, lengths: NDArray[np.int64]) -> Mask:
        height = self.shape[0]
        pixels = np.repeat(_is_in_mask(lengths), lengths)
        return pixels.reshape(-1, height).T

    @property
    def area_px(self) -> int:
        """Number of pixels in the mask."""
        return int(self.lengths[1::2].sum())


def _is_in_mask(lengths: NDArray[np.int64]) -> Mask:
    """Return for each run whether it lies in the mask: runs alternate, and the first is outside."""
    return np.arange(len(lengths)) % 2 == 1


def _transpose(columns: Mask) -> Mask:
    """Return the transposed mask as a contiguous array."""
    if columns.T.flags.c_contiguous or not columns.size:
        return columns.T
    # OpenCV transposes block by block, which takes a tenth of the time of a copy by NumPy.
    return cv2.transpose(columns.view(np.uint8)).view(np.bool_)


def _pack(lengths: NDArray[np.int64]) -> str:
    values = lengths.copy()
    # From the fourth run on, COCO stores the difference to the previous run of the same kind.
    values[3:] -= lengths[1:-2]
    sizes = np.ones(len(values), dtype=np.int64)
    largest = max(int(values.max(initial=0)), -int(values.min(initial=0)))
    # Differences can be negative: one bit of the last character is the sign.
    most_characters = -(-(largest.bit_length() + 1) // _BITS)
    for characters in range(1, most_characters):
        half = 1 << (_BITS * characters - 1)
        is_longer = (values < -half) | (values >= half)
        sizes += is_longer
    digits = encode_digits(values, sizes, bits=_BITS)
    return (digits + _ZERO).tobytes().decode("ascii")


def _unpack(counts: Any) -> NDArray[np.int64]:
    try:
        characters = counts.encode("ascii")
    except (AttributeError, UnicodeEncodeError) as cause:
        raise InvalidMask(
            "run lengths: expected a string of the characters '0' to 'o', got something else"
        ) from cause
    codes = np.frombuffer(characters, dtype=np.uint8).astype(np.int64) - _ZERO
    values, sizes = decode_digits(codes, bits=_BITS)
    if len(codes):
        is_whole = codes[-1] < _CONTINUES and int(sizes.max()) <= _MAX_CHARACTERS
    else:
        is_whole = True
    lowest_code = int(codes.min(initial=0))
    highest_code = int(codes.max(initial=0))
    is_in_range = lowest_code >= 0 and highest_code < 2 * _CONTINUES
    if not is_whole or not is_in_range:
        raise InvalidMask(
            "run lengths: expected a string of the characters '0' to 'o' with complete numbers"
        )
    last_codes = codes[np.cumsum(sizes) - 1]
    is_negative = last_codes & _SIGN > 0
    moduli = np.left_shift(1, _BITS * sizes)
    values -= np.where(is_negative, moduli, 0)
    # Undo the differences by cumulative sums: of runs inside the mask, and of runs outside it from
    # the third value on.
    lengths = values.copy()
    lengths[1::2] = np.cumsum(values[1::2])
    lengths[2::2] = np.cumsum(values[2::2])
    return lengths
