"""Replies of a simulated user to the questions that people answered: the same goals, and the same masks to correct.

Slices of volumes and frames of videos become images. A user that does not support images gets a
volume of one slice instead. If the collection has no pictures, users receive black images;
`looks_at_pictures` detects users whose replies depend on the picture.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.dialogue import Dialogue, Prediction
from segarena.engine.random_streams import random_stream
from segarena.errors import InvalidInput
from segarena.multi_object import compare_prediction, empty_comparison
from segarena.plugin_capabilities import UserCapabilities, user_capabilities
from segarena.prompts import Box, Click, Lasso, Prompt, Scribble, check_prompt
from segarena.roles import Turn, User
from segarena.samples import ImageSample, Mask, Target, VolumeSample
from segarena_people.collection import CollectedPrompt

RgbPicture = NDArray[np.uint8]

PlanarPrompt: TypeAlias = Click | Box | Scribble | Lasso
"""Prompt types that can be drawn in a picture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserReply:
    """Reply of a user to one question.

    Attributes:
        prompts: prompts of the requested kind and sign, as (row, column); () if the user gave no
            such prompt.
        refusal: message of the error that the user raised; "" without an error.
    """

    prompts: tuple[PlanarPrompt, ...] = ()
    refusal: str = ""


class ReplyCollector:
    """Collects the replies of one simulated user.

    Args:
        user: user plug-in.
        name: name of the user; random streams depend on it, the seed and the question's id.
        seed: seed of all random numbers.
        picture_of: returns the picture shown to people, uint8 (H, W, 3); None for black pictures.
    """

    def __init__(
        self,
        user: User,
        *,
        name: str,
        seed: int = 0,
        picture_of: Callable[[CollectedPrompt], RgbPicture] | None = None,
    ) -> None:
        self._user = user
        self._name = name
        self._seed = seed
        self._picture_of = picture_of
        self._abilities = user_capabilities(user)
        self._takes_volumes: bool | None = None  # unknown until the first reply

    def ask(self, given: CollectedPrompt, repeat: int = 0) -> UserReply:
        """Ask the user the question that a person answered with `given`, and return the reply.

        `repeat` is the index of the user's dialogue about the target.

        Any error that the user raises is recorded as a refusal.
        """
        picture = self._picture(given)
        if self._takes_volumes is None:
            # Try an image first; a user that rejects images gets a volume of one slice.
            reply = self._reply(given, picture, repeat, is_stacked=False)
            if reply.refusal:
                stacked = self._reply(given, picture, repeat, is_stacked=True)
            else:
                stacked = reply
            if reply.refusal and stacked.refusal:
                return reply
            self._takes_volumes = bool(reply.refusal)
            return stacked
        return self._reply(given, picture, repeat, is_stacked=self._takes_volumes)

    def looks_at_pictures(self, given: CollectedPrompt) -> bool:
        """Tell whether the user's reply changes if the pixels of the picture change."""
        noise = random_stream(self._seed, "another picture").integers(
            0,
            256,
            (*given.shape, 3),
            dtype=np.uint8,
        )
        stacked = bool(self._takes_volumes)
        black = np.zeros_like(noise)
        on_black = self._reply(given, black, 0, is_stacked=stacked)
        on_noise = self._reply(given, noise, 0, is_stacked=stacked)
        return on_black != on_noise

    def _picture(self, given: CollectedPrompt) -> RgbPicture:
        if self._picture_of is None:
            return np.zeros((*given.shape, 3), np.uint8)
        return self._picture_of(given)

    def _reply(
        self,
        given: CollectedPrompt,
        picture: RgbPicture,
        repeat: int,
        *,
        is_stacked: bool,
    ) -> UserReply:
        # Seeded by the question's id, so that replies do not depend on the order or number of
        # questions.
        rng = random_stream(self._seed, "people compare", self._name, given.row.id)
        try:
            with warnings.catch_warnings():
                # Empty replies are counted in the results, so they need no warning.
                warnings.simplefilter("ignore")
                turn = build_turn(
                    given,
                    picture,
                    self._abilities,
                    repeat=repeat,
                    rng=rng,
                    is_stacked=is_stacked,
                )
                prompts = self._user.next(self._repeated(turn)) or ()
                for prompt in prompts:
                    check_prompt(prompt, turn.sample.shape)
            return UserReply(prompts=_requested_prompts(prompts, given))
        # Users are third-party code and may reject such samples.
        except Exception as error:
            return UserReply(refusal=" ".join(f"{type(error).__name__}: {error}".split()))

    def _repeated(self, turn: Turn) -> Turn:
        """Reduce the turn's repeat modulo the user's repeats, so that a small crowd's people are reused."""
        count = self._abilities.repeats
        dialogues = None if count is None else count(turn.sample, turn.target)
        if dialogues == 0:
            raise InvalidInput(f"{self._name} has no dialogue about sample {turn.sample.id}")
        if dialogues is None:
            return turn
        return replace(turn, repeat=turn.repeat % dialogues)


