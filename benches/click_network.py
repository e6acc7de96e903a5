"""Click maps of 8 errors of one image, in one call and in single calls as published.

    python benches/click_network.py [--size b]

On a CPU the batched call makes the same network passes with the same inputs as the single calls, so
any difference is noise of the machine. The order of the two alternates, and the fastest of four
repetitions counts.

Limit: the batched call takes at most 1.05 of the time of single calls. Random weights; CPU seconds
of this process.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

from segarena.systems.clicks.network.model import ClickabilityNetwork
from segarena.systems.clicks.network.prediction import ClickabilityModel

ERRORS = 8
TURNS = 4
BAR = 1.05


def main() -> None:
    """Measure single and batched calls in alternation; exit with 1 if the limit is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", default="b", choices=["b", "s", "t", "tiny"])
    options = parser.parse_args()
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, size=(480, 854, 3), dtype=np.uint8)
    target = np.zeros((480, 854), dtype=np.bool_)
    target[100:400, 200:600] = True
    errors = [target & (np.arange(854) > 200 + 40 * index) for index in range(ERRORS)]
    network = ClickabilityNetwork(options.size)
    whole = ClickabilityModel(network, device="cpu")
    stacked = ClickabilityModel(network, device="cpu", batch_size=ERRORS)
    ways = {
        "one by one": lambda: [whole(image, target, error) for error in errors],
        "one call": lambda: whole.predict_maps([image] * ERRORS, [target] * ERRORS, errors),
        "one call, batch of 8": lambda: stacked.predict_maps(
            [image] * ERRORS, [target] * ERRORS, errors
        ),
    }
    whole(image, target, errors[0])
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(TURNS):
        # Cases without a limit are measured once.
        for name, way in list(ways.items())[: 2 if turn else 3][:: -1 if turn % 2 else 1]:
            started = time.process_time()
            way()
            seconds[name].append(time.process_time() - started)
    quickest = {name: min(values) for name, values in seconds.items()}
    for name, least in quickest.items():
        print(f"{name:22} {least:6.2f} s   {least / quickest['one by one']:.2f}")
    held = quickest["one call"] <= BAR * quickest["one by one"]
    print("limit met" if held else f"the limit of {BAR} was missed")
    raise SystemExit(not held)


if __name__ == "__main__":
    main()
