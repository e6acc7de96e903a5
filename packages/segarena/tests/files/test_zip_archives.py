import io
import shutil
import stat
import sys
import zipfile

import pytest

from segarena.errors import DatasetError, MissingExtra
from segarena.files.zip_archives import extract_zip

SECRET = "not a real one"


@pytest.fixture
def archive(tmp_path):
    """Write a zip of text files."""

    def write(files, name="a.zip", compression=zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(tmp_path / name, "w", compression) as out:
            for entry, text in files.items():
                out.writestr(entry, text)
        return tmp_path / name

    return write


@pytest.fixture
def encrypted(tmp_path):
    """Write an AES-encrypted zip."""
    pyzipper = pytest.importorskip("pyzipper")
    path = tmp_path / "secret.zip"
    with pyzipper.AESZipFile(
        path, "w", compression=zipfile.ZIP_DEFLATED, encryption=pyzipper.WZ_AES
    ) as out:
        out.setpassword(SECRET.encode())
        out.writestr("case/a.txt", "hello" * 1000)
    return path


def crc_step(value, byte):
    value ^= byte
    for _ in range(8):
        value = (value >> 1) ^ (0xEDB88320 if value & 1 else 0)
    return value


def zip_crypto(text, password):
    """Return a zip with one file in the old encryption, which no library here writes (PKWARE's APPNOTE, 6.1)."""
    keys = [0x12345678, 0x23456789, 0x34567890]

    def update(byte):
        keys[0] = (keys[0] >> 8) ^ table[(keys[0] ^ byte) & 0xFF]
        keys[1] = ((keys[1] + (keys[0] & 0xFF)) * 134775813 + 1) & 0xFFFFFFFF
        keys[2] = (keys[2] >> 8) ^ table[(keys[2] ^ (keys[1] >> 24)) & 0xFF]

    table = [crc_step(0, byte) for byte in range(256)]
    for byte in password:
        update(byte)
    plain = io.BytesIO()
    with zipfile.ZipFile(plain, "w") as out:
        out.writestr("a.txt", text)
        info = out.getinfo("a.txt")
    data = b"\0" * 11 + bytes([info.CRC >> 24]) + text
    cipher = bytearray()
    for byte in data:
        mixed = keys[2] | 2
        cipher.append(byte ^ ((mixed * (mixed ^ 1)) >> 8) & 0xFF)
        update(byte)
    raw = bytearray(plain.getvalue())
    start = 30 + len("a.txt")
    raw[start : start + len(text)] = cipher
    central = raw.index(b"PK\1\2")
    for at in (6, central + 8):
        raw[at] |= 1
    for at in (18, central + 20):
        raw[at : at + 4] = len(data).to_bytes(4, "little")
    end = raw.index(b"PK\5\6")
    raw[end + 16 : end + 20] = central.to_bytes(4, "little")
    return bytes(raw)


def test_everything_is_unpacked_and_told(archive, tmp_path):
    found = extract_zip(archive({"a/b.txt": "one", "c.txt": "two"}), tmp_path / "out")
    assert found == [tmp_path / "out" / "a" / "b.txt", tmp_path / "out" / "c.txt"]
    assert [path.read_text() for path in found] == ["one", "two"]


def test_what_is_there_is_not_written_again_and_halves_are(archive, tmp_path):
    path = archive({"a.txt": "one", "b.txt": "two"})
    (first, second) = extract_zip(path, tmp_path / "out")
    first.write_text("ONE")
    second.write_text("t")
    extract_zip(path, tmp_path / "out")
    assert (first.read_text(), second.read_text()) == ("ONE", "two")


@pytest.mark.parametrize(
    "name",
    [
        "../a.txt",
        "/etc/a.txt",
        "x/../../a.txt",
        "C:a.txt",
        "..\\a.txt",
        "sub/aux.txt",
        "COM\u00b9",
        "a\nb",
    ],
)
def test_names_that_lead_out_of_the_folder_stop_everything(archive, tmp_path, name):
    with pytest.raises(DatasetError, match="leaves the folder"):
        extract_zip(archive({"good.txt": "1", name: "2"}), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("kind", "text"), [(stat.S_IFLNK, "/etc/passwd"), (stat.S_IFIFO, "")])
def test_links_and_devices_are_refused(tmp_path, kind, text):
    entry = zipfile.ZipInfo("odd")
    entry.external_attr = (kind | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as out:
        out.writestr(entry, text)
    with pytest.raises(DatasetError, match="a link or device, which could leave the folder"):
        extract_zip(tmp_path / "a.zip", tmp_path / "out")


def test_a_link_that_was_there_before_leads_nothing_out(archive, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "sub").symlink_to(tmp_path)
    with pytest.raises(DatasetError, match="leaves the folder"):
        extract_zip(archive({"sub/b.txt": "x"}), tmp_path / "out")
    assert not (tmp_path / "b.txt").exists()


@pytest.mark.parametrize("names", [("a.part", "a"), ("a", "a.part"), (".a.part", "a", ".out.part")])
def test_temporary_names_are_not_those_of_members(archive, tmp_path, names):
    found = extract_zip(archive({name: f"this is {name}" for name in names}), tmp_path / "out")
    assert [path.read_text() for path in found] == [f"this is {name}" for name in names]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(names)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    "names",
    [
        ("case/A.txt", "case/a.TXT"),
        ("b/\u00e9.txt", "b/e\u0301.txt"),
        ("a", "a/b"),
        ("x/./a", "x/a"),
        ("A/b", "a"),
    ],
)
def test_two_members_for_one_place_stop_everything(archive, tmp_path, names):
    with pytest.raises(DatasetError, match="have the same path; nothing unpacked"):
        extract_zip(archive(dict.fromkeys(names, "x")), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice_stops_everything(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as out:
        out.writestr("a", "one")
        out.writestr("a", "two")
    with pytest.raises(DatasetError, match="have the same path"):
        extract_zip(tmp_path / "a.zip", tmp_path / "out")


def test_a_bomb_is_refused_by_its_stated_size(archive, tmp_path):
    path = archive({"zeros": b"\0" * 1_000_000})
    assert path.stat().st_size < 2000
    with pytest.raises(DatasetError, match="1000000 bytes unpacked, more than the limit"):
        extract_zip(path, tmp_path / "out", most_bytes=999_999)
    with pytest.raises(DatasetError, match="limit of 0 files"):
        extract_zip(path, tmp_path / "out", most_files=0)


def test_a_bomb_that_states_a_small_size_is_stopped(archive, tmp_path):
    path = archive({"zeros": b"\0" * 1_000_000})
    raw = bytearray(path.read_bytes())
    central = raw.index(b"PK\1\2")
    for at in (22, central + 24):
        raw[at : at + 4] = (10).to_bytes(4, "little")
    path.write_bytes(raw)
    with pytest.raises(DatasetError, match="expected a whole zip"):
        extract_zip(path, tmp_path / "out")
    assert not (tmp_path / "out" / "zeros").exists()


def test_a_truncated_zip_is_one_line(archive, tmp_path):
    path = archive({"a.txt": "x" * 5000})
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(
        DatasetError, match=r"expected a whole zip.*delete the file and fetch it again"
    ):
        extract_zip(path, tmp_path / "out")


def test_a_zip_that_needs_a_version_that_never_was_is_one_line(archive, tmp_path):
    path = archive({"a.txt": "x" * 50})
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"PK\x01\x02") + 6] = 148
    path.write_bytes(raw)
    with pytest.raises(DatasetError, match=r"expected a whole zip.*14\.8"):
        extract_zip(path, tmp_path / "out")


def test_a_member_without_a_name_is_refused(archive, tmp_path):
    path = archive({"a": "x"})
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"PK\x01\x02") + 46] = 0  # the name ends where it begins
    path.write_bytes(raw)
    with pytest.raises(DatasetError, match="contains ''"):
        extract_zip(path, tmp_path / "out")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, 9, 200])
