"""Dataset of pairs: each sample is a query image, and each of its targets is a pair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.datasets.listed_dataset import Files, ListedDataset
from segarena.datasets.mask_orientation import MaskedPhotograph, orientation_assumptions
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
"""Number of supports kept in memory; pairs with the same support share the object."""

CrossClassRule: TypeAlias = Literal["keep", "drop"]

_NON_ATTRIBUTES = ("supports", "support_classes", "transform", "support_kind")
_ATTRIBUTES = tuple(name for name in PAIR_COLUMNS if name not in _NON_ATTRIBUTES)


class PairDataset(ListedDataset[ImageSample]):
    """Query images whose targets are pairs.

    Each combination of a query image and a transform is one sample, and all pairs with this query
    are its targets. A target's id is LIST/ROW. Its attributes are the values of the pair, except
    missing ones, the transform and the kind of support; the images and classes of the supports are
    in `support` and `support_class`, separated by spaces. `sample.supports` loads the supports of
    a target on access. Their masks show the support's class, or are empty where the pair requests
    that.

    Args:
        name: name of the dataset in records.
        source: images and masks.
        pairs: a table of pairs; each row becomes a target, in table order within a query.
        cross_class: "keep" or "drop" pairs whose support shows another class by mistake.
        fold: use only pairs of this fold; None uses all.

    Raises:
        DatasetError: no pair is left.
    """

    sample_word = "query image"
    target_word = "pair"

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
                f"{name}: expected pairs{which}, found none among {pairs.height}; "
                "check the list and the options"
            )
        self.pairs = used
        self.source = source
        self._rows: dict[str, pl.DataFrame] = {}
        groups = used.group_by(["query", "transform"], maintain_order=True)
        for (query, transform), rows in groups:
            sample_id = f"{query}@{transform}" if transform else str(query)
            self._rows[sample_id] = rows
        files = {sample_id: self._query_files(rows) for sample_id, rows in self._rows.items()}
        super().__init__(name, files, {"pairs": sha256(used.write_ndjson())})
        self._support = lru_cache(maxsize=SUPPORT_CACHE_SIZE)(self._load_support)

    def __getstate__(self) -> dict[str, Any]:
        # Each worker process creates its own cache, because caches cannot be pickled.
        return {name: value for name, value in self.__dict__.items() if name != "_support"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._support = lru_cache(maxsize=SUPPORT_CACHE_SIZE)(self._load_support)

    def supports_of(self, pair: Mapping[str, Any]) -> tuple[Support, ...]:
        """Return the supports of a pair, which is given as a row of `pairs`.

        Raises:
            InvalidImage: an image is missing or unreadable.
            InvalidMask: a mask is missing or unreadable, differs in size from its image, or does
                not show the class.
        """
        kind = pair["support_kind"]
        supports: list[Support] = []
        for label, image in zip(pair["support_classes"], pair["supports"], strict=True):
            supports.append(self._support(label, image, kind))
        return tuple(supports)

    def _read(self, sample_id: str, files: Files) -> ImageSample:
        del files
        rows = self._rows[sample_id].to_dicts()
        query = rows[0]["query"]
        transform_text = rows[0]["transform"]
        image = self.source.image(query)
        masks: dict[str, ClassMask] = {}
        for label in {row["class"] for row in rows}:
            masks[label] = self._load_mask(label, query, image)
        if transform_text:
            # In level L1 of TOSS the query is transformed, and its ground truth with it.
            image = parse_transform(transform_text).image(image)
            masks = {label: _transform_mask(transform_text, mask) for label, mask in masks.items()}
        targets = tuple(self._make_target(row, masks[row["class"]]) for row in rows)
        pairs = {target.id: row for target, row in zip(targets, rows, strict=True)}
        supports = _LazySupports(self, pairs)
        return ImageSample(
            id=sample_id,
            image=image,
            targets=targets,
            supports=supports,
        )

    def _make_target(self, row: Mapping[str, Any], mask: ClassMask) -> Target:
        attributes = {
            name: _plain_value(row[name]) for name in _ATTRIBUTES if row[name] is not None
        }
        attributes["support"] = " ".join(row["supports"])
        attributes["support_class"] = " ".join(row["support_classes"])
        return Target(
            id=f"{row['list']}/{row['row']}",
            mask=mask.mask,
            ignore=mask.ignore,
            label=self.source.title(row["class"]),
            attributes=attributes,
        )

    def _load_mask(
        self,
        label: str,
        image: str,
        pixels: NDArray[np.uint8],
    ) -> ClassMask:
        loaded = self.source.mask(label, image)
        if loaded.mask.shape != pixels.shape[:2]:
            raise InvalidMask(
                f"mask of {label} in {image}: expected the shape of the image, got "
                f"{loaded.mask.shape}"
            )
        if not loaded.mask.any():
            raise InvalidMask(
                f"image {image} has an empty mask of class {label}, which the list requests"
            )
        return loaded

    def _load_support(
        self,
        label: str,
        image: str,
        kind: str,
    ) -> Support:
        pixels = self.source.image(image)
        has_mask = kind in ("shown", "no-image")
        if has_mask:
            mask = self._load_mask(label, image, pixels).mask
        else:
            mask = np.zeros(pixels.shape[:2], dtype=np.bool_)
        if kind in ("empty", "no-image"):
            pixels = np.zeros_like(pixels)
        # Encoded supports are cached by sample id, so a support of another kind needs an id of its
        # own.
        name = image if kind == "shown" else f"{image} ({kind})"
        return Support(sample=ImageSample(id=name, image=pixels), mask=mask)

    def _query_files(self, rows: pl.DataFrame) -> Files:
        # All rows of a sample share the query image but often request different classes.
        items = rows.select("class", "query").unique(maintain_order=True)
        files: dict[Path, None] = {}  # a dict drops repeated files and keeps their order
        for label, image in items.iter_rows():
            files.update(dict.fromkeys(self.source.files(label, image)))
        return tuple(files)

    def assumptions(self, sample_ids: Sequence[str]) -> Sequence[str]:
        """State the assumed orientation of query and support masks that have no orientation tag."""
        shown: dict[tuple[str, str], None] = {}  # a dict drops repeated items and keeps their order
        columns = ("support_classes", "supports")
        for sample_id in sample_ids:
            rows = self._rows[sample_id]
            shown.update(dict.fromkeys(rows.select("class", "query").iter_rows()))
            supports = rows.select(columns).explode(columns)
            shown.update(dict.fromkeys(supports.iter_rows()))
        pictures: list[MaskedPhotograph] = []
        for label, image in shown:
            files = self.source.files(label, image)
            if files:
                pictures.append(MaskedPhotograph(files[0], files[1:]))
        return orientation_assumptions(
            pictures, "upright", remedy="rotate the masks, or remove the tag of the photographs"
        )

    def _oddities(self) -> Iterable[Finding]:
        total = self.pairs.height
        crossing = total - drop_cross_class(self.pairs).height
        repeated = total - self.pairs.select(pl.exclude(PAIR_KEY)).n_unique()
        counts = {
            "that show a class other than the requested one (cross_class='drop' leaves them out)": crossing,
            "that show the query image itself": int(is_self_pair(self.pairs).sum()),
            "that repeat an earlier pair": repeated,
        }
        for predicate, count in counts.items():
            if count:
                message = f"pairs {predicate}: {count} of {total}"
                yield Finding(is_error=False, message=message)
        transformed = self.pairs.filter(pl.col("transform") != "")
        if transformed.height:
            copies = transformed.select("query", "transform").n_unique()
            verb = "is a transformed copy" if copies == 1 else "are transformed copies"
            message = (
                f"{copies} of {len(self._rows)} query images {verb} of a photograph; "
                f"the pairs use {self.pairs['query'].n_unique()} photographs as queries"
            )
            yield Finding(is_error=False, message=message)
        yield from self._missing_supports()

    def _missing_supports(self) -> Iterable[Finding]:
        columns = ("support_classes", "supports")
        supports = self.pairs.select(columns).explode(columns).unique()
        missing: set[str] = set()
        for label, image in supports.iter_rows():
            for file in self.source.missing(label, image):
                missing.add(str(file))
        if missing:
            message = f"missing files of support images: {len(missing)}, the first: {min(missing)}"
            yield Finding(is_error=True, message=message)


class _LazySupports(Mapping[str, tuple[Support, ...]]):
    """Mapping from each target's id to its supports, which are loaded on access."""

    def __init__(self, dataset: PairDataset, pairs: Mapping[str, Mapping[str, Any]]) -> None:
        self._dataset = dataset
        self._pairs = pairs

    def __getitem__(self, target_id: str) -> tuple[Support, ...]:
        return self._dataset.supports_of(self._pairs[target_id])

    def __iter__(self) -> Iterator[str]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)


def _transform_mask(text: str, original: ClassMask) -> ClassMask:
    transform = parse_transform(text)
    mask = transform.mask(original.mask)
    if not mask.any():
        raise InvalidMask(f"transform {text}: no part of the object stays in the frame")
    ignore = original.ignore
    if ignore is not None:
        ignore = transform.mask(ignore)
    return ClassMask(mask=mask, ignore=ignore)


def _plain_value(value: Any) -> str | float:
    is_number = isinstance(value, (bool, int, float))
    return float(value) if is_number else str(value)
