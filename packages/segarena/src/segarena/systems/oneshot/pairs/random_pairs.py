"""Pairs for sets that come without a list: drawn at random, the same for a seed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl

from segarena.errors import DatasetError, PluginInvalid
from segarena.systems.oneshot.pairs.image_lists import is_image_list, read_image_list
from segarena.systems.oneshot.pairs.image_sources import ClassImage
from segarena.systems.oneshot.pairs.pair_table import pairs_table
from segarena.systems.oneshot.pairs.toss_lists import read_pair_lists

_TRIES = 8  # draws before a query is passed over, as it may have been shown all others


def draw_random_pairs(
    items: Sequence[ClassImage],
    *,
    per_class: int,
    shots: int = 1,
    seed: int = 0,
    fold_of: Callable[[str], int | None] = lambda label: None,
    dataset: str = "",
) -> pl.DataFrame:
    """Return up to `per_class` distinct pairs of each class, query and supports different images of it.

    Every image of a class is query equally often, as far as the number allows. Supports are drawn without
    replacement. A class with too few images for a pair has none.

    Raises:
        DatasetError: no class has enough images.
        PluginInvalid: `per_class` or `shots` below 1.
    """
    if per_class < 1 or shots < 1:
        raise PluginInvalid(f"per_class={per_class}, shots={shots}: expected at least 1")
    images: dict[str, list[str]] = defaultdict(list)
    for label, image in items:
        images[label].append(image)
    rows: list[dict[str, object]] = []
    for label, own in sorted(images.items()):
        rng = np.random.default_rng(
            [seed, *label.encode()]
        )  # of its own, so that another class changes nothing
        facts = {"class": label, "fold": fold_of(label), "dataset": dataset}
        drawn = _of_class(own, per_class, shots, rng)
        rows.extend({**facts, "query": query, "supports": shown} for query, shown in drawn)
    if not rows:
        raise DatasetError(
            f"no class has more than {shots} masked images; a pair needs a query and {shots} others"
        )
    return pairs_table(rows)


def read_or_draw_pairs(
    pairs: str,
    items: Callable[[], Sequence[ClassImage]],
    *,
    per_class: int,
    shots: int,
    seed: int,
    fold_of: Callable[[str], int | None] = lambda label: None,
    dataset: str = "",
) -> pl.DataFrame:
    """Return the pairs of the lists at `pairs` (several are separated by commas); drawn ones when it is empty.

    Lists of images without pairs say which images pairs are drawn from; see `segarena.systems.oneshot.pairs.image_lists`.

    Raises:
        DatasetError: see `draw_pairs`, `segarena.systems.oneshot.pairs.toss_lists.read_pair_lists` and `read_images`.
    """
    draw = partial(
        draw_random_pairs,
        per_class=per_class,
        shots=shots,
        seed=seed,
        fold_of=fold_of,
        dataset=dataset,
    )
    if not pairs:
        return draw(items())
    paths = [Path(part.strip()).expanduser() for part in pairs.split(",")]
    of_images = [path for path in paths if is_image_list(path)]
    if not of_images:
        return read_pair_lists(paths)
    if len(of_images) < len(paths):
        raise DatasetError(f"{of_images[0]}: lists images, others list pairs; give either")
    return draw(
        list(dict.fromkeys(chain.from_iterable(read_image_list(path, items) for path in of_images)))
    )


def _of_class(
    images: Sequence[str], wanted: int, shots: int, rng: np.random.Generator
) -> list[tuple[str, list[str]]]:
    if len(images) <= shots:
        return []
    found: dict[tuple[str, tuple[str, ...]], None] = {}
    for _ in range(_TRIES * (wanted // len(images) + 1)):
        places: list[int] = rng.permutation(len(images)).tolist()
        for place in places:
            others = [image for image in images if image != images[place]]
            draws = (
                tuple(rng.choice(others, shots, replace=False).tolist()) for _ in range(_TRIES)
            )
            new = next(
                ((images[place], shown) for shown in draws if (images[place], shown) not in found),
                None,
            )
            if new is not None:
                found[new] = None
            if len(found) == wanted:
                return [(query, list(supports)) for query, supports in found]
    return [(query, list(supports)) for query, supports in found]
