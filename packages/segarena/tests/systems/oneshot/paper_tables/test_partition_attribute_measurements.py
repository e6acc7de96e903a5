"""The published statistics, compared with the lists, on made-up files of the same form."""

import numpy as np
import pytest

from segarena.errors import DatasetMissing
from segarena.published import find_table
from segarena.published.table_types import MeasurementRequest
from segarena.systems.oneshot.paper_tables.partition_attribute_measurements import (
    measure_attributes,
    measure_partitions,
)


@pytest.fixture
def repository(tmp_path, rng):
    """40 query targets, ten in each partition; easy and salient ones have a high one-shot IoU."""
    (tmp_path / "analysis").mkdir()
    (tmp_path / "tiers" / "attribute").mkdir(parents=True)
    lines = ["filename,oss_perf,iou,area_ratio,offset_ratio,saliou,blob_count,distractor_weight"]
    names = {}
    for number, (partition, iou, salience) in enumerate(
        [
            ("easy_sal", 0.9, 0.8),
            ("easy_nsal", 0.9, 0.2),
            ("hard_sal", 0.4, 0.8),
            ("hard_nsal", 0.4, 0.2),
        ]
    ):
        for k in range(10):
            name = f"1_2007_{100 * number + k:06d}"
            names.setdefault(partition, []).append(name)
            other = ",".join(f"{value:.4f}" for value in rng.uniform(0.1, 0.9, 2))
            lines.append(
                f"{name},{iou * salience:.4f},{iou + k / 1000},{other},{salience + k / 1000},2,{rng.uniform():.4f}"
            )
    (tmp_path / "analysis" / "test_stats.csv").write_text("\n".join(lines), encoding="utf-8")
    for partition, own in names.items():
        pairs = "\n".join(f"{name} {own[0]}" for name in own[1:])
        (tmp_path / "tiers" / "attribute" / f"split0_q_{partition}.txt").write_text(
            pairs + "\n", encoding="utf-8"
        )
    return tmp_path


def asked(folder, out):
    return MeasurementRequest(
        folders={"published statistics": folder} if folder else {}, inputs={}, models=(), out=out
    )


def test_simplicity_of_the_partitions_is_salience_times_supervised_iou(repository, tmp_path):
    found = measure_partitions(asked(repository, tmp_path))
    values = {
        model: value.mean for (model, _, _, measure), value in found.items() if measure == "weight"
    }
    k = np.arange(1, 10) / 1000
    expected = {
        name: np.mean((iou + k) * (salience + k))
        for name, iou, salience in [
            ("easy_sal", 0.9, 0.8), ("easy_nsal", 0.9, 0.2), ("hard_sal", 0.4, 0.8), ("hard_nsal", 0.4, 0.2),
        ]
    }  # fmt: skip
    scale = 5 / sum(expected.values())
    assert values == pytest.approx({name: scale * value for name, value in expected.items()})


def test_every_attribute_of_the_table_is_measured_and_what_made_it_easy_tells_most(
    repository, tmp_path
):
    found = measure_attributes(asked(repository, tmp_path))
    values = {model: value.mean for (model, *_), value in found.items()}
    assert set(values) == set(find_table("toss:attributes").model_names)
    assert values["supervised IoU"] > values["blobs"]


def test_without_the_published_files_it_says_what_is_missing(tmp_path):
    with pytest.raises(DatasetMissing, match="no other data can replace it"):
        measure_attributes(asked(None, tmp_path))
