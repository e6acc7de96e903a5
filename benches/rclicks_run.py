"""A full RClicks run, twelve strategies and 20 rounds, against the least that it can cost.

    python benches/rclicks_run.py [--decode-ms 10] [--images 1]

The segmenter is a stand-in for SAM: it spends a fixed time on each encode, and a two-hundredth of it on each decode, in
which it also makes its answer. A decode of 10 ms with the mask brought to full size is a fast GPU's; on a CPU it is
several times that. The least a run can cost is one encode per image and one decode per dialogue and round;
all that is above it is ours: users with their click maps, IoU and boundary IoU, records, masks, files. Images are
480 x 854 with two objects each; the click model is by depth. Counted is the time of all of the process's threads on a
core, so that the ratio holds on a busy machine too; the wall time is printed beside it.

Bar: at most 1.3 times one encode per image and the decodes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import zlib
from pathlib import Path

import cv2
import numpy as np

import segarena
from segarena.registry import build
from segarena.samples import ImageSample, Target

SHAPE = (480, 854)
ROUNDS = 20
ENCODE_IN_DECODES = 200
BAR = 1.3


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
        targets = tuple(Target(id=str(index), mask=blob(rng, 0.28 + 0.45 * index)) for index in range(2))
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
    """Knows the objects and gives them with errors that shrink from round to round; takes its time."""

    prompt_kinds = frozenset({"click"})
    sees_truth = True

    def __init__(self, decode_s):
        self.decode_s = decode_s
        self.encodes = self.decodes = 0

    def encode(self, sample):  # noqa: D102
        start = time.process_time()
        self.encodes += 1
        noise = cv2.GaussianBlur(np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32), (0, 0), 6)
        answers = [self._answers(target.mask, noise) for target in sample.targets]
        spend(start, self.decode_s * ENCODE_IN_DECODES)
        return [target.mask for target in sample.targets], answers

    def predict(self, encoded, dialogues):  # noqa: D102
        return [self._decode(encoded, dialogue) for dialogue in dialogues]

    def _decode(self, encoded, dialogue):
        start = time.process_time()
        self.decodes += 1
        masks, answers = encoded
        first = dialogue.clicks[0].position
        index = next((i for i, mask in enumerate(masks) if mask[first]), 0)
        row, column = dialogue.clicks[-1].position
        mask = np.roll(answers[index][len(dialogue.rounds) - 1], (row % 5 - 2, column % 7 - 3), axis=(0, 1))
        spend(start, self.decode_s)
        return mask

    def _answers(self, mask, noise):
        inside = cv2.distanceTransform(mask.view(np.uint8), cv2.DIST_L2, 5)
        outside = cv2.distanceTransform((~mask).view(np.uint8), cv2.DIST_L2, 5)
        signed = inside - outside
        return [signed + 300 * noise / (1 + round_) > 0 for round_ in range(ROUNDS)]


def spend(start, seconds):
    """Stay on the core until this process has had `seconds` since `start`."""
    while time.process_time() - start < seconds:
        pass


def main():
    """Print what a run costs and what it must cost; exit with 1 when the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decode-ms", type=float, default=10.0)
    parser.add_argument("--images", type=int, default=1)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    rules = build("benchmark", "rclicks")
    users = [*rules.users, "whole=group(click_model='depth')"]
    segmenter = StandIn(options.decode_ms / 1000)
    with tempfile.TemporaryDirectory() as folder:  # imports are not part of a run
        segarena.evaluate(rules, segmenter=StandIn(0), dataset=Photographs(1), rounds=2, out=Path(folder) / "warm")
    photographs = Photographs(options.images)
    with tempfile.TemporaryDirectory() as folder:
        wall, start = time.perf_counter(), time.process_time()
        run = segarena.evaluate(rules, segmenter=segmenter, dataset=photographs, users=users, out=Path(folder) / "run")
        spent_s, wall_s = time.process_time() - start, time.perf_counter() - wall
        if run.config.counts.failures or segmenter.encodes != options.images:
            raise SystemExit(f"the run went wrong: {run.config.counts}, {segmenter.encodes} encodes")
    least_s = segmenter.decode_s * (ENCODE_IN_DECODES * segmenter.encodes + segmenter.decodes)
    ratio = spent_s / least_s
    print(f"{options.images} images x 2 objects x {len(users)} strategies x {ROUNDS} rounds, {SHAPE[0]} x {SHAPE[1]}")
    print(f"{segmenter.encodes} encodes of {1000 * ENCODE_IN_DECODES * segmenter.decode_s:.0f} ms, ", end="")
    print(f"{segmenter.decodes} decodes of {1000 * segmenter.decode_s:.1f} ms: {least_s:.2f} s")
    print(f"the run: {spent_s:.2f} s on the core ({wall_s:.2f} s on the clock), ratio {ratio:.3f} (bar {BAR})")
    print(f"ours: {1000 * (spent_s - least_s) / segmenter.decodes:.2f} ms per round")
    return 1 if ratio > BAR else 0


if __name__ == "__main__":
    sys.exit(main())
