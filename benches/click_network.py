"""Time of click maps for 8 errors of one image: one call, compared with single calls as published.

    python benches/click_network.py [--size b]

On a CPU the batched call makes the same network passes with the same inputs as the single calls, so
any difference is noise of the machine. The two alternate, and the
median of the ratios of the pairs counts.
Random weights; CPU seconds of this process.
"""

from __future__ import annotations

import numpy as np
import torch
from measurement import Figures, argument_parser, at_most, no_bar, paired_time

from segarena.systems.clicks.network.model import ClickabilityNetwork
from segarena.systems.clicks.network.prediction import ClickabilityModel

ERRORS = 8
PAIRS = 5
BARS = {
    "one call / single calls": at_most(1.05),
    "one call, batch of 8 / single calls": no_bar(),
    "single calls, seconds of processor": no_bar("s"),
}


def main() -> None:
    """Measure single and batched calls in alternation; exit with 1 if the limit is missed."""
    parser = argument_parser(__doc__)
    parser.add_argument("--size", default="b", choices=["b", "s", "t", "tiny"])
    options = parser.parse_args()
    size = options.size
    if options.quick:
        size = "tiny"
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, size=(480, 854, 3), dtype=np.uint8)
    target = np.zeros((480, 854), dtype=np.bool_)
    target[100:400, 200:600] = True
    errors = [target & (np.arange(854) > 200 + 40 * index) for index in range(ERRORS)]
    network = ClickabilityNetwork(size)
    whole = ClickabilityModel(network, device="cpu")
    stacked = ClickabilityModel(network, device="cpu", batch_size=ERRORS)

    def call_singly() -> None:
        for error in errors:
            whole(image, target, error)

    def call_once() -> None:
        whole.predict_maps([image] * ERRORS, [target] * ERRORS, errors)

    def call_stacked() -> None:
        stacked.predict_maps([image] * ERRORS, [target] * ERRORS, errors)

    whole(image, target, errors[0])
    figures = Figures(BARS, has_bars=size == "b")
    times = paired_time(call_once, call_singly, PAIRS)
    figures.report("one call / single calls", times.ratio)
    figures.report("single calls, seconds of processor", times.baseline_s)
    # A batch has no limit on a CPU, so it is measured once.
    batch = paired_time(call_stacked, call_singly, 1)
    figures.report("one call, batch of 8 / single calls", batch.ratio)
    figures.finish()


if __name__ == "__main__":
    main()
