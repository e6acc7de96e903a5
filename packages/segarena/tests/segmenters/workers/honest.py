"""A correct adapter with every kind of prompt and sample; started as a program."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[3] / "src" / "segarena"))
from worker import Prediction, serve


class Honest:
    takes = ("click", "box", "limits", "scribble", "lasso", "mask", "support")
    samples = ("image", "volume", "video")
    version = "1.0"

    def __init__(self, radius=3, weights=""):
        self.radius = radius
        self.weights = [weights] if weights else []

    def encode(self, sample):
        print("encoding", sample.id)
        pixels = {"image": "image", "volume": "voxels", "video": "frames"}[sample.kind]
        values = np.asarray(getattr(sample, pixels), dtype=np.float32)
        return {"shape": np.array(sample.shape), "mean": values.mean(keepdims=False)[None]}

    def predict(self, encoded, dialogues):
        return [self.answer(encoded, dialogue) for dialogue in dialogues]

    def answer(self, encoded, dialogue):
        shape = tuple(int(side) for side in encoded["shape"])
        mask = np.array(dialogue.previous_mask(shape))
        for prompt in dialogue.rounds[-1]:
            self.mark(mask, prompt, float(encoded["mean"][0]))
        count = 0 if dialogue.logits is None else int(dialogue.logits["rounds"][0])
        logits = {
            "rounds": np.array([count + 1]),
            "of": (np.float32(count), ["a", None, mask[..., :1]]),
        }
        return Prediction(mask, logits, score=0.5)

    def mark(self, mask, prompt, mean):
        if prompt.kind == "click":
            places = np.indices(mask.shape).reshape(mask.ndim, -1) - np.reshape(
                prompt.position, (-1, 1)
            )
            near = (np.abs(places).max(axis=0) <= self.radius + mean % 2).reshape(mask.shape)
            mask[near] = prompt.is_positive
        elif prompt.kind == "box":
            pairs = zip(prompt.start, prompt.stop)  # noqa: B905 - runs on Python 3.7, where zip is never strict
            mask[tuple(slice(first, last) for first, last in pairs)] ^= True
        elif prompt.kind == "limits":
            mask[prompt.first : prompt.last + 1] ^= True
        elif prompt.kind in ("scribble", "lasso"):
            for point in prompt.points:
                mask[tuple(int(place) for place in point)] = prompt.is_positive
        elif prompt.kind == "mask":
            mask |= prompt.mask
        else:
            assert (
                prompt.encoded["shape"].tolist()
                == list(prompt.sample.shape)
                == list(prompt.mask.shape)
            )
            mask[: int(prompt.mask.sum()) % mask.shape[0] + 1] ^= True

    def pack(self, encoded):
        return encoded

    def unpack(self, arrays):
        return dict(arrays)


if __name__ == "__main__":
    serve(Honest)
