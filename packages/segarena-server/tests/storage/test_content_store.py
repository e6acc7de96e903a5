"""Files by hash: stored once, unchanged when read, never outside the folder."""

import hashlib

import pytest

from segarena.errors import InvalidInput, StoreError
from segarena_server.storage.content_store import ContentStore


@pytest.fixture
def storage(tmp_path):
    return ContentStore(tmp_path / "files")


def test_what_is_kept_is_read_by_its_hash(storage):
    name = storage.keep(b"some bytes")
    assert name == hashlib.sha256(b"some bytes").hexdigest()
    assert storage.read(name) == b"some bytes"


def test_the_same_content_is_one_file(storage):
    first, second = storage.keep(b"x"), storage.keep(b"x")
    assert first == second
    assert len([path for path in storage.folder.rglob("*") if path.is_file()]) == 1


def test_a_file_is_moved_in_without_being_read_whole(storage, tmp_path):
    (tmp_path / "large").write_bytes(b"large")
    name = storage.take(tmp_path / "large")
    assert name == storage.keep(b"large")
    assert storage.read(name) == b"large"
    assert not (tmp_path / "large").exists()


def test_a_file_that_changed_is_told(storage):
    name = storage.keep(b"as it was")
    storage.path(name).write_bytes(b"as it is")
    assert storage.damaged() == [storage.path(name)]
    with pytest.raises(StoreError, match="damaged"):
        storage.read(name)


def test_what_was_never_kept_is_told(storage):
    with pytest.raises(StoreError, match="backup"):
        storage.read("0" * 64)


@pytest.mark.parametrize(
    "name", ["", "..", "../" * 9 + "etc/passwd", "/etc/passwd", "A" * 64, "0" * 63, "0" * 64 + "\n"]
)
def test_what_is_no_hash_is_no_path(storage, name):
    with pytest.raises(InvalidInput, match="SHA-256"):
        storage.path(name)
