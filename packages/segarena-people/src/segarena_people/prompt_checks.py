"""Checks of prompt tables and collections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

from segarena.errors import SegarenaError
from segarena.roles import Finding
from segarena_people.collection import Collection
from segarena_people.prompt_table import CATEGORICAL_COLUMNS, PROMPT_COLUMNS

# Points may lie outside the picture by up to this many times its width or height.
_FAR = 1.0
# A box needs two corners, and a lasso must enclose an area.
_NEEDED = {"click": 1, "box": 2, "scribble": 1, "lasso": 3}
_NAMES = ("id", "study", "dataset", "sample", "target")
_NAMES_IN_BATCHES = ("person", "display_mode")


def check_prompts(frame: pl.DataFrame) -> list[Finding]:
    """Return all findings about a table from `read_prompt_frame`, errors first; [] if there are none.

    Errors are empty fields, unknown category values, duplicate ids, pictures without pixels, numbers
    that are negative or not finite, times that run backwards, points far outside the picture, prompts
    with fewer points than their kind needs, prompts with both points and a raster, clicks or boxes
    with a raster, and images that a person saw a second time in the main part of a study.
    """
    errors = list(_errors(frame))
    notes = list(_notes(frame))
    lines = [(True, n, text) for n, text in errors]
    lines += [(False, n, text) for n, text in notes]
    return _findings(lines)


def check_collection(collection: Collection) -> list[Finding]:
    """Read every mask of a collection and return all findings about them, errors first.

    Errors are unusable masks, empty goals, and empty rasterized strokes. Prompts whose goal must come
    from a dataset produce a note.
    """
    broken = dict[str, None]()
    blank = set[str]()
    for given in collection:
        try:
            masks = [given.goal] if given.row.goal_mask else []
            if given.drawn is not None:
                masks.append(given.drawn)
            if not all(mask.any() for mask in masks):
                blank.add(given.row.id)
            # Reading the mask performs the check.
            _ = given.previous
        except SegarenaError as error:
            broken[str(error)] = None
    without = sum(not given.row.goal_mask for given in collection)
    lines = [
        (True, len(broken), f"masks that cannot be used, such as {next(iter(broken), '')}"),
        (
            True,
            len(blank),
            f"prompts with an empty goal or stroke, such as {min(blank, default='')}",
        ),
        (
            False,
            without,
            "prompts about whole objects, whose masks are in a dataset and not in this folder",
        ),
    ]
    return _findings(lines)


def _findings(lines: Iterable[tuple[bool, int, str]]) -> list[Finding]:
    """Build a finding from each (is error, count, text) whose count is not 0."""
    findings: list[Finding] = []
    for is_error, count, text in lines:
        if count:
            findings.append(Finding(is_error=is_error, message=f"{count} {text}"))
    return findings


def _errors(frame: pl.DataFrame) -> Iterator[tuple[int, str]]:
    for name in PROMPT_COLUMNS:
        if name != "plane":
            yield frame[name].null_count(), f"rows without {name}"
    for name, words in CATEGORICAL_COLUMNS.items():
        known = ", ".join(word or '""' for word in words)
        yield (
            frame.filter(~pl.col(name).is_in(words)).height,
            f"rows with a {name} other than {known}",
        )
    for name in _NAMES:
        yield frame.filter(pl.col(name) == "").height, f"rows with an empty {name}"
    dealt = frame.filter(pl.col("batch") > 0)
    for name in _NAMES_IN_BATCHES:
        yield dealt.filter(pl.col(name) == "").height, f"rows in a batch with an empty {name}"
    yield frame.height - frame["id"].n_unique(), "rows with a duplicate id"
    yield (
        frame.filter((pl.col("width") < 1) | (pl.col("height") < 1)).height,
        "rows with a width or height below 1",
    )
    floats = [name for name, kind in PROMPT_COLUMNS.items() if kind == pl.Float64]
    is_negative = pl.col(floats) < 0
    wrong = pl.any_horizontal(~pl.col(floats).is_finite() | is_negative)
    yield (
        frame.filter(wrong).height,
        f"rows with a number that is negative or not finite in {', '.join(floats)}",
    )
    yield from _errors_of_points(frame)
    main = dealt.filter(pl.col("purpose") == "main")
    seen = main.group_by("study", "person", "dataset", "sample", "plane").len()
    yield seen.filter(pl.col("len") > 1).height, "images that a person saw more than once"


def _errors_of_points(frame: pl.DataFrame) -> Iterator[tuple[int, str]]:
    counts = frame.select("kind", "raster", count=pl.col("points").list.len())
    needed = pl.col("kind").replace_strict(_NEEDED, default=1, return_dtype=pl.Int64)
    is_raster = pl.col("raster") != ""
    yield (
        counts.filter(~is_raster & (pl.col("count") < needed)).height,
        "prompts with fewer points than their kind needs",
    )
    yield (
        counts.filter(is_raster & (pl.col("count") > 0)).height,
        "prompts with both points and a raster",
    )
    lines = pl.col("kind").is_in(["scribble", "lasso"])
    yield (
        counts.filter(is_raster & ~lines).height,
        "clicks or boxes with a raster, which only lines may have",
    )
    points = _points(frame)
    numbers = pl.col("x", "y", "screen_x", "screen_y", "time_ms", "pressure")
    yield (
        points.filter(pl.any_horizontal(~numbers.is_finite())).height,
        "points that are not finite",
    )
    backwards = pl.col("time_ms").diff().over("id") < 0
    yield points.filter(backwards).height, "points with an earlier time than the point before"
    x = pl.col("x")
    y = pl.col("y")
    reach_x = pl.col("width") * _FAR
    reach_y = pl.col("height") * _FAR
    outside = (
        (x < -reach_x)
        | (y < -reach_y)
        | (x > pl.col("width") + reach_x)
        | (y > pl.col("height") + reach_y)
    )
    yield (
        points.filter(outside).height,
        "points farther outside the picture than its width or height",
    )


def _notes(frame: pl.DataFrame) -> Iterator[tuple[int, str]]:
    yield (
        frame.filter(pl.col("device") != pl.col("declared_device")).height,
        "prompts on a device other than the declared one",
    )
    yield (
        frame.filter(pl.col("extra_presses") > 0).height,
        "prompts with more presses than needed, such as double taps",
    )
    yield (
        frame.filter(pl.col("early_presses") > 0).height,
        "prompts with presses before the page allowed any",
    )
    yield (
        frame.filter(pl.col("page_scale") != 1).height,
        "prompts on a page that was zoomed by pinching",
    )
    yield (
        frame.filter(pl.col("image_scale") < 1).height,
        "prompts on a picture that was displayed below its full size",
    )
    # Screens have pixel ratios in steps of a quarter; browser zoom multiplies them.
    ratio = pl.col("device_pixel_ratio") * 4
    yield (
        frame.filter(ratio != ratio.round()).height,
        "prompts in a browser that was probably zoomed",
    )
    yield (
        frame.filter((pl.col("scrolls") > 0) | (pl.col("leaves") > 0)).height,
        "prompts during which the page was scrolled or left",
    )
    yield frame.filter(pl.col("reloads") > 0).height, "prompts after a reload"
    yield (
        frame.filter((pl.col("fate") != "") & (pl.col("purpose") == "main")).height,
        "prompts that do not count",
    )


def _points(frame: pl.DataFrame) -> pl.DataFrame:
    """Return one row per point, with the size of its picture."""
    columns = frame.select("id", "width", "height", "points")
    listed = columns.filter(pl.col("points").list.len() > 0)
    return listed.explode("points").unnest("points")
