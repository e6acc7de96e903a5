"""The runs that ask the people of a site: a file in its data folder for each process that answers.

DATA/seats/3f9a2c01d4e5b687-1c0e55a2.json     where the run with these seats lies

Of several processes that share a run each has its own, so that one that ends takes it from nobody.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from segarena.engine.seats import Seats
from segarena.errors import StoreError
from segarena.files.whole import write_whole
from segarena.server.folder import DataFolder

_FOLDER = "seats"


class _Place(msgspec.Struct, frozen=True):
    run: str


@dataclass(frozen=True, slots=True)
class AskingRun:
    """A run that asks people, or did."""

    id: str
    title: str
    seats: Seats

    @property
    def is_answered(self) -> bool:
        """Whether somebody answers there now."""
        return self.seats.is_answered


@contextmanager
def asking(folder: DataFolder, run: Path) -> Generator[None]:
    """Let the people of a site be asked by a run while the block runs.

    Raises:
        StoreError: the data folder cannot be written.
    """
    file = folder.path / _FOLDER / f"{Seats(run).told().id}-{secrets.token_hex(4)}.json"
    write_whole(file, msgspec.json.encode(_Place(str(run.resolve()))))
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def asking_runs(folder: DataFolder) -> list[AskingRun]:
    """Return the runs that ask the people of a site, in the order of their titles."""
    found = [_read(file) for file in (folder.path / _FOLDER).glob("*.json")]
    runs = {run.id: run for run in found if run is not None}
    return sorted(runs.values(), key=lambda run: (run.title, run.id))


def find_run(folder: DataFolder, id_: str) -> AskingRun | None:
    """Return the run of this id; None when there is none that asks people here."""
    return next((run for run in asking_runs(folder) if run.id == id_), None)


def _read(file: Path) -> AskingRun | None:
    """Return a run; None when it was removed, or is not one."""
    try:
        seats = Seats(Path(msgspec.json.decode(file.read_bytes(), type=_Place).run))
        told = seats.told()
    except (OSError, msgspec.MsgspecError, StoreError):
        return None
    return AskingRun(told.id, told.title, seats)
