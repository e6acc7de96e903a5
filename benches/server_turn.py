"""Time of one turn of a challenge, in which the server evaluates a mask of 480 x 854: `python benches/server_turn.py`.

A turn is read, checked and evaluated, and its reply with the next prompts is written, while the sample is in the
evaluator's memory; the database and HTTP are not part of it. It is compared with the same round without a server (next
click, IoU and boundary IoU on the full frame, as in `click_round.py`), in alternation. A turn about a sample that is
not in memory replays the turns before it, and is reported too.
"""

from __future__ import annotations

import tempfile
import uuid
from pathlib import Path

import cv2
import numpy as np
from click_round import disc, plain_round
from measurement import (
    Figures,
    argument_parser,
    at_most,
    paired_with_yardstick,
    seconds_of,
)
from numpy.typing import NDArray
from PIL import Image

from segarena.dialogue import Prediction
from segarena.protocol.turns import TurnHeader, pack_turn
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.evaluation_request import ChargedTurn, EvaluationRequest, RunInfo
from segarena_server.challenges.evaluator import Evaluator

SHAPE = (480, 854)
ROUNDS = 20
BARS = {
    "a turn / a round by the baseline on the full frame": at_most(0.4),
    "replaying 20 turns, yardsticks": at_most(14),
    "bytes of a turn / of a mask": at_most(0.006),
}


def write_pool(folder: Path, target: NDArray[np.bool_]) -> str:
    """Write a photograph with one object; return it as a dataset."""
    image = np.random.default_rng(0).integers(0, 255, (*SHAPE, 3), dtype=np.uint8)
    for kind, pixels in (("images", image), ("masks", 255 * target.astype(np.uint8))):
        (folder / kind).mkdir(parents=True)
        Image.fromarray(pixels).save(folder / kind / "photograph.png")
    return f"folder(path={str(folder)!r})"


def pack(number: int, mask: NDArray[np.bool_] | None) -> ChargedTurn:
    """Return the turn that opens the dialogue (without a mask), or the one that answers its last prompt."""
    identity = str(uuid.UUID(int=number))
    if mask is None:
        return ChargedTurn(body=pack_turn(TurnHeader(id=identity, open=[0])), charged_s=0.0)
    body = pack_turn(TurnHeader(id=identity), {0: Prediction(mask)})
    return ChargedTurn(body=body, charged_s=1.0)


def main() -> None:
    """Report the figures; exit with 1 if a limit is missed."""
    options = argument_parser(__doc__).parse_args()
    cv2.setNumThreads(1)
    rounds = ROUNDS
    if options.quick:
        rounds = 3
    target = disc(SHAPE, 0.5, 0.5, 0.35, 1.4)
    # The prediction comes closer to the target from turn to turn.
    masks = [np.roll(target, 2 * rounds - 2 * number, axis=1) for number in range(rounds)]
    nothing_ignored = np.zeros(SHAPE, dtype=np.bool_)
    run = RunInfo(id="r", phase="final", name="mine", samples=("photograph",))
    with tempfile.TemporaryDirectory() as name:
        description = ChallengeDescription(
            slug="c",
            title="C",
            benchmark=f"clicks(rounds={rounds + 1})",
            dataset=write_pool(Path(name) / "pool", target),
            phases=(Phase(name="final"),),
        )
        evaluator = Evaluator(description)
        turns = [pack(0, None)]
        evaluator.evaluate(EvaluationRequest(run=run, place=0, turns=tuple(turns)))
        ratios: list[float] = []
        for number, mask in enumerate(masks, 1):
            turns.append(pack(number, mask))
            request = EvaluationRequest(run=run, place=0, turns=tuple(turns))
            turn_s = seconds_of(lambda request=request: evaluator.evaluate(request))
            baseline_s = seconds_of(
                lambda mask=mask: plain_round(mask, target, nothing_ignored, [])
            )
            ratios.append(turn_s / baseline_s)
        whole = EvaluationRequest(run=run, place=0, turns=tuple(turns))
        replay = paired_with_yardstick(lambda: Evaluator(description).evaluate(whole), 3)
    figures = Figures(BARS, has_bars=not options.quick)
    figures.report("a turn / a round by the baseline on the full frame", float(np.median(ratios)))
    figures.report("replaying 20 turns, yardsticks", replay.ratio)
    figures.report("bytes of a turn / of a mask", len(turns[-1].body) / target.size)
    figures.finish()


if __name__ == "__main__":
    main()
