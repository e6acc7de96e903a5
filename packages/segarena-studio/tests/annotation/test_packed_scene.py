"""The shorter form of a scene document: exact, and half as large as the document, both compressed."""

import gzip
import json

import msgspec
import numpy as np

from segarena_studio.annotation.packed_scene import pack_scene

# The example of tests/static/packed-scene.test.js.
SCENE = {
    "version": 1,
    "points": [[0.1, 2], [0.3, -1.5], [1 / 3, 4], [1e6, 0.001]],
    "regions": [
        {"id": "r1", "ring": [0, 1, 2], "name": "cat"},
        {"id": "r2", "ring": [3, 0, 1], "name": ""},
    ],
    "next_id": 3,
}
PACKED = {
    "version": 1,
    "points": {
        "scale": 1000,
        "deltas": [100, 2000, 200, -3500, 33, 5500, 999999667, -3999],
        "others": [[2, 1 / 3, 4]],
    },
    "regions": [
        {"id": "r1", "ring": {"runs": [0, 3]}, "name": "cat"},
        {"id": "r2", "ring": {"runs": [3, 1, 0, 2]}, "name": ""},
    ],
    "next_id": 3,
}


def raw(value):
    return msgspec.Raw(json.dumps(value).encode())


def test_a_scene_is_packed_with_its_keys_in_order():
    packed = pack_scene(raw(SCENE))
    assert json.dumps(packed) == json.dumps(PACKED)


def test_a_scene_without_points_and_none_stay_as_they_are():
    for scene in (None, {"version": 1, "points": [], "regions": [], "next_id": 1}):
        assert pack_scene(raw(scene)) == raw(scene)


def test_deltas_give_every_coordinate_exactly(rng):
    points = np.round(rng.uniform(-1e6, 1e6, (5000, 2)), 3)
    packed = pack_scene(raw({"points": points.tolist(), "regions": []}))["points"]
    assert packed["others"] == []
    deltas = np.array(packed["deltas"]).reshape(-1, 2)
    assert (np.cumsum(deltas, axis=0) / packed["scale"] == points).all()


def test_a_drawing_becomes_half_as_large(rng):
    steps = np.cumsum(rng.uniform(-20, 20, (3000, 2)), axis=0)
    regions = [{"ring": list(range(start, start + 100))} for start in range(0, 3000, 100)]
    scene = {"points": np.round(steps, 3).tolist(), "regions": regions}
    sizes = [
        len(gzip.compress(json.dumps(each).encode())) for each in (scene, pack_scene(raw(scene)))
    ]
    assert sizes[1] < 0.6 * sizes[0]
