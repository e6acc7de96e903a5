"""Files in an S3-compatible storage: stored, found by other machines, with one-line error messages."""

import datetime
import pickle

import pytest

from segarena.errors import InvalidInput, StoreError, StoreUnavailable
from segarena_server.storage import s3 as remote
from segarena_server.storage.data_folder import DataFolder
from segarena_server.storage.run_folders import RunFolders
from segarena_server.storage.s3 import S3Storage

pytest.importorskip("obstore")


@pytest.fixture
def storage(s3, monkeypatch):
    monkeypatch.setattr(remote, "_RETRY_TIMEOUT", datetime.timedelta(seconds=1))
    monkeypatch.setattr(remote, "_REQUEST_TIMEOUT_S", 1)
    monkeypatch.setattr(remote, "_MAX_RETRIES", 1)
    yield s3
    s3.trouble = ""


@pytest.fixture
def one(storage):
    return S3Storage("s3://files/of/segarena")


def test_what_is_kept_is_found_by_its_name_and_by_other_processes(storage, one, tmp_path):
    one.put("a/b", b"content")
    assert one.get("a/b") == b"content"
    assert pickle.loads(pickle.dumps(one)).get("a/b") == b"content"
    assert storage.files["of/segarena/a/b"] == b"content"
    assert one.get_file("a/b", tmp_path / "here")
    assert (tmp_path / "here").read_bytes() == b"content"


def test_what_was_never_kept_is_none(one, tmp_path):
    assert one.get("nothing") is None
    assert one.tag("nothing") is None
    assert not one.get_file("nothing", tmp_path / "here")


def test_what_is_kept_again_has_another_tag(one):
    first = one.put("changing", b"one")
    assert one.tag("changing") == first
    assert one.put("changing", b"two") != first


@pytest.mark.long
@pytest.mark.parametrize("trouble", ["busy", "silent"])
def test_a_storage_that_does_not_answer_is_told_and_may_answer_later(storage, one, trouble):
    storage.trouble = trouble
    with pytest.raises(StoreUnavailable, match=r"s3://files/of/segarena does not answer") as raised:
        one.put("a", b"b")
    assert "\n" not in str(raised.value)
    storage.trouble = ""
    one.put("a", b"b")


def test_wrong_credentials_are_told(storage, one, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "bad")
    with pytest.raises(StoreError, match=r"rejects these credentials; check AWS_ACCESS_KEY_ID"):
        S3Storage("s3://files").check()


@pytest.mark.parametrize(
    "do", [lambda one: one.put("a", b"b"), lambda one: one.get("a"), lambda one: one.check()]
)
def test_a_bucket_that_does_not_exist_is_told(storage, do):
    with pytest.raises(StoreError, match="the bucket does not exist") as raised:
        do(S3Storage("s3://another"))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "address", ["s3://", "s3://A_B", "http://x/y", "s3://b/../c?x", "files", "s3://b/a b"]
)
def test_another_address_is_refused(address):
    with pytest.raises(InvalidInput, match="expected s3://bucket"):
        S3Storage(address)


def test_a_sample_kept_by_one_machine_is_fetched_by_another(storage, tmp_path):
    here, there = (DataFolder(tmp_path / name, "s3://files/data").samples for name in "ab")
    name = here.keep(b"a sample")
    assert there.read(name) == b"a sample"
    assert there.path(name).is_file()
    storage.files[f"data/files/{name[:2]}/{name}"] = b"changed"
    with pytest.raises(StoreError, match="damaged"):
        DataFolder(tmp_path / "c", "s3://files/data").samples.read(name)


def test_a_run_that_is_written_on_one_machine_is_read_on_another_as_it_was_kept_last(
    storage, tmp_path
):
    here, there = (RunFolders(tmp_path / name, S3Storage("s3://files/data")) for name in "ab")
    here.keep_place("run", 3, b"x")
    assert there.place("run", 3) == b"x"
    assert there.place("run", 4) is None
    for content in ("first", "second"):
        here.path("run").joinpath("records").mkdir(parents=True, exist_ok=True)
        here.path("run").joinpath("records", "0.parquet").write_text(content)
        here.keep("run")
        for _ in range(2):
            assert there.fetch("run").joinpath("records", "0.parquet").read_text() == content
    assert sorted(path.name for path in there.path("run").parent.iterdir()) == ["run", "run.tag"]


def test_without_a_storage_a_run_is_where_it_is(tmp_path):
    folders = RunFolders(tmp_path)
    folders.keep_place("run", 0, b"")
    folders.keep("run")
    assert folders.place("run", 0) is None
    assert folders.fetch("run") == tmp_path / "run"
