"""Tables of partitions, levels and classes of one-shot tiers, and of cells with few query images."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import polars as pl

from segarena.reports.cells import Cell, Value
from segarena.reports.sheets import Sheet
from segarena.systems.oneshot.page.run_pixel_counts import (
    NEGATIVE_LEVELS,
    TIER_ORDER,
    SegmenterCounts,
    available_tiers,
)
from segarena.systems.oneshot.pairs.pair_table import LEVELS, PARTITIONS, POOLED_LEVEL
from segarena.systems.oneshot.scoring.score_breakdown import (
    TINY_CLASS_QUERIES,
    class_table,
    level_table,
)
from segarena.systems.oneshot.scoring.score_settings import ScoreSettings

PART_ORDER = (*PARTITIONS, *LEVELS[:4], POOLED_LEVEL, *LEVELS[4:])
LEVEL_NAMES = {
    "L0": "L0 identical",
    "L1": "L1 transformed",
    "L2": "L2 similar",
    "L3": "L3 dissimilar",
    "L2+L3": "L2+L3 same class",
    "L4": "L4 other class ↓",
    "L5": "L5 null mask ↓",
    "L6": "L6 empty ↓",
}
NEGATIVE_NOTE = "↓: the correct answer is an empty mask, so low is good."
TINY_COLUMN = f"Classes with ≤ {TINY_CLASS_QUERIES} query images"
TINY_NOTE = (
    f"Classes that have at most {TINY_CLASS_QUERIES} distinct query images in a part, however many "
    "pairs: their values say more about these images than about the class. Fewest images first."
)
# Count columns of a cell and their headings.
_PAIR_COUNTS = {"pairs": "Pairs", "queries": "Query images"}
_CELL_COLUMNS = ("dataset", "tier", "partition", "level", "fold", "class")

_Row = Mapping[str, Any]


def part_mean_sheets(segmenters: Sequence[SegmenterCounts], settings: ScoreSettings) -> list[Sheet]:
    """Return, for each tier with parts, a table of class mIoU with one column per part, averaged over folds."""
    tables = [level_table(counts.counts, settings) for counts in segmenters]
    sheets: list[Sheet] = []
    for tier in available_tiers(segmenters):
        tier_tables = [table.filter(tier.condition) for table in tables]
        sheet = _part_mean_sheet(segmenters, tier_tables, tier.label)
        if sheet is not None:
            sheets.append(sheet)
    return sheets


def _part_mean_sheet(
    segmenters: Sequence[SegmenterCounts],
    tables: Sequence[pl.DataFrame],
    label: str,
) -> Sheet | None:
    # A segmenter that has no pairs in the tier gets no row.
    names: list[str] = []
    rows_by_part: list[Mapping[str, _Row]] = []
    for segmenter, table in zip(segmenters, tables, strict=True):
        own = _rows_by_part(table)
        if own:
            names.append(segmenter.segmenter)
            rows_by_part.append(own)
    known = set[str]().union(*rows_by_part)
    parts = [part for part in PART_ORDER if part in known]
    if not parts:
        return None
    counts = {**_PAIR_COUNTS, "classes": "Classes", "tiny_classes": TINY_COLUMN}
    # Built column by column, because the best value is marked per part.
    columns: list[list[Cell]] = []
    for part in parts:
        rows = [own[part] for own in rows_by_part if part in own]
        mious = [float(row["miou"]) for row in rows]
        # Where the correct mask is empty, a low IoU is better.
        best = min(mious) if part in NEGATIVE_LEVELS else max(mious)
        # Failed pairs lower a segmenter's counts, so the largest counts are those of the list.
        largest = max(rows, key=_pair_count)
        column: list[Cell] = [_share(own.get(part), "miou", best) for own in rows_by_part]
        column += [int(largest[name]) for name in counts]
        columns.append(column)
    headings = [LEVEL_NAMES.get(part, part) for part in parts]
    has_negative = not set(parts).isdisjoint(NEGATIVE_LEVELS)
    return Sheet(
        name="parts-" + re.sub(r"[^\w-]+", "-", label),
        caption=f"Class mIoU of each part of {label}, mean over folds, %.",
        head=("", *headings),
        rows=tuple(zip([*names, *counts.values()], *columns, strict=True)),
        notes=(NEGATIVE_NOTE,) if has_negative else (),
    )


def _rows_by_part(table: pl.DataFrame) -> dict[str, _Row]:
    """Return the row of each part: the mean over folds if the tier has folds."""
    rows: dict[str, _Row] = {}
    # The mean over folds is the row without a fold. Sorted last, it overwrites the rows of single
    # folds.
    for row in table.sort("fold", nulls_last=True).iter_rows(named=True):
        part = row["level"] or row["partition"]
        if part:
            rows[str(part)] = row
    return rows


def part_fold_sheet(segmenters: Sequence[SegmenterCounts], settings: ScoreSettings) -> Sheet | None:
    """Return class mIoU of each part in each fold, with one column per segmenter; None if there are no folds."""
    tables: list[pl.DataFrame] = []
    for counts in segmenters:
        table = level_table(counts.counts, settings).filter(pl.col("fold").is_not_null())
        tables.append(table.rename({"miou": "iou"}))
    return _cell_sheet(
        segmenters,
        tables,
        {"classes": "Classes", **_PAIR_COUNTS, "tiny_classes": TINY_COLUMN},
        name="parts-folds",
        caption="Class mIoU of each part in each fold, %.",
    )


def part_class_sheet(
    segmenters: Sequence[SegmenterCounts], settings: ScoreSettings
) -> Sheet | None:
    """Return the IoU of each class in each part, with one column per segmenter."""
    tables = [class_table(counts.counts, settings) for counts in segmenters]
    return _cell_sheet(
        segmenters,
        tables,
        _PAIR_COUNTS,
        name="classes",
        caption="IoU of each class in each part, %.",
        note=f"†: at most {TINY_CLASS_QUERIES} query images.",
    )


def tiny_cell_sheet(segmenters: Sequence[SegmenterCounts], settings: ScoreSettings) -> Sheet | None:
    """Return the cells with few query images, fewest first; None if there are none."""
    tables = [class_table(counts.counts, settings) for counts in segmenters]
    sheet = _cell_sheet(
        segmenters,
        [table.filter("is_tiny") for table in tables],
        _PAIR_COUNTS,
        name="tiny",
        caption="Tiny cells, IoU in %.",
        note=TINY_NOTE,
    )
    if sheet is None:
        return None
    rows = sorted(sheet.rows, key=_query_count)
    return replace(sheet, rows=tuple(rows))


class _CellKey(NamedTuple):
    """Key of a table cell; columns that a table lacks are None."""

    dataset: Any
    tier: Any
    partition: Any
    level: Any
    fold: Any
    label: Any = None

    @property
    def part_name(self) -> str:
        if self.level is not None:
            return LEVEL_NAMES.get(str(self.level), str(self.level))
        return str(self.partition or "")

    @property
    def rank(self) -> tuple[Any, ...]:
        """Sort key: dataset, then tiers and parts in the paper's order, then fold and class."""
        part = self.level or self.partition
        return (
            self.dataset,
            TIER_ORDER.index(self.tier) if self.tier in TIER_ORDER else len(TIER_ORDER),
            PART_ORDER.index(part) if part in PART_ORDER else -1,
            _text(self.fold),
            _text(self.label),
        )


