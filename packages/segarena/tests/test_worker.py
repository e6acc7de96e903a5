"""The file that is copied next to a model: syntax of old Python versions, and a conversation byte by byte."""

import ast
import inspect
import json
import os
import struct
import threading

import numpy as np
import pytest

from segarena import worker
from segarena.worker import Conversation, Model, ProtocolError, Refused, Stream, flatten, restore

SOURCE = inspect.getsource(worker)
STANDARD = {
    "contextlib", "ctypes", "hashlib", "hmac", "inspect", "json", "os", "platform", "secrets", "select", "signal",
    "socket", "stat", "struct", "sys", "threading", "time", "traceback", "collections", "typing", "__future__",
}  # fmt: skip


def test_it_is_one_file_in_the_words_of_python_3_7():
    tree = ast.parse(SOURCE, feature_version=(3, 7))
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    imported |= {
        node.module.partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
    }
    assert imported <= STANDARD | {"numpy"}


def test_newer_words_would_be_found():
    with pytest.raises(SyntaxError):
        ast.parse("if (a := 1): pass", feature_version=(3, 7))


@pytest.fixture
def pipe():
    """Two streams, each of which reads the output of the other."""
    (there, mine), (here, theirs) = os.pipe(), os.pipe()
    yield Stream(here, mine), Stream(there, theirs)
    for end in {there, mine, here, theirs}:
        os.close(end)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=">i4").reshape(2, 3),
        np.asfortranarray(np.linspace(0, 1, 12).reshape(3, 4)),
        np.array([[True, False, True]] * 5),
        np.zeros((0, 3), np.float16),
        np.ones((0, 3), bool),
        np.array(2.5, np.float32),
        np.arange(20, dtype=np.uint8)[::2],
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_arrays_arrive_as_they_were_sent(pipe, array):
    ours, theirs = pipe
    ours.send({"id": 1}, [array, np.int64(3)])
    header, (came, number) = theirs.receive()
    assert header == {"id": 1}
    assert came.shape == array.shape
    assert came.dtype == array.dtype.newbyteorder("<")
    assert np.array_equal(came, array)
    assert came.flags.writeable
    assert number == 3


def test_a_frame_is_what_the_page_says(pipe):
    ours, theirs = pipe
    ours.send({"id": 7}, [np.array([True] + 8 * [False])])
    raw = os.read(theirs.source, 1000)
    header, body = struct.unpack("<IQ", raw[:12])
    assert json.loads(raw[12 : 12 + header]) == {
        "id": 7,
        "arrays": [{"shape": [9], "dtype": "bits"}],
    }
    assert raw[12 + header :] == b"\x80\x00"
    assert body == 2


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([object()]), np.array([1j])])
def test_what_is_no_number_does_not_travel(pipe, array):
    with pytest.raises(TypeError, match="cannot be sent"):
        pipe[0].send({}, [array])


@pytest.mark.parametrize(
    "value",
    [None, True, 1.5, "x", [1, [2]], (1, ("a", None)), {"a": (1,), "array": {"tuple": 3}}, {}],
    ids=repr,
)
def test_values_come_back_as_they_were(value):
    arrays = []
    assert restore(json.loads(json.dumps(flatten(value, arrays))), arrays) == value
    assert arrays == []


def test_what_a_model_may_not_hand_back_is_named():
    with pytest.raises(
        TypeError, match=r"object cannot be sent; return NumPy arrays \(tensor.cpu\(\).numpy\(\)\)"
    ):
        flatten({"a": [object()]}, [])


