"""Scores of a list of the published size, and counts of 512 x 512 masks compared with plain torch indexing.

python benches/toss_scores.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import polars as pl

from segarena.comparison import Comparison
from segarena.systems.oneshot.pairs.pair_table import PAIR_KEY, PARTITIONS, pairs_table
from segarena.systems.oneshot.scoring.pixel_counts import GROUP_COLUMNS, counts_table
from segarena.systems.oneshot.scoring.score_breakdown import class_table, level_table
from segarena.systems.oneshot.scoring.score_settings import ScoreSettings
from segarena.systems.oneshot.scoring.tier_scores import all_scores

PAIRS = 15000
SIDE_PX = 512


def best_s(work: Callable[[], object], repeats: int = 7) -> float:
    """Return the fastest of some runs."""
    times: list[float] = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def counts() -> pl.DataFrame:
    """Return counts of 15 000 pairs of five classes, four partitions and 3000 query images."""
    rng = np.random.default_rng(0)
    rows = [
        {"row": n, "list": "x", "tier": "query-complexity", "fold": 0, "class": str(n % 5), "query": f"q{n % 3000}",
         "partition": PARTITIONS[n // 5 % 4], "supports": ["s"]}
        for n in range(PAIRS)
    ]  # fmt: skip
    union = rng.integers(100, 9000, PAIRS).astype(float)
    pixels = {"intersection": np.floor(union * rng.random(PAIRS)), "union": union}
    table = (
        pairs_table(rows)
        .select(*PAIR_KEY, *GROUP_COLUMNS)
        .with_columns(pl.Series(k, v) for k, v in pixels.items())
    )
    return counts_table(table.with_columns(frame_px=250000.0, void_px=0.0, predicted_void_px=0.0))


def masks() -> list[tuple[np.ndarray, np.ndarray]]:
    """Return predictions and targets: discs of several sizes."""
    rows, columns = np.mgrid[:SIDE_PX, :SIDE_PX]
    radii = (20, 60, 120, 200)
    discs = [
        np.hypot(rows - 200 - shift, columns - 260) <= radius
        for radius in radii
        for shift in (0, 15)
    ]
    return [(discs[2 * n + 1], discs[2 * n]) for n in range(len(radii))]


def main() -> None:
    """Print the figures."""
    table = counts()
    for repeats in (0, 1000):
        settings = ScoreSettings(repeats=repeats)

        def score(settings: ScoreSettings = settings) -> None:
            all_scores(table, settings)
            level_table(table, settings)
            class_table(table, settings)

        print(
            f"all scores and tables of {PAIRS} pairs, {repeats} draws: {best_s(score, 3) * 1e3:8.1f} ms"
        )

    import torch

    torch.set_num_threads(1)
    pairs = masks()
    as_long = [
        (torch.from_numpy(p.astype(np.int64)), torch.from_numpy(t.astype(np.int64)))
        for p, t in pairs
    ]
    as_bytes = [(p.to(torch.uint8), t.to(torch.uint8)) for p, t in as_long]

    def ours() -> list[tuple[int, int]]:
        made = [Comparison.of(prediction, target) for prediction, target in pairs]
        return [(one.intersection, one.union) for one in made]

    def plain(tensors: list[tuple[torch.Tensor, torch.Tensor]]) -> list[tuple[int, int]]:
        """Return counts by the published definition: label 1 and output 1; output + label above 0."""
        inter = [int(output[label == 1].eq(1).sum()) for output, label in tensors]
        union = [int(torch.where(output + label > 0)[0].numel()) for output, label in tensors]
        return list(zip(inter, union, strict=True))

    def masked(tensors: list[tuple[torch.Tensor, torch.Tensor]]) -> list[tuple[int, int]]:
        """Return the same counts without indexing."""
        inter = [int(((label == 1) & (output == 1)).sum()) for output, label in tensors]
        union = [int((output + label > 0).sum()) for output, label in tensors]
        return list(zip(inter, union, strict=True))

    assert ours() == plain(as_long) == plain(as_bytes) == masked(as_long)
    base = best_s(ours) / len(pairs)
    print(f"counts of a pair of {SIDE_PX} x {SIDE_PX} masks: {base * 1e6:8.1f} us")
    others = (
        ("indexing, int64", plain, as_long),
        ("indexing, uint8", plain, as_bytes),
        ("comparing, int64", masked, as_long),
        ("comparing, uint8", masked, as_bytes),
    )
    for name, work, tensors in others:
        seconds = best_s(lambda work=work, tensors=tensors: work(tensors)) / len(pairs)
        print(f"  torch, {name}: {seconds * 1e6:8.1f} us, {seconds / base:5.1f} times ours")


if __name__ == "__main__":
    main()
