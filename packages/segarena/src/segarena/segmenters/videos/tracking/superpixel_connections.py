"""Conductances between the superpixels of all frames of a video."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.segmenters.drawing.superpixels import SuperpixelGraph
from segarena.segmenters.videos.tracking.working_video import WorkingVideo

_COLOUR_STEP = 12.0
"""Colour difference between frames, in 8-bit CIELAB, equivalent to the median contrast in a frame."""


def connect_superpixels(
    video: WorkingVideo,
    graphs: Sequence[SuperpixelGraph],
    starts: NDArray[np.intp],
    *,
    beta: float,
    through_time: float,
) -> Any:
    """Return the conductances between all superpixels of a video, sparse (n, n), symmetric.

    Within a frame, the conductance is the length of the common border in units of the mean, and falls
    with contrast. Between neighbouring frames it is the share of pixels that the flow connects, falls
    with the colour difference by `beta`, and is weighted by `through_time`. `starts` as in
    `EncodedWalk`.
    """
    from scipy import sparse

    pairs: list[NDArray[np.intp]] = []
    values: list[NDArray[np.float64]] = []
    for frame, graph in enumerate(graphs):
        relative = graph.border_px / max(
            float(graph.border_px.sum()) / max(len(graph.edges), 1), 1.0
        )
        pairs.append(graph.edges + starts[frame])
        # The small constant keeps every superpixel reachable, so the system has a unique solution.
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
    """Return the mean of a layer (H, W) in each superpixel."""
    return (
        np.bincount(graph.labels.ravel(), layer.ravel().astype(np.float64), minlength=graph.size)
        / graph.areas_px
    )


def _mean_colours(graph: SuperpixelGraph, lab: NDArray[np.uint8]) -> NDArray[np.float64]:
    return np.stack([superpixel_means(graph, lab[:, :, channel]) for channel in range(3)], axis=1)


def _following(
    video: WorkingVideo, graphs: Sequence[SuperpixelGraph], frame: int, beta: float
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return pairs of superpixels that the flow connects from `frame` to the next, with weights."""
    here = graphs[frame]
    there = graphs[frame + 1]
    height, width = video.size
    rows, columns = np.indices(video.size)
    flow = video.flows[0, frame].astype(np.float32)
    to_rows = np.rint(rows + flow[..., 1]).astype(np.intp)
    to_columns = np.rint(columns + flow[..., 0]).astype(np.intp)
    back = video.flows[1, frame + 1].astype(np.float32)
    is_inside = (to_rows >= 0) & (to_rows < height) & (to_columns >= 0) & (to_columns < width)
    to_rows = to_rows.clip(0, height - 1)
    to_columns = to_columns.clip(0, width - 1)
    apart = np.square(flow + back[to_rows, to_columns]).sum(axis=2)
    is_followed = is_inside & (apart < 2.0 + 0.05 * np.square(flow).sum(axis=2))
    keys, counts = np.unique(
        here.labels[is_followed] * there.size + there.labels[to_rows, to_columns][is_followed],
        return_counts=True,
    )
    ends = np.stack([keys // there.size, keys % there.size], axis=1)
    shares = counts / np.sqrt(here.areas_px[ends[:, 0]] * there.areas_px[ends[:, 1]])
    before = _mean_colours(here, video.lab[frame])
    after = _mean_colours(there, video.lab[frame + 1])
    contrast = np.linalg.norm(before[ends[:, 0]] - after[ends[:, 1]], axis=1)
    return ends, shares * np.exp(-beta * contrast / _COLOUR_STEP)
