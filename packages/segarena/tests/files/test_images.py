"""Reading images and masks: the result for each kind of file, and the messages for invalid ones."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngImageFile

from segarena.errors import InvalidImage, InvalidMask
from segarena.files.images import (
    check_same_shape,
    keeps_shape,
    list_image_files,
    read_grey,
    read_image,
    read_mask_colours,
    read_mask_values,
    read_orientation,
    turn_upright,
)

PIXELS = np.random.default_rng(7).integers(0, 256, (6, 9, 3), dtype=np.uint8)
ORIENTATION = 0x0112


def save(path, array, mode=None, **options):
    image = Image.fromarray(array) if mode is None else Image.fromarray(array).convert(mode)
    image.save(path, **options)
    return path


def palette_file(path, indices, colours, **options):
    image = Image.fromarray(indices.astype(np.uint8), "L").convert("P")
    image.putdata(indices.ravel().tolist())
    image.putpalette([level for colour in colours for level in colour])
    image.save(path, **options)
    return path


def test_rgb_image_is_read_as_it_is(tmp_path):
    image = read_image(save(tmp_path / "a.png", PIXELS))
    assert image.dtype == np.uint8
    assert image.flags.writeable
    np.testing.assert_array_equal(image, PIXELS)


def test_grey_image_is_repeated_over_three_channels(tmp_path):
    image = read_image(save(tmp_path / "a.png", PIXELS[:, :, 0]))
    np.testing.assert_array_equal(image, np.repeat(PIXELS[:, :, :1], 3, axis=2))


def test_one_bit_image_is_black_and_white(tmp_path):
    is_white = PIXELS[:, :, 0] > 127
    image = read_image(save(tmp_path / "a.png", is_white))
    np.testing.assert_array_equal(image[:, :, 1], is_white * 255)


def test_alpha_of_an_image_is_dropped(tmp_path, rng):
    alpha = rng.integers(0, 256, (6, 9, 1), dtype=np.uint8)
    np.testing.assert_array_equal(
        read_image(save(tmp_path / "a.png", np.dstack([PIXELS, alpha]))), PIXELS
    )
    grey = read_image(save(tmp_path / "b.png", np.dstack([PIXELS[:, :, :1], alpha])))
    np.testing.assert_array_equal(grey[:, :, 2], PIXELS[:, :, 0])


@pytest.mark.parametrize("options", [{}, {"transparency": 1}, {"transparency": b"\x00\x80\xff"}])
def test_palette_image_is_looked_up(tmp_path, options, rng):
    colours = np.array([(10, 20, 30), (200, 0, 5), (0, 0, 255)], dtype=np.uint8)
    indices = rng.integers(0, 3, (6, 9))
    np.testing.assert_array_equal(
        read_image(palette_file(tmp_path / "a.png", indices, colours, **options)), colours[indices]
    )


def test_cmyk_image_is_converted(tmp_path):
    path = tmp_path / "a.tif"
    Image.merge("CMYK", [Image.new("L", (4, 3), value) for value in (0, 255, 255, 0)]).save(path)
    assert read_image(path)[0, 0].tolist() == [255, 0, 0]


def test_sixteen_bit_colour_keeps_the_high_byte(tmp_path):
    import cv2

    path = tmp_path / "a.png"
    cv2.imwrite(str(path), PIXELS[:, :, ::-1].astype(np.uint16) * 256 + 77)
    np.testing.assert_array_equal(read_image(path), PIXELS)


@pytest.mark.parametrize(
    ("dtype", "name"), [(np.uint16, "a.png"), (np.float32, "a.tif"), (np.int32, "b.tif")]
)
def test_deep_grey_image_is_refused(tmp_path, dtype, name):
    path = save(tmp_path / name, np.arange(12, dtype=dtype).reshape(3, 4))
    with pytest.raises(
        InvalidImage,
        match=rf"{name}: expected 8 bits per channel, got pillow mode .*scale it to 0..255",
    ):
        read_image(path)


@pytest.mark.parametrize(("orientation", "turn"), [
    (3, lambda a: np.rot90(a, 2)),
    (6, lambda a: np.rot90(a, -1)),
    (8, lambda a: np.rot90(a, 1)),
    (2, lambda a: a[:, ::-1]),
])  # fmt: skip
def test_image_is_turned_upright_by_its_exif_orientation(tmp_path, orientation, turn):
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    path = save(tmp_path / "a.png", PIXELS, exif=exif)
    np.testing.assert_array_equal(read_image(path), turn(PIXELS))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_stored_pixels_are_turned_like_their_image(tmp_path, orientation):
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    path = save(tmp_path / "a.png", PIXELS, exif=exif)
    assert read_orientation(path) == orientation
    np.testing.assert_array_equal(turn_upright(PIXELS, orientation), read_image(path))
    np.testing.assert_array_equal(
        turn_upright(PIXELS[:, :, 0], orientation), read_image(path)[:, :, 0]
    )
    assert keeps_shape(path, orientation) == (orientation in (2, 3, 4))
    square = save(tmp_path / "square.png", PIXELS[:, :6], exif=exif)
    assert keeps_shape(square, orientation) == (orientation > 1)


@pytest.mark.parametrize("orientation", [None, 0, 9])
def test_other_orientations_count_as_none(tmp_path, orientation):
    exif = Image.Exif()
    if orientation is not None:
        exif[ORIENTATION] = orientation
    assert read_orientation(save(tmp_path / "a.png", PIXELS, exif=exif)) is None
    assert read_orientation(tmp_path / "missing.png") is None
    np.testing.assert_array_equal(turn_upright(PIXELS, None), PIXELS)


def test_missing_image_is_named(tmp_path):
    with pytest.raises(
        InvalidImage, match=r"a.png: expected an image file here, got none; restore it"
    ):
        read_image(tmp_path / "a.png")


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"\x89PNG\r\n\x1a\n", b"BM", b"\xff\xd8\xff\xe0"]
)
def test_file_that_is_no_image_is_named(tmp_path, content):
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(
        InvalidImage,
        match=r"a.png: expected a readable image file, got: .*; copy or export it again",
    ):
        read_image(tmp_path / "a.png")
    with pytest.raises(InvalidMask, match=r"a.png: expected a readable image file"):
        read_mask_values(tmp_path / "a.png")


@pytest.mark.filterwarnings("ignore::UserWarning")  # pillow also warns of damaged TIFF tags
@pytest.mark.parametrize("suffix", ["png", "jpg", "bmp", "tif", "webp", "ppm"])
def test_truncated_image_is_refused_wherever_it_is_cut(tmp_path, suffix, rng):
    whole = save(
        tmp_path / f"a.{suffix}", rng.integers(0, 256, (24, 30, 3), dtype=np.uint8)
    ).read_bytes()
    cut = tmp_path / f"cut.{suffix}"
    for size in range(0, int(len(whole) * 0.9), max(1, len(whole) // 60)):
        cut.write_bytes(whole[:size])
        with pytest.raises(InvalidImage, match=rf"cut.{suffix}: expected"):
            read_image(cut)


@pytest.mark.filterwarnings("ignore::UserWarning")  # pillow also warns of damaged TIFF tags
@pytest.mark.parametrize("suffix", ["png", "jpg", "bmp", "tif", "webp", "ppm"])
def test_damaged_image_is_read_or_refused_but_never_a_crash(tmp_path, suffix, rng):
    whole = bytearray(
        save(tmp_path / f"a.{suffix}", rng.integers(0, 256, (8, 9, 3), dtype=np.uint8)).read_bytes()
    )
    path = tmp_path / f"damaged.{suffix}"
    refused = 0
    for _ in range(60):
        damaged = bytearray(whole)
        for place in rng.integers(0, min(len(whole), 200), 3):
            damaged[place] = rng.integers(0, 256)
        path.write_bytes(damaged)
        try:
            assert read_image(path).ndim == 3
        except InvalidImage:
            refused += 1
    assert refused


def test_an_image_that_does_not_fit_into_memory_is_refused(tmp_path, monkeypatch):
    def load(_):
        raise MemoryError

    path = save(tmp_path / "a.png", PIXELS)
    monkeypatch.setattr(PngImageFile, "load", load)
    with pytest.raises(InvalidImage, match=r"a\.png: expected an image that fits into memory"):
        read_image(path)


def test_decompression_bomb_is_refused(tmp_path, monkeypatch):
    path = save(tmp_path / "a.png", np.zeros((40, 40), dtype=np.uint8))
    monkeypatch.setenv("SEGARENA_MAX_PIXELS", "300")
    with pytest.raises(
        InvalidImage,
        match=r"a.png: expected at most 300 pixels, but the header claims 1,600; scale it",
    ):
        read_image(path)
    with pytest.raises(InvalidMask, match="expected at most 300 pixels"):
        read_mask_colours(path)


def test_file_of_several_frames_is_refused(tmp_path):
    frames = [Image.new("L", (4, 3), value) for value in (1, 2, 3)]
    frames[0].save(tmp_path / "a.tif", save_all=True, append_images=frames[1:])
    with pytest.raises(InvalidImage, match=r"a.tif: expected one image, got a file of 3 frames"):
        read_image(tmp_path / "a.tif")


def test_phone_photograph_with_previews_is_one_image(tmp_path):
    frames = [Image.fromarray(PIXELS), Image.fromarray(PIXELS[:3])]
    path = tmp_path / "a.jpg"
    frames[0].save(path, format="MPO", save_all=True, append_images=frames[1:])
    assert read_image(path).shape == PIXELS.shape


def test_files_are_listed_by_path_without_hidden_ones(tmp_path):
    for name in (
        "b.png",
        "a/z.JPG",
        "a/b.tif",
        ".hidden.png",
        "__MACOSX/x.png",
        ".cache/y.png",
        "notes.txt",
        "a.png",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    listed = [path.relative_to(tmp_path).as_posix() for path in list_image_files(tmp_path)]
    assert listed == ["a/b.tif", "a/z.JPG", "a.png", "b.png"]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_grey_mask_gives_its_values(tmp_path, dtype, rng):
    values = rng.integers(0, np.iinfo(dtype).max + 1, (5, 4)).astype(dtype)
    read = read_mask_values(save(tmp_path / "a.png", values))
    assert read.dtype == np.int32
    np.testing.assert_array_equal(read, values)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_grey_levels_keep_the_bits_of_their_file(tmp_path, dtype, rng):
    values = rng.integers(0, np.iinfo(dtype).max, (5, 7)).astype(dtype)
    Image.fromarray(values).save(tmp_path / "levels.png")
    found = read_grey(tmp_path / "levels.png")
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, values)


def test_colours_are_no_grey_levels(tmp_path):
    Image.new("RGB", (4, 3)).save(tmp_path / "colours.png")
    with pytest.raises(InvalidMask, match="grey file of 8 or 16 bits"):
        read_grey(tmp_path / "colours.png")


def test_one_bit_mask_gives_zero_and_one(tmp_path):
    values = PIXELS[:, :, 0] > 99
    np.testing.assert_array_equal(
        read_mask_values(save(tmp_path / "a.png", values)), values.astype(int)
    )


def test_palette_mask_gives_its_indices(tmp_path, rng):
    indices = rng.integers(0, 3, (6, 9))
    path = palette_file(tmp_path / "a.png", indices, [(0, 0, 0), (128, 0, 0), (0, 128, 0)])
    np.testing.assert_array_equal(read_mask_values(path), indices)
    np.testing.assert_array_equal(read_mask_values(path, palette_must_agree=True), indices)


def test_palette_whose_background_is_not_black_is_refused_when_it_must_agree(tmp_path, rng):
    path = palette_file(
        tmp_path / "a.png", rng.integers(0, 2, (6, 9)), [(255, 255, 255), (0, 0, 0)]
    )
    with pytest.raises(
        InvalidMask, match=r"a.png: expected a palette whose colour 0 alone is black.*grey PNG"
    ):
        read_mask_values(path, palette_must_agree=True)


@pytest.mark.parametrize("read", [read_mask_values, read_mask_colours])
@pytest.mark.parametrize("channels", [2, 4])
def test_transparent_mask_is_refused_and_opaque_alpha_dropped(tmp_path, read, channels):
    mask = np.full((6, 9, channels), 255, dtype=np.uint8)
    mask[2:4, :, :-1] = 0
    assert read(save(tmp_path / "opaque.png", mask)).sum() == 255 * 4 * 9 * (
        3 if read is read_mask_colours else 1
    )
    mask[0, 0, -1] = 254
    with pytest.raises(
        InvalidMask, match=r"b.png: expected an opaque mask, got one with transparent pixels"
    ):
        read(save(tmp_path / "b.png", mask))


def test_grey_mask_saved_as_rgb_gives_its_channel(tmp_path):
    values = PIXELS[:, :, 0]
    path = save(tmp_path / "a.png", np.dstack([values] * 3))
    np.testing.assert_array_equal(read_mask_values(path), values)


def test_coloured_mask_is_refused_as_values(tmp_path):
    with pytest.raises(
        InvalidMask, match=r"a.png: expected a grey mask, got colours; use encoding='colour'"
    ):
        read_mask_values(save(tmp_path / "a.png", PIXELS))


def test_floating_mask_is_refused(tmp_path):
    path = save(tmp_path / "a.tif", np.ones((3, 4), dtype=np.float32))
    with pytest.raises(
        InvalidMask, match=r"a.tif: expected a grey or palette mask, got pillow mode F"
    ):
        read_mask_values(path)
    with pytest.raises(
        InvalidMask, match="expected 8 bits per channel, got a 16-bit or floating mask"
    ):
        read_mask_colours(path)


def test_sixteen_bit_colours_are_refused_in_masks(tmp_path):
    import cv2

    path = tmp_path / "a.png"
    cv2.imwrite(str(path), np.full((3, 4, 3), 300, dtype=np.uint16))
    with pytest.raises(
        InvalidMask, match=r"a.png: expected a grey or palette mask, got 16-bit pillow mode RGB"
    ):
        read_mask_values(path)
    with pytest.raises(
        InvalidMask,
        match=r"a.png: expected 8 bits per channel, got a 16-bit .*use encoding='index'",
    ):
        read_mask_colours(path)


def test_colours_of_palette_grey_and_rgb_masks(tmp_path, rng):
    colours = np.array([(0, 0, 0), (128, 0, 0), (0, 128, 0)], dtype=np.uint8)
    indices = rng.integers(0, 3, (6, 9))
    np.testing.assert_array_equal(
        read_mask_colours(palette_file(tmp_path / "a.png", indices, colours)), colours[indices]
    )
    np.testing.assert_array_equal(read_mask_colours(save(tmp_path / "b.png", PIXELS)), PIXELS)
    np.testing.assert_array_equal(
        read_mask_colours(save(tmp_path / "c.png", PIXELS[:, :, 0]))[:, :, 2], PIXELS[:, :, 0]
    )


def test_sizes_that_differ_are_said_in_width_and_height(tmp_path):
    image = np.zeros((20, 10, 3), dtype=np.uint8)
    with pytest.raises(
        InvalidMask, match=r"m.png: expected the size of i.jpg, 10 x 20 pixels, got 11 x 20; resize"
    ):
        check_same_shape(
            np.zeros((20, 11), dtype=bool), tmp_path / "m.png", image, tmp_path / "i.jpg"
        )
    with pytest.raises(
        InvalidMask, match=r"got 20 x 10; one of them is rotated by 90 degrees.*EXIF"
    ):
        check_same_shape(
            np.zeros((10, 20), dtype=bool), tmp_path / "m.png", image, tmp_path / "i.jpg"
        )
    check_same_shape(np.zeros((20, 10), dtype=bool), tmp_path / "m.png", image, tmp_path / "i.jpg")
