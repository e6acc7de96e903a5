"""Values read from the records of rclicks runs, per clicking group and after first clicks.

The benchmark's options assign roles to the users: `base`, `groups` from least to most likely,
`real`, `sampled`. An *instance* is a target that all compared users have finished.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.benchmark_rules import Statistic
from segarena.reports.overlays import prompt_positions
from segarena.reports.recorded_run import Run
from segarena.reports.round_table import DialogueRecord
from segarena.reports.run_statistics import TargetKey, target_values


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRoles:
    """Users of a run by role; a role that no user has is None or empty.

    Attributes:
        base: the standard user, which clicks the centre.
        groups: the clicking groups from least to most likely; empty when one of them is missing.
        real: the user that replays real people.
        sampled: the user that samples the same number of clicks from the click model.
        missing: users that the benchmark defines but the run lacks.
    """

    base: str | None
    groups: tuple[str, ...]
    real: str | None
    sampled: str | None
    missing: tuple[str, ...]


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class GroupValues:
    """Values of one statistic for every instance, averaged over repeats.

    Attributes:
        keys: the instances.
        groups: float64 (instances, groups), groups ordered from least to most likely clicks.
        base: values of the base user, float64 (instances,).
        left_out: number of targets that are excluded because not every user finished them.
    """

    keys: tuple[TargetKey, ...]
    groups: NDArray[np.float64]
    base: NDArray[np.float64]
    left_out: int


def is_robustness_run(run: Run) -> bool:
    """Test whether the run's benchmark defines a base user and clicking groups."""
    options = run.config.benchmark.options
    return isinstance(options.get("groups"), list) and "base" in options


def user_roles(run: Run) -> UserRoles:
    """Return the roles of the users in an rclicks run."""
    options = run.config.benchmark.options
    groups = tuple(str(group["user"]) for group in options["groups"])
    expected = list(groups)
    present: dict[str, str | None] = {}
    for role in ("base", "real", "sampled"):
        user = options.get(role)
        if user:
            expected.append(user)
        # A run may omit some users of its benchmark.
        present[role] = user if user in run.users else None
    has_groups = set(groups) <= set(run.users)
    return UserRoles(
        base=present["base"],
        groups=groups if has_groups else (),
        real=present["real"],
        sampled=present["sampled"],
        missing=tuple(user for user in expected if user not in run.users),
    )


def select_users(run: Run, users: Sequence[str]) -> Run:
    """Return the run with only the dialogues of `users`; failures of whole samples are kept."""
    selected = tuple(user for user in run.config.users if user.written in users)
    # A failure of a whole sample is recorded without a user.
    dialogues = tuple(each for each in run.dialogues if each.user in users or not each.user)
    config = replace(run.config, users=selected)
    return replace(run, config=config, dialogues=dialogues)


def without_first_click_users(run: Run) -> Run:
    """Return an rclicks run without first-click users.

    Their dialogues have one round, which gives no NoC or AuC.
    """
    roles = user_roles(run)
    first_click_users = (roles.real, roles.sampled)
    return select_users(run, [user for user in run.users if user not in first_click_users])


def base_user_run(run: Run) -> Run:
    """Return an rclicks run with only its base user, as the click benchmark would show it."""
    base = user_roles(run).base
    if base is None:
        return without_first_click_users(run)
    return select_users(run, [base])


def group_values(run: Run, statistic: Statistic) -> GroupValues:
    """Return the values of `statistic` per instance, for the base user and the groups.

    If the base user or one of the groups is missing, there are no instances.
    """
    roles = user_roles(run)
    users = [user for user in (roles.base, *roles.groups) if user is not None]
    tables = [target_values(run, user, statistic) for user in users]
    all_targets = set[TargetKey]().union(*tables)
    if roles.base is None or not roles.groups:
        # The width is at least 2 because group statistics require at least two groups.
        width = max(2, len(roles.groups))
        return GroupValues(
            keys=(),
            groups=np.empty((0, width)),
            base=np.empty(0),
            left_out=len(all_targets),
        )
    keys = tuple(shared_targets(tables))
    values = np.empty((len(keys), len(tables)))
    for column, table in enumerate(tables):
        values[:, column] = [table[key] for key in keys]
    left_out = len(all_targets) - len(keys)
    return GroupValues(
        keys=keys,
        groups=values[:, 1:],
        base=values[:, 0],
        left_out=left_out,
    )


def first_click_values(
    run: Run,
    users: Sequence[str],
    metric: str = "iou",
) -> dict[TargetKey, NDArray[np.float64]]:
    """Return the metric's values after the first click for each target.

    Targets that a user did not finish are omitted. A single user contributes one value per repeat;
    a user that replays recorded people has one repeat per person. Several users stand for several
    people: each contributes one value, the mean over its repeats.
    """
    tables = [_first_values_by_target(run.finished(user), metric) for user in users]
    keys = shared_targets(tables)
    if len(tables) == 1:
        return {key: np.array(tables[0][key]) for key in keys}
    values: dict[TargetKey, NDArray[np.float64]] = {}
    for key in keys:
        means = [math.fsum(table[key]) / len(table[key]) for table in tables]
        values[key] = np.array(means)
    return values


def shared_targets(tables: Sequence[Mapping[TargetKey, Any]]) -> list[TargetKey]:
    """Return the targets that all tables contain, in the order of the first; empty if there are no tables."""
    if not tables:
        return []
    shared = set(tables[0]).intersection(*tables[1:])
    return [key for key in tables[0] if key in shared]


def first_click_positions(
    run: Run,
    user: str,
    key: TargetKey,
) -> list[tuple[float, float]]:
    """Return the (row, column) of every first click of `user` on a target.

    All repeats are included, even those of failed dialogues.
    """
    positions: list[tuple[float, float]] = []
    for dialogue in run.about(*key, user):
        if not dialogue.prompts:
            continue
        for prompt in dialogue.prompts[0]:
            positions += prompt_positions(prompt)
    return positions


def mean_first_mask(
    run: Run,
    users: Sequence[str],
    key: TargetKey,
) -> NDArray[np.float64] | None:
    """Return, for each pixel, the share of first-click predictions that contain the pixel.

    The repeats of each user are averaged first, so that all users have the same weight. The result
    is None if the run did not keep a user's predictions of the first round.
    """
    means: list[NDArray[np.float64]] = []
    for user in users:
        masks = run.masks_after(key, user, 1)
        if not masks:
            return None
        means.append(np.mean(masks, axis=0))
    return np.mean(means, axis=0) if means else None


def _first_values_by_target(
    dialogues: Sequence[DialogueRecord], metric: str
) -> dict[TargetKey, list[float]]:
    values: defaultdict[TargetKey, list[float]] = defaultdict(list)
    for dialogue in dialogues:
        value = dialogue.values[metric][0]
        if math.isfinite(value):
            values[(dialogue.sample, dialogue.target)].append(value)
    return dict(values)
