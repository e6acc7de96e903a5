"""Assistants: order of answers, and errors when the process dies, hangs or cannot start."""

import os
import signal
import threading
from pathlib import Path

import cv2
import numpy as np
import pytest

from segarena.errors import InvalidInput, InvalidPrompt, PluginInvalid
from segarena.plugin_spec import PluginSpec
from segarena.work.jobs import UnitResult
from segarena_server.http_errors import Refusal
from segarena_studio.assistance import segmenter_processes as module
from segarena_studio.assistance.offered_segmenters import (
    WITHOUT_WEIGHTS,
    Assistants,
    offered_segmenters,
)
from segarena_studio.assistance.prompt_messages import ClickMessage
from segarena_studio.assistance.segmenter_process import (
    AnswerRequest,
    AssistantLimits,
    EncodeRequest,
    PictureFile,
)
from segarena_studio.assistance.segmenter_processes import MOST_AHEAD, MOST_WAITING, Assistant

PICTURE = PictureFile(Path("none"), "a")
PROMPTS = (ClickMessage((5.0, 5.0)),)

TROUBLED = """
import os, time
import numpy as np

class FailingSegmenter:
    prompt_kinds = frozenset({"click"})

    def encode(self, sample):
        return sample.shape

    def predict(self, encoded, dialogues):
        where = dialogues[0].clicks[0].position
        if where == (0, 0):
            os._exit(3)
        if where == (1, 1):
            raise ValueError("no answer to this")
        mask = np.zeros(encoded, bool)
        mask[where] = True
        return [mask]
"""


class RecordingProcess:
    """Stands in for a process: records its units, and waits for permission to answer."""

    made: list

    def __init__(self, job, limit_s):
        self.units, self.free, self.number = [], threading.Semaphore(0), None
        RecordingProcess.made.append(self)

    def do(self, unit):
        self.units.append(unit)
        assert self.free.acquire(timeout=60)
        return UnitResult(unit=unit, result=f"answer to {unit.picture.key}", seconds=0.0)

    def end(self):
        self.number = None


@pytest.fixture
def made(monkeypatch):
    """Return a function that creates an assistant with such processes; all end with the test."""
    monkeypatch.setattr(module, "PersistentProcess", RecordingProcess)
    RecordingProcess.made = []
    assistants = []

    def make(**bounds):
        assistants.append(Assistant(PluginSpec("graph"), AssistantLimits(**bounds)))
        return assistants[-1]

    yield make
    for notes in RecordingProcess.made:
        notes.free.release(1000)
    for each in assistants:
        each.stop()


def wait_for(condition):
    for _ in range(12_000):
        if condition():
            return
        threading.Event().wait(0.005)
    raise AssertionError("it did not come about")


def test_questions_go_before_what_is_made_ready_and_what_is_looked_at_before_what_comes_later(made):
    assistant = made(processes=1)
    (notes,) = RecordingProcess.made
    assistant.encode(PictureFile(Path("x"), "first"), is_ahead=True)
    wait_for(lambda: notes.units)
    for key in "bc":
        assistant.encode(PictureFile(Path("x"), key), is_ahead=True)
    assistant.encode(PICTURE, is_ahead=False)
    answer = assistant.ask(AnswerRequest(PICTURE, PROMPTS), "me")
    notes.free.release(5)
    assert answer.result(60)[0] == "answer to a"
    wait_for(lambda: len(notes.units) == 5)
    assert [(type(unit), unit.picture.key) for unit in notes.units[1:]] == [
        (AnswerRequest, "a"), (EncodeRequest, "a"), (EncodeRequest, "b"), (EncodeRequest, "c"),
    ]  # fmt: skip


def test_pictures_of_later_are_made_ready_by_the_process_that_nobody_asks(made):
    assistant = made(processes=2)
    assistant.ask(AnswerRequest(PICTURE, PROMPTS), "me")
    wait_for(lambda: any(notes.units for notes in RecordingProcess.made))
    (asked,) = [notes for notes in RecordingProcess.made if notes.units]
    (other,) = [notes for notes in RecordingProcess.made if not notes.units]
    for key in "bcd":
        assistant.encode(PictureFile(Path("x"), key), is_ahead=True)
        other.free.release()
    wait_for(lambda: len(other.units) == 3)
    assert len(asked.units) == 1
    other.free.release()
    assert (
        assistant.ask(AnswerRequest(PictureFile(Path("x"), "c"), PROMPTS), "me").result(60)[0]
        == "answer to c"
    )


