"""Loss, validation measures and learning-rate schedule of the clickability network. Needs torch."""

from __future__ import annotations

import math

from segarena.pytorch import Tensor

# Both epsilons are those of the published training code: one for the loss, one for SIM.
LOSS_EPSILON = 1e-9
METRIC_EPSILON = 1e-7
PIXEL_AXES = (1, 2, 3)


def kl_divergence(predicted: Tensor, true: Tensor) -> Tensor:
    """Return KL(true || predicted) of each sample, (B,), in nats.

    Args:
        predicted: (B, 1, H, W), not negative, of any scale.
        true: the reference maps, of the same form; a map of zeros gives 0.

    Source: RClicks, appendix B.1; the epsilons are from the published code.
    """
    p = _normalise(predicted, LOSS_EPSILON)
    t = _normalise(true, LOSS_EPSILON)
    log_ratio = (LOSS_EPSILON + t / (LOSS_EPSILON + p)).log()
    return (t * log_ratio).sum(dim=PIXEL_AXES)


def map_similarity(predicted: Tensor, true: Tensor) -> Tensor:
    """Return SIM of each sample, (B,): the overlap of the two maps scaled to sum 1; 1 for equal maps."""
    p = _normalise(predicted, METRIC_EPSILON)
    t = _normalise(true, METRIC_EPSILON)
    return p.minimum(t).sum(dim=PIXEL_AXES)


def map_correlation(predicted: Tensor, true: Tensor) -> Tensor:
    """Return CC of each sample, (B,): Pearson's correlation over all pixels.

    A constant map has correlation 0.
    """
    p = predicted - predicted.mean(dim=PIXEL_AXES, keepdim=True)
    t = true - true.mean(dim=PIXEL_AXES, keepdim=True)
    covariance = (p * t).sum(dim=PIXEL_AXES)
    predicted_variance = p.square().sum(dim=PIXEL_AXES)
    true_variance = t.square().sum(dim=PIXEL_AXES)
    deviations = (predicted_variance * true_variance).sqrt()
    # The lower limit gives constant maps a correlation of 0 instead of NaN.
    return covariance / deviations.clamp_min(1e-30)


def _normalise(values: Tensor, epsilon: float) -> Tensor:
    """Divide each map by its sum."""
    return values / (epsilon + values.sum(dim=PIXEL_AXES, keepdim=True))


def learning_rate(
    step: int,
    steps: int,
    *,
    base: float,
    warmup_share: float = 0.1,
    is_published: bool = False,
) -> float:
    """Return the learning rate of a step: linear warm-up from 0, then a half cosine down from `base`.

    The default schedule reaches `base` after the warm-up and almost 0 at the last step. The
    published schedule is one step late, so the first two steps have rate 0. Its half cosine starts
    after the warm-up but is stretched over as many steps as the whole training, so it is cut off:
    with warm-up for 0.1 of the steps, the rate ends at 2.4 % of `base`. The number of warm-up steps is rounded down.

    Args:
        step: index of the step, from 0.
        steps: number of steps in the whole training.
        base: the highest learning rate.
        warmup_share: share of all steps used for the warm-up.
        is_published: use the published schedule.

    Source: RClicks gives a cosine schedule and an initial rate of 0.01; the warm-up is only in the
    code.
    """
    warmup = int(warmup_share * steps)
    if is_published:
        # As in the published script, the rate lags one step behind and the period includes the
        # warm-up.
        position = max(0, step - 1)
        period = steps
    else:
        position = step + 1
        period = steps + 1 - warmup
    if position < warmup:
        return base * position / warmup
    return base * 0.5 * (1 + math.cos(math.pi * (position - warmup) / period))
