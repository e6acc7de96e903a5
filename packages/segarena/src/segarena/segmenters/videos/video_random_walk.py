"""Random walks over the superpixels of all frames of a video."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.registry import segmenter
from segarena.samples import Labels, Sample
from segarena.segmenters.drawing.superpixels import SuperpixelGraph, cut_into_superpixels
from segarena.segmenters.videos.tracking.colour_models import colour_bins, colour_table
from segarena.segmenters.videos.tracking.stroke_round import StrokeRound
from segarena.segmenters.videos.tracking.stroke_seeds import seed_labels
from segarena.segmenters.videos.tracking.stroke_segmenter import StrokeSegmenter
from segarena.segmenters.videos.tracking.superpixel_connections import (
    connect_superpixels,
    superpixel_means,
)
from segarena.segmenters.videos.tracking.working_video import Field, WorkingVideo, prepare_video

_PULL = 1e3
"""Conductance from a superpixel to the label of its seeds: large, so that the superpixel gets that label."""


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class EncodedWalk:
    """Superpixels of a video and the conductances between them.

    Attributes:
        video: the video at working size.
        bins: the colour bin of each pixel, uint16 (T, h, w).
        graphs: the superpixels of each frame.
        starts: index of each frame's first superpixel in the whole video, followed by the total.
        conductances: sparse (n, n), symmetric, within frames and between neighbouring ones.
    """

    video: WorkingVideo
    bins: NDArray[np.uint16]
    graphs: Sequence[SuperpixelGraph]
    starts: NDArray[np.intp]
    conductances: Any

    def nodes(self, frame: int) -> slice:
        """Return the index range of a frame's superpixels."""
        first = int(self.starts[frame])
        stop = int(self.starts[frame + 1])
        return slice(first, stop)


