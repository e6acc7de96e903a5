"""Time of scores of a list of the published size, and of mask counts compared with plain torch indexing.

python benches/toss_scores.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from measurement import Figures, argument_parser, at_most, paired_time, paired_with_yardstick

from segarena.comparison import Comparison
from segarena.systems.oneshot.pairs.pair_table import PAIR_KEY, PARTITIONS, pairs_table
from segarena.systems.oneshot.scoring.pixel_counts import GROUP_COLUMNS, counts_table
from segarena.systems.oneshot.scoring.score_breakdown import class_table, level_table
from segarena.systems.oneshot.scoring.score_settings import ScoreSettings
from segarena.systems.oneshot.scoring.tier_scores import all_scores

PAIRS = 15000
SIDE_PX = 512
PAIRS_OF_CALLS = 9
BARS = {
    "scores and tables of 15 000 pairs, yardsticks": at_most(10),
    "the same with 1000 bootstrap samples, yardsticks": at_most(50),
    "counts of a pair, ratio to torch, indexing int64": at_most(1 / 13),
    "counts of a pair, ratio to torch, indexing uint8": at_most(1 / 10),
    "counts of a pair, ratio to torch, comparing int64": at_most(1 / 5),
    "counts of a pair, ratio to torch, comparing uint8": at_most(1 / 4),
}


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
    """Report the figures; exit with 1 if a limit is missed."""
    options = argument_parser(__doc__).parse_args()
    figures = Figures(BARS, has_bars=not options.quick)
    pairs_of_calls = PAIRS_OF_CALLS
    if options.quick:
        pairs_of_calls = 1
    table = counts()

    def score(repeats: int) -> None:
        settings = ScoreSettings(repeats=repeats)
        all_scores(table, settings)
        level_table(table, settings)
        class_table(table, settings)

    score(0)
    plain_scores = paired_with_yardstick(lambda: score(0), pairs_of_calls)
    figures.report("scores and tables of 15 000 pairs, yardsticks", plain_scores.ratio)
    bootstrap = paired_with_yardstick(lambda: score(1000), pairs_of_calls // 3 + 1)
    figures.report("the same with 1000 bootstrap samples, yardsticks", bootstrap.ratio)

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
    others = (
        ("indexing int64", plain, as_long),
        ("indexing uint8", plain, as_bytes),
        ("comparing int64", masked, as_long),
        ("comparing uint8", masked, as_bytes),
    )
    for name, work, tensors in others:

        def baseline(work: Any = work, tensors: Any = tensors) -> None:
            work(tensors)

        times = paired_time(ours, baseline, pairs_of_calls, calls=20)
        print(f"counts of a pair: {times.ours_s / len(pairs) * 1e6:.1f} us")
        figures.report(f"counts of a pair, ratio to torch, {name}", times.ratio)
    figures.finish()


if __name__ == "__main__":
    main()
