"""Plug-ins that do what plug-ins should not do; used by path."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from segarena import Click, ImageSample, Prediction, SegarenaError, Target


class Good:
    """Answers with everything above the clicked row's brightness."""

    def __init__(self, *, pause_s=0.0):
        self.pause_s = pause_s

    def encode(self, sample):
        return sample

    def predict(self, encoded, dialogues):
        time.sleep(self.pause_s * len(dialogues))
        return [self.answer(encoded, dialogue) for dialogue in dialogues]

    def answer(self, sample, dialogue):
        mask = dialogue.previous_mask(sample.shape).copy()
        row, column = dialogue.clicks[-1].position
        mask[max(0, row - 2) : row + 3, max(0, column - 2) : column + 3] = dialogue.clicks[-1].is_positive
        return mask


class At(Good):
    """Misbehaves in round 2 on one sample, or in one way on each of several; the `how` is the name of a method."""

    def __init__(self, *, how, flag=""):
        super().__init__()
        self.how, self.flag = how if isinstance(how, dict) else {"square-1": how}, flag

    def answer(self, sample, dialogue):
        good = super().answer(sample, dialogue)
        is_time = sample.id in self.how and len(dialogue.rounds) == 2
        return getattr(self, self.how[sample.id])(good) if is_time else good

    def raises(self, good):
        raise RuntimeError("no\nmemory left")

    def nan(self, good):
        return np.full(good.shape, np.nan)

    def wrong_shape(self, good):
        return good[:-1]

    def grey(self, good):
        return np.full(good.shape, 0.5)

    def sleeps(self, good):
        time.sleep(60)
        return good

    def hangs_below_python(self, good):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})  # as compiled code that never returns
        time.sleep(60)
        return good

    def dies(self, good):
        os._exit(7)

    def dies_once(self, good):
        if not Path(self.flag).exists():
            Path(self.flag).touch()
            os._exit(7)
        return good


class TooFew(Good):
    def predict(self, encoded, dialogues):
        return super().predict(encoded, dialogues)[:-1] if len(dialogues) > 1 else super().predict(encoded, dialogues)


class Silent(Good):
    def predict(self, encoded, dialogues):
        return None


class EncodeFails(Good):
    def encode(self, sample):
        if sample.id == "square-1":
            raise MemoryError("image too large")
        return sample


class CountsClicks:
    """Paints as many pixels as there were clicks, and hands back logits; keeps nothing."""

    def encode(self, sample):
        return sample.shape

    def predict(self, encoded, dialogues):
        return [self._answer(encoded, dialogue) for dialogue in dialogues]

    def _answer(self, shape, dialogue):
        seen = 0 if dialogue.previous is None else int(dialogue.previous.logits[0])
        mask = np.zeros(shape, dtype=bool)
        mask.flat[: seen + 1] = True
        return Prediction(mask=mask, logits=np.array([seen + 1]))


class UserOutside:
    def next(self, turn):
        return [Click((10_000, 0))]


class UserRaises:
    def next(self, turn):
        raise ZeroDivisionError("division by zero")


class RandomUser:
    """Clicks anywhere."""

    prompt_kinds = frozenset({"click"})

    def next(self, turn):
        rows, columns = turn.sample.shape
        row, column = int(turn.rng.integers(rows)), int(turn.rng.integers(columns))
        return [Click((row, column), bool(turn.comparison.target[row, column]))]


class BoxesOnly(Good):
    prompt_kinds = frozenset({"box"})


class Broken:
    def __init__(self):
        raise OSError("weights.pth is not there")


class OneBadSample:
    name = "one-bad"
    fingerprint = "1"
    sample_ids = ("a", "b", "c")

    def load(self, sample_id):
        if sample_id == "b":
            raise SegarenaError("b.png: expected an image, the file is cut off")
        mask = np.zeros((8, 8), dtype=bool)
        mask[2:5, 2:5] = True
        image = np.zeros((8, 8, 3), dtype=np.uint8)
        return ImageSample(id=sample_id, image=image, targets=(Target(id="object", mask=mask),))

    def check(self):
        return []


class EncodesNothing(Good):
    def encode(self, sample):
        raise TypeError("no samples, please")
