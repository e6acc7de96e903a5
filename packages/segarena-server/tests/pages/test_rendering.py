"""Rendering of pages: messages with a full stop, and the page of an address that does not exist."""

import pytest

from segarena_server.pages.rendering import end_sentence


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("the name is wrong", "the name is wrong."),
        (ValueError("expected a name"), "expected a name."),
        ("Really?", "Really?"),
        ("", ""),
    ],
)
def test_messages_end_with_a_full_stop(message, sentence):
    assert end_sentence(message) == sentence


@pytest.mark.long
def test_an_address_without_a_page_is_not_found(served):
    answer = served.client().get("/nothing")
    assert answer.status_code == 404
    assert "<h1>Not found</h1>" in answer.text
    assert "this does not exist, or it belongs to somebody else." in answer.text
