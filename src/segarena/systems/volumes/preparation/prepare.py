"""From a download folder to dataset folders: unpack, convert case by case, count, and say what is missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from segarena.errors import DatasetError, DatasetMissing, SampleInvalid
from segarena.systems.volumes.files.nifti import import_nibabel
from segarena.systems.volumes.preparation.fetching import fetch
from segarena.systems.volumes.preparation.published import Converted, LabelArray, PublishedSet, RawCase, Skipped
from segarena.systems.volumes.preparation.records import CaseRecord, Journal, input_files, write_dataset, write_summary
from segarena.systems.volumes.preparation.transfer import Web
from segarena.systems.volumes.preparation.unpacking import unpack
from segarena.systems.volumes.preparation.volumes import ENDING, share, write_labels, write_volume

Progress = Callable[[str, int, int], None]
"""Called with the name of a case, how many cases are done, and how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What a preparation came to.

    Attributes:
        stated: cases that Table 1 of the paper states.
        cases: those that are there now.
        left_out: those that the published rule leaves out, with the reason.
        failed: those that could not be used, with the reason.
        is_partial: a limit kept further cases from being prepared.
    """

    name: str
    folders: tuple[Path, ...]
    stated: int
    cases: tuple[CaseRecord, ...]
    left_out: dict[str, str] = field(default_factory=dict[str, str])
    failed: dict[str, str] = field(default_factory=dict[str, str])
    is_partial: bool = False

    @property
    def is_as_stated(self) -> bool:
        """Whether nothing failed and the count is the paper's."""
        return not self.failed and len(self.cases) == self.stated


def prepare(
    published: PublishedSet,
    download: Path,
    out: Path,
    *,
    password: str | None = None,
    limit: int | None = None,
    on_progress: Progress | None = None,
) -> Prepared:
    """Convert what lies in a download folder, and return what came of it.

    A case that is there already, from input files of the same sizes, is not converted again, so that running it again
    goes on where it stopped. Cases that cannot be used are counted and named in `prepared.json`; the others go on.

    Args:
        published: the set.
        download: the folder with its archives, or with what was in them, in any layout.
        out: becomes the dataset folder, or holds one for each of the set's outputs.
        password: of encrypted archives.
        limit: convert only the first so many cases, to try it out.
        on_progress: called after each case.

    Raises:
        DatasetMissing: the folder, or everything in it, is missing.
        DatasetError: an archive is damaged or its password wrong, `out` holds another set, or the disk is full.
        MissingExtra: SimpleITK, nibabel or pydicom is not installed.
    """
    _check_packages()
    if not download.is_dir():
        raise DatasetMissing(
            f"{download}: expected a folder with {published.title}, found none; {how_to_get(published)}"
        )
    try:
        journal = Journal(out, published.name)
        unpack_archives(published, download, password=password)
        return _convert_all(published, download, journal, limit, on_progress)
    except OSError as error:
        raise DatasetError(
            f"{error.filename or out}: {error.strerror or error}; make room or allow writing, and run it again: "
            "it goes on from here"
        ) from error


def _check_packages() -> None:
    """Raise MissingExtra before hours of unpacking, and not after."""
    import_module("segarena.systems.volumes.preparation.radiology")  # says which package is missing
    import_nibabel()


def fetch_set(published: PublishedSet, download: Path, *, web: Web | None = None) -> int:
    """Fetch a set to a folder, and return how many files it has; see `fetching.fetch`."""
    return fetch(published.source, download, web=web)


def how_to_get(published: PublishedSet) -> str:
    """Return in one line how the files of a set are had."""
    source = published.source
    if source.needs:
        return f"save {source.needs} there"
    return f"fetch it with --fetch ({published.size_gb:g} GB from {source.page})"


def unpack_archives(published: PublishedSet, download: Path, *, password: str | None = None) -> list[Path]:
    """Unpack the archives of a set beside themselves, each to a folder of its name; return these folders."""
    archives = sorted({path for pattern in published.archives for path in download.glob(pattern)})
    for archive in archives:
        unpack(archive, archive.with_suffix(""), password=password)
    return [archive.with_suffix("") for archive in archives]


