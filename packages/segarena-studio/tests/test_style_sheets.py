"""Style sheets of the pages of tools: they use the tokens and components that all pages share."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

PACKAGES = Path(__file__).parents[2]
SHARED = PACKAGES / "segarena/src/segarena/reports/page.css"
SHEETS = [
    PACKAGES / "segarena-server/src/segarena_server/static/server.css",
    *sorted((PACKAGES / "segarena-studio/src/segarena_studio/static").glob("*.css")),
]
SET_BY_SCRIPTS = {"c", "columns", "height", "placeholder", "shape", "swatch"}
LARGE_WORDS = ["600 clamp(var(--text-xxl), 6vw, 3rem)/1.2 var(--sans)"]
"""The words of a trial, which fill the place of its picture."""
STATES_IN_CLASSES = re.compile(r"saved-[a-z-]+|in-progress|in-review|o[0-9]+")
"""Classes that templates and scripts put together from a state or a number."""


def read(sheet):
    """Return the text of a style sheet without comments."""
    return re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.DOTALL)


@cache
def words_of_sources():
    """Return all words of templates, scripts and modules."""
    words = set()
    for path in PACKAGES.glob("*/src/**/*"):
        if path.suffix in (".html", ".js", ".py"):
            words |= set(re.findall(r"[a-zA-Z][\w-]*", path.read_text()))
    return words


def by_name(sheet):
    return sheet.name


@pytest.mark.parametrize("sheet", [SHARED, *SHEETS], ids=by_name)
def test_every_variable_is_defined(sheet):
    text = read(sheet)
    defined = set(re.findall(r"--([\w-]+):", read(SHARED) + text))
    used = set(re.findall(r"var\(--([\w-]+)", text))
    assert used <= defined | SET_BY_SCRIPTS


@pytest.mark.parametrize("sheet", SHEETS, ids=by_name)
def test_tools_have_one_family_and_the_sizes_of_the_scale(sheet):
    text = read(sheet)
    assert "serif" not in text.replace("sans-serif", "")
    fonts = re.findall(r"font(?:-size)?: ([^;}]*)", text)
    assert [font for font in fonts if re.search(r"\d(?:rem|pt)\b", font)] in ([], LARGE_WORDS)


@pytest.mark.parametrize("sheet", SHEETS, ids=by_name)
def test_corners_and_shadows_are_those_of_the_tokens(sheet):
    text = read(sheet)
    assert re.findall(r"border-radius: \d+px[^;}]*", text) == []
    assert [one for one in re.findall(r"box-shadow: ([^;}]*)", text) if "#000" in one] == []


@pytest.mark.parametrize("sheet", SHEETS, ids=by_name)
def test_every_class_is_used(sheet):
    words = words_of_sources()
    selectors = re.sub(r"\{[^{}]*\}", "{}", read(sheet))
    classes = set(re.findall(r"\.([a-z][\w-]*)", selectors))
    assert {name for name in classes - words if not STATES_IN_CLASSES.fullmatch(name)} == set()


def colours_of(scheme):
    """Return the hexadecimal colours among the tokens in a colour scheme."""
    light, _, dark = read(SHARED).partition("@media (prefers-color-scheme: dark)")
    tokens = dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", light))
    if scheme == "dark":
        tokens |= dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", dark))
    return tokens


def contrast_of(one, other):
    """Return the contrast ratio of WCAG 2 between two hexadecimal colours."""
    luminances = []
    for colour in (one, other):
        channels = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
        linear = np.where(
            channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4
        )
        luminances.append(linear @ (0.2126, 0.7152, 0.0722))
    return (max(luminances) + 0.05) / (min(luminances) + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_and_controls_stand_out_in_both_schemes(scheme):
    colours = colours_of(scheme)
    for surface in ("paper", "raised"):
        for text in ("ink", "soft", "accent", "success", "warning", "danger"):
            assert contrast_of(colours[text], colours[surface]) >= 4.5, (text, surface)
    for text in ("ink", "soft", "accent"):
        assert contrast_of(colours[text], colours["selection"]) >= 4.5, text
    for filled in ("accent", "success"):
        assert contrast_of(colours["paper"], colours[filled]) >= 4.5, filled
    assert contrast_of(colours["control"], colours["paper"]) >= 3
