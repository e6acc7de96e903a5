"""What the records of an rclicks run say, as arrays: instances by clicking groups, and first clicks by people.

Who is who stands in the benchmark's options: `base`, `groups` from least to most likely, `real`, `sampled`. An
*instance* is a target that everyone who is compared has finished.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.reports.overlays import prompt_positions
from segarena.reports.recorded_run import DialogueRecord, Run
from segarena.reports.run_statistics import TargetKey, target_values
from segarena.roles import Statistic


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRoles:
    """Which users of a run play which part; None and empty where nobody does.

    Attributes:
        base: the usual user, who clicks the centre.
        groups: the clicking groups from least to most likely; empty when one of them is missing.
        real: the real people.
        sampled: as many draws from the click model.
        missing: users that the benchmark names and the run was made without.
    """

    base: str | None
    groups: tuple[str, ...]
    real: str | None
    sampled: str | None
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupValues:
    """One statistic of every instance; repeats are averaged first.

    Attributes:
        keys: the instances.
        groups: float64 (instances, groups), from least to most likely.
        base: float64 (instances,).
        left_out: targets that not everyone finished.
    """

    keys: tuple[TargetKey, ...]
    groups: NDArray[np.float64]
    base: NDArray[np.float64]
    left_out: int


def is_robustness_run(run: Run) -> bool:
    """Tell whether the run's benchmark names a base user and clicking groups."""
    options = run.config.benchmark.options
    return isinstance(options.get("groups"), list) and "base" in options


def user_roles(run: Run) -> UserRoles:
    """Return who plays which part in an rclicks run."""
    options = run.config.benchmark.options
    groups = tuple(str(group["user"]) for group in options["groups"])
    named = {part: options.get(part) for part in ("base", "real", "sampled")}
    there = {part: user if user in run.users else None for part, user in named.items()}
    everyone = [*groups, *filter(None, named.values())]
    return UserRoles(
        base=there["base"],
        groups=groups if set(groups) <= set(run.users) else (),
        real=there["real"],
        sampled=there["sampled"],
        missing=tuple(user for user in everyone if user not in run.users),
    )


def select_users(run: Run, users: Sequence[str]) -> Run:
    """Return the run as if only `users` had taken part; failures of whole samples stay."""
    there = tuple(user for user in run.config.users if user.written in users)
    dialogues = tuple(d for d in run.dialogues if d.user in users or not d.user)
    return replace(run, config=replace(run.config, users=there), dialogues=dialogues)


def without_first_click_users(run: Run) -> Run:
    """Return an rclicks run without first-click users, whose one round says nothing of NoC or AuC."""
    roles = user_roles(run)
    return select_users(
        run, [user for user in run.users if user not in (roles.real, roles.sampled)]
    )


def base_user_run(run: Run) -> Run:
    """Return an rclicks run with its base user alone, what the click benchmark would show."""
    base = user_roles(run).base
    return without_first_click_users(run) if base is None else select_users(run, [base])


def group_values(run: Run, statistic: Statistic) -> GroupValues:
    """Return `statistic` of each instance for base user and groups; nothing when a group or the base is missing."""
    roles = user_roles(run)
    users = (roles.base, *roles.groups)
    tables = [target_values(run, user, statistic) for user in users if user is not None]
    is_whole = roles.base is not None and bool(roles.groups)
    every = set[TargetKey]().union(*tables)
    keys = tuple(shared_targets(tables)) if is_whole else ()
    columns = ([table[key] for key in keys] for table in tables)
    values = np.array(list(zip(*columns, strict=True))).reshape(len(keys), len(tables))
    groups = values[:, 1:] if is_whole else np.empty((0, max(2, len(roles.groups))))
    base = values[:, 0] if is_whole else np.empty(0)
    return GroupValues(keys=keys, groups=groups, base=base, left_out=len(every) - len(keys))


def first_click_values(
    run: Run, users: Sequence[str], metric: str = "iou"
) -> dict[TargetKey, NDArray[np.float64]]:
    """Return for each target the values after the first click; targets that a user did not finish are left out.

    Of one user that is a value per repeat, which for real people is one per person; of several users, who stand for
    as many people, one per user, its repeats averaged.
    """
    tables = [_first_by_target(run.finished(user), metric) for user in users]
    keys = shared_targets(tables)
    if len(tables) == 1:
        return {key: np.array(tables[0][key]) for key in keys}
    means = [{key: math.fsum(table[key]) / len(table[key]) for key in keys} for table in tables]
    return {key: np.array([of_user[key] for of_user in means]) for key in keys}


def shared_targets(tables: Sequence[Mapping[TargetKey, Any]]) -> list[TargetKey]:
    """Return the targets that all tables have, in the order of the first; none without tables."""
    if not tables:
        return []
    shared = set(tables[0]).intersection(*tables[1:])
    return [key for key in tables[0] if key in shared]


def first_click_positions(run: Run, user: str, key: TargetKey) -> list[tuple[float, float]]:
    """Return the (row, column) of each first click of `user` on a target, repeats and failed dialogues too."""
    first = [dialogue.prompts[0] for dialogue in run.about(*key, user) if dialogue.prompts]
    return list(chain.from_iterable(map(prompt_positions, chain(*first))))


def mean_first_mask(run: Run, users: Sequence[str], key: TargetKey) -> NDArray[np.float64] | None:
    """Return for each pixel the share of predictions after the first click that hold it.

    Repeats of a user are averaged first, so that each of several users weighs the same. None when a user's
    predictions of the first round were not kept.
    """
    means: list[NDArray[np.float64]] = []
    for user in users:
        masks = run.masks_after(key, user, 1)
        if not masks:
            return None
        means.append(np.mean(masks, axis=0))
    return np.mean(means, axis=0) if means else None


def _first_by_target(
    dialogues: Sequence[DialogueRecord], metric: str
) -> dict[TargetKey, list[float]]:
    found: defaultdict[TargetKey, list[float]] = defaultdict(list)
    for dialogue in dialogues:
        value = dialogue.values[metric][0]
        if math.isfinite(value):
            found[(dialogue.sample, dialogue.target)].append(value)
    return dict(found)
