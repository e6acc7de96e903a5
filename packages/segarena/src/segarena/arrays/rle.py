"""Run lengths: a mask as the lengths of its alternating runs of False and True, in a few kilobytes.

Runs follow the row-major order of the array, whatever its number of axes, and start with the False run (0
when the first pixel is True). Each length is a little-endian base-128 number: seven bits to a byte, lowest
first, the eighth bit set on all but the last byte. The same mask gives the same bytes on every machine,
which a general compressor does not promise, and never needs more than one byte per pixel plus one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidMask
from segarena.files.limits import check_voxels
from segarena.samples import Mask, Shape, as_mask

_MAX_BYTES = 9  # of one length: 63 bits
_BITS = 7  # of a length in each byte
_CONTINUES = 1 << _BITS  # set on all bytes of a length but the last


def encode_rle(mask: Mask) -> bytes:
    """Return the run lengths of `mask`, row-major.

    >>> list(encode_rle(np.array([[False, True], [True, False]])))
    [1, 2, 1]

    Args:
        mask: bool, any number of axes; a mask without pixels is one run of 0.

    Raises:
        InvalidMask: the values are not 0 and 1.
    """
    return _pack(run_lengths(as_mask(mask)))


def encode_labels_rle(labels: NDArray[np.uint8]) -> dict[int, bytes]:
    """Return `encode_rle` of the mask of each label above 0 that occurs, in ascending order of labels.

    >>> {label: list(data) for label, data in encode_labels_rle(np.array([[0, 2, 2], [1, 1, 2]], np.uint8)).items()}
    {1: [3, 2, 1], 2: [1, 2, 2, 1]}

    One pass over the pixels, however many labels there are.
    """
    flat = labels.ravel()
    if flat.size:
        starts = np.concatenate(([0], np.flatnonzero(flat[1:] != flat[:-1]) + 1))
    else:
        starts = np.zeros(0, np.int64)
    stops = np.append(starts[1:], flat.size)
    values = flat[starts]
    encoded: dict[int, bytes] = {}
    for label in np.unique(values[values > 0]).tolist():
        is_own = values == label
        edges = np.column_stack([starts[is_own], stops[is_own]]).ravel()
        lengths = np.diff(edges, prepend=0, append=flat.size)
        if lengths[-1] == 0:
            lengths = lengths[:-1]
        encoded[label] = _pack(lengths)
    return encoded


def decode_rle(data: bytes, shape: Shape) -> Mask:
    """Return the bool mask of `shape` whose run lengths are `data`.

    Memory is allocated only after the lengths were checked, so that untrusted data cannot ask for more than `shape`
    needs.

    >>> decode_rle(bytes([1, 2, 1]), (2, 2)).astype(int)
    array([[0, 1],
           [1, 0]])

    Raises:
        InvalidMask: the data ends inside a length, or the lengths do not add up to the pixels of `shape`; or it is
            larger than `files.limits` allows.
    """
    pixels = math.prod(shape)
    check_voxels(pixels, "run lengths", error=InvalidMask)
    lengths = unpack_lengths(data)
    # The largest length is checked first: a single huge one could make the int64 sum wrap around.
    is_fitting = int(lengths.max(initial=0)) <= pixels and int(lengths.sum()) == pixels
    if not is_fitting or min(shape, default=0) < 0:
        raise InvalidMask(
            f"run lengths: expected {pixels} pixels for shape {tuple(shape)}; these do not add up to that"
        )
    is_on = np.arange(len(lengths)) % 2 == 1
    return np.repeat(is_on, lengths).reshape(shape)


def run_lengths(mask: Mask) -> NDArray[np.int64]:
    """Return the lengths of the runs of `mask` in row-major order, the False run first (maybe 0).

    >>> run_lengths(np.array([True, True, False])).tolist()
    [0, 2, 1]
    """
    flat = mask.ravel()
    changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    lengths = np.diff(np.concatenate(([0], changes, [flat.size])))
    if flat.size and flat[0]:
        return np.concatenate(([0], lengths))
    return lengths


def _pack(lengths: NDArray[np.int64]) -> bytes:
    sizes = np.ones(len(lengths), dtype=np.int64)
    longest_bits = int(lengths.max(initial=0)).bit_length()
    longest_bytes = -(-longest_bits // _BITS)
    for place in range(1, longest_bytes):
        sizes += lengths >> (_BITS * place) > 0
    return encode_digits(lengths, sizes, bits=_BITS).tobytes()


def unpack_lengths(data: bytes) -> NDArray[np.int64]:
    """Unpack run lengths without checking that they fit a shape.

    >>> unpack_lengths(bytes([1, 2, 1])).tolist()
    [1, 2, 1]

    Raises:
        InvalidMask: the data ends inside a length.
    """
    packed = np.frombuffer(data, dtype=np.uint8)
    lengths, sizes = decode_digits(packed, bits=_BITS)
    if len(packed) and (packed[-1] >= _CONTINUES or int(sizes.max()) > _MAX_BYTES):
        raise InvalidMask(
            f"run lengths: {len(packed)} bytes that do not end with a whole length; the data is damaged"
        )
    return lengths


def encode_digits(
    numbers: NDArray[np.int64], sizes: NDArray[np.int64], *, bits: int
) -> NDArray[np.uint8]:
    """Encode numbers as digits of `bits` bits, lowest first; the next higher bit marks digits that are continued.

    >>> encode_digits(np.array([5, 130]), np.array([1, 2]), bits=7).tolist()
    [5, 130, 1]

    Args:
        numbers: negative ones in two's complement.
        sizes: how many digits each has.
        bits: at most 7.
    """
    digit_mask = (1 << bits) - 1
    starts = np.cumsum(sizes) - sizes
    digits = np.zeros(int(sizes.sum()), dtype=np.uint8)
    # One place at a time, for all numbers that have a digit there.
    for place in range(int(sizes.max(initial=0))):
        here = np.flatnonzero(sizes > place)
        is_continued = sizes[here] > place + 1
        digit = numbers[here] >> bits * place & digit_mask
        digits[starts[here] + place] = digit | is_continued << bits
    return digits


def decode_digits(
    digits: NDArray[Any], *, bits: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Invert `encode_digits`: return the numbers and how many digits each has, without an unfinished last number.

    >>> decode_digits(np.array([5, 130, 1], np.uint8), bits=7)
    (array([  5, 130]), array([1, 2]))
    """
    ends = np.flatnonzero(digits < 1 << bits)
    if not len(ends):
        return ends, ends
    starts = np.concatenate(([0], ends[:-1] + 1))
    sizes = ends - starts + 1
    digit_mask = (1 << bits) - 1
    finished = digits[: ends[-1] + 1].astype(np.int64) & digit_mask
    place = np.arange(len(finished)) - np.repeat(starts, sizes)
    return np.add.reduceat(finished << bits * place, starts), sizes
