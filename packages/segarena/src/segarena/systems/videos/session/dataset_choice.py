"""Choice of a session's dataset: DAVIS from a folder, or another dataset, optionally restricted to some sequences."""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from segarena.errors import DatasetMissing, InvalidInput
from segarena.plugin_capabilities import FileListing
from segarena.plugin_spec import Plugin, PluginSpec
from segarena.registry import build, find
from segarena.roles import Dataset, Finding
from segarena.samples import Sample

LOCAL_SUBSETS = ("train", "val", "trainval")


class DatasetSubset:
    """A subset of the samples of another dataset."""

    def __init__(self, dataset: Dataset, sample_ids: Sequence[str]) -> None:
        self.name = dataset.name
        self.sample_ids: Sequence[str] = tuple(sample_ids)
        self.fingerprint = dataset.fingerprint
        self._dataset = dataset
        if isinstance(dataset, FileListing):
            self.files_of = dataset.files_of

    def load(self, sample_id: str) -> Sample:
        """Read one sample."""
        return self._dataset.load(sample_id)

    def check(self) -> Sequence[Finding]:
        """Return the findings of the whole dataset."""
        return self._dataset.check()


def choose_dataset(
    dataset: Plugin | Dataset | None,
    davis_root: str | Path | None,
    subset: str,
    sequences: Sequence[str] | None,
) -> Plugin | Dataset:
    """Return the dataset for a plan: a specification if possible, so that reports can load it again.

    Raises:
        InvalidInput: there is no dataset, there are two, or the subset is unknown or has no ground
            truth.
        DatasetMissing: a sequence does not exist in a dataset that cannot select sequences itself.
    """
    if subset not in LOCAL_SUBSETS:
        raise InvalidInput(
            f"subset: expected one of {', '.join(LOCAL_SUBSETS)}, got {subset!r}; "
            "only a server evaluates the other subsets"
        )
    if dataset is None:
        return _davis(davis_root, subset, sequences)
    if davis_root is not None:
        raise InvalidInput("davis_root and dataset: expected only one of them, got both")
    if sequences is None:
        return dataset
    if isinstance(dataset, Plugin):
        spec = PluginSpec.of(dataset)
        if "sequences" in inspect.signature(find("dataset", spec.reference)).parameters:
            return replace(spec, options={**spec.options, "sequences": tuple(sequences)})
        return _only(build("dataset", spec), sequences)
    return _only(dataset, sequences)


def _only(dataset: Dataset, sequences: Sequence[str]) -> Dataset:
    missing = [name for name in sequences if name not in dataset.sample_ids]
    if missing:
        raise DatasetMissing(f"dataset {dataset.name} has no sequence {', '.join(missing)}")
    wanted = set(sequences)
    # In the order of the dataset, as if the dataset had selected them itself.
    sample_ids = [name for name in dataset.sample_ids if name in wanted]
    return DatasetSubset(dataset, sample_ids)


def _davis(
    davis_root: str | Path | None,
    subset: str,
    sequences: Sequence[str] | None,
) -> PluginSpec:
    root = davis_root or os.environ.get("DATASET_DAVIS")
    if not root:
        raise InvalidInput(
            "davis_root: expected the folder with JPEGImages, or the environment variable DATASET_DAVIS; "
            "or name another dataset, such as dataset='demo-videos'"
        )
    options: dict[str, object] = {"path": str(root), "subset": subset}
    if sequences is not None:
        options["sequences"] = tuple(sequences)
    return PluginSpec("davis", options)