def _cell_sheet(
    segmenters: Sequence[SegmenterCounts],
    tables: Sequence[pl.DataFrame],
    counts: Mapping[str, str],
    *,
    name: str,
    caption: str,
    note: str = "",
) -> Sheet | None:
    """Return a table with one row per cell of any segmenter, one column per segmenter, and counts.

    Args:
        segmenters: the segmenters, one column each.
        tables: a table of cells per segmenter, with the columns of `_CELL_COLUMNS` (class may be
            missing), "iou" and those of `counts`.
        counts: count columns of a cell and their headings.
        name: name of the sheet.
        caption: caption of the sheet.
        note: text below the sheet; "" for none.
    """
    key_columns = [column for column in _CELL_COLUMNS if column in tables[0].columns]
    cells: dict[_CellKey, dict[int, _Row]] = {}
    for index, table in enumerate(tables):
        for row in table.iter_rows(named=True):
            key = _CellKey(*(row[column] for column in key_columns))
            cells.setdefault(key, {})[index] = row
    if not cells:
        return None
    has_datasets = len({key.dataset for key in cells}) > 1
    has_classes = "class" in key_columns
    rows: list[tuple[Cell, ...]] = []
    for key in sorted(cells, key=lambda key: key.rank):
        own = cells[key]
        # Failed pairs lower a segmenter's counts, so the largest counts are those of the list.
        largest = max(own.values(), key=_pair_count)
        names: list[Cell] = [str(key.dataset)] if has_datasets else []
        names += [key.tier, key.part_name or "–", _text(key.fold)]
        if has_classes:
            mark = " †" if largest.get("is_tiny") else ""
            names.append(f"{key.label}{mark}")
        values = [_share(own.get(index), "iou") for index in range(len(segmenters))]
        sizes = [int(largest[column]) for column in counts]
        rows.append((*names, *values, *sizes))
    head = ["Dataset"] if has_datasets else []
    head += ["Tier", "Part", "Fold"]
    if has_classes:
        head.append("Class")
    head += [segmenter.segmenter for segmenter in segmenters]
    return Sheet(
        name=name,
        caption=caption,
        head=(*head, *counts.values()),
        rows=tuple(rows),
        notes=(note,) if note else (),
    )


def _pair_count(row: _Row) -> int:
    return row["pairs"]


def _query_count(row: Sequence[Cell]) -> int:
    # The number of query images is the last column of `_PAIR_COUNTS`.
    return int(str(row[-1]))


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _share(
    row: _Row | None,
    column: str,
    best: float = math.nan,
) -> Value:
    mean = math.nan if row is None else float(row[column])
    mark = "best" if mean == best else ""
    return Value(
        mean=mean,
        is_share=True,
        decimals=2,
        mark=mark,
    )
