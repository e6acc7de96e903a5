import numpy as np
import pytest

from segarena.errors import InvalidInput
from segarena.samples import ImageSample, Target, VideoSample, VolumeSample
from segarena_studio.studies.display_modes import (
    decode_jpeg,
    displayed_mask,
    encode_jpeg,
    render_target,
    resample_to_square_pixels,
    shrink,
)
from segarena_studio.studies.mask_error_regions import correction_items
from segarena_studio.studies.study_targets import list_targets
from segarena_studio.studies.synthetic_trial_images import generate_easy_items

PICTURE = np.arange(20 * 30 * 3, dtype=np.uint8).reshape(20, 30, 3)


def square(shape=(20, 30), rows=slice(5, 9), columns=slice(10, 16)):
    mask = np.zeros(shape, bool)
    mask[..., rows, columns] = True
    return mask


def test_every_object_of_an_image_is_an_item():
    labels = square().astype(np.uint8) + 2 * square(rows=slice(12, 15)).astype(np.uint8)
    targets = (
        Target(id="cat", mask=square(), label="the cat"),
        Target(id="both", mask=labels),
        Target(id="none", mask=~square() & square()),
    )
    found = list(list_targets(ImageSample(id="a", image=PICTURE, targets=targets)))
    assert [(one.image, one.target, one.object_id, one.label) for one in found] == [
        ("a", "cat", 1, "the cat"), ("a", "both", 1, ""), ("a", "both", 2, ""),
    ]  # fmt: skip
    assert not any(one.is_alone for one in found)
    assert (found[2].mask == square(rows=slice(12, 15))).all()
    (alone,) = list_targets(ImageSample(id="a", image=PICTURE, targets=targets[:1]))
    assert alone.is_alone


def test_of_a_volume_the_largest_slice_or_several_are_shown_in_grey():
    mask = np.zeros((6, 20, 30), bool)
    for plane, width in ((1, 2), (2, 8), (3, 4), (5, 1)):
        mask[plane, 5:9, 10 : 10 + width] = True
    voxels = np.linspace(-1000, 3000, mask.size).reshape(mask.shape)
    sample = VolumeSample(
        id="v", voxels=voxels, spacing_mm=(1, 1, 1), targets=(Target(id="liver", mask=mask),)
    )
    (one,) = list_targets(sample)
    assert (one.image, one.plane, one.picture.shape, one.picture.dtype) == (
        "v:2",
        2,
        (20, 30, 3),
        np.uint8,
    )
    assert (one.mask == mask[2]).all()
    assert one.picture.min() < one.picture.max()
    assert [item.plane for item in list_targets(sample, 2)] == [1, 5]
    assert [item.plane for item in list_targets(sample, 99)] == [1, 2, 3, 5]


def test_slices_whose_pixels_are_no_squares_are_sent_as_large_as_they_are():
    mask = np.zeros((6, 20, 30), bool)
    mask[2, 5:9, 10:18] = True
    voxels = np.linspace(-1000, 3000, mask.size).reshape(mask.shape)
    sample = VolumeSample(
        id="v", voxels=voxels, spacing_mm=(9, 2, 0.5), targets=(Target(id="liver", mask=mask),)
    )
    (one,) = list_targets(sample)
    sent = resample_to_square_pixels(one.picture, one.edges)
    assert (one.picture.shape, sent.shape) == ((20, 30, 3), (80, 30, 3))
    for is_turned, ends in (
        (False, (20, 35, 10, 17)),
        (True, (44, 59, 12, 19)),
    ):  # 80 rows, 30 columns
        rows, columns = displayed_mask(one.mask, sent.shape[:2], is_turned=is_turned).nonzero()
        assert (rows.min(), rows.max(), columns.min(), columns.max()) == ends
    assert one.is_turned
    assert resample_to_square_pixels(PICTURE, (3.0, 3.0)) is PICTURE


def test_of_a_video_frames_are_shown():
    frames = [np.full((20, 30, 3), shade, np.uint8) for shade in (10, 20, 30)]
    labels = np.zeros((3, 20, 30), np.uint8)
    labels[1:, 2:6, 2:6] = 1
    labels[0, 8:12, 8:9] = 2
    sample = VideoSample(
        id="film", frames=frames, frame_shape=(20, 30), targets=(Target(id="all", mask=labels),)
    )
    assert [
        (one.plane, one.object_id, int(one.picture[0, 0, 0])) for one in list_targets(sample)
    ] == [
        (1, 1, 20),
        (0, 2, 10),
    ]


