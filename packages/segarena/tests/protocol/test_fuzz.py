"""Malformed messages cause one kind of error and need little memory."""

import json
import struct
import tracemalloc
from functools import partial

import numpy as np
import pytest
from messages import ID, OBJECTS, SHAPE, answers, header, reply, samples

from segarena.errors import InvalidInput
from segarena.protocol.message_frames import read_frame
from segarena.protocol.replies import pack_reply, unpack_reply
from segarena.protocol.sample_serialization import pack_sample, unpack_sample
from segarena.protocol.turns import pack_turn, read_turn_header, unpack_turn

READ_TURN = partial(unpack_turn, shape=SHAPE, objects=OBJECTS)
READ_SAMPLE = partial(unpack_sample, key="k")
MESSAGES = {
    "turn": (pack_turn(header(), answers()), READ_TURN),
    "head": (pack_turn(header(), answers()), read_turn_header),
    "reply": (pack_reply(reply()), lambda data: unpack_reply(data, SHAPE)),
    "image": (
        pack_sample(
            samples()[0],
        ),
        READ_SAMPLE,
    ),
    "volume": (
        pack_sample(
            samples()[2],
        ),
        READ_SAMPLE,
    ),
    "video": (
        pack_sample(
            samples()[3],
        ),
        READ_SAMPLE,
    ),
}
MOST_BYTES = 8 * 2**20


def taken(read, data):
    """Return whether a message was read, and the peak memory; raise every error except InvalidInput."""
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    said = ""
    try:
        read(data)
    except InvalidInput as error:
        said = str(error)
    assert tracemalloc.get_traced_memory()[1] - before < MOST_BYTES
    assert "\n" not in said
    assert len(said) < 1000
    return not said


@pytest.fixture(autouse=True)
def traced():
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.parametrize("name", MESSAGES)
def test_flipped_bits(name):
    data, read = MESSAGES[name]
    rng = np.random.default_rng(7)
    size = 12 + int.from_bytes(data[:4], "little")
    assert taken(read, data)
    refused = 0
    for _ in range(150):
        broken = bytearray(data)
        for _ in range(rng.integers(1, 4)):  # the header most of all: what follows is pixels
            place = rng.integers(0, size if rng.random() < 0.9 else len(data))
            broken[place] ^= 1 << int(rng.integers(0, 8))
        refused += not taken(read, bytes(broken))
    assert refused > 20


@pytest.mark.parametrize("name", MESSAGES)
def test_the_end_comes_too_early_or_too_late(name):
    data, read = MESSAGES[name]
    size = 12 + int.from_bytes(data[:4], "little")
    needed = size if name == "head" else len(data)
    places = {*range(0, min(needed, 4000), 97), size - 1, needed - 1}
    assert not any(taken(read, data[:place]) for place in places)
    if name != "head":
        assert not taken(read, data + b"\0")


@pytest.mark.parametrize("name", MESSAGES)
def test_words_of_the_header_in_each_others_place(name):
    data, read = MESSAGES[name]
    size = int.from_bytes(data[:4], "little")
    header, body = json.loads(data[12 : 12 + size]), data[12 + size :]
    wishes = [
        None,
        True,
        -1,
        2**63,
        2**70,
        1e308,
        "x",
        [],
        {},
        [[]],
        {"array": 0},
        {"array": 99},
        {"tuple": [1]},
    ]
    rng = np.random.default_rng(3)
    for _ in range(100):
        changed = json.loads(json.dumps(header))
        replace_somewhere(changed, rng, wishes)
        taken(read, framed(changed, body))


def replace_somewhere(node, rng, wishes):
    """Replace one value of a tree."""
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = keys[rng.integers(len(keys))]
        inner = node[key]
        if not isinstance(inner, (dict, list)) or not inner or rng.random() < 0.15:
            node[key] = wishes[rng.integers(len(wishes))]
            return
        node = inner


def framed(header, body=b"", promised=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<IQ", len(text), len(body) if promised is None else promised) + text + body


def of_arrays(*arrays, answers=(), body=b"", **more):
    told = [{"dtype": dtype, "shape": shape, **more} for dtype, shape in arrays]
    return framed({"id": ID, "answers": list(answers), "arrays": told}, body)


BITS = list(SHAPE)
FEW = b"\0" * 225
LIES = {
    "a body of 2^60 bytes": framed({"id": ID, "answers": []}, promised=2**60),
    "a header of 4 GiB": struct.pack("<IQ", 2**32 - 1, 0) + b"{}",
    "an array of 2^60": of_arrays(("|u1", [2**30, 2**30])),
    "an array of nothing and a lot": of_arrays(("|u1", [0, 2**39, 2**39])),
    "an array of nothing and too much": of_arrays(("|u1", [0, 2**70])),
    "bits of another shape": of_arrays(("bits", [9000]), body=b"\0" * 1125),
    "bits of a huge shape": of_arrays(("bits", [2**40]), body=FEW),
    "numbers in place of bits": of_arrays(("<f8", [225]), body=FEW * 8),
    "a file of this machine": of_arrays(("|u1", [10]), file="/etc/passwd"),
    "ten thousand empty arrays": of_arrays(*[("|u1", [0])] * 10_000),
    "arrays that share one body": of_arrays(*[("bits", BITS)] * 6, body=FEW),
    "deep JSON": framed(b'{"id":"%s","answers":' % ID.encode() + b"[" * 100_000),
    "deep objects": framed(b'{"a":' * 50_000 + b"1" + b"}" * 50_000),
    "a number of many digits": framed(b'{"id":"%s","client_s":%s}' % (ID.encode(), b"9" * 5000)),
    "no number": framed(b'{"id":"%s","client_s":NaN}' % ID.encode()),
    "many small lists": framed(
        b'{"id":"%s","answers":[%s]}' % (ID.encode(), b",".join([b"{}"] * 20_000))
    ),
    "a pickle": b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94.",
    "a zip": b"PK\x03\x04" + b"\0" * 100,
    "nothing": b"",
}


@pytest.mark.parametrize("name", LIES)
def test_a_header_that_lies(name):
    assert not taken(READ_TURN, LIES[name])


def test_run_lengths_that_add_up_to_too_much():
    for lengths in (
        b"\x80\x80\x80\x80\x80\x80\x80\x80\x7f",
        b"\xff" * 9 + b"\x01",
        b"\xff" * 12,
        b"\0" * 200,
    ):
        answers = [{"dialogue": n, "failed": "x"} for n in range(1, 7)]
        answers.append({"dialogue": 0, "mask": {"shape": BITS, "rle": {"array": 0}}})
        assert not taken(
            READ_TURN, of_arrays(("|u1", [len(lengths)]), answers=answers, body=lengths)
        )


def test_a_file_is_refused_by_whoever_reads_frames():
    with pytest.raises(InvalidInput, match="not accepted here"):
        read_frame(LIES["a file of this machine"], dict, what="anything")
