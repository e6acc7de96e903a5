"""The identity of a run is recorded, and a run does not resume with different files under the same names."""

import json
import os
import sys
import time

import cv2
import numpy as np
import pytest

from segarena import RunFolder
from segarena.engine import run_identity as identity_module
from segarena.engine.encoding_cache import class_source_files
from segarena.errors import InvalidInput, RunConflict
from segarena.files import hash_cache
from segarena.files.hash_cache import hash_files
from segarena.files.hashes import sha256_of_file
from segarena.files.python_imports import source_files
from segarena.records.fingerprints import describe_changes
from segarena.registry import find

MODEL = """
from inner.part import LEVEL
import numpy as np
import json

class Model:
    def __init__(self, *, weights="none", inner="none"):
        self.weights = weights

    def encode(self, sample):
        return np.zeros(sample.shape, dtype=bool)

    def predict(self, encoded, dialogues):
        return [encoded for _ in dialogues]
"""


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A plug-in in a file that imports a module next to it."""
    folder = tmp_path / "model"
    (folder / "inner").mkdir(parents=True)
    (folder / "mine.py").write_text(MODEL)
    (folder / "inner" / "__init__.py").write_text("")
    (folder / "inner" / "part.py").write_text("from . import deep\nLEVEL = 1\n")
    (folder / "inner" / "deep.py").write_text("")
    (folder / "unrelated.py").write_text("")
    # Another test may have imported the modules of its own folder, which have the same names.
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("inner", "inner.part", "inner.deep"):
        sys.modules.pop(name, None)
    return folder / "mine.py"


@pytest.fixture
def weights(tmp_path):
    file = tmp_path / "sam.pth"
    file.write_bytes(b"a" * 100)
    return file


@pytest.fixture
def photographs(tmp_path):
    """A dataset in two folders whose masks can be replaced by others of equal size."""
    root = tmp_path / "photos"
    for part in ("images", "masks"):
        (root / part).mkdir(parents=True)
    for name in "ab":
        cv2.imwrite(str(root / "images" / f"{name}.png"), np.full((20, 30, 3), 90, np.uint8))
        mask = np.zeros((20, 30), np.uint8)
        mask[5:9, 5:9] = 255
        cv2.imwrite(str(root / "masks" / f"{name}.png"), mask)
    return root


def replace(file, data):
    """Replace a file by other bytes of the same length, with its old modification time."""
    before = file.stat()
    assert len(data) == before.st_size
    file.write_bytes(data)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_replaced_weights_are_refused_by_name(small_run, model, weights, tmp_path):
    written = f"{model}:Model(weights={str(weights)!r})"
    small_run(written)
    small_run(written)
    replace(weights, b"b" * 100)
    with pytest.raises(
        RunConflict,
        match=r"weights .*changed since this run: sam\.pth; use --overwrite to replace the run, or another",
    ):
        small_run(written)
    assert small_run(written, out=tmp_path / "other").is_complete


def test_weights_of_a_plug_in_within_a_plug_in_count_too(small_run, model, weights):
    inner = f"votes(segmenter={str(weights)!r})"
    written = f"{model}:Model(inner={inner!r})"
    small_run(written)
    replace(weights, b"b" * 100)
    with pytest.raises(RunConflict, match=r"sam\.pth"):
        small_run(written)


@pytest.mark.parametrize("name", ["mine.py", "inner/part.py", "inner/deep.py"])
def test_sources_that_changed_are_refused_by_name(small_run, model, name):
    small_run(f"{model}:Model")
    changed = model.parent / name
    changed.write_text(changed.read_text() + "\n# other\n")
    with pytest.raises(
        RunConflict,
        match=rf"your file {changed.name} changed since this run; use --overwrite to replace",
    ):
        small_run(f"{model}:Model")


def test_weights_that_are_not_given_are_not_the_working_directory(
    small_run, model, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    mine = f"{model}:Model(weights='')"
    assert small_run(mine).config.identity.weights == {}
    (tmp_path / "another").write_text("x")
    assert not small_run(mine).notes


def test_another_plug_in_is_not_called_a_changed_one(small_run, model):
    small_run(f"{model}:Model")
    other = model.with_name("other.py")
    other.write_text(MODEL)
    with pytest.raises(
        RunConflict, match=r"holds a run with segmenter\.name = .*--overwrite replaces it"
    ):
        small_run(f"{other}:Model")


def test_a_source_that_is_not_imported_does_not_count(small_run, model):
    small_run(f"{model}:Model")
    (model.parent / "unrelated.py").write_text("x = 1")
    assert small_run(f"{model}:Model").is_complete


def test_imports_beside_are_found_at_any_depth(model):
    assert [file.name for file in source_files(model)] == [
        "__init__.py",
        "deep.py",
        "part.py",
        "mine.py",
    ]
    found = class_source_files(find("segmenter", f"{model}:Model"))
    assert {"mine.py", "part.py", "deep.py"} <= {file.name for file in found.values()}
    assert not any(file.name == "abc.py" for file in found.values())


def test_masks_of_equal_size_are_another_truth(small_run, photographs):
    data = f"folder(path={str(photographs)!r})"
    run = small_run("sample-disc", dataset=data)
    mask = photographs / "masks" / "a.png"
    whole = mask.read_bytes()
    replace(mask, whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(
        RunConflict, match=r"files changed since this run \(1 of 4: masks/a\.png\); use --overwrite"
    ):
        small_run("sample-disc", dataset=data)
    replace(mask, whole)
    assert small_run("sample-disc", dataset=data).path == run.path


def test_files_that_changed_are_counted_and_the_first_are_named(small_run, photographs):
    data = f"folder(path={str(photographs)!r})"
    run = small_run("sample-disc", dataset=data)
    for file in (photographs / "images").iterdir():
        cv2.imwrite(str(file), np.full((20, 30, 3), 120, np.uint8))
    (photographs / "masks" / "b.png").unlink()
    (photographs / "images" / "b.png").unlink()
    with pytest.raises(
        RunConflict, match=r"dataset\.samples = 2 entries, but the requested run has 1 entries"
    ):
        small_run("sample-disc", dataset=data)
    with pytest.raises(
        RunConflict, match=r"dataset\.samples = 2 entries, but the requested run has 1 entries"
    ):
        small_run("sample-disc", dataset=data, limit=1)
    assert small_run("sample-disc", dataset=data, overwrite=True).path == run.path


def test_which_files_changed():
    before = [(f"masks/{name}.png", name) for name in "abcdef"]
    assert describe_changes(before, [(name, f"{digest}!") for name, digest in before]) == (
        "6 of 6: masks/a.png, masks/b.png, masks/c.png, ..."
    )
    assert (
        describe_changes(before, [*before[1:], ("masks/g.png", "g")])
        == "1 new: masks/g.png; 1 gone: masks/a.png"
    )
    assert describe_changes([], before) == ""


def test_by_names_the_content_is_not_read_and_the_run_says_so(small_run, photographs, monkeypatch):
    data = f"folder(path={str(photographs)!r})"
    read = []
    monkeypatch.setattr(
        hash_cache, "sha256_of_file", lambda file: read.append(file) or sha256_of_file(file)
    )
    run = small_run("sample-disc", dataset=data, fingerprint="names")
    assert not any(photographs in file.parents for file in read)
    told = json.loads((run.path / "run.json").read_text())["identity"]
    assert (told["data_by"], told["data"]) == ("names", "")
    assert RunFolder.open(run.path).config.identity.data_by == "names"
    with pytest.raises(InvalidInput, match="expected one of 'content', 'names'; got 'size'"):
        small_run("sample-disc", dataset=data, fingerprint="size")


def test_versions_that_changed_are_told_and_not_refused(small_run, monkeypatch):
    small_run("sample-disc")
    assert small_run("sample-disc").notes == ()
    monkeypatch.setattr(identity_module, "version", lambda name: "9.9")
    (note,) = small_run("sample-disc").notes
    assert note == "versions changed since the run began: segarena-sample-plugin 0.0.1, now 9.9"


def test_versions_behind_options_and_imports_are_told_too(small_run, model):
    run = small_run(
        f"{model}:Model(inner='sample-disc')", users=("centre",), dataset="demo", limit=1, rounds=1
    )
    assert set(run.config.identity.packages) == {"segarena-sample-plugin", "numpy"}


@pytest.mark.long
def test_old_folders_without_fingerprints_go_on_and_say_so_once(small_run):
    run = small_run("sample-disc")
    file = run.path / "run.json"
    config = json.loads(file.read_text())
    del config["identity"], config["sha256"]
    file.write_text(json.dumps({**config, "format": 2}))
    unsealed, note = small_run("sample-disc").notes
    assert "an earlier version wrote its run.json, without a checksum" in unsealed
    assert "began without fingerprints" in note
    assert small_run("sample-disc").notes == ()
    assert RunFolder.open(run.path).config.identity.is_from_start is False


def test_a_file_is_read_once_until_it_changes(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(hash_cache, "_SETTLED_NS", 0)
    read = []
    monkeypatch.setattr(
        hash_cache, "sha256_of_file", lambda file: read.append(file.name) or sha256_of_file(file)
    )
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"1")
    two.write_bytes(b"2")
    time.sleep(0.01)
    first = hash_files([one, two])
    assert hash_files([two, one, tmp_path / "none"]) == [first[1], first[0], ""]
    assert sorted(name for name in read if name != "none") == ["one", "two"]
    replace(two, b"3")
    assert hash_files([one, two]) == [first[0], sha256_of_file(two)]
    hash_cache.hash_cache_file().write_bytes(b"damaged")
    assert hash_files([one, two]) == [first[0], sha256_of_file(two)]
