"""Packed lists are unpacked only up to the limit, and names in lists stay inside their folder."""

import gzip

import pytest

from segarena.errors import DatasetError
from segarena.systems.oneshot.pairs.image_sources import class_mask_path, jpeg_path, label_map_path
from segarena.systems.oneshot.pairs.toss_lists import read_class_list


def test_a_packed_list_is_read_no_further_than_is_allowed(tmp_path, monkeypatch):
    monkeypatch.setenv("SEGARENA_MAX_PIXELS", "1000")
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"a\n" * 10**6))
    with pytest.raises(DatasetError, match=r"a\.txt\.gz: expected at most 1,000 pixels"):
        read_class_list(tmp_path / "a.txt.gz")
    whole = gzip.compress(b"a\nb\n" * 50)
    (tmp_path / "a.txt.gz").write_bytes(whole[:20] + b"\xff\xff" + whole[22:])
    with pytest.raises(DatasetError, match=r"a\.txt\.gz: expected"):
        read_class_list(tmp_path / "a.txt.gz")


def test_names_in_lists_do_not_lead_out_of_the_folder(tmp_path):
    for find in (
        lambda name: jpeg_path(tmp_path, name),
        lambda name: label_map_path(tmp_path, "1", name),
    ):
        for name in ("../outside_1", "/etc/passwd", "a/../../b"):
            with pytest.raises(DatasetError, match="expected names of files inside this folder"):
                find(name)
    with pytest.raises(DatasetError, match="expected names of files inside this folder"):
        class_mask_path(tmp_path, "../1", "outside_1")
