"""Challenges on the site of `segarena serve --demo`, one for each system that has a benchmark."""

from __future__ import annotations

from datetime import datetime, timedelta

from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.demos.demo_types import ChallengeDemo, DemoRun

_COMMAND = "segarena serve --demo"

_PHOTOGRAPHS = """Find each object with as few clicks as you can. A simulated person clicks at the centre of the \
largest error in your last mask, and you answer with another mask.

Try your segmenter in the practice phase first, on artificial shapes: there, the score of each answer comes back with \
the next click. A run in the test phase is ranked if its photographs are new to you."""

_VIDEOS = """Segment what moves. You choose the frames on which you would like scribbles, or let the server choose the \
worst one; the time between scribbles and masks counts.

Scores and the board appear when the test phase closes."""

_PATIENTS = """Organs and lesions of artificial patients, segmented by clicks in three dimensions.

The first test is over, and all its scores are public."""

_BY_EXAMPLE = """A photograph with a mask shows an object. Find the same kind of object in another photograph. You \
have one answer, without clicks to correct it."""


def _describe_photographs(now: datetime) -> ChallengeDescription:
    practice = Phase(
        name="practice",
        kind="practice",
        # Different samples from those of all tests on this server, because a practice phase shows
        # their truth.
        dataset="oneshot-demo(lists='generalization')",
        samples_per_run=1,
        rounds=4,
        shows="board",
    )
    test = Phase(
        name="test",
        opens=now - timedelta(days=9),
        closes=now + timedelta(days=5),
        samples_per_run=2,
        rounds=6,
        runs_per_day=3,
        seconds_per_answer=5.0,
        bank_s=30.0,
        shows="board",
    )
    return ChallengeDescription(
        slug="photographs",
        title="Photographs, by clicks",
        text=_PHOTOGRAPHS,
        benchmark="clicks",
        dataset="demo",
        phases=(practice, test),
    )


def _describe_by_example(now: datetime) -> ChallengeDescription:
    test = Phase(
        name="test",
        opens=now - timedelta(days=2),
        closes=now + timedelta(days=30),
        samples_per_run=12,
        runs_at_once=2,
        shows="own",
    )
    return ChallengeDescription(
        slug="by-example",
        title="By one example",
        text=_BY_EXAMPLE,
        benchmark="toss",
        dataset="oneshot-demo(lists='complexity')",
        phases=(test,),
    )


def _describe_videos(now: datetime) -> ChallengeDescription:
    test = Phase(
        name="test",
        opens=now - timedelta(days=3),
        closes=now + timedelta(hours=20),
        samples_per_run=2,
        rounds=4,
        runs_in_all=5,
        shows="prompts",
        late="finish",
    )
    return ChallengeDescription(
        slug="moving-things",
        title="Moving things, by scribbles",
        text=_VIDEOS,
        benchmark="davis",
        # Small frames, so that the runs take only seconds.
        dataset="demo-videos(size=(60, 100), frames=8)",
        phases=(test,),
    )


def _describe_patients(now: datetime) -> ChallengeDescription:
    second_opens = now + timedelta(days=4)
    first_test = Phase(
        name="first-test",
        opens=now - timedelta(days=12),
        closes=now - timedelta(days=1),
        late="finish",
        samples_per_run=1,
    )
    second_test = Phase(
        name="second-test",
        opens=second_opens,
        closes=second_opens + timedelta(days=7),
        # Use another patient, because participants have already seen the patient of the first test.
        dataset="phantom(cases=1, shape=(20, 48, 48), seed=1)",
        samples_per_run=1,
    )
    return ChallengeDescription(
        slug="patients",
        title="Artificial patients, by clicks",
        text=_PATIENTS,
        benchmark="cvpr2025(box=False)",
        dataset="phantom(cases=1, shape=(20, 48, 48))",
        phases=(first_test, second_test),
        is_public=False,
    )


PHOTOGRAPHS = ChallengeDemo(
    name="challenge-clicks",
    command=_COMMAND,
    summary="a challenge on photographs with a practice and a test phase",
    describe=_describe_photographs,
    runs=(
        DemoRun(
            participant="Ada",
            phase="test",
            name="cuts-at-edges",
            segmenter="watershed",
            days_ago=6.2,
        ),
        DemoRun(
            participant="Ben",
            phase="test",
            name="no-picture",
            segmenter="image-blind",
            days_ago=5.1,
        ),
        DemoRun(
            participant="Chen",
            phase="test",
            name="colours",
            segmenter="grabcut",
            days_ago=3.4,
        ),
        DemoRun(
            participant="Ada",
            phase="test",
            name="graph-of-colours",
            segmenter="graph",
            days_ago=1.3,
        ),
        DemoRun(
            participant="Ben",
            phase="practice",
            name="first-steps",
            segmenter="graph",
            days_ago=0.2,
        ),
    ),
)

BY_EXAMPLE = ChallengeDemo(
    name="challenge-oneshot",
    command=_COMMAND,
    summary="a one-shot challenge: participants see their own scores, and the board when it closes",
    describe=_describe_by_example,
    runs=(
        DemoRun(
            participant="Ben",
            phase="test",
            name="copies",
            segmenter="copy-support-mask",
            days_ago=1.1,
        ),
        DemoRun(
            participant="Chen",
            phase="test",
            name="what-stands-out",
            segmenter="saliency-only",
            days_ago=0.5,
        ),
    ),
)

VIDEOS = ChallengeDemo(
    name="challenge-videos",
    command=_COMMAND,
    summary="a challenge on videos against time, whose scores stay hidden until it closes",
    describe=_describe_videos,
    runs=(
        DemoRun(
            participant="Chen",
            phase="test",
            name="colour-and-flow",
            segmenter="colour-flow",
            days_ago=2.0,
        ),
        DemoRun(
            participant="Ada",
            phase="test",
            name="walks",
            segmenter="video-walk",
            days_ago=1.5,
        ),
        DemoRun(
            participant="Ben",
            phase="test",
            name="stopped-half-way",
            segmenter="colour-flow",
            days_ago=0.1,
            samples=1,
        ),
    ),
)

PATIENTS = ChallengeDemo(
    name="challenge-volumes",
    command=_COMMAND,
    summary="a challenge for participants only: one test closed yesterday, another opens soon",
    describe=_describe_patients,
    runs=(
        DemoRun(
            participant="Ada",
            phase="first-test",
            name="cuts-at-edges",
            segmenter="watershed",
            days_ago=4.0,
        ),
        DemoRun(
            participant="Chen",
            phase="first-test",
            name="no-picture",
            segmenter="image-blind",
            days_ago=2.5,
        ),
    ),
)