def test_no_picture_of_later_is_made_ready_where_the_one_is_that_somebody_just_opened(made):
    assistant, pictures = made(processes=2), [PictureFile(Path("x"), key) for key in "abcdefgh"]
    for notes in RecordingProcess.made:
        notes.free.release(1000)
    for opened, *ahead in zip(pictures, pictures[1:], pictures[2:], strict=False):
        assistant.encode(opened, is_ahead=False)
        for each in ahead:
            assistant.encode(each, is_ahead=True)
    wait_for(
        lambda: (
            len({unit.picture.key for notes in RecordingProcess.made for unit in notes.units})
            == len(pictures)
        )
    )
    homes = {
        unit.picture.key: place
        for place, notes in enumerate(RecordingProcess.made)
        for unit in notes.units
    }
    assert all(
        homes[last] != homes[opened] for opened, last in zip("abcdef", "cdefgh", strict=True)
    )


def test_a_newer_question_of_the_same_asker_takes_the_place_of_an_older_one_and_too_many_are_refused(
    made,
):
    assistant = made(processes=1)
    (notes,) = RecordingProcess.made
    assistant.ask(AnswerRequest(PICTURE, PROMPTS), "first")
    wait_for(lambda: notes.units)
    older = assistant.ask(AnswerRequest(PICTURE, PROMPTS), "me")
    newer = assistant.ask(AnswerRequest(PICTURE, PROMPTS * 2), "me")
    with pytest.raises(Refusal, match="newer request"):
        older.result(60)
    for number in range(MOST_WAITING - 1):
        assistant.ask(AnswerRequest(PICTURE, PROMPTS), number)
    with pytest.raises(Refusal, match="too many requests are waiting"):
        assistant.ask(AnswerRequest(PICTURE, PROMPTS), "one more")
    notes.free.release(2)
    assert newer.result(60)[0] == "answer to a"


def test_of_too_many_pictures_to_make_ready_the_last_are_dropped(made):
    assistant = made(processes=1)
    (notes,) = RecordingProcess.made
    notes.free.release(100)
    gate = assistant.ask(AnswerRequest(PICTURE, PROMPTS), "me")
    gate.result(60)
    notes.free = threading.Semaphore(0)
    assistant.encode(PICTURE, is_ahead=True)
    wait_for(lambda: len(notes.units) == 2)
    for number in range(MOST_AHEAD + 5):
        assistant.encode(PictureFile(Path("x"), str(number)), is_ahead=True)
    notes.free.release(100)
    wait_for(lambda: len(notes.units) == 2 + MOST_AHEAD)
    assert [unit.picture.key for unit in notes.units[2:]] == [
        str(number) for number in range(MOST_AHEAD)
    ]


@pytest.fixture
def picture(tmp_path):
    cv2.imwrite(str(tmp_path / "grey.png"), np.full((20, 30, 3), 99, np.uint8))
    return PictureFile(tmp_path / "grey.png", "grey")


@pytest.mark.long
def test_a_process_that_dies_is_told_in_one_line_and_starts_anew(tmp_path, picture):
    (tmp_path / "troubled.py").write_text(TROUBLED)
    assistant = Assistant(
        PluginSpec.named(f"troubled={tmp_path / 'troubled.py'}:FailingSegmenter"),
        AssistantLimits(processes=1),
    )

    def ask(x, y):
        return assistant.ask(AnswerRequest(picture, (ClickMessage((x, y)),)), "me").result(60)[0]

    try:
        assert ask(4.5, 2.5).runs.tolist() == [2 * 30 + 4, 1, 20 * 30 - 65]
        (number,) = assistant.numbers
        os.kill(number, signal.SIGKILL)
        assert ask(4.5, 2.5).runs.tolist() == [2 * 30 + 4, 1, 20 * 30 - 65]
        with pytest.raises(
            Refusal,
            match=r"troubled: .*died \(exit code 3, segmenter troubled answering.*restarts it",
        ):
            ask(0.5, 0.5)
        with pytest.raises(Refusal, match="troubled: ValueError: no answer to this"):
            ask(1.5, 1.5)
        with pytest.raises(InvalidPrompt):
            ask(99, 1)
        assert ask(0.5, 1.5).runs[0] == 30
    finally:
        assistant.stop()
    assert assistant.numbers == []


@pytest.mark.long
def test_a_segmenter_that_cannot_be_built_is_told(picture):
    assistants = Assistants(offered_segmenters(["lost=no-such-one"]), AssistantLimits(processes=1))
    try:
        for _ in range(2):
            with pytest.raises(Refusal, match="lost: no segmenter is called 'no-such-one'"):
                assistants.of("lost").ask(AnswerRequest(picture, PROMPTS), "me").result(60)
    finally:
        assistants.stop()


def test_offered_are_those_without_weights_and_those_that_the_settings_name():
    assert tuple(offered_segmenters([])) == WITHOUT_WEIGHTS
    named = offered_segmenters(["quick=grabcut(iterations=1)"])
    assert str(named["quick"]) == "grabcut(iterations=1)"
    with pytest.raises(PluginInvalid):
        offered_segmenters(["grabcut("])
    with pytest.raises(
        InvalidInput, match="expected one of graph, grabcut, watershed; got 'quick'"
    ):
        Assistants(offered_segmenters([]), AssistantLimits()).of("quick")
