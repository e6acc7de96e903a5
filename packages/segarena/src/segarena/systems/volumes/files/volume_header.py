"""What a volume's file says of itself before it is decoded, and whether it can be decoded at all."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from segarena.arrays.orientation import Affine, Grid
from segarena.errors import InvalidImage
from segarena.files.limits import check_voxels

# Deflate, which all these formats use, makes at most 1032 bytes of one.
_MOST_DEFLATED = 1032
_OWN_PAGES = Path("/proc/self/statm")
_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VolumeHeader:
    """What a volume's file says of itself."""

    path: Path  # the file
    grid: Grid  # where its voxels lie, in stored order
    dtype: np.dtype[Any]  # type of the stored numbers, in native byte order
    groups: int = 1  # how many numbers a voxel has: 1, or the groups of a MITK multi-label file
    # Of each group, the names of its labels by number; empty where the file has none.
    names: tuple[Mapping[int, str], ...] = field(default=())
    is_scaled: bool = (
        False  # whether the stored numbers are turned into float32 by a factor in the header
    )
    is_placed: bool = (
        True  # False when a NIfTI file has neither sform nor qform, so that its axes are a guess
    )
    data: Path | None = None  # the file that holds the numbers, where it is another one

    @property
    def voxels(self) -> int:
        """How many voxels it has."""
        return math.prod(self.grid.shape)

    @property
    def decoded_bytes(self) -> int:
        """Bytes of the stored numbers, decoded."""
        return self.voxels * self.groups * self.dtype.itemsize

    @property
    def needed_bytes(self) -> int:
        """Bytes of memory that reading it takes: the numbers as read, and their copy in canonical order."""
        return 2 * self.voxels * self.groups * max(self.dtype.itemsize, 4 if self.is_scaled else 0)


def make_grid(path: Path, shape: tuple[int, ...], affine: Affine, slice_axis: str) -> Grid:
    """Return the grid that a header describes; axes of length 1 behind the third are dropped.

    Raises:
        InvalidImage: there is no such grid, or more than one volume in the file.
    """
    while len(shape) > 3 and shape[-1] == 1:
        shape = shape[:-1]
    if len(shape) != 3:
        raise InvalidImage(
            f"{path}: expected a volume with three axes, got {len(shape)} of lengths {shape}; save one volume per file"
        )
    try:
        return Grid((shape[0], shape[1], shape[2]), affine, slice_axis)
    except InvalidImage as error:
        raise InvalidImage(f"{path}: {error}") from error


def check_size(header: VolumeHeader, *, max_voxels: int | None = None) -> None:
    """Raise unless the volume may be decoded: few enough voxels, backed by the file, and room in memory.

    Raises:
        InvalidImage: one of the three does not hold.
    """
    path = header.path
    promised = header.decoded_bytes
    values = header.voxels * header.groups
    check_voxels(values, path, error=InvalidImage, most=max_voxels)
    in_file = (header.data or path).stat().st_size
    if promised > _MOST_DEFLATED * in_file:
        raise InvalidImage(
            f"{path}: the header promises {promised:,} bytes, more than a file of {in_file:,} bytes can hold; "
            "it is damaged, copy or export it again"
        )
    free = available_memory_bytes()
    if free is not None and header.needed_bytes > free:
        raise InvalidImage(
            f"{path}: reading it needs about {header.needed_bytes / 1e9:.2f} GB of memory, {free / 1e9:.2f} GB are "
            "available; crop it, store it with fewer bytes per voxel, or use fewer workers"
        )


def available_memory_bytes() -> int | None:
    """Return how much memory this process and its container may still use; None where the system does not say."""
    found = [
        free
        for free in (_machine_bytes(), _container_bytes(), _process_bytes())
        if free is not None
    ]
    return min(found, default=None)


def _process_bytes() -> int | None:
    """Return what is left of this process's own limit (`ulimit -v`)."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        used = int(_OWN_PAGES.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError):
        return None
    return None if limit == resource.RLIM_INFINITY else max(0, limit - used)


def _machine_bytes() -> int | None:
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
        return next(
            1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")
        )
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _container_bytes() -> int | None:
    try:
        limit = int((_CGROUP / "memory.max").read_text(encoding="ascii"))
        used = int((_CGROUP / "memory.current").read_text(encoding="ascii"))
        stat = dict(
            line.split()
            for line in (_CGROUP / "memory.stat").read_text(encoding="ascii").splitlines()
        )
        # Files kept in memory count as used but make room when it is needed.
        return limit - used + int(stat.get("inactive_file", 0))
    except (OSError, ValueError):
        return None
