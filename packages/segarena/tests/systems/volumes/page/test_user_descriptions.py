"""Users in words, for every scheme and correction of the benchmark."""

from typing import get_args

import pytest

from segarena.records.configuration import UserRecord
from segarena.systems.volumes.page.user_descriptions import describe_user
from segarena.systems.volumes.prompting.schemes import SCHEMES
from segarena.systems.volumes.users.volume_user import Refinement


def user(name, **options):
    return UserRecord(name=name, options=options, written=name)


def volume_user(prompts, **options):
    return user("volume", prompts=prompts, **options)


@pytest.mark.parametrize(
    ("recorded", "words"),
    [
        (
            volume_user("3b-inter", refine="scribble"),
            "three boxes interpolated, then scribbles",
        ),
        (volume_user("1-pps", refine="none"), "one point on every slice"),
        (volume_user("2+-pps"), "two points inside and outside on every slice"),
        (volume_user("20p-inter"), "20 points interpolated"),
        (
            volume_user("3b-inter", edge_noise_px=5),
            "three boxes interpolated, edges shifted by up to 5 pixels",
        ),
        (
            volume_user("5p-inter", refine="scribble", keeps_prompts=False),
            "five points interpolated, then scribbles alone, without the earlier prompts",
        ),
        (
            volume_user("3b-inter", refine="scribble-point"),
            "three boxes interpolated, then points on scribbles",
        ),
        (
            user("cvpr2025", box=True),
            "a box on the middle slice, then one click per round at the centre of the largest error",
        ),
        (user("cvpr2025", box=False), "one click per round at the centre of the largest error"),
        (user("autopet", give="scribbles"), "scribbles on the largest errors"),
        (user("autopet", give="clicks"), "a click on the target and one beside it, per round"),
        (volume_user("stamps"), ""),
        (user("centre"), ""),
    ],
)
def test_users_are_described_in_words(recorded, words):
    assert describe_user(recorded) == words


def test_every_scheme_and_correction_has_words():
    found = set()
    for scheme in SCHEMES:
        for refine in get_args(Refinement):
            prompts = scheme.form.replace("N", "3")
            found.add(describe_user(volume_user(prompts, refine=refine)))
    assert len(found) == len(SCHEMES) * len(get_args(Refinement))
    assert "" not in found
