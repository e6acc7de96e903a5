"""What the reports of some benchmarks have of their own: sections of the page and tables as files.

A further benchmark adds one line to `OWN`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from segarena.reports.davis import is_davis
from segarena.reports.davis_page import davis_files, davis_sections
from segarena.reports.reading import Run
from segarena.reports.robustness import is_robustness
from segarena.reports.robustness_page import robustness_sections
from segarena.reports.robustness_tables import robustness_files
from segarena.reports.series import Figure
from segarena.reports.volumes import is_volumes
from segarena.reports.volumes_page import volumes_files, volumes_sections


class Own(NamedTuple):
    """What some runs have.

    Attributes:
        applies: whether a run is one of them.
        sections: (anchor, title, HTML) of what stands before all other sections; takes the runs, and what numbers
            tables and figures.
        files: texts by file name.
    """

    applies: Callable[[Run], bool]
    sections: Callable[..., Sequence[tuple[str, str, str]]]
    files: Callable[[Sequence[Run]], dict[str, str]]


OWN = (
    Own(is_robustness, robustness_sections, robustness_files),
    Own(is_volumes, volumes_sections, volumes_files),
    Own(is_davis, davis_sections, davis_files),
)


def own_sections(
    runs: Sequence[Run], table: Callable[[str, str], str], figure: Callable[[Figure], str]
) -> Sequence[tuple[str, str, str]]:
    """Return the sections of the runs' benchmark; nothing when it has none."""
    return next((own.sections(runs, table, figure) for own in OWN if own.applies(runs[0])), ())


def own_files(runs: Sequence[Run]) -> dict[str, str]:
    """Return the files of the runs' benchmark; nothing when it has none."""
    return next((own.files(runs) for own in OWN if own.applies(runs[0])), dict[str, str]())
