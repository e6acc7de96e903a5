"""Defects of annotations: severity, position, and advice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "note"]
"""An error breaks the annotation rules; a warning very probably does; a note is worth a look."""


@dataclass(frozen=True, slots=True)
class Defect:
    """One defect.

    Attributes:
        kind: a short name ("self-intersection"), the same for all defects of a kind.
        message: what was expected, what came, what to do.
        severity: error, warning or note.
        image: id of the image; "" for the whole file.
        annotator: name of the annotator; "" if unknown.
        regions: ids of the regions concerned.
        place: (row, column) in the image; None if it has no position.
    """

    kind: str
    message: str
    severity: Severity = "error"
    image: str = ""
    annotator: str = ""
    regions: tuple[str, ...] = ()
    place: tuple[float, float] | None = None

    def __str__(self) -> str:
        """Return one line, with severity and position first."""
        where: list[str] = []
        if self.image:
            where.append(f"image {self.image}")
        if self.annotator:
            where.append(f"annotator {self.annotator}")
        if self.regions:
            where.append(f"region {', '.join(self.regions)}")
        if self.place:
            row, column = self.place
            where.append(f"at row {row:.0f}, column {column:.0f}")
        context = f"{', '.join(where)}: " if where else ""
        return f"{self.severity}: {context}{self.message} [{self.kind}]"