@segmenter("video-walk")
@dataclass(kw_only=True, eq=False)
class VideoWalkSegmenter(StrokeSegmenter):
    """Random walks with restart over the superpixels of all frames, solved as one linear system per round.

    A walker steps to adjacent superpixels of its frame (rarely across contrast) and along the
    optical flow to superpixels of neighbouring frames (rarely to another colour). With a small
    probability it stops and takes the label suggested by its colours and the previous round. Each
    superpixel gets the label that its walkers are most likely to meet first. Finally, borders move
    to edges in the image.

    Strokes change the frames up to the next frame with strokes of an earlier round. That frame and
    all others keep their labels. All frames in between are solved together.

    Args:
        superpixels: approximate number per frame.
        beta: decay of conductance with contrast, within a frame and between frames.
        through_time: weight of steps to other frames.
        restart: weight of stopping, relative to a step.
        memory: weight of a superpixel's previous label for a walker that stops there, 0 to 1.

    Source: L. Grady, Random Walks for Image Segmentation, TPAMI 28(11), 2006; T. H. Kim et al.,
    Generative Image Segmentation Using Random Walks with Restart, ECCV 2008. The steps through time
    along the optical flow are this project's own.
    """

    superpixels: int = 500
    beta: float = 1.5
    through_time: float = 5.0
    restart: float = 0.1
    memory: float = 0.8

    def encode(self, sample: Sample) -> EncodedWalk:
        """Cut every frame into superpixels, and connect those that touch or are connected by the flow.

        Raises:
            SegmenterError: the sample is not a video.
            InvalidInput: the video has no frames, or its frames have no pixels.
            InvalidImage: a frame is not an 8-bit image of the video's shape.
        """
        video = prepare_video(sample, "video-walk", self.work_px)
        graphs: list[SuperpixelGraph] = []
        starts = np.zeros(len(video.lab) + 1, dtype=np.intp)
        for frame, lab in enumerate(video.lab):
            image = np.asarray(cv2.cvtColor(lab, cv2.COLOR_LAB2RGB), dtype=np.uint8)
            graph = cut_into_superpixels(
                image, superpixels=self.superpixels, compactness=10.0, border_weight=0.5
            )
            graphs.append(graph)
            starts[frame + 1] = starts[frame] + graph.size
        return EncodedWalk(
            video=video,
            bins=colour_bins(video.lab),
            graphs=graphs,
            starts=starts,
            conductances=connect_superpixels(
                video, graphs, starts, beta=self.beta, through_time=self.through_time
            ),
        )

    def _advance(self, encoded: EncodedWalk, drawn: StrokeRound) -> Labels:
        # Frames with strokes of earlier rounds keep their labels, and delimit the ranges to solve.
        old = {frame: drawn.layers(frame) for frame in drawn.marks if frame not in drawn.fresh}
        found: dict[int, Field] = {}
        # The second pass uses the first result, which shows more of the objects' colours than the
        # strokes do.
        for _ in range(2):
            solved = {frame: found[frame] for frame in drawn.fresh if frame in found}
            table = colour_table(encoded.bins, drawn.ids, drawn.marks, old | solved)
            for first, last in _affected_ranges(drawn):
                for frame, shares in self._solve(encoded, drawn, table, first, last):
                    if frame not in old:
                        layers = shares[:, encoded.graphs[frame].labels]
                        found[frame] = self.smooth(encoded.video, frame, layers)
        return drawn.merge(found)

    def _solve(
        self,
        encoded: EncodedWalk,
        drawn: StrokeRound,
        table: Field,
        first: int,
        last: int,
    ) -> Iterator[tuple[int, Field]]:
        """Yield the frames `first` to `last` with their label probabilities, (labels, superpixels)."""
        from scipy import sparse

        frames = range(first, last + 1)
        start = encoded.nodes(first).start
        nodes = slice(start, encoded.nodes(last).stop)
        inner = encoded.conductances[nodes, nodes]
        expected = [self._expected(encoded, drawn, frame, table) for frame in frames]
        colours = np.concatenate(expected, axis=1)
        pulls = np.zeros(colours.shape)
        for frame in frames:
            if frame in drawn.marks:
                own = encoded.nodes(frame)
                pulls[:, own.start - start : own.stop - start] = self._sure(encoded, drawn, frame)
        weight = self.restart * colours.max(axis=0)
        diagonal = inner.sum(axis=1) + weight + _PULL * pulls.sum(axis=0)
        # The Laplacian of the graph, with the connections to labels added to its diagonal.
        system = (sparse.diags_array(diagonal) - inner).tocsr()
        sources = weight * colours + _PULL * pulls
        shares = _solve_rows(system, diagonal, sources, colours)
        for frame in frames:
            own = encoded.nodes(frame)
            yield frame, shares[:, own.start - start : own.stop - start]

    def _expected(
        self,
        encoded: EncodedWalk,
        drawn: StrokeRound,
        frame: int,
        table: Field,
    ) -> NDArray[np.float64]:
        """Return label probabilities expected from colours and previous labels, (labels, superpixels)."""
        graph = encoded.graphs[frame]
        mean = _layer_means(graph, table[:, encoded.bins[frame]])
        # Subtracting the maximum cancels out, and keeps the exponential from overflowing.
        shares = np.exp(mean - mean.max(axis=0))
        if drawn.previous is not None and frame not in drawn.marks:
            before = _layer_means(graph, drawn.layers(frame))
            shares *= 1 - self.memory + self.memory * before
        return shares / shares.sum(axis=0)

    def _sure(
        self,
        encoded: EncodedWalk,
        drawn: StrokeRound,
        frame: int,
    ) -> NDArray[np.float64]:
        """Return the share of each superpixel's pixels that are seeds of each label, (labels, superpixels).

        In a frame without new strokes, all pixels are seeds of their previous labels.
        """
        graph = encoded.graphs[frame]
        if frame not in drawn.fresh:
            return _layer_means(graph, drawn.layers(frame))
        sure = seed_labels(
            drawn.marks[frame], drawn.fresh[frame], drawn.previous_at(frame), reach=self.reach
        )
        return _layer_means(graph, [sure == label for label in drawn.ids])


def _affected_ranges(drawn: StrokeRound) -> list[tuple[int, int]]:
    """Return the ranges of frames to solve together: around new strokes, up to the next frames with older ones."""
    ranges: list[tuple[int, int]] = []
    old = sorted(set(drawn.marks) - set(drawn.fresh))
    last_frame = drawn.video.shape[0] - 1
    for frame in drawn.fresh:
        first = max((other for other in old if other < frame), default=0)
        last = min((other for other in old if other > frame), default=last_frame)
        if (first, last) not in ranges:
            ranges.append((first, last))
    return ranges


def _layer_means(graph: SuperpixelGraph, layers: Iterable[NDArray[Any]]) -> NDArray[np.float64]:
    """Return the mean of each layer over each superpixel, (layers, superpixels)."""
    return np.stack([superpixel_means(graph, layer) for layer in layers])


def _solve_rows(
    system: Any,
    diagonal: NDArray[np.float64],
    right_sides: NDArray[np.float64],
    start: NDArray[np.float64],
) -> Field:
    """Solve `system` for each row of `right_sides` by conjugate gradients with a diagonal preconditioner."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import cg

    scale = diags_array(1.0 / diagonal)
    rows: list[Any] = []
    for wanted, first in zip(right_sides, start, strict=True):
        solution, _ = cg(
            system,
            wanted,
            x0=first,
            rtol=1e-7,
            maxiter=2000,
            M=scale,
        )
        rows.append(solution)
    return np.stack(rows).astype(np.float32)
