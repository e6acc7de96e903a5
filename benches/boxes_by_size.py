"""Difference between simulated and people's boxes, by object size: `python benches/boxes_by_size.py FOLDER USER...`.

FOLDER is a collection with boxes, written by `segarena people import`. With a second collection,
`--beside FOLDER`, its people are also compared with those of the first, as a reference.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from segarena.prompts import Box
from segarena.registry import build
from segarena_people.collection import Collection
from segarena_people.comparison.user_replies import ReplyCollector
from segarena_people.measures.box_features import box_features, size_class
from segarena_people.measures.box_size_tests import SizeTest, run_size_tests


def main() -> None:
    """Print a table of size classes for each user."""
    told = argparse.ArgumentParser(description=__doc__)
    told.add_argument("folder")
    told.add_argument("users", nargs="*")
    told.add_argument("--beside")
    told.add_argument(
        "--times", type=int, default=5, help="number of repetitions; medians are printed"
    )
    how = told.parse_args()
    people, classes = people_of(how.folder)
    for user in how.users:
        tests = [
            run_size_tests(asked(user, how.folder, seed), people, classes, seed=seed)
            for seed in range(how.times)
        ]
        show(user, tests)
    if how.beside:
        others, names = people_of(how.beside)
        show(
            f"people of {how.beside}",
            [beside(others, names, people, classes, seed) for seed in range(how.times)],
        )


def people_of(folder: str) -> tuple[NDArray[np.float64], list[str]]:
    """Return the features of people's boxes, and the size classes of their objects."""
    given = [
        (box, one.goal)
        for one in Collection.open(folder).only(kind="box")
        if isinstance(box := one.prompt, Box)
    ]
    return np.array([box_features(box, goal) for box, goal in given]), [
        size_class(goal) for _, goal in given
    ]


def asked(user: str, folder: str, seed: int) -> NDArray[np.float64]:
    """Return the features of a user's boxes."""
    asker = ReplyCollector(build("user", user), name=user, seed=seed)
    found: list[NDArray[np.float64]] = []
    for given in Collection.open(folder).only(kind="box"):
        reply = asker.ask(given)
        box = next((prompt for prompt in reply.prompts if isinstance(prompt, Box)), None)
        if box is None:
            raise SystemExit(f"{user}: no box on {given.row.id}: {reply.refusal}")
        found.append(box_features(box, given.goal))
    return np.array(found)


def beside(
    others: NDArray[np.float64],
    names: Sequence[str],
    people: NDArray[np.float64],
    classes: Sequence[str],
    seed: int,
) -> list[SizeTest]:
    """Test two groups of people against each other; each size class takes equally many random boxes of both."""
    rng = np.random.default_rng(seed)
    pairs: list[tuple[NDArray[np.float64], NDArray[np.float64], str]] = []
    for name in dict.fromkeys(classes):
        one, two = others[np.array(names) == name], people[np.array(classes) == name]
        count = min(len(one), len(two))
        pairs.append((rng.permutation(one)[:count], rng.permutation(two)[:count], name))
    return run_size_tests(
        np.concatenate([one for one, _, _ in pairs]),
        np.concatenate([two for _, two, _ in pairs]),
        [name for one, _, name in pairs for _ in one],
        seed=seed,
    )


def show(name: str, tests: Sequence[Sequence[SizeTest]]) -> None:
    """Print a table."""
    print(f"\n{name}\nsize px | boxes | p, median | 99th percentile | of people | ratio")
    for each in sorted(
        zip(*tests, strict=True), key=lambda one: int(one[0].name.partition("-")[0])
    ):
        p, far, ratio = (
            float(np.median([getattr(one, key) for one in each]))
            for key in ("p_value", "far", "far_ratio")
        )
        print(
            f"{each[0].name} | {each[0].boxes} | {p:.3f} | {far:.3f} | {each[0].far_people:.3f} | {ratio:.2f}"
        )


if __name__ == "__main__":
    main()
