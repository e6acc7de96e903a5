"""The tables of one-shot runs: scores (TOSS, Table 4) and evidence of bias (Table 2); those of tiers are beside."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import polars as pl

from segarena.reports.recorded_run import Run
from segarena.reports.sheets import Cell, Sheet, Value
from segarena.systems.oneshot.bias.spurious_supports import SUPPORT_KINDS
from segarena.systems.oneshot.page.run_counts import (
    COGNIZANCE,
    SUPPORT_KIND_COLUMN,
    SegmenterCounts,
    TierSelection,
    available_tiers,
    counts_by_segmenter,
    mode_text,
    run_settings,
    score_tier,
    unchanged_counts,
)
from segarena.systems.oneshot.page.tier_part_tables import (
    part_class_sheet,
    part_fold_sheet,
    part_mean_sheets,
    tiny_cell_sheet,
)
from segarena.systems.oneshot.scoring.run_scores import ScoreOverRuns
from segarena.systems.oneshot.scoring.score_settings import ScoreSettings, TierScore
from segarena.systems.oneshot.scoring.tier_scores import class_miou

SALIENT_IOU_FROM = 0.5
"""A target whose IoU with a saliency map is at least this is salient (the published partition)."""
SCS_PAPER = "SCS paper"
TIER_SCORES = {
    "query-complexity": ("LCA", "HCA"),
    COGNIZANCE: ("SCS", SCS_PAPER),
    "generalization": ("GS",),
}
SCORES_NOTE = (
    "LCA and HCA: class mIoU of the four partitions, weighted towards easy, salient queries (LCA) or hard, non-salient "
    "ones (HCA). SCS: IoU at the levels that show the class, 1 − IoU at those that do not. GS: class mIoU of distant "
    "classes. Brackets hold 95 % bootstrap intervals over query images; the best of each score is underlined."
)
SUPPORTS_NOTE = (
    "Predictions are always scored against the class of the query: where the support does not show that class, a high "
    "value means that the segmenter ignores the support."
)

ScoreKey: TypeAlias = tuple[TierSelection, str, int | None]
"""Tier, name of the score, fold; None for the mean over folds."""
ScoresByKey: TypeAlias = Mapping[ScoreKey, ScoreOverRuns]


def toss_sheets(runs: Sequence[Run]) -> tuple[list[Sheet], list[str]]:
    """Return all tables that the runs have something for, and why scores are missing, if any are."""
    mode = mode_text(runs)
    settings = run_settings(runs[0])
    base = unchanged_counts(runs)
    everyone = list(counts_by_segmenter(tuple(runs)))
    made, problems = _base_sheets(base, settings) if base else ([], [])
    made.append(_support_sheet(everyone, settings))
    return [
        replace(one, caption=f"{one.caption} Mode: {mode}.") for one in made if one is not None
    ], problems


def _base_sheets(
    base: Sequence[SegmenterCounts], settings: ScoreSettings
) -> tuple[list[Sheet | None], list[str]]:
    scores, problems = _all_scores(base, settings)
    made = [
        _score_sheet(base, scores),
        _fold_sheet(base, scores),
        _means_sheet(base, scores),
        *part_mean_sheets(base, settings),
        part_fold_sheet(base, settings),
        tiny_cell_sheet(base, settings),
        part_class_sheet(base, settings),
        _salience_sheet(base, settings),
    ]
    return made, problems


def _all_scores(
    found: Sequence[SegmenterCounts], settings: ScoreSettings
) -> tuple[list[ScoresByKey], list[str]]:
    """Return the scores of each entry; and each reason why some are missing once, with all whom it is about."""
    problems: dict[str, list[str]] = {}
    every: list[ScoresByKey] = []
    for entry in found:
        own: dict[ScoreKey, ScoreOverRuns] = {}
        for tier in available_tiers(found):
            parts = entry.only(tier.keep)
            scores, problem = score_tier(parts, settings, entry.pairs)
            own |= {(tier, name, fold): one for (name, fold), one in scores.items()}
            if tier.name == COGNIZANCE and settings.variant != "paper":
                # A list that does not tell L2 from L3 has no such score.
                paper, _ = score_tier(
                    parts, replace(settings, variant="paper", scs_weights=None), entry.pairs
                )
                own |= {(tier, SCS_PAPER, fold): one for (_, fold), one in paper.items()}
            if problem:
                names = " or ".join(
                    name for name in TIER_SCORES.get(tier.name, ("mIoU",)) if name != SCS_PAPER
                )
                problems.setdefault(f"no {names}: {problem}.", []).append(entry.segmenter)
        every.append(own)
    return every, [f"{', '.join(about)}: {text}" for text, about in problems.items()]


def _score_sheet(base: Sequence[SegmenterCounts], scores: Sequence[ScoresByKey]) -> Sheet | None:
    columns = _columns(base, scores)
    rows: list[tuple[Cell, ...]] = []
    for entry, own in zip(base, scores, strict=True) if columns else ():
        values = [_value(own.get((*key, None)), best) for key, best in columns.items()]
        rows.append(
            (entry.segmenter, *values, entry.counts.height, entry.counts["query"].n_unique())
        )
    head = (
        "Segmenter",
        *(f"{tier.of(name)}, %" for tier, name in columns),
        "Pairs",
        "Query images",
    )
    return _sheet("scores", "Scores (TOSS, Table 4).", head, rows, SCORES_NOTE)


def _columns(
    base: Sequence[SegmenterCounts], scores: Sequence[ScoresByKey]
) -> dict[tuple[TierSelection, str], float]:
    """Return the scores over all folds that any entry has, tier by tier, each with its highest value."""
    found: dict[tuple[TierSelection, str], float] = {}
    for tier in available_tiers(base):
        for name in TIER_SCORES.get(tier.name, ()):
            values = [
                own[tier, name, None].score.value for own in scores if (tier, name, None) in own
            ]
            if values:
                found[tier, name] = max(values)
    return found


def _value(found: ScoreOverRuns | None, best: float = math.nan) -> Value:
    if found is None:
        return _of_score(None)
    note = f"± {100 * found.spread:.2f}, {found.runs} runs" if found.runs > 1 else ""
    return replace(
        _of_score(found.score), note=note, mark="best" if found.score.value == best else ""
    )


def _of_score(score: TierScore | None) -> Value:
    if score is None:
        return Value(mean=math.nan, is_share=True, decimals=2)
    return Value(mean=score.value, low=score.low, high=score.high, is_share=True, decimals=2)


def _sheet(
    name: str, caption: str, head: tuple[str, ...], rows: Sequence[tuple[Cell, ...]], note: str = ""
) -> Sheet | None:
    """Return a table, or None when it has no row."""
    notes = (note,) if note else ()
    if rows:
        return Sheet(name=name, caption=caption, head=head, rows=tuple(rows), notes=notes)
    return None


def _fold_sheet(base: Sequence[SegmenterCounts], scores: Sequence[ScoresByKey]) -> Sheet | None:
    """Return the scores of each fold, class mIoU among them; None without folds."""
    keys = dict.fromkeys(
        (tier, name) for own in scores for tier, name, fold in own if fold is not None
    )
    rows: list[tuple[Cell, ...]] = []
    for entry, own in zip(base, scores, strict=True):
        folds = sorted({fold for _, _, fold in own if fold is not None})
        rows += [
            (entry.segmenter, f"{fold}", *(_value(own.get((*key, fold))) for key in keys))
            for fold in folds
        ]
    head = ("Segmenter", "Fold", *(f"{tier.of(name)}, %" for tier, name in keys))
    return _sheet("folds", "Scores of each fold.", head, rows)


def _means_sheet(base: Sequence[SegmenterCounts], scores: Sequence[ScoresByKey]) -> Sheet | None:
    """Return class mIoU and FB-IoU of all tiers whose pairs all ask for something."""
    rows: list[tuple[Cell, ...]] = []
    for tier in available_tiers(base):
        there = [
            own[tier, "mIoU", None].score.value for own in scores if (tier, "mIoU", None) in own
        ]
        for entry, own in zip(base, scores, strict=True):
            if (tier, "mIoU", None) in own:
                one = own[tier, "mIoU", None]
                values = (_value(one, max(there)), _value(own.get((tier, "FB-IoU", None))))
                amounts = (one.score.pairs, one.score.queries, one.score.classes)
                rows.append((tier.label, entry.segmenter, *values, *amounts))
    head = ("Tier", "Segmenter", "Class mIoU, %", "FB-IoU, %", "Pairs", "Query images", "Classes")
    return _sheet("miou", "Class mIoU and FB-IoU, means over folds.", head, rows)


def _salience_sheet(base: Sequence[SegmenterCounts], settings: ScoreSettings) -> Sheet | None:
    """Return class mIoU of salient targets and of others, where the pairs tell."""
    rows: list[tuple[Cell, ...]] = []
    for entry in base:
        for tier in available_tiers(base):
            split = (pl.col("salience") >= SALIENT_IOU_FROM, pl.col("salience") < SALIENT_IOU_FROM)
            scores = [_miou(entry, tier, settings, part).get(None) for part in split]
            if tier.name == COGNIZANCE or scores == [None, None]:
                continue
            values = [_of_score(score) for score in scores]
            gap = Value(
                mean=values[0].mean - values[1].mean, is_share=True, is_signed=True, decimals=2
            )
            queries = [0 if score is None else score.queries for score in scores]
            rows.append((entry.segmenter, tier.label, *values, gap, *queries))
    head = (
        "Segmenter",
        "Tier",
        "Salient, %",
        "Not salient, %",
        "Difference",
        "Salient images",
        "Other images",
    )
    return _sheet(
        "salience",
        f"Class mIoU by salience of the target, cut at {SALIENT_IOU_FROM:g} (TOSS, Table 2B).",
        head,
        rows,
    )


def _support_sheet(everyone: Sequence[SegmenterCounts], settings: ScoreSettings) -> Sheet | None:
    """Return class mIoU with each kind of support, where lists of several kinds or several users tell of them."""
    shown = _shown_supports(everyone)
    if len({name for _, name, _ in shown}) < 2:
        return None
    rows: list[tuple[Cell, ...]] = []
    folds: list[int] = sorted(
        {fold for e in everyone for fold in e.counts["fold"].drop_nulls().to_list()}
    )
    for tier in available_tiers(everyone):
        for entry, name, keep in shown:
            scores = _miou(entry, tier, settings, keep)
            if tier.name != COGNIZANCE and scores:
                values = [_of_score(scores.get(fold)) for fold in (*folds, None)]
                rows.append((tier.label, entry.segmenter, name, *values))
    head = ("Tier", "Segmenter", "Support", *(f"Fold {fold}, %" for fold in folds), "Mean, %")
    caption = "Class mIoU with supports other than those of the pairs (TOSS, Table 2A)."
    return _sheet("supports", caption, head, rows, SUPPORTS_NOTE)


def _shown_supports(
    everyone: Sequence[SegmenterCounts],
) -> list[tuple[SegmenterCounts, str, pl.Expr]]:
    """Return what each entry was shown: what it is called, and which counts are of it."""
    several = len({entry.user for entry in everyone}) > 1
    shown: list[tuple[SegmenterCounts, str, pl.Expr]] = []
    for entry in everyone:
        there = entry.counts.select(kind=SUPPORT_KIND_COLUMN)["kind"].unique().to_list()
        for kind in (None, *SUPPORT_KINDS):
            if kind in there:
                name = ", ".join(
                    filter(None, [entry.user if several or kind is None else "", kind])
                )
                shown.append(
                    (
                        entry,
                        name,
                        SUPPORT_KIND_COLUMN.is_null()
                        if kind is None
                        else SUPPORT_KIND_COLUMN.eq(kind),
                    )
                )
    return shown


def _miou(
    entry: SegmenterCounts,
    tier: TierSelection,
    settings: ScoreSettings,
    keep: pl.Expr | None = None,
) -> dict[int | None, TierScore]:
    """Return class mIoU of part of a tier by fold, all runs together; None for the mean."""
    counts = entry.counts.filter(tier.keep if keep is None else tier.keep & keep)
    if counts.height:
        return {score.fold: score for score in class_miou(counts, settings)}
    return {}