def framed(header, body=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<IQ", len(text), len(body)) + text + body


GARBAGE = {
    "letters": b"Traceback (most recent call last):\n",
    "a huge header": struct.pack("<IQ", 2**32 - 1, 0),
    "a huge body": struct.pack("<IQ", 2, 2**63) + b"{}",
    "no JSON": framed(b"hello"),
    "no text": framed(b"\xff\xfe"),
    "no object": framed([1]),
    "deep JSON": framed(b"[" * 100_000),
    "arrays that are none": framed({"arrays": 3}),
    "an array of objects": framed({"arrays": [{"dtype": "|O", "shape": [1]}]}, b"12345678"),
    "a negative side": framed({"arrays": [{"dtype": "|u1", "shape": [-1]}]}),
    "a side that is a flag": framed({"arrays": [{"dtype": "|u1", "shape": [True]}]}, b"1"),
    "many axes": framed({"arrays": [{"dtype": "|u1", "shape": [1] * 99}]}, b"1"),
    "a body of another length": framed({"arrays": [{"dtype": "<f8", "shape": [2]}]}, b"12345678"),
    "an array of 2^60": framed({"arrays": [{"dtype": "|u1", "shape": [2**30, 2**30]}]}, b"1"),
    "a file that is not there": framed(
        {"arrays": [{"dtype": "|u1", "shape": [1], "file": "/nowhere"}]}
    ),
    "a file of another size": framed(
        {"arrays": [{"dtype": "|u1", "shape": [3], "file": __file__}]}
    ),
    "a file that is a device": framed(
        {"arrays": [{"dtype": "|u1", "shape": [0], "file": "/dev/zero"}]}
    ),
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=list(GARBAGE))
def test_garbage_is_refused_before_anything_is_allocated(pipe, garbage):
    os.write(pipe[0].sink, garbage[:60_000])
    if len(garbage) > 60_000:
        threading.Thread(target=os.write, args=(pipe[0].sink, garbage[60_000:])).start()
    with pytest.raises(ProtocolError):
        pipe[1].receive()


def test_the_end_in_the_middle_of_a_frame_is_the_end():
    source, sink = os.pipe()
    os.write(sink, framed({"id": 1})[:-2])
    os.close(sink)
    with pytest.raises(EOFError):
        Stream(source, source).receive()
    os.close(source)


class Echo:
    takes = "click"

    def __init__(self, size=3):
        self.size = size

    def encode(self, sample):
        return sample.image.sum()

    def predict(self, encoded, dialogues):
        if dialogues[0].clicks[0].position == (0, 0):
            raise ValueError("not\nthere")
        return [
            np.full((2, 2), click.is_positive)
            for dialogue in dialogues
            for click in dialogue.clicks
        ]


@pytest.fixture
def ask(pipe):
    """Send a request to a worker that serves `Echo`, in a thread; return its answer."""
    ours, theirs = pipe
    serving = Conversation(theirs, lambda options: Model(Echo, options), threading.Lock())
    thread = threading.Thread(target=serving.hold)
    thread.start()

    def request(verb, arrays=(), **told):
        ours.send({"id": verb, "verb": verb, **told}, arrays)
        answer, found = ours.receive()
        assert answer.pop("id") == verb
        return answer.get("error") or answer["ok"], found

    yield request
    request("bye")
    thread.join()


IMAGE = {"kind": "image", "id": "a", "image": {"array": 0}}


def said(position):
    return {
        "rounds": [
            [
                {
                    "kind": "click",
                    "position": {"tuple": position},
                    "is_positive": True,
                    "object_id": 1,
                }
            ]
        ]
    }


def test_a_conversation(ask, capfd):
    hello, _ = ask("hello", protocol=1, options={"size": 5})
    assert (hello["prompt_kinds"], hello["sample_kinds"], hello["options"]) == (
        ["click"],
        ["image"],
        {"size": 5},
    )
    encoded, _ = ask("encode", [np.ones((2, 2, 3), np.uint8)], sample=IMAGE)
    request = {"handle": encoded["handle"], "dialogues": [said([0, 1])]}
    answer, masks = ask("predict", **request)
    assert answer["answers"][0]["mask"] == {"array": 0}
    assert masks[0].all()
    assert masks[0].dtype == bool
    assert ask("predict", handle=encoded["handle"], dialogues=[said([0, 0])])[0] == {
        "kind": "model",
        "message": "ValueError: not there",
    }
    assert "ValueError: not\nthere" in capfd.readouterr().err  # the log has all of it
    assert ask("drop", drop=[encoded["handle"]])[0]["held"] == 0
    assert ask("predict", **request)[0]["kind"] == "handle"


@pytest.mark.parametrize(
    ("verb", "told", "kind"),
    [
        ("encode", {"sample": {}}, "protocol"),
        ("encode", {"sample": {"kind": "taste"}}, "protocol"),
        ("encode", {"sample": {**IMAGE, "image": {"array": 4}}}, "protocol"),
        ("predict", {"handle": [1]}, "handle"),
        ("predict", {"handle": 99, "dialogues": []}, "handle"),
        ("pickle", {}, "verb"),
        ("hello", {"protocol": 2}, "protocol"),
        ("hello", {"protocol": 1, "options": {"sise": 1}}, "options"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_and_the_next_is_answered(
    ask, verb, told, kind, capfd
):
    ask("hello", protocol=1)
    answer, _ = ask(verb, **told)
    assert answer["kind"] == kind
    assert ask("ping")[0]["held"] == 0
    capfd.readouterr()


def test_nothing_is_answered_before_hello(ask):
    assert ask("identify")[0]["kind"] == "order"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"takes": ("clik",)}, "takes: expected some of click"),
        ({"samples": ("picture",)}, "samples: expected some of image"),
        ({"predict": None}, "has no predict"),
        ({"__init__": lambda self, size: None}, "needs a default"),
    ],
)
def test_a_class_that_cannot_serve_is_refused(changes, message):
    with pytest.raises(Refused, match=message):
        Model(type("Wrong", (Echo,), changes), {})
