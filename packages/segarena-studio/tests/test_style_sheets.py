"""Style sheets of the pages of tools: they use the tokens and components that all pages share."""

import re
from functools import cache
from pathlib import Path

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
