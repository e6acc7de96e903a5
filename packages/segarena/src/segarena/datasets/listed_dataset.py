"""Base class of file datasets: sample ids from a listing, lazy loading, and dataset checks."""

from __future__ import annotations

import difflib
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from segarena.datasets.duplicates import DuplicateSearch
from segarena.errors import DatasetMissing, InvalidInput, SampleInvalid
from segarena.files import hashes
from segarena.roles import Finding
from segarena.samples import (
    ImageSample,
    Sample,
    VideoSample,
    VolumeSample,
    check_sample,
    word_of_kind,
)

Files: TypeAlias = tuple[Path, ...]
AnySample = TypeVar("AnySample", ImageSample, VolumeSample, VideoSample)


class CheckTally:
    """Counts of a dataset check, with the words for a sample ("photograph") and a target."""

    def __init__(self, sample_word: str, target_word: str) -> None:
        self.sample_word = sample_word
        self.target_word = target_word
        self.samples = 0
        self.targets = 0
        self.sizes: Counter[str] = Counter()
        self.without_targets: list[str] = []
        self.sides: set[int] = set()
        self.unit = "pixels"

    def add(self, sample: Sample) -> None:
        """Count a loaded sample."""
        self.samples += 1
        self.targets += len(sample.targets)
        for target in sample.targets:
            if "size" in target.attributes:
                self.sizes[str(target.attributes["size"])] += 1
        sides = sample.frame_shape if isinstance(sample, VideoSample) else sample.shape
        self.sides.update(sides)
        if isinstance(sample, VolumeSample):
            self.unit = "voxels"
        if not sample.targets:
            self.without_targets.append(sample.id)

    def __str__(self) -> str:
        counts = [f"{count} {size}" for size, count in sorted(self.sizes.items())]
        sizes = ", ".join(counts)
        which = f" ({sizes})" if sizes else ""
        targets = f"{self.targets} {self.target_word}"
        if self.targets != 1:
            targets += "s"
        samples = f"{self.samples} readable {self.sample_word}"
        if self.samples != 1:
            samples += "s"
        sides = "unknown"
        if self.sides:
            sides = f"{min(self.sides)} to {max(self.sides)} {self.unit}"
        of_images = "" if self.unit == "voxels" else "image "
        return f"{targets}{which} in {samples}; {of_images}sides {sides}"


class ListedDataset(ABC, Generic[AnySample]):
    """A dataset whose files are known from a listing; `load` decodes a sample without caching it.

    Args:
        name: name of the dataset in records.
        files: the files of each sample, by sample id, in the order of evaluation.
        rules: all other settings that determine the targets; part of the fingerprint.
    """

    sample_kind: ClassVar[str] = "image"

    sample_word: ClassVar[str] = ""
    """Word for a sample in the counts of `check`; empty for the word of its kind."""
    target_word: ClassVar[str] = "target"
    """Word for a target in the counts of `check`."""
    # False here, because published datasets contain known duplicates, and datasets of image pairs repeat
    # images on purpose.
    reports_duplicates: ClassVar[bool] = False
    """Whether `check` reports equal samples and equal masks."""

    def __init__(
        self,
        name: str,
        files: Mapping[str, Files],
        rules: Mapping[str, object],
    ) -> None:
        self.name: str = name
        self._files = dict(files)
        self._rules = dict(rules)

    @abstractmethod
    def _read(self, sample_id: str, files: Files) -> AnySample:
        """Read one sample; any `InvalidInput` raised here becomes `SampleInvalid`."""

    def _oddities(self) -> Iterable[Finding]:
        """Return findings that need only the listing."""
        return ()

    def _verdict(self, tally: CheckTally) -> Iterable[Finding]:
        """Return findings based on the counts of the whole dataset."""
        del tally
        return ()

    def assumptions(self, sample_ids: Sequence[str]) -> Sequence[str]:
        """Return the assumptions about ambiguous files, one line each; only headers are read.

        A run records these lines, and `check` reports them.
        """
        del sample_ids
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
        # Hash sizes instead of contents, because every start takes a fingerprint, even of large
        # volumes.
        listing: list[Any] = []
        for sample_id, files in self._files.items():
            sizes = [[file.name, _bytes_in(file)] for file in files]
            listing.append([sample_id, sizes])
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
                hint = "see sample_ids for the existing ones"
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
        for assumption in self.assumptions(self.sample_ids):
            findings.append(Finding(is_error=False, message=assumption))
        sample_word = self.sample_word or word_of_kind(self.sample_kind)
        tally = CheckTally(sample_word, self.target_word)
        duplicates = DuplicateSearch()
        for sample_id in self._files:
            try:
                sample = self.load(sample_id)
            except SampleInvalid as error:
                findings.append(Finding(is_error=True, message=str(error)))
                continue
            tally.add(sample)
            if self.reports_duplicates:
                duplicates.add(sample)
        findings.extend(duplicate_findings(duplicates))
        findings.extend(self._verdict(tally))
        if tally.without_targets:
            names = abbreviate_names(tally.without_targets)
            message = (
                f"samples without a target are ignored ({len(tally.without_targets)}): {names}"
            )
            findings.append(Finding(is_error=False, message=message))
        findings.append(Finding(is_error=False, message=f"{self.name}: {tally}"))
        return findings


def require_folder(
    folder: Path,
    what: str,
    layout: str,
) -> Path:
    """Return `folder`, or raise an error if it is missing.

    Args:
        folder: expected path.
        what: description of its content, for the message.
        layout: expected layout, in one line.

    Raises:
        DatasetMissing: the folder is missing.
    """
    if not folder.is_dir():
        raise DatasetMissing(
            f"{folder}: expected a folder with {what}, found none; the layout is {layout}"
        )
    return folder


def abbreviate_names(names: Sequence[str], most: int = 5) -> str:
    """Return the first few names as text, with the number of omitted ones."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def duplicate_findings(search: DuplicateSearch) -> Iterable[Finding]:
    """Return a remark for each kind of copies that a search found."""
    for copies in search.copies():
        message = f"{copies.what}: {abbreviate_names(copies.names)}; remove the copies"
        yield Finding(is_error=False, message=message)


def _bytes_in(file: Path) -> int:
    # Loading the sample reports a missing file, with the name of the sample.
    try:
        return file.stat().st_size
    except OSError:
        return -1
