"""Header of a volume file, and a check that the volume can be decoded safely."""

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

# Deflate, which all these formats use, expands one byte to at most 1032 bytes.
_MOST_DEFLATED = 1032
_OWN_PAGES = Path("/proc/self/statm")
_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class VolumeHeader:
    """Header of a volume file."""

    path: Path
    grid: Grid  # position of the voxels, in stored order
    dtype: np.dtype[Any]  # type of the stored numbers, in native byte order
    # Number of values per voxel: 1, or the number of label groups of an MITK multi-label file.
    groups: int = 1
    # Label names by label value for each group; empty if the file has none.
    names: tuple[Mapping[int, str], ...] = field(default=())
    # Whether the header scales the stored values, which converts them to float32.
    is_scaled: bool = False
    # False if a NIfTI file has neither sform nor qform, so that its orientation is a guess.
    is_placed: bool = True
    data: Path | None = None  # the file that contains the voxel values, if it is a separate file

    @property
    def voxels(self) -> int:
        """Number of voxels."""
        return math.prod(self.grid.shape)

    @property
    def decoded_bytes(self) -> int:
        """Size in bytes of the stored values after decompression."""
        return self.voxels * self.groups * self.dtype.itemsize

    @property
    def needed_bytes(self) -> int:
        """Memory in bytes needed for reading: the values as read, and their copy in canonical order."""
        float32_bytes = 4 if self.is_scaled else 0
        bytes_per_number = max(self.dtype.itemsize, float32_bytes)
        return 2 * self.voxels * self.groups * bytes_per_number


def make_grid(
    path: Path,
    shape: tuple[int, ...],
    affine: Affine,
    slice_axis: str,
) -> Grid:
    """Return the grid described by a header; axes of length 1 after the third are dropped.

    Raises:
        InvalidImage: the header describes no grid, or more than one volume.
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
    """Check that a volume may be decoded: not too many voxels, a file large enough for them, enough memory.

    Raises:
        InvalidImage: one of the three conditions fails.
    """
    path = header.path
    promised = header.decoded_bytes
    check_voxels(header.voxels * header.groups, path, error=InvalidImage, most=max_voxels)
    in_file = (header.data or path).stat().st_size
    if promised > _MOST_DEFLATED * in_file:
        raise InvalidImage(
            f"{path}: the header states {promised:,} bytes, more than a file of {in_file:,} bytes can contain; "
            "it is damaged, so copy or export it again"
        )
    free = available_memory_bytes()
    if free is not None and header.needed_bytes > free:
        raise InvalidImage(
            f"{path}: reading needs about {header.needed_bytes / 1e9:.2f} GB of memory, but {free / 1e9:.2f} GB are "
            "available; crop it, store it with fewer bytes per voxel, or use fewer workers"
        )


def available_memory_bytes() -> int | None:
    """Return the memory that this process and its container may still use; None if unknown."""
    limits = (_machine_bytes(), _container_bytes(), _process_bytes())
    known = [free for free in limits if free is not None]
    return min(known, default=None)


def _process_bytes() -> int | None:
    """Return the memory left under this process's own limit (`ulimit -v`); None without a limit."""
    try:
        # The module `resource` exists only on Unix.
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        used_pages = int(_OWN_PAGES.read_text(encoding="ascii").split()[0])
        used = used_pages * resource.getpagesize()
    except (ImportError, OSError, ValueError):
        return None
    return None if limit == resource.RLIM_INFINITY else max(0, limit - used)


def _machine_bytes() -> int | None:
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
        for line in lines:
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    # Systems without /proc.
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _container_bytes() -> int | None:
    """Return the memory left under the limit of the control group (cgroup version 2); None without a limit."""
    try:
        limit = int((_CGROUP / "memory.max").read_text(encoding="ascii"))
        used = int((_CGROUP / "memory.current").read_text(encoding="ascii"))
        lines = (_CGROUP / "memory.stat").read_text(encoding="ascii").splitlines()
        stat = dict(line.split() for line in lines)
        # The page cache counts as used, but the system frees it when memory is needed.
        return limit - used + int(stat.get("inactive_file", 0))
    except (OSError, ValueError):
        return None
