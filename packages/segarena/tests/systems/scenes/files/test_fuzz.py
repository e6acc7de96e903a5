"""Damaged files of every readable format cause only typed errors and defects."""

import json
import random

import numpy as np
import pytest
from PIL import Image

from segarena.errors import SegarenaError
from segarena.systems.scenes.checks.consensus import check_set
from segarena.systems.scenes.checks.repair import repair_set
from segarena.systems.scenes.files import read_scenes, write_scenes

ODD = (
    None, True, False, 0, -1, 1e308, 10**30, float("nan"), float("inf"), "", "x", "\ud800", "1,2;3", [], {}, [[]],
    [None], [1, 2, 3], {"size": [1, 2]}, {"size": [3, 3], "counts": "00"}, [[1, 2], [3, 4], [5, 6]],
)  # fmt: skip
SIZE = 40


def sources(demo_set, folder):
    """Return a small valid file of each format, by name."""
    small = type(demo_set)(scenes=demo_set.scenes[:2])
    found = {}
    for name, file_format in (("coco-amodal", "coco-amodal"), ("coco", "coco"), ("rle", "rle")):
        write_scenes(small, folder / "x.json", file_format)
        found[name] = (folder / "x.json").read_bytes()
    points = [[1, 1], [20, 1], [20, 30]]
    shapes = [
        {"label": "a", "points": points, "shape_type": "polygon"},
        {"label": "b", "points": points},
    ]
    labelme = {"imagePath": "a.png", "imageHeight": SIZE, "imageWidth": SIZE, "shapes": shapes}
    found["labelme"] = json.dumps(labelme).encode()
    ann = {"url": "a.png", "polygons_str": "[[0,0,1,0,1,1]]", "namelist": '["a"]'}
    found["ann"] = json.dumps(ann).encode()
    found["cvat"] = (
        b'<annotations><image id="0" name="a.png" width="40" height="40"><polygon label="a" points="1,1;9,1;9,9" '
        b'z_order="1"/><mask label="c" rle="1, 3" left="1" top="1" width="2" height="2"/></image></annotations>'
    )
    return found


def damaged_bytes(data, rng):
    data = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(len(data))
        kind = rng.random()
        if kind < 0.5:
            data[place] = rng.randrange(256)
        elif kind < 0.8:
            del data[place : place + rng.randint(1, 30)]
        else:
            data[place:place] = bytes(rng.choices(b'0123456789,-[]{}"<>/;.', k=rng.randint(1, 5)))
        data = data or bytearray(b" ")
    return bytes(data)


def damaged_value(value, rng):
    """Return a JSON value with one of its parts replaced, dropped or doubled."""
    if rng.random() < 0.25 or not isinstance(value, (dict, list)) or not value:
        return rng.choice(ODD)
    key = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
    copy = value.copy()
    kind = rng.random()
    if kind < 0.15:
        del copy[key]
    elif kind < 0.25 and isinstance(copy, list):
        copy.append(copy[key])
    else:
        copy[key] = damaged_value(copy[key], rng)
    return copy


@pytest.mark.parametrize("name", ["coco-amodal", "coco", "rle", "labelme", "ann", "cvat"])
def test_damaged_files_raise_typed_errors_only(name, demo_set, tmp_path):
    rng = random.Random(name)
    Image.fromarray(np.zeros((SIZE, SIZE, 3), np.uint8)).save(tmp_path / "a.png")
    source = sources(demo_set, tmp_path)[name]
    suffix = {"ann": ".ann", "cvat": ".xml"}.get(name, ".json")
    file = tmp_path / f"damaged{suffix}"
    read = 0
    for turn in range(60):
        if suffix == ".xml" or turn % 3 == 0:
            file.write_bytes(damaged_bytes(source, rng))
        else:
            file.write_text(json.dumps(damaged_value(json.loads(source), rng)))
        try:
            scenes = read_scenes(file, file_format=rng.choice([None, name]))
        except SegarenaError:
            continue
        read += 1
        if turn % 5 == 0:
            check_set(scenes)
            check_set(repair_set(scenes))
            write_scenes(scenes, tmp_path / "out.json", "coco-amodal")
    assert read > 3
