import pytest

from segarena.client.address import Address, read_address, read_server
from segarena.errors import InvalidInput


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://lab.example/challenges/spring", Address("https://lab.example", "spring")),
        (
            "https://lab.example:8443/arena/challenges/spring/test/",
            Address("https://lab.example:8443/arena", "spring", "test"),
        ),
        ("http://127.0.0.1:8000/challenges/a?x=1#y", Address("http://127.0.0.1:8000", "a")),
        ("http://[::1]:8000/challenges/a", Address("http://[::1]:8000", "a")),
        ("http://localhost/challenges/a", Address("http://localhost", "a")),
    ],
)
def test_an_address_names_server_challenge_and_phase(url, address):
    assert read_address(url) == address


@pytest.mark.parametrize(
    "url",
    [
        "spring",
        "https://lab.example",
        "https://lab.example/challenges/",
        "https://lab.example/challenges/a/b/c",
        "https://lab.example/challenges/../x",
        "ftp://lab.example/challenges/a",
        "https:///challenges/a",
        "https://me:secret@lab.example/challenges/a",
        "https://lab.example:port/challenges/a",
        "https://[::1/challenges/a",
        "https://lab.example/challenges/a%2f",
    ],
)
def test_what_names_no_challenge_is_refused(url):
    with pytest.raises(InvalidInput, match=r"expected|address"):
        read_address(url)


@pytest.mark.parametrize(
    "url", ["http://lab.example", "http://10.0.0.1", "http://localhost.lab.example"]
)
def test_a_token_is_not_sent_where_others_can_read_it(url):
    with pytest.raises(
        InvalidInput, match="others could read a token sent over http; expected https://"
    ):
        read_server(url)
