"""A simulated user is asked what people were asked: the same goals, the same masks to correct, one by one.

Planes of volumes and frames of videos are asked about as images. A user who takes no images is asked about a volume of
one plane. Where the collection has no pictures they are black; `looks_at_pictures` finds users who would need them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.abilities import UserAbilities, abilities_of_user
from segarena.dialogue import Dialogue, Prediction
from segarena.engine.random_streams import random_stream
from segarena.errors import InvalidInput
from segarena.objects import begin, compare
from segarena.prompts import Box, Click, Lasso, Prompt, Scribble, check_prompt
from segarena.roles import Turn, User
from segarena.samples import ImageSample, Mask, Target, VolumeSample
from segarena_people.collection import CollectedPrompt

RgbPicture = NDArray[np.uint8]

PlanarPrompt: TypeAlias = Click | Box | Scribble | Lasso
"""A prompt that can be drawn in a picture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserReply:
    """What a user gave to one question.

    Attributes:
        prompts: those of the kind and sign that were asked for, along (row, column); () where there were none.
        refusal: what the user raised; "" where they did not.
    """

    prompts: tuple[PlanarPrompt, ...] = ()
    refusal: str = ""


class ReplyCollector:
    """Asks one simulated user.

    Args:
        user: the plug-in.
        name: decides the random numbers, with the seed and the question's id.
        seed: of all random numbers.
        picture_of: gives what was shown, uint8 (H, W, 3); None where nobody has it.
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
        self._abilities = abilities_of_user(user)
        self._is_stacked: bool | None = None  # not known before the first answer

    def ask(self, given: CollectedPrompt, repeat: int = 0) -> UserReply:
        """Return what the user gives about what a person was asked, as dialogue number `repeat` about it.

        Whatever the user raises is a refusal.
        """
        picture = self._picture(given)
        if self._is_stacked is None:
            reply = self._reply(given, picture, repeat, is_stacked=False)
            if reply.refusal:
                stacked = self._reply(given, picture, repeat, is_stacked=True)
            else:
                stacked = reply
            if reply.refusal and stacked.refusal:
                return reply
            self._is_stacked = bool(reply.refusal)
            return stacked
        return self._reply(given, picture, repeat, is_stacked=self._is_stacked)

    def looks_at_pictures(self, given: CollectedPrompt) -> bool:
        """Tell whether other pixels of the picture change what the user gives."""
        noise = random_stream(self._seed, "another picture").integers(
            0, 256, (*given.shape, 3), dtype=np.uint8
        )
        stacked = bool(self._is_stacked)
        first, second = (
            self._reply(given, picture, 0, is_stacked=stacked)
            for picture in (np.zeros_like(noise), noise)
        )
        return first != second

    def _picture(self, given: CollectedPrompt) -> RgbPicture:
        if self._picture_of is None:
            return np.zeros((*given.shape, 3), np.uint8)
        return self._picture_of(given)

    def _reply(
        self, given: CollectedPrompt, picture: RgbPicture, repeat: int, *, is_stacked: bool
    ) -> UserReply:
        rng = random_stream(self._seed, "people compare", self._name, given.row.id)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that nothing was drawn is counted
                turn = build_turn(
                    given, picture, self._abilities, repeat=repeat, rng=rng, is_stacked=is_stacked
                )
                prompts = self._user.next(self._repeated(turn)) or ()
                for prompt in prompts:
                    check_prompt(prompt, turn.sample.shape)
            return UserReply(prompts=_wanted(prompts, given))
        except Exception as error:  # a user is foreign code, and may take no such samples
            return UserReply(refusal=" ".join(f"{type(error).__name__}: {error}".split()))

    def _repeated(self, turn: Turn) -> Turn:
        """Return the turn of a dialogue that the user has: of a crowd that is smaller, people come again."""
        count = self._abilities.repeats
        there = None if count is None else count(turn.sample, turn.target)
        if there == 0:
            raise InvalidInput(f"{self._name} has no dialogue about sample {turn.sample.id}")
        return turn if there is None else replace(turn, repeat=turn.repeat % there)


def build_turn(
    given: CollectedPrompt,
    picture: RgbPicture,
    abilities: UserAbilities,
    *,
    repeat: int,
    rng: np.random.Generator,
    is_stacked: bool = False,
) -> Turn:
    """Return the turn of a user in the place of a person.

    What is to be corrected is exactly what the person was shown: of a goal that was missing the target is the previous
    mask with it, of one that was too much the previous mask without it.
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
        sample = ImageSample(id=row.sample, image=picture, targets=(target,))
    start = begin(sample, target)
    dialogue = Dialogue(lift=abilities.lift)
    if previous is not None:
        # Which prompts led to the mask is not known; that there were some is.
        earlier = ((),) * max(1, row.round - 1)
        dialogue = replace(dialogue, rounds=earlier, previous=Prediction(mask=previous))
    return Turn(
        sample=sample,
        target=target,
        dialogue=dialogue,
        comparison=start if previous is None else compare(previous, start),
        repeat=repeat,
        rng=rng,
    )


def requested_target(given: CollectedPrompt) -> Mask:
    """Return the target against which the previous mask is wrong exactly where the person was asked."""
    goal = given.goal
    previous = given.previous
    if previous is None or given.row.goal == "object":
        return goal
    return previous | goal if given.row.goal == "missing" else previous & ~goal


def _wanted(prompts: Sequence[Prompt], given: CollectedPrompt) -> tuple[PlanarPrompt, ...]:
    """Return the prompts of the kind and sign that the person gave, in the plane that was shown."""
    found = [
        prompt
        for prompt in prompts
        if isinstance(prompt, Click | Box | Scribble | Lasso) and prompt.kind == given.row.kind
    ]
    signed = [
        one for one in found if isinstance(one, Box) or one.is_positive == given.row.is_positive
    ]
    return tuple(map(project_to_plane, signed))


def project_to_plane(prompt: PlanarPrompt) -> PlanarPrompt:
    """Return a prompt along (row, column), whatever the plane or frame it is in."""
    match prompt:
        case Click(position=position):
            return replace(prompt, position=position[-2:])
        case Box(start=start, stop=stop):
            return replace(prompt, start=start[-2:], stop=stop[-2:])
        case Scribble(points=points) | Lasso(points=points):
            return replace(prompt, points=tuple(point[-2:] for point in points))
