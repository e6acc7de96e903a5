"""Process of an assistant: answers like the engine, caches results, and respects its limits."""

import cv2
import numpy as np
import pytest

from segarena.arrays.rle import run_lengths
from segarena.dialogue import Dialogue, Prediction
from segarena.errors import InvalidInput, InvalidPrompt, PluginInvalid, UnitHung
from segarena.plugin_spec import PluginSpec
from segarena.prompts import Click
from segarena.registry import build
from segarena.samples import ImageSample
from segarena_studio.assistance.prompt_messages import BoxMessage, ClickMessage
from segarena_studio.assistance.segmenter_process import (
    AnswerRequest,
    AssistantLimits,
    EncodeRequest,
    PictureFile,
    SegmenterJob,
    _Answers,
)

CLICKS = (ClickMessage((30.5, 20.5)), ClickMessage((50.0, 35.0), is_positive=False))


@pytest.fixture
def picture(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 60, (48, 64, 3), np.uint8)
    cv2.circle(pixels, (30, 20), 12, (200, 180, 160), -1)
    cv2.imwrite(str(tmp_path / "disc.png"), pixels)
    return PictureFile(tmp_path / "disc.png", "disc")


class CountingSegmenter:
    """Answers with a mask that encodes the prompts; counts its calls."""

    prompt_kinds = frozenset({"click"})

    def __init__(self):
        self.encoded, self.asked = [], []

    def encode(self, sample):
        self.encoded.append(sample.id)
        return np.zeros(sample.shape, np.uint8)

    def predict(self, encoded, dialogues):
        (dialogue,) = dialogues
        self.asked.append(
            (len(dialogue.rounds), dialogue.previous is not None and dialogue.previous.logits)
        )
        mask = np.zeros(encoded.shape, bool)
        for click in dialogue.clicks:
            mask[click.position] = True
        return [Prediction(mask, logits=len(dialogue.rounds))]


def answers(segmenter, **bounds):
    return _Answers(segmenter, "counting", AssistantLimits(**bounds))


def test_a_mask_is_the_segmenters_own_round_by_round(picture):
    answer = SegmenterJob(PluginSpec("grabcut"), AssistantLimits()).open()(
        AnswerRequest(picture, CLICKS)
    )
    segmenter = build("segmenter", "grabcut")
    image = cv2.cvtColor(cv2.imread(str(picture.file)), cv2.COLOR_BGR2RGB)
    encoded, dialogue = segmenter.encode(ImageSample(id="disc", image=image)), Dialogue()
    for click in (Click((20, 30)), Click((35, 50), is_positive=False)):
        dialogue = dialogue.ask((click,))
        (given,) = segmenter.predict(encoded, [dialogue])
        dialogue = dialogue.answer(given)
    assert given.mask.sum() > 100
    assert answer.shape == (48, 64)
    assert np.array_equal(answer.runs, run_lengths(given.mask))


def test_what_was_made_ready_is_not_made_again(picture):
    counting = CountingSegmenter()
    made = answers(counting)
    ready = made.do(EncodeRequest(picture))
    assert ready.encode_s > 0 == ready.predict_s
    assert made.do(AnswerRequest(picture, CLICKS)).encode_s == 0
    assert counting.encoded == ["disc"]


def test_a_further_prompt_goes_on_from_the_last_answer_and_a_fresh_process_answers_the_same(
    picture,
):
    counting, fresh = CountingSegmenter(), CountingSegmenter()
    made = answers(counting)
    made.do(AnswerRequest(picture, CLICKS[:1]))
    again = made.do(AnswerRequest(picture, CLICKS))
    assert counting.asked == [(1, False), (2, 1)]
    assert np.array_equal(answers(fresh).do(AnswerRequest(picture, CLICKS)).runs, again.runs)
    assert fresh.asked == [(1, False), (2, 1)]


def test_encodings_are_kept_by_count_and_by_bytes(picture, tmp_path):
    for bounds in ({"pictures": 2}, {"picture_bytes": 2 * 48 * 64}):
        counting = CountingSegmenter()
        made = answers(counting, **bounds)
        others = [PictureFile(picture.file, name) for name in "abc"]
        for each in (*others, others[2], others[0]):
            made.do(EncodeRequest(each))
        assert counting.encoded == ["a", "b", "c", "a"]


def test_answers_are_kept_by_bytes_and_the_last_one_stays(picture):
    counting = CountingSegmenter()
    made = answers(counting, answer_bytes=1)
    made.do(AnswerRequest(picture, CLICKS))
    made.do(AnswerRequest(picture, CLICKS))
    assert counting.asked == [(1, False), (2, 1)]
    made.do(AnswerRequest(picture, CLICKS[1:]))
    made.do(AnswerRequest(picture, CLICKS))
    assert len(counting.asked) == 5


def test_prompts_that_it_does_not_take_and_pictures_that_are_none_are_refused(picture, tmp_path):
    made = answers(CountingSegmenter())
    with pytest.raises(InvalidPrompt, match="accepts click; got a box"):
        made.do(AnswerRequest(picture, (BoxMessage((1, 1), (9, 9)),)))
    with pytest.raises(InvalidPrompt, match="outside"):
        made.do(AnswerRequest(picture, (ClickMessage((64, 1)),)))
    (tmp_path / "none.png").write_bytes(b"no picture")
    with pytest.raises(InvalidInput, match=r"none\.png"):
        made.do(EncodeRequest(PictureFile(tmp_path / "none.png", "none")))


def test_a_picture_that_claims_too_many_pixels_is_not_decoded(picture, monkeypatch):
    monkeypatch.setenv("SEGARENA_MAX_PIXELS", "100")
    with pytest.raises(InvalidInput, match="at most 100 pixels"):
        answers(CountingSegmenter()).do(EncodeRequest(picture))


def test_an_answer_that_takes_too_long_is_ended(picture):
    class Slow(CountingSegmenter):
        def predict(self, encoded, dialogues):
            while True:
                pass

    with pytest.raises(UnitHung, match=r"answering a prompt took longer than 0\.05 s"):
        answers(Slow(), answer_s=0.05).do(AnswerRequest(picture, CLICKS))


def test_segmenters_that_cannot_help_are_refused():
    for name in ("video-walk", "random-walker", "copy-support-mask", "degraded-truth"):
        with pytest.raises(PluginInvalid, match="a segmenter for photographs"):
            SegmenterJob(PluginSpec(name), AssistantLimits()).open()
