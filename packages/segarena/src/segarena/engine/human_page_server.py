"""Page servers on which people give prompts while a run waits for them.

A package with such pages registers a `PageOpener` as an entry point of the group `segarena.seats`;
the engine uses the first one by name.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol

from segarena.engine.human_dialogue_files import RunInfo, Seats
from segarena.errors import InvalidInput, MissingExtra
from segarena.work.executors import make_executor
from segarena.work.jobs import Executor

ENTRY_POINTS = "segarena.seats"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleSettings:
    """Settings of the pages on which people give prompts.

    Attributes:
        at: data folder of a server whose people give prompts; None opens a page on this machine for one person.
        opens_browser: whether that page is opened in a browser on this machine.
    """

    at: str | Path | None = None
    opens_browser: bool = False


class PageServer(Protocol):
    """Server of open pages for the seats of a run."""

    @property
    def address(self) -> str:
        """Address of the pages; "" for a run without human users."""
        ...

    def check(self) -> None:
        """Raise `WorkError` if the pages are closed; otherwise do nothing."""
        ...


class PageOpener(Protocol):
    """A function that opens pages for the seats of a run."""

    def __call__(self, run: Path, ask: PeopleSettings) -> AbstractContextManager[PageServer]:
        """Open the pages and return a context manager that closes them."""
        ...


@dataclass(frozen=True, slots=True)
class NoPageServer:
    """A placeholder for the page server in a run without human users."""

    address: str = ""

    def check(self) -> None:
        """Do nothing."""


def executor_for_people(executor: Executor, asked: Collection[str]) -> Executor:
    """Return the executor of a run with human users: this process, which waits for all people.

    Raises:
        InvalidInput: the given executor has several processes.
    """
    if executor.workers > 1:
        raise InvalidInput(
            f"{', '.join(sorted(asked))}: a run with people uses one process; omit --workers, "
            "or start the same run several times with --share"
        )
    return make_executor(0)


@contextmanager
def page_server(
    asked: Collection[str],
    run: Path,
    info: RunInfo,
    settings: PeopleSettings,
) -> Generator[PageServer]:
    """Keep pages open while a run waits for people.

    Args:
        asked: names of the human users.
        run: folder of the run.
        info: information about the run that the pages display.
        settings: settings of the pages.

    Raises:
        InvalidInput: `settings` names a server, but no user of the run is a person.
        MissingExtra: no installed package provides pages.
    """
    if not asked:
        if settings.at is not None:
            raise InvalidInput("people: no user of this run is a person; add one with -u human")
        yield NoPageServer()
        return
    found = sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name)
    if not found:
        raise MissingExtra(
            "a person as user needs the pages of segarena-studio, which is not installed: "
            'pip install "segarena[studio]"'
        )
    Seats(run).open(info)
    open_pages: PageOpener = found[0].load()
    with open_pages(run, settings) as pages:
        yield pages
