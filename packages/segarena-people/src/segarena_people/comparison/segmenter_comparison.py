"""Comparison of segmenter rankings: with people's prompts, and with simulated users' prompts.

The values come from run folders with both people and simulated users, or from a collection. With a
collection, the segmenters answer its prompts and those of the simulated users.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.benchmark_rules import Statistic
from segarena.errors import InvalidInput
from segarena.plugin_capabilities import ignores_image, segmenter_capabilities
from segarena.plugin_spec import Plugin, PluginSpec
from segarena.registry import build, find, plugins_by_name
from segarena.reports.people_section import human_rounds_of
from segarena.reports.recorded_run import Run, read_runs
from segarena.reports.run_statistics import TargetKey, image_clusters, target_values
from segarena.statistics.round_curves import area_under_curve, at_round, hold_last, number_of_clicks
from segarena.work.jobs import Workers
from segarena.work.progress import OnProgress, ignore_progress
from segarena_people.collection import CollectedPrompt
from segarena_people.comparison.answers import COMPARABLE_KINDS, open_collection, select_answers
from segarena_people.comparison.segmenter_dialogues import AnswerRounds, DialogueJob
from segarena_people.comparison.segmenter_ranking import SegmenterRanking, rank_segmenters
from segarena_people.comparison.simulated_user_checks import named_plugin
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
    """Rank segmenters with people's prompts, and again with each user's prompts.

    A dialogue consists of one person's prompts of one kind about one object, round by round. People
    corrected the mask that they saw, while users correct the segmenter's own mask. The statistics
    are those of Dice and IoU with the object that was shown to people.

    Args:
        segmenters: segmenters as for `segarena run -s`.
        users: users as for `segarena run -u`.
        people: the folder of a collection, or its table.
        dataset: dataset that was shown to people; without it only segmenters that ignore the
            picture can answer.
        kinds: prompt kinds.
        seed: seed of all random choices.
        workers: number of processes, or an executor.
        kept: cache folder; None disables the cache.
        on_progress: called after each picture with each segmenter.

    Raises:
        InvalidInput: a segmenter needs pictures and no dataset was given, a segmenter does not
            accept such prompts, or no dialogue starts with a whole object.
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
        raise InvalidInput("expected prompts about whole objects, got only corrections of masks")
    # All dialogues of a person share one repeat index, so that a crowd answers as the same
    # simulated person.
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
        identities: dict[str, Any] = {}
        for user, one in named_users.items():
            identities[user] = plugin_identity("user", one)
        identity = {
            "table": collection_hash(collection),
            "played": [name, plugin_identity("segmenter", spec)],
            "users": identities,
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
        curves[name] = []
        for picture in units:
            curves[name] += done[picture]
    return rank_curves(curves, tuple(named_users), groups, most_rounds)


def rank_curves(
    curves: Mapping[str, Sequence[Mapping[str, Any]]],
    users: Sequence[str],
    groups: Sequence[str],
    rounds: int,
) -> list[SegmenterRanking]:
    """Rank segmenters by the curves from `segarena_people.comparison.segmenter_dialogues`.

    Args:
        curves: for each segmenter and dialogue, the values of each metric after each round, by who
            gave the prompts: "people" or the name of a user.
        users: names of the simulated users.
        groups: group of each dialogue.
        rounds: number of rounds in people's longest dialogue.
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
    """Yield name, metric and function of each statistic of the curves."""
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
    """Return a statistic as an array (segmenters, dialogues), NaN for missing dialogues."""
    dialogue_count = len(next(iter(curves.values())))
    table = np.full((len(curves), dialogue_count), np.nan)
    for row, dialogues in enumerate(curves.values()):
        held: list[int] = []
        for index, dialogue in enumerate(dialogues):
            if metric in dialogue[prompter]:
                held.append(index)
        if held:
            values = [dialogues[index][prompter][metric] for index in held]
            table[row, held] = statistic(hold_last(values, rounds))
    return table


def rank_runs(folders: Sequence[str | Path]) -> list[SegmenterRanking]:
    """Rank segmenters by their runs with human and simulated users, one run folder per segmenter.

    Raises:
        InvalidInput: there are fewer than two runs, or a run has no human user.
        RunMissing, RunConflict: see `segarena.reports.recorded_run.read_runs`.
    """
    return rank_loaded_runs(read_runs(folders))


def rank_loaded_runs(runs: Sequence[Run]) -> list[SegmenterRanking]:
    """Rank segmenters from loaded runs, for each user that all runs share; for errors see `rank_runs`."""
    rounds_of_runs = [human_rounds_of(run) for run in runs]
    with_people = [rounds for rounds in rounds_of_runs if rounds is not None]
    if len(runs) < 2 or len(with_people) < len(runs):
        labels: list[str] = []
        for run, rounds in zip(runs, rounds_of_runs, strict=True):
            if rounds is None:
                labels.append(run.label)
        without = f"; runs without people: {', '.join(labels)}" if labels else ""
        raise InvalidInput(
            f"--run: expected two or more runs with human users, got {len(runs)}{without}; "
            "create one with segarena run BENCHMARK -u human -u centre"
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
    runs: Sequence[Run],
    people: str,
    user: str,
    statistic: Statistic,
) -> SegmenterRanking:
    of_people = [target_values(run, people, statistic) for run in runs]
    of_user = [target_values(run, user, statistic) for run in runs]
    tables = [*of_people, *of_user]
    keys: list[TargetKey] = []
    for key in of_people[0]:
        if all(key in table for table in tables):
            keys.append(key)
    return rank_segmenters(
        user,
        statistic.name,
        [run.segmenter for run in runs],
        _value_table(of_people, keys),
        _value_table(of_user, keys),
        image_clusters(keys),
        higher_is_better=statistic.higher_is_better,
    )


def _value_table(
    tables: Sequence[Mapping[TargetKey, float]], keys: Sequence[TargetKey]
) -> NDArray[np.float64]:
    """Return the values of each table for the keys, (tables, keys)."""
    rows: list[list[float]] = []
    for table in tables:
        rows.append([table[key] for key in keys])
    return np.array(rows, np.float64)


def check_segmenters(
    segmenters: Mapping[str, PluginSpec],
    kinds: Sequence[str],
    *,
    has_pictures: bool,
) -> None:
    """Raise an error for segmenters that cannot answer people's prompts, before any work starts.

    Raises:
        InvalidInput: a segmenter uses pictures and there are none, or it does not accept such
            prompts.
    """
    for name, spec in segmenters.items():
        factory = find("segmenter", spec.reference)
        if not has_pictures and not ignores_image(factory):
            blind: list[str] = []
            for one, known in plugins_by_name("segmenter").items():
                if ignores_image(known):
                    blind.append(one)
            raise InvalidInput(
                f"{name} depends on the picture, but a collection contains no pictures; name the "
                "dataset shown to people with "
                f"--dataset, or choose segmenters that ignore the picture: {', '.join(blind)}"
            )
        abilities = segmenter_capabilities(build("segmenter", spec))
        missing: list[str] = []
        for kind in kinds:
            if not abilities.understands(kind):
                missing.append(kind)
        if missing:
            raise InvalidInput(
                f"{name} does not accept prompts of the kind {missing[0]}; select other kinds with --kind"
            )


def group_dialogues(
    rows: Sequence[tuple[int, CollectedPrompt]],
) -> dict[str, list[tuple[AnswerRounds, str, str]]]:
    """Group answers into dialogues by picture; each dialogue has rounds, a person and a group.

    Answers of different kinds are in different dialogues. A dialogue starts with answers about a
    whole object; a person who only corrected masks of an object has no dialogue about it. Answers
    without a known person may come from several people, so each becomes a separate dialogue.

    Args:
        rows: pairs of the index in the collection and the answer.
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
