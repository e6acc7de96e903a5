"""Person in place of a simulated user: gives prompts on a page, in the same dialogue with the same rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from segarena.dialogue import Lift, Spread
from segarena.errors import InvalidInput
from segarena.prompts import Prompt
from segarena.registry import user
from segarena.roles import Turn

PromptChoice = Literal["click", "box", "limits", "scribble", "lasso"]
"""Prompt kinds that a page accepts."""

TargetDisplay = Literal["outline", "highlight"]


@user("human")
class Human:
    """Person who gives the prompts of each round on a web page; see docs/studio.md.

    A run with this user waits for people (`segarena.engine.human_dialogue_files`). Where nobody can be asked,
    as in a trial that forecasts a run, the dialogue fails with an error.

    Args:
        prompts: prompt kinds that the page accepts; by default those of the benchmark's own users.
        target: how the page shows the target: as an "outline" or a "highlight".
        errors: whether the page shows the missing and surplus parts of the last prediction.
        scores: whether the page shows the values of the metrics.
        spread: how prompts of the first round spread over a volume; see `segarena.dialogue.Lift`.

    Raises:
        InvalidInput: `prompts` contains a kind that no page accepts.
    """

    is_asked = True
    corrects_objects = True
    shows: Mapping[str, str | bool] = {}

    def __init__(
        self,
        *,
        prompts: Sequence[PromptChoice] = (),
        target: TargetDisplay = "outline",
        errors: bool = True,
        scores: bool = False,
        spread: Spread = "interpolate",
    ) -> None:
        unknown = sorted({*prompts} - {*get_args(PromptChoice)})
        if unknown:
            raise InvalidInput(
                f"prompts: expected one or more of {', '.join(get_args(PromptChoice))}, got {', '.join(unknown)}"
            )
        self.prompt_kinds = frozenset[str](prompts or ("click",))
        self.shows = {"target": target, "errors": errors, "scores": scores}
        self.lift = Lift(spread=spread)

    def next(self, turn: Turn) -> Sequence[Prompt] | None:
        """Raise an error, because only a run with a page can ask a person.

        Raises:
            InvalidInput: always.
        """
        raise InvalidInput(
            f"sample {turn.sample.id}: only `segarena run` can ask a person; choose simulated users here"
        )
