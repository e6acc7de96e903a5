"""The published click sets, compared with a plain OpenCV reader of the same files."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from segarena.datasets.mask_encodings import DecodedMask
from segarena.errors import DatasetError, DatasetMissing, SampleInvalid
from segarena.registry import build
from segarena.roles import Dataset
from segarena.systems.clicks.datasets.click_datasets import scale_down

FOLDERS = {
    "grabcut": ("data_GT", "boundary_GT"),
    "berkeley": ("images", "masks"),
    "davis345": ("img", "gt"),
    "coco-mval": ("img", "gt"),
    "tetris": ("images", "masks"),
}


def write(folder, name, array):
    folder.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(array, dtype=np.uint8)).save(folder / name)


def noise(rows=12, columns=15):
    return np.random.default_rng((rows, columns)).integers(
        0, 256, (rows, columns, 3), dtype=np.uint8
    )


def make(root, kind, image_name, mask_name, mask, image=None):
    images, masks = FOLDERS[kind]
    write(root / images, image_name, noise(*np.shape(mask)[:2]) if image is None else image)
    write(root / masks, mask_name, mask)
    return build("dataset", f"{kind}(path={str(root)!r})")


def codes(*, rows=12, columns=15, values=(0, 5, 256, 65536, 0x0102FF)):
    """A mask of TETRIS codes as RGB: code = blue * 65536 + green * 256 + red."""
    code = np.random.default_rng((rows, columns)).choice(values, (rows, columns))
    return np.dstack([code % 256, code // 256 % 256, code // 65536])


@pytest.mark.parametrize("kind", list(FOLDERS))
def test_each_set_is_a_dataset_and_says_what_is_missing(tmp_path, kind):
    images, masks = FOLDERS[kind]
    with pytest.raises(
        DatasetMissing, match=rf"{images}: expected a folder with the images of .*; the layout is"
    ):
        build("dataset", f"{kind}(path={str(tmp_path)!r})")
    (tmp_path / images).mkdir()
    with pytest.raises(DatasetMissing, match=rf"{masks}: expected a folder with the masks of"):
        build("dataset", f"{kind}(path={str(tmp_path)!r})")
    (tmp_path / masks).mkdir()
    with pytest.raises(DatasetMissing, match=rf"{images}: expected the images of .*, found none"):
        build("dataset", f"{kind}(path={str(tmp_path)!r})")
    assert isinstance(make(tmp_path, kind, "a.png", "a.png", np.full((12, 15, 3), 255)), Dataset)


@pytest.mark.parametrize("kind", ["grabcut", "berkeley"])
@pytest.mark.parametrize("channels", [1, 3])
def test_trimaps_are_read_as_published(tmp_path, kind, channels, rng):
    values = rng.choice([0, 1, 64, 127, 128, 129, 255], (12, 15, channels))
    found = make(
        tmp_path, kind, "21077.jpg", "21077.bmp", values[:, :, 0] if channels == 1 else values
    )
    (target,) = found.load("21077").targets
    published = cv2.imread(str(tmp_path / FOLDERS[kind][1] / "21077.bmp"))[:, :, 0].astype(np.int32)
    published[published == 128] = -1
    published[published > 128] = 1
    np.testing.assert_array_equal(target.mask, published == 1)
    np.testing.assert_array_equal(target.ignore, published == -1)
    assert target.id == "object"


def test_nothing_is_ignored_where_no_pixel_is_undecided(tmp_path):
    (target,) = make(tmp_path, "grabcut", "a.jpg", "a.bmp", np.eye(12) * 255).load("a").targets
    assert target.ignore is None


@pytest.mark.parametrize("kind", ["davis345", "coco-mval"])
def test_everything_not_black_is_the_object(tmp_path, kind, rng):
    mask = noise() * (rng.random((12, 15, 1)) < 0.4) * (rng.random((12, 15, 3)) < 0.5)
    (target,) = make(tmp_path, kind, "000.jpg", "000.png", mask).load("000").targets
    published = np.max(cv2.imread(str(tmp_path / "gt" / "000.png")), axis=2) > 0
    np.testing.assert_array_equal(target.mask, published)
    assert target.ignore is None


def test_palette_masks_of_davis_are_looked_up(tmp_path, rng):
    indices = rng.integers(0, 4, (12, 15)).astype(np.uint8)
    image = Image.fromarray(indices, "L").convert("P")
    image.putdata(indices.ravel().tolist())
    # Index 3 is black, too: the published reader sees colours, so it is background.
    image.putpalette([0, 0, 0, 128, 0, 0, 0, 128, 0, 0, 0, 0])
    found = make(tmp_path, "davis345", "000.jpg", "000.png", np.ones((12, 15)))
    image.save(tmp_path / "gt" / "000.png")
    (target,) = found.load("000").targets
    published = np.max(cv2.imread(str(tmp_path / "gt" / "000.png")), axis=2) > 0
    np.testing.assert_array_equal(target.mask, published)
    assert not np.array_equal(target.mask, indices > 0)


def test_a_mask_is_found_by_the_name_before_the_first_dot(tmp_path):
    found = make(
        tmp_path, "coco-mval", "baseball bat00_1.small.jpg", "baseball bat00_1.png", np.eye(12)
    )
    assert found.sample_ids == ("baseball bat00_1",)
    assert len(found.load("baseball bat00_1").targets) == 1


def test_images_are_in_order_of_file_name(tmp_path):
    for name in ("b.JPG", "B.jpg", "a10.jpg", "a2.png"):
        found = make(tmp_path, "grabcut", name, name.split(".")[0] + ".bmp", np.eye(12) * 255)
    assert found.sample_ids == ("B", "a10", "a2", "b")


def test_two_images_that_lead_to_one_mask_are_refused(tmp_path):
    make(tmp_path, "davis345", "a.1.jpg", "a.png", np.eye(12))
    with pytest.raises(
        DatasetError, match=r"a.2.jpg and .*a.1.jpg: expected one file called 'a', got two"
    ):
        make(tmp_path, "davis345", "a.2.jpg", "a.png", np.eye(12))


def test_an_image_without_mask_says_where_it_was_expected(tmp_path):
    make(tmp_path, "grabcut", "a.jpg", "a.bmp", np.eye(12) * 255)
    found = make(tmp_path, "grabcut", "b.jpg", "other.bmp", np.eye(12) * 255)
    with pytest.raises(
        SampleInvalid, match=r"sample 'b': .*b.jpg: expected a mask .*boundary_GT.b\.\*, found none"
    ):
        found.load("b")
    messages = [(finding.is_error, finding.message) for finding in found.check()]
    assert (False, "masks without an image are not used (1): other.bmp") in messages
    assert (
        False,
        "GrabCut: expected 50 images and 50 targets as published, found 2 and 1",
    ) in messages
    assert sum(is_error for is_error, _ in messages) == 1


@pytest.mark.parametrize("kind", list(FOLDERS))
def test_a_mask_without_the_target_is_refused(tmp_path, kind):
    found = make(tmp_path, kind, "a.png", "a.png", np.zeros((12, 15, 3)))
    with pytest.raises(
        SampleInvalid,
        match=r"a.png: expected at least one object pixel, got none; download it again",
    ):
        found.load("a")


@pytest.mark.parametrize("kind", list(FOLDERS))
def test_sizes_that_differ_are_refused(tmp_path, kind):
    found = make(tmp_path, kind, "a.png", "a.png", np.full((12, 15, 3), 255), noise(12, 14))
    with pytest.raises(
        SampleInvalid, match=r"a.png: expected the size of a.png, 14 x 12 pixels, got 15 x 12"
    ):
        found.load("a")


@pytest.mark.parametrize("kind", list(FOLDERS))
def test_sixteen_bit_masks_are_refused(tmp_path, kind):
    found = make(tmp_path, kind, "a.png", "a.png", np.full((12, 15, 3), 255))
    Image.fromarray(np.full((12, 15), 3000, dtype=np.uint16)).save(
        tmp_path / FOLDERS[kind][1] / "a.png"
    )
    with pytest.raises(
        SampleInvalid, match="expected 8 bits per channel, got a 16-bit or floating mask"
    ):
        found.load("a")


def test_tetris_objects_are_colour_codes_in_ascending_order(tmp_path):
    mask = codes()
    found = make(tmp_path, "tetris", "a.b.jpg", "a.b.png", mask)
    read = cv2.imread(str(tmp_path / "masks" / "a.b.png")).astype(np.int64)
    published = read[:, :, 0] * 65536 + read[:, :, 1] * 256 + read[:, :, 2]
    targets = found.load("a.b").targets
    assert [target.id for target in targets] == ["5", "256", "65536", str(0x0102FF)]
    for target in targets:
        np.testing.assert_array_equal(target.mask, published == int(target.id))


def test_a_tetris_object_that_is_alone_has_no_code(tmp_path):
    found = make(tmp_path, "tetris", "a.jpg", "a.png", codes(values=(0, 77)))
    assert [target.id for target in found.load("a").targets] == ["object"]


def published_scaling(image, code_mask, limit):
    """The published TETRIS reader, from its description: one code after the other, larger codes on
    top.
    """
    height, width = code_mask.shape
    longer = min(limit, max(height, width))
    shorter = int(min(height, width) / max(height, width) * longer + 0.5)
    size = (longer, shorter) if width >= height else (shorter, longer)
    resized = np.zeros(size[::-1], dtype=np.int64)
    for code in sorted(set(code_mask.ravel().tolist()) - {0}):
        layer = cv2.resize(
            (code_mask == code).astype(np.uint8), size, interpolation=cv2.INTER_LINEAR
        )
        resized[layer > 0] = code
    return cv2.resize(image, size, interpolation=cv2.INTER_LINEAR), resized


@given(
    rows=st.integers(2, 40),
    columns=st.integers(2, 40),
    limit=st.integers(8, 45),
    seed=st.integers(0, 99),
)
def test_large_images_are_scaled_as_published(rows, columns, limit, seed):
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 256, (rows, columns, 3), dtype=np.uint8)
    code_mask = np.repeat(np.repeat(rng.choice([0, 3, 9, 400], (rows, columns)), 3, 0), 3, 1)[
        :rows, :columns
    ]
    if int(min(rows, columns) / max(rows, columns) * min(limit, max(rows, columns)) + 0.5) == 0:
        return
    objects = DecodedMask(
        {str(code): code_mask == code for code in (3, 9, 400) if (code_mask == code).any()}, None
    )
    small, scaled = scale_down(image, objects, limit)
    expected_image, expected_codes = published_scaling(image, code_mask, limit)
    np.testing.assert_array_equal(small, expected_image)
    assert list(scaled.masks) == [str(code) for code in np.unique(expected_codes) if code]
    for name, mask in scaled.masks.items():
        np.testing.assert_array_equal(mask, expected_codes == int(name))


def test_ignored_pixels_are_scaled_with_the_image():
    ignore = np.zeros((40, 80), dtype=bool)
    ignore[:, :20] = True
    objects = DecodedMask({"1": ~ignore}, ignore)
    small, scaled = scale_down(np.zeros((40, 80, 3), dtype=np.uint8), objects, 40)
    assert scaled.ignore.shape == small.shape[:2] == (20, 40)
    np.testing.assert_array_equal(scaled.ignore, np.arange(40)[None] < np.full((20, 1), 10))


def test_images_within_the_limit_keep_every_pixel(tmp_path):
    image = noise()
    found = make(tmp_path, "tetris", "a.png", "a.png", codes(), image)
    np.testing.assert_array_equal(found.load("a").image, image)


def test_tetris_images_are_limited_to_2048_pixels(tmp_path):
    mask = np.zeros((30, 3000, 3))
    mask[5:20, 100:900, 1] = 7
    found = make(tmp_path, "tetris", "a.png", "a.png", mask)
    sample = found.load("a")
    assert sample.shape == (20, 2048)
    assert sample.targets[0].mask.shape == (20, 2048)


def test_a_thread_of_an_image_keeps_one_pixel(tmp_path):
    found = make(tmp_path, "tetris", "a.png", "a.png", np.full((1, 5000, 3), 9))
    assert found.load("a").shape == (1, 2048)


@pytest.mark.parametrize("text", ["b\na\n", "b\na", "b\n\na\n"])
def test_a_split_keeps_its_names_whether_or_not_its_last_line_ends(tmp_path, text):
    for name in "abc":
        make(tmp_path, "tetris", f"{name}.jpg", f"{name}.png", codes())
    (tmp_path / "val.txt").write_text(text)
    found = build("dataset", f"tetris(path={str(tmp_path)!r}, split='val.txt')")
    assert found.sample_ids == ("a", "b")
    assert not any("as published" in finding.message for finding in found.check())


def test_a_split_that_names_no_image_is_refused(tmp_path):
    make(tmp_path, "tetris", "a.jpg", "a.png", codes())
    with pytest.raises(
        DatasetMissing, match=r"val.txt: expected a text file with one image name per line"
    ):
        build("dataset", f"tetris(path={str(tmp_path)!r}, split='val.txt')")
    (tmp_path / "val.txt").write_bytes(b"\xff\n")
    with pytest.raises(DatasetError, match=r"expected image names as text in UTF-8.*position 0"):
        build("dataset", f"tetris(path={str(tmp_path)!r}, split='val.txt')")
    (tmp_path / "val.txt").write_text("a\nb\n")
    with pytest.raises(DatasetMissing, match=r"expected images of the split, found none for b"):
        build("dataset", f"tetris(path={str(tmp_path)!r}, split='val.txt')")
