"""Time and memory of a run on a video of 100 frames of 480 x 854 with 10 objects: `python benches/long_videos.py`.

A new process evaluates a stand-in for a model, which returns moved objects, in three interactions of `davis`. Processor
time and memory beyond those of a video of 10 frames are those of 90 frames. A frame is compared with one round of the
published measures on the full frame (`davis_metrics.py`), for ten objects.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from davis_metrics import plain_f
from measurement import Figures, ProcessCost, argument_parser, at_most, no_bar, run_code, seconds_of
from numpy.typing import NDArray
from skimage.morphology import disk

from segarena.arrays.contours import contour_radius_px
from segarena.samples import Target, VideoSample

FRAME = (480, 854)
FRAMES = 100
FEW_FRAMES = 10
OBJECTS = 10
INTERACTIONS = 3
BARS = {
    "a frame in a run / J and F by the baseline": at_most(0.3),
    "memory of a frame / its picture and its labels": at_most(2.5),
    "processor time": no_bar("s"),
    "peak memory": no_bar("MB"),
}
CODE = """
import segarena
folder = segarena.evaluate(
    "davis(rounds={rounds}, seconds_per_object=None)",
    segmenter={segmenter!r},
    dataset={dataset!r},
    out={out!r},
)
assert folder.config.counts.failures == 0, folder.config.counts
"""


def draw_objects(frames: int, moved_px: int = 0) -> NDArray[np.uint8]:
    """Return labels (frames, H, W) of ten discs that move to the right."""
    labels = np.zeros((frames, *FRAME), dtype=np.uint8)
    rows, columns = np.ogrid[: FRAME[0], : FRAME[1]]
    for frame in range(frames):
        for number in range(OBJECTS):
            row = 120 + 240 * (number % 2)
            column = 90 + 150 * (number // 2) + frame // 2 + moved_px
            labels[frame][(rows - row) ** 2 + (columns - column) ** 2 <= 60**2] = number + 1
    return labels


class OneVideo:
    """A dataset of one video."""

    name = "one-video"
    fingerprint = "one-video"
    sample_ids = ("discs",)

    def __init__(self, *, frames: int = FEW_FRAMES) -> None:
        self.frames = frames

    def load(self, sample_id: str) -> VideoSample:
        """Return the video; each frame is a separate array."""
        pictures = [np.full((*FRAME, 3), 80, dtype=np.uint8) for _ in range(self.frames)]
        target = Target(id="objects", mask=draw_objects(self.frames))
        return VideoSample(id=sample_id, frames=pictures, frame_shape=FRAME, targets=(target,))

    def check(self) -> list[Any]:
        """Return no findings."""
        return []


class MovedObjects:
    """Returns all objects moved by a few pixels, less in every interaction."""

    sample_kinds = frozenset({"video"})
    prompt_kinds = frozenset({"scribble"})

    def encode(self, sample: VideoSample) -> list[NDArray[np.uint8]]:
        """Return the answer of each interaction."""
        frames = len(sample.frames)
        return [draw_objects(frames, 12 - 3 * number) for number in range(INTERACTIONS)]

    def predict(self, encoded: list[NDArray[np.uint8]], dialogues: Any) -> list[NDArray[np.uint8]]:
        """Return labels for each dialogue."""
        return [encoded[min(len(dialogue.rounds), INTERACTIONS) - 1] for dialogue in dialogues]


def run(frames: int, out: Path) -> ProcessCost:
    """Return the cost of a run in a new process."""
    return run_code(
        CODE.format(
            rounds=INTERACTIONS,
            segmenter=f"{__file__}:MovedObjects",
            dataset=f"{__file__}:OneVideo(frames={frames})",
            out=str(out),
        )
    )


def baseline_frame_s() -> float:
    """Return the seconds of J and F of ten objects in one frame, by the published rule."""
    (target,) = draw_objects(1).astype(np.int64)
    (prediction,) = draw_objects(1, 6).astype(np.int64)
    around = disk(contour_radius_px(FRAME, 0.008)).astype(np.uint8)

    def judge() -> None:
        for number in range(1, OBJECTS + 1):
            ours = prediction == number
            theirs = target == number
            _ = (ours & theirs).sum() / (ours | theirs).sum()
            plain_f(ours, theirs, around)

    return min(seconds_of(judge) for _ in range(3))


def main() -> None:
    """Report the figures; exit with 1 if a limit is missed."""
    options = argument_parser(__doc__).parse_args()
    frames = FRAMES
    few = FEW_FRAMES
    if options.quick:
        frames = 8
        few = 4
    with tempfile.TemporaryDirectory() as name:
        short = run(few, Path(name) / "short")
        long = run(frames, Path(name) / "long")
    more = frames - few
    # Drawing the target and the answers takes as long in both processes.
    drawing_s = (1 + INTERACTIONS) * seconds_of(lambda: draw_objects(more))
    frame_s = (long.processor_s - short.processor_s - drawing_s) / more / INTERACTIONS
    picture_bytes = 4 * FRAME[0] * FRAME[1]
    answers_bytes = INTERACTIONS * FRAME[0] * FRAME[1]
    frame_bytes = 1e6 * (long.peak_mb - short.peak_mb) / more - answers_bytes
    figures = Figures(BARS, has_bars=not options.quick)
    figures.report("a frame in a run / J and F by the baseline", frame_s / baseline_frame_s())
    figures.report("memory of a frame / its picture and its labels", frame_bytes / picture_bytes)
    figures.report("processor time", long.processor_s)
    figures.report("peak memory", long.peak_mb)
    figures.finish()


if __name__ == "__main__":
    main()
