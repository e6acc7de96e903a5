"""A marker file detects which processes can access a folder."""

import pickle
import shutil
from pathlib import Path

import pytest

from segarena.errors import StoreError
from segarena.files.atomic_write import clear_leftovers
from segarena.files.folder_probe import place_probe


def test_a_mark_is_seen_in_its_folder_alone_and_gone_afterwards(tmp_path):
    with place_probe(tmp_path / "new") as mark:
        there = pickle.loads(pickle.dumps(mark))
        assert there.is_visible
        assert there.is_local
        shutil.move(tmp_path / "new", tmp_path / "elsewhere")
        assert not there.is_visible
        shutil.move(tmp_path / "elsewhere", tmp_path / "new")
    assert not there.is_visible
    assert list((tmp_path / "new").iterdir()) == []


def test_a_copy_of_a_folder_made_before_is_another_folder(tmp_path):
    (tmp_path / "run").mkdir()
    with place_probe(tmp_path / "run"):
        shutil.copytree(tmp_path / "run", tmp_path / "copy")
    with place_probe(tmp_path / "run") as mark:
        assert mark.is_visible
        assert not (tmp_path / "copy" / mark.file.name).exists()


def test_what_a_killed_process_left_is_cleared_away(tmp_path):
    with place_probe(tmp_path) as mark:
        clear_leftovers(tmp_path)
        assert not mark.is_visible


def test_a_folder_that_cannot_be_is_said():
    with pytest.raises(StoreError, match="cannot be written"), place_probe(Path("/dev/null/run")):
        pass
