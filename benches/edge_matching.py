"""Time of edge matching, thinning and region tables, compared with baselines: python benches/edge_matching.py [FOLDER].

FOLDER contains BSDS500; without it, generated label maps of the same size are used. Large blobs are
thinned too: smooth ones of three sizes, a disc, and a full frame. The
smallest CPU time of five counts. SciPy's maximum_bipartite_matching ignores distances and is not compared:
it takes from milliseconds to minutes.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
from measurement import Figures, argument_parser, at_least, at_most, no_bar
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
from segarena.systems.scenes.measures.multi_annotator_images import find_images

SHAPE = (321, 481)
IMAGES = 10
BARS = {
    "plain assignment / our matching": at_least(1.7),
    "worst / median of our matching": at_most(3),
    "scikit-image / our thinning of edges": at_least(9),
    "scikit-image / our thinning of large blobs, smallest": at_least(35),
    "thinning of the largest blob": no_bar("ms"),
    "regions of a pair / our matching": at_most(0.08),
}


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
    """Return the number of pairs of one assignment in which a pixel may stay unmatched at a cost."""
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


def main() -> None:
    """Print medians and report their ratios; exit with 1 if a limit is missed."""
    parser = argument_parser(__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="folder of BSDS500")
    options = parser.parse_args()
    count = IMAGES
    if options.quick:
        count = 1
    if options.folder is None:
        groups = [generated(seed) for seed in range(count)]
    else:
        images = find_images(options.folder)
        groups = [image.drawings() for image in images[:: len(images) // count]]
    warm = np.eye(9, dtype=bool)
    match_edges(warm, warm, radius_px=2.0)  # imports
    times = measure(groups)
    print(f"{len(times['match_edges'])} pairs; ms of CPU")
    median = {name: statistics.median(values) for name, values in times.items()}
    for name, values in times.items():
        print(f"{name:28} median {median[name]:7.2f}  worst {max(values):8.2f}")
    of_blobs = [
        theirs / ours
        for theirs, ours in zip(
            times["scikit-image thin large blobs"], times["thin large blobs"], strict=True
        )
    ]
    figures = Figures(BARS, has_bars=not options.quick)
    figures.report(
        "plain assignment / our matching", median_ratio(times, "plain assignment", "match_edges")
    )
    figures.report(
        "worst / median of our matching", max(times["match_edges"]) / median["match_edges"]
    )
    figures.report(
        "scikit-image / our thinning of edges", median_ratio(times, "scikit-image thin", "thin")
    )
    figures.report("scikit-image / our thinning of large blobs, smallest", min(of_blobs))
    figures.report("thinning of the largest blob", max(times["thin large blobs"]))
    figures.report(
        "regions of a pair / our matching", median_ratio(times, "regions of a pair", "match_edges")
    )
    figures.finish()


def median_ratio(times: dict[str, list[float]], one: str, other: str) -> float:
    """Return the median ratio of the times of two operations, which were measured in alternation."""
    return statistics.median(
        first / second for first, second in zip(times[one], times[other], strict=True)
    )


if __name__ == "__main__":
    main()
