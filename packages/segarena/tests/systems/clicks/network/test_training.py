from __future__ import annotations

import warnings
from dataclasses import replace

import cv2
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from segarena.errors import InvalidInput, RunConflict, SegarenaError  # noqa: E402
from segarena.systems.clicks.click_maps import click_map  # noqa: E402
from segarena.systems.clicks.crowd.instances import Instance  # noqa: E402
from segarena.systems.clicks.network import training as training_module  # noqa: E402
from segarena.systems.clicks.network.checkpoint import load_checkpoint, save_checkpoint  # noqa: E402
from segarena.systems.clicks.network.letterbox import Letterbox, view_window  # noqa: E402
from segarena.systems.clicks.network.model import ClickabilityNetwork, NetworkSize  # noqa: E402
from segarena.systems.clicks.network.prediction import ClickabilityModel  # noqa: E402
from segarena.systems.clicks.network.training import train_network  # noqa: E402
from segarena.systems.clicks.network.training_data import TrainingSet, batches  # noqa: E402
from segarena.systems.clicks.network.training_options import PUBLISHED_OPTIONS, TrainingOptions  # noqa: E402

torch.set_num_threads(1)
cv2.setNumThreads(1)
SMALL = NetworkSize(
    channels=(8, 8, 8, 8),
    depths=(1, 1, 1, 1),
    head_channels=8,
    mlp_ratios=(2, 2, 2, 2),
    groups=2,
    side_px=32,
)
QUICK = TrainingOptions(epochs=2, batch_size=4, rate=0.01, sigma=60.0)


def instance(seed, shape=(40, 61)):
    """A bright square somewhere; people click in its upper left."""
    rng = np.random.default_rng(seed)
    top, left = rng.integers(2, 18), rng.integers(2, 35)
    image = rng.integers(0, 60, (*shape, 3), dtype=np.uint8)
    target = np.zeros(shape, dtype=bool)
    target[top : top + 20, left : left + 24] = True
    image[target] += 150
    positions = np.stack([top + rng.integers(1, 8, 12), left + rng.integers(1, 8, 12)], axis=1)
    return Instance(full_stem=f"i{seed}", image=image, target=target, positions=positions)


@pytest.fixture(scope="module")
def data():
    return [instance(i) for i in range(6)], [instance(100 + i) for i in range(5)]


def run(data, folder, **more):
    return train_network(
        *data, folder, **{"size": SMALL, "options": QUICK, "device": "cpu", **more}
    )


def weights_of(path):
    return load_checkpoint(path).state_dict()


def is_equal(first, second):
    return all(torch.equal(first[name], second[name]) for name in first)


def without_time(history):
    return [{key: value for key, value in row.items() if key != "elapsed_s"} for row in history]


