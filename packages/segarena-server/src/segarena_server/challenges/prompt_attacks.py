"""Simulated attackers: they never look at a sample, and their answers make prompts reveal as much truth as possible.

Users react to errors. An attacker that chooses its errors learns from each prompt where it was
wrong, and can learn more than from honest answers. Which answers reveal most differs from target to
target, so organisers see the strongest of several attackers. Each attacker takes part in all
dialogues by the rules; then the ground truth of each target is estimated from its prompts as in the
leak meter (`segarena_server.challenges.leak_meter`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from segarena.dialogue import Dialogue, Prediction
from segarena.roles import Segmenter
from segarena.samples import Labels
from segarena.segmenters.drawing.nearest_prompt import blind_labels
from segarena.segmenters.image_blind import Extent, ImageBlind, enlarged
from segarena_server.challenges.description import ChallengeDescription
from segarena_server.challenges.evaluation_request import RunInfo
from segarena_server.challenges.leak_meter import LeakSummary, summarise_leaks
from segarena_server.challenges.rehearsal import Rehearsal
from segarena_server.challenges.sample_pool import ProgressContext

GROWN_SHARE = 0.08
"""Share of the mask's area by which it alternately grows and shrinks."""
ACCOUNTS = (2, 5)
"""Numbers of accounts that pool their prompts."""
ATTACKED_SAMPLES = 5
"""Number of samples that a rehearsal attacks by default; more take longer but make the maximum more reliable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackLeaks:
    """How much prompts reveal to an attacker.

    Attributes:
        attacker: description of its answers.
        accounts: number of accounts that pool their prompts.
        leaks: summary over all targets.
        gain: difference from honest answers on the same targets; all 0 for honest answers.
    """

    attacker: str
    accounts: int
    leaks: LeakSummary
    gain: LeakSummary


class BlindAnswer(Protocol):
    """Function by which an attacker changes the labels that the prompts suggest."""

    def __call__(
        self,
        labels: Labels,
        extent: Extent,
        answered: int,
        /,
    ) -> Labels:
        """Return the labels of answer number `answered`, counted from 0; the grid may be coarser than the sample."""
        ...


class BlindAttacker:
    """A segmenter that never looks at a sample, and changes the labels that the prompts suggest."""

    ignores_image = True
    prompt_kinds = ImageBlind.prompt_kinds
    sample_kinds = ImageBlind.sample_kinds

    def __init__(self, answer: BlindAnswer) -> None:
        self._answer = answer

    def encode(self, sample: Any) -> Extent:
        """Return the shape and spacing of the sample, and whether it is a video."""
        return ImageBlind().encode(sample)

    def predict(self, encoded: Extent, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Answer each dialogue."""
        predictions: list[Prediction] = []
        for dialogue in dialogues:
            labels, steps = blind_labels(
                dialogue.prompts,
                encoded.shape,
                spacing=encoded.spacing_mm,
                has_frames=encoded.has_frames,
            )
            answer = self._answer(labels, encoded, len(dialogue.rounds) - 1)
            mask = enlarged(answer, steps, encoded.shape)
            predictions.append(Prediction(mask=mask if mask.max(initial=0) > 1 else mask > 0))
        return predictions


def grow_and_shrink(
    labels: Labels,
    extent: Extent,
    answered: int,
) -> Labels:
    """Alternately grow and shrink all objects by `GROWN_SHARE` of their area."""
    return resized(labels, extent, GROWN_SHARE if answered % 2 == 0 else -GROWN_SHARE)


def shrink_and_grow(
    labels: Labels,
    extent: Extent,
    answered: int,
) -> Labels:
    """Alternately shrink and grow all objects: the opposite of `grow_and_shrink`, for an attacker's second account."""
    return resized(labels, extent, -GROWN_SHARE if answered % 2 == 0 else GROWN_SHARE)


def bisect(
    labels: Labels,
    extent: Extent,
    answered: int,
) -> Labels:
    """Grow one half of the objects and shrink the other, along a different axis in each round.

    The next prompt is placed in the larger error and thus reveals which half was wrong.
    """
    return _bisected(labels, extent, answered, is_turned=False)


def bisect_turned(
    labels: Labels,
    extent: Extent,
    answered: int,
) -> Labels:
    """Grow the half that `bisect` shrinks and shrink the half that it grows, for an attacker's second account."""
    return _bisected(labels, extent, answered, is_turned=True)


ATTACKERS: Mapping[str, BlindAnswer] = {
    "grows and shrinks in turn": grow_and_shrink,
    "bisects": bisect,
    "shrinks and grows in turn": shrink_and_grow,
    "bisects, turned": bisect_turned,
}
"""How each attacker answers. Accounts that pool their prompts are the honest one and the first of these."""

