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

_LONGEST = 12  # characters of one number: 60 bits
_ZERO = 48  # the character "0"


@dataclass(frozen=True, slots=True)
class Rle:
    """A mask of `shape` (H, W) as its compressed COCO string `counts`; what the string says is checked by `decode`."""

    shape: tuple[int, int]
    counts: str

    @classmethod
    def of(cls, mask: Mask) -> Rle:
        """Return a bool mask (H, W) as run lengths."""
        return cls.of_lengths(
            run_lengths(mask.T).tolist(), (int(mask.shape[0]), int(mask.shape[1]))
        )

    @classmethod
    def of_columns(cls, columns: Mask, first: int, shape: tuple[int, int]) -> Rle:
        """Return a mask (H, W) that is empty but for `columns`, bool (H, n), the first of which is number `first`."""
        lengths = run_lengths(columns.T)
        lengths = np.concatenate([lengths, [0] * (len(lengths) % 2 == 0)]).astype(
            np.int64
        )  # ends outside the mask
        lengths[0] += first * shape[0]
        lengths[-1] += (shape[1] - first - columns.shape[1]) * shape[0]
        return cls.of_lengths((lengths if lengths[-1] else lengths[:-1]).tolist(), shape)

    @classmethod
    def of_lengths(cls, lengths: Sequence[int], shape: tuple[int, int]) -> Rle:
        """Return run lengths, column-major and the run outside the mask first, as `Rle`; they are not checked."""
        return cls(shape, _pack(np.asarray(lengths, dtype=np.int64)))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The run lengths, column-major, the run outside the mask first.

        Raises:
            InvalidMask: not a COCO string, or the lengths are negative or do not add up to the pixels of `shape`.
        """
        lengths = _unpack(self.counts)
        pixels = self.shape[0] * self.shape[1]
        # Negative or single very large lengths first: a sum of them could come out right by chance.
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
        """Return the columns from the first to the last that hold a pixel, bool (H, n), and where they begin.

        Raises:
            InvalidMask: as `lengths`.
        """
        lengths = self.lengths
        ends = np.cumsum(lengths)
        is_on = (np.arange(len(lengths)) % 2 == 1) & (lengths > 0)
        if not is_on.any():
            return 0, np.zeros((self.shape[0], 0), dtype=np.bool_)
        height = self.shape[0]
        first = int((ends - lengths)[is_on][0]) // height
        last = int(ends[is_on][-1] - 1) // height + 1
        return first, self._decoded(
            np.diff(np.clip(ends, first * height, last * height), prepend=first * height)
        )

    def _decoded(self, lengths: NDArray[np.int64]) -> Mask:
        is_on = np.arange(len(lengths)) % 2 == 1
        return np.repeat(is_on, lengths).reshape(-1, self.shape[0]).T

    @property
    def area_px(self) -> int:
        """How many pixels are in the mask."""
        return int(self.lengths[1::2].sum())


def _pack(lengths: NDArray[np.int64]) -> str:
    values = lengths.copy()
    values[3:] -= lengths[1:-2]
    sizes = np.ones(len(values), dtype=np.int64)
    for place in range(1, _LONGEST):
        half = 1 << (5 * place - 1)
        sizes += (values < -half) | (values >= half)
    return (encode_digits(values, sizes, bits=5) + _ZERO).tobytes().decode("ascii")


def _unpack(counts: Any) -> NDArray[np.int64]:
    try:
        codes = np.frombuffer(counts.encode("ascii"), dtype=np.uint8).astype(np.int64) - _ZERO
    except (AttributeError, UnicodeEncodeError) as cause:
        raise InvalidMask(
            "run lengths: expected a string of the characters '0' to 'o', got something else"
        ) from cause
    values, sizes = decode_digits(codes, bits=5)
    is_whole = len(codes) == 0 or (codes[-1] < 32 and int(sizes.max()) <= _LONGEST)
    if not is_whole or int(codes.min(initial=0)) < 0 or int(codes.max(initial=0)) > 63:
        raise InvalidMask(
            "run lengths: expected a string of the characters '0' to 'o' that ends with a whole number"
        )
    is_negative = codes[np.cumsum(sizes) - 1] & 16 > 0
    values -= np.where(is_negative, np.left_shift(1, 5 * sizes), 0)
    lengths = values.copy()
    lengths[1::2] = np.cumsum(values[1::2])
    lengths[2::2] = np.cumsum(values[2::2])
    return lengths