def test_a_member_that_is_not_packed_as_it_says_is_one_line(archive, tmp_path, method):
    path = archive({"a.txt": bytes(range(256)) * 20}, compression=zipfile.ZIP_DEFLATED)
    raw = bytearray(path.read_bytes())
    raw[8] = raw[raw.index(b"PK\x01\x02") + 10] = method
    path.write_bytes(raw)
    with pytest.raises(DatasetError, match="expected a whole zip"):
        extract_zip(path, tmp_path / "out")
    assert not list((tmp_path / "out").rglob("*.*"))


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_damaged_bytes_are_noticed_and_get_no_name(archive, tmp_path, compression):
    path = archive({"a.txt": bytes(range(256)) * 20}, compression=compression)
    raw = bytearray(path.read_bytes())
    raw[60] ^= 0xFF
    path.write_bytes(raw)
    with pytest.raises(DatasetError, match=r"a\.txt"):
        extract_zip(path, tmp_path / "out")
    assert not (tmp_path / "out" / "a.txt").exists()


def test_an_encrypted_zip_opens_with_its_password(encrypted, tmp_path):
    (found,) = extract_zip(encrypted, tmp_path / "out", password=SECRET)
    assert found.read_text() == "hello" * 1000


def test_a_zip_encrypted_the_old_way_opens_too(tmp_path):
    text = bytes(range(250))
    (tmp_path / "old.zip").write_bytes(zip_crypto(text, SECRET.encode()))
    (found,) = extract_zip(tmp_path / "old.zip", tmp_path / "out", password=SECRET)
    assert found.read_bytes() == text
    with pytest.raises(DatasetError, match="is the password right"):
        extract_zip(tmp_path / "old.zip", tmp_path / "other", password="another")


def test_a_wrong_or_missing_password_is_said_without_telling_it(encrypted, tmp_path):
    with pytest.raises(DatasetError, match="is the password right") as wrong:
        extract_zip(encrypted, tmp_path / "out", password="guess-42")
    assert "guess-42" not in str(wrong.value)
    with pytest.raises(DatasetError, match="SEGARENA_ARCHIVE_PASSWORD"):
        extract_zip(encrypted, tmp_path / "out")


def test_what_opens_it_is_named_when_it_is_not_installed(encrypted, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyzipper", None)
    with pytest.raises(MissingExtra, match=r"pip install 'segarena\[radiology\]'"):
        extract_zip(encrypted, tmp_path / "out", password=SECRET)


def test_a_full_disk_is_said_before_anything_is_written(archive, tmp_path, monkeypatch):
    path = archive({"a.txt": "x" * 500})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(100, 90, 10))
    with pytest.raises(OSError, match="more space than is free"):
        extract_zip(path, tmp_path / "out")


def test_a_list_of_files_that_leads_out_of_the_archive_is_one_line(archive, tmp_path):
    path = archive({"a.txt": "x" * 500})
    data = bytearray(path.read_bytes())
    place = data.rfind(b"PK\5\6")
    data[place + 16 : place + 20] = (0x7FFFFFFF).to_bytes(4, "little")  # where the list begins
    path.write_bytes(data)
    with pytest.raises(DatasetError, match="expected a whole zip"):
        extract_zip(path, tmp_path / "out")
