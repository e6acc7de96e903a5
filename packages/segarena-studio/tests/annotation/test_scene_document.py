"""Scene documents: validation, conversion to scenes, and clipping that preserves shared vertices."""

import numpy as np
import pytest
from annotation_fixtures import box, scene, text_of

from segarena.errors import InvalidInput
from segarena.systems.scenes.model.scene import ring_edges
from segarena_studio.annotation.scene_document import (
    MOST_BYTES,
    document_to_scene,
    encode_document,
    read_document,
)


def read(value):
    return read_document(text_of(value))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"version": 2}, "version"),
        ({"points": [[0, 0], [1]]}, "length"),
        ({"points": [["1", 2]]}, "float"),
        ({"points": [[1e7, 2]]}, "<= 1000000"),
        ({"regions": [{"id": "a", "ring": [9]}]}, "refers to point 9"),
        ({"regions": [{"id": "a", "ring": [-1]}]}, ">= 0"),
        ({"regions": [{"id": "", "ring": []}]}, "length"),
        ({"regions": [{"id": "a", "ring": [], "name": "x" * 201}]}, "length"),
        ({"regions": [{"id": "a", "ring": []}, {"id": "a", "ring": []}]}, "twice"),
        (
            {"regions": [{"id": str(number), "ring": []} for number in range(2001)]},
            "at most 2,000 regions .* got 2,001",
        ),
        (
            {"regions": [{"id": "a", "ring": [0] * 100_001}]},
            "with 100,000 points, got 1 with 100,001",
        ),
    ],
)
def test_what_cannot_be_a_document_is_told(change, told):
    with pytest.raises(InvalidInput, match=told):
        read({**scene(box(0, 0, 5, 5)), **change})


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"version":1e999}']
)
def test_what_is_no_json_of_this_kind_is_told(text):
    with pytest.raises(InvalidInput, match="scene"):
        read_document(text)


def test_a_document_that_is_too_large_is_not_read():
    with pytest.raises(InvalidInput, match="at most"):
        read_document(b" " * (MOST_BYTES + 1))


def test_what_else_the_editor_keeps_is_let_be():
    assert read({**scene(box(0, 0, 5, 5)), "open": [0, 1], "colours": {"r1": 3}}).open == (0, 1)


def test_two_regions_across_the_frame_share_their_border_after_the_cut():
    # The border of the two runs obliquely across the right side of the picture, in opposite directions.
    one = [[40, 10], [133.3, 17.7], [127.7, 47.1], [41.3, 40.1]]
    other = [[41.3, 40.1], [127.7, 47.1], [131, 80], [40, 70]]
    found = document_to_scene(read(scene(one, other)), name="a.png", shape=(90, 120))
    corners = np.array(found.vertices)
    assert corners[:, 1].max() == 120
    sides = [set(ring_edges(ring)) for region in found.regions for ring in region.rings]
    assert len(sides[0] & sides[1]) == 1


def test_a_region_outside_has_no_outline():
    found = document_to_scene(read(scene(box(200, 10, 220, 30))), name="a.png", shape=(90, 120))
    assert found.regions[0].rings == ()


def test_a_scene_comes_back_from_its_document():
    drawn = document_to_scene(
        read(scene(box(10, 10, 60, 60), box(60, 10, 90, 60), names=("Hund", "木"))),
        name="a",
        shape=(90, 120),
    )
    again = document_to_scene(read_document(encode_document(drawn)), name="a", shape=(90, 120))
    assert again.vertices == drawn.vertices
    assert [(region.name, region.rings) for region in again.regions] == [
        (region.name, region.rings) for region in drawn.regions
    ]
