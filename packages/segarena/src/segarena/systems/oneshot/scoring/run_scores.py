"""Scores of several runs as a table, and scores of masks in memory."""

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
    """A score of one run or of pooled runs, or the mean of a score over several runs of the same pairs.

    Attributes:
        score: the score; for a mean over several runs, its value is the mean, it has no interval,
            and its counts are those of the first run.
        runs: number of runs in the mean; 1 without a mean.
        spread: sample standard deviation over these runs; NaN for one run.
    """

    score: TierScore
    runs: int
    spread: float


def score_runs(
    runs: Sequence[pl.DataFrame],
    settings: ScoreSettings,
    pairs: pl.DataFrame | None = None,
) -> tuple[list[ScoreOverRuns], pl.DataFrame]:
    """Return all scores, and the counts of all runs as one table.

    Runs over different lists (one per fold, or one per tier) are pooled and scored together. Lists
    that several runs share (the Generalization tier with four models) are scored per run, and the
    means over these runs are returned.

    Args:
        runs: a table of counts per run.
        settings: see `ScoreSettings`.
        pairs: list, tier, fold and class of all requested pairs; None uses the pairs that have
            counts.

    Raises:
        InvalidInput: there are no runs; runs share only some of their pairs; or see `all_scores`.
    """
    if not runs:
        raise InvalidInput("expected the counts of at least one run, got none")
    all_counts = pl.concat(runs)
    is_repeated = all_counts.select(PAIR_KEY).is_duplicated()
    single_counts = all_counts.filter(~is_repeated)
    repeated_counts = all_counts.filter(is_repeated)
    shared_runs = _shared_parts(runs, repeated_counts)
    if pairs is None:
        pairs = all_counts.select("list", "tier", "fold", "class")
    is_shared = pairs["list"].is_in(repeated_counts["list"].unique().implode())
    own_pairs = pairs.filter(~is_shared)
    results: list[ScoreOverRuns] = []
    for score in all_scores(single_counts, settings, pairs=own_pairs):
        results.append(ScoreOverRuns(score=score, runs=1, spread=float("nan")))
    shared_pairs = pairs.filter(is_shared)
    scores_by_run = [all_scores(run, settings, pairs=shared_pairs) for run in shared_runs]
    for same_score in zip(*scores_by_run, strict=True):
        mean, spread = mean_and_spread([score.value for score in same_score])
        merged = replace(same_score[0], value=mean, low=float("nan"), high=float("nan"))
        results.append(ScoreOverRuns(score=merged, runs=len(same_score), spread=spread))
    return results, all_counts


def _shared_parts(
    runs: Sequence[pl.DataFrame], repeated_counts: pl.DataFrame
) -> list[pl.DataFrame]:
    """Return the counts of repeated pairs in each run that has any, sorted by list and row."""
    repeated_keys = repeated_counts.select(PAIR_KEY).unique()
    shared: list[pl.DataFrame] = []
    for run in runs:
        part = run.join(repeated_keys, on=PAIR_KEY, how="semi")
        if part.height:
            shared.append(part.sort(PAIR_KEY))
    if any(not part.select(PAIR_KEY).equals(shared[0].select(PAIR_KEY)) for part in shared):
        raise InvalidInput(
            "runs share only some of their pairs; score runs over the same lists, or over disjoint lists"
        )
    return shared


def score_table(scores: Sequence[ScoreOverRuns]) -> pl.DataFrame:
    """Return scores as a table; the fold of a mean over folds is null.

    The columns runs and spread are present only if a score is a mean over several runs.
    """
    schema = {
        **dict.fromkeys(("name", "dataset", "tier"), pl.String),
        "fold": pl.Int64,
        **dict.fromkeys(("value", "low", "high"), pl.Float64),
        **dict.fromkeys(("pairs", "queries", "classes", "runs"), pl.Int64),
        "spread": pl.Float64,
    }
    rows: list[dict[str, Any]] = []
    for over_runs in scores:
        row = asdict(over_runs.score)
        rows.append({**row, "runs": over_runs.runs, "spread": over_runs.spread})
    table = pl.DataFrame(rows, schema=schema)
    has_several_runs = any(over_runs.runs > 1 for over_runs in scores)
    return table if has_several_runs else table.drop("runs", "spread")


def scores_of_masks(
    pairs: pl.DataFrame,
    predictions: Iterable[Any],
    targets: Iterable[Any],
    ignore: Iterable[Any] | None = None,
    *,
    settings: ScoreSettings = DEFAULT_SETTINGS,
) -> list[TierScore]:
    """Compute every score of the tiers in `pairs` from masks in memory.

    >>> rows = [{"tier": "generalization", "class": "cat", "query": "1", "supports": ["2"]}]
    >>> scores = scores_of_masks(pairs_table(rows), [[[1, 1, 0]]], [[[0, 1, 1]]])
    >>> [(score.name, score.value) for score in scores][:2]
    [('GS', 0.3333333333333333), ('mIoU', 0.3333333333333333)]

    For arguments and errors see `segarena.systems.oneshot.scoring.pixel_counts.counts_from_arrays`
    and `all_scores`.
    """
    counts = counts_from_arrays(pairs, predictions, targets, ignore)
    return all_scores(counts, settings, pairs=pairs)
