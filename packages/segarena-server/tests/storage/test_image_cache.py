"""Pictures are drawn once, within limits, in a process of their own, and take no more room than they may."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from segarena.errors import SegarenaError
from segarena_server.http.http_errors import Refusal
from segarena_server.settings import Limits
from segarena_server.storage import image_cache
from segarena_server.storage.image_cache import ImageCache


class Pencil:
    """Draws in this process what it is told: text, a fault, or how long it takes."""

    def __init__(self, soft_s, hard_s):
        pass

    def open(self):
        return self.draw

    @staticmethod
    def draw(what):
        if isinstance(what, float):
            time.sleep(what)
        if what == "die":
            raise SystemExit
        if what == "fault":
            raise ValueError("no such colour")
        return f"drawn: {what}".encode()


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Return a function that makes an album; all end with the test."""
    monkeypatch.setattr(image_cache, "ImageRenderer", Pencil)
    albums = []

    def make(**given):
        albums.append(
            ImageCache(tmp_path / "pictures", Limits(soft_s=0.5, hard_s=1.0, lease_s=9.0), **given)
        )
        return albums[-1]

    yield make
    for one in albums:
        one.stop()


def test_what_was_drawn_is_a_file_and_not_drawn_again(made, tmp_path):
    asked = []
    assert made().picture(("a", 1), lambda: asked.append(1) or "x", 20) == b"drawn: x"
    assert made().picture(("a", 1), lambda: asked.append(1) or "y", 20) == b"drawn: x"
    assert made().picture(("a", 2), lambda: "y", 20) == b"drawn: y"
    assert asked == [1]
    (file, _) = (tmp_path / "pictures").glob("??/*")
    assert len(file.name) == 64


def test_who_asks_at_once_shares_a_drawing_and_whoever_cannot_wait_is_told_so(made):
    one, asked = made(), []
    with ThreadPoolExecutor(3) as pool:
        found = [
            pool.submit(one.picture, ("a",), lambda: asked.append(1) or 0.2, 20) for _ in range(3)
        ]
        assert {task.result() for task in found} == {b"drawn: 0.2"}
    assert asked == [1]
    assert one.picture(("b",), lambda: 0.4, 0.0) is None
    assert one.picture(("b",), lambda: 0.4, 20) == b"drawn: 0.4"


@pytest.mark.parametrize("what", ["fault", "die", 30.0])
def test_what_cannot_be_drawn_hurts_nothing_else_and_is_not_tried_again_at_once(made, what):
    one, asked = made(), []
    for _ in range(2):
        with pytest.raises(SegarenaError):
            one.picture(("a",), lambda: asked.append(1) or what, 20)
    assert asked == [1]
    assert one.picture(("b",), lambda: "x", 20) == b"drawn: x"


def test_only_so_many_wait(made, monkeypatch):
    monkeypatch.setattr(image_cache, "_MAX_QUEUE_LENGTH", 2)
    one = made()
    assert [one.picture((number,), lambda: 0.3, 0.0) for number in range(2)] == [None, None]
    with pytest.raises(Refusal, match="too many"):
        one.picture((3,), lambda: 0.3, 0.0)


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
