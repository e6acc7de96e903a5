import hashlib
import json

import pytest

from segarena.errors import DatasetError, DatasetMissing
from segarena.files import limits
from segarena.systems.volumes.preparation import download_sources
from segarena.systems.volumes.preparation.download_client import RemoteFile
from segarena.systems.volumes.preparation.download_sources import (
    IdcManifest,
    ManualDownload,
    TciaCollection,
    TciaManifests,
)


def listing(entries, token=""):
    contents = "".join(
        f"<Contents><Key>{key}</Key><ETag>&quot;{tag}&quot;</ETag><Size>{size}</Size></Contents>"
        for key, tag, size in entries
    )
    more = f"<NextContinuationToken>{token}</NextContinuationToken>" if token else ""
    space = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
    return f'<?xml version="1.0"?><ListBucketResult {space}>{more}{contents}</ListBucketResult>'.encode()


def test_zenodo_says_names_sizes_and_checksums(zenodo, web, tmp_path, server):
    (file,) = zenodo({"a b.zip": b"hello"}).files(tmp_path, web.web)
    assert file == RemoteFile(
        url=f"{server.url}/files/a b.zip",
        path="a b.zip",
        size_bytes=5,
        md5=hashlib.md5(b"hello").hexdigest(),
    )


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b'{"files": [{"key": "a"}]}', b'{"\xff": 1}'])
def test_another_answer_of_zenodo_is_one_line(zenodo, web, tmp_path, server, answer):
    source = zenodo({})
    server.files["/api/records/1"] = answer
    with pytest.raises(DatasetError, match="expected"):
        source.files(tmp_path, web.web)


def test_names_that_lead_elsewhere_are_refused(zenodo, web, tmp_path):
    with pytest.raises(DatasetError, match="plain file names"):
        zenodo({"../a": b""}).files(tmp_path, web.web)


def test_a_tcia_collection_is_one_zip_per_series(server, web, tmp_path):
    server.files["/getSeries?Collection=My+Nodes&format=json"] = json.dumps(
        [{"SeriesInstanceUID": "1.2.3"}, {"SeriesInstanceUID": "1.2.4"}]
    ).encode()
    files = TciaCollection(collection="My Nodes", page="", base_url=server.url).files(
        tmp_path, web.web
    )
    assert [(file.path, file.folder) for file in files] == [
        ("1.2.3.zip", "1.2.3"),
        ("1.2.4.zip", "1.2.4"),
    ]
    assert files[0].url == f"{server.url}/getImage?SeriesInstanceUID=1.2.3"


@pytest.mark.parametrize(
    "answer", [b'{"error": 1}', b'[{"uid": "1"}]', b'[{"SeriesInstanceUID": "../1"}]']
)
def test_another_answer_of_tcia_is_one_line(server, web, tmp_path, answer):
    server.files["/getSeries?Collection=C&format=json"] = answer
    with pytest.raises(DatasetError, match="expected"):
        TciaCollection(collection="C", page="", base_url=server.url).files(tmp_path, web.web)


def test_tcia_manifests_are_read_and_doubles_dropped(web, tmp_path):
    head = "downloadServerUrl=https://x\nmanifestVersion=3.0\nListOfSeriesToDownload=\n"
    (tmp_path / "a.tcia").write_text(head + "1.2.3\n1.2.4\n")
    (tmp_path / "b.tcia").write_text(head + "1.2.4\r\n1.2.5\r\n")
    files = TciaManifests(page="", manifests=2, base_url="http://x").files(tmp_path, web.web)
    assert [file.folder for file in files] == ["1.2.3", "1.2.4", "1.2.5"]


def test_what_is_to_be_saved_by_hand_is_said(web, tmp_path):
    with pytest.raises(DatasetMissing, match=r"expected 2 \.tcia manifests, found 0.*http://page"):
        TciaManifests(page="http://page", manifests=2).files(tmp_path, web.web)
    with pytest.raises(DatasetMissing, match=r"s5cmd manifest .* of the collection livers"):
        IdcManifest(collection="livers").files(tmp_path, web.web)
    hand = ManualDownload(page="http://page", wanted=("a*.zip", "b.zip"))
    (tmp_path / "a1.zip").touch()
    with pytest.raises(DatasetMissing, match=r"download b\.zip from http://page with a browser"):
        hand.files(tmp_path, web.web)
    (tmp_path / "b.zip").touch()
    assert hand.files(tmp_path, web.web) == []


