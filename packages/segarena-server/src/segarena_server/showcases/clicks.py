"""Showcase of clicks: photographs with a practice and a test phase."""

from __future__ import annotations

from datetime import datetime, timedelta

from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.showcases import Showcase, ShowcaseRun, showcase

TEXT = """Find each object with as few clicks as you can. A simulated person clicks at the centre of what is most \
wrong in your last mask; you answer with another one.

The photographs of the test are other ones than you have seen. Try your segmenter in the practice first: there, each \
answer's value comes back with the next click."""


@showcase
def photographs(now: datetime) -> Showcase:
    """Return the challenge: a practice, and a test that is open for some days."""
    phases = (
        Phase(name="practice", kind="practice", samples_per_run=1, rounds=4, shows="board"),
        Phase(
            name="test", opens=now - timedelta(days=9), closes=now + timedelta(days=5), samples_per_run=2, rounds=6,
            runs_per_day=3, seconds_per_answer=5.0, bank_s=30.0, shows="board",
        ),
    )  # fmt: skip
    described = ChallengeDescription(
        slug="photographs",
        title="Photographs, by clicks",
        text=TEXT,
        benchmark="clicks",
        dataset="demo",
        phases=phases,
    )
    tries = (
        ShowcaseRun(
            who="Ada", phase="test", name="cuts-at-edges", segmenter="watershed", days_ago=6.2
        ),
        ShowcaseRun(
            who="Ben", phase="test", name="no-picture", segmenter="image-blind", days_ago=5.1
        ),
        ShowcaseRun(who="Chen", phase="test", name="colours", segmenter="grabcut", days_ago=3.4),
        ShowcaseRun(
            who="Ada", phase="test", name="graph-of-colours", segmenter="graph", days_ago=1.3
        ),
        ShowcaseRun(
            who="Ben", phase="practice", name="first-steps", segmenter="graph", days_ago=0.2
        ),
    )
    return Showcase(challenge=described, tries=tries)
