"""Memory and time of a run on a volume of 300 x 512 x 512 voxels: `python benches/large_volume.py`.

A new process evaluates a stand-in for a model, which returns a moved ellipsoid, in the rounds of `cvpr2025` (a box,
then five clicks). Peak memory is resident memory beyond that of the same run on a small volume, relative to the size of
the volume (16-bit numbers, and one byte a voxel for the target). Time is processor time beyond that of the small run,
relative to one pass of counts over the full volume for each round.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from measurement import Figures, ProcessCost, argument_parser, at_most, no_bar, run_code, seconds_of
from numpy.typing import NDArray

from segarena.samples import Target, VolumeSample

SHAPE = (300, 512, 512)
SMALL = (24, 48, 48)
ROUNDS = 6
BARS = {
    "peak memory / voxels and target": at_most(3),
    "processor time / counts on the full volume in each round": at_most(11),
    "peak memory": no_bar("MB"),
    "processor time": no_bar("s"),
}
CODE = """
import segarena
folder = segarena.evaluate(
    "cvpr2025",
    segmenter={segmenter!r},
    dataset={dataset!r},
    out={out!r},
)
assert folder.config.counts.failures == 0, folder.config.counts
"""


def ellipsoid(shape: tuple[int, int, int], moved: float = 0.0) -> NDArray[np.bool_]:
    """Return an ellipsoid with half axes of a fifth of the volume, moved by a share of these axes."""
    planes, rows, columns = (
        ((np.arange(length) - length * (0.5 + 0.2 * moved)) / (0.2 * length)) ** 2
        for length in shape
    )
    in_plane = rows[:, None] + columns
    mask = np.empty(shape, dtype=np.bool_)
    # Plane by plane: numbers for the whole volume would take more memory than what is measured.
    for index, depth in enumerate(planes):
        np.less_equal(in_plane, 1 - depth, out=mask[index])
    return mask


class OneVolume:
    """A dataset of one volume with an ellipsoid."""

    name = "one-volume"
    fingerprint = "one-volume"
    sample_ids = ("scan",)

    def __init__(self, *, shape: tuple[int, int, int] = SMALL) -> None:
        self.shape = shape

    def load(self, sample_id: str) -> VolumeSample:
        """Return the volume."""
        mask = ellipsoid(self.shape)
        voxels = mask.astype(np.int16)
        voxels *= 200
        return VolumeSample(
            id=sample_id,
            voxels=voxels,
            spacing_mm=(1.5, 0.8, 0.8),
            targets=(Target(id="organ", mask=mask),),
        )

    def check(self) -> list[Any]:
        """Return no findings."""
        return []


class MovedEllipsoid:
    """Returns the ellipsoid moved by a tenth, and by less in every later round."""

    sample_kinds = frozenset({"volume"})
    prompt_kinds = frozenset({"box", "limits", "click"})

    def encode(self, sample: VolumeSample) -> tuple[int, int, int]:
        """Return the shape."""
        return sample.voxels.shape

    def predict(self, encoded: tuple[int, int, int], dialogues: Any) -> list[NDArray[np.bool_]]:
        """Return a mask for each dialogue."""
        return [ellipsoid(encoded, 0.2 / (1 + len(dialogue.rounds))) for dialogue in dialogues]


def run(shape: tuple[int, int, int], out: Path) -> ProcessCost:
    """Return the cost of a run in a new process."""
    return run_code(
        CODE.format(
            segmenter=f"{__file__}:MovedEllipsoid",
            dataset=f"{__file__}:OneVolume(shape={shape})",
            out=str(out),
        )
    )


def main() -> None:
    """Report the figures; exit with 1 if a limit is missed."""
    options = argument_parser(__doc__).parse_args()
    shape = SHAPE
    if options.quick:
        shape = (40, 96, 96)
    with tempfile.TemporaryDirectory() as name:
        small = run(SMALL, Path(name) / "small")
        large = run(shape, Path(name) / "large")
    target = ellipsoid(shape)
    prediction = ellipsoid(shape, 0.1)
    # The stand-in spends as much in each of its calls.
    model_s = ROUNDS * seconds_of(lambda: ellipsoid(shape, 0.1))
    counts_s = ROUNDS * seconds_of(
        lambda: (np.logical_and(prediction, target).sum(), np.logical_or(prediction, target).sum())
    )
    figures = Figures(BARS, has_bars=not options.quick)
    figures.report(
        "peak memory / voxels and target", 1e6 * (large.peak_mb - small.peak_mb) / (3 * target.size)
    )
    figures.report(
        "processor time / counts on the full volume in each round",
        (large.processor_s - small.processor_s - model_s) / counts_s,
    )
    figures.report("peak memory", large.peak_mb)
    figures.report("processor time", large.processor_s)
    figures.finish()


if __name__ == "__main__":
    main()
