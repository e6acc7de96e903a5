"""Random walks through a video cut into superpixels, all frames at once."""

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
"""The conductance by which a superpixel hangs on what is sure of it: large, so that it takes that value."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EncodedWalk:
    """What `VideoWalkSegmenter.encode` makes of a video.

    Attributes:
        video: its working frames.
        bins: the colour bin of each pixel, uint16 (T, h, w).
        graphs: the superpixels of each frame.
        starts: the number of each frame's first superpixel in the whole video, and how many there are.
        conductances: sparse (n, n), between superpixels of one frame and of neighbouring ones; symmetric.
    """

    video: WorkingVideo
    bins: NDArray[np.uint16]
    graphs: Sequence[SuperpixelGraph]
    starts: NDArray[np.intp]
    conductances: Any

    def nodes(self, frame: int) -> slice:
        """Return the numbers of a frame's superpixels."""
        return slice(int(self.starts[frame]), int(self.starts[frame + 1]))


@segmenter("video-walk")
@dataclass(kw_only=True, eq=False)
class VideoWalkSegmenter(StrokeSegmenter):
    """Random walks with restart over the superpixels of all frames; one linear system per round.

    A walker steps to superpixels that touch in its frame, rarely across contrast, and along the optical flow to those
    of the neighbouring frames, rarely to another colour. Now and then it gives up and takes the label that its colours
    and the round before say. Each superpixel gets the label that its walkers most likely meet first. Borders then move
    to the pixels' edges.

    Strokes change the frames up to the next one that had strokes in an earlier round; that one and the rest stay as
    they were. Between, all frames are decided together.

    Args:
        superpixels: per frame, about.
        beta: how fast conductance falls with contrast, within a frame and between frames.
        through_time: weight of steps to other frames.
        restart: weight of giving up.
        memory: how much the label that a superpixel had before counts for a walker that gives up there, 0 to 1.

    Source: L. Grady, Random Walks for Image Segmentation, TPAMI 28(11), 2006; T. H. Kim et al., Generative Image
    Segmentation Using Random Walks with Restart, ECCV 2008. Through time, along optical flow, is ours.
    """

    superpixels: int = 500
    beta: float = 1.5
    through_time: float = 5.0
    restart: float = 0.1
    memory: float = 0.8

    def encode(self, sample: Sample) -> EncodedWalk:
        """Cut every frame into superpixels, and connect those that touch or follow one another.

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
        # Twice: what is found by the colours of the strokes alone has more colours.
        for _ in range(2):
            solved = {frame: found[frame] for frame in drawn.fresh if frame in found}
            table = colour_table(encoded.bins, drawn.ids, drawn.marks, old | solved)
            for first, last in _reaches(drawn):
                for frame, shares in self._solve(encoded, drawn, table, first, last):
                    if frame not in old:
                        layers = shares[:, encoded.graphs[frame].labels]
                        found[frame] = self.smooth(encoded.video, frame, layers)
        return drawn.turn(found)

    def _solve(
        self, encoded: EncodedWalk, drawn: StrokeRound, table: Field, first: int, last: int
    ) -> Iterator[tuple[int, Field]]:
        """Yield the frames `first` to `last` with the share of each label in each superpixel, (labels, superpixels)."""
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
        shares = _settle(system, diagonal, weight * colours + _PULL * pulls, colours)
        for frame in frames:
            own = encoded.nodes(frame)
            yield frame, shares[:, own.start - nodes.start : own.stop - nodes.start]

    def _expected(
        self, encoded: EncodedWalk, drawn: StrokeRound, frame: int, table: Field
    ) -> NDArray[np.float64]:
        """Return what colours say, and the labels before: probabilities (labels, superpixels)."""
        graph = encoded.graphs[frame]
        mean = np.stack([superpixel_means(graph, layer) for layer in table[:, encoded.bins[frame]]])
        shares = np.exp(mean - mean.max(axis=0))
        if drawn.previous is not None and frame not in drawn.marks:
            before = np.stack([superpixel_means(graph, layer) for layer in drawn.layers(frame)])
            shares *= 1 - self.memory + self.memory * before
        return shares / shares.sum(axis=0)

    def _sure(self, encoded: EncodedWalk, drawn: StrokeRound, frame: int) -> NDArray[np.float64]:
        """Return which part of each superpixel is sure to have which label, (labels, superpixels)."""
        graph = encoded.graphs[frame]
        if frame not in drawn.fresh:
            return np.stack([superpixel_means(graph, layer) for layer in drawn.layers(frame)])
        sure = seed_labels(
            drawn.marks[frame], drawn.fresh[frame], drawn.previous_at(frame), reach=self.reach
        )
        return np.stack([superpixel_means(graph, sure == label) for label in drawn.ids])


def _reaches(drawn: StrokeRound) -> list[tuple[int, int]]:
    """Return which frames are decided together: fresh ones and all up to, and with, old ones with strokes."""
    reaches: list[tuple[int, int]] = []
    old = sorted(set(drawn.marks) - set(drawn.fresh))
    for frame in drawn.fresh:
        first = max((other for other in old if other < frame), default=0)
        last = min((other for other in old if other > frame), default=drawn.video.shape[0] - 1)
        if (first, last) not in reaches:
            reaches.append((first, last))
    return reaches


def _settle(
    system: Any,
    diagonal: NDArray[np.float64],
    asked: NDArray[np.float64],
    start: NDArray[np.float64],
) -> Field:
    """Return the solutions of `system` for each row of `asked`, by conjugate gradients scaled with the diagonal."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import cg

    scale = diags_array(1.0 / diagonal)
    rows = [
        cg(system, wanted, x0=first, rtol=1e-7, maxiter=2000, M=scale)[0]
        for wanted, first in zip(asked, start, strict=True)
    ]
    return np.stack(rows).astype(np.float32)
