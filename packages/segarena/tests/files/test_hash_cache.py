"""Cached hashes of files."""

import hashlib

from segarena.files import hash_cache
from segarena.files.hash_cache import hash_files


def test_a_file_that_occurs_often_is_hashed_once(tmp_path, monkeypatch):
    read = []

    def count(file):
        read.append(file.name)
        return hashlib.sha256(file.read_bytes()).hexdigest()

    monkeypatch.setattr(hash_cache, "sha256_of_file", count)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in "ab":
        (tmp_path / name).write_text(f"{name} of {tmp_path}")
    files = [tmp_path / name for name in "abaabb"]
    expected = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    assert hash_files(files) == expected
    assert sorted(read) == ["a", "b"]
