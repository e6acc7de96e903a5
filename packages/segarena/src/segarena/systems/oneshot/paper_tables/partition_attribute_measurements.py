"""Values of published tables that need no model, computed from the published statistics."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from segarena.errors import DatasetMissing
from segarena.published.table_types import Measurement, MeasurementRequest, Measurements
from segarena.systems.oneshot.list_analysis.partition_recovery import (
    ATTRIBUTE_NAMES,
    PartitionRecovery,
    read_statistics,
    recover_partitions,
)
from segarena.systems.oneshot.pairs.toss_lists import read_pair_lists

STATISTICS_DATASET = "published statistics"
STATISTICS_FILES = ("analysis/test_stats.csv", "analysis/test_stats.csv.gz")


def measure_attributes(asked: MeasurementRequest) -> Measurements:
    """Measure the mutual information, in nats, between each attribute and success (one-shot IoU above 0.5).

    Raises:
        DatasetMissing: the copy of the published repository is missing or incomplete.
        DatasetError: one of its files cannot be read.
    """
    found = _recovered(asked)
    measured: dict[tuple[str, str, str, str], Measurement] = {}
    for name, value in found.information.items():
        key = (ATTRIBUTE_NAMES[name], STATISTICS_DATASET, "", "information")
        measured[key] = Measurement(mean=value)
    return measured


def measure_partitions(asked: MeasurementRequest) -> Measurements:
    """Measure the simplicity of each published partition, scaled to add up to 5.

    Raises:
        DatasetMissing, DatasetError: see `measure_attributes`.
    """
    found = _recovered(asked)
    measured: dict[tuple[str, str, str, str], Measurement] = {}
    for name, value in found.simplicity.items():
        measured[name, STATISTICS_DATASET, "", "weight"] = Measurement(mean=value)
    return measured


def _recovered(asked: MeasurementRequest) -> PartitionRecovery:
    if STATISTICS_DATASET not in asked.folders:
        raise DatasetMissing(
            "expected a copy of github.com/fewshotseg/toss in DATA/toss; no other data can replace it"
        )
    return _recover(asked.folders[STATISTICS_DATASET])


# Cached, because the tables of attributes and of partitions need the same recovery.
@cache
def _recover(folder: Path) -> PartitionRecovery:
    file = next(
        (folder / name for name in STATISTICS_FILES if (folder / name).is_file()),
        folder / STATISTICS_FILES[0],
    )
    return recover_partitions(
        read_statistics(file), read_pair_lists([folder / "tiers" / "attribute"])
    )
