from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from segarena.segmenters.learned.promptable.image_space import ImageSpace  # noqa: E402


@pytest.mark.parametrize(
    ("shape", "inner"),
    [
        ((1, 1), (64, 64)),
        ((3000, 20), (64, 1)),
        ((20, 30000), (1, 64)),
        ((100, 51), (64, 33)),
        ((64, 64), (64, 64)),
    ],
)
def test_the_longer_side_fills_the_square_and_the_shorter_keeps_a_pixel(shape, inner):
    assert ImageSpace.of(shape, 64, is_padded=True).inner == inner
    assert ImageSpace.of(shape, 64, is_padded=False).inner == (64, 64)


@pytest.mark.parametrize("is_padded", [True, False])
def test_positions_are_scaled_and_turned_to_x_y_without_a_shift(is_padded):
    space = ImageSpace.of((32, 16), 64, is_padded=is_padded)
    x_scale = 2 if is_padded else 4
    assert space.to_network([(0, 0), (31, 15), (3, 7)]).tolist() == [
        [0, 0],
        [15 * x_scale, 62],
        [7 * x_scale, 6],
    ]
    assert space.to_network([]).shape == (0, 2)


def test_padding_is_zero_after_normalising_and_lies_below_or_right():
    image = np.full((10, 20, 3), 200, np.uint8)
    pixels = ImageSpace.of((10, 20), 64, is_padded=True).pixels(
        image, (0.5, 0.4, 0.3), (0.2, 0.3, 0.4)
    )
    assert pixels.shape == (1, 3, 64, 64)
    assert (pixels[0, :, 32:] == 0).all()
    wanted = [(200 / 255 - mean) / std for mean, std in ((0.5, 0.2), (0.4, 0.3), (0.3, 0.4))]
    np.testing.assert_allclose(pixels[0, :, :32].amin(dim=(1, 2)), wanted, rtol=1e-6)
    np.testing.assert_allclose(pixels[0, :, :32].amax(dim=(1, 2)), wanted, rtol=1e-6)


@pytest.mark.parametrize("is_padded", [True, False])
@pytest.mark.parametrize("shape", [(64, 128), (96, 96), (200, 50)])
def test_upsampled_logits_lie_where_they_were_without_a_half_pixel_shift(shape, is_padded):
    """A plane that rises linearly in the image, sampled at low-resolution pixel centres, comes back as it was."""
    space = ImageSpace.of(shape, 64, is_padded=is_padded)
    low = 16
    centres = (np.arange(low) + 0.5) * 64 / low  # in the square
    rows, columns = centres * shape[0] / space.inner[0], centres * shape[1] / space.inner[1]
    plane = torch.from_numpy((2 * rows[:, None] - 3 * columns[None, :]).astype(np.float32))
    full = space.upsample(plane[None])[0].numpy()
    assert full.shape == shape
    wanted = 2 * (np.arange(shape[0]) + 0.5)[:, None] - 3 * (np.arange(shape[1]) + 0.5)[None, :]
    row_margin, column_margin = (
        int(np.ceil(length / inner * 8)) for length, inner in zip(shape, space.inner, strict=True)
    )
    inside = np.s_[row_margin:-row_margin, column_margin:-column_margin]
    np.testing.assert_allclose(full[inside], wanted[inside], atol=1e-2)


@pytest.mark.parametrize("is_padded", [True, False])
def test_a_drawn_mask_comes_back_from_its_logits(is_padded):
    rows, columns = np.mgrid[:120, :80]
    mask = (rows - 50) ** 2 + (columns - 40) ** 2 < 25**2
    space = ImageSpace.of(mask.shape, 256, is_padded=is_padded)
    logits = space.mask_logits(mask, 64)
    assert logits.min() == -10
    assert logits.max() == pytest.approx(10)
    again = space.upsample(torch.from_numpy(logits)[None])[0].numpy() > 0
    assert (again & mask).sum() / (again | mask).sum() > 0.97
    assert (space.mask_logits(np.zeros_like(mask), 64) == -10).all()


@pytest.mark.parametrize("is_padded", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (40, 70), (200, 90), (64, 64)])
def test_a_device_prepares_pixels_that_differ_by_at_most_one_grey_level(shape, is_padded):
    image = np.random.default_rng(1).integers(0, 256, (*shape, 3), dtype=np.uint8)
    space = ImageSpace.of(shape, 64, is_padded=is_padded)
    mean, std = (0.5, 0.4, 0.3), (0.2, 0.3, 0.4)
    here = space.pixels(image, mean, std)
    there = space.pixels_on(torch.device("cpu"), image, mean, std)
    assert there.shape == here.shape
    assert there.dtype == torch.float32
    levels = (here - there).abs() * torch.tensor(std).reshape(1, 3, 1, 1) * 255
    assert float(levels.max()) < 1.001
    height, width = space.inner
    assert not there[..., height:, :].any()
    assert not there[..., :, width:].any()


def test_planes_are_upsampled_together_as_they_are_alone():
    planes = torch.from_numpy(np.random.default_rng(0).normal(size=(5, 16, 16)).astype(np.float32))
    for is_padded in (True, False):
        space = ImageSpace.of((50, 33), 64, is_padded=is_padded)
        together = space.upsample(planes)
        for index in range(len(planes)):
            assert torch.equal(together[index], space.upsample(planes[index : index + 1])[0])