def test_a_manifest_without_series_is_refused(web, tmp_path):
    (tmp_path / "a.tcia").write_text("nothing")
    with pytest.raises(DatasetError, match="ListOfSeriesToDownload"):
        TciaManifests(page="", manifests=1).files(tmp_path, web.web)
    (tmp_path / "a.s5cmd").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(DatasetError, match="manifest as text"):
        IdcManifest(collection="c").files(tmp_path, web.web)
    (tmp_path / "a.s5cmd").write_text("# nothing\n")
    with pytest.raises(DatasetError, match="expected lines like"):
        IdcManifest(collection="c").files(tmp_path, web.web)


def test_an_idc_manifest_lists_the_bucket_page_by_page(server, web, tmp_path):
    (tmp_path / "m.s5cmd").write_text(
        "# a comment\ncp s3://open-data/aa-11/* .\ncp --x s3://other-data/bb-22/* dir\n"
    )
    first = "/open-data/?list-type=2&prefix=aa-11%2F"
    server.files[first] = listing([("aa-11/1.dcm", "0" * 32, 7)], token="more+1")
    server.files[f"{first}&continuation-token=more%2B1"] = listing(
        [("aa-11/2.dcm", f"{'1' * 32}-2", 8)]
    )
    server.files["/other-data/?list-type=2&prefix=bb-22%2F"] = listing(
        [("bb-22/3.dcm", "2" * 32, 9)]
    )
    files = IdcManifest(collection="c", bucket_url=server.url + "/{bucket}").files(
        tmp_path, web.web
    )
    assert files == [
        RemoteFile(
            url=f"{server.url}/open-data/aa-11/1.dcm",
            path="aa-11/1.dcm",
            size_bytes=7,
            md5="0" * 32,
        ),
        # The tag of a file that was uploaded in pieces is no md5.
        RemoteFile(url=f"{server.url}/open-data/aa-11/2.dcm", path="aa-11/2.dcm", size_bytes=8),
        RemoteFile(
            url=f"{server.url}/other-data/bb-22/3.dcm",
            path="bb-22/3.dcm",
            size_bytes=9,
            md5="2" * 32,
        ),
    ]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"no xml", "expected XML"),
        (b'<!DOCTYPE x [<!ENTITY a "a">]><x>&a;</x>', "without a document type"),
        (b"<a/>" * 600_000, "expected at most .* tags"),
        (b"<a>" + b" " * 17_000_000 + b"</a>", "expected at most 16000000 bytes"),
    ],
    ids=["no xml", "document type", "many tags", "long"],
)
def test_another_answer_of_the_bucket_is_one_line(server, web, tmp_path, answer, said, monkeypatch):
    monkeypatch.setenv(limits.PIXEL_LIMIT_VARIABLE, "1000000")
    (tmp_path / "m.s5cmd").write_text("cp s3://b/aa/* .\n")
    server.files["/b/?list-type=2&prefix=aa%2F"] = answer
    with pytest.raises(DatasetError, match=said):
        IdcManifest(collection="c", bucket_url=server.url + "/{bucket}").files(tmp_path, web.web)


def test_a_listing_without_an_end_is_given_up(server, web, tmp_path, monkeypatch):
    monkeypatch.setattr(download_sources, "_MOST_PAGES", 3)
    (tmp_path / "m.s5cmd").write_text("cp s3://b/aa/* .\n")
    more = listing([("aa/1.dcm", "0" * 32, 7)], token="again")
    first = "/b/?list-type=2&prefix=aa%2F"
    server.files |= {first: more, f"{first}&continuation-token=again": more}
    with pytest.raises(DatasetError, match="expected at most 3 pages that list aa"):
        IdcManifest(collection="c", bucket_url=server.url + "/{bucket}").files(tmp_path, web.web)
