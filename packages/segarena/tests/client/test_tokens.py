import stat

import pytest

from segarena.client.tokens import forget_token, store_token, token_for, tokens_file
from segarena.errors import RemoteError, StoreError

SERVER = "https://lab.example"


@pytest.fixture(autouse=True)
def no_variable(monkeypatch, participant):
    monkeypatch.delenv("SEGARENA_TOKEN")


def test_a_kept_token_is_read_by_its_owner_alone():
    file = store_token(SERVER, " abc\n")
    store_token("https://other.example", "def")
    assert token_for(SERVER) == "abc"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_what_is_given_goes_before_the_environment_and_that_before_the_file(monkeypatch):
    store_token(SERVER, "kept")
    monkeypatch.setenv("SEGARENA_TOKEN", "environment")
    assert token_for(SERVER) == "environment"
    assert token_for(SERVER, "given") == "given"


def test_a_forgotten_token_is_gone():
    store_token(SERVER, "abc")
    assert forget_token(SERVER)
    assert not forget_token(SERVER)
    with pytest.raises(
        RemoteError, match=f"no token; create one on your page there, then: segarena login {SERVER}"
    ):
        token_for(SERVER)


def test_a_file_that_others_can_read_is_refused():
    store_token(SERVER, "abc").chmod(0o640)
    with pytest.raises(StoreError, match="is readable by other users"):
        token_for(SERVER)


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"a": 1}', b"\xff"])
def test_a_damaged_file_is_named(content):
    store_token(SERVER, "abc")
    tokens_file().write_bytes(content)
    with pytest.raises(StoreError, match=r"tokens.json is damaged"):
        token_for(SERVER)


@pytest.mark.parametrize("token", ["two words", "a\r\nHost: x", "ä", "x" * 501])
def test_what_no_header_can_hold_is_no_token(token):
    with pytest.raises(RemoteError, match="expected a single word") as refused:
        store_token(SERVER, token)
    assert token not in str(refused.value)


def test_nothing_at_all_is_no_token():
    with pytest.raises(RemoteError, match="expected a single word"):
        store_token(SERVER, " \n")
