"""A zip of a stranger is unpacked within limits, and what is said of it names no file of ours."""

import struct
import zipfile

import pytest

from segarena.challenges.sent.archives import beginning, files_in, unpack_sent
from segarena.errors import InvalidInput


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
    unpack_sent(path, tmp_path / "to", most_bytes=9)
    assert files_in(beginning(tmp_path / "to")) == ["a.png", "b/c.png"]


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
        unpack_sent(zipped(files), tmp_path / "to", most_bytes=1000)
    assert str(tmp_path) not in str(raised.value)
    assert not (tmp_path.parent / "x").exists()


def test_a_bomb_that_lies_about_its_size_ends_at_what_it_says(zipped, tmp_path):
    path = zipped({"a": "0" * 100_000})
    data = bytearray(path.read_bytes())
    for at, offset in ((data.find(b"PK\x03\x04"), 22), (data.find(b"PK\x01\x02"), 24)):
        data[at + offset : at + offset + 4] = struct.pack("<L", 10)
    path.write_bytes(data)
    with pytest.raises(InvalidInput):
        unpack_sent(path, tmp_path / "to", most_bytes=1000)
    assert not [file for file in (tmp_path / "to").rglob("*") if file.is_file()]


def test_a_list_of_files_that_would_fill_the_memory_is_not_read(zipped, tmp_path):
    path = zipped({"a": "1"})
    data = bytearray(path.read_bytes())
    end = data.rfind(b"PK\x05\x06")
    data[end + 12 : end + 16] = struct.pack("<L", 2**31)
    path.write_bytes(data)
    with pytest.raises(InvalidInput, match="list of files"):
        unpack_sent(path, tmp_path / "to", most_bytes=1000)


@pytest.mark.parametrize("content", [b"", b"PK", b"no zip at all" * 10_000])
def test_what_is_no_zip_is_said_to_be_none(content, tmp_path):
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(InvalidInput, match="expected a zip"):
        unpack_sent(tmp_path / "a.zip", tmp_path / "to", most_bytes=1000)
