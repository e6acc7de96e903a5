"""Scores as a table; several runs scored together, or the same pairs run by run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import polars as pl

from segarena.errors import InvalidInput
from segarena.systems.oneshot.pairs.pair_table import PAIR_KEY
from segarena.systems.oneshot.scoring.pixel_counts import counts_from_arrays
from segarena.systems.oneshot.scoring.score_settings import (
    DEFAULT_SETTINGS,
    ScoreSettings,
    TierScore,
)
from segarena.systems.oneshot.scoring.tier_scores import all_scores, mean_and_spread


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOverRuns:
    """A score over one or several runs.

    Attributes:
        score: of the one run; with several, its value is their mean, and it has no interval.
        runs: how many runs judged these pairs.
        spread: sample standard deviation over them; NaN for one.
    """

    score: TierScore
    runs: int
    spread: float


def score_runs(
    runs: Sequence[pl.DataFrame], settings: ScoreSettings, pairs: pl.DataFrame | None = None
) -> tuple[list[ScoreOverRuns], pl.DataFrame]:
    """Return all scores, and the counts of all runs put together.

    Runs over different lists (one per fold, or one per tier) are scored as one. Lists that all runs share (the
    Generalization tier with four models) are scored run by run. `pairs` are all that were asked, with list, tier, fold
    and class.

    Raises:
        InvalidInput: no runs, or runs that share some of their pairs but not all.
    """
    if not runs:
        raise InvalidInput("expected the counts of at least one run, got none")
    together = pl.concat(runs)
    repeated = together.select(PAIR_KEY).is_duplicated()
    apart = together.filter(~repeated)
    shared = [
        run.join(together.filter(repeated).select(PAIR_KEY).unique(), on=PAIR_KEY, how="semi")
        for run in runs
    ]
    shared = [run.sort(PAIR_KEY) for run in shared if run.height]
    if any(not run.select(PAIR_KEY).equals(shared[0].select(PAIR_KEY)) for run in shared):
        raise InvalidInput(
            "runs share some pairs and not others; score runs over the same lists, or different ones"
        )
    asked = together.select("list", "tier", "fold", "class") if pairs is None else pairs
    is_shared = asked["list"].is_in(together.filter(repeated)["list"].unique().implode())
    scores = all_scores(apart, settings, pairs=asked.filter(~is_shared))
    found = [ScoreOverRuns(score=score, runs=1, spread=float("nan")) for score in scores]
    each = [all_scores(run, settings, pairs=asked.filter(is_shared)) for run in shared]
    for same in zip(*each, strict=True):
        mean, spread = mean_and_spread([score.value for score in same])
        merged = replace(same[0], value=mean, low=float("nan"), high=float("nan"))
        found.append(ScoreOverRuns(score=merged, runs=len(same), spread=spread))
    return found, together


def score_table(scores: Sequence[ScoreOverRuns]) -> pl.DataFrame:
    """Return scores as a table; the fold of a mean over folds is null."""
    schema = {
        **dict.fromkeys(("name", "dataset", "tier"), pl.String),
        "fold": pl.Int64,
        **dict.fromkeys(("value", "low", "high"), pl.Float64),
        **dict.fromkeys(("pairs", "queries", "classes", "runs"), pl.Int64),
        "spread": pl.Float64,
    }
    rows = [{**asdict(one.score), "runs": one.runs, "spread": one.spread} for one in scores]
    table = pl.DataFrame(rows, schema=schema)
    return table if any(one.runs > 1 for one in scores) else table.drop("runs", "spread")


def scores_of_masks(
    pairs: pl.DataFrame,
    predictions: Iterable[Any],
    targets: Iterable[Any],
    ignore: Iterable[Any] | None = None,
    *,
    settings: ScoreSettings = DEFAULT_SETTINGS,
) -> list[TierScore]:
    """Return every score that the tiers of a table of pairs have, from masks in memory.

    >>> pairs = pairs_table([{"tier": "generalization", "class": "cat", "query": "1", "supports": ["2"]}])
    >>> [(score.name, score.value) for score in scores_of_masks(pairs, [[[1, 1, 0]]], [[[0, 1, 1]]])][:2]
    [('GS', 0.3333333333333333), ('mIoU', 0.3333333333333333)]

    Arguments and errors are those of `segarena.systems.oneshot.scoring.pixel_counts.counts_from_arrays`, and of `all_scores`.
    """
    return all_scores(
        counts_from_arrays(pairs, predictions, targets, ignore), settings, pairs=pairs
    )
