"""Video segmentation by colours and distances in frames with strokes, propagated by optical flow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.registry import segmenter
from segarena.samples import Labels, Sample
from segarena.segmenters.videos.tracking.colour_models import colour_bins, colour_table
from segarena.segmenters.videos.tracking.frame_strokes import LabelMarks
from segarena.segmenters.videos.tracking.stroke_round import FrameRange, StrokeRound
from segarena.segmenters.videos.tracking.stroke_seeds import seed_labels
from segarena.segmenters.videos.tracking.stroke_segmenter import StrokeSegmenter
from segarena.segmenters.videos.tracking.working_video import Field, WorkingVideo, prepare_video

_UNCOVERED_PX = 4.0
"""Standard deviation of the blur that fills uncovered pixels from their surroundings."""


@dataclass(frozen=True, slots=True, eq=False)
class EncodedFlow:
    """Working frames of a video, and the colour bin of each pixel, uint16 (T, h, w)."""

    video: WorkingVideo
    bins: NDArray[np.uint16]


@segmenter("colour-flow")
@dataclass(kw_only=True, eq=False)
class ColourFlowSegmenter(StrokeSegmenter):
    """Segments frames with strokes by colour and distance, and propagates labels by optical flow.

    In a frame with strokes, the cost of a label grows with the geodesic distance to its next sure
    pixel, across edges and across colours that the label does not have. Labels move from there from
    frame to frame, are compared with the colours of each frame and smoothed along its edges. Between
    two frames with strokes both directions are mixed by proximity.

    Strokes change their own frame and the frames up to the next one with strokes; the others keep
    their labels.

    Args:
        distance_weight: of the distance to sure pixels, in a frame with strokes.
        colour_weight: of the colours in a frame with strokes.
        carried_weight: of the colours in frames with propagated labels.
        floor: minimum probability of a propagated label, shared by all labels, so that an object may
            reappear.

    Source: Criminisi, Sharp, Blake, GeoS, ECCV 2008, and Price, Morse, Cohen, Geodesic Graph Cut,
    CVPR 2010 (distances over colours and edges); Hosni et al., TPAMI 35(2), 2013 (smoothing of label
    costs); Kroeger et al., ECCV 2016 (flow). Their combination is ours.
    """

    distance_weight: float = 2.0
    colour_weight: float = 1.0
    carried_weight: float = 0.6
    floor: float = 0.02

    def encode(self, sample: Sample) -> EncodedFlow:
        """Shrink the frames and compute the optical flow between neighbours, in both directions.

        Raises:
            SegmenterError: the sample is not a video.
            InvalidInput: it has no frames, or frames without pixels.
            InvalidImage: a frame is not an 8-bit image of the video's shape.
        """
        video = prepare_video(sample, "colour-flow", self.work_px)
        return EncodedFlow(video, colour_bins(video.lab))

    def _advance(self, encoded: EncodedFlow, drawn: StrokeRound) -> Labels:
        found = {frame: drawn.layers(frame) for frame in drawn.marks if frame not in drawn.fresh}
        # Twice, because the first result has more colours of the objects than their strokes.
        for _ in range(2):
            table = colour_table(encoded.bins, drawn.ids, drawn.marks, found)
            found |= {frame: self._cut(encoded, drawn, frame, table) for frame in drawn.fresh}
        table = colour_table(encoded.bins, drawn.ids, drawn.marks, found)
        changed = {frame: found[frame] for frame in drawn.fresh}
        for span in drawn.open_ranges():
            changed.update(self._carry(encoded, span, found, table))
        return drawn.merge(changed)

    def _cut(self, encoded: EncodedFlow, drawn: StrokeRound, frame: int, table: Field) -> Field:
        """Return the label probabilities of a frame with strokes, (labels, h, w)."""
        sure = seed_labels(
            drawn.marks[frame], drawn.fresh[frame], drawn.previous_at(frame), reach=self.reach
        )
        colour = table[:, encoded.bins[frame]]
        away = _distances(encoded.video.lab[frame], colour, [sure == label for label in drawn.ids])
        score = self.colour_weight * colour - self.distance_weight * np.log(away + np.float32(0.5))
        probabilities = _softmax(self.smooth(encoded.video, frame, score.astype(np.float32)))
        _fix_marked(probabilities, drawn.marks[frame], drawn.ids)
        return probabilities

    def _carry(
        self, encoded: EncodedFlow, span: FrameRange, found: dict[int, Field], table: Field
    ) -> Iterator[tuple[int, Field]]:
        """Yield each frame of a range with its probabilities, propagated from both ends."""
        frames = range(span.first, span.last + 1)
        if span.after is None:
            backwards = []
        else:
            backwards = self._walk(encoded, found[span.after], frames[::-1], -1, table)
        if span.before is None:
            forwards = []
        else:
            forwards = self._walk(encoded, found[span.before], frames, 1, table)
        for number, frame in enumerate(frames):
            if not (backwards and forwards):
                yield frame, (forwards or backwards[::-1])[number]
                continue
            nearness = (number + 1) / (len(frames) + 1)
            mixed = (1 - nearness) * forwards[number] + nearness * backwards[-1 - number]
            yield frame, mixed.astype(np.float32)

    def _walk(
        self, encoded: EncodedFlow, start: Field, frames: Sequence[int], step: int, table: Field
    ) -> list[Field]:
        """Return the probabilities in `frames`, each propagated from the one before.

        `start` has the probabilities of the frame before the first.
        """
        carried: list[Field] = []
        for frame in frames:
            previous = carried[-1] if carried else start
            moved, trust = encoded.video.carry(previous, frame, step)
            around = np.stack([cv2.GaussianBlur(layer, (0, 0), _UNCOVERED_PX) for layer in moved])
            expected = trust * moved + (1 - trust) * around
            share = np.float32(self.floor / len(expected))
            expected = expected * np.float32(1 - self.floor) + share
            score = (
                np.log(np.maximum(expected, np.float32(1e-6)))
                + np.float32(self.carried_weight) * table[:, encoded.bins[frame]]
            )
            # Slightly sharper in each frame, or borders would blur on the way.
            carried.append(
                _softmax(
                    np.float32(1.3) * self.smooth(encoded.video, frame, score.astype(np.float32))
                )
            )
        return carried


def _distances(lab: NDArray[np.uint8], colour: Field, seeds: Sequence[NDArray[np.bool_]]) -> Field:
    """Return the geodesic distance of each pixel to each label's seeds, over edges and unlikely colours.

    Labels without seeds get the largest distance of all others.
    """
    from skimage.graph import MCP_Geometric

    smooth = cv2.GaussianBlur(lab.astype(np.float32), (0, 0), 1.0)
    slopes = [
        np.asarray(cv2.Sobel(smooth, cv2.CV_32F, *axis, ksize=3, scale=0.25))
        for axis in ((1, 0), (0, 1))
    ]
    steepness = np.sqrt(sum(np.square(slope).sum(axis=2) for slope in slopes))
    away = np.full(colour.shape, np.inf, dtype=np.float32)
    for number, seed in enumerate(seeds):
        if seed.any():
            cost = 0.02 + 0.15 * steepness - 0.3 * np.maximum(colour[number], -3.0)
            away[number], _ = MCP_Geometric(cost.astype(np.float64)).find_costs(np.argwhere(seed))
    farthest = away[np.isfinite(away)].max(initial=1.0)
    return np.minimum(away, farthest)


def _fix_marked(probabilities: Field, marks: LabelMarks, ids: Sequence[int]) -> None:
    """Set the probability of marked pixels to 1 for their label."""
    for number, label in enumerate(ids):
        is_marked = marks == label
        probabilities[:, is_marked] = 0
        probabilities[number, is_marked] = 1


def _softmax(score: Field) -> Field:
    shares = np.exp(score - score.max(axis=0))
    return np.asarray(shares / shares.sum(axis=0), dtype=np.float32)
