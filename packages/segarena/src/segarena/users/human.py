"""A person in the place of a simulated user: asked at a page, in the same dialogue under the same rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from segarena.dialogue import Lift, Spread
from segarena.errors import InvalidInput
from segarena.prompts import Prompt
from segarena.registry import user
from segarena.roles import Turn

PromptChoice = Literal["click", "box", "limits", "scribble", "lasso"]
"""The kinds of prompts that a page takes."""

TargetDisplay = Literal["outline", "highlight"]


@user("human")
class Human:
    """A person, asked at a page in the browser for the prompts of each round; see docs/person.md.

    A run with this user waits for people (`segarena.engine.human_queue`); where nobody can be asked, as in a trial that
    forecasts a run, the dialogue fails and says so.

    Args:
        prompts: the kinds of prompts that are taken; by default those that the benchmark's own users give.
        target: how the page shows what is to be segmented: its "outline", or "highlight"ed.
        errors: whether the page shows what is missing and what is too much in the last prediction.
        scores: whether the page shows the values that the metrics give.
        spread: of a volume, what becomes of the first round's prompts; see `segarena.dialogue.Lift`.

    Raises:
        InvalidInput: a kind of prompt that no page takes.
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
                f"prompts: expected some of {', '.join(get_args(PromptChoice))}, got {', '.join(unknown)}"
            )
        self.prompt_kinds = frozenset[str](prompts or ("click",))
        self.shows = {"target": target, "errors": errors, "scores": scores}
        self.lift = Lift(spread=spread)

    def next(self, turn: Turn) -> Sequence[Prompt] | None:
        """Refuse: nobody is asked here.

        Raises:
            InvalidInput: always.
        """
        raise InvalidInput(
            f"sample {turn.sample.id}: a person is asked by `segarena run` alone; choose simulated users here"
        )
