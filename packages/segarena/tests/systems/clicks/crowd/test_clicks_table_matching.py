"""Clicks tables matched with datasets."""

import numpy as np
import polars as pl
import pytest

from segarena.errors import InvalidInput, SampleInvalid
from segarena.samples import ImageSample, Target, VolumeSample
from segarena.systems.clicks.crowd.clicks_table_matching import (
    clicked_instances,
    first_rounds,
    match_dataset,
    target_loader,
)

HEIGHT, WIDTH = 12, 16


class Pictures:
    """Image "one" has one object, image "two" has two, and so on; counts how often each is loaded."""

    name = "pictures"
    fingerprint = "1"
    sample_ids = ("one", "two", "three")

    def __init__(self):
        self.loaded = []

    def load(self, sample_id):
        self.loaded.append(sample_id)
        targets = []
        for index in range(self.sample_ids.index(sample_id) + 1):
            mask = np.zeros((HEIGHT, WIDTH), dtype=bool)
            mask[2:8, 5 * index : 5 * index + 4] = True
            targets.append(Target(id=f"object-{index}", mask=mask))
        image = np.zeros((HEIGHT, WIDTH, 3), dtype=np.uint8)
        return ImageSample(id=sample_id, image=image, targets=tuple(targets))


def table_of(*rows):
    whole = {
        "dataset": "D", "image_stem": "one", "object_stem": "", "model_type": "", "click_type": "first",
        "full_stem": "", "device": "pc", "x": 1, "y": 3, "w": WIDTH, "h": HEIGHT,
    }  # fmt: skip
    return pl.DataFrame(
        [
            {**whole, **row, "full_stem": row.get("full_stem", row.get("image_stem", "one"))}
            for row in rows
        ]
    )


def test_every_target_is_an_instance_with_a_code_where_there_are_several():
    instances = list(first_rounds(Pictures()))
    assert [(i.image_stem, i.object_stem) for i in instances[:3]] == [
        ("one", ""), ("two", "object-0"), ("two", "object-1"),
    ]  # fmt: skip
    assert [i.full_stem for i in instances[:2]] == ["one", "two_______object-0"]
    assert len(instances) == 6
    assert len(list(first_rounds(Pictures(), limit=2))) == 3
    assert all(not len(i.positions) for i in instances)


def test_rows_on_other_images_are_counted_and_left_out():
    matched = match_dataset(table_of({}, {"image_stem": "four"}, {"image_stem": "two"}), Pictures())
    assert matched.table["image_stem"].to_list() == ["one", "two"]
    assert (matched.instances, matched.elsewhere, matched.without) == (2, 1, ("three",))
    assert (
        str(matched)
        == "instances on images of the dataset: 2, on others: 1; images of the dataset without clicks: 1"
    )


def test_rows_of_two_datasets_need_a_choice():
    table = table_of({}, {"dataset": "E"})
    with pytest.raises(InvalidInput, match=r"rows of several datasets .* \['D', 'E'\]"):
        match_dataset(table, Pictures())
    assert match_dataset(table, Pictures(), rows_of="E").table["dataset"].to_list() == ["E"]


def test_a_table_of_another_dataset_is_refused():
    with pytest.raises(InvalidInput, match="no row of the table refers to an image of pictures"):
        match_dataset(table_of({"image_stem": "four"}), Pictures())


def test_objects_are_loaded_by_code_and_all_of_them_without_one():
    load = target_loader(Pictures())
    both = [load("D", "two", f"object-{index}")[1] for index in range(2)]
    assert not (both[0] & both[1]).any()
    assert (load("D", "two", "")[1] == (both[0] | both[1])).all()
    with pytest.raises(SampleInvalid, match="the table names object '7', the image has object-0"):
        load("D", "one", "7")


def test_an_image_is_loaded_once_for_all_its_objects():
    pictures = Pictures()
    load = target_loader(pictures)
    for index in (0, 1, 0, 1):
        load("D", "two", f"object-{index}")
    assert pictures.loaded == ["two"]


def test_instances_have_image_target_and_clicks():
    table = table_of(
        {"x": 1, "y": 3}, {"x": 2, "y": 4}, {"image_stem": "two", "object_stem": "object-1", "x": 6}
    )
    one, two = clicked_instances(table, Pictures())
    assert one.positions.tolist() == [[3, 1], [4, 2]]
    assert two.target[3, 6]
    assert not two.target[3, 1]


def test_volumes_are_refused():
    class Volumes(Pictures):
        def load(self, sample_id):
            return VolumeSample(id=sample_id, voxels=np.zeros((2, 3, 3)), spacing_mm=(1, 1, 1))

    with pytest.raises(SampleInvalid, match="expected an image, got a VolumeSample"):
        list(first_rounds(Volumes()))
