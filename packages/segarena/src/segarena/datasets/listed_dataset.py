"""Base class of datasets of files: sample ids from a listing, lazy loading, and the check."""

from __future__ import annotations

import difflib
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from segarena.errors import DatasetMissing, InvalidInput, SampleInvalid
from segarena.files import hashes
from segarena.roles import Finding
from segarena.samples import ImageSample, Sample, VideoSample, VolumeSample, check_sample

Files: TypeAlias = tuple[Path, ...]
AnySample = TypeVar("AnySample", ImageSample, VolumeSample, VideoSample)


class CheckTally:
    """Counts of a dataset check."""

    def __init__(self) -> None:
        self.samples = 0
        self.targets = 0
        self.sizes: Counter[str] = Counter()
        self.without_targets: list[str] = []
        self.sides_px: set[int] = set()

    def add(self, sample: Sample) -> None:
        """Count a loaded sample."""
        self.samples += 1
        self.targets += len(sample.targets)
        for target in sample.targets:
            if "size" in target.attributes:
                self.sizes[str(target.attributes["size"])] += 1
        sides = sample.frame_shape if isinstance(sample, VideoSample) else sample.shape
        self.sides_px.update(sides)
        if not sample.targets:
            self.without_targets.append(sample.id)

    def __str__(self) -> str:
        sizes = ", ".join(f"{count} {size}" for size, count in sorted(self.sizes.items()))
        if self.sides_px:
            sides = f"{min(self.sides_px)} to {max(self.sides_px)} pixels"
        else:
            sides = "unknown"
        which = f" ({sizes})" if sizes else ""
        return (
            f"{self.targets} targets{which} in {self.samples} readable samples; image sides {sides}"
        )


class ListedDataset(ABC, Generic[AnySample]):
    """A dataset of files known from a listing; `load` decodes a sample, and nothing is cached.

    Args:
        name: as it appears in records.
        files: the files of each sample, by sample id, in the order of evaluation.
        rules: everything else that determines the targets; part of the fingerprint.
    """

    sample_kind: ClassVar[str] = "image"

    def __init__(self, name: str, files: Mapping[str, Files], rules: Mapping[str, object]) -> None:
        self.name: str = name
        self._files = dict(files)
        self._rules = dict(rules)

    @abstractmethod
    def _read(self, sample_id: str, files: Files) -> AnySample:
        """Read one sample; any `InvalidInput` raised here becomes `SampleInvalid`."""

    def _oddities(self) -> Iterable[Finding]:
        """Return findings from the listing alone."""
        return ()

    def _verdict(self, tally: CheckTally) -> Iterable[Finding]:
        """Return findings from the counts of the whole dataset."""
        del tally
        return ()

    @property
    def sample_ids(self) -> Sequence[str]:
        """All sample ids, in the order of evaluation."""
        return tuple(self._files)

    def files_of(self, sample_id: str) -> Files:
        """Return the files of a sample."""
        return self._files[sample_id]

    @cached_property
    def fingerprint(self) -> str:
        """Hash of sample ids, file names, file sizes in bytes and rules, without times and folders."""
        listing: list[Any] = []
        for sample_id, files in self._files.items():
            listing.append([sample_id, [[file.name, _bytes_in(file)] for file in files]])
        text = json.dumps([self._rules, listing], sort_keys=True, default=str)
        return hashes.fingerprint(text)

    def load(self, sample_id: str) -> AnySample:
        """Read one sample.

        Raises:
            SampleInvalid: the sample does not exist, or its files are invalid.
        """
        if sample_id not in self._files:
            near = difflib.get_close_matches(sample_id, self._files, n=3)
            if near:
                hint = f"did you mean {' or '.join(map(repr, near))}?"
            else:
                hint = "see sample_ids for those there are"
            raise SampleInvalid(f"dataset {self.name} has no sample {sample_id!r}; {hint}")
        try:
            sample = self._read(sample_id, self._files[sample_id])
            check_sample(sample)
        except InvalidInput as error:
            raise SampleInvalid(f"sample {sample_id!r}: {error}") from error
        return sample

    def check(self) -> Sequence[Finding]:
        """Load every sample once and return errors, anomalies and counts."""
        findings = list(self._oddities())
        tally = CheckTally()
        for sample_id in self._files:
            try:
                tally.add(self.load(sample_id))
            except SampleInvalid as error:
                findings.append(Finding(is_error=True, message=str(error)))
        findings.extend(self._verdict(tally))
        if tally.without_targets:
            names = abbreviate_names(tally.without_targets)
            message = (
                f"{len(tally.without_targets)} samples have no target and add nothing: {names}"
            )
            findings.append(Finding(is_error=False, message=message))
        findings.append(Finding(is_error=False, message=f"{self.name}: {tally}"))
        return findings


def require_folder(folder: Path, what: str, layout: str) -> Path:
    """Return `folder`, or raise an error if it is missing.

    Args:
        folder: expected path.
        what: its content, for the message.
        layout: expected layout, in one line.

    Raises:
        DatasetMissing: it is missing.
    """
    if not folder.is_dir():
        raise DatasetMissing(
            f"{folder}: expected a folder with {what}, found none; the layout is {layout}"
        )
    return folder


def abbreviate_names(names: Sequence[str], most: int = 5) -> str:
    """Return the first few names as text, and the number of further ones."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _bytes_in(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return -1
