"""Tables about clicks: how good click models are, and how people's clicks differ by display mode and device.

Source: RClicks, tables 1, 3, 6 and 8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.options import Protocol
from segarena.statistics.intervals import Interval
from segarena.systems.clicks.crowd.instances import (
    Instance,
    TargetLoader,
    click_positions,
    group_clicks,
    place_clicks,
)
from segarena.systems.clicks.measures.click_model_quality import (
    ClickModelQuality,
    click_model_quality,
    mean_quality,
)
from segarena.systems.clicks.measures.click_set_distances import (
    ClickSetComparison,
    box_size,
    compare_click_sets,
    compare_devices,
)
from segarena.systems.clicks.models.click_maps import ImageClickMap

if TYPE_CHECKING:
    import polars as pl

CLICK_ROUNDS = ("first", "fn", "fp")
ALL_ROUNDS = "all"
BASE_MODE = "Text_Description"
SkipCallback = Callable[[str, str], None]
"""Called with the name of an instance that cannot be judged, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickModelEvaluation:
    """One click model on one instance."""

    model: str
    dataset: str
    image_stem: str
    full_stem: str
    click_type: str
    quality: ClickModelQuality

    def row(self) -> dict[str, Any]:
        """Return it as one flat row."""
        values = asdict(self)
        return values | values.pop("quality")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanRow:
    """A line of a table.

    Attributes:
        names: what the line is about.
        means: by metric, with intervals over images.
        instances: how many instances are behind it.
    """

    names: tuple[str, ...]
    means: Mapping[str, Interval]
    instances: int


def evaluate_click_models(
    instances: Iterable[Instance],
    models: Mapping[str, ImageClickMap],
    *,
    draws: int = 100,
    seed: int = 0,
    protocol: Protocol = "careful",
    on_skip: SkipCallback | None = None,
) -> list[ClickModelEvaluation]:
    """Judge every model's map by the real clicks of every instance.

    Draws depend on the seed, the model and the instance alone. An instance without clicks, and a map that is empty, not
    finite or negative, are skipped and passed to `on_skip`; without it they are an error.

    Args:
        instances: with clicks.
        models: by name.
        draws: sets of clicks drawn from each map.
        seed: of the draws.
        protocol: see `click_model_quality`.
        on_skip: called for what is left out.
    """
    judged: list[ClickModelEvaluation] = []
    for instance in instances:
        for name, model in models.items():
            try:
                if not len(instance.positions):
                    raise InvalidInput("no clicks")
                probability = model(instance.image, instance.target, instance.error)
                box = box_size(instance.target)
                rng = _stream(seed, name, instance.full_stem)
                quality = click_model_quality(
                    probability, instance.positions, box, rng, draws=draws, protocol=protocol
                )
            except InvalidInput as error:
                if on_skip is None:
                    raise
                on_skip(instance.full_stem, f"{name}: {error}")
                continue
            names = {
                key: getattr(instance, key)
                for key in ("dataset", "image_stem", "full_stem", "click_type")
            }
            judged.append(ClickModelEvaluation(model=name, quality=quality, **names))
    return judged


def quality_rows(judged: Sequence[ClickModelEvaluation]) -> list[MeanRow]:
    """Return the mean of each model by dataset and round, then over all rounds: names (dataset, round, model).

    Every instance weighs the same.
    """
    datasets = dict.fromkeys(one.dataset for one in judged)
    models = dict.fromkeys(one.model for one in judged)
    rows: list[MeanRow] = []
    for names in product(datasets, (*CLICK_ROUNDS, ALL_ROUNDS), models):
        dataset, round_, model = names
        own = [one for one in judged if (one.dataset, one.model) == (dataset, model)]
        chosen = [one for one in own if round_ in (ALL_ROUNDS, one.click_type)]
        if chosen:
            means = mean_quality(
                [one.quality for one in chosen], [one.image_stem for one in chosen]
            )
            rows.append(MeanRow(names=names, means=means, instances=len(chosen)))
    return rows


def difference_rows(judged: Sequence[ClickModelEvaluation], base: str) -> list[MeanRow]:
    """Return the `quality_rows` of every other model's values less those of `base`, on the instances that both have.

    Intervals of such differences are narrower than those of the models, which mostly say how images differ.

    Raises:
        InvalidInput: nothing was judged by `base`, or by it alone.
    """
    own = {(one.dataset, one.full_stem): one.quality for one in judged if one.model == base}
    others = [one for one in judged if one.model != base and (one.dataset, one.full_stem) in own]
    if not others:
        names = ", ".join(dict.fromkeys(one.model for one in judged))
        raise InvalidInput(f"nothing to compare with {base!r}: judged were {names or 'none'}")
    return quality_rows(
        [
            replace(one, quality=_less(one.quality, own[one.dataset, one.full_stem]))
            for one in others
        ]
    )


