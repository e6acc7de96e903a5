"""The check whether the disk is writable: rare, and without paths in its messages."""

import errno
import os
import resource
import signal

import pytest

from segarena_server.storage import disk_check
from segarena_server.storage.disk_check import CHECK_EVERY_S, DiskCheck


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def files_are_refused():
    """Limit the size of files to a kB, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def test_a_disk_that_takes_files_has_no_fault_and_no_file_is_left(tmp_path):
    assert DiskCheck(tmp_path).fault() == ""
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_the_system_refuses_is_a_fault_without_a_path(tmp_path, files_are_refused):
    fault = DiskCheck(tmp_path).fault()
    assert os.strerror(errno.EFBIG) in fault
    assert str(tmp_path) not in fault
    assert list(tmp_path.iterdir()) == []


def test_the_result_is_valid_for_some_seconds(tmp_path, monkeypatch):
    clock = Clock()
    check = DiskCheck(tmp_path, clock)
    assert check.fault() == ""
    flushed = []

    def full(descriptor):
        flushed.append(descriptor)
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(disk_check.os, "fsync", full)
    assert check.fault() == ""
    clock.now += CHECK_EVERY_S
    assert [check.fault() for _ in range(3)] == [
        f"the data folder cannot be written: {os.strerror(errno.ENOSPC)}"
    ] * 3
    assert len(flushed) == 1
    monkeypatch.undo()
    clock.now += CHECK_EVERY_S
    assert check.fault() == ""
