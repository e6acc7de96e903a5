"""Common parts of datasets of files: the fingerprint, and samples that do not stay in memory."""

from __future__ import annotations

import os
import tracemalloc

import numpy as np
import pytest
from PIL import Image

from segarena.datasets.folder import Folder


@pytest.fixture
def root(tmp_path):
    for kind in ("images", "masks"):
        (tmp_path / kind).mkdir()
        for name in ("a", "b"):
            Image.fromarray(np.eye(16, dtype=np.uint8) * 255).save(tmp_path / kind / f"{name}.png")
    return tmp_path


def test_fingerprint_does_not_depend_on_place_or_time(root, tmp_path_factory):
    before = Folder(path=str(root)).fingerprint
    moved = tmp_path_factory.mktemp("elsewhere") / "data"
    root.rename(moved)
    os.utime(moved / "images" / "a.png", (1, 1))
    assert Folder(path=str(moved)).fingerprint == before
    assert len(before) == 16


def test_fingerprint_changes_with_files_and_rules(root):
    seen = {
        Folder(path=str(root)).fingerprint,
        Folder(path=str(root), encoding="index").fingerprint,
    }
    seen.add(Folder(path=str(root), ignore_value=255).fingerprint)
    seen.add(Folder(path=str(root), min_area_px=2).fingerprint)
    (root / "masks" / "a.png").write_bytes((root / "masks" / "a.png").read_bytes() + b"\0")
    seen.add(Folder(path=str(root)).fingerprint)
    (root / "masks" / "b.png").rename(root / "masks" / "b.bmp")
    seen.add(Folder(path=str(root)).fingerprint)
    assert len(seen) == 6


def test_fingerprint_outlives_a_deleted_file(root):
    found = Folder(path=str(root))
    (root / "masks" / "a.png").unlink()
    assert found.fingerprint != Folder(path=str(root)).fingerprint


def test_memory_does_not_grow_with_the_samples_loaded(tmp_path):
    for kind in ("images", "masks"):
        (tmp_path / kind).mkdir()
        for number in range(12):
            Image.new("L", (600, 500), 255).save(tmp_path / kind / f"{number}.png")
    found = Folder(path=str(tmp_path))
    found.load("0")
    tracemalloc.start()
    found.check()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 600 * 500
