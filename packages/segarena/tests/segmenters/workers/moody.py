"""Faulty adapters, each with one fault; started as programs: `python moody.py MOOD --option value`."""

import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import honest  # it finds the worker's file
import numpy as np
import worker


def dies():
    os.kill(os.getpid(), signal.SIGKILL)


class Small(honest.Honest):
    """Accepts only images, so that checks are fast."""

    takes = ("click", "box")
    samples = ("image",)


class Dies(honest.Honest):
    def predict(self, encoded, dialogues):
        print("about to die")
        sys.stderr.write("of this\n")
        sys.stderr.flush()
        dies()


class Hangs(honest.Honest):
    def predict(self, encoded, dialogues):
        time.sleep(60)


class Raises(Small):
    def predict(self, encoded, dialogues):
        raise KeyError("decoder.weight")


class Exits(honest.Honest):
    def encode(self, sample):
        sys.exit("no GPU")


class Prints(honest.Honest):
    def predict(self, encoded, dialogues):
        os.write(1, b"progress: 10 %\n" * 10_000)
        return honest.Honest.predict(self, encoded, dialogues)


class TooMany(Small):
    def predict(self, encoded, dialogues):
        return honest.Honest.predict(self, encoded, [*dialogues, *dialogues])


class TooFew(Small):
    def predict(self, encoded, dialogues):
        return []


class OtherShape(Small):
    def predict(self, encoded, dialogues):
        return [np.zeros((3, 5), bool) for _ in dialogues]


class NoMask(Small):
    def predict(self, encoded, dialogues):
        return ["mask" for _ in dialogues]


class Leaks(honest.Honest):
    held = ()

    def predict(self, encoded, dialogues):
        for _ in range(100):
            self.held = (*self.held, np.ones(10**7, np.uint8))
            time.sleep(0.02)
        return honest.Honest.predict(self, encoded, dialogues)


class LeaksSlowly(honest.Honest):
    held = ()

    def encode(self, sample):
        self.held = (*self.held, np.ones(10**8, np.uint8))
        print("held", len(self.held))
        return honest.Honest.encode(self, sample)


class Forgets(Small):
    """Drops its encodings after `after` requests; 0: after each one."""

    def __init__(self, after=1):
        honest.Honest.__init__(self)
        self.after = after
        self.asked = 0

    def predict(self, encoded, dialogues):
        self.asked += 1
        if not self.after or self.asked == self.after:
            conversation = sys._getframe(2).f_locals["self"]
            conversation._held.clear()
        return honest.Honest.predict(self, encoded, dialogues)


class Killed(honest.Honest):
    """Is killed at given moments, each counted over all its lives in `counts`: "predict:2" at the second predict."""

    def __init__(self, counts="", moments=""):
        honest.Honest.__init__(self)
        self.counts = Path(counts)
        self.moments = moments.split(",")
        self.at("hello")

    def at(self, moment):
        with self.counts.open("a") as file:
            file.write(moment + "\n")
        count = self.counts.read_text().split().count(moment)
        if f"{moment}:{count}" in self.moments:
            dies()

    def encode(self, sample):
        self.at("encode")
        encoded = honest.Honest.encode(self, sample)
        self.at("encoded")
        return encoded

    def predict(self, encoded, dialogues):
        self.at("predict")
        answers = honest.Honest.predict(self, encoded, dialogues)
        self.at("predicted")
        stream = sys._getframe(2).f_locals["self"]._stream
        write = type(stream).write

        def in_halves(data):
            half = len(data) // 2
            write(stream, bytes(data)[:half])
            self.at("half")
            write(stream, bytes(data)[half:])

        stream.write = in_halves
        return answers


class Probabilities(Small):
    def predict(self, encoded, dialogues):
        return [answer.mask * 0.7 for answer in honest.Honest.predict(self, encoded, dialogues)]


