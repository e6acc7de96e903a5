import io
import shutil
import zipfile

import pytest

from segarena.errors import DatasetError, StoreError
from segarena.systems.volumes.preparation.download_sources import TciaManifests
from segarena.systems.volumes.preparation.file_download import download_files


def zipped(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


@pytest.fixture
def series(server, tmp_path):
    """Two series on a TCIA server that does not send lengths, and the manifest that lists them."""
    server.says_length = server.has_ranges = False
    folder = tmp_path / "raw"
    folder.mkdir()
    (folder / "m.tcia").write_text("ListOfSeriesToDownload=\n1.1\n1.2\n")
    for uid in ("1.1", "1.2"):
        server.files[f"/getImage?SeriesInstanceUID={uid}"] = zipped(
            {"1.dcm": uid, "LICENSE": "terms"}
        )
    return folder, TciaManifests(page="", manifests=1, base_url=server.url)


def test_series_end_as_folders_and_are_not_fetched_twice(series, web, server):
    folder, source = series
    assert download_files(source, folder, web=web.web) == 2
    assert (folder / "1.2" / "1.dcm").read_text() == "1.2"
    assert sorted(path.name for path in folder.iterdir()) == ["1.1", "1.2", "m.tcia"]
    download_files(source, folder, web=web.web)
    assert len(server.requests) == 2


def test_a_series_that_ends_early_fails_alone_and_is_fetched_next_time(series, web, server):
    folder, source = series
    server.trouble["/getImage?SeriesInstanceUID=1.1"] = [1000 + 50]
    with pytest.raises(DatasetError, match=r"1 of 2 files could not be downloaded.*whole zip"):
        download_files(source, folder, web=web.web)
    assert (folder / "1.2" / "1.dcm").is_file()
    assert not (folder / "1.1").exists()
    assert download_files(source, folder, web=web.web) == 2
    assert (folder / "1.1" / "1.dcm").read_text() == "1.1"


def test_files_of_a_record_are_fetched_whole_though_one_is_missing(zenodo, web, server, tmp_path):
    source = zenodo({"a.zip": b"a" * 100, "b.zip": b"b" * 100})
    del server.files["/files/a.zip"]
    with pytest.raises(DatasetError, match=r"1 of 2 files.*HTTP 404"):
        download_files(source, tmp_path / "raw", web=web.web)
    assert (tmp_path / "raw" / "b.zip").read_bytes() == b"b" * 100


def test_a_full_disk_stops_and_says_so(zenodo, web, tmp_path, monkeypatch):
    source = zenodo({"a.zip": b"a" * 100})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(100, 90, 10))
    with pytest.raises(
        StoreError, match="Free disk space or fix the permissions, and run it again"
    ):
        download_files(source, tmp_path / "raw", web=web.web)
