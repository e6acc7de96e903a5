"""Whether the pixels of a DICOM file are all there: ITK, which reads them, trusts their headers."""

from __future__ import annotations

import struct
from typing import Any

_MOST_PACKED = 1032
"""No packing of CT slices makes more bytes of one."""


def check_pixels(header: Any) -> None:
    """Raise ValueError unless a file of one frame holds as many bytes of pixels as it says.

    Args:
        header: with its file meta, Rows, Columns, BitsAllocated and PixelData.
    """
    from segarena.systems.volumes.preparation.optional_packages import RLELossless, generate_frames

    bits = int(header.BitsAllocated)
    data = bytes(header.PixelData)
    if bits not in (8, 16, 32):
        raise ValueError(f"pixels of {bits} bits")
    expected = int(header.Rows) * int(header.Columns) * bits // 8
    syntax = header.file_meta.TransferSyntaxUID
    if not syntax.is_compressed:
        there = len(data)
    else:
        (frame,) = generate_frames(data, number_of_frames=1)
        if syntax == RLELossless:
            _check_run_lengths(frame, bits // 8)
        there = len(frame) * _MOST_PACKED
    if not 0 < expected <= there:
        raise ValueError(f"{len(data)} bytes for {expected} of pixels")


def _check_run_lengths(frame: bytes, count: int) -> None:
    """Raise ValueError unless the frame has so many segments, one after the other within it."""
    segments, *offsets = struct.unpack_from("<16I", frame) if len(frame) >= 64 else (0,)
    starts = offsets[:segments]
    if (
        segments != count
        or starts != sorted(set(starts))
        or starts[0] != 64
        or starts[-1] >= len(frame)
    ):
        raise ValueError(f"{segments} segments of run lengths at {starts}")
