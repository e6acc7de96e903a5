"""What the network is trained on and chosen by: KL divergence, SIM and CC of two maps. Needs torch."""

from __future__ import annotations

import math

from segarena.pytorch import Tensor

LOSS_EPSILON = 1e-9
METRIC_EPSILON = 1e-7
PIXEL_AXES = (1, 2, 3)


def kl_divergence(predicted: Tensor, true: Tensor) -> Tensor:
    """Return KL(true || predicted) of each sample, (B,), in nats.

    Args:
        predicted: (B, 1, H, W), not negative, of any scale.
        true: the same; a map of zeros gives 0.

    Source: RClicks, appendix B.1; the epsilons are the published code's.
    """
    p = predicted / (LOSS_EPSILON + predicted.sum(dim=PIXEL_AXES, keepdim=True))
    t = true / (LOSS_EPSILON + true.sum(dim=PIXEL_AXES, keepdim=True))
    return (t * (LOSS_EPSILON + t / (LOSS_EPSILON + p)).log()).sum(dim=PIXEL_AXES)


def map_similarity(predicted: Tensor, true: Tensor) -> Tensor:
    """Return SIM of each sample, (B,): the mass that two maps of sum 1 share; 1 for equal maps."""
    p = predicted / (METRIC_EPSILON + predicted.sum(dim=PIXEL_AXES, keepdim=True))
    t = true / (METRIC_EPSILON + true.sum(dim=PIXEL_AXES, keepdim=True))
    return p.minimum(t).sum(dim=PIXEL_AXES)


def map_correlation(predicted: Tensor, true: Tensor) -> Tensor:
    """Return CC of each sample, (B,): Pearson's correlation over all pixels; 0 when a map is constant."""
    p = predicted - predicted.mean(dim=PIXEL_AXES, keepdim=True)
    t = true - true.mean(dim=PIXEL_AXES, keepdim=True)
    scale = (p.square().sum(dim=PIXEL_AXES) * t.square().sum(dim=PIXEL_AXES)).sqrt()
    return (p * t).sum(dim=PIXEL_AXES) / scale.clamp_min(1e-30)


def learning_rate(
    step: int, steps: int, *, base: float, warmup_share: float = 0.1, is_published: bool = False
) -> float:
    """Return the learning rate of one step, from 0: a linear warm-up from 0, then half a cosine from `base`.

    Ours reaches the base after the warm-up and almost 0 at the last step. The published schedule is one step late
    (the first two steps have rate 0), and its cosine is as long as the whole training though it starts after the
    warm-up, so it ends at 2.4 % of the base with the usual share of 0.1. The warm-up's steps are rounded down.

    Source: RClicks names a cosine and an initial rate of 0.01; the warm-up is only in the code.
    """
    warmup = int(warmup_share * steps)
    at = max(0, step - 1) if is_published else step + 1
    if at < warmup:
        return base * at / warmup
    period = steps if is_published else steps + 1 - warmup
    return base * 0.5 * (1 + math.cos(math.pi * (at - warmup) / period))
