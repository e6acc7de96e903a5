"""Hashes against hashlib."""

import hashlib

from segarena.files.hashes import fingerprint, sha256, sha256_of_file, sha256_of_parts

EXPECTED = hashlib.sha256("abcü".encode()).hexdigest()


def test_parts_bytes_and_text_are_hashed_as_one():
    assert (
        sha256("abcü") == sha256("a", b"bc", "ü") == sha256_of_parts(iter(["abc", "ü"])) == EXPECTED
    )
    assert fingerprint("abcü") == EXPECTED[:16]


def test_a_file_is_hashed_by_its_content(tmp_path):
    (tmp_path / "x").write_bytes("abcü".encode())
    assert sha256_of_file(tmp_path / "x") == EXPECTED
