"""Detection of samples that two pools share, with equal or nearly equal pixels.

The hash of a sample, as participants receive it, finds equal pixels. A comparison of grey values on
a coarse grid finds near-duplicates, also after resizing, conversion to another file format,
compression, or a change of brightness or contrast. It does not find crops, rotations, reflections,
or images with large changed parts, and it cannot compare samples that are almost uniform. Finding
no duplicate therefore proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter

from segarena.files.hashes import sha256
from segarena.protocol.challenge_info import PhaseKind
from segarena.protocol.sample_serialization import pack_sample, unpack_sample
from segarena.reports.wording import count_text
from segarena.samples import ImageSample, Sample, VideoSample

_GRID = 32
"""Number of rows and columns of the grid, coarse enough to average out compression and scaling."""
_SURROUNDINGS = 3
"""Side of the square of cells whose mean is subtracted from each cell. Without this, scans of the
same organs in two patients correlate as well as an image with its compressed copy, because they
share their coarse layout."""
_PLANES = 4
"""Number of planes of a volume, or frames of a video, that are compared."""
_MIN_CORRELATION = 0.97
"""Samples whose grey values correlate at least this much are near-duplicates. Of 28 photographs,
copies of half the size have .997 or more, and JPEG copies of quality 15 have .955 or more (median
.997); two patients of the phantom, who have the same anatomy, have .963."""
_MIN_DETAIL = 1.0
"""A sample in which no cell differs from its surroundings by more than this grey value is too uniform to compare."""
_LEVELS = 127
_COMPARED_AT_ONCE = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSignature:
    """Hash and grey values for comparing a sample with others.

    Attributes:
        sha256: hash of the sample as participants receive it, without its name and truth.
        greys: grey values on a grid, relative to their surroundings, one signed byte each; b"" for a sample that is
            almost uniform.
    """

    sha256: str
    greys: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedSample:
    """A sample that two pools share.

    Attributes:
        first, second: names of the sample in the two pools.
        is_exact: whether the pixels are equal, rather than nearly equal.
    """

    first: str
    second: str
    is_exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseSamples:
    """The samples of a phase.

    Attributes:
        challenge: slug of its challenge.
        phase: name of the phase.
        kind: "practice" if the ground truth is visible, or "test".
        may_reveal: whether the organiser allows practices of the challenge to share samples with tests.
        samples: names and signatures of the samples that its runs can draw.
    """

    challenge: str
    phase: str
    kind: PhaseKind
    may_reveal: bool
    samples: Sequence[tuple[str, SampleSignature]]

    def __str__(self) -> str:
        return f"{self.kind} {self.challenge}/{self.phase}"


def revealed_tests(phases: Sequence[PhaseSamples], about: str = "") -> list[str]:
    """Return a line for each pair of a practice and a test phase that share samples without permission.

    Args:
        phases: phases of one or several challenges.
        about: slug of a challenge; only pairs with one of its phases are reported. "" reports all.
    """
    lines: list[str] = []
    for practice in phases:
        for test in phases:
            if practice.kind != "practice" or test.kind != "test":
                continue
            is_about = not about or about in (practice.challenge, test.challenge)
            if practice.may_reveal or test.may_reveal or not is_about:
                continue
            shared = shared_samples(practice.samples, test.samples)
            if shared:
                lines.append(_reveals(practice, test, shared))
    return lines


def _reveals(
    practice: PhaseSamples,
    test: PhaseSamples,
    shared: Sequence[SharedSample],
) -> str:
    exact = sum(one.is_exact for one in shared)
    first = shared[0]
    near = len(shared) - exact
    counts = [
        f"{count} with {how} pixels"
        for count, how in ((exact, "the same"), (near, "nearly the same"))
        if count
    ]
    return (
        f"{practice} reveals the ground truth of {len(shared)} of {count_text(len(test.samples), 'sample')} of {test} "
        f"({' and '.join(counts)}), such as {first.second}"
    )


def signature_of(sample: Sample) -> SampleSignature:
    """Return the signature of a sample; the sample's name, truth and support examples do not affect it."""
    return SampleSignature(sha256=sha256(pack_sample(sample)), greys=_greys(sample))


def signature_of_body(body: bytes) -> SampleSignature:
    """Return the signature of an encoded sample.

    Raises:
        InvalidInput: the bytes are not a sample.
    """
    return SampleSignature(sha256=sha256(body), greys=_greys(unpack_sample(body, "sample")))


