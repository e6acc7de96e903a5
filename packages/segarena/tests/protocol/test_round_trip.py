"""Messages that one side packs and the other unpacks."""

from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from messages import (
    ID,
    OBJECTS,
    SHAPE,
    answers,
    header,
    labels,
    noise,
    prompts,
    reply,
    samples,
)
from msgspec.structs import replace

from segarena.dialogue import Prediction
from segarena.errors import InvalidInput, InvalidMask
from segarena.protocol.mask_encoding import decode_mask, encode_mask, max_mask_bytes
from segarena.protocol.message_frames import write_frame
from segarena.protocol.replies import pack_reply, unpack_reply
from segarena.protocol.sample_serialization import pack_sample, unpack_sample
from segarena.protocol.turns import (
    TurnHeader,
    pack_turn,
    read_turn_header,
    unpack_turn,
)


def same(one, other):
    """Tell whether two values are equal, arrays within them too."""
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if is_dataclass(one):
        return type(one) is type(other) and all(
            same(getattr(one, each.name), getattr(other, each.name)) for each in fields(one)
        )
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


@pytest.mark.parametrize(
    "sample", samples(), ids=["image", "volume", "volume with affine", "video"]
)
def test_a_sample_arrives_without_its_truth_and_name(sample):
    data = pack_sample(sample)
    found = unpack_sample(data, "k7")
    assert type(found) is type(sample)
    assert found.id == "k7"
    assert found.targets == ()
    assert not getattr(found, "scribbles", ())
    assert sample.id.encode() not in data
    for name in (
        "image",
        "voxels",
        "spacing_mm",
        "affine",
        "modality",
        "frames",
        "frame_shape",
        "shape",
    ):
        if hasattr(sample, name):
            assert same(getattr(sample, name), getattr(found, name)), name


def test_a_turn_arrives_as_it_was_sent():
    found, given = unpack_turn(pack_turn(header(), answers()), shape=SHAPE, objects=OBJECTS)
    assert replace(found, answers=[]) == header()
    assert list(given) == list(answers())
    assert same(list(given.values()), list(answers().values()))


def test_the_head_of_a_turn_is_read_without_its_masks():
    head = read_turn_header(pack_turn(header(), answers())[:2000])
    assert (head.id, head.client_s, len(head.answers)) == (ID, 1.5, 7)


def test_a_turn_about_nothing_says_why():
    failed = TurnHeader(id=ID, failed="encode:\n out of \x1b[31m memory" + "!" * 1000)
    found, given = unpack_turn(pack_turn(failed, answers()), shape=SHAPE, objects=OBJECTS)
    assert given == {}
    assert found.failed.startswith("encode: out of [31m memory!!!")
    assert len(found.failed) == 500


def test_a_reply_arrives_as_it_was_sent():
    found = unpack_reply(pack_reply(reply()), SHAPE)
    for one, other in zip(reply(), found, strict=True):
        assert (one.dialogue, one.over, one.failed, one.objects, one.lift, one.values) == (
            other.dialogue,
            other.over,
            other.failed,
            other.objects,
            other.lift,
            other.values,
        )
        drawn = [
            [prompt for prompt in prompts if prompt.kind != "support"] for prompts in one.rounds
        ]
        came = [
            [prompt for prompt in prompts if prompt.kind != "support"] for prompts in other.rounds
        ]
        assert same(drawn, came)


def test_a_support_arrives_with_its_image_and_no_name():
    data = pack_reply(reply())
    (found,) = [one for one in unpack_reply(data, SHAPE)[0].rounds[0] if one.kind == "support"]
    given = prompts()[-1]
    assert np.array_equal(found.sample.image, given.sample.image)
    assert np.array_equal(found.mask, given.mask)
    assert found.sample.targets == ()
    assert b"secret" not in data


def test_the_same_message_is_the_same_bytes():
    assert pack_reply(reply()) == pack_reply(reply())
    assert pack_turn(header(), answers()) == pack_turn(header(), answers())


@settings(max_examples=60)
@given(arrays(bool, array_shapes(min_dims=2, max_dims=3, max_side=12)))
def test_any_mask_comes_back_and_takes_no_more_than_its_bits(mask):
    found = []
    told = encode_mask(mask, found)
    assert same(decode_mask(told, [unframed(body) for body in found], mask.shape), mask)
    assert found[0].size <= max_mask_bytes(mask.shape)


@settings(max_examples=40)
@given(
    arrays(
        np.uint8,
        array_shapes(min_dims=2, max_dims=3, max_side=9),
        elements=st.integers(0, 4) | st.just(255),
    )
)
def test_any_labels_come_back(given):
    found = []
    told = encode_mask(given, found)
    assert same(decode_mask(told, [unframed(body) for body in found], given.shape), given)


def test_labels_of_noise_take_no_more_than_a_byte_each():
    given = np.random.default_rng(0).integers(0, 200, (30, 40), dtype=np.uint8)
    found = []
    told = encode_mask(given, found)
    assert (
        sum(body.size for body in found) == given.size == max_mask_bytes(given.shape, objects=200)
    )
    assert same(decode_mask(told, [unframed(body) for body in found], given.shape), given)


