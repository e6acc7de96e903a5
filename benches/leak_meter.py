"""Information that prompts reveal without the image, and time to measure it: `python benches/leak_meter.py [FOLDER]`.

One dialogue continues without end, and each answer is the mask that the prompts so far suggest.
Clicks are those of the user `centre` on the demo photographs' objects of at least a tenth of the
frame, or with FOLDER on those of BSDS500. Lines are the robot's (server-2020, as published), always
in the same frame of a generated video.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from measurement import Figures, argument_parser, at_least, at_most, seconds_of, yardstick

from segarena.dialogue import Prediction
from segarena.engine.session import Rules, Session
from segarena.multi_object import empty_comparison
from segarena.plugin_spec import PluginSpec
from segarena.registry import build
from segarena.samples import Sample, Target, VideoSample
from segarena.segmenters.drawing.nearest_prompt import blind_labels
from segarena_server.challenges.leak_meter import measure_leak

CLICKS = (1, 3, 5, 10, 20, 40, 60)
LINES = tuple(range(1, 9))
MOST = 40
BARS = {
    "median of a measurement, yardsticks": at_most(2.7),
    "blind IoU after 20 clicks, at least": at_least(0.65),
    "blind IoU after 20 clicks, at most": at_most(0.9),
}


def told(
    sample: Sample, target: Target, user: str, rounds: Iterable[int]
) -> dict[int, tuple[float, float]]:
    """Return the blind IoU after the given rounds (for a video, in its best frame) and the seconds to measure it."""
    last, found = max(rounds), {}
    rules = Rules(benchmark="", dataset="", metrics=(), rounds=last + 1)
    start, who = empty_comparison(sample, target), build("user", PluginSpec.of(user))
    session = Session(
        rules=rules, sample=sample, target=target, start=start, user=who, user_name=user
    )
    has_frames = isinstance(sample, VideoSample)
    while session.answered < last and (dialogue := session.next()) is not None:
        blind, steps = blind_labels(dialogue.prompts, sample.shape, has_frames=has_frames)
        for axis, step in enumerate(steps):
            blind = np.repeat(blind, step, axis=axis)
        blind = blind[tuple(map(slice, sample.shape))]
        mask = blind if target.mask.dtype == np.uint8 else blind.astype(bool)
        session.submit(Prediction(mask, candidates=(len(blind) // 2,) if has_frames else None), 0.0)
        begun = time.process_time()
        leak = measure_leak(sample, target, dialogue.prompts)
        found[session.answered] = leak.peak, time.process_time() - begun
    return {number: found[number] for number in rounds if number in found}


def main() -> None:
    """Print both tables; exit with 1 if a photograph takes too long or a value for clicks is wrong."""
    parser = argument_parser(__doc__)
    parser.add_argument("folder", nargs="?", help="folder of BSDS500")
    options = parser.parse_args()
    spec = PluginSpec("demo")
    if options.folder:
        spec = PluginSpec("bsds500", {"path": options.folder})
    dataset = build("dataset", spec)
    objects = [
        (sample, target)
        for sample in map(dataset.load, list(dataset.sample_ids)[:60])
        for target in sample.targets
        if options.folder or target.mask.mean() >= 0.1
    ][: 2 if options.quick else MOST]
    by_clicks = defaultdict(list)
    yardsticks: list[float] = []
    for sample, target in objects:
        for number, pair in told(sample, target, "centre", CLICKS).items():
            by_clicks[number].append(pair)
        yardsticks.append(seconds_of(yardstick))
    means = {
        number: statistics.fmean(iou for iou, _ in pairs) for number, pairs in by_clicks.items()
    }
    seconds = [each for pairs in by_clicks.values() for _, each in pairs]
    print(
        f"{len(objects)} objects of {dataset.name}, clicks -> blind IoU:",
        {n: round(v, 2) for n, v in means.items()},
    )
    print(f"a measurement takes {statistics.median(seconds):.3f} s, at most {max(seconds):.3f} s")
    clip = build("dataset", PluginSpec("demo-videos"))
    robot = "scribble-robot(preset='server-2020', mode='published')"
    each = [
        told(sample, target, robot, LINES)
        for sample in map(clip.load, list(clip.sample_ids)[: 1 if options.quick else None])
        for target in sample.targets
    ]
    lines = {n: round(statistics.fmean(one[n][0] for one in each if n in one), 2) for n in LINES}
    print(f"{len(each)} videos, interactions in one frame -> blind IoU of the best frame:", lines)
    figures = Figures(BARS, has_bars=not options.quick)
    figures.report(
        "median of a measurement, yardsticks",
        statistics.median(seconds) / statistics.median(yardsticks),
    )
    figures.report("blind IoU after 20 clicks, at least", means[20])
    figures.report("blind IoU after 20 clicks, at most", means[20])
    figures.finish()


if __name__ == "__main__":
    main()
