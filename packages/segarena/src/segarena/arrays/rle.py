"""Run-length encoding: a mask as the lengths of alternating False and True runs, in a few kilobytes.

Runs follow the row-major order of the array, with any number of axes, and start with a False run
(of length 0 if the first pixel is True). Each length is a little-endian base-128 number: seven bits
per byte, lowest first, with the eighth bit set on all bytes but the last. The same mask gives the
same bytes on every machine, which a general compressor does not guarantee, and never takes more
than one byte per pixel plus one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidMask
from segarena.files.limits import check_voxels
from segarena.samples import Mask, Shape, as_mask

_MAX_BYTES = 9  # limit for one length, which then has 63 bits
_BITS = 7  # number of bits of a length per byte
_CONTINUES = 1 << _BITS  # set on all bytes of a length but the last
# Up to this many lengths, a loop takes less time than NumPy's calls.
_FEW = 128


def encode_rle(mask: Mask) -> bytes:
    """Encode the run lengths of `mask` in row-major order.

    >>> list(encode_rle(np.array([[False, True], [True, False]])))
    [1, 2, 1]

    Args:
        mask: bool, any number of axes; a mask without pixels becomes one run of length 0.

    Raises:
        InvalidMask: the array contains values other than 0 and 1.
    """
    return _pack(run_lengths(as_mask(mask)))


def encode_labels_rle(labels: NDArray[np.uint8]) -> dict[int, bytes]:
    """Return `encode_rle` for the mask of each positive label that occurs, in ascending order of labels.

    >>> {label: list(data) for label, data in encode_labels_rle(np.array([[0, 2, 2], [1, 1, 2]], np.uint8)).items()}
    {1: [3, 2, 1], 2: [1, 2, 2, 1]}

    This takes one pass over the pixels, whatever the number of labels.
    """
    flat = labels.ravel()
    if flat.size:
        starts = np.concatenate(([0], _changes(flat)))
    else:
        starts = np.zeros(0, np.int64)
    stops = np.append(starts[1:], flat.size)
    values = flat[starts]
    encoded: dict[int, bytes] = {}
    for label in np.unique(values[values > 0]).tolist():
        is_own = values == label
        own_ranges = np.column_stack([starts[is_own], stops[is_own]])
        lengths = np.diff(own_ranges.ravel(), prepend=0, append=flat.size)
        # `encode_rle` omits a final empty run, too.
        if lengths[-1] == 0:
            lengths = lengths[:-1]
        encoded[label] = _pack(lengths)
    return encoded


def decode_rle(data: bytes, shape: Shape) -> Mask:
    """Decode the bool mask of `shape` from its run lengths `data`.

    Memory is allocated only after the lengths have been checked, so that untrusted data cannot
    request more than `shape` needs.

    >>> decode_rle(bytes([1, 2, 1]), (2, 2)).astype(int)
    array([[0, 1],
           [1, 0]])

    Raises:
        InvalidMask: the data ends inside a length, its lengths do not sum to the pixel count of `shape`, or it is
            larger than `files.limits` allows.
    """
    pixels = math.prod(shape)
    check_voxels(pixels, "run lengths", error=InvalidMask)
    lengths = unpack_lengths(data)
    # Check the largest length first: a single huge length could make the int64 sum wrap around.
    longest = int(lengths.max(initial=0))
    is_complete = longest <= pixels and int(lengths.sum()) == pixels
    # Two negative sizes would multiply to a positive pixel count.
    if not is_complete or min(shape, default=0) < 0:
        raise InvalidMask(
            f"run lengths: expected {pixels} pixels for shape {tuple(shape)}, got a different number"
        )
    is_on = np.arange(len(lengths)) % 2 == 1
    return np.repeat(is_on, lengths).reshape(shape)


def run_lengths(mask: Mask) -> NDArray[np.int64]:
    """Return the run lengths of `mask` in row-major order, starting with the False run, which may be 0.

    >>> run_lengths(np.array([True, True, False])).tolist()
    [0, 2, 1]
    """
    flat = mask.ravel()
    changes = _changes(flat)
    # A mask that starts with a True pixel has an empty run before it.
    first = 2 if flat.size and flat[0] else 1
    edges = np.zeros(first + len(changes) + 1, dtype=np.int64)
    edges[first:-1] = changes
    edges[-1] = flat.size
    return edges[1:] - edges[:-1]


def _changes(flat: NDArray[Any]) -> NDArray[np.intp]:
    """Return the indices of values that differ from the previous value."""
    (before,) = np.nonzero(flat[1:] != flat[:-1])
    return before + 1


def _pack(lengths: NDArray[np.int64]) -> bytes:
    if len(lengths) <= _FEW:
        return _pack_few(lengths.tolist())
    sizes = np.ones(len(lengths), dtype=np.int64)
    longest = int(lengths.max(initial=0))
    longest_bytes = -(-longest.bit_length() // _BITS)
    for number in range(1, longest_bytes):
        sizes += lengths >> (_BITS * number) > 0
    digits = encode_digits(lengths, sizes, bits=_BITS)
    return digits.tobytes()


def _pack_few(lengths: Sequence[int]) -> bytes:
    packed = bytearray()
    for length in lengths:
        rest = length
        while rest >= _CONTINUES:
            packed.append(rest % _CONTINUES | _CONTINUES)
            rest >>= _BITS
        packed.append(rest)
    return bytes(packed)


def unpack_lengths(data: bytes) -> NDArray[np.int64]:
    """Unpack run lengths without checking that they fit a shape.

    >>> unpack_lengths(bytes([1, 2, 1])).tolist()
    [1, 2, 1]

    Raises:
        InvalidMask: the data ends inside a length, or a length takes more than 9 bytes.
    """
    packed = np.frombuffer(data, dtype=np.uint8)
    lengths, sizes = decode_digits(packed, bits=_BITS)
    if len(packed):
        is_cut_off = packed[-1] >= _CONTINUES
        if is_cut_off or int(sizes.max()) > _MAX_BYTES:
            raise InvalidMask(
                f"run lengths: {len(packed)} bytes that end inside a length; the data is damaged: export the mask again"
            )
    return lengths


def encode_digits(
    numbers: NDArray[np.int64],
    sizes: NDArray[np.int64],
    *,
    bits: int,
) -> NDArray[np.uint8]:
    """Encode numbers as digits of `bits` bits, lowest first; the next higher bit is set if more digits follow.

    >>> encode_digits(np.array([5, 130]), np.array([1, 2]), bits=7).tolist()
    [5, 130, 1]

    Args:
        numbers: values to encode; negative ones in two's complement.
        sizes: number of digits of each value.
        bits: at most 7.
    """
    digit_mask = (1 << bits) - 1
    starts = np.cumsum(sizes) - sizes
    digits = np.zeros(int(sizes.sum()), dtype=np.uint8)
    # Write the first digits of all numbers, then the second digits, and so on. This takes few
    # passes, because most numbers have few digits.
    most_digits = int(sizes.max(initial=0))
    for index in range(most_digits):
        long_enough = np.flatnonzero(sizes > index)
        is_continued = sizes[long_enough] > index + 1
        digit = numbers[long_enough] >> bits * index & digit_mask
        digits[starts[long_enough] + index] = digit | is_continued << bits
    return digits


def decode_digits(
    digits: NDArray[Any], *, bits: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Invert `encode_digits`: return the numbers and the digit count of each, without an incomplete last number.

    >>> decode_digits(np.array([5, 130, 1], np.uint8), bits=7)
    (array([  5, 130]), array([1, 2]))
    """
    ends = np.flatnonzero(digits < 1 << bits)
    if not len(ends):
        return ends, ends
    starts = np.concatenate(([0], ends[:-1] + 1))
    sizes = ends - starts + 1
    digit_mask = (1 << bits) - 1
    finished = digits[: ends[-1] + 1].astype(np.int64)
    values = finished & digit_mask
    index = np.arange(len(values)) - np.repeat(starts, sizes)
    shifted = values << bits * index
    return np.add.reduceat(shifted, starts), sizes