HONEST = "answers honestly"


def measure_prompt_attacks(
    challenge: ChallengeDescription,
    phase: str,
    samples: Sequence[str],
    progress: ProgressContext = lambda done, of: nullcontext(),
) -> list[AttackLeaks]:
    """Measure how much prompts reveal to each attacker, and return the strongest first.

    Args:
        challenge: description of the challenge.
        phase: name of the phase.
        samples: samples of its pool.
        progress: context of each dialogue.

    Raises:
        SegarenaError: the challenge cannot be built, or a sample is unusable.
    """
    segmenters: dict[str, Segmenter] = {HONEST: ImageBlind()}
    for name, answer in ATTACKERS.items():
        segmenters[name] = BlindAttacker(answer)
    run = RunInfo(
        id="attack",
        phase=phase,
        name="attack",
        samples=tuple(samples),
    )
    leaks: dict[tuple[str, int], list[float]] = {}
    rehearsals = {name: Rehearsal(challenge, phase, each) for name, each in segmenters.items()}
    evaluator = rehearsals[HONEST].evaluator
    done = 0
    for place, sample in enumerate(samples):
        given: list[bytes] = []
        for account, (name, rehearsal) in enumerate(rehearsals.items(), start=1):
            with progress(done, len(samples) * len(rehearsals)):
                rehearsed, _ = rehearsal.rehearse_sample(run, place)
            done += 1
            given += rehearsed.given
            found = {(name, 1): rehearsed.leaks}
            if account in ACCOUNTS:
                found["pool their prompts", account] = evaluator.leaks(phase, sample, given)
            for key, of_targets in found.items():
                leaks.setdefault(key, []).extend(leak.peak for leak in of_targets.values())
    honest = np.asarray(leaks[HONEST, 1])
    measured: list[AttackLeaks] = []
    for (name, accounts), ious in leaks.items():
        measured.append(
            AttackLeaks(
                attacker=name,
                accounts=accounts,
                leaks=summarise_leaks(ious),
                gain=summarise_leaks(np.asarray(ious) - honest),
            )
        )
    return sorted(measured, key=lambda each: -(each.leaks.mean or 0.0))


def resized(
    labels: Labels,
    extent: Extent,
    share: float,
) -> Labels:
    """Grow the objects in labels by a share of their area, or shrink them if the share is negative.

    Objects grow into the nearest background, and lose their outermost pixels.
    """
    is_object = labels > 0
    pixels = round(abs(share) * np.count_nonzero(is_object))
    if pixels == 0 or is_object.all():
        return labels
    resized_labels = labels.copy()
    if share > 0:
        distances, nearest = _distances(~is_object, extent)
        grown = _lowest(distances, ~is_object, pixels)
        resized_labels[grown] = labels[tuple(nearest)][grown]
    else:
        distances, _ = _distances(is_object, extent)
        resized_labels[_lowest(distances, is_object, pixels)] = 0
    return resized_labels


def _bisected(
    labels: Labels,
    extent: Extent,
    answered: int,
    *,
    is_turned: bool,
) -> Labels:
    positions = np.argwhere(labels > 0)
    if not len(positions):
        return labels
    # An object cannot be halved along the time axis.
    axes = range(1 if extent.has_frames else 0, labels.ndim)
    axis = axes[answered % len(axes)]
    middle = float(np.median(positions[:, axis]))
    is_first_half = np.arange(labels.shape[axis]) < middle
    if is_turned:
        is_first_half = ~is_first_half
    form = [1] * labels.ndim
    form[axis] = -1
    grown = resized(labels, extent, 2 * GROWN_SHARE)
    shrunk = resized(labels, extent, -2 * GROWN_SHARE)
    return np.where(is_first_half.reshape(form), grown, shrunk)


def _distances(
    mask: NDArray[np.bool_], extent: Extent
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the distance of each pixel of a mask to the nearest pixel outside, and that pixel's position."""
    sampling = extent.spacing_mm
    if extent.has_frames:
        # A large distance between frames keeps objects from growing into other frames.
        sampling = (1e6, *(1.0,) * (mask.ndim - 1))
    found: Any = ndimage.distance_transform_edt(mask, sampling=sampling, return_indices=True)
    return found


def _lowest(
    distances: NDArray[np.float64],
    among: NDArray[np.bool_],
    count: int,
) -> tuple[NDArray[np.intp], ...]:
    """Return the positions of the `count` pixels in `among` with the lowest distances; ties are broken by index."""
    candidates = np.flatnonzero(among)
    order = np.argsort(distances.ravel()[candidates], kind="stable")
    return np.unravel_index(candidates[order[:count]], among.shape)
