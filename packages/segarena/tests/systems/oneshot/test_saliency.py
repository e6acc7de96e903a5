from __future__ import annotations

import cv2
import numpy as np
import pytest

from segarena.dialogue import Dialogue
from segarena.errors import (
    DatasetMissing,
    InvalidInput,
    PluginInvalid,
    SampleInvalid,
    SegmenterError,
)
from segarena.registry import build
from segarena.samples import ImageSample, VolumeSample
from segarena.systems.oneshot.saliency import BUILT_IN_SALIENCY, build_saliency

NAMES = sorted(BUILT_IN_SALIENCY)


def disc_on_grey(shape=(90, 120)):
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    disc = (rows - 40) ** 2 + (columns - 70) ** 2 < 18**2
    image = np.random.default_rng(0).normal(100, 6, (*shape, 3))
    image[disc] += (110, 20, -60)
    return image.clip(0, 255).astype(np.uint8), disc


@pytest.mark.parametrize("name", NAMES)
def test_a_red_disc_on_grey_stands_out(name):
    image, disc = disc_on_grey()
    found = BUILT_IN_SALIENCY[name](image)
    assert found.shape == disc.shape
    assert found.dtype == np.float32
    assert 0 <= found.min() <= found.max() <= 1
    assert found[disc].mean() > 2 * found[~disc].mean()


def test_boundary_contrast_cut_at_one_half_is_the_disc():
    image, disc = disc_on_grey()
    found = BUILT_IN_SALIENCY["boundary-contrast"](image) >= 0.5
    assert (found & disc).sum() / (found | disc).sum() > 0.9


def test_what_fills_a_side_of_the_image_does_not_stand_out_for_boundary_contrast():
    image, disc = disc_on_grey()
    image[:, 105:] = (0, 200, 0)
    found = BUILT_IN_SALIENCY["boundary-contrast"](image)
    assert found[disc].mean() > 2 * found[:, 108:].mean()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (300, 2), (64, 64), (700, 500)])
def test_an_image_of_one_colour_has_nothing_salient(name, shape):
    assert not BUILT_IN_SALIENCY[name](np.full((*shape, 3), (200, 30, 90), np.uint8)).any()


@pytest.mark.parametrize("name", NAMES)
def test_odd_shapes_are_taken(name):
    for shape in [(1, 200), (200, 1), (2, 2), (3, 1000)]:
        image = np.random.default_rng(1).integers(0, 256, (*shape, 3), dtype=np.uint8)
        found = BUILT_IN_SALIENCY[name](image)
        assert found.shape == shape
        assert np.isfinite(found).all()


def test_maps_are_read_from_a_folder_and_scaled(tmp_path):
    sample = ImageSample(id="class a/one", image=np.zeros((4, 6, 3), np.uint8))
    (tmp_path / "class a").mkdir()
    values = np.zeros((2, 3), np.uint16)
    values[:, 2] = 65535
    cv2.imwrite(str(tmp_path / "class a" / "one.png"), values)
    found = build_saliency(str(tmp_path))(sample)
    assert found.shape == (4, 6)
    assert np.array_equal(found[:, [0, 5]], [[0, 1]] * 4)
    np.save(tmp_path / "two.npy", np.full((4, 6), 0.25))
    assert (build_saliency(str(tmp_path))(ImageSample(id="two", image=sample.image)) == 0.25).all()
    with pytest.raises(DatasetMissing, match=r"three\.png .* found none"):
        build_saliency(str(tmp_path))(ImageSample(id="three", image=sample.image))
    np.save(tmp_path / "three.npy", np.full((4, 6), 7.0))
    with pytest.raises(SampleInvalid, match="of 0 to 1, got other values"):
        build_saliency(str(tmp_path))(ImageSample(id="three", image=sample.image))
    (tmp_path / "four.png").write_bytes(b"no picture")
    with pytest.raises(SampleInvalid, match="expected an image file"):
        build_saliency(str(tmp_path))(ImageSample(id="four", image=sample.image))


def test_a_function_of_a_file_is_called_with_the_image(tmp_path):
    (tmp_path / "mine.py").write_text("def red(image):\n    return image[..., 0] / 255\n")
    image, _ = disc_on_grey()
    found = build_saliency(f"{tmp_path}/mine.py:red")(ImageSample(id="a", image=image))
    assert np.allclose(found, image[..., 0] / 255)


def test_unknown_saliency_is_refused():
    with pytest.raises(
        InvalidInput, match="expected boundary-contrast, spectral-residual, a folder"
    ):
        build_saliency("u2net")
    with pytest.raises(DatasetMissing, match="a folder of maps that exists"):
        build_saliency("maps/none")


def test_saliency_only_answers_the_same_whatever_is_asked():
    image, disc = disc_on_grey()
    segmenter = build("segmenter", "saliency-only")
    first, second = segmenter.predict(
        segmenter.encode(ImageSample(id="a", image=image)), [Dialogue(), Dialogue()]
    )
    assert np.array_equal(first.mask, second.mask)
    assert (first.mask & disc).sum() / (first.mask | disc).sum() > 0.9
    with pytest.raises(PluginInvalid, match="above 0"):
        build("segmenter", "saliency-only(threshold=0)")
    with pytest.raises(SegmenterError, match="accepts only images"):
        segmenter.encode(
            VolumeSample(id="v", voxels=np.zeros((2, 3, 4)), spacing_mm=(1.0, 1.0, 1.0))
        )


def test_an_image_that_is_only_shown_needs_no_map(tmp_path):
    segmenter = build("segmenter", f"saliency-only(saliency={str(tmp_path)!r})")
    encoded = segmenter.encode(ImageSample(id="a", image=disc_on_grey()[0]))
    with pytest.raises(DatasetMissing):
        segmenter.predict(encoded, [Dialogue()])
