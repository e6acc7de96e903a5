"""Recovery of the rule behind partitions, if there is one."""

import numpy as np
import polars as pl
import pytest

from segarena.errors import DatasetError, DatasetMissing
from segarena.systems.oneshot.list_analysis.partition_recovery import (
    ATTRIBUTE_NAMES,
    _best_threshold,
    read_statistics,
    recover_partitions,
)
from segarena.systems.oneshot.pairs.pair_table import pairs_table


@pytest.fixture
def statistics(tmp_path):
    """400 images whose one-shot IoU follows salience; area and centre are noise."""
    rng = np.random.default_rng(0)
    rows = 400
    salience = rng.random(rows)
    table = pl.DataFrame({
        "filename": [f"{n % 20 + 1}_2009_{n:06d}" for n in range(rows)],
        "oss_perf": (0.9 * salience + 0.1 * rng.random(rows)).clip(0, 1),
        **{name: rng.random(rows) for name in ATTRIBUTE_NAMES},
    }).with_columns(saliou=pl.Series(salience))  # fmt: skip
    table.write_csv(tmp_path / "stats.csv")
    return tmp_path / "stats.csv"


def lists_of(statistics, easy_from, salient_from):
    easy = pl.when(pl.col("iou") >= easy_from).then(pl.lit("easy_")).otherwise(pl.lit("hard_"))
    salient = (
        pl.when(pl.col("saliou") >= salient_from).then(pl.lit("sal")).otherwise(pl.lit("nsal"))
    )
    supports = pl.concat_list(pl.lit("s"))
    return pairs_table(
        statistics.select(
            "class",
            "query",
            tier=pl.lit("query-complexity"),
            partition=easy + salient,
            supports=supports,
        )
    )


def test_partitions_made_by_the_rule_agree_entirely(statistics):
    table = read_statistics(statistics)
    found = recover_partitions(table, lists_of(table, 0.75, 0.5).filter(pl.col("row") > 4))
    assert (found.easy, found.salient, found.both, found.best) == (1, 1, 1, 1)
    assert (found.rows, found.found, found.queries, found.unused) == (400, 395, 395, 5)
    assert max(found.information, key=found.information.get) == "saliou"
    assert sum(found.simplicity.values()) == pytest.approx(5)
    assert found.partition_means["easy_sal"] > found.partition_means["easy_nsal"]


def test_partitions_made_by_another_cut_show_it(statistics):
    table = read_statistics(statistics)
    found = recover_partitions(table, lists_of(table, 0.75, 0.6))
    between = table.filter(pl.col("saliou").is_between(0.5, 0.6, closed="left")).height
    assert (found.missed, found.surplus) == (0, between)
    assert found.salient == pytest.approx(1 - between / 400)
    assert found.best == 1
    assert found.best_threshold == table.filter(pl.col("saliou") >= 0.6)["saliou"].min()


def test_files_that_cannot_be_used_are_named(tmp_path, statistics):
    with pytest.raises(DatasetMissing):
        read_statistics(tmp_path / "none.csv")
    (tmp_path / "short.csv").write_text("filename,iou\n1_2009_000001,0.5\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="missing"):
        read_statistics(tmp_path / "short.csv")
    sound = statistics.read_text(encoding="utf-8")
    for old, new in (("1_2009_000000", ""), (sound.splitlines()[1].split(",")[2], "True")):
        (tmp_path / "odd.csv").write_text(sound.replace(old, new, 1), encoding="utf-8")
        with pytest.raises(DatasetError, match="a name and numbers in every row"):
            read_statistics(tmp_path / "odd.csv")
    with pytest.raises(DatasetError, match="no query image"):
        recover_partitions(
            read_statistics(statistics),
            pairs_table([{"class": "1", "query": "x", "supports": ["s"]}]),
        )


def test_a_threshold_never_parts_images_of_one_value():
    values = np.array([0.2, 0.5, 0.5, 0.5, 0.9])
    is_salient = np.array([False, True, False, False, True])
    assert _best_threshold(values, is_salient) == (0.8, 0.9)
    assert _best_threshold(values, np.zeros(5, dtype=bool)) == (1, np.inf)
    assert _best_threshold(np.full(4, 0.5), np.array([1, 0, 0, 0], dtype=bool)) == (0.75, np.inf)
