"""The tables that take one-shot tiers apart: partitions, levels, classes, and which cells are tiny."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from segarena.reports.sheets import Cell, Sheet, Value
from segarena.systems.oneshot.page.run_counts import (
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
_COUNTS = {"pairs": "Pairs", "queries": "Query images"}
NEGATIVE_NOTE = "↓: the right answer is an empty mask, so low is good."
TINY_COLUMN = f"Classes with ≤ {TINY_CLASS_QUERIES} query images"
TINY_NOTE = (
    f"Classes of a part with at most {TINY_CLASS_QUERIES} distinct query images, however many pairs: their values say more about "
    "these images than about the class. Fewest images first."
)


def part_mean_sheets(base: Sequence[SegmenterCounts], settings: ScoreSettings) -> list[Sheet]:
    """Return a table for each tier that has parts: class mIoU, the mean over folds, a column per part."""
    tables = [level_table(entry.counts, settings) for entry in base]
    made = (
        _part_sheet(base, [table.filter(tier.keep) for table in tables], tier.label)
        for tier in available_tiers(base)
    )
    return [sheet for sheet in made if sheet is not None]


def _part_sheet(
    base: Sequence[SegmenterCounts], tables: Sequence[pl.DataFrame], label: str
) -> Sheet | None:
    cells = [_by_part(table) for table in tables]
    there = set().union(*cells)
    parts = [part for part in PART_ORDER if part in there]
    if not parts:
        return None
    counts = {**_COUNTS, "classes": "Classes", "tiny_classes": TINY_COLUMN}
    shown: list[list[Cell]] = []
    for part in parts:
        known = [own[part] for own in cells if part in own]
        # Low is good where the right answer is an empty mask.
        best = (min if part in NEGATIVE_LEVELS else max)(row["miou"] for row in known)
        largest = max(known, key=lambda row: row["pairs"])  # segmenters that failed have fewer
        shares = [_share(own.get(part), "miou", best) for own in cells if own]
        shown.append([*shares, *(int(largest[column]) for column in counts)])
    names = [entry.segmenter for entry, own in zip(base, cells, strict=True) if own]
    rows = zip([*names, *counts.values()], *shown, strict=True)
    return Sheet(
        name="parts-" + re.sub(r"[^\w-]+", "-", label),
        caption=f"Class mIoU of each part of {label}, mean over folds, %.",
        head=("", *(LEVEL_NAMES.get(part, part) for part in parts)),
        rows=tuple(rows),
        notes=(NEGATIVE_NOTE,) if set(parts) & set(NEGATIVE_LEVELS) else (),
    )


def _by_part(table: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the row of each part; the mean over folds, which has none, overwrites those of folds."""
    rows = table.sort("fold", nulls_last=True).iter_rows(named=True)
    return {
        str(row["level"] or row["partition"]): row
        for row in rows
        if row["level"] or row["partition"]
    }


def part_fold_sheet(base: Sequence[SegmenterCounts], settings: ScoreSettings) -> Sheet | None:
    """Return class mIoU of each part in each fold, a column per segmenter; None without folds."""
    tables = [
        level_table(entry.counts, settings)
        .filter(pl.col("fold").is_not_null())
        .rename({"miou": "iou"})
        for entry in base
    ]
    counts = {"classes": "Classes", **_COUNTS, "tiny_classes": TINY_COLUMN}
    return _long_sheet(
        base, tables, counts, name="parts-folds", caption="Class mIoU of each part in each fold, %."
    )


def part_class_sheet(base: Sequence[SegmenterCounts], settings: ScoreSettings) -> Sheet | None:
    """Return IoU of each class in each part, a column per segmenter."""
    tables = [class_table(entry.counts, settings) for entry in base]
    note = f"†: at most {TINY_CLASS_QUERIES} query images."
    return _long_sheet(
        base,
        tables,
        _COUNTS,
        name="classes",
        caption="IoU of each class in each part, %.",
        note=note,
    )


def tiny_cell_sheet(base: Sequence[SegmenterCounts], settings: ScoreSettings) -> Sheet | None:
    """Return the classes of parts that have few query images; None where none has."""
    tables = [class_table(entry.counts, settings).filter("is_tiny") for entry in base]
    sheet = _long_sheet(
        base, tables, _COUNTS, name="tiny", caption="Tiny cells, IoU in %.", note=TINY_NOTE
    )
    return sheet and replace(
        sheet, rows=tuple(sorted(sheet.rows, key=lambda row: int(str(row[-1]))))
    )


def _long_sheet(
    base: Sequence[SegmenterCounts],
    tables: Sequence[pl.DataFrame],
    counts: Mapping[str, str],
    *,
    name: str,
    caption: str,
    note: str = "",
) -> Sheet | None:
    """Return a table with a row per cell that any segmenter has, a column per segmenter, and the counts of a cell."""
    known = ("dataset", "tier", "partition", "level", "fold", "class")
    by = [column for column in known if column in tables[0].columns]
    found: dict[tuple[Any, ...], dict[int, dict[str, Any]]] = {}
    for place, table in enumerate(tables):
        for row in table.iter_rows(named=True):
            found.setdefault(tuple(row[column] for column in by), {})[place] = row
    if not found:
        return None
    several = len({key[0] for key in found}) > 1
    rows: list[tuple[Cell, ...]] = []
    for key in sorted(found, key=_order):
        dataset, tier, partition, level, fold, *label = key
        own = found[key]
        largest = max(own.values(), key=lambda row: row["pairs"])
        mark = " †" if largest.get("is_tiny") else ""
        names = [
            *([str(dataset)] if several else []),
            tier,
            part_name(partition, level) or "–",
            _text(fold),
        ]
        shown = [f"{text}{mark}" for text in label]
        values = [_share(own.get(place), "iou") for place in range(len(base))]
        rows.append((*names, *shown, *values, *(int(largest[column]) for column in counts)))
    head = [
        *(["Dataset"] if several else []),
        "Tier",
        "Part",
        "Fold",
        *(["Class"] if "class" in by else []),
    ]
    heads = (*head, *(entry.segmenter for entry in base), *counts.values())
    return Sheet(
        name=name, caption=caption, notes=(note,) if note else (), rows=tuple(rows), head=heads
    )


def part_name(partition: object, level: object) -> str:
    """Return what tables call a partition or level; nothing where there is neither."""
    if level is not None:
        return LEVEL_NAMES.get(str(level), str(level))
    return str(partition or "")


def _order(key: tuple[Any, ...]) -> tuple[Any, ...]:
    dataset, tier, partition, level, *rest = key
    part = level or partition
    place = TIER_ORDER.index(tier) if tier in TIER_ORDER else len(TIER_ORDER)
    return dataset, place, PART_ORDER.index(part) if part in PART_ORDER else -1, *map(_text, rest)


def _text(part: object) -> str:
    return "" if part is None else str(part)


def _share(row: Mapping[str, Any] | None, column: str, best: float = math.nan) -> Value:
    mean = math.nan if row is None else float(row[column])
    return Value(mean=mean, is_share=True, decimals=2, mark="best" if mean == best else "")
