from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from scipy.ndimage import distance_transform_edt

from segarena.errors import InvalidInput
from segarena.registry import build
from segarena.systems.clicks.crowd.click_filter import filter_valid
from segarena.systems.clicks.crowd.clicks_table import (
    CLICK_COLUMNS,
    check_clicks,
    read_clicks,
    write_clicks,
)
from segarena.systems.clicks.crowd.habit_maps import HABITS, habit_maps
from segarena.systems.clicks.crowd.instances import Instance
from segarena.systems.clicks.crowd.synthetic_crowd import (
    CROWD_HABITS,
    collect_clicks,
    crowd_map,
    later_rounds,
)

cv2.setNumThreads(1)


def photograph(seed=0, shape=(200, 240)):
    """A textured background and a tall ellipse with a bright spot low in it."""
    rng = np.random.default_rng(seed)
    image = np.clip(rng.normal(90, 12, (*shape, 3)), 0, 255)
    rows, columns = np.indices(shape)
    target = ((rows - 100) / 70) ** 2 + ((columns - 120) / 40) ** 2 < 1
    image[target] = np.clip(rng.normal(130, 6, (int(target.sum()), 3)), 0, 255)
    image[140:150, 128:140] = (250, 30, 30)
    return image.astype(np.uint8), target


def instance(stem, seed=0, image_stem=""):
    image, target = photograph(seed)
    return Instance(
        full_stem=stem,
        image_stem=image_stem,
        image=image,
        target=target,
        positions=np.zeros((0, 2), np.int64),
    )


@pytest.fixture(scope="module")
def collection():
    instances = [instance(f"p{i}", seed=i) for i in range(6)]
    instances += [later for i in instances for later in later_rounds(i)]
    return instances, collect_clicks(instances, clicks=24, seed=1)


def test_the_crowd_gives_a_clicks_table(collection, tmp_path):
    instances, table = collection
    assert table.columns[: len(CLICK_COLUMNS)] == list(CLICK_COLUMNS)
    assert table["full_stem"].unique(maintain_order=True).to_list() == [
        i.full_stem for i in instances
    ]
    assert set(table["full_stem"].value_counts()["count"]) == {24}
    report = check_clicks(table)
    assert not any(finding.is_error for finding in report.findings)
    assert report.outside == 0
    assert set(table["device"]) == {"pc", "mobile"}
    assert set(table["click_type"]) == {"first", "fn", "fp"}
    write_clicks(table, tmp_path / "crowd.csv")
    assert read_clicks(tmp_path / "crowd.csv").height == table.height


def test_the_crowd_is_determined_by_its_seed(collection):
    instances = collection[0][:4]
    table = collect_clicks(instances, clicks=12, seed=1)
    assert collect_clicks(instances, clicks=12, seed=1).equals(table)
    assert not collect_clicks(instances, clicks=12, seed=2).equals(table)


def test_nobody_sees_an_image_twice_and_batches_hold_ten_images_at_most():
    small = np.ones((8, 8), dtype=bool)
    instances = [
        Instance(
            full_stem=f"p{i}_{k}",
            image_stem=f"p{i}",
            image=np.zeros((8, 8, 3), np.uint8),
            target=small,
            positions=np.zeros((0, 2), np.int64),
        )
        for i in range(45)
        for k in range(1 + i % 3)
    ]
    table = collect_clicks(instances, clicks=4)
    for column, most in (("batch", 10), ("person", 30)):
        for part in table.partition_by(column):
            assert part["image_stem"].is_unique().all()
            assert part.height <= most
    assert table.group_by("batch").len()["len"].mode().item() == 10
    assert table.group_by("person").len()["len"].max() > 10


@pytest.mark.long
def test_the_filter_finds_the_careless_and_the_slips():
    instances = [instance(f"p{i}", seed=i) for i in range(12)]
    masks = {i.full_stem: i.error >= 0.5 for i in instances}
    honest = collect_clicks(instances, clicks=10, careless_share=0, slip_share=0)
    assert filter_valid(honest, masks.__getitem__).kept.height >= 0.99 * honest.height
    slips = collect_clicks(instances, clicks=30, careless_share=0, slip_share=0.1)
    off = [not masks[stem][y, x] for stem, x, y in slips.select("full_stem", "x", "y").iter_rows()]
    assert np.mean(off) == pytest.approx(0.1, abs=0.03)
    careless = collect_clicks(instances, clicks=30, careless_share=0.2, slip_share=0)
    result = filter_valid(careless, masks.__getitem__)
    assert result.dropped_batches / result.batches == pytest.approx(0.2, abs=0.08)


def test_mobile_clicks_scatter_more_than_pc_clicks():
    image, _ = photograph()
    target = np.zeros(image.shape[:2], dtype=bool)
    target[100, 120] = True  # what remains is the jitter
    one = [
        Instance(full_stem="dot", image=image, target=target, positions=np.zeros((0, 2), np.int64))
    ]
    table = collect_clicks(one, clicks=600, careless_share=0, slip_share=0)
    spread = {
        device: float(np.hypot(part["x"] - 120, part["y"] - 100).mean())
        for (device,), part in table.partition_by("device", as_dict=True).items()
    }
    assert spread["mobile"] > 1.5 * spread["pc"]


