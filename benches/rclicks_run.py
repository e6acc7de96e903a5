"""Time that a full RClicks run (twelve users, 20 rounds) with a fast model spends outside the model.

    python benches/rclicks_run.py [--images 1] [--repeats 3]

The segmenter is a stand-in for SAM: it spends a fixed time on each encode, and a two-hundredth of
it on each decode, which includes making its answer. A decode of 5 to 10 ms with the mask at full
size is typical of a fast GPU; on a CPU it takes several times as long. Images are 480 x 854 with
two objects each, and the click model is `depth`.

- The model: encode and predict. Everything else is outside the model, from the call of `evaluate` until it
  returns: opening the run folder, users, metrics, rounds, records, masks, files.
- Users and metrics: the time in their own calls, including comparisons that they request first.
- The engine: the time outside the model, users and metrics, from one round's predict to the next, for each
  of its dialogues; the median over rounds.

The time is the CPU time of all threads of the process, and the median of several runs counts.
"""

from __future__ import annotations

import tempfile
import time
import zlib
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from statistics import median

import cv2
import numpy as np
from measurement import Figures, argument_parser, at_most

import segarena
from segarena.metrics.boundary import BoundaryIou
from segarena.metrics.overlap import Iou
from segarena.registry import build
from segarena.samples import ImageSample, Target
from segarena.systems.clicks.sampling.error_weights import SharedMap
from segarena.systems.clicks.users.map_clicker import MapClicker
from segarena.users.centre import CentreClicker

SHAPE = (480, 854)
ROUNDS = 20
ENCODE_IN_DECODES = 200
DECODES_MS = (5.0, 10.0)
BARS = {
    "outside the model, share of a run, decodes of 5 ms": at_most(0.15),
    "outside the model, share of a run, decodes of 10 ms": at_most(0.08),
    "the engine, median over rounds, decodes of 5 ms": at_most(0.35, "ms"),
    "the engine, median over rounds, decodes of 10 ms": at_most(0.35, "ms"),
}


@dataclass
class Clock:
    """CPU seconds since a run began, by category."""

    model_s: float = 0.0
    users_s: float = 0.0
    metrics_s: float = 0.0
    rounds: list[tuple[float, int]] = field(default_factory=list)
    """Start of each round's predict, minus model, users and metrics until then; and its number of dialogues."""

    def clear(self):
        """Begin a run."""
        vars(self).update(vars(Clock()))

    def note_round(self, dialogues):
        """Record the start of a round's `predict`."""
        theirs = self.model_s + self.users_s + self.metrics_s
        self.rounds.append((time.process_time() - theirs, dialogues))

    @property
    def own_ms(self):
        """Return the engine's time per dialogue in each round except the last."""
        pairs = zip(self.rounds[:-1], self.rounds[1:], strict=True)
        return [1000 * (stop - start) / dialogues for (start, dialogues), (stop, _) in pairs]

    def times(self, kind, name, whose):
        """Add the time of a method's calls to that of the model, of users or of metrics."""
        method = getattr(kind, name)

        @wraps(method)
        def timed(*args):
            start = time.process_time()
            try:
                return method(*args)
            finally:
                setattr(self, whose, getattr(self, whose) + time.process_time() - start)

        setattr(kind, name, timed)


CLOCK = Clock()


class Photographs:
    """Noise with two ragged objects of about a seventh of the image each."""

    name = "made-up"
    fingerprint = "1"

    def __init__(self, images):
        self.sample_ids = [f"image-{index}" for index in range(images)]
        self.samples = {sample_id: self.make(sample_id) for sample_id in self.sample_ids}

    def load(self, sample_id):  # noqa: D102
        return self.samples[sample_id]

    def make(self, sample_id):
        """Return one image."""
        rng = np.random.default_rng(zlib.crc32(sample_id.encode()))
        image = rng.integers(0, 256, (*SHAPE, 3), dtype=np.uint8)
        targets = tuple(
            Target(id=str(index), mask=blob(rng, 0.28 + 0.45 * index)) for index in range(2)
        )
        return ImageSample(id=sample_id, image=image, targets=targets)

    def check(self):  # noqa: D102
        return []


def blob(rng, place):
    """Return a ragged disc around the middle of the height, at a share of the width."""
    noise = cv2.GaussianBlur(rng.standard_normal(SHAPE).astype(np.float32), (0, 0), 15)
    rows, columns = np.indices(SHAPE)
    distance = np.hypot(rows - SHAPE[0] / 2, columns - place * SHAPE[1])
    return distance + 25 * noise / noise.std() < 0.29 * SHAPE[0]


