"""Showcase of volumes: an artificial patient, for participants only, with a phase that closed yesterday."""

from __future__ import annotations

from datetime import datetime, timedelta

from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.showcases import Showcase, ShowcaseRun, showcase

TEXT = """Organs and lesions of invented patients, by clicks into three dimensions.

The first test is over: all scores are shown."""


@showcase
def volumes(now: datetime) -> Showcase:
    """Return the challenge: its test closed yesterday; another one opens in some days."""
    closed = now - timedelta(days=1)
    opens = now + timedelta(days=4)
    phases = (
        Phase(
            name="first-test",
            opens=now - timedelta(days=12),
            closes=closed,
            late="finish",
            samples_per_run=1,
        ),
        Phase(name="second-test", opens=opens, closes=opens + timedelta(days=7), samples_per_run=1),
    )
    described = ChallengeDescription(
        slug="patients", title="Invented patients, by clicks", text=TEXT, benchmark="cvpr2025(box=False)",
        dataset="phantom(cases=1, shape=(20, 48, 48))", phases=phases, is_public=False,
    )  # fmt: skip
    tries = (
        ShowcaseRun(
            who="Ada", phase="first-test", name="cuts-at-edges", segmenter="watershed", days_ago=4.0
        ),
        ShowcaseRun(
            who="Chen", phase="first-test", name="no-picture", segmenter="image-blind", days_ago=2.5
        ),
    )
    return Showcase(challenge=described, tries=tries)
