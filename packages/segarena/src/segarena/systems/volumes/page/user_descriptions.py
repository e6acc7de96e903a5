"""Descriptions of volume users in words: "three boxes interpolated, then scribbles" for "3b-inter.scribble"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from segarena.errors import InvalidInput
from segarena.records.configuration import UserRecord
from segarena.systems.volumes.prompting.schemes import find_scheme

_SCHEME_TEXTS = {
    "N-pps": "{count} {points} on every slice",
    "N±pps": "{count} {points} inside and outside on every slice",
    "center-pps": "the centre of every slice",
    "box-ps": "a box on every slice",
    "Np-inter": "{count} {points} interpolated",
    "Nb-inter": "{count} {boxes} interpolated",
    "p-prop": "points on one slice, propagated",
    "center-prop": "the centre of one slice, propagated",
    "b-prop": "a box on one slice, propagated",
    "3d-box-slices": "one box around the volume, cut into slices",
    "N-ppv": "{count} {points} in the volume",
    "N-center-ppv": "{count} central {points} in the volume",
    "3d-box": "one box around the volume",
    "centroid": "the centre of the volume",
}
"""Description by form of the scheme."""

_CORRECTION_TEXTS = {
    "1pps": "one point on every wrong slice",
    "1ppv": "one point in the volume",
    "scribble": "scribbles",
    "scribble-point": "points on scribbles",
    "lasso": "lassos",
    "largest-error": "a point in the largest error",
}
"""Description by value of the option `refine`."""

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def describe_user(user: UserRecord) -> str:
    """Describe the prompts of a user of volumes in words; "" for a user of another plug-in.

    >>> options = {"prompts": "3b-inter", "refine": "scribble"}
    >>> describe_user(UserRecord(name="volume", options=options, written="3b-inter.scribble"))
    'three boxes interpolated, then scribbles'
    """
    options = user.options
    match user.name:
        case "volume":
            return _describe_volume_user(options)
        case "cvpr2025":
            clicks = "one click per round at the centre of the largest error"
            return (
                f"a box on the middle slice, then {clicks}" if options.get("box", True) else clicks
            )
        case "autopet":
            if options.get("give", "scribbles") == "clicks":
                return "a click on the target and one beside it, per round"
            return "scribbles on the largest errors"
        case _:
            return ""


def _describe_volume_user(options: Mapping[str, Any]) -> str:
    try:
        scheme, count = find_scheme(str(options.get("prompts", "")))
    except InvalidInput:
        return ""
    text = _SCHEME_TEXTS.get(scheme.form, "").format(
        count=_NUMBERS[count] if count < len(_NUMBERS) else count,
        points="point" if count == 1 else "points",
        boxes="box" if count == 1 else "boxes",
    )
    noise = options.get("edge_noise_px", 0)
    if noise:
        text += f", edges shifted by up to {noise} pixels"
    correction = _CORRECTION_TEXTS.get(str(options.get("refine", "none")))
    if not text or correction is None:
        return text
    text += f", then {correction}"
    if not options.get("keeps_prompts", True):
        text += " alone, without the earlier prompts"
    return text
