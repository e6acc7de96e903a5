"""An untrusted zip is unpacked within limits, and messages about it name no file of the server."""

import struct
import time
import zipfile

import pytest

from segarena.errors import InvalidInput
from segarena_server.challenges.submissions import archives
from segarena_server.challenges.submissions.archives import (
    _check_listing,
    content_root,
    files_in,
    unpack_submission,
)


@pytest.fixture
def zipped(tmp_path):
    """Write a zip of text files."""

    def write(files):
        path = tmp_path / "a.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return path

    return write


def test_the_only_folder_is_where_files_begin(zipped, tmp_path):
    path = zipped({"mine/a.png": "x", "mine/b/c.png": "y", ".DS_Store": "z"})
    unpack_submission(path, tmp_path / "to", most_bytes=9, most_files=20_000)
    assert files_in(content_root(tmp_path / "to")) == ["a.png", "b/c.png"]


WRONG = {
    "names that lead out": ({"../../etc/x": "a"}, "leaves the folder"),
    "absolute names": ({"/etc/x": "a"}, "leaves the folder"),
    "too much, unpacked": ({"a": "0" * 10_000}, "more than the limit"),
    "two for one place": ({"a.png": "1", "A.PNG": "2"}, "have the same path"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_no_zip_should_have_is_refused_without_a_path_of_ours(case, zipped, tmp_path):
    files, told = WRONG[case]
    with pytest.raises(InvalidInput, match=told) as raised:
        unpack_submission(zipped(files), tmp_path / "to", most_bytes=1000, most_files=20_000)
    assert str(tmp_path) not in str(raised.value)
    assert not (tmp_path.parent / "x").exists()


def test_a_bomb_that_lies_about_its_size_ends_at_what_it_says(zipped, tmp_path):
    path = zipped({"a": "0" * 100_000})
    data = bytearray(path.read_bytes())
    for at, offset in ((data.find(b"PK\x03\x04"), 22), (data.find(b"PK\x01\x02"), 24)):
        data[at + offset : at + offset + 4] = struct.pack("<L", 10)
    path.write_bytes(data)
    with pytest.raises(InvalidInput):
        unpack_submission(path, tmp_path / "to", most_bytes=1000, most_files=20_000)
    assert not [file for file in (tmp_path / "to").rglob("*") if file.is_file()]


def test_a_list_of_files_that_would_fill_the_memory_is_not_read(zipped, tmp_path):
    path = zipped({"a": "1"})
    data = bytearray(path.read_bytes())
    end = data.rfind(b"PK\x05\x06")
    data[end + 12 : end + 16] = struct.pack("<L", 2**31)
    path.write_bytes(data)
    with pytest.raises(InvalidInput, match="zip directory"):
        unpack_submission(path, tmp_path / "to", most_bytes=1000, most_files=20_000)


@pytest.fixture(scope="module")
def hundred_thousand(tmp_path_factory):
    """A zip of 100 000 empty files."""
    path = tmp_path_factory.mktemp("many") / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(100_000):
            archive.writestr(zipfile.ZipInfo(f"{number % 7}/{number}"), b"")
    return path


@pytest.mark.long
def test_a_hundred_thousand_empty_files_are_refused_before_they_are_read(
    hundred_thousand, tmp_path
):
    started = time.process_time()
    with pytest.raises(InvalidInput, match=r"at most 20,000 files in the zip, got 100,000"):
        unpack_submission(hundred_thousand, tmp_path / "to", most_bytes=10**9, most_files=20_000)
    assert time.process_time() - started < 3.0
    assert not (tmp_path / "to").exists()


def test_a_false_number_of_files_is_found_before_they_are_unpacked(zipped, tmp_path):
    path = zipped({f"{number}.png": "" for number in range(50)})
    data = bytearray(path.read_bytes())
    end = data.rfind(b"PK\x05\x06")
    data[end + 8 : end + 12] = struct.pack("<2H", 1, 1)
    path.write_bytes(data)
    with pytest.raises(InvalidInput, match="50 files"):
        unpack_submission(path, tmp_path / "to", most_bytes=1000, most_files=49)
    assert not list((tmp_path / "to").glob("*"))


def test_unpacking_ends_at_its_time_limit(zipped, tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "_UNPACK_LIMIT_S", 0.0)
    with pytest.raises(InvalidInput, match="takes longer than 0 s") as raised:
        unpack_submission(zipped({"a": "1"}), tmp_path / "to", most_bytes=1000, most_files=20_000)
    assert str(tmp_path) not in str(raised.value)
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and file.name != "a.zip"]


@pytest.mark.parametrize("content", [b"", b"PK", b"no zip at all" * 10_000])
def test_what_is_no_zip_is_said_to_be_none(content, tmp_path):
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(InvalidInput, match="expected a zip"):
        unpack_submission(tmp_path / "a.zip", tmp_path / "to", most_bytes=1000, most_files=20_000)


def test_a_large_zip_is_believed_by_the_list_that_is_read(zipped, tmp_path):
    """If a zip states two sizes of its directory, readers use that of the larger format."""
    path = zipped({"a": "1"})
    data = path.read_bytes()
    end = data.rfind(b"PK\x05\x06")
    large = struct.pack(
        "<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, 2**31, data.find(b"PK\x01\x02")
    )
    place = struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1)
    path.write_bytes(data[:end] + large + place + data[end:])
    with pytest.raises(InvalidInput, match="got 2,147,483,648"):
        unpack_submission(path, tmp_path / "to", most_bytes=1000, most_files=20_000)
    path.write_bytes(data[:end] + b"?" + large[1:] + place + data[end:])
    with pytest.raises(InvalidInput, match="damaged"):
        unpack_submission(path, tmp_path / "to", most_bytes=1000, most_files=20_000)


def test_more_files_than_the_small_format_counts_are_unpacked(hundred_thousand):
    assert b"PK\x06\x07" in hundred_thousand.read_bytes()[-100:]
    _check_listing(hundred_thousand, 100_000)
    with pytest.raises(InvalidInput, match="at most 99,999 files in the zip, got 100,000"):
        _check_listing(hundred_thousand, 99_999)