def unframed(body):
    raw = np.frombuffer(b"".join(body.parts()), np.uint8)
    shape = tuple(body.description["shape"])
    if body.description["dtype"] != "bits":
        return raw.reshape(shape)
    return np.unpackbits(raw)[: np.prod(shape)].astype(bool).reshape(shape)


def test_a_mask_of_an_object_is_small():
    disc = np.hypot(*(np.indices((480, 854)) - np.reshape((200, 400), (2, 1, 1)))) < 90
    data = pack_turn(header(), {0: Prediction(disc)})
    assert len(data) < 1000 + 480 * 854 / 8 / 50


@pytest.mark.parametrize(
    "mask", [np.full(SHAPE, 0.5), np.full(SHAPE, 300), np.full(SHAPE, np.nan)], ids=str
)
def test_what_is_no_mask_is_refused_before_it_is_sent(mask):
    with pytest.raises(InvalidMask):
        encode_mask(mask, [])


WRONG = {
    "bits of another shape": ({"bits": {"array": 0}}, [np.zeros((2, 2), bool)]),
    "an array that is not there": ({"bits": {"array": 1}}, [noise()]),
    "an array with a negative number": ({"rle": {"array": -1}}, [np.zeros(3, np.uint8)]),
    "run lengths that do not fit": ({"rle": {"array": 0}}, [np.array([5, 5], np.uint8)]),
    "run lengths longer than bits": (
        {"rle": {"array": 0}},
        [np.ones(max_mask_bytes(SHAPE) + 1, np.uint8)],
    ),
    "another kind": ({"png": {"array": 0}}, [noise()]),
    "two kinds": ({"rle": {"array": 0}, "bits": {"array": 0}}, [noise()]),
    "an object 0": ({"labels": [[0, {"bits": {"array": 0}}]]}, [noise()]),
    "an object 256": ({"labels": [[256, {"bits": {"array": 0}}]]}, [noise()]),
    "objects that share pixels": (
        {"labels": [[n, {"bits": {"array": 0}}] for n in (1, 2)]},
        [noise()],
    ),
    "many objects": ({"labels": [[1, {"bits": {"array": 0}}]] * 256}, [np.zeros(SHAPE, bool)]),
    "labels that are no list": ({"labels": 3}, []),
    "values of another shape": ({"values": {"array": 0}}, [np.zeros((2, 2), np.uint8)]),
    "values that are bits": ({"values": {"array": 0}}, [noise()]),
    "nothing": ({}, []),
    "a text": ("bits", []),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mask_that_cannot_be_is_refused(name):
    told, found = WRONG[name]
    whole = {"shape": list(SHAPE), **told} if isinstance(told, dict) else told
    with pytest.raises(InvalidInput):
        decode_mask(whole, found, SHAPE)


def test_run_lengths_of_a_mask_that_is_turned_are_refused():
    found = []
    told = encode_mask(np.eye(4, 6, dtype=bool), found)
    with pytest.raises(InvalidInput, match=r"expected the shape \(6, 4\)"):
        decode_mask(told, [unframed(body) for body in found], (6, 4))


@pytest.mark.parametrize("numbers", [[], [3], [5, 0]], ids=str)
def test_some_dialogues_may_be_answered_and_others_opened(numbers):
    sent = pack_turn(TurnHeader(id=ID, open=[7, 9]), dict.fromkeys(numbers, "x"))
    found, given = unpack_turn(sent, shape=SHAPE, objects=OBJECTS)
    assert list(given) == numbers
    assert found.open == [7, 9]


@pytest.mark.parametrize("numbers", [[6, 6], [7], [-1]], ids=str)
def test_every_dialogue_is_answered_once_and_no_other(numbers):
    sent = write_frame(
        {"id": ID, "answers": [{"dialogue": number, "failed": "x"} for number in numbers]}
    )
    with pytest.raises(InvalidInput, match="expected at most one answer to each of the dialogues"):
        unpack_turn(sent, shape=SHAPE, objects=OBJECTS)


@pytest.mark.parametrize(
    "changed",
    [{"id": "../../x"}, {"id": "a" * 65}, {"client_s": -1.0}, {"client_s": float("nan")}],
    ids=str,
)
def test_what_a_turn_says_of_itself_is_looked_at(changed):
    with pytest.raises(InvalidInput):
        unpack_turn(pack_turn(TurnHeader(**{"id": ID, **changed})), shape=SHAPE, objects={})


def test_a_candidate_that_is_no_frame_is_refused():
    sent = pack_turn(header(), {5: answers()[5]})
    with pytest.raises(InvalidInput, match="expected frames 0 to 1"):
        unpack_turn(sent, shape=(2, 20, 30), objects={5: 1})


def test_labels_in_place_of_a_mask_are_the_sessions_affair():
    sent = pack_turn(header(), {2: answers()[2]})
    with pytest.raises(InvalidInput, match="at most 1 masks"):
        unpack_turn(sent, shape=SHAPE, objects={2: 1})
    _, found = unpack_turn(sent, shape=SHAPE, objects={2: 2})
    assert same(found[2].mask, labels())