class Counting(Small):
    asked = 0

    def predict(self, encoded, dialogues):
        self.asked += 1
        answers = honest.Honest.predict(self, encoded, dialogues)
        for answer in answers:
            answer.mask.flat[self.asked % answer.mask.size] ^= True
        return answers


class OfBatch(Small):
    def predict(self, encoded, dialogues):
        answers = honest.Honest.predict(self, encoded, dialogues)
        answers[-1].mask[0] ^= len(dialogues) > 1
        return answers


class OfProcess(Small):
    def predict(self, encoded, dialogues):
        answers = honest.Honest.predict(self, encoded, dialogues)
        for answer in answers:
            answer.mask.flat[os.getpid() % answer.mask.size] ^= True
        return answers


class DiesOfTiny(Small):
    def encode(self, sample):
        if max(sample.shape) < 3:
            dies()
        return honest.Honest.encode(self, sample)


class PacksLess(Small):
    def pack(self, encoded):
        return {"shape": encoded["shape"], "mean": encoded["mean"] * 0}

    def answer(self, encoded, dialogue):
        answer = honest.Honest.answer(self, encoded, dialogue)
        answer.mask[0] ^= bool(encoded["mean"][0])
        return answer


class NoBoxes(Small):
    def mark(self, mask, prompt, mean):
        if prompt.kind == "box":
            raise NotImplementedError("boxes")
        honest.Honest.mark(self, mask, prompt, mean)


class NoWeights(Small):
    def __init__(self):
        honest.Honest.__init__(self, weights="nowhere.pth")


class LeavesInDisgust(Small):
    def mark(self, mask, prompt, mean):
        if prompt.kind == "click" and prompt.position[0] >= mask.shape[0]:
            os._exit(3)
        honest.Honest.mark(self, mask, prompt, mean)


class IntoThePipe(Small):
    def predict(self, encoded, dialogues):
        os.write(sys._getframe(2).f_locals["self"]._stream.sink, b"progress: 10 % of it\n")
        return honest.Honest.predict(self, encoded, dialogues)


class Hoard(dict):
    def pop(self, handle, default=None):
        return default


class Hoards(Small):
    def encode(self, sample):
        conversation = sys._getframe(2).f_locals["self"]
        conversation._held = Hoard(conversation._held)
        return honest.Honest.encode(self, sample)


class Deaf(Small):
    """Does not notice that its host has ended."""

    def __init__(self):
        honest.Honest.__init__(self)


class Imports(honest.Honest):
    def __init__(self):
        honest.Honest.__init__(self)
        import tensorboard.summary  # noqa: F401 - it is missing


class Joint(honest.Honest):
    """Its network receives image and prompts together."""

    encodes_with_prompts = True


class Slow(honest.Honest):
    def __init__(self, seconds=0.0):
        honest.Honest.__init__(self)
        self.seconds = seconds

    def encode(self, sample):
        time.sleep(self.seconds)
        return honest.Honest.encode(self, sample)


class Large(honest.Honest):
    def __init__(self, megabytes=0):
        honest.Honest.__init__(self)
        self.network = np.ones(megabytes * 10**6, np.uint8)


class Parts(dict):
    pass


class OnTheWay(honest.Honest):
    """Encodes one part at first and another with each answer; requests frames."""

    def encode(self, sample):
        parts = Parts(honest.Honest.encode(self, sample))
        parts.pass_seconds = [0.25]
        return parts

    def predict(self, encoded, dialogues):
        encoded.pass_seconds.append(0.5)
        answers = honest.Honest.predict(self, encoded, dialogues)
        for answer in answers:
            answer.candidates = (1, np.int64(3))
        return answers


MOODS = {kind.__name__: kind for kind in vars().copy().values() if isinstance(kind, type)}

if __name__ == "__main__":
    if sys.argv[1] == "Deaf":
        worker._watch = lambda source: None
        worker.Conversation.hold = lambda self, hold=worker.Conversation.hold: (
            hold(self),
            time.sleep(60),
        )
    worker.serve(MOODS[sys.argv[1]], sys.argv[2:])
