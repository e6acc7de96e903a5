"""What is written beside the volumes: dataset.json, prepared.json, and the ledger from which a stopped run goes on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from segarena.errors import DatasetError
from segarena.files.hashes import sha256_of_file
from segarena.files.whole import write_whole
from segarena.systems.volumes.preparation.published_set import DatasetOutput, PublishedSet, RawCase
from segarena.systems.volumes.preparation.sitk_images import ENDING
from segarena.version import __version__
from segarena.work.ledger import Ledger, upgrade_ledger

SUMMARY_NAME = "prepared.json"
JOURNAL_NAME = "prepared.partial.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """A file that a case was made from; `path` is relative to the download folder."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRecord:
    """A case that is there; `objects` counts its instances, or classes, by folder of the output."""

    id: str
    inputs: tuple[InputFile, ...]
    objects: dict[str, int]
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, record: dict[str, Any]) -> CaseRecord:
        """Return a record as it was read from JSON."""
        return cls(
            id=record["id"],
            inputs=tuple(InputFile(**file) for file in record["inputs"]),
            objects=record["objects"],
            notes=tuple(record["notes"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparationResult:
    """What a preparation came to: cases that are there, left out by the published rule or failed, both with the reason.

    `stated` is how many cases Table 1 of the paper states; with `is_partial` a limit kept others from being prepared.
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


def describe_inputs(case: RawCase, download: Path) -> tuple[InputFile, ...]:
    """Return the names, sizes and checksums of a case's files."""
    return tuple(
        InputFile(
            path=_name(path, download), bytes=path.stat().st_size, sha256=sha256_of_file(path)
        )
        for path in case.inputs
    )


class PreparationJournal:
    """Which cases of a set are done in a folder.

    Args:
        out: where prepared.json is or will be.
        name: of the set.

    Raises:
        DatasetError: the folder holds another set, or a prepared.json that is none.
    """

    def __init__(self, out: Path, name: str) -> None:
        self.out = out
        finished = self._finished(name)
        # An earlier version kept one case per line.
        upgrade_ledger(
            out / JOURNAL_NAME,
            lambda lines: ({"set": name}, {record["id"]: record for record in lines}),
        )
        self.ledger = Ledger(out / JOURNAL_NAME, {"set": name})
        self._records = {record.id: record for record in finished}
        for case, noted in self.ledger.done.items():
            if "left_out" not in noted:
                self._records[case] = CaseRecord.of(noted)

    def __enter__(self) -> PreparationJournal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.ledger.close()

    def done(
        self, case: RawCase, download: Path, outputs: tuple[DatasetOutput, ...]
    ) -> CaseRecord | None:
        """Return the record of a case whose results are there and whose inputs have the sizes they had."""
        record = self._records.get(case.id)
        if record is None or not all(self._has(case.id, output) for output in outputs):
            return None
        now = {_name(path, download): path.stat().st_size for path in case.inputs}
        return record if now == {file.path: file.bytes for file in record.inputs} else None

    def others(self, known: Iterable[str], outputs: tuple[DatasetOutput, ...]) -> list[str]:
        """Return the cases whose images lie in the folders, of an earlier run, without those that are known."""
        found: set[str] = set()
        for output in outputs:
            images = (self.out / output.folder / "imagesTr").glob(f"*_0000{ENDING}")
            found.update(path.name.removesuffix(f"_0000{ENDING}") for path in images)
        return sorted(found - set(known))

    def close(self) -> None:
        """Forget the ledger, once prepared.json holds everything."""
        self.ledger.close()
        (self.out / JOURNAL_NAME).unlink(missing_ok=True)

    def _has(self, case: str, output: DatasetOutput) -> bool:
        folder = self.out / output.folder
        if output.overlapping:
            labels = folder / "labelsTr" / case
        else:
            labels = folder / "labelsTr" / f"{case}{ENDING}"
        return labels.exists() and (folder / "imagesTr" / f"{case}_0000{ENDING}").is_file()

    def _finished(self, name: str) -> list[CaseRecord]:
        path = self.out / SUMMARY_NAME
        if not path.exists():
            return []
        try:
            summary = json.loads(path.read_text(encoding="utf-8"))
            records = [CaseRecord.of(record) for record in summary["cases"]]
            found = summary["name"]
        except (KeyError, TypeError, ValueError) as error:
            raise DatasetError(
                f"{path}: expected a record of an earlier preparation, got something else"
            ) from error
        if found != name:
            raise DatasetError(
                f"{self.out}: holds the prepared set {found!r}, expected {name!r}; choose another --out"
            )
        return records


def write_dataset_json(
    published: PublishedSet, output: DatasetOutput, out: Path, cases: int
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
    published: PublishedSet, journal: PreparationJournal, prepared: PreparationResult
) -> None:
    """Write prepared.json, and close the journal."""
    objects: dict[str, int] = {}
    for output in published.outputs:
        objects[output.folder or "all"] = sum(
            case.objects[output.folder] for case in prepared.cases
        )
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
    write_whole(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _name(path: Path, download: Path) -> str:
    return path.relative_to(download).as_posix()
