"""Files written with the prepared volumes: dataset.json, prepared.json, and the journal for resuming a run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from segarena.errors import DatasetError
from segarena.files.atomic_write import write_atomic
from segarena.files.hashes import sha256_of_file
from segarena.systems.volumes.preparation.dataset_case_types import (
    DatasetOutput,
    PublishedSet,
    RawCase,
)
from segarena.systems.volumes.preparation.sitk_images import ENDING
from segarena.version import __version__
from segarena.work.ledger import Ledger, upgrade_ledger

SUMMARY_NAME = "prepared.json"
JOURNAL_NAME = "prepared.partial.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """An input file of a case; `path` is relative to the download folder."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRecord:
    """A prepared case; `objects` counts its instances, or classes, by output folder."""

    id: str
    inputs: tuple[InputFile, ...]
    objects: dict[str, int]
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, record: Any) -> CaseRecord:
        """Create a record from its JSON form; raise `ValueError` if a field is missing or has another type."""
        try:
            return msgspec.convert(record, cls)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparationResult:
    """Result of a preparation: prepared cases, skipped cases and failed cases, with the reasons.

    `stated` is the number of cases in Table 1 of the paper. If `is_partial`, a limit excluded
    further cases.
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
        """Whether no case failed and the number of cases equals the paper's."""
        return not self.failed and len(self.cases) == self.stated


def describe_inputs(case: RawCase, download: Path) -> tuple[InputFile, ...]:
    """Return the names, sizes and checksums of a case's files."""
    files: list[InputFile] = []
    for path in case.inputs:
        file = InputFile(
            path=_relative_name(path, download),
            bytes=path.stat().st_size,
            sha256=sha256_of_file(path),
        )
        files.append(file)
    return tuple(files)


class PreparationJournal:
    """Journal of the completed cases of a dataset in a folder.

    Args:
        out: the folder that contains prepared.json.
        name: name of the dataset.

    Raises:
        DatasetError: the folder contains a different dataset or an invalid prepared.json.
    """

    def __init__(self, out: Path, name: str) -> None:
        self.out = out
        finished = self._read_summary(name)
        # An earlier version stored one case per line.
        upgrade_ledger(
            out / JOURNAL_NAME,
            lambda lines: ({"set": name}, {record["id"]: record for record in lines}),
        )
        self.ledger = Ledger(out / JOURNAL_NAME, {"set": name})
        self._records = {record.id: record for record in finished}
        for case, entry in self.ledger.done.items():
            if "left_out" not in entry:
                self._records[case] = CaseRecord.of(entry)

    def __enter__(self) -> PreparationJournal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.ledger.close()

    def find_record(
        self,
        case: RawCase,
        download: Path,
        outputs: tuple[DatasetOutput, ...],
    ) -> CaseRecord | None:
        """Return the record of a case if its results exist and its inputs have the recorded sizes."""
        record = self._records.get(case.id)
        if record is None:
            return None
        if any(output.folder not in record.objects for output in outputs):
            return None
        for output in outputs:
            if not self._has_files(case.id, output):
                return None
        sizes = {_relative_name(path, download): path.stat().st_size for path in case.inputs}
        recorded_sizes = {file.path: file.bytes for file in record.inputs}
        # Sizes are compared instead of checksums, because hashing all inputs again would take as
        # long as reading them.
        if sizes != recorded_sizes:
            return None
        return record

    def find_other_cases(
        self, known: Iterable[str], outputs: tuple[DatasetOutput, ...]
    ) -> list[str]:
        """Return the cases that have images in the output folders from earlier runs, except `known` cases."""
        found: set[str] = set()
        for output in outputs:
            images = (self.out / output.folder / "imagesTr").glob(f"*_0000{ENDING}")
            found.update(path.name.removesuffix(f"_0000{ENDING}") for path in images)
        return sorted(found - set(known))

    def close(self) -> None:
        """Delete the journal; prepared.json must already contain all cases."""
        self.ledger.close()
        (self.out / JOURNAL_NAME).unlink(missing_ok=True)

    def _has_files(self, case: str, output: DatasetOutput) -> bool:
        folder = self.out / output.folder
        if output.overlapping:
            labels = folder / "labelsTr" / case
        else:
            labels = folder / "labelsTr" / f"{case}{ENDING}"
        image = folder / "imagesTr" / f"{case}_0000{ENDING}"
        return labels.exists() and image.is_file()

    def _read_summary(self, name: str) -> list[CaseRecord]:
        path = self.out / SUMMARY_NAME
        if not path.exists():
            return []
        try:
            summary = json.loads(path.read_text(encoding="utf-8"))
            records = [CaseRecord.of(record) for record in summary["cases"]]
            found = summary["name"]
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise DatasetError(
                f"{path}: expected a record of an earlier preparation, got something else"
            ) from error
        if found != name:
            raise DatasetError(
                f"{self.out}: expected the prepared dataset {name!r}, found {found!r}; choose another --out"
            )
        return records


def write_dataset_json(
    published: PublishedSet,
    output: DatasetOutput,
    out: Path,
    cases: int,
) -> None:
    """Write the dataset.json of one output."""
    classes = {name: number for number, name in enumerate(output.classes, start=1)}
    _write_json(
        out / output.folder / "dataset.json",
        {
            "name": f"{published.name}_{output.folder}" if output.folder else published.name,
            "description": f"{published.title} ({published.paper} of RadioActive)",
            "reference": published.source.page,
            "modality": published.modality,
            "sequence": published.sequence,
            "channel_names": {"0": published.modality},
            "kind": output.kind,
            "tissue": output.tissue,
            "layout": "file-per-class" if output.overlapping else "label-map",
            "labels": {"background": 0, **classes},
            "label_rule": published.rule,
            "numTraining": cases,
            "file_ending": ENDING,
        },
    )


def write_prepared_json(
    published: PublishedSet,
    journal: PreparationJournal,
    prepared: PreparationResult,
) -> None:
    """Write prepared.json, and delete the journal."""
    objects: dict[str, int] = {}
    for output in published.outputs:
        total = 0
        for case in prepared.cases:
            total += case.objects[output.folder]
        objects[output.folder or "all"] = total
    _write_json(
        journal.out / SUMMARY_NAME,
        {
            "name": published.name,
            "paper": published.paper,
            "title": published.title,
            "segarena": __version__,
            "source": published.source.page,
            "rule": published.rule,
            "differences": dict(published.differences),
            "counts": {
                "stated": published.cases,
                "prepared": len(prepared.cases),
                "left_out": len(prepared.left_out),
                "failed": len(prepared.failed),
                "objects": objects,
            },
            "is_partial": prepared.is_partial,
            "left_out": prepared.left_out,
            "failed": prepared.failed,
            "cases": [asdict(case) for case in prepared.cases],
        },
    )
    journal.close()


def _write_json(path: Path, content: dict[str, Any]) -> None:
    write_atomic(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _relative_name(path: Path, download: Path) -> str:
    return path.relative_to(download).as_posix()
