"""What follows for models: does a simulated user rank them as people do, and how far off are the figures?

From run folders in which people took part beside simulated users, or from the prompts in a collection: segmenters
answer them, and those of the users in people's place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.abilities import abilities_of_segmenter, ignores_image
from segarena.errors import InvalidInput
from segarena.registry import build, find, names
from segarena.reports.people_section import human_rounds_of
from segarena.reports.recorded_run import Run, read_runs
from segarena.reports.run_statistics import image_clusters, target_values
from segarena.roles import Statistic
from segarena.specs import Plugin, PluginSpec
from segarena.statistics.curves import area_under_curve, at_round, hold_last, number_of_clicks
from segarena.work.jobs import Workers
from segarena.work.progress import OnProgress, ignore_progress
from segarena_people.collection import CollectedPrompt
from segarena_people.comparison.answers import COMPARABLE_KINDS, open_collection, select_answers
from segarena_people.comparison.participants import named_plugin
from segarena_people.comparison.segmenter_dialogues import AnswerRounds, DialogueJob
from segarena_people.comparison.segmenter_ranking import SegmenterRanking, rank_segmenters
from segarena_people.comparison.work_cache import collection_hash, plugin_identity, run_cached

StatisticArray = NDArray[np.float64]


def compare_segmenters(
    segmenters: Sequence[Plugin],
    users: Sequence[Plugin],
    people: str | Path,
    *,
    dataset: str | None = None,
    kinds: Sequence[str] = COMPARABLE_KINDS,
    seed: int = 0,
    workers: Workers = 0,
    kept: Path | None = None,
    on_progress: OnProgress = ignore_progress,
) -> list[SegmenterRanking]:
    """Return how segmenters come out with people's prompts and with each user's in their place.

    A dialogue is what one person gave about one object, round by round; corrections of people were meant for the mask
    that they saw, users correct the segmenter's own. Values are Dice and IoU against the object that people were shown.

    Args:
        segmenters: as for `segarena run -s`.
        users: as for `segarena run -u`.
        people: a folder of what people gave, or its table.
        dataset: what was shown; without it only segmenters that look at no picture can answer.
        kinds: of prompts.
        seed: of all random choices.
        workers: processes, or an executor.
        kept: folder in which what is done is remembered; None forgets.
        on_progress: told of each picture.

    Raises:
        InvalidInput: a segmenter needs pictures and there are none, or takes no such prompts; no dialogue begins with
            a whole object.
    """
    collection = open_collection(people, dataset)
    place_of = {row.id: place for place, row in enumerate(collection.rows)}
    answers = select_answers(collection, kinds).all
    named_segmenters = dict(map(named_plugin, segmenters))
    named_users = dict(map(named_plugin, users))
    there = list(dict.fromkeys(given.row.kind for given in answers))
    check_segmenters(named_segmenters, there, has_pictures=dataset is not None)
    pictures = group_dialogues([(place_of[given.row.id], given) for given in answers])
    if not pictures:
        raise InvalidInput("expected people who began with a whole object, got corrections alone")
    number = {person: place for place, person in enumerate(collection.people)}
    units = {
        picture: [(rounds, number.get(person, 0)) for rounds, person, _ in dialogues]
        for picture, dialogues in pictures.items()
    }
    curves: dict[str, list[Mapping[str, Any]]] = {}
    for name, spec in named_segmenters.items():
        job = DialogueJob(
            people=str(people),
            dataset=dataset,
            segmenter=spec,
            users=tuple(named_users.items()),
            seed=seed,
        )
        identity = {
            "table": collection_hash(collection),
            "played": [name, plugin_identity("segmenter", spec)],
            "users": {user: plugin_identity("user", one) for user, one in named_users.items()},
            "dataset": dataset,
            "units": units,
        }
        done = run_cached(
            job,
            units,
            identity,
            seed=seed,
            kept=kept,
            workers=workers,
            stage=name,
            on_progress=on_progress,
        )
        curves[name] = [dialogue for picture in units for dialogue in done[picture]]
    every = [dialogue for dialogues in pictures.values() for dialogue in dialogues]
    groups = [group for _, _, group in every]
    return rank_curves(
        curves, tuple(named_users), groups, max(len(rounds) for rounds, _, _ in every)
    )


def rank_curves(
    curves: Mapping[str, Sequence[Mapping[str, Any]]],
    users: Sequence[str],
    groups: Sequence[str],
    rounds: int,
) -> list[SegmenterRanking]:
    """Return the rankings by what `segarena_people.comparison.segmenter_dialogues` found.

    Args:
        curves: by segmenter, for each dialogue by who gave prompts, values after each round by metric.
        users: simulated ones.
        groups: of each dialogue.
        rounds: of the longest dialogue with people.
    """
    return [
        rank_segmenters(
            user, name, tuple(curves), sides[0], sides[1], groups, higher_is_better=name != "NoC90"
        )
        for user in users
        for name, metric, of in _statistics(rounds)
        for sides in [[_table(curves, who, metric, of, rounds) for who in ("people", user)]]
        if (np.isfinite(sides[0]) & np.isfinite(sides[1])).all(axis=0).any()
    ]


def _statistics(
    rounds: int,
) -> Iterator[tuple[str, str, Callable[[StatisticArray], StatisticArray]]]:
    yield "Dice@1", "dice", lambda values: at_round(values, 1)
    if rounds > 1:
        yield f"Dice@{rounds}", "dice", lambda values: at_round(values, rounds)
        yield "AUC", "iou", area_under_curve
        yield "NoC90", "iou", lambda values: number_of_clicks(values, 0.9)


def _table(
    curves: Mapping[str, Sequence[Mapping[str, Any]]],
    who: str,
    metric: str,
    of: Callable[[StatisticArray], StatisticArray],
    rounds: int,
) -> StatisticArray:
    """Return a statistic of each segmenter's dialogues, NaN where there was none."""
    found = np.full((len(curves), len(next(iter(curves.values())))), np.nan)
    for row, dialogues in enumerate(curves.values()):
        there = [place for place, dialogue in enumerate(dialogues) if metric in dialogue[who]]
        if there:
            found[row, there] = of(
                hold_last([dialogues[place][who][metric] for place in there], rounds)
            )
    return found


