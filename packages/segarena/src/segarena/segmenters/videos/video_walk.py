"""Random walks over the superpixels of all frames of a video."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
"""Conductance from a superpixel to its sure label: large, so that it takes that value."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EncodedWalk:
    """Superpixels of a video and their connections.

    Attributes:
        video: its working frames.
        bins: the colour bin of each pixel, uint16 (T, h, w).
        graphs: the superpixels of each frame.
        starts: number of each frame's first superpixel in the whole video, and the total.
        conductances: sparse (n, n), symmetric, within frames and between neighbouring ones.
    """

    video: WorkingVideo
    bins: NDArray[np.uint16]
    graphs: Sequence[SuperpixelGraph]
    starts: NDArray[np.intp]
    conductances: Any

    def nodes(self, frame: int) -> slice:
        """Return the range of a frame's superpixels."""
        return slice(int(self.starts[frame]), int(self.starts[frame + 1]))


@segmenter("video-walk")
@dataclass(kw_only=True, eq=False)
class VideoWalkSegmenter(StrokeSegmenter):
    """Random walks with restart over the superpixels of all frames; one linear system per round.

    A walker steps to adjacent superpixels of its frame, rarely across contrast, and along the optical
    flow to those of neighbouring frames, rarely to another colour. With a small probability it stops
    and takes the label suggested by its colours and the previous round. Each superpixel gets the label
    that its walkers most likely meet first. Borders then move to the pixels' edges.

    Strokes change the frames up to the next one with strokes of an earlier round; that one and the
    others keep their labels. All frames in between are solved together.

    Args:
        superpixels: approximate number per frame.
        beta: decay of conductance with contrast, within a frame and between frames.
        through_time: weight of steps to other frames.
        restart: weight of stopping.
        memory: weight of a superpixel's previous label for a walker that stops there, 0 to 1.

    Source: L. Grady, Random Walks for Image Segmentation, TPAMI 28(11), 2006; T. H. Kim et al.,
    Generative Image Segmentation Using Random Walks with Restart, ECCV 2008. The steps through time
    along the optical flow are ours.
    """

    superpixels: int = 500
    beta: float = 1.5
    through_time: float = 5.0
    restart: float = 0.1
    memory: float = 0.8

    def encode(self, sample: Sample) -> EncodedWalk:
        """Cut every frame into superpixels, and connect those that touch or follow one another by flow.

        Raises:
            SegmenterError: the sample is not a video.
            InvalidInput: it has no frames, or frames without pixels.
            InvalidImage: a frame is not an 8-bit image of the video's shape.
        """
        video = prepare_video(sample, "video-walk", self.work_px)
        graphs = [
            cut_into_superpixels(
                np.asarray(cv2.cvtColor(lab, cv2.COLOR_LAB2RGB), dtype=np.uint8),
                superpixels=self.superpixels,
                compactness=10.0,
                border_weight=0.5,
            )
            for lab in video.lab
        ]
        starts = np.concatenate([[0], np.cumsum([graph.size for graph in graphs])]).astype(np.intp)
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
        old = {frame: drawn.layers(frame) for frame in drawn.marks if frame not in drawn.fresh}
        found: dict[int, Field] = {}
        # Twice, because the first result has more colours of the objects than their strokes.
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
        self, encoded: EncodedWalk, drawn: StrokeRound, table: Field, first: int, last: int
    ) -> Iterator[tuple[int, Field]]:
        """Yield the frames `first` to `last` with label probabilities, (labels, superpixels)."""
        from scipy import sparse

        frames = range(first, last + 1)
        nodes = slice(int(encoded.starts[first]), int(encoded.starts[last + 1]))
        inner = encoded.conductances[nodes, nodes]
        colours = np.concatenate(
            [self._expected(encoded, drawn, frame, table) for frame in frames], axis=1
        )
        pulls = np.zeros(colours.shape)
        for frame in frames:
            if frame in drawn.marks:
                own = slice(
                    encoded.nodes(frame).start - nodes.start,
                    encoded.nodes(frame).stop - nodes.start,
                )
                pulls[:, own] = self._sure(encoded, drawn, frame)
        weight = self.restart * colours.max(axis=0)
        diagonal = inner.sum(axis=1) + weight + _PULL * pulls.sum(axis=0)
        system = (sparse.diags_array(diagonal) - inner).tocsr()
        shares = _solve_rows(system, diagonal, weight * colours + _PULL * pulls, colours)
        for frame in frames:
            own = encoded.nodes(frame)
            yield frame, shares[:, own.start - nodes.start : own.stop - nodes.start]

    def _expected(
        self, encoded: EncodedWalk, drawn: StrokeRound, frame: int, table: Field
    ) -> NDArray[np.float64]:
        """Return label probabilities from colours and previous labels, (labels, superpixels)."""
        graph = encoded.graphs[frame]
        mean = np.stack([superpixel_means(graph, layer) for layer in table[:, encoded.bins[frame]]])
        shares = np.exp(mean - mean.max(axis=0))
        if drawn.previous is not None and frame not in drawn.marks:
            before = np.stack([superpixel_means(graph, layer) for layer in drawn.layers(frame)])
            shares *= 1 - self.memory + self.memory * before
        return shares / shares.sum(axis=0)

    def _sure(self, encoded: EncodedWalk, drawn: StrokeRound, frame: int) -> NDArray[np.float64]:
        """Return the share of each superpixel that is sure of each label, (labels, superpixels)."""
        graph = encoded.graphs[frame]
        if frame not in drawn.fresh:
            return np.stack([superpixel_means(graph, layer) for layer in drawn.layers(frame)])
        sure = seed_labels(
            drawn.marks[frame], drawn.fresh[frame], drawn.previous_at(frame), reach=self.reach
        )
        return np.stack([superpixel_means(graph, sure == label) for label in drawn.ids])


def _affected_ranges(drawn: StrokeRound) -> list[tuple[int, int]]:
    """Return the frames to solve together: from fresh ones up to, and including, older stroked ones."""
    ranges: list[tuple[int, int]] = []
    old = sorted(set(drawn.marks) - set(drawn.fresh))
    for frame in drawn.fresh:
        first = max((other for other in old if other < frame), default=0)
        last = min((other for other in old if other > frame), default=drawn.video.shape[0] - 1)
        if (first, last) not in ranges:
            ranges.append((first, last))
    return ranges


def _solve_rows(
    system: Any,
    diagonal: NDArray[np.float64],
    right_sides: NDArray[np.float64],
    start: NDArray[np.float64],
) -> Field:
    """Solve `system` for each row of `right_sides` by conjugate gradients, preconditioned by the diagonal."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import cg

    scale = diags_array(1.0 / diagonal)
    rows = [
        cg(system, wanted, x0=first, rtol=1e-7, maxiter=2000, M=scale)[0]
        for wanted, first in zip(right_sides, start, strict=True)
    ]
    return np.stack(rows).astype(np.float32)
