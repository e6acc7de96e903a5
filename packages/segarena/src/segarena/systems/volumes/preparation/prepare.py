"""From a download folder to dataset folders: unpack, convert case by case, count, and say what is missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from segarena.errors import DatasetMissing, SampleInvalid
from segarena.files.unpacking import unpack
from segarena.files.whole import cannot_write, clear_leftovers
from segarena.systems.volumes.files.nifti import import_nibabel
from segarena.systems.volumes.preparation.published_set import (
    ConvertedCase,
    DatasetOutput,
    PublishedSet,
    RawCase,
    SkippedCase,
)
from segarena.systems.volumes.preparation.sitk_images import (
    ENDING,
    link_or_copy,
    write_image,
    write_labels,
)
from segarena.systems.volumes.preparation.summary_files import (
    CaseRecord,
    PreparationJournal,
    PreparationResult,
    describe_inputs,
    write_dataset_json,
    write_prepared_json,
)
from segarena.work.executors import make_executor
from segarena.work.jobs import Executor, FunctionJob
from segarena.work.progress import OnProgress, ignore_progress
from segarena.work.resumable_work import do_pending


def prepare_set(
    published: PublishedSet,
    download: Path,
    out: Path,
    *,
    password: str | None = None,
    limit: int | None = None,
    workers: int = 0,
    on_progress: OnProgress = ignore_progress,
) -> PreparationResult:
    """Convert what lies in a download folder, and return what came of it.

    A case that is there already, from input files of the same sizes, is not converted again, so that running it again
    goes on where it stopped. Cases that cannot be used are counted and named in `prepared.json`; the others go on.

    Args:
        published: the set.
        download: the folder with its archives, or with what was in them, in any layout.
        out: becomes the dataset folder, or holds one for each of the set's outputs.
        password: of encrypted archives.
        limit: convert only the first so many cases, to try it out.
        workers: processes; 0 works in this one.
        on_progress: told when it starts and after each case.

    Raises:
        DatasetMissing: the folder, or everything in it, is missing.
        DatasetError: an archive is damaged or its password wrong, or `out` holds another set.
        StoreError: the disk is full, or `out` cannot be written or is in use.
        MissingExtra: SimpleITK, nibabel or pydicom is not installed.
    """
    # A missing package is told before hours of unpacking, and not after.
    import_module("segarena.systems.volumes.preparation.optional_packages")
    import_nibabel()
    if not download.is_dir():
        hint = describe_access(published)
        raise DatasetMissing(
            f"{download}: expected a folder with {published.title}, found none; {hint}"
        )
    executor = make_executor(workers)
    with PreparationJournal(out, published.name) as journal:
        try:
            unpack_archives(published, download, password=password)
        except OSError as error:
            raise cannot_write(Path(error.filename or download), error) from error
        return _convert_all(published, download, journal, limit, executor, on_progress)


def describe_access(published: PublishedSet) -> str:
    """Return in one line how to obtain the files of a set."""
    if published.source.needs:
        return f"save {published.source.needs} there"
    return f"fetch it with --fetch ({published.size_gb:g} GB from {published.source.page})"


def unpack_archives(
    published: PublishedSet, download: Path, *, password: str | None = None
) -> list[Path]:
    """Unpack the archives of a set beside themselves, each to a folder of its name; return these folders."""
    archives = sorted({path for pattern in published.archives for path in download.glob(pattern)})
    for archive in archives:
        unpack(archive, archive.with_suffix(""), password=password)
    return [archive.with_suffix("") for archive in archives]


def _convert_all(
    published: PublishedSet,
    download: Path,
    journal: PreparationJournal,
    limit: int | None,
    executor: Executor,
    on_progress: OnProgress,
) -> PreparationResult:
    found = list(_distinct(published.find(download)))
    if not found:
        raise DatasetMissing(
            f"{download}: found no case of {published.title}; {describe_access(published)}"
        )
    skipped = [case for case in found if isinstance(case, SkippedCase)]
    raw = [case for case in found if isinstance(case, RawCase)]
    for output in published.outputs:
        clear_leftovers(journal.out / output.folder / "imagesTr")
        clear_leftovers(journal.out / output.folder / "labelsTr")
    units: dict[str, RawCase] = {}
    done = journal.ledger.done
    for place, case in enumerate(raw):
        record = journal.done(case, download, published.outputs)
        if record is not None or limit is None or place < limit:
            units[case.id] = case
        # What was noted counts only as long as inputs and results are as they were.
        done.pop(case.id, None)
        if record is not None:
            done[case.id] = asdict(record)
    job = FunctionJob(
        partial(_convert_one, outputs=published.outputs, download=download, out=journal.out)
    )
    failures = do_pending(
        job, units, journal.ledger, executor, stage="convert", on_progress=on_progress
    )
    noted = [(case, done[case]) for case in units if case in done]
    records = [CaseRecord.of(about) for _, about in noted if "left_out" not in about]
    skipped += [
        SkippedCase(id=case, reason=about["left_out"], by_rule=True)
        for case, about in noted
        if "left_out" in about
    ]
    skipped += [
        SkippedCase(id=case, reason=str(error), by_rule=False) for case, error in failures.items()
    ]
    return _finish(
        published, journal, records, skipped, is_partial=limit is not None and limit < len(raw)
    )


def _convert_one(
    case: RawCase, *, outputs: tuple[DatasetOutput, ...], download: Path, out: Path
) -> dict[str, Any]:
    """Write the results of a case, and return its record in plain values, or why the rule leaves it out."""
    converted = case.convert()
    if isinstance(converted, SkippedCase):
        if not converted.by_rule:
            raise SampleInvalid(converted.reason)
        return {"left_out": converted.reason}
    instances = {one.folder: _count(case.id, converted, one.folder) for one in outputs}
    images = [out / output.folder / "imagesTr" / f"{case.id}_0000{ENDING}" for output in outputs]
    for output, image in zip(outputs, images, strict=True):
        labels = out / output.folder / "labelsTr" / case.id
        write_labels(converted.labels[output.folder], converted.image, labels)
        if image == images[0]:
            write_image(converted.image, image)
        else:
            link_or_copy(images[0], image)
    return asdict(
        CaseRecord(
            id=case.id,
            inputs=describe_inputs(case, download),
            objects=instances,
            notes=converted.notes,
        )
    )


def _finish(
    published: PublishedSet,
    journal: PreparationJournal,
    records: list[CaseRecord],
    skipped: list[SkippedCase],
    *,
    is_partial: bool,
) -> PreparationResult:
    reasons = {case.id: case.reason for case in skipped}
    for case in journal.others([record.id for record in records], published.outputs):
        reason = f"{reasons[case]}; " if case in reasons else ""
        reason += "an earlier result lies in the folder and is not of this download; delete it, or fetch its files again"
        skipped = [
            *(one for one in skipped if one.id != case),
            SkippedCase(id=case, reason=reason, by_rule=False),
        ]
    prepared = PreparationResult(
        name=published.name,
        folders=tuple(journal.out / output.folder for output in published.outputs),
        stated=published.cases,
        cases=tuple(records),
        left_out={case.id: case.reason for case in skipped if case.by_rule},
        failed={case.id: case.reason for case in skipped if not case.by_rule},
        is_partial=is_partial,
    )
    for output in published.outputs:
        write_dataset_json(published, output, journal.out, len(records))
    write_prepared_json(published, journal, prepared)
    return prepared


def _count(case: str, converted: ConvertedCase, folder: str) -> int:
    labels = converted.labels[folder]
    if isinstance(labels, Mapping):
        count = len(labels)
    else:
        count = int(np.count_nonzero(np.unique(labels)))
    if not count:
        raise SampleInvalid(
            f"{case}: expected something labelled{f' for {folder}' if folder else ''}, found nothing"
        )
    return count


def _distinct(cases: Iterable[RawCase | SkippedCase]) -> Iterator[RawCase | SkippedCase]:
    """Yield cases; one whose name was there before, or is no name for a file, is yielded as failed."""
    names: set[str] = set()
    for case in cases:
        if not re.fullmatch(r"\w[\w.+-]*", case.id):
            yield SkippedCase(
                id=case.id, reason="its name cannot be the name of a file", by_rule=False
            )
        elif case.id in names:
            yield SkippedCase(
                id=f"{case.id} (again)", reason="a second case of this name", by_rule=False
            )
        else:
            names.add(case.id)
            yield case
