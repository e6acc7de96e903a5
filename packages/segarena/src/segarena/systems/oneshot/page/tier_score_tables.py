"""Tables of tier scores (TOSS, Table 4) and of measured bias (TOSS, Table 2) of one-shot runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import polars as pl

from segarena.reports.cells import Cell, Value
from segarena.reports.recorded_run import Run
from segarena.reports.sheets import Sheet
from segarena.systems.oneshot.bias.spurious_supports import SUPPORT_KINDS
from segarena.systems.oneshot.page.run_pixel_counts import (
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
from segarena.systems.oneshot.page.tier_partition_tables import (
    part_class_sheet,
    part_fold_sheet,
    part_mean_sheets,
    tiny_cell_sheet,
)
from segarena.systems.oneshot.scoring.run_scores import ScoreOverRuns
from segarena.systems.oneshot.scoring.score_settings import ScoreSettings, TierScore
from segarena.systems.oneshot.scoring.tier_scores import class_miou

SALIENT_IOU_FROM = 0.5
"""Minimum IoU of a salient target with the saliency map (recovered from the published lists)."""
SCS_PAPER = "SCS paper"
TIER_SCORES = {
    "query-complexity": ("LCA", "HCA"),
    COGNIZANCE: ("SCS", SCS_PAPER),
    "generalization": ("GS",),
}
SCORES_NOTE = (
    "LCA and HCA: class mIoU of the four partitions, weighted towards easy, salient queries (LCA) "
    "or hard, non-salient ones (HCA). SCS: IoU at the levels that show the class, 1 − IoU at those "
    "that do not. GS: class mIoU of classes unlike the training classes. Brackets hold 95 % "
    "bootstrap intervals over query images; the best of each score is underlined."
)
SUPPORTS_NOTE = (
    "Predictions are always scored against the class of the query: where the support does not show "
    "that class, a high value means that the segmenter ignores the support."
)

ScoreKey: TypeAlias = tuple[TierSelection, str, int | None]
"""Tier, name of the score and fold; the fold is None for the mean over folds."""
ScoresByKey: TypeAlias = Mapping[ScoreKey, ScoreOverRuns]


def toss_sheets(runs: Sequence[Run]) -> tuple[list[Sheet], list[str]]:
    """Return all tables for which the runs have values, and the reasons for missing scores."""
    settings = run_settings(runs[0])
    unchanged = unchanged_counts(runs)
    sheets: list[Sheet | None] = []
    problems: list[str] = []
    if unchanged:
        sheets, problems = _unchanged_sheets(unchanged, settings)
    sheets.append(_support_sheet(counts_by_segmenter(tuple(runs)), settings))
    mode = mode_text(runs)
    with_mode: list[Sheet] = []
    for sheet in sheets:
        if sheet is not None:
            with_mode.append(replace(sheet, caption=f"{sheet.caption} Mode: {mode}."))
    return with_mode, problems


def _unchanged_sheets(
    segmenters: Sequence[SegmenterCounts], settings: ScoreSettings
) -> tuple[list[Sheet | None], list[str]]:
    scores, problems = _score_all(segmenters, settings)
    sheets = [
        _score_sheet(segmenters, scores),
        _fold_score_sheet(segmenters, scores),
        _mean_iou_sheet(segmenters, scores),
        *part_mean_sheets(segmenters, settings),
        part_fold_sheet(segmenters, settings),
        tiny_cell_sheet(segmenters, settings),
        part_class_sheet(segmenters, settings),
        _salience_sheet(segmenters, settings),
    ]
    return sheets, problems


def _score_all(
    segmenters: Sequence[SegmenterCounts], settings: ScoreSettings
) -> tuple[list[ScoresByKey], list[str]]:
    """Return the scores of each segmenter, and a line for each problem with the segmenters it affects."""
    affected_by_problem: dict[str, list[str]] = {}
    all_scores: list[ScoresByKey] = []
    tiers = available_tiers(segmenters)
    for segmenter in segmenters:
        own: dict[ScoreKey, ScoreOverRuns] = {}
        for tier in tiers:
            runs = segmenter.filter_runs(tier.condition)
            scores, problem = score_tier(runs, settings, segmenter.pairs)
            for (name, fold), score in scores.items():
                own[tier, name, fold] = score
            if tier.name == COGNIZANCE and settings.variant != "paper":
                # The "paper" variant of SCS has no score for lists that do not separate L2 from L3.
                paper_settings = replace(settings, variant="paper", scs_weights=None)
                paper_scores, _ = score_tier(runs, paper_settings, segmenter.pairs)
                for (_, fold), score in paper_scores.items():
                    own[tier, SCS_PAPER, fold] = score
            if problem:
                text = f"no {_headline_names(tier)}: {problem}."
                affected_by_problem.setdefault(text, []).append(segmenter.segmenter)
        all_scores.append(own)
    problems = [f"{', '.join(names)}: {text}" for text, names in affected_by_problem.items()]
    return all_scores, problems


def _headline_names(tier: TierSelection) -> str:
    names = TIER_SCORES.get(tier.name, ("mIoU",))
    return " or ".join(name for name in names if name != SCS_PAPER)


def _score_sheet(
    segmenters: Sequence[SegmenterCounts], scores: Sequence[ScoresByKey]
) -> Sheet | None:
    columns = _best_scores(segmenters, scores)
    if not columns:
        return None
    rows: list[tuple[Cell, ...]] = []
    for segmenter, own in zip(segmenters, scores, strict=True):
        values: list[Cell] = []
        for (tier, name), best in columns.items():
            # The fold None stands for the mean over folds.
            values.append(_score_value(own.get((tier, name, None)), best))
        counts = segmenter.counts
        rows.append((segmenter.segmenter, *values, counts.height, counts["query"].n_unique()))
    headings = [f"{tier.qualify(name)}, %" for tier, name in columns]
    head = ("Segmenter", *headings, "Pairs", "Query images")
    return _sheet_or_none("scores", "Scores (TOSS, Table 4).", head, rows, SCORES_NOTE)


def _best_scores(
    segmenters: Sequence[SegmenterCounts], scores: Sequence[ScoresByKey]
) -> dict[tuple[TierSelection, str], float]:
    """Return, for each score in tier order, the highest mean over folds of any segmenter."""
    best: dict[tuple[TierSelection, str], float] = {}
    for tier in available_tiers(segmenters):
        for name in TIER_SCORES.get(tier.name, ()):
            values = _values_of((tier, name, None), scores)
            if values:
                best[tier, name] = max(values)
    return best


def _values_of(key: ScoreKey, scores: Iterable[ScoresByKey]) -> list[float]:
    return [own[key].score.value for own in scores if key in own]


def _score_value(over_runs: ScoreOverRuns | None, best: float = math.nan) -> Value:
    if over_runs is None:
        return _interval_value(None)
    note = ""
    if over_runs.runs > 1:
        note = f"± {100 * over_runs.spread:.2f}, {over_runs.runs} runs"
    mark = "best" if over_runs.score.value == best else ""
    return replace(_interval_value(over_runs.score), note=note, mark=mark)


def _interval_value(score: TierScore | None) -> Value:
    if score is None:
        return Value(mean=math.nan, is_share=True, decimals=2)
    return Value(
        mean=score.value,
        low=score.low,
        high=score.high,
        is_share=True,
        decimals=2,
    )


def _sheet_or_none(
    name: str,
    caption: str,
    head: tuple[str, ...],
    rows: Sequence[tuple[Cell, ...]],
    note: str = "",
) -> Sheet | None:
    """Return a table, or None if it would have no rows."""
    if not rows:
        return None
    notes = (note,) if note else ()
    return Sheet(
        name=name,
        caption=caption,
        head=head,
        rows=tuple(rows),
        notes=notes,
    )


def _fold_score_sheet(
    segmenters: Sequence[SegmenterCounts], scores: Sequence[ScoresByKey]
) -> Sheet | None:
    """Return all scores of each fold, including class mIoU; None if there are no folds."""
    columns: dict[tuple[TierSelection, str], None] = {}  # a dict keeps the order of scores
    for own in scores:
        for tier, name, fold in own:
            if fold is not None:
                columns[tier, name] = None
    rows: list[tuple[Cell, ...]] = []
    for segmenter, own in zip(segmenters, scores, strict=True):
        folds = {fold for _, _, fold in own if fold is not None}
        for fold in sorted(folds):
            values = [_score_value(own.get((tier, name, fold))) for tier, name in columns]
            rows.append((segmenter.segmenter, f"{fold}", *values))
    headings = [f"{tier.qualify(name)}, %" for tier, name in columns]
    head = ("Segmenter", "Fold", *headings)
    return _sheet_or_none("folds", "Scores of each fold.", head, rows)


def _mean_iou_sheet(
    segmenters: Sequence[SegmenterCounts], scores: Sequence[ScoresByKey]
) -> Sheet | None:
    """Return class mIoU of each tier that has it, with FB-IoU where it is known; None without any."""
    rows: list[tuple[Cell, ...]] = []
    for tier in available_tiers(segmenters):
        miou_key: ScoreKey = (tier, "mIoU", None)
        fb_iou_key: ScoreKey = (tier, "FB-IoU", None)
        mious = _values_of(miou_key, scores)
        for segmenter, own in zip(segmenters, scores, strict=True):
            if miou_key not in own:
                continue
            score = own[miou_key].score
            row: list[Cell] = [tier.label, segmenter.segmenter]
            row += [_score_value(own[miou_key], max(mious)), _score_value(own.get(fb_iou_key))]
            row += [score.pairs, score.queries, score.classes]
            rows.append(tuple(row))
    head = ("Tier", "Segmenter", "Class mIoU, %", "FB-IoU, %", "Pairs", "Query images", "Classes")
    return _sheet_or_none("miou", "Class mIoU and FB-IoU, means over folds.", head, rows)


def _salience_sheet(segmenters: Sequence[SegmenterCounts], settings: ScoreSettings) -> Sheet | None:
    """Return class mIoU of salient targets and of others; None if no pair has a salience."""
    salience = pl.col("salience")
    rows: list[tuple[Cell, ...]] = []
    for segmenter in segmenters:
        for tier in available_tiers(segmenters):
            if tier.name == COGNIZANCE:
                continue
            salient = _miou_by_fold(segmenter, tier, settings, salience >= SALIENT_IOU_FROM)
            other = _miou_by_fold(segmenter, tier, settings, salience < SALIENT_IOU_FROM)
            scores = [salient.get(None), other.get(None)]
            if scores == [None, None]:
                continue
            values = [_interval_value(score) for score in scores]
            difference = values[0].mean - values[1].mean
            gap = Value(
                mean=difference,
                is_share=True,
                is_signed=True,
                decimals=2,
            )
            queries = [0 if score is None else score.queries for score in scores]
            rows.append((segmenter.segmenter, tier.label, *values, gap, *queries))
    return _sheet_or_none(
        "salience",
        f"Class mIoU by salience of the target, cut at {SALIENT_IOU_FROM:g} (TOSS, Table 2B).",
        (
            "Segmenter",
            "Tier",
            "Salient, %",
            "Not salient, %",
            "Difference",
            "Salient images",
            "Other images",
        ),
        rows,
    )


def _support_sheet(everyone: Sequence[SegmenterCounts], settings: ScoreSettings) -> Sheet | None:
    """Return class mIoU by kind of support, and by user if there are several; None for one user and kind."""
    conditions = _support_conditions(everyone)
    if len({name for _, name, _ in conditions}) < 2:
        return None
    all_folds: set[int] = set()
    for counts in everyone:
        all_folds.update(counts.counts["fold"].drop_nulls().to_list())
    folds = sorted(all_folds)
    rows: list[tuple[Cell, ...]] = []
    for tier in available_tiers(everyone):
        # Some levels of the tier reward a mask and others an empty mask, so a mean over levels is
        # meaningless.
        if tier.name == COGNIZANCE:
            continue
        for counts, name, condition in conditions:
            scores = _miou_by_fold(counts, tier, settings, condition)
            if scores:
                values = [_interval_value(scores.get(fold)) for fold in (*folds, None)]
                rows.append((tier.label, counts.segmenter, name, *values))
    head = ("Tier", "Segmenter", "Support", *(f"Fold {fold}, %" for fold in folds), "Mean, %")
    caption = "Class mIoU with supports other than those of the pairs (TOSS, Table 2A)."
    return _sheet_or_none("supports", caption, head, rows, SUPPORTS_NOTE)


def _support_conditions(
    everyone: Sequence[SegmenterCounts],
) -> list[tuple[SegmenterCounts, str, pl.Expr]]:
    """Return counts, name and condition for each kind of support that a segmenter and user have.

    The condition selects the kind in the counts.
    """
    has_several_users = len({counts.user for counts in everyone}) > 1
    conditions: list[tuple[SegmenterCounts, str, pl.Expr]] = []
    for counts in everyone:
        kinds = counts.counts.select(kind=SUPPORT_KIND_COLUMN)["kind"].unique().to_list()
        if None in kinds:
            conditions.append((counts, counts.user, SUPPORT_KIND_COLUMN.is_null()))
        for kind in SUPPORT_KINDS:
            if kind in kinds:
                name = f"{counts.user}, {kind}" if has_several_users else kind
                conditions.append((counts, name, SUPPORT_KIND_COLUMN.eq(kind)))
    return conditions


def _miou_by_fold(
    counts: SegmenterCounts,
    tier: TierSelection,
    settings: ScoreSettings,
    condition: pl.Expr,
) -> dict[int | None, TierScore]:
    """Return class mIoU by fold for part of a tier, over all runs; the key None is the mean over folds."""
    table = counts.counts.filter(tier.condition & condition)
    if not table.height:
        return {}
    return {score.fold: score for score in class_miou(table, settings)}