@pytest.mark.long
def test_a_training_leaves_checkpoints_a_history_and_no_partial_files(data, tmp_path):
    rows = []
    result = run(data, tmp_path, progress=rows.append)
    assert [row["epoch"] for row in result.history] == [1, 2]
    assert list(result.history) == rows
    assert set(rows[0]) == {"epoch", "train_loss", "loss", "sim", "cc", "elapsed_s"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best.pt", "last.pt"]
    image = data[1][0]
    got = ClickabilityModel.load(result.best, device="cpu")(image.image, image.target, image.error)
    assert got.shape == image.target.shape


@pytest.mark.long
def test_a_network_learns_where_the_clicks_are(data, tmp_path):
    data = [*data[0], *(instance(i) for i in range(6, 14))], data[1]
    options = replace(QUICK, epochs=12, rate=0.02)
    result = run(data, tmp_path, options=options, is_cached=True)
    assert result.history[-1]["train_loss"] < 0.6 * result.history[0]["train_loss"]
    one = data[1][0]
    got = ClickabilityModel.load(result.best, device="cpu")(one.image, one.target, one.error)
    rows, columns = np.nonzero(one.target)
    middle = (
        one.target
        & (np.indices(one.target.shape)[0] < rows.mean())
        & (np.indices(one.target.shape)[1] < columns.mean())
    )
    assert got[middle].mean() > 1.2 * got[one.target & ~middle].mean()


def test_a_network_with_a_margin_is_trained_on_what_it_sees(data):
    one = data[0][0]
    seen = view_window(one.error, 0.25)
    prepared = TrainingSet([one], side_px=32, sigma=60.0, margin=0.25)[0]
    box = Letterbox.fit(one.target[seen].shape, 32)
    clicked = click_map(one.positions, one.error, sigma=60.0, normalise="none")
    planes = [one.target[seen], one.error[seen], clicked[seen]]
    np.testing.assert_array_equal(prepared.planes[3:], [box.put_mask(plane) for plane in planes])
    np.testing.assert_array_equal(prepared.planes[:3], box.put_image(one.image[seen]))
    assert prepared.columns == box.columns


@pytest.mark.long
def test_a_stopped_training_goes_on_to_the_same_result(data, tmp_path):
    options = replace(QUICK, epochs=2)
    whole = run(data, tmp_path / "whole", options=options)

    class Stopped(Exception):
        pass

    def stop(row):
        if row["epoch"] == 1:
            raise Stopped

    with pytest.raises(Stopped):
        run(data, tmp_path / "parts", options=options, progress=stop)
    torch.rand(7)  # whatever else uses the global generator in between
    parts = run(data, tmp_path / "parts", options=options)
    assert without_time(parts.history) == without_time(whole.history)
    assert is_equal(weights_of(parts.last), weights_of(whole.last))
    assert is_equal(weights_of(parts.best), weights_of(whole.best))
    again = run(data, tmp_path / "parts", options=options)
    assert again.history == parts.history


def test_training_leaves_the_global_generator_alone(data, tmp_path):
    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    run(data, tmp_path, options=replace(QUICK, epochs=1))
    assert torch.equal(torch.rand(3), expected)


def test_a_folder_of_another_training_is_refused(data, tmp_path):
    run(data, tmp_path, options=replace(QUICK, epochs=1))
    with pytest.raises(RunConflict, match="different options"):
        run(data, tmp_path, options=replace(QUICK, epochs=1, seed=4))
    with pytest.raises(RunConflict, match="different training"):
        run((data[0][:-1], data[1]), tmp_path, options=replace(QUICK, epochs=1))


@pytest.mark.long
def test_the_best_epoch_is_chosen_by_the_named_column(data, tmp_path):
    scores = iter([0.1, 0.9, 0.5])
    seen = []

    def evaluate(model):
        seen.append(type(model).__name__)
        return {"ks": next(scores)}

    result = run(
        data, tmp_path, options=replace(QUICK, epochs=3, select_by="ks"), evaluate=evaluate
    )
    assert [row["ks"] for row in result.history] == [0.1, 0.9, 0.5]
    assert seen == ["ClickabilityModel"] * 3
    assert torch.load(result.best, weights_only=True)["epoch"] == 2
    with pytest.raises(InvalidInput, match="expected one of epoch, train_loss"):
        run(data, tmp_path / "b", options=replace(QUICK, select_by="ks"))


def test_a_training_can_start_from_weights(data, tmp_path):
    torch.manual_seed(9)
    start = ClickabilityNetwork(SMALL)
    save_checkpoint(tmp_path / "start.pt", start)
    options = replace(QUICK, epochs=1, rate=1e-12)
    result = run(data, tmp_path / "run", options=options, initial=tmp_path / "start.pt")
    before = start.state_dict()
    after = weights_of(result.last)
    learnt = [name for name, _ in start.named_parameters()]
    assert all(torch.allclose(before[name], after[name], atol=1e-8) for name in learnt)


def test_the_backbone_can_learn_more_slowly(data, tmp_path):
    torch.manual_seed(9)
    start = ClickabilityNetwork(SMALL)
    save_checkpoint(tmp_path / "start.pt", start)
    options = replace(QUICK, epochs=1, backbone_share=0.0)
    result = run(data, tmp_path / "run", options=options, initial=tmp_path / "start.pt")
    before = start.state_dict()
    after = weights_of(result.last)
    moved = {
        name: not torch.equal(before[name], after[name]) for name, _ in start.named_parameters()
    }
    assert not any(value for name, value in moved.items() if ".backbone." in name)
    assert moved["maps_transform.0.weight"]


def test_a_loss_that_is_not_finite_stops_the_training(data, tmp_path, monkeypatch):
    monkeypatch.setattr(
        training_module, "kl_divergence", lambda p, t: p.sum(dim=(1, 2, 3)) * float("nan")
    )
    with pytest.raises(SegarenaError, match="the loss became nan in epoch 1"):
        run(data, tmp_path)


def test_impossible_options_are_refused(data, tmp_path):
    with pytest.raises(InvalidInput, match=r"rate=-1, flip_share=2"):
        run(data, tmp_path, options=replace(QUICK, rate=-1, flip_share=2))
    with pytest.raises(InvalidInput, match="at least one instance"):
        run(([], data[1]), tmp_path)


def test_the_published_options_are_those_of_the_script():
    assert (
        PUBLISHED_OPTIONS.epochs,
        PUBLISHED_OPTIONS.batch_size,
        PUBLISHED_OPTIONS.rate,
        PUBLISHED_OPTIONS.sigma,
    ) == (
        20,
        16,
        0.01,
        5.0,
    )
    assert (
        PUBLISHED_OPTIONS.is_published_schedule,
        PUBLISHED_OPTIONS.radius,
        PUBLISHED_OPTIONS.backbone_share,
    ) == (
        True,
        "published",
        1.0,
    )


def test_prepared_planes_are_image_target_error_and_click_map():
    one = instance(3)
    planes = TrainingSet([one], side_px=32, sigma=9.0, radius="published")[0].planes
    box = Letterbox.fit((40, 61), 32)
    clicked = click_map(one.positions, one.error, sigma=9.0, radius="published", normalise="none")
    np.testing.assert_array_equal(planes[:3], box.put_image(one.image))
    for plane, expected in zip(planes[3:], (one.target, one.error, clicked), strict=True):
        np.testing.assert_array_equal(plane, box.put_mask(expected))


@pytest.mark.parametrize("shape", [(40, 61), (61, 40), (61, 38)])
def test_a_flip_equals_preparing_the_flipped_instance(shape):
    one = instance(3, shape)
    mirrored = replace(
        one,
        image=np.ascontiguousarray(one.image[:, ::-1]),
        target=np.ascontiguousarray(one.target[:, ::-1]),
        positions=np.stack([one.positions[:, 0], shape[1] - 1 - one.positions[:, 1]], axis=1),
    )
    sets = [TrainingSet([i], side_px=32) for i in (one, mirrored)]
    flipped = next(batches(sets[0], 1, is_flipped=np.array([True])))
    torch.testing.assert_close(flipped, next(batches(sets[1], 1)), atol=1e-5, rtol=1e-4)


def test_a_cache_keeps_what_was_prepared():
    loaded = []

    class Lazy(list):
        def __getitem__(self, index):
            loaded.append(index)
            return super().__getitem__(index)

    for is_cached, expected in ((True, [0, 1]), (False, [0, 1, 0, 1])):
        loaded.clear()
        data = TrainingSet(Lazy([instance(0), instance(1)]), side_px=32, is_cached=is_cached)
        passes = [list(batches(data, 2)) for _ in range(2)]
        assert loaded == expected
        assert torch.equal(passes[0][0], passes[1][0])


def test_workers_give_the_same_batches(data):
    prepared = TrainingSet(data[1], side_px=32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork in a process with threads
        there = list(batches(prepared, 2, workers=1))
    here = list(batches(prepared, 2))
    assert [b.shape[0] for b in here] == [2, 2, 1]
    assert all(torch.equal(a, b) for a, b in zip(here, there, strict=True))