class StandIn:
    """Segmenter that returns the objects with errors that shrink from round to round, in a fixed time."""

    prompt_kinds = frozenset({"click"})
    sees_truth = True

    def __init__(self, decode_s):
        self.decode_s = decode_s
        self.encodes = self.decodes = 0

    def encode(self, sample):  # noqa: D102
        start = time.process_time()
        self.encodes += 1
        noise = cv2.GaussianBlur(
            np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32), (0, 0), 6
        )
        answers = [self._answers(target.mask, noise) for target in sample.targets]
        spend(start, self.decode_s * ENCODE_IN_DECODES)
        return [target.mask for target in sample.targets], answers

    def predict(self, encoded, dialogues):  # noqa: D102
        CLOCK.note_round(len(dialogues))
        return self._decode_all(encoded, dialogues)

    def _decode_all(self, encoded, dialogues):
        return [self._decode(encoded, dialogue) for dialogue in dialogues]

    def _decode(self, encoded, dialogue):
        start = time.process_time()
        self.decodes += 1
        masks, answers = encoded
        first = dialogue.clicks[0].position
        index = next((i for i, mask in enumerate(masks) if mask[first]), 0)
        row, column = dialogue.clicks[-1].position
        mask = np.roll(
            answers[index][len(dialogue.rounds) - 1], (row % 5 - 2, column % 7 - 3), axis=(0, 1)
        )
        spend(start, self.decode_s)
        return mask

    def _answers(self, mask, noise):
        inside = cv2.distanceTransform(mask.view(np.uint8), cv2.DIST_L2, 5)
        outside = cv2.distanceTransform((~mask).view(np.uint8), cv2.DIST_L2, 5)
        signed = inside - outside
        return [signed + 300 * noise / (1 + round_) > 0 for round_ in range(ROUNDS)]


def spend(start, seconds):
    """Use the CPU until this process has used `seconds` since `start`."""
    while time.process_time() - start < seconds:
        pass


def run_once(decode_ms, images, users, rules):
    """Return the CPU seconds of a run, and the number of decodes; `CLOCK` has the rest."""
    segmenter = StandIn(decode_ms / 1000)
    photographs = Photographs(images)
    CLOCK.clear()
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        run = segarena.evaluate(
            rules, segmenter=segmenter, dataset=photographs, users=users, out=Path(folder) / "run"
        )
        spent_s = time.process_time() - start
        if run.config.counts.failures or segmenter.encodes != images:
            raise SystemExit(f"the run failed: {run.config.counts}, {segmenter.encodes} encodes")
    return spent_s, segmenter.decodes


def report(decode_ms, images, users, rules, repeats, figures):
    """Report the median of several runs."""
    shares = []
    own_ms = []
    for _ in range(repeats):
        spent_s, decodes = run_once(decode_ms, images, users, rules)
        outside_s = spent_s - CLOCK.model_s
        shares.append(outside_s / spent_s)
        own_ms.append(median(CLOCK.own_ms))
        parts = {"users": CLOCK.users_s, "metrics": CLOCK.metrics_s}
        parts["the rest, with folder and files,"] = outside_s - CLOCK.users_s - CLOCK.metrics_s
        words = [f"{name} {1000 * part_s / decodes:.2f}" for name, part_s in parts.items()]
        print(f"decodes of {decode_ms:g} ms: {spent_s:.2f} s; ms per round:", ", ".join(words))
    figures.report(
        f"outside the model, share of a run, decodes of {decode_ms:g} ms", median(shares)
    )
    figures.report(f"the engine, median over rounds, decodes of {decode_ms:g} ms", median(own_ms))


def main():
    """Print where the time goes; exit with 1 if a limit is missed."""
    parser = argument_parser(__doc__)
    parser.add_argument("--images", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    for kind in (MapClicker, CentreClicker):
        CLOCK.times(kind, "next", "users_s")
    CLOCK.times(SharedMap, "prepare", "users_s")
    for kind in (Iou, BoundaryIou):
        CLOCK.times(kind, "__call__", "metrics_s")
    for name in ("encode", "_decode_all"):
        CLOCK.times(StandIn, name, "model_s")
    rules = build("benchmark", "rclicks")
    users = [*rules.users, "whole=group(click_model='depth')"]
    decodes_ms = DECODES_MS
    repeats = options.repeats
    if options.quick:
        users = users[:2]
        decodes_ms = DECODES_MS[:1]
        repeats = 1
    with tempfile.TemporaryDirectory() as folder:  # imports are not part of a run
        segarena.evaluate(
            rules, segmenter=StandIn(0), dataset=Photographs(1), rounds=2, out=Path(folder) / "warm"
        )
    print(
        f"{options.images} images x 2 objects x {len(users)} users x {ROUNDS} rounds, {SHAPE[0]} x {SHAPE[1]}"
    )
    figures = Figures(BARS, has_bars=not options.quick)
    for decode_ms in decodes_ms:
        report(decode_ms, options.images, users, rules, repeats, figures)
    figures.finish()


if __name__ == "__main__":
    main()
