"""Showcase of one-shot segmentation."""

from __future__ import annotations

from datetime import datetime, timedelta

from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.showcases import Showcase, ShowcaseRun, showcase

TEXT = """One photograph with a mask says what is meant; find the same in another one. There is one answer, and no \
click puts it right."""


@showcase
def examples(now: datetime) -> Showcase:
    """Return the challenge: participants see their own scores, and the board when it closes."""
    phase = Phase(
        name="test", opens=now - timedelta(days=2), closes=now + timedelta(days=30), samples_per_run=12,
        runs_at_once=2, shows="own",
    )  # fmt: skip
    described = ChallengeDescription(
        slug="by-example", title="By one example", text=TEXT, benchmark="toss",
        dataset="oneshot-demo(lists='complexity')", phases=(phase,),
    )  # fmt: skip
    tries = (
        ShowcaseRun(
            who="Ben", phase="test", name="copies", segmenter="copy-support-mask", days_ago=1.1
        ),
        ShowcaseRun(
            who="Chen",
            phase="test",
            name="what-stands-out",
            segmenter="saliency-only",
            days_ago=0.5,
        ),
    )
    return Showcase(challenge=described, tries=tries)
