"""Prototypes: what stands for a part of some images, as directions in a space of features."""

from __future__ import annotations

from segarena.pytorch import Tensor, functional, torch

_ROUNDS = 50
_ALIKE = 1e-6


def unit_vectors(features: Tensor) -> Tensor:
    """Return features (..., c) scaled to unit length, float32; zeros stay."""
    return functional.normalize(features.float(), dim=-1)


def find_prototypes(features: Tensor, weights: Tensor, count: int) -> Tensor:
    """Return at most `count` directions, (m, c), that stand for the features; fewer when they are fewer or alike.

    One is the weighted mean (masked average pooling). Several are the centres of weighted spherical k-means. It starts
    from the feature nearest to the mean, then from those that lie farthest from the ones before, so there is no chance
    in it; the first of equals is taken. Features (n, c) have unit length; weights (n,) are not negative and not all 0.
    """
    features = features[weights > 0]
    weights = weights[weights > 0]
    mean = functional.normalize(weights @ features, dim=0)[None]
    if count == 1:
        return mean
    return _cluster(features, weights, _spread(features, weights, mean, count))


def nearest_cosine(features: Tensor, prototypes: Tensor) -> Tensor:
    """Return the cosine of each feature, (n, c), with the nearest prototype, (m, c), as (n,); 0 where m is 0."""
    if not len(prototypes):
        return features.new_zeros(len(features))
    return (features @ prototypes.T).amax(1)


def _spread(features: Tensor, weights: Tensor, mean: Tensor, count: int) -> Tensor:
    """Return features to start from: the one nearest to the mean, then the farthest, where heavy ones seem farther."""
    chosen = features[(features @ mean[0]).argmax()][None]
    while len(chosen) < min(count, len(features)):
        distances = (1 - nearest_cosine(features, chosen)) * weights
        if float(distances.max()) <= _ALIKE * float(weights.max()):
            break
        chosen = torch.cat([chosen, features[distances.argmax()][None]])
    return chosen


def _cluster(features: Tensor, weights: Tensor, centres: Tensor) -> Tensor:
    """Return the centres after features and centres have found each other; one without features stays."""
    nearest = None
    for _ in range(_ROUNDS):
        before = nearest
        nearest = (features @ centres.T).argmax(1)
        if before is not None and torch.equal(before, nearest):
            break
        members = functional.one_hot(nearest, len(centres)).T * weights
        centres = torch.where(
            members.sum(1)[:, None] > 0, functional.normalize(members @ features, dim=1), centres
        )
    return centres
