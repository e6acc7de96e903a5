import json

import numpy as np
import pytest

from segarena.errors import InvalidInput
from segarena.files.images import read_mask_values
from segarena.systems.scenes.files import reduction_files
from segarena.systems.scenes.files.reduction_files import REDUCTIONS, SHARED_VALUE, write_reduction
from segarena.systems.scenes.model import reductions
from segarena.systems.scenes.model.rasters import rasterise


def test_pictures_hold_what_the_functions_return(demo_set, tmp_path):
    scene = demo_set.scenes[0]
    rasters = rasterise(scene)
    owners = reductions.figure_ground(rasters)
    expected = {
        "modal": rasters.owner,
        "edges": 255 * reductions.visible_edges(rasters),
        "hidden-edges": 255 * reductions.hidden_edges(rasters),
        "figure-ground": np.where(owners == reductions.SHARED_EDGE, SHARED_VALUE, owners),
    }
    for name, values in expected.items():
        first, *_ = write_reduction(demo_set, tmp_path / name, name)
        assert first.name == "scene-1.exact.png"
        np.testing.assert_array_equal(read_mask_values(first), values)


def test_semantic_pictures_come_with_their_classes(demo_set, tmp_path):
    classes, first, *_ = write_reduction(demo_set, tmp_path, "semantic")
    numbers = json.loads(classes.read_text())
    assert list(numbers.values()) == list(range(1, len(numbers) + 1))
    scene = demo_set.scenes[0]
    labels = read_mask_values(first)
    for place, region in enumerate(scene.regions):
        assert (labels[rasterise(scene).visible(place)] == numbers[region.name]).all()


@pytest.mark.parametrize("reduction", ["modal", "figure-ground"])
def test_more_regions_than_16_bits_hold_are_refused_before_any_file(
    demo_set, tmp_path, monkeypatch, reduction
):
    monkeypatch.setattr(reduction_files, "SHARED_VALUE", len(demo_set.scenes[-1].regions))
    with pytest.raises(InvalidInput, match="regions in each scene, got"):
        write_reduction(demo_set, tmp_path, reduction)
    assert not list(tmp_path.iterdir())


def test_lists_are_in_x_and_y(demo_set, tmp_path):
    (file,) = write_reduction(demo_set, tmp_path / "a.json", "boxes")
    row = json.loads(file.read_text())[0]
    rows, columns = np.nonzero(rasterise(demo_set.scenes[0]).amodal(0))
    assert row["bbox"] == [columns.min(), rows.min(), np.ptp(columns) + 1, np.ptp(rows) + 1]
    assert (row["image_id"], row["author"], row["order"]) == (1, "exact", 1)
    (file,) = write_reduction(demo_set, tmp_path / "b.json", "shared-edges")
    rows = [
        row
        for row in json.loads(file.read_text())
        if row["author"] == "exact" and row["image_id"] == 1
    ]
    horizon = [row["line"] for row in rows if sorted(row["names"]) == ["ground", "sky"]]
    assert len(horizon) == 320 // 40
    assert len({line[1] for line in horizon} | {line[3] for line in horizon}) == 1


def test_unknown_reductions_are_refused(demo_set, tmp_path):
    with pytest.raises(InvalidInput, match="expected one of modal"):
        write_reduction(demo_set, tmp_path, "depth")
    assert len(REDUCTIONS) == 7
