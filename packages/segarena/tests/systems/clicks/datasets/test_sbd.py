"""SBD, from MATLAB files in the published format."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

from segarena.errors import DatasetError, DatasetMissing, PluginInvalid, SampleInvalid
from segarena.registry import build
from segarena.systems.clicks.datasets.sbd import Sbd

NUMBERS = np.zeros((9, 7), dtype=np.uint8)
NUMBERS[1:3, 1:5] = 1
NUMBERS[5:8, 2:6] = 2
NUMBERS[0] = 255


def instance_file(
    path, numbers=NUMBERS, categories=(8, 15), variable="GTinst", field="Segmentation"
):
    path.parent.mkdir(exist_ok=True, parents=True)
    content = {
        field: numbers,
        "Boundaries": np.zeros((1, 1)),
        "Categories": np.array(categories)[:, None],
    }
    savemat(path, {variable: content}, do_compression=True)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "img").mkdir()
    Image.new("RGB", (7, 9)).save(tmp_path / "img" / "2008_000051.jpg")
    instance_file(tmp_path / "inst" / "2008_000051.mat")
    (tmp_path / "val.txt").write_text("2008_000051\n")
    return tmp_path


def test_every_instance_is_a_target_with_its_category(root):
    found = Sbd(path=str(root))
    assert (found.name, found.sample_ids) == ("SBD-val", ("2008_000051",))
    first, second = found.load("2008_000051").targets
    assert [(first.id, first.label), (second.id, second.label)] == [("1", "cat"), ("2", "person")]
    np.testing.assert_array_equal(second.mask, NUMBERS == 2)
    np.testing.assert_array_equal(second.ignore, NUMBERS == 255)


def test_check_compares_with_the_published_counts(root):
    messages = [finding.message for finding in Sbd(path=str(root)).check() if not finding.is_error]
    assert (
        "SBD-val: expected 2857 images and 6671 instances as published, found 1 and 2" in messages
    )


def test_missing_parts_are_named(root, tmp_path_factory):
    empty = tmp_path_factory.mktemp("empty")
    with pytest.raises(
        DatasetMissing, match=r"img: expected a folder with the images of SBD, found none"
    ):
        Sbd(path=str(empty))
    with pytest.raises(
        DatasetMissing, match=r"train.txt: expected a list with one image name per line, found none"
    ):
        Sbd(path=str(root), split="train")
    with pytest.raises(PluginInvalid, match="split: expected one of 'train', 'val'; got 'test'"):
        build("dataset", f"sbd(path={str(root)!r}, split='test')")
    (root / "val.txt").write_bytes(b"\xe9\n")
    with pytest.raises(DatasetError, match=r"val.txt: expected image names as text in UTF-8"):
        Sbd(path=str(root))
    (root / "val.txt").write_text("\n")
    with pytest.raises(DatasetMissing, match=r"val.txt: .*found an empty file"):
        Sbd(path=str(root))


@pytest.mark.parametrize(("spoil", "message"), [
    (lambda path: path.unlink(), "expected a MATLAB file here, got none"),
    (lambda path: path.write_bytes(b""), "expected a readable MATLAB file, got"),
    (lambda path: path.write_bytes(path.read_bytes()[:200]), "expected a readable MATLAB file, got"),
    (lambda path: instance_file(path, variable="GTcls"), "expected the variable 'GTinst', got GTcls"),
    (lambda path: instance_file(path, field="Other"), "expected GTinst.Segmentation and GTinst.Categories"),
    (lambda path: instance_file(path, np.zeros((9, 7))), "expected at least one instance, got none"),
    (lambda path: instance_file(path, np.ones((9, 7, 2))), "expected a 2-D GTinst.Segmentation"),
    (lambda path: instance_file(path, np.ones((7, 9))), "7 x 9 pixels, got 9 x 7; .*90 degrees"),
    (lambda path: (path.parents[1] / "img" / "2008_000051.jpg").unlink(), "jpg: expected an image file here, got none"),
])  # fmt: skip
def test_a_bad_file_says_what_is_wrong(root, spoil, message):
    found = Sbd(path=str(root))
    spoil(root / "inst" / "2008_000051.mat")
    with pytest.raises(SampleInvalid, match=message):
        found.load("2008_000051")
