"""Defects of annotations: severity, position, and advice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "note"]
"""An error violates the annotation rules, a warning very probably does, and a note deserves a look."""


@dataclass(frozen=True, slots=True)
class Defect:
    """One defect.

    Attributes:
        kind: a short name such as "self-intersection", the same for all defects of a kind.
        message: what was expected, what was found, and what to do.
        severity: error, warning or note.
        image: id of the image; "" for the whole file.
        annotator: name of the annotator; "" if unknown.
        regions: ids of the affected regions.
        place: (row, column) in the image; None if the defect has no position.
    """

    kind: str
    message: str
    severity: Severity = "error"
    image: str = ""
    annotator: str = ""
    regions: tuple[str, ...] = ()
    place: tuple[float, float] | None = None

    def __str__(self) -> str:
        """Format the defect as one line that starts with severity and position."""
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
