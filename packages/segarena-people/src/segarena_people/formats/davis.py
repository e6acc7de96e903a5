"""Scribbles that people drew in the videos of the DAVIS challenge, one JSON file per video and set.

The file layout is documented in `segarena.systems.videos.scribbles.files`. All lines on an object
in a frame form one prompt; all lines on the background form one prompt about all objects.
Coordinates are fractions, where 1 is the last pixel. Only the start and end time of a line are
known, so its points are spaced evenly in time. Each video has three sets of scribbles, `001` to
`003`. Whether the same person drew the same set in all videos is not documented; each set counts as
one person.

Source: Caelles et al., The 2018 DAVIS Challenge on Video Object Segmentation; the challenge's
package.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from segarena.errors import DatasetMissing, SampleInvalid
from segarena.files.images import list_image_files, read_mask_values
from segarena.files.safe_paths import safe_join
from segarena.samples import VOID
from segarena.systems.videos.scribbles.files import read_scribbles
from segarena.systems.videos.scribbles.prompt_conversion import to_pixels
from segarena_people.import_format import (
    ImportedPrompt,
    ImportInputs,
    UnitReader,
    Units,
    build_stroke,
    prompt_format,
)
from segarena_people.prompts import PersonPrompt, PointerSample

_MASKS = "Annotations/480p"


@prompt_format(
    "davis-scribbles",
    source="the folder DAVIS with Scribbles/ in it, or the folder Scribbles alone",
    beside=f"--masks: the folder {_MASKS}, unless it lies in DAVIS",
    holds="90 videos (2017, train and val) with three sets of lines each, drawn by people in one frame, with times",
    terms="BSD; cite Caelles et al. 2018 and Pont-Tuset et al. 2017",
    origin="davischallenge.org, 2018",
)
def open_davis_scribbles(source: Path, beside: ImportInputs) -> Units:
    """Return the scribble files by video and set."""
    folder = source / "Scribbles" if (source / "Scribbles").is_dir() else source
    files = sorted(folder.glob("*/*.json"))
    if not files:
        raise DatasetMissing(f"{folder}: expected scribble files VIDEO/001.json, found none")
    if beside.masks is None and (source / _MASKS).is_dir():
        beside = ImportInputs(masks=source / _MASKS)
    masks = beside.need_masks(f"a folder for each video, as in {_MASKS}")
    units: dict[str, UnitReader] = {}
    for path in files:
        units[f"{path.parent.name}/{path.name}"] = partial(_file, path, masks)
    return units


def _file(path: Path, masks: Path) -> Iterator[ImportedPrompt]:
    given = read_scribbles(path)
    video = str(given["sequence"])
    frames = list_image_files(safe_join(masks, video))
    if len(frames) != len(given["scribbles"]):
        came = len(frames)
        wanted = len(given["scribbles"])
        raise SampleInvalid(
            f"{path}: expected {wanted} masks of {video} in {masks}, one per frame; found {came}"
        )
    for frame, lines in enumerate(given["scribbles"]):
        by_object: dict[int, list[Any]] = {}
        for line in lines:
            by_object.setdefault(line["object_id"], []).append(line)
        if by_object:
            labels = read_mask_values(frames[frame])
        else:
            labels = np.zeros((0, 0), np.int32)
        for number, drawn in sorted(by_object.items()):
            if number:
                goal = labels == number
            else:
                goal = (labels > 0) & (labels != VOID)
            name = f"{video}-{frame}-{number}"
            end_times: list[float] = []
            for line in drawn:
                end_times.append(float(line.get("end_time", 0)))
            row = PersonPrompt(
                id=f"{name}-{path.stem}",
                study="davis-scribbles",
                dataset="davis",
                sample=video,
                target="objects",
                object_id=number,
                plane=frame,
                height=labels.shape[0],
                width=labels.shape[1],
                person=path.stem,
                kind="scribble",
                is_positive=number > 0,
                points=_points(drawn, goal.shape),
                group=video,
                answer_ms=max(0.0, *end_times),
            )
            if goal.any():
                yield ImportedPrompt(row=row, goal=goal, goal_name=name)


def _points(lines: list[Any], shape: tuple[int, ...]) -> tuple[PointerSample, ...]:
    """Return the points of the lines in order of time; times start at the beginning of the first line."""
    ordered = sorted(lines, key=lambda line: line.get("start_time", 0))
    first = float(ordered[0].get("start_time", 0))
    points: list[PointerSample] = []
    for number, line in enumerate(ordered):
        places = to_pixels(line["path"], shape)[:, ::-1] + 0.5
        start = float(line.get("start_time", 0)) - first
        end = float(line.get("end_time", 0)) - first
        if points:
            # A line cannot start before the previous line ended.
            start = max(start, points[-1].time_ms)
        times = np.linspace(start, max(start, end), len(places)).tolist()
        for place, time_ms in zip(places.tolist(), times, strict=True):
            points += build_stroke([place], number, time_ms=time_ms)
    return tuple(points)