def test_every_habit_is_a_distribution_on_the_error():
    image, target = photograph()
    window, maps = habit_maps(image, target)
    assert set(maps) == set(HABITS) == set(CROWD_HABITS)
    assert sum(CROWD_HABITS.values()) == pytest.approx(1)
    for weights in maps.values():
        assert weights.sum() == pytest.approx(1)
        assert (weights >= 0).all()
        assert not weights[~target[window]].any()


def test_habits_go_where_they_say():
    image, target = photograph()
    window, maps = habit_maps(image, target)
    rows, columns = np.indices(next(iter(maps.values())).shape)
    rows, columns = rows + window[0].start, columns + window[1].start
    depth = distance_transform_edt(target)
    mean_depth = {name: (weights * depth[window]).sum() for name, weights in maps.items()}
    assert mean_depth["deep"] > mean_depth["off_edge"] > mean_depth["anywhere"]
    spot = (rows >= 136) & (rows < 154) & (columns >= 124) & (columns < 144)
    assert maps["conspicuous"][spot].sum() > 5 * maps["anywhere"][spot].sum()
    assert (maps["upper"] * rows).sum() < 75 < 95 < (maps["deep"] * rows).sum()


def test_of_two_parts_the_large_one_is_clicked_more():
    image, _ = photograph()
    error = np.zeros(image.shape[:2], dtype=bool)
    error[20:60, 20:60] = True
    error[150:160, 150:160] = True
    window, maps = habit_maps(image, error)
    large = np.zeros_like(error)
    large[20:60, 20:60] = True
    ratio = 16**1.5
    assert maps["anywhere"][large[window]].sum() == pytest.approx(ratio / (ratio + 1))


def test_large_errors_are_looked_at_in_a_reduced_size():
    image, target = photograph()
    big_image, big = (
        np.kron(a, np.ones((5, 5, 1) if a.ndim == 3 else (5, 5), a.dtype)) for a in (image, target)
    )
    maps = habit_maps(big_image, big)[1]
    assert max(maps["deep"].shape) == 256
    big_map = crowd_map(big_image, big, big)
    assert big_map.shape == big.shape
    assert big_map.sum() == pytest.approx(1, abs=1e-4)
    assert not big_map[~big].any()


def test_thin_errors_survive_the_reduction():
    image = np.zeros((3000, 20, 3), dtype=np.uint8)
    error = np.zeros((3000, 20), dtype=bool)
    error[:, 10] = True
    assert crowd_map(image, error, error).sum() == pytest.approx(1, abs=1e-4)


def test_no_error_no_clicks():
    image, target = photograph()
    assert not crowd_map(image, target, np.zeros_like(target)).any()
    empty = Instance(
        full_stem="e",
        image=image,
        target=np.zeros_like(target),
        positions=np.zeros((0, 2), dtype=np.int64),
    )
    with pytest.raises(InvalidInput, match="expected an error to click on"):
        collect_clicks([empty])
    with pytest.raises(InvalidInput, match="clicks >= 1"):
        collect_clicks([], clicks=0)


def likelihood(model, collected):
    """Mean logarithm of the probability of valid clicks, with a floor for pixels off the map."""
    total = []
    instances, table = collected
    valid = filter_valid(table, {i.full_stem: i.error >= 0.5 for i in instances}.__getitem__).kept
    for one in instances:
        weights = model(one.image, one.target, one.error).astype(np.float64)
        weights = 0.98 * weights / weights.sum() + 0.02 / weights.size
        part = valid.filter(valid["full_stem"] == one.full_stem)
        total += np.log(weights[part["y"].to_numpy(), part["x"].to_numpy()]).tolist()
    return float(np.mean(total))


def test_the_crowds_own_map_explains_its_clicks_better_than_every_reference_model(collection):
    ours = likelihood(crowd_map, collection)
    for name in ("uniform", "depth", "saliency-crop", "saliency-cutout"):
        assert ours > likelihood(build("click-model", name), collection) + 0.1, name


def test_later_rounds_miss_and_add_a_part():
    first = instance("p")
    fn, fp = later_rounds(first)
    assert (fn.click_type, fp.click_type) == ("fn", "fp")
    assert fn.full_stem == "p_crowd_fn"
    assert fn.error.any()
    assert not fn.error[~first.target].any()
    assert fp.error.any()
    assert not fp.error[first.target].any()
    assert fn.error.sum() / first.target.sum() == pytest.approx(0.3, abs=0.05)
    assert np.array_equal(later_rounds(first)[0].error, fn.error)
    assert math.isclose(float(fn.previous.sum()), float(fp.previous.sum()))
