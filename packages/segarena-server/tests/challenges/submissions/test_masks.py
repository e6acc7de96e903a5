"""Submitted masks are read without changes, and all errors of a folder are reported at once."""

import struct
import zlib

import numpy as np
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngImageFile

from segarena.errors import InvalidInput
from segarena_server.challenges.submissions.masks import (
    MAX_FAULTS,
    ExpectedMasks,
    mask_faults,
    read_submitted_mask,
    write_submitted_mask,
)
from segarena_server.workers.kinds.submission_inspection import first_faults

IMAGE = ExpectedMasks(key="k1", kind="image", shape=(6, 9), objects=(1, 3))
VOLUME = ExpectedMasks(key="k2", kind="volume", shape=(4, 6, 9), objects=(1, 2))
VIDEO = ExpectedMasks(key="k3", kind="video", shape=(3, 6, 9), objects=(1, 2))


def a_mask(shape, objects, seed=0):
    values = np.random.default_rng(seed).integers(0, objects + 1, shape)
    return values.astype(bool) if objects == 1 else values.astype(np.uint8)


@pytest.fixture
def written(tmp_path):
    """A folder with all masks."""
    for one in (IMAGE, VOLUME, VIDEO):
        for dialogue, objects in enumerate(one.objects):
            write_submitted_mask(tmp_path, one, dialogue, a_mask(one.shape, objects))
    return tmp_path


@pytest.mark.parametrize("one", [IMAGE, VOLUME, VIDEO], ids=lambda one: one.kind)
def test_what_is_written_is_read_again(one, written):
    for dialogue, objects in enumerate(one.objects):
        read = read_submitted_mask(written, one, dialogue)
        assert read.dtype == (np.bool_ if objects == 1 else np.uint8)
        np.testing.assert_array_equal(read, a_mask(one.shape, objects))
    assert mask_faults(written, [IMAGE, VOLUME, VIDEO]) == []


def test_they_may_be_in_a_folder_and_a_single_sample_is_none(tmp_path):
    for root in (tmp_path / "a", tmp_path / "b/masks"):
        for dialogue, objects in enumerate(IMAGE.objects):
            write_submitted_mask(root, IMAGE, dialogue, a_mask(IMAGE.shape, objects))
    assert mask_faults(tmp_path / "a", [IMAGE]) == mask_faults(tmp_path / "b", [IMAGE]) == []


def test_a_mask_may_be_0_and_255_and_a_palette_keeps_its_numbers(written):
    mask, labels = a_mask((6, 9), 1, seed=5), a_mask((6, 9), 3, seed=6)
    Image.fromarray(255 * mask.astype(np.uint8)).save(written / "k1/0.png")
    indexed = Image.fromarray(labels, mode="P")
    indexed.putpalette([0, 0, 0, 200, 0, 0, 0, 200, 0, 0, 0, 200])
    indexed.save(written / "k1/1.png")
    np.testing.assert_array_equal(read_submitted_mask(written, IMAGE, 0), mask)
    np.testing.assert_array_equal(read_submitted_mask(written, IMAGE, 1), labels)


def test_everything_that_is_wrong_is_said_at_once(written):
    (written / "k1/0.png").unlink()
    Image.fromarray(np.zeros((6, 8), np.uint8)).save(written / "k1/1.png")
    np.savez(written / "k2/0.npz", mask=np.zeros((4, 6, 8), bool))
    np.savez(written / "k2/1.npz", mask=np.full((4, 6, 9), 3))
    Image.fromarray(np.full((6, 9), 7, np.uint8)).save(written / "k3/0/00001.png")
    (written / "k3/1/00002.png").write_bytes(b"GIF89a")
    (written / "notes.txt").write_text("hello")
    assert mask_faults(written, [IMAGE, VOLUME, VIDEO]) == [
        "k1/0.png: missing",
        "k1/1.png: expected 9 x 6 pixels, got 8 x 6",
        "k2/0.npz: expected the shape (4, 6, 9), got (4, 6, 8)",
        "k2/1.npz: expected object labels from 0 to 2, got 3",
        "k3/0/00000.png: expected 0 outside and 1 or 255 inside, got 0, 1, 7",
        "k3/1/00002.png: expected a PNG, got another kind of file; save the mask as PNG",
        "notes.txt: unexpected file",
    ]


def test_many_faults_are_counted(tmp_path):
    found = mask_faults(
        tmp_path, [ExpectedMasks(key="k", kind="video", shape=(300, 2, 2), objects=(1,))]
    )
    assert len(found) == 300
    told = first_faults(tuple(found))
    assert len(told) == MAX_FAULTS + 1
    assert told[-1] == "and 200 more"
    assert first_faults(tuple(found[:MAX_FAULTS])) == tuple(found[:MAX_FAULTS])


def test_a_picture_of_another_size_is_not_decoded(written, monkeypatch):
    (written / "k1/0.png").write_bytes(a_png((40_000, 40_000), b"\0" * 40_001))
    monkeypatch.setattr(Image, "open", None)
    with pytest.raises(InvalidInput, match="40000 x 40000"):
        read_submitted_mask(written, IMAGE, 0)


def test_of_two_sizes_that_a_picture_says_the_one_that_counts_is_looked_at(written, monkeypatch):
    (written / "k1/0.png").write_bytes(a_png((9, 6), (3000, 2000), b"\0" * 3001 * 2000))
    monkeypatch.setattr(PngImageFile, "load", None)
    with pytest.raises(InvalidInput, match=r"k1/0.png: expected one header"):
        read_submitted_mask(written, IMAGE, 0)


def a_png(*parts):
    """Return a PNG with a header of each size (width, height), and rows of it."""

    def chunk(kind, data):
        return (
            struct.pack(">L", len(data)) + kind + data + struct.pack(">L", zlib.crc32(kind + data))
        )

    *sizes, rows = parts
    heads = b"".join(
        chunk(b"IHDR", struct.pack(">LLBBBBB", *size, 8, 0, 0, 0, 0)) for size in sizes
    )
    return b"\x89PNG\r\n\x1a\n" + heads + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def test_pickles_and_too_many_numbers_are_refused(written):
    np.savez(written / "k2/0.npz", mask=np.array([{}], dtype=object))
    np.savez_compressed(written / "k2/1.npz", mask=np.zeros(10**6, np.uint8))
    found = mask_faults(written, [VOLUME])
    assert "plain numbers" in found[0]
    assert "claims 1,000,000" in found[1]
    assert str(written) not in "".join(found)
