"""Rows of a run's tables, collected in memory before they are written."""

from __future__ import annotations

from dataclasses import dataclass, field

from segarena.records.failures import Failure, FailureCause, group_by_cause
from segarena.records.prompts import prompts_text
from segarena.records.row_types import (
    TABLES,
    MaskRow,
    PartValues,
    PersonRound,
    RoundRecord,
    TargetWithoutDialogue,
    Timing,
    attributes_text,
)
from segarena.records.sample_file import pack_rows

ENCODER_PASS_ROUND = 0
"""Value of `round` in the timing of an encoder pass, which belongs to a sample and not to a round."""

CACHE_READ_ROUND = -1
"""Value of `round` in the timing of an encoding that was read from the cache."""


@dataclass(slots=True)
class Rows:
    """Rows of all tables of a run (see `segarena.engine.run_folder`)."""

    records: list[RoundRecord] = field(default_factory=list[RoundRecord])
    timings: list[Timing] = field(default_factory=list[Timing])
    masks: list[MaskRow] = field(default_factory=list[MaskRow])
    parts: list[PartValues] = field(default_factory=list[PartValues])
    people: list[PersonRound] = field(default_factory=list[PersonRound])
    without_dialogue: list[TargetWithoutDialogue] = field(
        default_factory=list[TargetWithoutDialogue]
    )

    def pack(self) -> bytes:
        """Return the file of a sample with these rows, for `segarena.records.sample_file.SampleFileWriter`."""
        return pack_rows({table: getattr(self, table) for table in TABLES})

    def extend(self, other: Rows) -> None:
        """Append all rows of `other`."""
        self.records.extend(other.records)
        self.timings.extend(other.timings)
        self.masks.extend(other.masks)
        self.parts.extend(other.parts)
        self.people.extend(other.people)
        self.without_dialogue.extend(other.without_dialogue)

    @property
    def causes(self) -> list[FailureCause]:
        """Failures by cause; an unusable sample counts once."""
        failed = (row for row in self.records if row.failure is not None)
        return group_by_cause(
            Failure(row.sample, row.target, row.user, row.failure or "") for row in failed
        )

    @property
    def encodes(self) -> int:
        """Number of encoder passes."""
        return sum(row.round == ENCODER_PASS_ROUND for row in self.timings)

    @property
    def rounds(self) -> int:
        """Number of answered rounds."""
        return sum(row.failure is None for row in self.records)


def encoder_row(
    sample_id: str,
    seconds: float,
    *,
    support: str = "",
    is_from_cache: bool = False,
) -> Timing:
    """Return the timing of an encoder pass or cache read; the target is empty, or the id of a support image."""
    round_ = CACHE_READ_ROUND if is_from_cache else ENCODER_PASS_ROUND
    return Timing(
        sample=sample_id,
        target=support,
        user="",
        repeat=0,
        round=round_,
        predict_s=seconds,
    )


def failed_sample(
    benchmark: str,
    dataset: str,
    sample_id: str,
    message: str,
) -> RoundRecord:
    """Return the record of a sample without dialogues; its target and user are empty."""
    return RoundRecord(
        benchmark=benchmark,
        dataset=dataset,
        sample=sample_id,
        target="",
        label="",
        attributes=attributes_text({}),
        user="",
        repeat=0,
        round=0,
        effort=0.0,
        prompts=prompts_text(()),
        values={},
        failure=" ".join(message.split()),
    )
