"""Differences between revisions: outlines, names, order, new and deleted regions, and nothing else."""

import itertools

import pytest
from annotation_fixtures import box, scene, text_of

from segarena_studio.annotation.revision_diff import list_changes
from segarena_studio.annotation.scene_document import read_document

BEFORE = scene(box(0, 0, 9, 9), box(5, 5, 20, 20), box(8, 8, 30, 30), names=("dog", "", "grass"))


def told(after):
    found = list_changes(read_document(text_of(BEFORE)), read_document(text_of(after)))
    return {one.region: one.what for one in found}


def changed(**fields):
    regions = [
        {**region, **fields} if region["id"] == "r2" else region for region in BEFORE["regions"]
    ]
    return {**BEFORE, "regions": regions}


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (BEFORE, {}),
        ({**BEFORE, "points": [[0, 0], [0, 0], *BEFORE["points"][2:]]}, {"r1": "outline"}),
        (changed(name="cat"), {"r2": "named"}),
        (changed(name="cat", is_stuff=True), {"r2": "named, now stuff"}),
        (changed(id="r9"), {"r9": "new", "r2": "deleted"}),
        (changed(is_hidden=True, is_locked=True), {}),
        ({**BEFORE, "regions": []}, {"r1": "deleted", "r2": "deleted", "r3": "deleted"}),
    ],
)
def test_what_changed_is_told(after, expected):
    assert told(after) == expected


def test_a_point_elsewhere_in_the_list_is_no_change():
    points = [*BEFORE["points"], [0, 0]]
    regions = [{**BEFORE["regions"][0], "ring": [12, 1, 2, 3]}, *BEFORE["regions"][1:]]
    assert told({**BEFORE, "points": points, "regions": regions}) == {}


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_of_another_order_the_fewest_have_moved(order):
    found = told({**BEFORE, "regions": [BEFORE["regions"][place] for place in order]})
    fewest = min(
        len(moved)
        for count in range(4)
        for moved in itertools.combinations(range(3), count)
        if [place for place in order if place not in moved] == sorted(set(range(3)) - set(moved))
    )
    assert list(found.values()) == ["moved in the depth order"] * fewest
