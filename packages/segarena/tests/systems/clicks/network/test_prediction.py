from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from segarena.errors import InvalidImage, InvalidInput, InvalidMask  # noqa: E402
from segarena.systems.clicks.network.checkpoint import save_checkpoint  # noqa: E402
from segarena.systems.clicks.network.letterbox import view_window  # noqa: E402
from segarena.systems.clicks.network.model import NETWORK_SIZES, ClickabilityNetwork  # noqa: E402
from segarena.systems.clicks.network.prediction import ClickabilityModel  # noqa: E402

torch.set_num_threads(1)
WHOLE = replace(NETWORK_SIZES["tiny"], margin=None)


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    return ClickabilityNetwork(WHOLE).eval()


def scene(shape, seed=0):
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 256, (*shape, 3), dtype=np.uint8)
    target = np.zeros(shape, dtype=bool)
    target[shape[0] // 4 : shape[0] // 2, shape[1] // 3 : shape[1] // 2] = True
    error = np.where(target, rng.random(shape), 0).astype(np.float32)
    return image, target, error


def plain_map(network, image, target, error, *, side, epsilon, again):
    """The published steps in the published order, for landscape images."""
    full = (image / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    rows = image.shape[0] * side // image.shape[1]
    top = (side - rows) // 2
    planes = []
    for plane in (*np.moveaxis(full, -1, 0), target, error):
        canvas = np.zeros((side, side), dtype=np.float32)
        canvas[top : top + rows] = cv2.resize(plane.astype(np.float32), (side, rows))
        planes.append(canvas)
    batch = torch.from_numpy(np.stack(planes))[None]
    with torch.no_grad():
        coarse = network.encoder_decoder(batch[:, :3], network.maps_transform(batch[:, 3:]))
        canvas = functional.interpolate(
            coarse, size=(side, side), mode="bilinear", align_corners=True
        )
        canvas = (canvas - canvas.min()) / (canvas.max() - canvas.min() + epsilon)
        cut = canvas[:, :, top : top + rows]
        found = functional.interpolate(
            cut, size=image.shape[:2], mode="bilinear", align_corners=False
        )[0, 0].numpy()
    return (found - found.min()) / (found.max() - found.min()) if again else found


@pytest.mark.parametrize(
    ("call_path", "epsilon", "again"), [("benchmark", 1e-8, False), ("evaluation", 1e-9, True)]
)
def test_a_map_equals_the_published_steps(network, call_path, epsilon, again):
    image, target, error = scene((150, 260))
    model = ClickabilityModel(network, device="cpu", call_path=call_path)
    got = model(image, target, error)
    expected = plain_map(network, image, target, error, side=128, epsilon=epsilon, again=again)
    assert got.dtype == np.float32
    assert got.shape == (150, 260)
    np.testing.assert_allclose(got, expected, atol=1e-5)


def test_antialiasing_matters_only_below_the_canvas_size(network):
    for shape, is_equal in [((150, 260), True), ((40, 60), False)]:
        maps = [
            ClickabilityModel(network, device="cpu", antialias=a)(*scene(shape))
            for a in (True, False)
        ]
        assert np.allclose(*maps, atol=1e-5) == is_equal


def test_a_batch_of_different_sizes_equals_single_calls(network):
    scenes = [
        scene(shape, seed)
        for seed, shape in enumerate([(60, 80), (90, 40), (128, 128), (33, 70), (60, 80)])
    ]
    model = ClickabilityModel(network, device="cpu", batch_size=2)
    together = model.predict_maps(*zip(*scenes, strict=True))
    for got, (image, target, error) in zip(together, scenes, strict=True):
        np.testing.assert_allclose(got, model(image, target, error), atol=1e-5)


def test_a_network_with_a_margin_sees_nothing_beyond_it(network):
    image, target, error = scene((90, 120))  # the error lies in rows 22 to 44, columns 40 to 59
    near = ClickabilityNetwork(NETWORK_SIZES["tiny"]).eval()
    near.load_state_dict(network.state_dict())
    model = ClickabilityModel(near, device="cpu")
    got = model(image, target, error)
    window = view_window(error, 0.3)
    assert window == (slice(15, 52), slice(33, 67))
    assert got[window].any()
    assert np.count_nonzero(got) == np.count_nonzero(got[window])
    elsewhere = image.copy()
    elsewhere[60:] = 0
    np.testing.assert_array_equal(model(elsewhere, target, error), got)
    cut = ClickabilityModel(network, device="cpu")(image[window], target[window], error[window])
    np.testing.assert_allclose(got[window], cut, atol=1e-6)


def test_the_error_and_the_target_both_change_the_map(network):
    image, target, error = scene((80, 100))
    model = ClickabilityModel(network, device="cpu")
    base = model(image, target, error)
    assert not np.allclose(base, model(image, target, error > 0.5), atol=1e-4)
    assert not np.allclose(base, model(image, ~target, error), atol=1e-4)


def test_an_empty_error_gives_a_zero_map_also_inside_a_batch(network):
    image, target, error = scene((50, 60))
    nothing = np.zeros_like(error)
    maps = ClickabilityModel(network, device="cpu").predict_maps(
        [image] * 2, [target] * 2, [nothing, error]
    )
    assert not maps[0].any()
    assert maps[1].any()


def test_the_model_loads_from_a_file(network, tmp_path):
    save_checkpoint(tmp_path / "w.pt", network)
    image, target, error = scene((50, 60))
    loaded = ClickabilityModel.load(tmp_path / "w.pt", device="cpu")
    np.testing.assert_array_equal(
        loaded(image, target, error), ClickabilityModel(network, device="cpu")(image, target, error)
    )


def test_wrong_input_is_refused(network):
    image, target, error = scene((50, 60))
    model = ClickabilityModel(network, device="cpu")
    with pytest.raises(InvalidImage, match="8-bit"):
        model(image / 255, target, error)
    with pytest.raises(InvalidMask, match="target"):
        model(image, target[1:], error)
    with pytest.raises(InvalidMask, match="error mask"):
        model(image, target, error[1:])
    with pytest.raises(InvalidInput, match="2 images"):
        model.predict_maps([image] * 2, [target], [error])
