"""Plug-ins that break the rules; used by path."""

import os
import signal
import time
from dataclasses import replace
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
        mask[max(0, row - 2) : row + 3, max(0, column - 2) : column + 3] = dialogue.clicks[
            -1
        ].is_positive
        return mask


class At(Good):
    """Misbehaves in round 2 on one sample, or in one way on each of several; `how` is the name of a method."""

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
        signal.pthread_sigmask(
            signal.SIG_BLOCK, {signal.SIGALRM}
        )  # as compiled code that never returns
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
        return (
            super().predict(encoded, dialogues)[:-1]
            if len(dialogues) > 1
            else super().predict(encoded, dialogues)
        )


class Silent(Good):
    def predict(self, encoded, dialogues):
        return None


class EncodeFails(Good):
    def encode(self, sample):
        if sample.id == "square-1":
            raise MemoryError("image too large")
        return sample


class Refuses(Good):
    """Rejects every sample with a separate message; answers those in `unless`, after a while."""

    def __init__(self, *, unless=(), pause_s=0.0):
        super().__init__()
        self.unless = unless
        self.pause_s = pause_s

    def answer(self, sample, dialogue):
        if sample.id not in self.unless:
            raise RuntimeError(f"{sample.id} needs {3 * len(sample.id)}.5 GB")
        time.sleep(self.pause_s)
        return super().answer(sample, dialogue)


class CountsClicks:
    """Predicts as many pixels as there are clicks, and returns logits; keeps no state."""

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


class StopsEarly:
    """Corrects sample n for n + 1 rounds."""

    def next(self, turn):
        number = int(turn.sample.id.rpartition("-")[2])
        if turn.round > number + 1:
            return None
        return (Click(position=(number, turn.round)),)


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


class CopiesTruth(Good):
    """Answers with the ground truth if it has access to it."""

    def encode(self, sample):
        return sample

    def answer(self, sample, dialogue):
        return sample.targets[0].mask if sample.targets else super().answer(sample, dialogue)


class Peeks(CopiesTruth):
    sees_truth = True


class PaintsSample(Good):
    """Writes to the image; with `force` despite the read-only flag."""

    def __init__(self, *, force=False):
        super().__init__()
        self.force = force

    def encode(self, sample):
        writable(sample.image, self.force)[:] = 0
        return sample


class PaintsPrevious(Good):
    """Continues to write to the mask of the previous round."""

    def __init__(self, *, force=False):
        super().__init__()
        self.force = force

    def answer(self, sample, dialogue):
        if dialogue.previous is None:
            return super().answer(sample, dialogue)
        mask = writable(dialogue.previous.mask, self.force)
        mask[:] = True
        return mask


class OneBuffer(Good):
    """Uses one array for all its answers."""

    def encode(self, sample):
        return np.zeros((1, *sample.shape), dtype=bool)

    def answer(self, buffer, dialogue):
        row, column = dialogue.clicks[-1].position
        buffer[0] = False
        buffer[0, row, column] = True
        return buffer[0]


class AnswersLists(Good):
    def answer(self, sample, dialogue):
        return Prediction(mask=super().answer(sample, dialogue).tolist())


class PaintsTarget:
    """A user that fills the target, so that others find nothing to correct."""

    def __init__(self, *, force=False):
        self.force = force

    def next(self, turn):
        writable(turn.target.mask, self.force)[:] = True
        return [Click((0, 0))]


class EndlessUser:
    def next(self, turn):
        while True:
            yield Click((0, 0))


class HangingUser:
    def next(self, turn):
        time.sleep(1000)


class PaintsComparison:
    """A metric that fills the prediction, so that other metrics see a different one."""

    columns = ("painted",)

    def __init__(self, *, force=False):
        self.force = force

    def __call__(self, comparison):
        writable(comparison.prediction, self.force)[:] = True
        return 1.0


class HangingConstructor:
    """Any role, as its constructor never returns."""

    def __init__(self):
        time.sleep(1000)


class HangingMetric:
    columns = ("never",)

    def __call__(self, comparison):
        time.sleep(1000)


class NamedLikeAKey:
    columns = ("effort",)

    def __call__(self, comparison):
        return 0.0


class HangingDataset(OneBadSample):
    name = "hanging"

    def load(self, sample_id):
        if sample_id == "b":
            time.sleep(1000)
        return super().load(sample_id)


class SameIds(OneBadSample):
    sample_ids = ("a", "c", "a")


class NumpyAttributes(OneBadSample):
    sample_ids = ("a",)

    def load(self, sample_id):
        sample = super().load(sample_id)
        attributes = {"count": np.int64(3), "area": np.float32(1.5)}
        return replace(sample, targets=(replace(sample.targets[0], attributes=attributes),))


class AnotherSample(OneBadSample):
    sample_ids = ("a",)

    def load(self, sample_id):
        return replace(super().load(sample_id), id="other")


class NumberedSamples(OneBadSample):
    sample_ids = range(2)


class TextForIds(OneBadSample):
    sample_ids = "ab"


class MethodForIds(OneBadSample):
    def sample_ids(self):
        return ["a"]


class NumberForFingerprint(OneBadSample):
    fingerprint = 7


class NoName(OneBadSample):
    name = None


class Exits:
    def __init__(self):
        raise SystemExit(0)


class ChangesFolder(Good):
    def __init__(self):
        super().__init__()
        os.chdir("/")


def writable(array, force):
    """Return the array; with `force` one that can be written to, whatever its flag says."""
    if not force or array.flags.writeable:
        return array
    pointer, _ = array.__array_interface__["data"]
    described = {**array.__array_interface__, "data": (pointer, False)}
    return np.asarray(type("Open", (), {"__array_interface__": described, "kept": array})())


class ExitsLater(Good):
    def encode(self, sample):
        raise SystemExit(0)


class LeavesQuietly(Good):
    """Ends the whole process with exit code 0."""

    def encode(self, sample):
        os._exit(0)


class CrashesBelowPython(Good):
    def encode(self, sample):
        os.kill(os.getpid(), signal.SIGSEGV)


class HangsBelowPython(Good):
    def encode(self, sample):
        signal.pthread_sigmask(
            signal.SIG_BLOCK, {signal.SIGALRM}
        )  # as compiled code that never returns
        time.sleep(1000)
