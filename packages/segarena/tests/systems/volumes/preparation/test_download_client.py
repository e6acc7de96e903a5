import hashlib
import shutil

import pytest

from segarena.errors import DatasetError
from segarena.systems.volumes.preparation.download_client import DownloadClient, RemoteFile

BODY = bytes(range(256)) * 40


@pytest.fixture
def remote(server):
    server.files["/a.bin"] = BODY
    return RemoteFile(
        url=f"{server.url}/a.bin",
        path="sub/a.bin",
        size_bytes=len(BODY),
        md5=hashlib.md5(BODY).hexdigest(),
    )


def without(file, **changes):
    return RemoteFile(**{**{name: getattr(file, name) for name in RemoteFile.__slots__}, **changes})


def test_a_file_arrives_whole_and_nothing_else_is_left(remote, web, tmp_path):
    assert web.web.download(remote, tmp_path) == tmp_path / "sub" / "a.bin"
    assert (tmp_path / "sub" / "a.bin").read_bytes() == BODY
    assert [path.name for path in (tmp_path / "sub").iterdir()] == ["a.bin"]


def test_a_file_that_is_there_is_not_fetched_again(remote, web, tmp_path, server):
    web.web.download(remote, tmp_path)
    web.web.download(remote, tmp_path)
    assert len(server.requests) == 1


def test_a_partial_file_is_gone_on_with(remote, web, tmp_path, server):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.bin.part").write_bytes(BODY[:5000])
    web.web.download(remote, tmp_path)
    assert server.requests == [("/a.bin", "bytes=5000-")]
    assert (tmp_path / "sub" / "a.bin").read_bytes() == BODY


def test_a_server_without_ranges_starts_anew(remote, web, tmp_path, server):
    server.has_ranges = False
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.bin.part").write_bytes(b"x" * 5000)
    web.web.download(remote, tmp_path)
    assert (tmp_path / "sub" / "a.bin").read_bytes() == BODY


@pytest.mark.parametrize("size", [len(BODY), None])
def test_a_dead_line_is_taken_up_where_it_broke(remote, web, tmp_path, server, size):
    server.trouble["/a.bin"] = [1000 + 3000]
    web.web.download(without(remote, size_bytes=size), tmp_path)
    assert [asked for _, asked in server.requests] == [None, "bytes=3000-"]
    assert (tmp_path / "sub" / "a.bin").read_bytes() == BODY


def test_a_part_longer_than_the_file_is_dropped(remote, web, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.bin.part").write_bytes(BODY + b"more")
    web.web.download(remote, tmp_path)
    assert (tmp_path / "sub" / "a.bin").read_bytes() == BODY


def test_another_part_than_asked_for_is_not_appended(remote, web, tmp_path, server, monkeypatch):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.bin.part").write_bytes(BODY[:5000])
    server.trouble["/a.bin"] = [(206, {"Content-Range": "bytes 0-9/10"})]
    web.web.download(remote, tmp_path)
    assert [asked for _, asked in server.requests] == ["bytes=5000-", None]
    assert (tmp_path / "sub" / "a.bin").read_bytes() == BODY


def test_a_range_beyond_the_end_starts_anew(remote, web, tmp_path, server):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.bin.part").write_bytes(BODY + b"more")
    web.web.download(without(remote, size_bytes=None), tmp_path)
    assert [asked for _, asked in server.requests] == [f"bytes={len(BODY) + 4}-", None]


def test_passing_errors_are_waited_out_longer_each_time(remote, web, tmp_path, server):
    server.trouble["/a.bin"] = [503, 500, (429, {"Retry-After": "30"})]
    web.web.download(remote, tmp_path)
    assert web.waits == [2.0, 4.0, 30.0]


def test_an_error_that_stays_ends_at_once(remote, web, tmp_path, server):
    del server.files["/a.bin"]
    with pytest.raises(DatasetError, match="HTTP 404"):
        web.web.download(remote, tmp_path)
    assert web.waits == []


def test_attempts_come_to_an_end(remote, web, tmp_path, server):
    server.trouble["/a.bin"] = [500] * 9
    with pytest.raises(DatasetError, match="HTTP 500"):
        web.web.download(remote, tmp_path)
    assert len(server.requests) == 5


def test_no_server_is_one_line(web, tmp_path):
    file = RemoteFile(url="http://127.0.0.1:9/a", path="a")
    with pytest.raises(DatasetError, match="refused"):
        web.web.download(file, tmp_path)


def test_a_wrong_checksum_is_never_given_the_name(remote, web, tmp_path, server):
    server.files["/a.bin"] = BODY[::-1]
    with pytest.raises(DatasetError, match="checksum"):
        web.web.download(remote, tmp_path)
    assert list((tmp_path / "sub").iterdir()) == []


def test_more_than_stated_or_allowed_is_refused(remote, web, tmp_path, server):
    server.files["/a.bin"] = BODY + b"!"
    with pytest.raises(DatasetError, match="got more"):
        web.web.download(remote, tmp_path)
    with pytest.raises(DatasetError, match="limit of 100"):
        DownloadClient(most_bytes=100).download(remote, tmp_path / "other")
    with pytest.raises(DatasetError, match="expected at most 100"):
        DownloadClient(most_bytes=100).download(
            without(remote, size_bytes=None), tmp_path / "other"
        )


def test_a_full_disk_is_said_before_the_first_byte(remote, web, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(100, 90, 10))
    with pytest.raises(OSError, match="less disk space is free"):
        web.web.download(remote, tmp_path)


def test_other_addresses_than_of_the_web_are_refused(web, tmp_path):
    with pytest.raises(DatasetError, match="http"):
        web.web.download(RemoteFile(url="file:///etc/hostname", path="a"), tmp_path)


def test_progress_tells_bytes_and_size(remote, tmp_path):
    told = []
    DownloadClient(on_progress=lambda *state: told.append(state)).download(remote, tmp_path)
    assert told[-1] == ("sub/a.bin", len(BODY), len(BODY))


def test_a_document_larger_than_allowed_is_refused(server, web):
    server.files["/doc"] = b"x" * 50
    assert web.web.read(f"{server.url}/doc") == b"x" * 50
    with pytest.raises(DatasetError, match="expected at most 10"):
        web.web.read(f"{server.url}/doc", most_bytes=10)
