"""A dataset of pairs: each sample a query image, each target a pair about it, the examples loaded when looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.datasets.listing import Files, ListedDataset
from segarena.errors import DatasetError, InvalidMask
from segarena.files.hashes import sha256
from segarena.roles import Finding
from segarena.samples import ImageSample, Support, Target
from segarena.systems.oneshot.pairs.image_sources import ClassMask, ImageSource
from segarena.systems.oneshot.pairs.pair_table import (
    PAIR_COLUMNS,
    PAIR_KEY,
    drop_cross_class,
    is_self_pair,
)
from segarena.systems.oneshot.pairs.query_transforms import parse_transform

SUPPORT_CACHE_SIZE = 64
"""So many support examples are kept in memory; pairs that share one share the object."""

CrossClassRule: TypeAlias = Literal["keep", "drop"]

_OF_SUPPORTS = ("supports", "support_classes", "transform", "support_kind")
_ATTRIBUTES = tuple(name for name in PAIR_COLUMNS if name not in _OF_SUPPORTS)


class PairDataset(ListedDataset[ImageSample]):
    """Query images whose targets are pairs. A target's id is LIST/ROW; its attributes are what scores group by.

    A query image, transformed or not, is one sample, however many pairs are about it. `sample.supports` gives the
    examples of a target. Their masks are those of the support's class; none at all where the pair says so.

    Args:
        name: as it appears in records.
        source: where images and masks are.
        pairs: a table of pairs; its rows are the targets, in its order within a query.
        cross_class: "keep" pairs whose support shows another class by mistake, or "drop" them.
        fold: only pairs of this fold.

    Raises:
        DatasetError: no pair is left.
    """

    def __init__(
        self,
        name: str,
        source: ImageSource,
        pairs: pl.DataFrame,
        *,
        cross_class: CrossClassRule = "keep",
        fold: int | None = None,
    ) -> None:
        used = drop_cross_class(pairs) if cross_class == "drop" else pairs
        used = used if fold is None else used.filter(pl.col("fold") == fold)
        if not used.height:
            which = "" if fold is None else f" of fold {fold}"
            raise DatasetError(
                f"{name}: no pairs{which} among {pairs.height}; check the list and the options"
            )
        self.pairs = used
        self.source = source
        self._rows: dict[str, pl.DataFrame] = {
            (f"{query}@{transform}" if transform else str(query)): rows
            for (query, transform), rows in used.group_by(
                ["query", "transform"], maintain_order=True
            )
        }
        digest = sha256(used.write_ndjson())
        super().__init__(
            name, {key: self._files_of(rows) for key, rows in self._rows.items()}, {"pairs": digest}
        )
        self._support = lru_cache(maxsize=SUPPORT_CACHE_SIZE)(self._load_support)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_support"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._support = lru_cache(maxsize=SUPPORT_CACHE_SIZE)(self._load_support)

    def supports_of(self, pair: Mapping[str, Any]) -> tuple[Support, ...]:
        """Return the examples of a pair, a row of `pairs`.

        Raises:
            InvalidImage: an image is missing or unreadable.
            InvalidMask: a mask is, has another size than its image, or does not hold the class.
        """
        return tuple(
            self._support(label, image, pair["support_kind"])
            for label, image in zip(pair["support_classes"], pair["supports"], strict=True)
        )

    def _read(self, sample_id: str, files: Files) -> ImageSample:
        del files
        rows = self._rows[sample_id].to_dicts()
        image = self.source.image(rows[0]["query"])
        masks = {
            label: self._mask(label, rows[0]["query"], image)
            for label in {row["class"] for row in rows}
        }
        if text := rows[0]["transform"]:
            transform = parse_transform(text)
            image = transform.image(image)
            masks = {label: _moved(text, found) for label, found in masks.items()}
        targets = tuple(self._target(row, masks[row["class"]]) for row in rows)
        pairs = {target.id: row for target, row in zip(targets, rows, strict=True)}
        return ImageSample(id=sample_id, image=image, targets=targets, supports=_Shown(self, pairs))

    def _target(self, row: Mapping[str, Any], found: ClassMask) -> Target:
        attributes = {name: _plain(row[name]) for name in _ATTRIBUTES if row[name] is not None}
        shown = {
            "support": " ".join(row["supports"]),
            "support_class": " ".join(row["support_classes"]),
        }
        return Target(
            id=f"{row['list']}/{row['row']}",
            mask=found.mask,
            ignore=found.ignore,
            label=self.source.title(row["class"]),
            attributes={**attributes, **shown},
        )

    def _mask(self, label: str, image: str, pixels: NDArray[np.uint8]) -> ClassMask:
        found = self.source.mask(label, image)
        if found.mask.shape != pixels.shape[:2]:
            raise InvalidMask(
                f"mask of {label} in {image}: expected the shape of the image, got {found.mask.shape}"
            )
        if not found.mask.any():
            raise InvalidMask(
                f"image {image} does not show class {label}, as the list says; its mask is empty"
            )
        return found

    def _load_support(self, label: str, image: str, kind: str) -> Support:
        pixels = self.source.image(image)
        has_mask = kind in ("shown", "no-image")
        if has_mask:
            mask = self._mask(label, image, pixels).mask
        else:
            mask = np.zeros(pixels.shape[:2], dtype=np.bool_)
        pixels = np.zeros_like(pixels) if kind in ("empty", "no-image") else pixels
        name = image if kind == "shown" else f"{image} ({kind})"
        return Support(sample=ImageSample(id=name, image=pixels), mask=mask)

    def _files_of(self, rows: pl.DataFrame) -> Files:
        used = rows.select("class", "query").unique(maintain_order=True).iter_rows()
        return tuple(
            dict.fromkeys(
                chain.from_iterable(self.source.files(label, image) for label, image in used)
            )
        )

    def _oddities(self) -> Iterable[Finding]:
        crossing = self.pairs.height - drop_cross_class(self.pairs).height
        counts = {
            "show another class than they ask for (cross_class='drop' leaves them out)": crossing,
            "show the query image itself": int(is_self_pair(self.pairs).sum()),
            "are there more than once": self.pairs.height
            - self.pairs.select(pl.exclude(PAIR_KEY)).n_unique(),
        }
        for what, count in counts.items():
            if count:
                yield Finding(
                    is_error=False, message=f"{count} of {self.pairs.height} pairs {what}"
                )
        yield from self._missing_supports()

    def _missing_supports(self) -> Iterable[Finding]:
        shown = (
            self.pairs.select("supports", "support_classes")
            .explode("supports", "support_classes")
            .unique()
        )
        missing = chain.from_iterable(
            self.source.missing(label, image) for image, label in shown.iter_rows()
        )
        absent = sorted(set(map(str, missing)))
        if absent:
            message = f"{len(absent)} files of support images are not there, the first: {absent[0]}"
            yield Finding(is_error=True, message=message)


class _Shown(Mapping[str, tuple[Support, ...]]):
    """The examples of each target, loaded when asked for."""

    def __init__(self, dataset: PairDataset, pairs: Mapping[str, Mapping[str, Any]]) -> None:
        self._dataset = dataset
        self._pairs = pairs

    def __getitem__(self, target_id: str) -> tuple[Support, ...]:
        return self._dataset.supports_of(self._pairs[target_id])

    def __iter__(self) -> Iterator[str]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)


def _moved(text: str, found: ClassMask) -> ClassMask:
    transform = parse_transform(text)
    mask = transform.mask(found.mask)
    if not mask.any():
        raise InvalidMask(f"transform {text}: nothing of the object stays in the frame")
    return ClassMask(
        mask=mask, ignore=None if found.ignore is None else transform.mask(found.ignore)
    )


def _plain(value: Any) -> str | float:
    return float(value) if isinstance(value, (bool, int, float)) else str(value)
