"""What rule made the published partitions of query complexity: recovered from the published statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from segarena.errors import DatasetError, DatasetMissing
from segarena.systems.oneshot.list_analysis.mutual_information import mutual_information
from segarena.systems.oneshot.pairs.item_names import parse_item_name
from segarena.systems.oneshot.pairs.pair_table import PARTITIONS
from segarena.systems.oneshot.scoring.score_settings import PUBLISHED_WEIGHTS

ATTRIBUTE_NAMES = {
    "iou": "supervised IoU",
    "area_ratio": "size",
    "offset_ratio": "centre",
    "saliou": "salience",
    "blob_count": "blobs",
    "distractor_weight": "distractors",
}
"""Columns of the statistics file, and what the paper calls them."""
PUBLISHED_INFORMATION = {
    "iou": 0.0905,
    "area_ratio": 0.0330,
    "offset_ratio": 0.0219,
    "saliou": 0.2107,
    "blob_count": 0.0023,
    "distractor_weight": 0.1615,
}
RECOVERED_EASY_FROM = 0.75
RECOVERED_SALIENT_FROM = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecovery:
    """How well simple rules give the published partitions back."""

    rows: int  # of the statistics file
    queries: int  # distinct (class, image) of the lists
    found: int  # of these, those with statistics
    unused: int  # rows of the statistics that are in no list
    easy: float  # share of `found` where easy is IoU >= 0.75
    salient: float  # share where salient is salience IoU >= 0.5
    both: float  # share where both hold
    best_threshold: float  # the salience IoU that agrees best
    best: float  # the share where that one does
    missed: int  # salient ones below 0.5
    surplus: int  # non-salient ones from 0.5 on
    information: dict[
        str, float
    ]  # mutual information of each attribute with one-shot IoU > 0.5, in nats
    partition_means: dict[str, float]  # mean one-shot IoU of each partition
    simplicity: dict[
        str, float
    ]  # salience times supervised IoU of each partition, scaled to add up to 5

    @property
    def has_published_ranking(self) -> bool:
        """Whether the attributes rank by mutual information as published."""
        return _ranking(self.information) == _ranking(PUBLISHED_INFORMATION)


def read_statistics(path: str | Path) -> pl.DataFrame:
    """Read the published statistics file: `filename` as CLASS_YYYY_NNNNNN, `oss_perf` and the attributes.

    Returns:
        The file's columns, with `class` and `query` instead of `filename`.

    Raises:
        DatasetMissing: there is no such file.
        DatasetError: it is no CSV, lacks a column, has no number where one belongs, or names an image in another way.
    """
    file = Path(path)
    if not file.is_file():
        raise DatasetMissing(f"{file}: expected the statistics file (test_stats.csv), found none")
    try:
        table = pl.read_csv(file)
    except pl.exceptions.PolarsError as error:
        raise DatasetError(f"{file}: expected CSV, got: {str(error).splitlines()[0]}") from error
    numbers = ("oss_perf", *ATTRIBUTE_NAMES)
    lacking = [name for name in ("filename", *numbers) if name not in table.columns]
    if lacking:
        raise DatasetError(
            f"{file}: expected columns filename, oss_perf, {', '.join(ATTRIBUTE_NAMES)}; missing {lacking}"
        )
    table = table.with_columns(
        pl.col("filename").cast(pl.String), pl.col(numbers).cast(pl.Float64, strict=False)
    )
    empty = [name for name in ("filename", *numbers) if not table[name].is_not_null().all()]
    if empty:
        raise DatasetError(
            f"{file}: expected a name and numbers in every row, got others in column {empty[0]!r}"
        )
    items = [parse_item_name(name, "pascal5i") for name in table["filename"].to_list()]
    names = {"class": [item.label for item in items], "query": [item.image for item in items]}
    return pl.DataFrame(names).hstack(table.drop("filename"))


def recover_partitions(
    statistics: pl.DataFrame, pairs: pl.DataFrame, *, neighbours: int = 3, seed: int = 0
) -> PartitionRecovery:
    """Return how well thresholds on the statistics give the partitions of `pairs`, the lists of query complexity.

    `neighbours` and `seed` are those of `mutual_information`.

    Raises:
        DatasetError: no query of the lists has statistics.
    """
    complexity = pairs.filter(pl.col("tier") == "query-complexity")
    queries = complexity.select("class", "query", "partition").unique()
    both = queries.join(statistics, on=["class", "query"])
    if not both.height:
        raise DatasetError(
            "no query image of these lists is in the statistics file; are these the lists of PASCAL-5i?"
        )
    easy = (
        both["partition"].str.starts_with("easy").to_numpy()
        == (both["iou"] >= RECOVERED_EASY_FROM).to_numpy()
    )
    is_salient = both["partition"].str.ends_with("_sal").to_numpy()
    values = both["saliou"].to_numpy()
    salient = is_salient == (values >= RECOVERED_SALIENT_FROM)
    best, threshold = _best_threshold(values, is_salient)
    hits = (statistics["oss_perf"] > 0.5).to_numpy()
    simplicity = (pl.col("saliou") * pl.col("iou")).mean()
    means = both.group_by("partition").agg(pl.col("oss_perf").mean(), simplicity=simplicity)
    rows = {row["partition"]: row for row in means.iter_rows(named=True)}
    scale = sum(PUBLISHED_WEIGHTS) / float(means["simplicity"].sum())
    return PartitionRecovery(
        rows=statistics.height,
        queries=queries.height,
        found=both.height,
        unused=statistics.join(queries, on=["class", "query"], how="anti").height,
        easy=float(easy.mean()),
        salient=float(salient.mean()),
        both=float((easy & salient).mean()),
        best_threshold=threshold,
        best=best,
        missed=int((is_salient & ~salient).sum()),
        surplus=int((~is_salient & ~salient).sum()),
        information={
            name: mutual_information(
                statistics[name].to_numpy(), hits, neighbours=neighbours, seed=seed
            )
            for name in ATTRIBUTE_NAMES
        },
        partition_means={name: rows[name]["oss_perf"] for name in PARTITIONS if name in rows},
        simplicity={name: rows[name]["simplicity"] * scale for name in PARTITIONS if name in rows},
    )


def _best_threshold(values: Any, is_salient: Any) -> tuple[float, float]:
    """Return the largest share that any threshold (salient from it on) gets right, and that threshold."""
    order = np.argsort(values)
    above = np.concatenate([[is_salient.sum()], is_salient.sum() - np.cumsum(is_salient[order])])
    below = np.concatenate([[0], np.cumsum(~is_salient[order])])
    place = int(np.argmax(above + below))
    return float((above + below)[place] / len(values)), float(
        values[order][min(place, len(values) - 1)]
    )


def _ranking(information: dict[str, float]) -> Sequence[str]:
    return sorted(information, key=lambda name: -information[name])
