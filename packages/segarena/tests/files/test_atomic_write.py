"""A file is complete or absent, whatever happens while it is written."""

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from segarena.errors import StoreError
from segarena.files.atomic_write import (
    atomic_path,
    clear_leftovers,
    is_leftover,
    open_atomic,
    write_atomic,
    write_secret,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_bytes_and_text_are_written_with_their_folders(tmp_path):
    assert write_atomic(tmp_path / "a" / "b" / "c.bin", b"\x00\xff").read_bytes() == b"\x00\xff"
    assert write_atomic(tmp_path / "c.txt", "über\n").read_bytes() == "über\n".encode()
    assert names(tmp_path) == ["a", "c.txt"]


def test_an_error_in_the_block_leaves_what_was_there_before(tmp_path):
    write_atomic(tmp_path / "x", b"old")
    with pytest.raises(ZeroDivisionError), open_atomic(tmp_path / "x") as file:
        file.write(b"n" * (1 // 0))
    assert (tmp_path / "x").read_bytes() == b"old"
    assert names(tmp_path) == ["x"]


def test_the_temporary_name_has_the_ending_asked_for_and_a_folder_replaces_a_folder(tmp_path):
    for content in ("old", "new"):
        with atomic_path(tmp_path / "labels.d", ending=".d") as part:
            assert part.suffix == ".d"
            assert is_leftover(part)
            part.mkdir()
            (part / content).touch()
    assert names(tmp_path / "labels.d") == ["new"]
    assert names(tmp_path) == ["labels.d"]


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path):
    with (
        pytest.raises(StoreError, match=r"x cannot be written: the disk is full\. Free disk space"),
        open_atomic(tmp_path / "x"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert names(tmp_path) == []


def test_a_place_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be written: File exists"):
        write_atomic(tmp_path / "file" / "x", b"")


def test_trouble_with_another_file_is_not_called_ours(tmp_path):
    with pytest.raises(FileNotFoundError), open_atomic(tmp_path / "copy") as file:
        file.write((tmp_path / "missing").read_bytes())
    assert names(tmp_path) == []


def test_a_name_of_255_characters_can_be_written(tmp_path):
    assert write_atomic(tmp_path / ("n" * 255), b"x").read_bytes() == b"x"


def test_a_killed_writer_leaves_a_leftover_that_is_recognised_and_removed(tmp_path):
    script = "import os, sys; from pathlib import Path; from segarena.files.atomic_write import open_atomic\n"
    script += f"with open_atomic(Path({str(tmp_path / 'x')!r})) as file: file.write(b'half'); os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGKILL
    (leftover,) = tmp_path.iterdir()
    assert is_leftover(leftover)
    write_atomic(tmp_path / "x", b"whole")
    clear_leftovers(tmp_path)
    assert names(tmp_path) == ["x"]


def test_file_and_folder_are_flushed_in_this_order(tmp_path, monkeypatch):
    flushed = []
    real = os.fsync

    def noted(handle):
        flushed.append(Path(f"/proc/self/fd/{handle}").readlink())
        real(handle)

    monkeypatch.setattr(os, "fsync", noted)
    write_atomic(tmp_path / "x", b"x")
    assert is_leftover(flushed[0])
    assert flushed[1:] == [tmp_path]


def test_a_secret_is_its_owners_alone_and_the_first_one_counts(tmp_path):
    write_secret(tmp_path / "secret", "first")
    write_secret(tmp_path / "secret", "second")
    assert (tmp_path / "secret").read_text() == "first"
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    assert names(tmp_path) == ["secret"]


def test_a_secret_that_cannot_be_written_to_its_end_is_not_there(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_secret(tmp_path / "secret", "first")
    assert names(tmp_path) == []
