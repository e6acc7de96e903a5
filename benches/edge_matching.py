"""Edge matching, thinning and region tables compared with baselines: python benches/edge_matching.py [FOLDER].

FOLDER contains BSDS500; without it, generated label maps of the same size are used. Large blobs are
thinned too: smooth ones of three sizes, a disc, and a full frame. Each must take at most 10 ms, the
smallest CPU time of five. SciPy's maximum_bipartite_matching ignores distances and is not compared:
it takes from milliseconds to minutes.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.sparse import csr_array, hstack
from scipy.sparse.csgraph import min_weight_full_bipartite_matching
from scipy.spatial import KDTree
from skimage.morphology import thin as skimage_thin

from segarena.arrays.label_edges import label_edges
from segarena.arrays.thinning import thin
from segarena.systems.scenes.edges.edge_matching import match_edges, match_radius_px
from segarena.systems.scenes.edges.region_measures import region_iou_table, shared_px
from segarena.systems.scenes.measures.drawings import Drawing, drawing_of_labels
from segarena.systems.scenes.measures.human_images import find_images

SHAPE = (321, 481)
IMAGES = 10


def generated(seed: int) -> list[Drawing]:
    """Return three annotators' label maps: the same regions, shifted by a few pixels, some omitted."""
    rng = np.random.default_rng(seed)
    places = rng.random((30, 2)) * SHAPE
    grid = np.stack(np.meshgrid(*map(np.arange, SHAPE), indexing="ij"), axis=-1)
    drawn: list[Drawing] = []
    for _ in range(3):
        kept = (places + rng.normal(0, 2, places.shape))[rng.random(len(places)) < 0.85]
        nearest = np.argmin(((grid[:, :, None] - kept) ** 2).sum(axis=-1), axis=-1) + 1
        drawn.append(drawing_of_labels(nearest))
    return drawn


def blobs() -> list[np.ndarray]:
    """Return masks of large blobs."""
    noise = np.random.default_rng(0).random(SHAPE)
    smooth = [gaussian_filter(noise, sigma) for sigma in (4, 12, 25)]
    rows, columns = np.indices(SHAPE)
    disc = np.hypot(rows - SHAPE[0] // 2, columns - SHAPE[1] // 2) <= 150
    return [*(field > np.median(field) for field in smooth), disc, np.ones(SHAPE, bool)]


def candidate_graph(first: np.ndarray, second: np.ndarray, radius_px: float) -> csr_array:
    """Return the distances within reach by a k-d tree, the straightforward way."""
    trees = [KDTree(np.argwhere(edges)) for edges in (first, second)]
    near = trees[0].sparse_distance_matrix(trees[1], radius_px, output_type="ndarray")
    return csr_array(
        (np.rint(100 * near["v"]) + 1, (near["i"], near["j"])), shape=(trees[0].n, trees[1].n)
    )


def plain_matching(first: np.ndarray, second: np.ndarray, radius_px: float) -> int:
    """Return the pairs of one assignment in which every pixel may stay unmatched at a cost."""
    graph = candidate_graph(first, second, radius_px)
    rows, columns = graph.shape
    alone = csr_array((np.full(rows, 1e7), (np.arange(rows), np.arange(rows))), shape=(rows, rows))
    return int(
        (min_weight_full_bipartite_matching(hstack([graph, alone]).tocsr())[1] < columns).sum()
    )


def measure(groups: list[list[Drawing]]) -> dict[str, list[float]]:
    """Return CPU milliseconds by operation; raise an error if the numbers of pairs differ."""
    times: dict[str, list[float]] = {}

    def clock(name: str, work: Callable[..., object], *given: object) -> object:
        start = time.process_time()
        result = work(*given)
        times.setdefault(name, []).append((time.process_time() - start) * 1e3)
        return result

    for mask in blobs():
        if not np.array_equal(thin(mask), skimage_thin(mask)):
            raise SystemExit("our thinning of a blob differs from that of scikit-image")
        again: list[float] = []
        for _ in range(5):
            start = time.process_time()
            thin(mask)
            again.append((time.process_time() - start) * 1e3)
        times.setdefault("thin large blobs", []).append(min(again))
        clock("scikit-image thin large blobs", skimage_thin, mask)
    for group in groups:
        for one, other in combinations(group, 2):
            given = one.edges, other.edges, match_radius_px(one.edges.shape)
            counts = {clock(name, work, *given) for name, work in MATCHERS.items()}
            if len(counts) > 1:
                raise SystemExit(f"numbers of pairs differ: {counts}")
            clock(
                "regions of a pair",
                lambda a, b: region_iou_table(shared_px(a.labels, b.labels)),
                one,
                other,
            )
        for drawing in group:
            edges = label_edges(drawing.labels)
            clock("thin", thin, edges)
            clock("scikit-image thin", skimage_thin, edges)
    return times


MATCHERS = {
    "match_edges": lambda first, second, radius_px: len(
        match_edges(first, second, radius_px=radius_px)
    ),
    "plain assignment": plain_matching,
}


def main(folder: Path | None) -> int:
    """Print the table and the limits; return 1 if one is missed."""
    if folder is None:
        groups = [generated(seed) for seed in range(IMAGES)]
    else:
        images = find_images(folder)
        groups = [image.drawings() for image in images[:: len(images) // IMAGES]]
    warm = np.eye(9, dtype=bool)
    match_edges(warm, warm, radius_px=2.0)  # imports
    times = measure(groups)
    print(f"{len(times['match_edges'])} pairs; ms of CPU")
    median = {name: statistics.median(values) for name, values in times.items()}
    for name, values in times.items():
        print(f"{name:28} median {median[name]:7.2f}  worst {max(values):8.2f}")
    bars = {
        "plain assignment / match_edges, at least 1": median["plain assignment"]
        / median["match_edges"]
        >= 1,
        "worst / median of match_edges, at most 10": max(times["match_edges"])
        <= 10 * median["match_edges"],
        "scikit-image thin / thin, at least 2": median["scikit-image thin"] / median["thin"] >= 2,
        "scikit-image thin / thin of large blobs, at least 20": all(
            theirs >= 20 * ours
            for theirs, ours in zip(
                times["scikit-image thin large blobs"], times["thin large blobs"], strict=True
            )
        ),
        "thin of large blobs, at most 10 ms": max(times["thin large blobs"]) <= 10,
    }
    for name, is_met in bars.items():
        print(f"{'met   ' if is_met else 'MISSED'} {name}")
    return int(not all(bars.values()))


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
