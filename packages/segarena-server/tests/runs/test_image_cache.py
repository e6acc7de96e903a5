"""Images are rendered once, in a separate process, within limits of time and space."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from segarena.errors import SegarenaError
from segarena_server.http_errors import Refusal
from segarena_server.runs import image_cache
from segarena_server.runs.image_cache import ImageCache
from segarena_server.settings import Limits

PATIENCE_S = 60.0


class Pencil:
    """Returns given text or raises a given error, after a given time or once a file exists."""

    def __init__(self, soft_s, hard_s):
        pass

    def open(self):
        return self.draw

    @staticmethod
    def draw(what):
        if isinstance(what, float):
            time.sleep(what)
        if isinstance(what, Path):
            wait_for(what)
            return b"drawn at last"
        if what == "die":
            raise SystemExit
        if what == "fault":
            raise ValueError("no such colour")
        return f"drawn: {what}".encode()


def wait_for(file):
    """Wait until a file exists."""
    until = time.monotonic() + PATIENCE_S
    while not file.exists() and time.monotonic() < until:
        time.sleep(0.01)


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Return a function that creates an image cache; all are closed after the test."""
    monkeypatch.setattr(image_cache, "ImageRenderer", Pencil)
    albums = []

    def make(hard_s=PATIENCE_S, **given):
        limits = Limits(soft_s=hard_s / 2, hard_s=hard_s, lease_s=9 * hard_s)
        albums.append(ImageCache(tmp_path / "pictures", limits, **given))
        return albums[-1]

    yield make
    for one in albums:
        one.stop()


@pytest.mark.long
def test_what_was_drawn_is_a_file_and_not_drawn_again(made, tmp_path):
    asked = []
    assert made().picture(("a", 1), lambda: asked.append(1) or "x", 20) == b"drawn: x"
    assert made().picture(("a", 1), lambda: asked.append(1) or "y", 20) == b"drawn: x"
    assert made().picture(("a", 2), lambda: "y", 20) == b"drawn: y"
    assert asked == [1]
    (file, _) = (tmp_path / "pictures").glob("??/*")
    assert len(file.name) == 64


def test_who_asks_at_once_shares_a_drawing_and_whoever_cannot_wait_is_told_so(made, tmp_path):
    one, asked = made(), []
    with ThreadPoolExecutor(3) as pool:
        found = [
            pool.submit(one.picture, ("a",), lambda: asked.append(1) or 0.2, PATIENCE_S)
            for _ in range(3)
        ]
        assert {task.result() for task in found} == {b"drawn: 0.2"}
    assert asked == [1]
    gate = tmp_path / "gate"
    assert one.picture(("b",), lambda: gate, 0.0) is None
    gate.touch()
    assert one.picture(("b",), lambda: gate, PATIENCE_S) == b"drawn at last"


@pytest.mark.parametrize("what", ["fault", "die", 30.0])
def test_what_cannot_be_drawn_hurts_nothing_else_and_is_not_tried_again_at_once(made, what):
    one, asked = made(hard_s=3.0 if what == 30.0 else PATIENCE_S), []
    for _ in range(2):
        with pytest.raises(SegarenaError):
            one.picture(("a",), lambda: asked.append(1) or what, PATIENCE_S)
    assert asked == [1]
    assert one.picture(("b",), lambda: "x", PATIENCE_S) == b"drawn: x"


def test_only_so_many_wait(made, monkeypatch, tmp_path):
    monkeypatch.setattr(image_cache, "_MAX_QUEUE_LENGTH", 2)
    one = made()
    gate = tmp_path / "gate"
    assert [one.picture((number,), lambda: gate, 0.0) for number in range(2)] == [None, None]
    with pytest.raises(Refusal, match="too many"):
        one.picture((3,), lambda: gate, 0.0)
    gate.touch()


def test_what_nobody_looked_at_goes_when_there_is_no_room(made, tmp_path):
    one = made(most_bytes=30)
    for number in range(4):
        assert (
            one.picture((number,), lambda number=number: f"{number}", 20)
            == f"drawn: {number}".encode()
        )
        time.sleep(0.02)
    left = sorted(file.read_bytes() for file in (tmp_path / "pictures").glob("??/*"))
    assert sum(map(len, left)) <= 30
    assert b"drawn: 3" in left
    assert b"drawn: 0" not in left


def test_a_disk_that_is_full_costs_the_file_alone(made, monkeypatch):
    def full(*_):
        raise image_cache.StoreError("the disk is full")

    monkeypatch.setattr(image_cache, "write_atomic", full)
    assert made().picture(("a",), lambda: "x", 20) == b"drawn: x"
