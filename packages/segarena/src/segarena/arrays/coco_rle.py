"""Masks as COCO stores them: run lengths in column-major order, as a string of printable characters.

Each number is written five bits to a character, lowest first, 32 added on all but the last, then 48 to make it
printable; from the third run of a kind on, its difference to the run two before. Our own runs
(`segarena.arrays.rle`) are row-major bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.rle import decode_digits, encode_digits, run_lengths
from segarena.errors import InvalidMask
from segarena.samples import Mask

_MAX_CHARACTERS = 12  # of one number: 60 bits
_BITS = 5  # of a number in each character
_CONTINUES = 1 << _BITS  # set on all characters of a number but the last
_SIGN = 1 << (_BITS - 1)  # of the last character of a number
_ZERO = 48  # the character "0"


@dataclass(frozen=True, slots=True)
class Rle:
    """A mask of `shape` (H, W) as its compressed COCO string `counts`; `decode` validates the string."""

    shape: tuple[int, int]
    counts: str

    @classmethod
    def of(cls, mask: Mask) -> Rle:
        """Encode a bool mask (H, W)."""
        height, width = mask.shape
        return cls.of_lengths(run_lengths(mask.T).tolist(), (int(height), int(width)))

    @classmethod
    def of_columns(cls, columns: Mask, first: int, shape: tuple[int, int]) -> Rle:
        """Encode a mask (H, W) that is empty outside `columns`, bool (H, n), whose first is column `first`."""
        height, width = shape
        lengths = run_lengths(columns.T)
        if len(lengths) % 2 == 0:
            # End with a run outside the mask, which takes the empty columns to the right.
            lengths = np.concatenate([lengths, [0]])
        lengths = lengths.astype(np.int64)
        lengths[0] += first * height
        lengths[-1] += (width - first - columns.shape[1]) * height
        if not lengths[-1]:
            lengths = lengths[:-1]
        return cls.of_lengths(lengths.tolist(), shape)

    @classmethod
    def of_lengths(cls, lengths: Sequence[int], shape: tuple[int, int]) -> Rle:
        """Encode run lengths, column-major and the run outside the mask first; they are not checked."""
        return cls(shape, _pack(np.asarray(lengths, dtype=np.int64)))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The run lengths, column-major, the run outside the mask first.

        Raises:
            InvalidMask: not a COCO string, or the lengths are negative or do not add up to the pixels of `shape`.
        """
        lengths = _unpack(self.counts)
        pixels = self.shape[0] * self.shape[1]
        # Reject negative and very large lengths first, because their sum could be right by chance.
        if ((lengths < 0) | (lengths > pixels)).any() or int(lengths.sum()) != pixels:
            raise InvalidMask(
                f"run lengths: expected {pixels} pixels for {self.shape[0]} x {self.shape[1]}, rows by columns, "
                "and these do not add up to that; export the mask again"
            )
        return lengths

    def decode(self) -> Mask:
        """Return the mask, bool (H, W).

        Raises:
            InvalidMask: as `lengths`.
        """
        return self._decoded(self.lengths)

    def decode_columns(self) -> tuple[int, Mask]:
        """Return the index of the first column with a pixel, and the columns from there to the last, bool (H, n).

        Raises:
            InvalidMask: as `lengths`.
        """
        height = self.shape[0]
        lengths = self.lengths
        ends = np.cumsum(lengths)
        starts = ends - lengths
        is_on = (np.arange(len(lengths)) % 2 == 1) & (lengths > 0)
        if not is_on.any():
            return 0, np.zeros((height, 0), dtype=np.bool_)
        first_column = int(starts[is_on][0]) // height
        stop_column = int(ends[is_on][-1] - 1) // height + 1
        first_pixel = first_column * height
        clipped_ends = np.clip(ends, first_pixel, stop_column * height)
        return first_column, self._decoded(np.diff(clipped_ends, prepend=first_pixel))

    def _decoded(self, lengths: NDArray[np.int64]) -> Mask:
        is_on = np.arange(len(lengths)) % 2 == 1
        return np.repeat(is_on, lengths).reshape(-1, self.shape[0]).T

    @property
    def area_px(self) -> int:
        """Pixels in the mask."""
        return int(self.lengths[1::2].sum())


def _pack(lengths: NDArray[np.int64]) -> str:
    values = lengths.copy()
    # From the fourth number on COCO stores the difference to the run of the same kind before.
    values[3:] -= lengths[1:-2]
    sizes = np.ones(len(values), dtype=np.int64)
    for place in range(1, _MAX_CHARACTERS):
        half = 1 << (_BITS * place - 1)
        sizes += (values < -half) | (values >= half)
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
    is_whole = len(codes) == 0 or (codes[-1] < _CONTINUES and int(sizes.max()) <= _MAX_CHARACTERS)
    highest_code = 2 * _CONTINUES - 1
    is_in_range = int(codes.min(initial=0)) >= 0 and int(codes.max(initial=0)) <= highest_code
    if not is_whole or not is_in_range:
        raise InvalidMask(
            "run lengths: expected a string of the characters '0' to 'o' that ends with a whole number"
        )
    last_codes = codes[np.cumsum(sizes) - 1]
    is_negative = last_codes & _SIGN > 0
    values -= np.where(is_negative, np.left_shift(1, _BITS * sizes), 0)
    # Undo the differences: runs in the mask, and runs outside it from the third number on.
    lengths = values.copy()
    lengths[1::2] = np.cumsum(values[1::2])
    lengths[2::2] = np.cumsum(values[2::2])
    return lengths
