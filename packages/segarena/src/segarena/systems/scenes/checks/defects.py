"""What is wrong with an annotation: how bad it is, where it is, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "note"]
"""An error is wrong by the rules of annotation; a warning very likely is; a note is worth a look."""


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing that is wrong.

    Attributes:
        kind: a short name ("self-intersection"), the same for all of a kind.
        message: what was expected, what came, what to do.
        severity: how bad it is.
        image: id of the image; "" for the whole file.
        annotator: who drew it; "" when unknown.
        regions: ids of the regions it is about.
        place: (row, column) in the image; None when it has no place.
    """

    kind: str
    message: str
    severity: Severity = "error"
    image: str = ""
    annotator: str = ""
    regions: tuple[str, ...] = ()
    place: tuple[float, float] | None = None

    def __str__(self) -> str:
        """Return it in one line, severity and where first."""
        where = [f"image {self.image}"] if self.image else []
        where += [f"annotator {self.annotator}"] if self.annotator else []
        where += [f"region {', '.join(self.regions)}"] if self.regions else []
        where += [f"at row {self.place[0]:.0f}, column {self.place[1]:.0f}"] if self.place else []
        return f"{self.severity}: {', '.join(where)}{': ' if where else ''}{self.message} [{self.kind}]"