def rank_runs(folders: Sequence[str | Path]) -> list[SegmenterRanking]:
    """Return the rankings by run folders in which people took part beside simulated users, a run per segmenter.

    Raises:
        InvalidInput: fewer than two runs, or no person in one of them.
        RunMissing, RunConflict: see `segarena.reports.recorded_run.read_runs`.
    """
    return rank_loaded_runs(read_runs(folders))


def rank_loaded_runs(runs: Sequence[Run]) -> list[SegmenterRanking]:
    """Return the same of runs that are read already."""
    asked = [human_rounds_of(run) for run in runs]
    if len(runs) < 2 or any(one is None for one in asked):
        without = ", ".join(run.label for run, one in zip(runs, asked, strict=True) if one is None)
        raise InvalidInput(
            f"--run: expected two runs or more with people in them, got {len(runs)}"
            f"{f', without people: {without}' if without else ''}; segarena run BENCHMARK -u human -u centre makes one"
        )
    there = [one for one in asked if one is not None]
    people = next(iter(there[0].users))
    shared = [user for user in there[0].simulated if all(user in one.simulated for one in there)]
    return [
        _of_runs(runs, people, user, statistic) for user in shared for statistic in runs[0].summary
    ]


def _of_runs(runs: Sequence[Run], people: str, user: str, statistic: Statistic) -> SegmenterRanking:
    tables = [[target_values(run, who, statistic) for run in runs] for who in (people, user)]
    keys = [key for key in tables[0][0] if all(key in own for side in tables for own in side)]
    sides = [np.array([[own[key] for key in keys] for own in side], np.float64) for side in tables]
    labels = [run.segmenter for run in runs]
    better = statistic.higher_is_better
    return rank_segmenters(
        user,
        statistic.name,
        labels,
        sides[0],
        sides[1],
        image_clusters(keys),
        higher_is_better=better,
    )


def check_segmenters(
    segmenters: Mapping[str, PluginSpec], kinds: Sequence[str], *, has_pictures: bool
) -> None:
    """Refuse segmenters that cannot answer what people gave, before anything is done.

    Raises:
        InvalidInput: one looks at pictures and there are none, or it does not take such prompts.
    """
    for name, spec in segmenters.items():
        factory = find("segmenter", spec.reference)
        if not has_pictures and not ignores_image(factory):
            blind = [one for one, known in names("segmenter").items() if ignores_image(known)]
            raise InvalidInput(
                f"{name} looks at pictures, and there are none in what people gave; name what was shown with "
                f"--dataset, or take segmenters that look at none: {', '.join(blind)}"
            )
        able = abilities_of_segmenter(build("segmenter", spec))
        missing = [kind for kind in kinds if not able.understands(kind)]
        if missing:
            raise InvalidInput(
                f"{name} does not take prompts of the kind {missing[0]}; --kind leaves them out"
            )


def group_dialogues(
    rows: Sequence[tuple[int, CollectedPrompt]],
) -> dict[str, list[tuple[AnswerRounds, str, str]]]:
    """Return what people answered as dialogues, by the picture they are about: rounds, person, group.

    Args:
        rows: place in the collection and answer. A dialogue begins with answers about a whole object; whoever only
            corrected has none. Answers of nobody known may be of several people: each is a dialogue by itself.
    """
    chains: dict[tuple[Any, ...], dict[int, list[int]]] = {}
    about: dict[tuple[Any, ...], tuple[str, str, str]] = {}
    for place, given in rows:
        row = given.row
        key = (
            row.dataset,
            row.sample,
            row.target,
            row.object_id,
            row.plane,
            row.kind,
            row.person or f"\t{row.id}",
        )
        chains.setdefault(key, {}).setdefault(row.round, []).append(place)
        about.setdefault(
            key, (f"{row.dataset}\t{row.sample}\t{row.plane}", row.person, given.group)
        )
    found: dict[str, list[tuple[AnswerRounds, str, str]]] = {}
    for key, rounds in chains.items():
        if 1 in rounds:
            picture, person, group = about[key]
            found.setdefault(picture, []).append(
                (tuple(tuple(rounds[r]) for r in sorted(rounds)), person, group)
            )
    return found