def display_mode_rows(
    modes: Mapping[str, pl.DataFrame], load: TargetLoader, dataset: str
) -> list[MeanRow]:
    """Return how near the clicks under each display mode are to those under text descriptions: names (mode,).

    Args:
        modes: see `read_display_modes`.
        load: gives image and object.
        dataset: the name of the set that the images are from, for its size limit.

    Raises:
        InvalidInput: there are no text descriptions, or a mode has no instance in common with them.
    """
    if BASE_MODE not in modes:
        raise InvalidInput(
            f"expected clicks under {BASE_MODE}, which the others are compared with, got {list(modes)}"
        )
    placed = {mode: _positions(table, dataset) for mode, table in modes.items()}
    base = placed.pop(BASE_MODE)
    rows: list[MeanRow] = []
    for mode, found in placed.items():
        both = [key for key in base if key in found]
        if not both:
            raise InvalidInput(f"{mode} and {BASE_MODE} have no instance in common")
        compared = [
            compare_click_sets(base[key], found[key], box_size(load(dataset, *key)[1]))
            for key in both
        ]
        means = mean_quality(compared, [image_stem for image_stem, _ in both])
        rows.append(MeanRow(names=(mode,), means=means, instances=len(both)))
    return rows


def device_rows(
    table: pl.DataFrame,
    load: TargetLoader,
    *,
    least_clicks: int = 10,
    protocol: Protocol = "careful",
    on_skip: SkipCallback | None = None,
) -> list[MeanRow]:
    """Return how near clicks on a phone are to those with a mouse: names (dataset,); see `compare_devices`.

    Instances with fewer than `least_clicks` of either device are left out, and passed to `on_skip`.
    """
    import polars as pl

    compared: dict[str, list[tuple[str, ClickSetComparison]]] = {}
    placed = place_clicks(table)
    none = np.zeros((0, 2))
    devices: dict[str, dict[tuple[str, str], NDArray[np.int64]]] = {"pc": {}, "mobile": {}}
    for device, own in devices.items():
        for row in group_clicks(placed.filter(pl.col("device") == device)).iter_rows(named=True):
            own[row["dataset"], row["full_stem"]] = click_positions(row)
    for row in group_clicks(placed).iter_rows(named=True):
        key = (row["dataset"], row["full_stem"])
        pc, mobile = (devices[device].get(key, none) for device in ("pc", "mobile"))
        if min(len(pc), len(mobile)) < least_clicks:
            if on_skip is not None:
                on_skip(row["full_stem"], f"{len(pc)} clicks on a PC and {len(mobile)} on a phone")
            continue
        box = box_size(load(row["dataset"], row["image_stem"], row["object_stem"])[1])
        one = compare_devices(pc, mobile, box, least_clicks=least_clicks, protocol=protocol)
        if one is not None:
            compared.setdefault(row["dataset"], []).append((row["image_stem"], one))
    rows: list[MeanRow] = []
    for name, found in compared.items():
        images, values = zip(*found, strict=True)
        rows.append(
            MeanRow(names=(name,), means=mean_quality(values, images), instances=len(found))
        )
    return rows


def _less(value: ClickModelQuality, base: ClickModelQuality) -> ClickModelQuality:
    names = ("pl1", "wd", "ks", "nss", "pde")
    return replace(value, **{name: getattr(value, name) - getattr(base, name) for name in names})


def _stream(seed: int, *names: str) -> np.random.Generator:
    entropy = [seed]
    for name in names:
        entropy += [*name.encode(), 256]  # 256 is no byte: ("ab", "c") and ("a", "bc") differ
    return np.random.default_rng(np.random.SeedSequence(entropy))


def _positions(table: pl.DataFrame, dataset: str) -> dict[tuple[str, str], NDArray[np.int64]]:
    import polars as pl

    grouped = group_clicks(place_clicks(table.with_columns(dataset=pl.lit(dataset))))
    return {
        (row["image_stem"], row["object_stem"]): click_positions(row)
        for row in grouped.iter_rows(named=True)
    }
