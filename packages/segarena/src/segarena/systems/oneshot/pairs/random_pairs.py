"""Random pairs for datasets without a list of pairs, reproducible from a seed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from segarena.errors import DatasetError, PluginInvalid
from segarena.systems.oneshot.pairs.image_lists import is_image_list, read_image_list
from segarena.systems.oneshot.pairs.image_sources import ClassImage
from segarena.systems.oneshot.pairs.pair_table import pairs_table
from segarena.systems.oneshot.pairs.toss_lists import read_pair_lists

# Number of attempts to draw new supports for a query, and of extra passes over all queries. Sampling
# has to give up at some point, because a small class may have fewer combinations than requested.
_TRIES = 8


def draw_random_pairs(
    items: Sequence[ClassImage],
    *,
    per_class: int,
    shots: int = 1,
    seed: int = 0,
    fold_of: Callable[[str], int | None] = lambda label: None,
    dataset: str = "",
) -> pl.DataFrame:
    """Sample up to `per_class` distinct pairs of each class; query and supports are different images.

    Queries are spread over the images of a class as evenly as possible. Supports are drawn without
    replacement. A class with too few images for a pair is left out.

    Raises:
        DatasetError: no class has enough images.
        PluginInvalid: `per_class` or `shots` is below 1.
    """
    if per_class < 1 or shots < 1:
        raise PluginInvalid(f"per_class={per_class}, shots={shots}: expected at least 1")
    images_by_class: dict[str, list[str]] = defaultdict(list)
    for label, image in items:
        images_by_class[label].append(image)
    rows: list[dict[str, object]] = []
    for label, images in sorted(images_by_class.items()):
        # Each class has its own random generator, so adding a class does not change the pairs of
        # others.
        rng = np.random.default_rng([seed, *label.encode()])
        for query, supports in _draw_class_pairs(images, per_class, shots, rng):
            rows.append(
                {
                    "class": label,
                    "fold": fold_of(label),
                    "dataset": dataset,
                    "query": query,
                    "supports": list(supports),
                }
            )
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
    """Read the lists at the comma-separated paths in `pairs`, or sample pairs if there are none.

    For lists of images without pairs (`segarena.systems.oneshot.pairs.image_lists`), pairs of the
    listed images are sampled.

    Raises:
        DatasetError: lists of images and lists of pairs are mixed; or see `draw_random_pairs`,
            `read_image_list` and `segarena.systems.oneshot.pairs.toss_lists.read_pair_lists`.
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
    image_lists = [path for path in paths if is_image_list(path)]
    if not image_lists:
        return read_pair_lists(paths)
    if len(image_lists) < len(paths):
        raise DatasetError(
            f"{image_lists[0]}: this file lists images, but another file lists pairs; "
            "give files of one kind"
        )
    listed: dict[ClassImage, None] = {}  # a dict drops repeated items and keeps their order
    for path in image_lists:
        listed.update(dict.fromkeys(read_image_list(path, items)))
    return draw(list(listed))


def _draw_class_pairs(
    images: Sequence[str],
    wanted: int,
    shots: int,
    rng: np.random.Generator,
) -> list[tuple[str, tuple[str, ...]]]:
    """Sample up to `wanted` distinct pairs of one class, taking its images in turn as queries."""
    if len(images) <= shots:
        return []
    pairs: dict[tuple[str, tuple[str, ...]], None] = {}  # a dict keeps the order of the draws
    for _ in range(_TRIES * (wanted // len(images) + 1)):
        # Each pass uses every image once as a query, so queries are spread evenly.
        indices: list[int] = rng.permutation(len(images)).tolist()
        for index in indices:
            query = images[index]
            others = [image for image in images if image != query]
            for _ in range(_TRIES):
                supports = tuple(rng.choice(others, shots, replace=False).tolist())
                if (query, supports) not in pairs:
                    pairs[query, supports] = None
                    break
            if len(pairs) == wanted:
                return list(pairs)
    return list(pairs)
