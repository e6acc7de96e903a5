import pytest

from segarena.errors import DatasetError, InvalidInput
from segarena.files.text_files import read_text


def test_text_is_read_whatever_the_locale(tmp_path):
    (tmp_path / "a.txt").write_bytes("größer\n".encode())
    assert read_text(tmp_path / "a.txt", "names") == "größer\n"


def test_what_is_no_text_is_told_with_its_position(tmp_path):
    (tmp_path / "a.txt").write_bytes("größer\n".encode("latin-1"))
    with pytest.raises(
        DatasetError, match=r"a.txt: expected names as text in UTF-8, .* position 2"
    ):
        read_text(tmp_path / "a.txt", "names")
    with pytest.raises(InvalidInput, match="expected names, got: Is a directory"):
        read_text(tmp_path, "names", error=InvalidInput)
