"""Messages of exceptions, which never repeat a whole file."""

import pickle

import msgspec
import pytest

from segarena.errors import DatasetError, InvalidInput, SegarenaError, SegmenterError


def _raised(error, cause=None):
    try:
        raise error from cause
    except SegarenaError as caught:
        return str(caught)


@pytest.mark.parametrize("form", ["{!r}", '"{}"', "`{}`", "['{}', 'b']"])
def test_long_quotations_lose_their_middle(form):
    content = "begin" + "x" * 100_000 + "end"
    message = _raised(InvalidInput(f"a.csv: expected 0 or 1, got {form.format(content)}; fix it"))
    assert len(message) < 260
    assert message.startswith("a.csv: expected 0 or 1, got ")
    assert message.endswith("; fix it")
    assert "begin" in message
    assert "end" in message


def test_the_message_of_a_decoder_is_shortened():
    with pytest.raises(ValueError, match="invalid literal") as caught:
        int("y" * 3000)
    for quotation in (str(caught.value), repr(caught.value)):
        error = DatasetError(f"{'p' * 300}/a.txt: expected a number, got: {quotation}; fix it")
        message = _raised(error, caught.value)
        assert len(message) < 600
        # A path is not a quotation.
        assert message.startswith("p" * 300 + "/a.txt: expected")


def test_an_unknown_field_of_a_file_is_shortened():
    class Plain(msgspec.Struct, forbid_unknown_fields=True):
        pass

    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(b'{"%s": 1}' % (b"z" * 3000), type=Plain)
    assert len(str(caught.value)) > 3000
    message = _raised(InvalidInput(f"a.json: {caught.value}"), caught.value)
    assert len(message) < 230


def test_short_messages_and_exceptions_of_plug_ins_are_unchanged():
    assert _raised(InvalidInput("it's 'a' " + "and so on " * 40 + "isn't")).count("so on") == 40
    reason = "the model's shapes: " + "(1, 2) " * 100
    assert _raised(SegmenterError(f"failed: {reason}"), RuntimeError(reason)).count("(1, 2)") == 100
    error = pickle.loads(pickle.dumps(InvalidInput("a" * 300)))
    assert error.args == ("a" * 300,)
