"""BSDS500: the rules that select regions as targets, and equal targets from both published forms."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

from segarena.datasets.bsds500 import Bsds500, borders_touched, median_annotator
from segarena.errors import DatasetMissing, PluginInvalid, SampleInvalid
from segarena.registry import build

SHAPE = (40, 50)


def regions(*boxes):
    """Labels from 1 on: 1 everywhere, then one box (row, column, height, width) after the other."""
    labels = np.ones(SHAPE, dtype=np.uint16)
    for label, (row, column, height, width) in enumerate(boxes, start=2):
        labels[row : row + height, column : column + width] = label
    return labels


COARSE = regions((5, 5, 10, 10))
TYPICAL = regions(
    (5, 5, 10, 10), (20, 5, 10, 20), (0, 30, 12, 10), (0, 0, 4, 4), (20, 30, 2, 9), (35, 30, 5, 10)
)
FINE = regions(*((row, column, 3, 3) for row in range(2, 36, 5) for column in range(2, 46, 5)))


def compact(root, annotators, split="test", name="3063"):
    photograph(root, split, name)
    (root / "human" / split).mkdir(parents=True, exist_ok=True)
    labels = np.stack(annotators).astype(np.uint8)
    np.savez_compressed(
        root / "human" / split / f"{name}.npz", labels=labels, shape=np.array(labels.shape)
    )
    return root


def original(root, annotators, split="test", name="3063"):
    photograph(root, split, name)
    (root / "groundTruth" / split).mkdir(parents=True, exist_ok=True)
    cells = np.empty((1, len(annotators)), dtype=object)
    for number, labels in enumerate(annotators):
        cells[0, number] = {"Segmentation": labels, "Boundaries": np.zeros(SHAPE, dtype=bool)}
    savemat(
        root / "groundTruth" / split / f"{name}.mat", {"groundTruth": cells}, do_compression=True
    )
    return root


def photograph(root, split, name):
    (root / "images" / split).mkdir(parents=True, exist_ok=True)
    Image.new("RGB", SHAPE[::-1], (90, 120, 30)).save(root / "images" / split / f"{name}.jpg")


def test_targets_are_the_largest_regions_inside_the_image_of_the_typical_annotator(tmp_path):
    found = Bsds500(path=str(compact(tmp_path, [FINE, TYPICAL, COARSE])))
    sample = found.load("3063")
    # 1 is too large, 5 touches two sides and is small, 6 is under 1 %, 7 is the smallest of four.
    assert [target.id for target in sample.targets] == ["region-2", "region-3", "region-4"]
    np.testing.assert_array_equal(sample.targets[1].mask, TYPICAL == 3)
    assert [target.attributes["size"] for target in sample.targets] == ["medium", "large", "medium"]


@pytest.mark.parametrize(("options", "expected"), [
    ({"max_targets": 1}, ["region-3"]),
    ({"max_targets": 9}, ["region-2", "region-3", "region-4", "region-7"]),
    ({"max_targets": 9, "min_share": 0.055}, ["region-3", "region-4"]),
    ({"max_targets": 9, "max_share": 0.055}, ["region-2", "region-7"]),
    ({"max_targets": 9, "max_borders": 0}, ["region-2", "region-3"]),
    ({"max_targets": 9, "max_borders": 4, "max_share": 1.0, "min_share": 0.1}, ["region-1", "region-3"]),
])  # fmt: skip
def test_the_rule_follows_its_options(tmp_path, options, expected):
    found = Bsds500(path=str(compact(tmp_path, [TYPICAL])), **options)
    assert [target.id for target in found.load("3063").targets] == expected


def test_regions_of_equal_size_are_taken_in_order_of_their_number(tmp_path):
    labels = regions((5, 5, 5, 5), (15, 5, 5, 5), (25, 5, 5, 5), (5, 25, 5, 5))
    found = Bsds500(path=str(compact(tmp_path, [labels])))
    assert [target.id for target in found.load("3063").targets] == [
        "region-2",
        "region-3",
        "region-4",
    ]


def test_both_published_forms_give_the_same(tmp_path):
    annotators = [FINE, TYPICAL, COARSE, TYPICAL[::-1]]
    first = Bsds500(path=str(compact(tmp_path / "compact", annotators))).load("3063")
    second = Bsds500(path=str(original(tmp_path / "original", annotators))).load("3063")
    np.testing.assert_array_equal(first.image, second.image)
    assert [target.id for target in first.targets] == [target.id for target in second.targets]
    assert first.targets
    for one, other in zip(first.targets, second.targets, strict=True):
        np.testing.assert_array_equal(one.mask, other.mask)


@pytest.mark.parametrize("inside", ["data", "BSDS500/data", "BSR/BSDS500/data"])
def test_the_folders_of_the_original_archive_are_found(tmp_path, inside):
    original(tmp_path / inside, [TYPICAL], split="val")
    assert Bsds500(path=str(tmp_path), split="val").sample_ids == ("3063",)


@pytest.mark.parametrize(("counts", "expected"), [
    ([3], 0),
    ([9, 5], 1),
    ([9, 5, 7], 2),
    ([7, 5, 7, 9], 0),
    ([2, 8, 8, 1, 3], 4),
])  # fmt: skip
def test_the_median_annotator_is_the_lower_and_first_one(counts, expected):
    assert median_annotator([np.arange(count).reshape(1, -1) + 1 for count in counts]) == expected


def test_borders_are_counted_by_side():
    mask = np.zeros((4, 5), dtype=bool)
    assert borders_touched(mask) == 0
    mask[0, 2] = True
    assert borders_touched(mask) == 1
    mask[0, 0] = True
    assert borders_touched(mask) == 2
    mask[3, 4] = True
    assert borders_touched(mask) == 4


def test_an_image_without_target_is_named_by_the_check(tmp_path):
    found = Bsds500(path=str(compact(tmp_path, [regions()])))
    assert found.load("3063").targets == ()
    messages = [finding.message for finding in found.check()]
    assert "samples without a target are ignored (1): 3063" in messages
    assert "BSDS500-test: the published split has 200 images, found 1" in messages


def test_missing_parts_and_bad_options_are_named(tmp_path):
    with pytest.raises(
        DatasetMissing, match=r"images.test: expected a folder with the test images of BSDS500"
    ):
        Bsds500(path=str(tmp_path))
    (tmp_path / "images" / "test").mkdir(parents=True)
    with pytest.raises(
        DatasetMissing, match=r"groundTruth.test: expected a folder with the test segmentations"
    ):
        Bsds500(path=str(tmp_path))
    (tmp_path / "human" / "test").mkdir(parents=True)
    with pytest.raises(
        DatasetMissing, match=r"expected the test images of BSDS500 \(\*.jpg\), found none"
    ):
        Bsds500(path=str(tmp_path))
    with pytest.raises(
        PluginInvalid, match="split: expected one of 'train', 'val', 'test'; got 'dev'"
    ):
        build("dataset", f"bsds500(path={str(tmp_path)!r}, split='dev')")
    with pytest.raises(PluginInvalid, match="expected 0 <= min_share < max_share <= 1"):
        Bsds500(path=str(tmp_path), min_share=0.5)


@pytest.mark.parametrize(("spoil", "message"), [
    (lambda path: path.unlink(), "expected a file of arrays here, got none"),
    (lambda path: path.write_bytes(b""), "expected a whole .npy or .npz file, got"),
    (lambda path: path.write_bytes(path.read_bytes()[:99]), "expected a whole .npy or .npz file, got"),
    (lambda path: np.savez(path, other=np.ones(3)), "expected 'labels' of .*, got no 'labels'"),
    (lambda path: np.savez(path, labels=np.ones(SHAPE)), "expected 'labels' of annotators x rows x columns, got"),
    (lambda path: np.savez(path, labels=np.full((2, *SHAPE), -1)), "expected region labels from 0 on, got other"),
    (lambda path: np.savez(path, labels=np.full((2, *SHAPE), 2.0**40)), "expected region labels from 0 on, got"),
    (lambda path: np.savez(path, labels=np.full((2, *SHAPE), np.nan)), "expected region labels from 0 on, got"),
    (lambda path: np.savez(path, labels=np.ones((2, 50, 40), int)), "50 x 40 pixels, got 40 x 50; .*90 degrees"),
])  # fmt: skip
def test_a_bad_compact_file_says_what_is_wrong(tmp_path, spoil, message):
    found = Bsds500(path=str(compact(tmp_path, [TYPICAL])))
    spoil(tmp_path / "human" / "test" / "3063.npz")
    with pytest.raises(SampleInvalid, match=message):
        found.load("3063")


@pytest.mark.parametrize(("content", "message"), [
    ({"groundTruth": np.ones((1, 2))}, r"expected groundTruth\{k\}.Segmentation, got other fields"),
    ({"GTinst": np.ones((1, 2))}, "expected the variable 'groundTruth', got GTinst"),
    ({"groundTruth": np.empty((1, 0), dtype=object)}, "expected one segmentation of rows x columns per annotator"),
])  # fmt: skip
def test_a_bad_original_file_says_what_is_wrong(tmp_path, content, message):
    found = Bsds500(path=str(original(tmp_path, [TYPICAL])))
    savemat(tmp_path / "groundTruth" / "test" / "3063.mat", content)
    with pytest.raises(SampleInvalid, match=message):
        found.load("3063")
