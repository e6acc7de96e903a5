"""Registry of runs that request prompts from the people of a site: one file in the data folder per process of a run.

DATA/seats/3f9a2c01d4e5b687-1c0e55a2.json     location of a run that requests prompts now
DATA/seats/asked/3f9a2c01d4e5b687.json         a permanent copy, for downloads of people's prompts

Processes that share a run have separate files, so that the end of one does not affect the others.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from segarena.engine.human_dialogue_files import Seats
from segarena.errors import StoreError
from segarena.files.atomic_write import write_atomic
from segarena_server.storage.data_folder import DataFolder

_FOLDER = "seats"
_ASKED = "asked"


class _RunLocation(msgspec.Struct, frozen=True):
    run: str


@dataclass(frozen=True, slots=True)
class ServedRun:
    """A run that requests prompts from people, or did so earlier."""

    id: str
    title: str
    seats: Seats

    @property
    def is_answered(self) -> bool:
        """Whether a process of this run currently answers prompts."""
        return self.seats.is_answered


@contextmanager
def register_run(folder: DataFolder, run: Path) -> Generator[None]:
    """Register a run with a site while the block runs.

    Raises:
        StoreError: the data folder cannot be written.
    """
    id_ = Seats(run).info().id
    location = msgspec.json.encode(_RunLocation(str(run.resolve())))
    # A random part: several processes may work on one run.
    file = folder.path / _FOLDER / f"{id_}-{secrets.token_hex(4)}.json"
    write_atomic(folder.path / _FOLDER / _ASKED / f"{id_}.json", location)
    write_atomic(file, location)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def list_runs(folder: DataFolder) -> list[ServedRun]:
    """Return the runs that request prompts from the people of a site, by title."""
    return _runs_in(folder.path / _FOLDER)


def list_all_runs(folder: DataFolder) -> list[ServedRun]:
    """Return the runs that request prompts from the people of a site, or did so earlier and still exist."""
    return _runs_in(folder.path / _FOLDER / _ASKED)


def find_run(folder: DataFolder, id_: str) -> ServedRun | None:
    """Return a run by its id; None if no such run requests prompts on this site."""
    return next((run for run in list_runs(folder) if run.id == id_), None)


def _runs_in(folder: Path) -> list[ServedRun]:
    # Several processes may have registered the same run.
    runs: dict[str, ServedRun] = {}
    for file in folder.glob("*.json"):
        run = _read(file)
        if run is not None:
            runs[run.id] = run
    return sorted(runs.values(), key=lambda run: (run.title, run.id))


def _read(file: Path) -> ServedRun | None:
    """Return the run whose folder a file names; None if the folder was deleted or has no run."""
    try:
        location = msgspec.json.decode(file.read_bytes(), type=_RunLocation)
        seats = Seats(Path(location.run))
        info = seats.info()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError, StoreError):
        return None
    return ServedRun(info.id, info.title, seats)