def test_display_modes_show_the_object_and_nothing_but_what_they_are_to_show():
    mask = square()
    cut_out = render_target(PICTURE, mask, "cut-out")
    assert (cut_out[mask] == PICTURE[mask]).all()
    assert (cut_out[~mask] == 128).all()
    shifted = render_target(PICTURE, mask, "shifted-cut-out")
    assert (shifted[:4, :6] == PICTURE[5:9, 10:16]).all()
    assert (shifted[4:] == 128).all()
    assert (shifted[:, 6:] == 128).all()
    silhouette = render_target(PICTURE, mask, "silhouette")
    assert (silhouette == np.where(mask, 255, 0)[:, :, None]).all()
    highlighted = render_target(PICTURE, mask, "highlighted")
    changed = (highlighted != PICTURE).any(axis=2)
    assert not (changed & mask).any()
    assert changed[4, 10:16].all()
    assert changed[5:9, 9].all()
    assert not changed[0].any()
    assert render_target(PICTURE, mask, "text") is None


def test_pictures_are_sent_no_larger_than_asked_and_masks_follow():
    large = np.zeros((400, 600, 3), np.uint8)
    assert shrink(large, 300).shape == (200, 300, 3)
    assert shrink(large, 600) is large
    mask = square((400, 600), slice(100, 200), slice(300, 500))
    assert (
        displayed_mask(mask, (200, 300)) == square((200, 300), slice(50, 100), slice(150, 250))
    ).all()
    dot = square((400, 600), slice(7, 8), slice(9, 10))
    assert displayed_mask(dot, (20, 30)).sum() == 1
    smooth = np.repeat(np.linspace(0, 255, 64, dtype=np.uint8)[:, None, None], 64, axis=1).repeat(
        3, axis=2
    )
    assert np.abs(decode_jpeg(encode_jpeg(smooth)).astype(int) - smooth).max() < 8


class SquareSegmenter:
    """A segmenter that marks a square around each click."""

    def __init__(self, radius_px):
        self.radius_px = radius_px

    def encode(self, sample):
        assert sample.targets == ()
        return sample.shape

    def predict(self, encoded, dialogues):
        rows, columns = np.indices(encoded)
        for dialogue in dialogues:
            row, column = dialogue.clicks[0].position
            yield np.maximum(abs(rows - row), abs(columns - column)) <= self.radius_px


def item(mask):
    return next(
        list_targets(ImageSample(id="a", image=PICTURE, targets=(Target(id="t", mask=mask),)))
    )


def test_what_a_mask_misses_and_what_it_has_too_much_is_asked_for():
    target = square(rows=slice(4, 13), columns=slice(6, 21))
    found = {one.goal: one for one in correction_items([item(target)], SquareSegmenter(5), "grows")}
    mask = found["missing"].previous
    assert mask is found["surplus"].previous
    assert (found["missing"].mask == (target & ~mask)).all()
    assert (found["surplus"].mask == (mask & ~target)).all()
    assert {one.model for one in found.values()} == {"grows"}


def test_a_mask_that_is_good_enough_is_not_corrected_and_the_best_of_the_others_is():
    target = square(rows=slice(5, 10), columns=slice(10, 15))
    assert correction_items([item(target)], SquareSegmenter(2), "exact") == []
    found = correction_items(
        [item(target)], SquareSegmenter(2), "exact", {0: [(7, 12), (8, 12), (9, 14)]}
    )
    assert (found[0].previous == square(rows=slice(6, 11), columns=slice(10, 15))).all()


def test_parts_that_nobody_can_hit_are_left_out():
    target = np.zeros((200, 300), bool)
    target[100:111, 100:111] = True
    wide = target.copy()
    wide[100, 111:121] = True
    sample = ImageSample(
        id="a", image=np.zeros((200, 300, 3), np.uint8), targets=(Target(id="t", mask=wide),)
    )
    (one,) = list_targets(sample)
    assert correction_items([one], SquareSegmenter(5), "grows", {0: [(105, 105)]}) == []


@pytest.mark.parametrize("count", [0, 9, 24])
def test_easy_pictures_differ_and_the_shape_is_where_the_mask_says(count):
    found = list(generate_easy_items(count, 3))
    assert len({one.label for one in found}) == count
    for one in found:
        colour = one.picture[one.mask]
        assert (colour == colour[0]).all()
        assert not (one.picture[~one.mask] == colour[0]).all(axis=1).any()
        assert 0.02 < one.mask.mean() < 0.1


def test_a_slice_whose_spacing_cannot_be_is_refused_before_it_takes_the_memory():
    with pytest.raises(InvalidInput, match="by its spacing; correct the spacing in the file"):
        resample_to_square_pixels(np.zeros((512, 512, 3), np.uint8), (5000.0, 0.001))
