"""Prototypes of feature sets: weighted means or k-means centres on the unit sphere."""

from __future__ import annotations

from segarena.pytorch import Tensor, functional, torch

_MAX_ITERATIONS = 50
_MIN_RELATIVE_DISTANCE = 1e-6


def unit_vectors(features: Tensor) -> Tensor:
    """Scale features (..., c) to unit length, float32; zero vectors stay zero."""
    return functional.normalize(features.float(), dim=-1)


def find_prototypes(
    features: Tensor,
    weights: Tensor,
    count: int,
) -> Tensor:
    """Return at most `count` prototypes of the features: unit vectors, (m, c).

    A single prototype is the weighted mean (masked average pooling). Several prototypes are the
    centres of weighted spherical k-means, which starts deterministically from the feature nearest
    to the mean and then repeatedly adds the feature farthest from the centres chosen so far; ties
    go to the first. If there are fewer than `count` distinct features, there are fewer prototypes.

    Args:
        features: (n, c), of unit length.
        weights: (n,), not negative and not all 0.
        count: maximum number of prototypes.
    """
    features = features[weights > 0]
    weights = weights[weights > 0]
    mean = functional.normalize(weights @ features, dim=0)[None]
    if count == 1:
        return mean
    centres = _initial_centres(features, weights, mean, count)
    return _refine_centres(features, weights, centres)


def nearest_cosine(features: Tensor, prototypes: Tensor) -> Tensor:
    """Return the cosine of each feature (n, c) to the nearest of the prototypes (m, c), as (n,); 0 if m is 0."""
    if not len(prototypes):
        return features.new_zeros(len(features))
    return (features @ prototypes.T).amax(1)


def _initial_centres(
    features: Tensor,
    weights: Tensor,
    mean: Tensor,
    count: int,
) -> Tensor:
    """Return up to `count` features: the nearest to the mean, then always the farthest from those chosen before.

    Distances are multiplied by the weights.
    """
    nearest_to_mean = (features @ mean[0]).argmax()
    chosen = features[nearest_to_mean][None]
    least_distance = _MIN_RELATIVE_DISTANCE * float(weights.max())
    while len(chosen) < min(count, len(features)):
        distances = (1 - nearest_cosine(features, chosen)) * weights
        if float(distances.max()) <= least_distance:
            break
        farthest = features[distances.argmax()][None]
        chosen = torch.cat([chosen, farthest])
    return chosen


def _refine_centres(
    features: Tensor,
    weights: Tensor,
    centres: Tensor,
) -> Tensor:
    """Run k-means until it converges, and return the centres; a centre without features keeps its position."""
    nearest = None
    for _ in range(_MAX_ITERATIONS):
        before = nearest
        nearest = (features @ centres.T).argmax(1)
        if before is not None and torch.equal(before, nearest):
            break
        members = functional.one_hot(nearest, len(centres)).T * weights
        means = functional.normalize(members @ features, dim=1)
        has_members = members.sum(1)[:, None] > 0
        centres = torch.where(has_members, means, centres)
    return centres
