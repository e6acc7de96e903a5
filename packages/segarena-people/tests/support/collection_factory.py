"""Collections for tests: objects, people with habits, and their strokes, boxes and clicks."""

from pathlib import Path

import numpy as np
from msgspec.structs import replace

from segarena_people.mask_files import GOALS, RASTERS, encode_mask_png
from segarena_people.prompt_table import write_prompt_table
from segarena_people.prompts import PersonPrompt, PointerSample, convert_prompts
from segarena_people.rasterization import rasterize_prompts


def ellipse(rng, shape=(48, 64)):
    """Return an object: an ellipse somewhere in the middle, never touching the edge."""
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    half = rng.uniform(0.15, 0.3, 2) * shape
    centre = rng.uniform(0.4, 0.6, 2) * shape
    return ((rows - centre[0]) / half[0]) ** 2 + ((columns - centre[1]) / half[1]) ** 2 <= 1


def stroke(mask, rng, ink=1.0, wobble=0.5, points=12):
    """Return a curl within an object, float (points, 2) as x, y: `ink` of its size long, as unsteady as `wobble`."""
    rows, columns = np.nonzero(mask)
    centre = np.array([columns.mean(), rows.mean()]) + 0.5
    reach = 0.5 * np.sqrt(len(rows))
    angle = rng.uniform(0, 2 * np.pi) + np.linspace(0, 3.5 * ink, points)
    radius = reach * np.linspace(0.7, 0.2, points)
    curl = centre + radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return curl + rng.normal(0, wobble, (points, 2))


def collection(
    folder: Path, *, objects=4, people=2, kind="scribble", as_raster=False, seed=0, shape=(48, 64)
) -> Path:
    """Write a collection and return its folder: every person draws on every object; person k draws 1 + k times as much.

    Objects 0 and 1, 2 and 3, ... are of one group. `as_raster` keeps strokes as pixels.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(objects):
        mask = ellipse(rng, shape)
        save(folder / GOALS / f"{number}.png", mask)
        rows += [
            _given(
                folder,
                mask,
                number,
                person,
                kind,
                as_raster,
                np.random.default_rng([seed, number, person]),
            )
            for person in range(people)
        ]
    write_prompt_table(rows, folder / "prompts.parquet")
    (folder / "source.toml").write_text(
        'name = "made up"\norigin = "tests"\nterms = "none"\n', encoding="utf-8"
    )
    return folder


def save(path: Path, mask):
    """Write a mask, and create its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode_mask_png(mask))


def _given(folder, mask, number, person, kind, as_raster, rng):
    name = f"{number}-p{person + 1}"
    drawn = _drawn(mask, kind, person, rng)
    points = [
        PointerSample(stroke=0, x=x, y=y, time_ms=10.0 * step) for step, (x, y) in enumerate(drawn)
    ]
    row = PersonPrompt(
        id=name, study="made up", dataset="made up", sample=f"s{number}", target="t", width=mask.shape[1],
        height=mask.shape[0], goal_mask=f"{number}.png", person=f"p{person + 1}", kind=kind, group=f"g{number // 2}",
        stroke_px=3.0, points=tuple(points),
    )  # fmt: skip
    if not as_raster:
        return row
    save(
        folder / RASTERS / f"{name}.png",
        rasterize_prompts(convert_prompts(row), mask.shape, row.stroke_px),
    )
    return replace(row, raster=f"{name}.png", points=())


def _drawn(mask, kind, person, rng):
    rows, columns = np.nonzero(mask)
    if kind == "box":
        corners = np.array([[columns.min(), rows.min()], [columns.max() + 1, rows.max() + 1]])
        return (corners + rng.normal(0, 1 + person, (2, 2))).tolist()
    if kind == "click":
        return (
            np.array([[columns.mean(), rows.mean()]]) + 0.5 + rng.normal(0, 1 + person, (1, 2))
        ).tolist()
    return stroke(mask, rng, ink=1.0 + person).tolist()
