"""Conductances between the superpixels of all frames of a video."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.segmenters.drawing.superpixels import SuperpixelGraph
from segarena.segmenters.videos.tracking.working_video import (
    FLOW_TOLERANCE,
    MIN_FLOW_TOLERANCE,
    WorkingVideo,
)

_COLOUR_STEP = 12.0
"""Colour difference between frames, in 8-bit CIELAB, that has the effect of the median contrast in a frame."""


def connect_superpixels(
    video: WorkingVideo,
    graphs: Sequence[SuperpixelGraph],
    starts: NDArray[np.intp],
    *,
    beta: float,
    through_time: float,
) -> Any:
    """Return the conductances between all superpixels of a video, sparse (n, n), symmetric.

    Within a frame, the conductance is proportional to the length of the common border, relative to
    the mean length, and falls with contrast. Between neighbouring frames it is proportional to the
    share of pixels that the flow connects, falls with the colour difference by `beta`, and is
    multiplied by `through_time`. `starts` is described in `EncodedWalk`.
    """
    from scipy import sparse

    pairs: list[NDArray[np.intp]] = []
    values: list[NDArray[np.float64]] = []
    for frame, graph in enumerate(graphs):
        relative = graph.border_px / max(
            float(graph.border_px.sum()) / max(len(graph.edges), 1), 1.0
        )
        pairs.append(graph.edges + starts[frame])
        # A small constant keeps every superpixel reachable, so that the system has a unique
        # solution.
        values.append((relative * np.exp(-beta * graph.contrasts) + 1e-6).astype(np.float64))
        if frame:
            follow, shares = _following(video, graphs, frame - 1, beta)
            pairs.append(follow + starts[frame - 1 : frame + 1])
            values.append(through_time * shares)
    ends = np.concatenate(pairs)
    conductances = np.concatenate(values)
    one_way = sparse.coo_array(
        (conductances, (ends[:, 0], ends[:, 1])), shape=(starts[-1], starts[-1])
    )
    return (one_way + one_way.T).tocsr()


def superpixel_means(graph: SuperpixelGraph, layer: NDArray[Any]) -> NDArray[np.float64]:
    """Return the mean of a layer (H, W) over each superpixel."""
    labels = graph.labels.ravel()
    values = layer.ravel().astype(np.float64)
    totals = np.bincount(labels, values, minlength=graph.size)
    return totals / graph.areas_px


def _mean_colours(graph: SuperpixelGraph, lab: NDArray[np.uint8]) -> NDArray[np.float64]:
    channels = np.moveaxis(lab, 2, 0)
    means = [superpixel_means(graph, channel) for channel in channels]
    return np.stack(means, axis=1)


def _following(
    video: WorkingVideo,
    graphs: Sequence[SuperpixelGraph],
    frame: int,
    beta: float,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the pairs of superpixels that the flow connects from `frame` to the next frame, and their weights."""
    here = graphs[frame]
    there = graphs[frame + 1]
    height, width = video.size
    rows, columns = np.indices(video.size)
    flow = video.flows[0, frame].astype(np.float32)
    to_rows = np.rint(rows + flow[..., 1]).astype(np.intp)
    to_columns = np.rint(columns + flow[..., 0]).astype(np.intp)
    in_rows = (to_rows >= 0) & (to_rows < height)
    in_columns = (to_columns >= 0) & (to_columns < width)
    to_rows = to_rows.clip(0, height - 1)
    to_columns = to_columns.clip(0, width - 1)

    # A pixel counts only if the backward flow from its destination returns near to it.
    back = video.flows[1, frame + 1].astype(np.float32)
    error = np.square(flow + back[to_rows, to_columns]).sum(axis=2)
    tolerance = MIN_FLOW_TOLERANCE + FLOW_TOLERANCE * np.square(flow).sum(axis=2)
    is_followed = in_rows & in_columns & (error < tolerance)

    # Pairs are encoded as single integers, because `unique` is much faster on integers than on
    # rows.
    labels_there = there.labels[to_rows, to_columns]
    pairs = here.labels[is_followed] * there.size + labels_there[is_followed]
    keys, counts = np.unique(pairs, return_counts=True)
    first = keys // there.size
    second = keys % there.size
    # Divided by the sizes of both, so that large superpixels are not connected more strongly.
    shares = counts / np.sqrt(here.areas_px[first] * there.areas_px[second])
    before = _mean_colours(here, video.lab[frame])
    after = _mean_colours(there, video.lab[frame + 1])
    contrast = np.linalg.norm(before[first] - after[second], axis=1)
    similarity = np.exp(-beta * contrast / _COLOUR_STEP)
    return np.stack([first, second], axis=1), shares * similarity
