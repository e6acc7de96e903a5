"""Showcase of videos: scribbles against time, with a board that is hidden until the phase closes."""

from __future__ import annotations

from datetime import datetime, timedelta

from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.showcases import Showcase, ShowcaseRun, showcase

TEXT = """Segment what moves. You name the frames that you would like scribbles on, or let the worst one be chosen; \
the time between scribbles and masks counts.

Scores and the board are shown when the test is closed."""


@showcase
def videos(now: datetime) -> Showcase:
    """Return the challenge: a test whose scores stay hidden until it closes."""
    phase = Phase(
        name="test", opens=now - timedelta(days=3), closes=now + timedelta(hours=20), samples_per_run=2, rounds=4,
        runs_in_all=5, shows="prompts", late="finish",
    )  # fmt: skip
    described = ChallengeDescription(
        slug="moving-things", title="Moving things, by scribbles", text=TEXT, benchmark="davis",
        dataset="demo-videos(size=(60, 100), frames=8)", phases=(phase,),
    )  # fmt: skip
    tries = (
        ShowcaseRun(
            who="Chen", phase="test", name="colour-and-flow", segmenter="colour-flow", days_ago=2.0
        ),
        ShowcaseRun(who="Ada", phase="test", name="walks", segmenter="video-walk", days_ago=1.5),
        ShowcaseRun(
            who="Ben",
            phase="test",
            name="stopped-half-way",
            segmenter="colour-flow",
            days_ago=0.1,
            samples=1,
        ),
    )
    return Showcase(challenge=described, tries=tries)
