"""Open the pages on which people give prompts, while a run waits for them.

A package with such pages names a `PageOpener` as an entry point of the group `segarena.seats`; the first one by name
is used.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol

from segarena.engine.human_queue import RunInfo, Seats
from segarena.errors import InvalidInput, PluginError
from segarena.work.executors import make_executor
from segarena.work.jobs import Executor

ENTRY_POINTS = "segarena.seats"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleSettings:
    """The place where people give prompts.

    Attributes:
        at: data folder of a server whose people give prompts; None opens a page on this machine for one person.
        opens_browser: whether that page is opened in a browser on this machine.
    """

    at: str | Path | None = None
    opens_browser: bool = False


class PageServer(Protocol):
    """Open pages for the seats of a run."""

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
        """Return a context that closes the pages at its end."""
        ...


@dataclass(frozen=True, slots=True)
class NoPageServer:
    """The pages of a run without human users: none."""

    address: str = ""

    def check(self) -> None:
        """Do nothing."""


def executor_for_people(executor: Executor, asked: Collection[str]) -> Executor:
    """Return the executor of a run with human users: this process, which waits for all of them.

    Raises:
        InvalidInput: the given executor has several processes.
    """
    if executor.workers > 1:
        raise InvalidInput(
            f"{', '.join(sorted(asked))}: one process waits for people; leave --workers out, "
            "or start the same run several times with --share"
        )
    return make_executor(0)


@contextmanager
def page_server(
    asked: Collection[str], run: Path, info: RunInfo, settings: PeopleSettings
) -> Generator[PageServer]:
    """Keep pages open while a run waits for people.

    Args:
        asked: names of the human users.
        run: the run's folder.
        info: about the run, shown on the pages.
        settings: the place of the pages.

    Raises:
        InvalidInput: a place was named, and no user of the run is a person.
        PluginError: no installed package has pages.
    """
    if not asked:
        if settings.at is not None:
            raise InvalidInput("people: no user of this run is a person; name one with -u human")
        yield NoPageServer()
        return
    found = sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name)
    if not found:
        raise PluginError(
            f"people cannot be asked: nothing installed has an entry point of {ENTRY_POINTS}"
        )
    Seats(run).open(info)
    open_pages: PageOpener = found[0].load()
    with open_pages(run, settings) as pages:
        yield pages
