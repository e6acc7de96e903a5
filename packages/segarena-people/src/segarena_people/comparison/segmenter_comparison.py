"""Comparison of segmenter rankings by people's prompts and by those of simulated users.

The values come from run folders that contain people and simulated users, or from a
collection: then the segmenters answer its prompts and those of the simulated users.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.benchmark_rules import Statistic
from segarena.capabilities import ignores_image, segmenter_capabilities
from segarena.errors import InvalidInput
from segarena.plugin_spec import Plugin, PluginSpec
from segarena.registry import build, find, plugins_by_name
from segarena.reports.people_section import human_rounds_of
from segarena.reports.recorded_run import Run, read_runs
from segarena.reports.run_statistics import image_clusters, target_values
from segarena.statistics.round_curves import area_under_curve, at_round, hold_last, number_of_clicks
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
    """Rank segmenters with people's prompts and with each user's in their place.

    A dialogue consists of one person's prompts about one object, round by round. People's
    corrections refer to the mask that they saw; users correct the segmenter's own.
    Values are Dice and IoU against the object that people were shown.

    Args:
        segmenters: segmenters as for `segarena run -s`.
        users: users as for `segarena run -u`.
        people: a collection's folder, or its table.
        dataset: dataset that people saw; without it only segmenters that ignore the picture can
            answer.
        kinds: prompt kinds.
        seed: seed of all random choices.
        workers: number of processes, or an executor.
        kept: cache folder; None caches nothing.
        on_progress: called after each picture.

    Raises:
        InvalidInput: a segmenter needs pictures and there are none, or does not take such prompts;
            no dialogue begins with a whole object.
    """
    collection = open_collection(people, dataset)
    index_of = {row.id: index for index, row in enumerate(collection.rows)}
    answers = select_answers(collection, kinds).all
    named_segmenters = dict(named_plugin(segmenter) for segmenter in segmenters)
    named_users = dict(named_plugin(user) for user in users)
    answered_kinds = list(dict.fromkeys(answer.row.kind for answer in answers))
    check_segmenters(named_segmenters, answered_kinds, has_pictures=dataset is not None)
    pictures = group_dialogues([(index_of[answer.row.id], answer) for answer in answers])
    if not pictures:
        raise InvalidInput("expected people who began with a whole object, got corrections alone")
    number_of = {person: number for number, person in enumerate(collection.people)}
    units: dict[str, list[tuple[AnswerRounds, int]]] = {}
    groups: list[str] = []
    most_rounds = 0
    for picture, dialogues in pictures.items():
        units[picture] = []
        for rounds, person, group in dialogues:
            units[picture].append((rounds, number_of.get(person, 0)))
            groups.append(group)
            most_rounds = max(most_rounds, len(rounds))
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
    return rank_curves(curves, tuple(named_users), groups, most_rounds)


def rank_curves(
    curves: Mapping[str, Sequence[Mapping[str, Any]]],
    users: Sequence[str],
    groups: Sequence[str],
    rounds: int,
) -> list[SegmenterRanking]:
    """Return the rankings from the curves of `segarena_people.comparison.segmenter_dialogues`.

    Args:
        curves: by segmenter, for each dialogue by who gave the prompts, values after each round by
            metric.
        users: names of the simulated users.
        groups: group of each dialogue.
        rounds: number of rounds of the longest dialogue with people.
    """
    rankings: list[SegmenterRanking] = []
    for user in users:
        for name, metric, statistic in _curve_statistics(rounds):
            people_values = _statistic_table(curves, "people", metric, statistic, rounds)
            user_values = _statistic_table(curves, user, metric, statistic, rounds)
            is_known = np.isfinite(people_values) & np.isfinite(user_values)
            if is_known.all(axis=0).any():
                ranking = rank_segmenters(
                    user,
                    name,
                    tuple(curves),
                    people_values,
                    user_values,
                    groups,
                    higher_is_better=name != "NoC90",
                )
                rankings.append(ranking)
    return rankings


def _curve_statistics(
    rounds: int,
) -> Iterator[tuple[str, str, Callable[[StatisticArray], StatisticArray]]]:
    """Yield name, metric and function of each statistic of curves."""
    yield "Dice@1", "dice", lambda values: at_round(values, 1)
    if rounds > 1:
        yield f"Dice@{rounds}", "dice", lambda values: at_round(values, rounds)
        yield "AUC", "iou", area_under_curve
        yield "NoC90", "iou", lambda values: number_of_clicks(values, 0.9)


def _statistic_table(
    curves: Mapping[str, Sequence[Mapping[str, Any]]],
    prompter: str,
    metric: str,
    statistic: Callable[[StatisticArray], StatisticArray],
    rounds: int,
) -> StatisticArray:
    """Return a statistic as (segmenters, dialogues), NaN where there was no dialogue."""
    dialogue_count = len(next(iter(curves.values())))
    table = np.full((len(curves), dialogue_count), np.nan)
    for row, dialogues in enumerate(curves.values()):
        held = [index for index, dialogue in enumerate(dialogues) if metric in dialogue[prompter]]
        if held:
            values = [dialogues[index][prompter][metric] for index in held]
            table[row, held] = statistic(hold_last(values, rounds))
    return table


def rank_runs(folders: Sequence[str | Path]) -> list[SegmenterRanking]:
    """Return the rankings from run folders with people beside simulated users, a run per segmenter.

    Raises:
        InvalidInput: fewer than two runs, or no person in one of them.
        RunMissing, RunConflict: see `segarena.reports.recorded_run.read_runs`.
    """
    return rank_loaded_runs(read_runs(folders))


def rank_loaded_runs(runs: Sequence[Run]) -> list[SegmenterRanking]:
    """Return the rankings from runs that are read already; raises like `rank_runs`."""
    rounds_of_runs = [human_rounds_of(run) for run in runs]
    with_people = [rounds for rounds in rounds_of_runs if rounds is not None]
    if len(runs) < 2 or len(with_people) < len(runs):
        labels = [
            run.label for run, rounds in zip(runs, rounds_of_runs, strict=True) if rounds is None
        ]
        without = f", without people: {', '.join(labels)}" if labels else ""
        raise InvalidInput(
            f"--run: expected two runs or more with people in them, got {len(runs)}{without}; "
            "segarena run BENCHMARK -u human -u centre makes one"
        )
    people = next(iter(with_people[0].users))
    shared_users = set.intersection(*(set(rounds.simulated) for rounds in with_people))
    rankings: list[SegmenterRanking] = []
    for user in with_people[0].simulated:
        if user in shared_users:
            for statistic in runs[0].summary:
                rankings.append(_rank_recorded(runs, people, user, statistic))
    return rankings


def _rank_recorded(
    runs: Sequence[Run], people: str, user: str, statistic: Statistic
) -> SegmenterRanking:
    of_people = [target_values(run, people, statistic) for run in runs]
    of_user = [target_values(run, user, statistic) for run in runs]
    tables = [*of_people, *of_user]
    keys = [key for key in of_people[0] if all(key in table for table in tables)]
    return rank_segmenters(
        user,
        statistic.name,
        [run.segmenter for run in runs],
        np.array([[table[key] for key in keys] for table in of_people], np.float64),
        np.array([[table[key] for key in keys] for table in of_user], np.float64),
        image_clusters(keys),
        higher_is_better=statistic.higher_is_better,
    )


def check_segmenters(
    segmenters: Mapping[str, PluginSpec], kinds: Sequence[str], *, has_pictures: bool
) -> None:
    """Refuse segmenters that cannot answer people's prompts, before any work is done.

    Raises:
        InvalidInput: a segmenter looks at pictures and there are none, or it does not take such
            prompts.
    """
    for name, spec in segmenters.items():
        factory = find("segmenter", spec.reference)
        if not has_pictures and not ignores_image(factory):
            blind = [
                one for one, known in plugins_by_name("segmenter").items() if ignores_image(known)
            ]
            raise InvalidInput(
                f"{name} looks at pictures, and there are none in what people gave; name what was shown with "
                f"--dataset, or take segmenters that look at none: {', '.join(blind)}"
            )
        abilities = segmenter_capabilities(build("segmenter", spec))
        missing = [kind for kind in kinds if not abilities.understands(kind)]
        if missing:
            raise InvalidInput(
                f"{name} does not take prompts of the kind {missing[0]}; --kind leaves them out"
            )


def group_dialogues(
    rows: Sequence[tuple[int, CollectedPrompt]],
) -> dict[str, list[tuple[AnswerRounds, str, str]]]:
    """Group answers into dialogues by picture, each as rounds, person, group.

    A dialogue begins with answers about a whole object; a person who only corrected has none.
    Answers of unknown people may be of several people: each is a dialogue by itself.

    Args:
        rows: index in the collection, and answer.
    """
    rounds_of: dict[tuple[Any, ...], dict[int, list[int]]] = {}
    facts_of: dict[tuple[Any, ...], tuple[str, str, str]] = {}
    for index, answer in rows:
        row = answer.row
        person_key = row.person or f"\t{row.id}"
        object_key = (row.dataset, row.sample, row.target, row.object_id, row.plane)
        key = (*object_key, row.kind, person_key)
        rounds_of.setdefault(key, {}).setdefault(row.round, []).append(index)
        picture = f"{row.dataset}\t{row.sample}\t{row.plane}"
        facts_of.setdefault(key, (picture, row.person, answer.group))
    dialogues: dict[str, list[tuple[AnswerRounds, str, str]]] = {}
    for key, indices_by_round in rounds_of.items():
        if 1 in indices_by_round:
            picture, person, group = facts_of[key]
            rounds = tuple(tuple(indices_by_round[number]) for number in sorted(indices_by_round))
            dialogues.setdefault(picture, []).append((rounds, person, group))
    return dialogues
