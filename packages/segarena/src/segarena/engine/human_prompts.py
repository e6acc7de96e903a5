"""Where people are asked: a package that has pages opens them while a run waits.

An entry point of the group `segarena.seats` gives a function like `OpensPages`; the first one is taken.
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
    """Where people are asked.

    Attributes:
        at: data folder of a server whose people are asked; None opens a page on this machine for one person.
        opens_browser: whether that page is opened in a browser here.
    """

    at: str | Path | None = None
    opens_browser: bool = False


class PageServer(Protocol):
    """Pages that are open for the seats of a run."""

    @property
    def address(self) -> str:
        """Where people find them; "" where nobody is asked."""
        ...

    def check(self) -> None:
        """Do nothing while they are open; raise `WorkError` when they are no more."""
        ...


class PageOpener(Protocol):
    """Opens pages for the seats of a run."""

    def __call__(self, run: Path, ask: PeopleSettings) -> AbstractContextManager[PageServer]:
        """Give the pages, and close them at the end."""
        ...


@dataclass(frozen=True, slots=True)
class NoPageServer:
    """Of a run that asks nobody."""

    address: str = ""

    def check(self) -> None:
        """Do nothing."""


def executor_for_people(executor: Executor, asked: Collection[str]) -> Executor:
    """Return what holds a run with people: this process, which waits for all of them.

    Raises:
        InvalidInput: several processes were asked for.
    """
    if executor.workers > 1:
        raise InvalidInput(
            f"{', '.join(sorted(asked))}: one process waits for people; leave --workers out, "
            "or start the same run several times with --share"
        )
    return make_executor(0)


@contextmanager
def page_server(
    asked: Collection[str], run: Path, told: RunInfo, ask: PeopleSettings
) -> Generator[PageServer]:
    """Have pages open while a run asks people.

    Args:
        asked: its users who are people.
        run: its folder.
        told: what pages must know.
        ask: where they are.

    Raises:
        InvalidInput: somewhere to ask was named, and nobody is asked.
        PluginError: nothing that is installed has pages.
    """
    if not asked:
        if ask.at is not None:
            raise InvalidInput("people: no user of this run is a person; name one with -u human")
        yield NoPageServer()
        return
    found = sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name)
    if not found:
        raise PluginError(
            f"people cannot be asked: nothing installed has an entry point of {ENTRY_POINTS}"
        )
    Seats(run).open(told)
    opens: PageOpener = found[0].load()
    with opens(run, ask) as pages:
        yield pages