def build_turn(
    given: CollectedPrompt,
    picture: RgbPicture,
    abilities: UserCapabilities,
    *,
    repeat: int,
    rng: np.random.Generator,
    is_stacked: bool = False,
) -> Turn:
    """Build the turn in which a simulated user gets the question that a person answered.

    The errors of the turn are exactly the region that the person was asked to correct. For a
    missing goal, the target is the union of the previous mask and the goal; for a surplus goal, the
    target is the previous mask without the goal.
    """
    previous = given.previous
    mask = requested_target(given)
    if is_stacked:
        mask = mask[None]
        previous = None if previous is None else previous[None]
    row = given.row
    target = Target(id=row.target, mask=mask, label=row.label)
    if is_stacked:
        sample = VolumeSample(
            id=row.sample,
            voxels=picture[None, :, :, 0],
            spacing_mm=(1.0, 1.0, 1.0),
            targets=(target,),
        )
    else:
        sample = ImageSample(
            id=row.sample,
            image=picture,
            targets=(target,),
        )
    start = empty_comparison(sample, target)
    dialogue = Dialogue(lift=abilities.lift)
    if previous is not None:
        # The prompts that led to the mask are unknown; only the number of their rounds is known.
        earlier = ((),) * max(1, row.round - 1)
        dialogue = replace(dialogue, rounds=earlier, previous=Prediction(mask=previous))
    return Turn(
        sample=sample,
        target=target,
        dialogue=dialogue,
        comparison=start if previous is None else compare_prediction(previous, start),
        repeat=repeat,
        rng=rng,
    )


def requested_target(given: CollectedPrompt) -> Mask:
    """Return the target whose only difference from the previous mask is the person's goal."""
    goal = given.goal
    previous = given.previous
    if previous is None or given.row.goal == "object":
        return goal
    if given.row.goal == "missing":
        return previous | goal
    return previous & ~goal


def _requested_prompts(
    prompts: Sequence[Prompt], given: CollectedPrompt
) -> tuple[PlanarPrompt, ...]:
    """Return the prompts of the person's kind and sign, as (row, column)."""
    of_kind: list[Click | Box | Scribble | Lasso] = []
    for prompt in prompts:
        if isinstance(prompt, Click | Box | Scribble | Lasso) and prompt.kind == given.row.kind:
            of_kind.append(prompt)
    signed: list[Click | Box | Scribble | Lasso] = []
    for one in of_kind:
        if isinstance(one, Box) or one.is_positive == given.row.is_positive:
            signed.append(one)
    return tuple(map(project_to_plane, signed))


def project_to_plane(prompt: PlanarPrompt) -> PlanarPrompt:
    """Project a prompt to (row, column), without its slice or frame."""
    match prompt:
        case Click(position=position):
            return replace(prompt, position=position[-2:])
        case Box(start=start, stop=stop):
            return replace(prompt, start=start[-2:], stop=stop[-2:])
        case Scribble(points=points) | Lasso(points=points):
            return replace(prompt, points=tuple(point[-2:] for point in points))
