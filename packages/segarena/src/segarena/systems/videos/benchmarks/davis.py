"""DAVIS Interactive Challenge: quality of the masks of a whole video, against the time spent with scribbles.

First a person scribbles on one frame; after each prediction, a robot scribbles on the worst frame.
All objects are evaluated together, in all frames, and the clock runs while the segmenter works.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from segarena.benchmark_rules import Statistic, TimeBudget
from segarena.errors import InvalidInput
from segarena.options import Protocol
from segarena.plugin_spec import PluginSpec
from segarena.registry import benchmark
from segarena.roles import Benchmark
from segarena.systems.videos.robot.settings import RobotPreset

MetricToOptimize = Literal["J", "F", "J_AND_F"]
"""Criterion for the worst frame, with the names used by the challenge."""

METRIC_COLUMNS = {"J": "jaccard", "F": "contour", "J_AND_F": "j_and_f"}
"""The columns of `jaccard-contour` that correspond to these names."""

SECONDS_PER_OBJECT = 240.0
"""Time limit of the challenge in seconds: 30 s for each object in each of eight interactions."""

INTERACTIONS = 8

BY_TIME_ALONE = 1000
"""Maximum number of rounds of a dialogue that is limited only by time."""


@benchmark("davis")
def davis(
    *,
    preset: RobotPreset = "local-1.0.4",
    metric: MetricToOptimize = "J_AND_F",
    rounds: int | None = INTERACTIONS,
    seconds_per_object: float | None = SECONDS_PER_OBJECT,
    counts_judging: bool | None = None,
    kernel_size: float | None = None,
    max_radius_px: float | None = None,
    min_nodes: int | None = None,
    max_points: int | None = None,
    protocol: Protocol = "careful",
) -> Benchmark:
    """Evaluate video segmenters by J and F against the time they take.

    The summary contains the values after each interaction. Values against time (AUC, J&F@60s),
    which are not means over dialogues, are in the first section of the report: see
    `segarena.systems.videos.measures.challenge_summary`.

    Args:
        preset: parameters of the robot: "default", "local-1.0.4" or "server-2020".
        metric: the robot draws in the frame with the lowest value of this metric: "J", "F" or
            "J_AND_F"; the curve shows the same metric.
        rounds: maximum number of interactions; None: as many as the time allows, at most 1000.
        seconds_per_object: time limit for all interactions about a video, per object; None: no
            limit.
        counts_judging: whether the time for evaluation and drawing counts against that limit; by
            default only under the published protocol.
        kernel_size: overrides the preset, as do the next three options; see `scribble-robot`.
        max_radius_px: maximum radius of the disk that opens an error.
        min_nodes: skeletons with fewer pixels yield no line.
        max_points: maximum number of points in a line.
        protocol: "careful", or "published" to reproduce the published package in every respect.

    Raises:
        InvalidInput: the time limit is not positive, or neither time nor interactions are limited.

    Source: Caelles et al., The 2018 DAVIS Challenge on Video Object Segmentation; the page of the
    interactive track; `docs/davis.md` lists the differences.
    """
    if seconds_per_object is not None and not seconds_per_object > 0:
        raise InvalidInput(
            f"seconds_per_object: expected more than 0, or None for no limit, got {seconds_per_object}"
        )
    if rounds is None and seconds_per_object is None:
        raise InvalidInput("rounds and seconds_per_object: expected at least one of them, got none")
    is_published = protocol == "published"
    counts = is_published if counts_judging is None else counts_judging
    overrides = {
        "kernel_size": kernel_size,
        "max_radius_px": max_radius_px,
        "min_nodes": min_nodes,
        "max_points": max_points,
    }
    own = {name: value for name, value in overrides.items() if value is not None}
    mode = "checked"
    metric_options: dict[str, str] = {}
    if is_published:
        mode = "published"
        metric_options["void"] = "background"
    robot = {"preset": preset, "judge": METRIC_COLUMNS[metric], "mode": mode, **own}
    return Benchmark(
        name="davis",
        users=(PluginSpec("scribble-robot", robot, "robot"),),
        metrics=(PluginSpec("jaccard-contour", metric_options),),
        rounds=rounds or BY_TIME_ALONE,
        summary=_summary(rounds),
        dataset=PluginSpec("demo-videos"),
        budget=_budget(seconds_per_object, counts),
        protocol=protocol,
        paper="DAVIS Interactive Challenge",
        options={
            "preset": preset,
            "metric": metric,
            "seconds_per_object": seconds_per_object,
            "counts_judging": counts,
            **own,
        },
        sample_kind="video",
    )


def _budget(seconds_per_object: float | None, counts_judging: bool) -> TimeBudget | None:
    if seconds_per_object is None:
        return None
    return TimeBudget(seconds_per_object=float(seconds_per_object), counts_judging=counts_judging)


def robot_text(options: Mapping[str, Any]) -> str:
    """Describe the robot's parameters in words: the preset, and the overridden values."""
    parts = [options["preset"]]
    for name in ("kernel_size", "max_radius_px", "min_nodes", "max_points"):
        if name in options:
            parts.append(f"{name} {options[name]:g}")
    return ", ".join(parts)


def last_round(rounds: int) -> str:
    """Return the last interaction's number for "J&F@...", or "end" if only time ends dialogues."""
    return "end" if rounds == BY_TIME_ALONE else str(rounds)


def _summary(rounds: int | None) -> tuple[Statistic, ...]:
    last = rounds or BY_TIME_ALONE
    statistics: list[Statistic] = []
    for number in (1, 2, 3, 5):
        if number < last:
            statistics.append(_at_round("J&F", "j_and_f", number, str(number)))
    name = last_round(last)
    statistics += [
        _at_round("J&F", "j_and_f", last, name),
        _at_round("J", "jaccard", last, name),
        _at_round("F", "contour", last, name),
    ]
    if rounds is not None:
        statistics.append(Statistic(name="AuC over interactions", kind="auc", metric="j_and_f"))
    return tuple(statistics)


def _at_round(
    title: str,
    metric: str,
    number: int,
    name: str,
) -> Statistic:
    return Statistic(
        name=f"{title}@{name}",
        kind="at_round",
        metric=metric,
        round=number,
    )
