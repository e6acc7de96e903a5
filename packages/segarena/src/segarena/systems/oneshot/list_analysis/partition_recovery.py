"""Recovery of the rule behind the published partitions from the published statistics."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.errors import DatasetError, DatasetMissing
from segarena.systems.oneshot.list_analysis.mutual_information import mutual_information
from segarena.systems.oneshot.pairs.list_item_names import parse_item_name
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
"""Columns of the statistics file, with their names in the paper."""
# Values that the paper prints, in nats.
PUBLISHED_INFORMATION = {
    "iou": 0.0905,
    "area_ratio": 0.0330,
    "offset_ratio": 0.0219,
    "saliou": 0.2107,
    "blob_count": 0.0023,
    "distractor_weight": 0.1615,
}
# The thresholds that agree best with the published lists (docs/toss.md).
RECOVERED_EASY_FROM = 0.75
RECOVERED_SALIENT_FROM = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecovery:
    """Agreement of simple rules with the published partitions."""

    rows: int  # of the statistics file
    queries: int  # distinct (class, image) of the lists
    found: int  # queries with statistics
    unused: int  # rows of the statistics that are in no list
    easy: float  # share of `found` that are easy exactly if their supervised IoU is >= 0.75
    salient: float  # share of `found` that are salient exactly if their salience IoU is >= 0.5
    both: float  # share of `found` for which both rules agree with the lists
    best_threshold: float  # threshold of the salience IoU with the highest agreement
    best: float  # share of `found` for which this threshold agrees with the lists
    missed: int  # salient queries below 0.5
    surplus: int  # non-salient queries from 0.5 on
    # Mutual information between each attribute and a one-shot IoU above 0.5, in nats.
    information: dict[str, float]
    partition_means: dict[str, float]  # mean one-shot IoU of each partition
    # Mean of salience times supervised IoU in each partition, scaled to add up to 5.
    simplicity: dict[str, float]

    @property
    def has_published_ranking(self) -> bool:
        """Whether ranking the attributes by mutual information gives the published order."""
        return _ranking(self.information) == _ranking(PUBLISHED_INFORMATION)


def read_statistics(path: str | Path) -> pl.DataFrame:
    """Read the published statistics file.

    The file has the columns `filename` (CLASS_YYYY_NNNNNN), `oss_perf` and one per attribute.

    Returns:
        The columns of the file, with `class` and `query` instead of `filename`.

    Raises:
        DatasetMissing: the file does not exist.
        DatasetError: the file is not a CSV file, lacks a column, has text in a numeric column, or
            contains a malformed image name.
    """
    file = Path(path)
    if not file.is_file():
        raise DatasetMissing(f"{file}: expected the statistics file (test_stats.csv), found none")
    try:
        table = pl.read_csv(file)
    except pl.exceptions.PolarsError as error:
        raise DatasetError(f"{file}: expected CSV, got: {str(error).splitlines()[0]}") from error
    number_columns = ("oss_perf", *ATTRIBUTE_NAMES)
    columns = ("filename", *number_columns)
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise DatasetError(
            f"{file}: expected columns filename, oss_perf, {', '.join(ATTRIBUTE_NAMES)}; "
            f"missing {missing}"
        )
    # The cast turns text in a numeric column into null, which the check below reports.
    table = table.with_columns(
        pl.col("filename").cast(pl.String), pl.col(number_columns).cast(pl.Float64, strict=False)
    )
    incomplete = [name for name in columns if not table[name].is_not_null().all()]
    if incomplete:
        raise DatasetError(
            f"{file}: expected a name and numbers in every row, got other values in column "
            f"{incomplete[0]!r}"
        )
    items = [parse_item_name(name, "pascal5i") for name in table["filename"].to_list()]
    labels = [item.label for item in items]
    images = [item.image for item in items]
    keys = pl.DataFrame({"class": labels, "query": images})
    return keys.hstack(table.drop("filename"))


def recover_partitions(
    statistics: pl.DataFrame,
    pairs: pl.DataFrame,
    *,
    neighbours: int = 3,
    seed: int = 0,
) -> PartitionRecovery:
    """Compare thresholds on the statistics with the published partitions in `pairs`.

    Mutual information uses all rows of the statistics; all other values use the queries of the
    lists that have statistics.

    Args:
        statistics: table returned by `read_statistics`.
        pairs: the lists of the Query Complexity tier.
        neighbours: see `mutual_information`.
        seed: see `mutual_information`.

    Raises:
        DatasetError: no query of the lists has statistics.
    """
    complexity = pairs.filter(pl.col("tier") == "query-complexity")
    queries = complexity.select("class", "query", "partition").unique()
    known = queries.join(statistics, on=["class", "query"])
    if not known.height:
        raise DatasetError(
            "no query image of these lists is in the statistics file; are these the lists of "
            "PASCAL-5i?"
        )
    unused = statistics.join(queries, on=["class", "query"], how="anti")
    is_listed_easy = known["partition"].str.starts_with("easy").to_numpy()
    easy_agrees = is_listed_easy == (known["iou"] >= RECOVERED_EASY_FROM).to_numpy()
    is_listed_salient = known["partition"].str.ends_with("_sal").to_numpy()
    salience = known["saliou"].to_numpy()
    salient_agrees = is_listed_salient == (salience >= RECOVERED_SALIENT_FROM)
    best_share, best_threshold = _best_threshold(salience, is_listed_salient)
    is_hit = (statistics["oss_perf"] > 0.5).to_numpy()
    information: dict[str, float] = {}
    for name in ATTRIBUTE_NAMES:
        values = statistics[name].to_numpy()
        information[name] = mutual_information(values, is_hit, neighbours=neighbours, seed=seed)
    means = known.group_by("partition").agg(
        pl.col("oss_perf").mean(), simplicity=(pl.col("saliou") * pl.col("iou")).mean()
    )
    scale = sum(PUBLISHED_WEIGHTS) / float(means["simplicity"].sum())
    rows = {row["partition"]: row for row in means.iter_rows(named=True)}
    partitions = [name for name in PARTITIONS if name in rows]
    return PartitionRecovery(
        rows=statistics.height,
        queries=queries.height,
        found=known.height,
        unused=unused.height,
        easy=float(easy_agrees.mean()),
        salient=float(salient_agrees.mean()),
        both=float((easy_agrees & salient_agrees).mean()),
        best_threshold=best_threshold,
        best=best_share,
        missed=int((is_listed_salient & ~salient_agrees).sum()),
        surplus=int((~is_listed_salient & ~salient_agrees).sum()),
        information=information,
        partition_means={name: rows[name]["oss_perf"] for name in partitions},
        simplicity={name: rows[name]["simplicity"] * scale for name in partitions},
    )


def _best_threshold(
    values: NDArray[np.float64], is_salient: NDArray[np.bool_]
) -> tuple[float, float]:
    """Return the highest agreement that a threshold reaches, 0 to 1, and that threshold.

    Values at or above the threshold count as salient.
    """
    # Agreement changes only at the values themselves, so one pass over the sorted values tries all
    # thresholds.
    order = np.argsort(values)
    sorted_salient = is_salient[order]
    salient_count = is_salient.sum()
    # Agreement if the threshold is at each value, and above the last one.
    salient_below = np.concatenate([[0], np.cumsum(sorted_salient)])
    others_below = np.concatenate([[0], np.cumsum(~sorted_salient)])
    agreement = (salient_count - salient_below) + others_below
    # A threshold at a value that several images have is below all of them.
    sorted_values = np.append(values[order], np.inf)
    is_repeated = np.zeros(len(sorted_values), dtype=np.bool_)
    is_repeated[1:] = sorted_values[1:] == sorted_values[:-1]
    agreement[is_repeated] = -1
    cut = int(np.argmax(agreement))
    return float(agreement[cut] / len(values)), float(sorted_values[cut])


def _ranking(information: dict[str, float]) -> list[str]:
    return sorted(information, key=lambda name: -information[name])
