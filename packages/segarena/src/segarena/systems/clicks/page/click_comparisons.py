"""Comparisons of click models with real clicks, and of real clicks by display mode and device.

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
from segarena.systems.clicks.click_maps import ImageClickMap
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

if TYPE_CHECKING:
    import polars as pl

CLICK_ROUNDS = ("first", "fn", "fp")
ALL_ROUNDS = "all"
BASE_MODE = "Text_Description"
SkipCallback = Callable[[str, str], None]
"""Callback that receives the name of a skipped instance and the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickModelEvaluation:
    """Quality of one click model on one instance."""

    model: str
    dataset: str
    image_stem: str
    full_stem: str
    click_type: str
    quality: ClickModelQuality

    def row(self) -> dict[str, Any]:
        """Return the evaluation as a flat table row."""
        values = asdict(self)
        return values | values.pop("quality")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanRow:
    """A row of a table of means.

    Attributes:
        names: the values of the row's key columns.
        means: mean of each metric, with intervals over images.
        instances: number of instances averaged.
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
    """Evaluate the click map of every model against the real clicks on every instance.

    The sampled clicks depend only on the seed, the model and the instance. Instances without
    clicks, and maps that are empty, not finite or negative, are skipped and reported to `on_skip`;
    if that is None, they raise an error.

    Args:
        instances: the instances, with their clicks.
        models: the click models by name.
        draws: number of click sets sampled from each map.
        seed: seed for sampling.
        protocol: "careful" or "published", see `click_model_quality`.
        on_skip: called for each skipped instance and model.
    """
    evaluations: list[ClickModelEvaluation] = []
    for instance in instances:
        for name, model in models.items():
            try:
                if not len(instance.positions):
                    raise InvalidInput("no clicks")
                probability = model(instance.image, instance.target, instance.error)
                box = box_size(instance.target)
                rng = _random_stream(seed, name, instance.full_stem)
                quality = click_model_quality(
                    probability, instance.positions, box, rng, draws=draws, protocol=protocol
                )
            except InvalidInput as error:
                if on_skip is None:
                    raise
                on_skip(instance.full_stem, f"{name}: {error}")
                continue
            evaluation = ClickModelEvaluation(
                model=name,
                dataset=instance.dataset,
                image_stem=instance.image_stem,
                full_stem=instance.full_stem,
                click_type=instance.click_type,
                quality=quality,
            )
            evaluations.append(evaluation)
    return evaluations


def quality_rows(evaluations: Sequence[ClickModelEvaluation]) -> list[MeanRow]:
    """Return the means of each model for each dataset and kind of round, then over all rounds.

    The key columns are (dataset, round, model). Every instance has the same weight.
    """
    datasets = dict.fromkeys(one.dataset for one in evaluations)
    models = dict.fromkeys(one.model for one in evaluations)
    rows: list[MeanRow] = []
    for names in product(datasets, (*CLICK_ROUNDS, ALL_ROUNDS), models):
        dataset, round_, model = names
        qualities: list[ClickModelQuality] = []
        images: list[str] = []
        for one in evaluations:
            is_selected = round_ in (ALL_ROUNDS, one.click_type)
            if is_selected and one.dataset == dataset and one.model == model:
                qualities.append(one.quality)
                images.append(one.image_stem)
        if qualities:
            means = mean_quality(qualities, images)
            rows.append(MeanRow(names=names, means=means, instances=len(qualities)))
    return rows


def difference_rows(evaluations: Sequence[ClickModelEvaluation], base: str) -> list[MeanRow]:
    """Return `quality_rows` of the differences between every other model and `base`.

    Differences are paired over the instances that both models have. Their intervals are usually
    narrower than those of the models themselves, which mostly reflect differences between images.

    Raises:
        InvalidInput: `base` was not evaluated, or has no instance in common with any other model.
    """
    base_quality: dict[tuple[str, str], ClickModelQuality] = {}
    for one in evaluations:
        if one.model == base:
            base_quality[one.dataset, one.full_stem] = one.quality
    differences: list[ClickModelEvaluation] = []
    for one in evaluations:
        key = (one.dataset, one.full_stem)
        if one.model != base and key in base_quality:
            differences.append(replace(one, quality=_subtract(one.quality, base_quality[key])))
    if not differences:
        names = ", ".join(dict.fromkeys(one.model for one in evaluations)) or "none"
        raise InvalidInput(f"nothing to compare with {base!r}; evaluated models: {names}")
    return quality_rows(differences)


def display_mode_rows(
    modes: Mapping[str, pl.DataFrame],
    load: TargetLoader,
    dataset: str,
) -> list[MeanRow]:
    """Compare clicks on targets shown in each display mode with clicks on targets described in text.

    The only key column is (mode,).

    Args:
        modes: clicks by display mode, see `read_display_modes`.
        load: function that returns the image and the object's mask.
        dataset: name of the dataset that contains the images; it determines the size limit.

    Raises:
        InvalidInput: there are no clicks after text descriptions, or a mode has no instance in
            common with these.
    """
    if BASE_MODE not in modes:
        raise InvalidInput(
            f"expected clicks in the mode {BASE_MODE}, with which the others are compared, "
            f"got {list(modes)}"
        )
    positions = {mode: _positions_by_object(table, dataset) for mode, table in modes.items()}
    base = positions.pop(BASE_MODE)
    rows: list[MeanRow] = []
    for mode, own in positions.items():
        shared = [key for key in base if key in own]
        if not shared:
            raise InvalidInput(f"{mode} and {BASE_MODE} have no instance in common")
        comparisons: list[ClickSetComparison] = []
        for key in shared:
            _, target = load(dataset, *key)
            comparisons.append(compare_click_sets(base[key], own[key], box_size(target)))
        images = [image_stem for image_stem, _ in shared]
        means = mean_quality(comparisons, images)
        rows.append(MeanRow(names=(mode,), means=means, instances=len(shared)))
    return rows


def device_rows(
    table: pl.DataFrame,
    load: TargetLoader,
    *,
    least_clicks: int = 10,
    protocol: Protocol = "careful",
    on_skip: SkipCallback | None = None,
) -> list[MeanRow]:
    """Compare clicks on a phone with mouse clicks (see `compare_devices`).

    The only key column is (dataset,). Instances with fewer than `least_clicks` clicks of either
    device are skipped and reported to `on_skip`.
    """
    placed = place_clicks(table)
    pc_clicks = _positions_of_device(placed, "pc")
    mobile_clicks = _positions_of_device(placed, "mobile")
    none = np.zeros((0, 2), dtype=np.int64)
    comparisons: dict[str, list[tuple[str, ClickSetComparison]]] = {}
    for row in group_clicks(placed).iter_rows(named=True):
        key = (row["dataset"], row["full_stem"])
        pc = pc_clicks.get(key, none)
        mobile = mobile_clicks.get(key, none)
        if min(len(pc), len(mobile)) < least_clicks:
            if on_skip is not None:
                on_skip(row["full_stem"], f"{len(pc)} clicks on a PC and {len(mobile)} on a phone")
            continue
        _, target = load(row["dataset"], row["image_stem"], row["object_stem"])
        comparison = compare_devices(
            pc, mobile, box_size(target), least_clicks=least_clicks, protocol=protocol
        )
        if comparison is not None:
            comparisons.setdefault(row["dataset"], []).append((row["image_stem"], comparison))
    rows: list[MeanRow] = []
    for dataset, of_dataset in comparisons.items():
        images, values = zip(*of_dataset, strict=True)
        means = mean_quality(values, images)
        rows.append(MeanRow(names=(dataset,), means=means, instances=len(of_dataset)))
    return rows


def _positions_of_device(
    placed: pl.DataFrame, device: str
) -> dict[tuple[str, str], NDArray[np.int64]]:
    import polars as pl

    grouped = group_clicks(placed.filter(pl.col("device") == device))
    positions: dict[tuple[str, str], NDArray[np.int64]] = {}
    for row in grouped.iter_rows(named=True):
        positions[row["dataset"], row["full_stem"]] = click_positions(row)
    return positions


def _subtract(value: ClickModelQuality, base: ClickModelQuality) -> ClickModelQuality:
    return replace(
        value,
        pl1=value.pl1 - base.pl1,
        wd=value.wd - base.wd,
        ks=value.ks - base.ks,
        nss=value.nss - base.nss,
        pde=value.pde - base.pde,
    )


def _random_stream(seed: int, *names: str) -> np.random.Generator:
    entropy = [seed]
    for name in names:
        # The separator 256 cannot occur as a byte, so ("ab", "c") and ("a", "bc") give different
        # seeds.
        entropy += [*name.encode(), 256]
    return np.random.default_rng(np.random.SeedSequence(entropy))


def _positions_by_object(
    table: pl.DataFrame, dataset: str
) -> dict[tuple[str, str], NDArray[np.int64]]:
    import polars as pl

    # The column `dataset` contains the display mode here, but size limits depend on the dataset.
    placed = place_clicks(table.with_columns(dataset=pl.lit(dataset)))
    positions: dict[tuple[str, str], NDArray[np.int64]] = {}
    for row in group_clicks(placed).iter_rows(named=True):
        positions[row["image_stem"], row["object_stem"]] = click_positions(row)
    return positions