def shared_samples(
    first: Sequence[tuple[str, SampleSignature]], second: Sequence[tuple[str, SampleSignature]]
) -> list[SharedSample]:
    """Return each sample of the second pool that is also in the first, with its most similar sample there.

    Args:
        first: names and signatures of one pool.
        second: names and signatures of the other pool.
    """
    by_hash = {signature.sha256: name for name, signature in first}
    shared: list[SharedSample] = []
    others: list[tuple[str, bytes]] = []
    for name, signature in second:
        equal = by_hash.get(signature.sha256)
        if equal is not None:
            shared.append(SharedSample(first=equal, second=name, is_exact=True))
        elif signature.greys:
            others.append((name, signature.greys))
    known: dict[int, list[tuple[str, bytes]]] = {}
    for name, signature in first:
        # Signatures of different kinds of samples have different sizes.
        if signature.greys:
            known.setdefault(len(signature.greys), []).append((name, signature.greys))
    for size, candidates in known.items():
        of_size = [(name, greys) for name, greys in others if len(greys) == size]
        shared.extend(_near_duplicates(candidates, of_size))
    return shared


def _near_duplicates(
    first: Sequence[tuple[str, bytes]], second: Sequence[tuple[str, bytes]]
) -> list[SharedSample]:
    if not second:
        return []
    known = _directions(first)
    shared: list[SharedSample] = []
    for start in range(0, len(second), _COMPARED_AT_ONCE):
        chunk = second[start : start + _COMPARED_AT_ONCE]
        correlations = _directions(chunk) @ known.T
        nearest = correlations.argmax(axis=1)
        for row, (name, _) in enumerate(chunk):
            if correlations[row, nearest[row]] >= _MIN_CORRELATION:
                original = first[nearest[row]][0]
                shared.append(SharedSample(first=original, second=name, is_exact=False))
    return shared


def _directions(signatures: Sequence[tuple[str, bytes]]) -> NDArray[np.float32]:
    """Return grey values as rows of unit length; their means are almost 0, so dot products are correlations."""
    values = [np.frombuffer(greys, dtype=np.int8) for _, greys in signatures]
    rows = np.stack(values).astype(np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / lengths


def _greys(sample: Sample) -> bytes:
    details: list[NDArray[np.float64]] = []
    for plane in _planes(sample):
        grid = _cell_means(plane)
        details.append(grid - uniform_filter(grid, _SURROUNDINGS, mode="nearest"))
    values = np.stack(details)
    strongest = float(np.abs(values).max())
    if strongest <= _MIN_DETAIL:
        return b""
    scaled = values / strongest * _LEVELS
    return np.round(scaled).astype(np.int8).tobytes()


def _planes(sample: Sample) -> list[NDArray[np.float64]]:
    """Return the grey planes of a sample that are compared: one for an image, otherwise several evenly spaced ones."""
    if isinstance(sample, ImageSample):
        return [_grey(sample.image)]
    if isinstance(sample, VideoSample):
        places = _evenly_spaced(len(sample.frames))
        return [_grey(sample.frames[place]) for place in places]
    voxels = np.nan_to_num(np.asarray(sample.voxels, dtype=np.float64))
    return [voxels[place] for place in _evenly_spaced(len(voxels))]


def _evenly_spaced(count: int) -> list[int]:
    return [int(place) for place in np.linspace(0, count - 1, _PLANES + 2).round()[1:-1]]


def _grey(image: NDArray[np.uint8]) -> NDArray[np.float64]:
    return image.astype(np.float64).mean(axis=2)


def _cell_means(plane: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of a plane in each grid cell; a pixel on a border counts by its share in each cell."""
    rows = _overlaps(plane.shape[0])
    columns = _overlaps(plane.shape[1])
    return rows @ plane @ columns.T


def _overlaps(pixels: int) -> NDArray[np.float64]:
    """Return the share of each pixel in each cell, (cells, pixels); rows sum to 1."""
    borders = np.linspace(0.0, pixels, _GRID + 1)
    starts = np.arange(pixels)
    low = np.maximum(borders[:-1, None], starts)
    high = np.minimum(borders[1:, None], starts + 1)
    covered = np.clip(high - low, 0.0, None)
    return covered / covered.sum(axis=1, keepdims=True)
