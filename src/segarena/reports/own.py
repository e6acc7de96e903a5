"""What the reports of some benchmarks have of their own: sections of the page and tables as files.

A further benchmark adds one line to `OWN`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from segarena.reports.reading import Run
from segarena.reports.series import Figure
from segarena.systems.clicks.page.page import robustness_sections
from segarena.systems.clicks.page.runs import is_robustness, whole_dialogues
from segarena.systems.clicks.page.tables import robustness_files
from segarena.systems.oneshot.page.page import toss_files, toss_sections
from segarena.systems.oneshot.page.runs import asked_pairs, is_toss
from segarena.systems.videos.page.page import davis_files, davis_sections
from segarena.systems.videos.page.runs import is_davis
from segarena.systems.volumes.page.page import volumes_files, volumes_sections
from segarena.systems.volumes.page.runs import is_volumes


class Own(NamedTuple):
    """What some runs have.

    Attributes:
        applies: whether a run is one of them.
        sections: (anchor, title, HTML) of what stands before all other sections; takes the runs, and what numbers
            tables and figures.
        files: texts by file name.
        general: a run as all other sections and tables have it.
        has_pictures: the sections show the dialogues, so that the hardest targets and the gallery are left out.
    """

    applies: Callable[[Run], bool]
    sections: Callable[..., Sequence[tuple[str, str, str]]]
    files: Callable[[Sequence[Run]], dict[str, str]]
    general: Callable[[Run], Run] | None = None
    has_pictures: bool = False


OWN = (
    Own(is_robustness, robustness_sections, robustness_files, whole_dialogues),
    Own(is_volumes, volumes_sections, volumes_files),
    Own(is_davis, davis_sections, davis_files),
    Own(is_toss, toss_sections, toss_files, asked_pairs, has_pictures=True),
)


def own_sections(
    runs: Sequence[Run], table: Callable[[str, str], str], figure: Callable[[Figure], str]
) -> Sequence[tuple[str, str, str]]:
    """Return the sections of the runs' benchmark; nothing when it has none."""
    return next((own.sections(runs, table, figure) for own in OWN if own.applies(runs[0])), ())


def own_files(runs: Sequence[Run]) -> dict[str, str]:
    """Return the files of the runs' benchmark; nothing when it has none."""
    return next((own.files(runs) for own in OWN if own.applies(runs[0])), dict[str, str]())


def general_run(run: Run) -> Run:
    """Return a run as the sections and tables have it that all benchmarks share."""
    general = next((own.general for own in OWN if own.applies(run)), None)
    return run if general is None else general(run)


def has_own_pictures(run: Run) -> bool:
    """Tell whether the sections of the run's benchmark show its dialogues."""
    return any(own.has_pictures for own in OWN if own.applies(run))