def _convert_all(
    published: PublishedSet, download: Path, journal: Journal, limit: int | None, on_progress: Progress | None
) -> Prepared:
    found = list(_distinct(published.find(download)))
    if not found:
        raise DatasetMissing(f"{download}: found no case of {published.title}; {how_to_get(published)}")
    skipped = [case for case in found if isinstance(case, Skipped)]
    raw = [case for case in found if isinstance(case, RawCase)]
    records: list[CaseRecord] = []
    for place, case in enumerate(raw):
        record = journal.done(case, download, published.outputs)
        if record is None and (limit is None or place < limit):
            record = _convert_one(published, case, download, journal)
        if isinstance(record, CaseRecord):
            records.append(record)
        elif record is not None:
            skipped.append(record)
        if on_progress:
            on_progress(case.id, place + 1, len(raw))
    return _finish(published, journal, records, skipped, is_partial=limit is not None and limit < len(raw))


def _convert_one(published: PublishedSet, case: RawCase, download: Path, journal: Journal) -> CaseRecord | Skipped:
    try:
        converted = case.convert()
        if isinstance(converted, Skipped):
            return converted
        instances = {one.folder: _count(case.id, converted, one.folder) for one in published.outputs}
    # ITK raises RuntimeError and pydicom ValueError on files that are damaged in ways of their own.
    except (SampleInvalid, RuntimeError, ValueError, MemoryError) as error:
        return Skipped(id=case.id, reason=str(error) or type(error).__name__, by_rule=False)
    images = [journal.out / output.folder / "imagesTr" / f"{case.id}_0000{ENDING}" for output in published.outputs]
    for output, image in zip(published.outputs, images, strict=True):
        labels = journal.out / output.folder / "labelsTr" / case.id
        write_labels(converted.labels[output.folder], converted.image, labels)
        if image == images[0]:
            write_volume(converted.image, image)
        else:
            share(images[0], image)
    record = CaseRecord(id=case.id, inputs=input_files(case, download), objects=instances, notes=converted.notes)
    journal.add(record)
    return record


def _finish(
    published: PublishedSet, journal: Journal, records: list[CaseRecord], skipped: list[Skipped], *, is_partial: bool
) -> Prepared:
    reasons = {case.id: case.reason for case in skipped}
    for case in journal.others([record.id for record in records], published.outputs):
        reason = f"{reasons[case]}; " if case in reasons else ""
        reason += (
            "an earlier result lies in the folder and is not of this download; delete it, or fetch its files again"
        )
        skipped = [*(one for one in skipped if one.id != case), Skipped(id=case, reason=reason, by_rule=False)]
    prepared = Prepared(
        name=published.name,
        folders=tuple(journal.out / output.folder for output in published.outputs),
        stated=published.cases,
        cases=tuple(records),
        left_out={case.id: case.reason for case in skipped if case.by_rule},
        failed={case.id: case.reason for case in skipped if not case.by_rule},
        is_partial=is_partial,
    )
    for output in published.outputs:
        write_dataset(published, output, journal.out, len(records))
    write_summary(
        published, journal, records, left_out=prepared.left_out, failed=prepared.failed, is_partial=is_partial
    )
    return prepared


def _count(case: str, converted: Converted, folder: str) -> int:
    labels = converted.labels[folder]
    count = len(labels) if isinstance(labels, Mapping) else _ids(labels)
    if not count:
        raise SampleInvalid(f"{case}: expected something labelled{f' for {folder}' if folder else ''}, found nothing")
    return count


def _ids(labels: LabelArray) -> int:
    import numpy as np

    return int(np.count_nonzero(np.unique(labels)))


def _distinct(cases: Iterable[RawCase | Skipped]) -> Iterator[RawCase | Skipped]:
    """Yield cases; one whose name was there before, or is no name for a file, is yielded as failed."""
    names: set[str] = set()
    for case in cases:
        if not re.fullmatch(r"\w[\w.+-]*", case.id):
            yield Skipped(id=case.id, reason="its name cannot be the name of a file", by_rule=False)
        elif case.id in names:
            yield Skipped(id=f"{case.id} (again)", reason="a second case of this name", by_rule=False)
        else:
            names.add(case.id)
            yield case
