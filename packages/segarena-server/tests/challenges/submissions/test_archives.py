"""A zip of a stranger is unpacked within limits, and what is said of it names no file of ours."""

import struct
import zipfile

import pytest

from segarena.errors import InvalidInput
from segarena_server.challenges.submissions.archives import (
    _check_listing,
    content_root,
    files_in,
    unpack_submission,
)


@pytest.fixture
def zipped(tmp_path):
    """Write a zip of texts by name."""

    def write(files):
        path = tmp_path / "a.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return path

    return write


def test_the_only_folder_is_where_files_begin(zipped, tmp_path):
    path = zipped({"mine/a.png": "x", "mine/b/c.png": "y", ".DS_Store": "z"})
    unpack_submission(path, tmp_path / "to", most_bytes=9)
    assert files_in(content_root(tmp_path / "to")) == ["a.png", "b/c.png"]


WRONG = {
    "names that lead out": ({"../../etc/x": "a"}, "leads out"),
    "absolute names": ({"/etc/x": "a"}, "leads out"),
    "too much, unpacked": ({"a": "0" * 10_000}, "more than the limit"),
    "two for one place": ({"a.png": "1", "A.PNG": "2"}, "claim one place"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_no_zip_should_have_is_refused_without_a_path_of_ours(case, zipped, tmp_path):
    files, told = WRONG[case]
    with pytest.raises(InvalidInput, match=told) as raised:
        unpack_submission(zipped(files), tmp_path / "to", most_bytes=1000)
    assert str(tmp_path) not in str(raised.value)
    assert not (tmp_path.parent / "x").exists()


def test_a_bomb_that_lies_about_its_size_ends_at_what_it_says(zipped, tmp_path):
    path = zipped({"a": "0" * 100_000})
    data = bytearray(path.read_bytes())
    for at, offset in ((data.find(b"PK\x03\x04"), 22), (data.find(b"PK\x01\x02"), 24)):
        data[at + offset : at + offset + 4] = struct.pack("<L", 10)
    path.write_bytes(data)
    with pytest.raises(InvalidInput):
        unpack_submission(path, tmp_path / "to", most_bytes=1000)
    assert not [file for file in (tmp_path / "to").rglob("*") if file.is_file()]


def test_a_list_of_files_that_would_fill_the_memory_is_not_read(zipped, tmp_path):
    path = zipped({"a": "1"})
    data = bytearray(path.read_bytes())
    end = data.rfind(b"PK\x05\x06")
    data[end + 12 : end + 16] = struct.pack("<L", 2**31)
    path.write_bytes(data)
    with pytest.raises(InvalidInput, match="list of files"):
        unpack_submission(path, tmp_path / "to", most_bytes=1000)


@pytest.mark.parametrize("content", [b"", b"PK", b"no zip at all" * 10_000])
def test_what_is_no_zip_is_said_to_be_none(content, tmp_path):
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(InvalidInput, match="expected a zip"):
        unpack_submission(tmp_path / "a.zip", tmp_path / "to", most_bytes=1000)


def test_a_large_zip_is_believed_by_the_list_that_is_read(zipped, tmp_path):
    """Of two sizes of the list that a zip says, readers go by that of the larger format."""
    path = zipped({"a": "1"})
    data = path.read_bytes()
    end = data.rfind(b"PK\x05\x06")
    large = struct.pack(
        "<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, 2**31, data.find(b"PK\x01\x02")
    )
    place = struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1)
    path.write_bytes(data[:end] + large + place + data[end:])
    with pytest.raises(InvalidInput, match="list of files has 2,147,483,648 bytes"):
        unpack_submission(path, tmp_path / "to", most_bytes=1000)
    path.write_bytes(data[:end] + b"?" + large[1:] + place + data[end:])
    with pytest.raises(InvalidInput, match="damaged"):
        unpack_submission(path, tmp_path / "to", most_bytes=1000)


def test_more_files_than_the_small_format_counts_are_unpacked(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for number in range(2**16):
            archive.writestr(zipfile.ZipInfo(f"{number % 7}/{number}"), b"")
    assert b"PK\x06\x07" in (tmp_path / "a.zip").read_bytes()[-100:]
    _check_listing(tmp_path / "a.zip")
