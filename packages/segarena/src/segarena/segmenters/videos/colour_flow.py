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

# Costs of a step on a path: fixed, per unit of colour gradient, and per unit of unlikelihood.
_BASE_COST = 0.02
_EDGE_COST = 0.15
_COLOUR_COST = 0.3
_LEAST_LOG_LIKELIHOOD = -3.0


@dataclass(frozen=True, slots=True, eq=False)
class EncodedFlow:
    """Working frames of a video, and the colour bin of each pixel, uint16 (T, h, w)."""

    video: WorkingVideo
    bins: NDArray[np.uint16]


@segmenter("colour-flow")
@dataclass(kw_only=True, eq=False)
class ColourFlowSegmenter(StrokeSegmenter):
    """Segments frames with strokes by colour and distance, and propagates their labels by optical flow.

    In a frame with strokes, the cost of a label at a pixel grows with the geodesic distance to the
    label's nearest seed, which is long across edges and across colours that the label does not
    have. From there labels move from frame to frame by optical flow. In each frame they are
    compared with its colours and smoothed along its edges. Between two frames with strokes, the
    results of both directions are mixed, weighted by proximity.

    Strokes change their own frame and the frames up to the next frame with strokes; all other
    frames keep their labels.

    Args:
        distance_weight: weight of the distance to seeds, in a frame with strokes.
        colour_weight: weight of the colours, in a frame with strokes.
        carried_weight: weight of the colours, in frames with propagated labels.
        floor: minimum probability of a propagated label, shared by all labels, so that an object may
            reappear.

    Source: Criminisi, Sharp, Blake, GeoS, ECCV 2008, and Price, Morse, Cohen, Geodesic Graph Cut,
    CVPR 2010 (distances over colours and edges); Hosni et al., TPAMI 35(2), 2013 (smoothing of
    label costs); Kroeger et al., ECCV 2016 (flow). Their combination is this project's own.
    """

    distance_weight: float = 2.0
    colour_weight: float = 1.0
    carried_weight: float = 0.6
    floor: float = 0.02

    def encode(self, sample: Sample) -> EncodedFlow:
        """Shrink the frames and compute the optical flow between neighbours, in both directions.

        Raises:
            SegmenterError: the sample is not a video.
            InvalidInput: the video has no frames, or its frames have no pixels.
            InvalidImage: a frame is not an 8-bit image of the video's shape.
        """
        video = prepare_video(sample, "colour-flow", self.work_px)
        return EncodedFlow(video, colour_bins(video.lab))

    def _advance(self, encoded: EncodedFlow, drawn: StrokeRound) -> Labels:
        # Frames with strokes of earlier rounds keep their labels.
        found = {frame: drawn.layers(frame) for frame in drawn.marks if frame not in drawn.fresh}
        # The second pass uses the first result, which shows more of the objects' colours than the
        # strokes do.
        for _ in range(2):
            table = colour_table(encoded.bins, drawn.ids, drawn.marks, found)
            cuts = {frame: self._cut(encoded, drawn, frame, table) for frame in drawn.fresh}
            found.update(cuts)
        table = colour_table(encoded.bins, drawn.ids, drawn.marks, found)
        changed = {frame: found[frame] for frame in drawn.fresh}
        # Only the frames next to new strokes change, so only they are computed.
        for span in drawn.open_ranges():
            changed.update(self._carry(encoded, span, found, table))
        return drawn.merge(changed)

    def _cut(
        self,
        encoded: EncodedFlow,
        drawn: StrokeRound,
        frame: int,
        table: Field,
    ) -> Field:
        """Return the label probabilities of a frame with strokes, (labels, h, w)."""
        marks = drawn.marks[frame]
        sure = seed_labels(marks, drawn.fresh[frame], drawn.previous_at(frame), reach=self.reach)
        seeds = [sure == label for label in drawn.ids]
        colour = table[:, encoded.bins[frame]]
        distances = _distances(encoded.video.lab[frame], colour, seeds)
        # Half a pixel is subtracted, because seeds have a distance of 0.
        log_distances = np.log(distances + np.float32(0.5))
        score = self.colour_weight * colour - self.distance_weight * log_distances
        smooth = self.smooth(encoded.video, frame, score.astype(np.float32))
        probabilities = _softmax(smooth)
        _fix_marked(probabilities, marks, drawn.ids)
        return probabilities

    def _carry(
        self,
        encoded: EncodedFlow,
        span: FrameRange,
        found: dict[int, Field],
        table: Field,
    ) -> Iterator[tuple[int, Field]]:
        """Yield each frame of a range with its label probabilities, propagated from both ends."""
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
        self,
        encoded: EncodedFlow,
        start: Field,
        frames: Sequence[int],
        step: int,
        table: Field,
    ) -> list[Field]:
        """Return the label probabilities in `frames`, each propagated from the previous frame.

        `start` contains the probabilities of the frame before the first one.
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
            # Probabilities are sharpened slightly in each frame, because propagation blurs borders.
            carried.append(
                _softmax(
                    np.float32(1.3) * self.smooth(encoded.video, frame, score.astype(np.float32))
                )
            )
        return carried


def _distances(
    lab: NDArray[np.uint8],
    colour: Field,
    seeds: Sequence[NDArray[np.bool_]],
) -> Field:
    """Return the geodesic distance from each pixel to each label's seeds; edges and unlikely colours add to it.

    A label without seeds gets the largest distance of all other labels.
    """
    from skimage.graph import MCP_Geometric

    smooth = cv2.GaussianBlur(lab.astype(np.float32), (0, 0), 1.0)
    along_x = np.asarray(cv2.Sobel(smooth, cv2.CV_32F, 1, 0, ksize=3, scale=0.25))
    along_y = np.asarray(cv2.Sobel(smooth, cv2.CV_32F, 0, 1, ksize=3, scale=0.25))
    # Channels are summed first, because in float32 the order of additions changes the last bit.
    squares = np.square(along_x).sum(axis=2) + np.square(along_y).sum(axis=2)
    edge_cost = _BASE_COST + _EDGE_COST * np.sqrt(squares)
    distances = np.full(colour.shape, np.inf, dtype=np.float32)
    for number, seed in enumerate(seeds):
        if seed.any():
            likelihood = np.maximum(colour[number], _LEAST_LOG_LIKELIHOOD)
            cost = edge_cost - _COLOUR_COST * likelihood
            paths = MCP_Geometric(cost.astype(np.float64))
            distances[number], _ = paths.find_costs(np.argwhere(seed))
    farthest = distances[np.isfinite(distances)].max(initial=1.0)
    return np.minimum(distances, farthest)


def _fix_marked(
    probabilities: Field,
    marks: LabelMarks,
    ids: Sequence[int],
) -> None:
    """Set the probability of each marked pixel's label to 1."""
    for number, label in enumerate(ids):
        is_marked = marks == label
        probabilities[:, is_marked] = 0
        probabilities[number, is_marked] = 1


def _softmax(score: Field) -> Field:
    # Subtracting the maximum cancels out, and keeps the exponential from overflowing.
    shares = np.exp(score - score.max(axis=0))
    total = shares.sum(axis=0)
    return np.asarray(shares / total, dtype=np.float32)
