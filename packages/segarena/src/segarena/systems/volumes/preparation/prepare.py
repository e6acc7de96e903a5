"""Preparation of a dataset from its download folder: unpack, convert each case, count, and list skipped cases."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from segarena.errors import DatasetMissing, SampleInvalid
from segarena.files.atomic_write import clear_leftovers, write_error
from segarena.files.zip_archives import extract_zip
from segarena.systems.volumes.files.nifti import import_nibabel
from segarena.systems.volumes.preparation.dataset_case_types import (
    ConvertedCase,
    DatasetOutput,
    PublishedSet,
    RawCase,
    SkippedCase,
)
from segarena.systems.volumes.preparation.optional_packages import check_packages
from segarena.systems.volumes.preparation.preparation_metadata_files import (
    CaseRecord,
    PreparationJournal,
    PreparationResult,
    describe_inputs,
    write_dataset_json,
    write_prepared_json,
)
from segarena.systems.volumes.preparation.sitk_images import (
    ENDING,
    link_or_copy,
    write_image,
    write_labels,
)
from segarena.work.executors import make_executor
from segarena.work.jobs import Executor, FunctionJob
from segarena.work.progress import OnProgress, ignore_progress
from segarena.work.resumable_work import do_pending

_FOREIGN_RESULT = (
    "the folder contains an earlier result from a different download; "
    "delete it, or download its files again"
)


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
    """Convert the contents of a download folder to dataset folders, and return the result.

    Existing cases whose input files have the recorded sizes are not converted again, so that
    calling the function again resumes after an interruption. Unusable cases are counted and listed
    in `prepared.json`; the other cases are still converted.

    Args:
        published: the dataset to prepare.
        download: the folder with the dataset's archives, or with their contents, in any layout.
        out: the dataset folder to write, or its parent folder if the dataset has several outputs.
        password: password of encrypted archives.
        limit: convert only this many cases, for a trial.
        workers: number of processes; 0 converts in this process.
        on_progress: callback, called at the start and after each case.

    Raises:
        DatasetMissing: the folder is missing or empty.
        DatasetError: an archive is damaged or its password wrong, or `out` contains a different
            dataset.
        StoreError: the disk is full, or `out` cannot be written or is in use.
        MissingExtra: SimpleITK, nibabel or pydicom is not installed.
    """
    # Reports a missing package before hours of unpacking instead of afterwards.
    check_packages()
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
            raise write_error(Path(error.filename or download), error) from error
        return _convert_all(published, download, journal, limit, executor, on_progress)


def describe_access(published: PublishedSet) -> str:
    """Return one line that explains how to obtain the files of a dataset."""
    if published.source.needs:
        return f"save {published.source.needs} there"
    return f"download it with --fetch ({published.size_gb:g} GB from {published.source.page})"


def unpack_archives(
    published: PublishedSet,
    download: Path,
    *,
    password: str | None = None,
) -> list[Path]:
    """Unpack each archive of a dataset to a folder of the same name next to it, and return these folders."""
    archives: set[Path] = set()
    for pattern in published.archives:
        archives.update(download.glob(pattern))
    folders: list[Path] = []
    for archive in sorted(archives):
        folder = archive.with_suffix("")
        extract_zip(archive, folder, password=password)
        folders.append(folder)
    return folders


def _convert_all(
    published: PublishedSet,
    download: Path,
    journal: PreparationJournal,
    limit: int | None,
    executor: Executor,
    on_progress: OnProgress,
) -> PreparationResult:
    found = list(_check_names(published.find(download)))
    if not found:
        raise DatasetMissing(
            f"{download}: found no case of {published.title}; {describe_access(published)}"
        )
    skipped = [case for case in found if isinstance(case, SkippedCase)]
    raw = [case for case in found if isinstance(case, RawCase)]
    for output in published.outputs:
        clear_leftovers(journal.out / output.folder / "imagesTr")
        clear_leftovers(journal.out / output.folder / "labelsTr")
    units = _select_cases(published, raw, download, journal, limit)
    convert = partial(_convert_one, outputs=published.outputs, download=download, out=journal.out)
    failures = do_pending(
        FunctionJob(convert),
        units,
        journal.ledger,
        executor,
        stage="convert",
        on_progress=on_progress,
    )
    records: list[CaseRecord] = []
    for case in units:
        entry = journal.ledger.done.get(case)
        if entry is None:
            continue
        if "left_out" in entry:
            skipped.append(SkippedCase(id=case, reason=entry["left_out"], by_rule=True))
        else:
            records.append(CaseRecord.of(entry))
    for case, error in failures.items():
        skipped.append(SkippedCase(id=case, reason=str(error), by_rule=False))
    is_partial = limit is not None and limit < len(raw)
    return _finish(published, journal, records, skipped, is_partial=is_partial)


def _select_cases(
    published: PublishedSet,
    raw: list[RawCase],
    download: Path,
    journal: PreparationJournal,
    limit: int | None,
) -> dict[str, RawCase]:
    """Return the cases to convert or keep, by name, and reduce the journal to the entries of kept cases."""
    selected: dict[str, RawCase] = {}
    done = journal.ledger.done
    for place, case in enumerate(raw):
        record = journal.find_record(case, download, published.outputs)
        if record is not None or limit is None or place < limit:
            selected[case.id] = case
        # An entry is valid only as long as inputs and results are as recorded.
        done.pop(case.id, None)
        if record is not None:
            done[case.id] = asdict(record)
    return selected


def _convert_one(
    case: RawCase,
    *,
    outputs: tuple[DatasetOutput, ...],
    download: Path,
    out: Path,
) -> dict[str, Any]:
    """Write the results of a case, and return its record as a dictionary, or the reason why it is skipped."""
    converted = case.convert()
    if isinstance(converted, SkippedCase):
        if not converted.by_rule:
            raise SampleInvalid(converted.reason)
        return {"left_out": converted.reason}
    counts = {
        output.folder: _count_objects(case.id, converted, output.folder) for output in outputs
    }
    first_image: Path | None = None
    for output in outputs:
        folder = out / output.folder
        labels = converted.labels[output.folder]
        write_labels(labels, converted.image, folder / "labelsTr" / case.id)
        image = folder / "imagesTr" / f"{case.id}_0000{ENDING}"
        if first_image is None:
            write_image(converted.image, image)
            first_image = image
        else:
            # All outputs of a dataset share the scan.
            link_or_copy(first_image, image)
    inputs = describe_inputs(case, download)
    record = CaseRecord(
        id=case.id,
        inputs=inputs,
        objects=counts,
        notes=converted.notes,
    )
    return asdict(record)


def _finish(
    published: PublishedSet,
    journal: PreparationJournal,
    records: list[CaseRecord],
    skipped: list[SkippedCase],
    *,
    is_partial: bool,
) -> PreparationResult:
    """Write dataset.json and prepared.json, and return the preparation result."""
    by_id = {case.id: case for case in skipped}
    prepared_ids = [record.id for record in records]
    for case in journal.find_other_cases(prepared_ids, published.outputs):
        earlier = by_id.pop(case, None)
        reason = f"{earlier.reason}; {_FOREIGN_RESULT}" if earlier else _FOREIGN_RESULT
        # Cases of earlier downloads come after the cases of this download.
        by_id[case] = SkippedCase(id=case, reason=reason, by_rule=False)
    prepared = PreparationResult(
        name=published.name,
        folders=tuple(journal.out / output.folder for output in published.outputs),
        stated=published.cases,
        cases=tuple(records),
        left_out={case.id: case.reason for case in by_id.values() if case.by_rule},
        failed={case.id: case.reason for case in by_id.values() if not case.by_rule},
        is_partial=is_partial,
    )
    for output in published.outputs:
        write_dataset_json(published, output, journal.out, len(records))
    write_prepared_json(published, journal, prepared)
    return prepared


def _count_objects(
    case: str,
    converted: ConvertedCase,
    folder: str,
) -> int:
    """Return the number of instances or classes of a case; raise `SampleInvalid` if there are none."""
    labels = converted.labels[folder]
    if isinstance(labels, Mapping):
        count = len(labels)
    else:
        count = int(np.count_nonzero(np.unique(labels)))
    if not count:
        where = f" for {folder}" if folder else ""
        raise SampleInvalid(f"{case}: expected at least one labelled voxel{where}, found none")
    return count


def _check_names(cases: Iterable[RawCase | SkippedCase]) -> Iterator[RawCase | SkippedCase]:
    """Yield cases; a case with a repeated name, or a name that cannot be a file name, becomes a failed case."""
    names: set[str] = set()
    for case in cases:
        if not re.fullmatch(r"\w[\w.+-]*", case.id):
            yield SkippedCase(
                id=case.id, reason="its name cannot be the name of a file", by_rule=False
            )
        elif case.id in names:
            yield SkippedCase(
                id=f"{case.id} (again)", reason="a second case with this name", by_rule=False
            )
        else:
            names.add(case.id)
            yield case
