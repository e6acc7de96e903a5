"""Personal data of seats: prompts are stored with the runs, under a pseudonym for each person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from sqlalchemy.orm import Session

from segarena.engine.human_dialogue_files import SeatInfo
from segarena.errors import StoreError
from segarena_server.auth.permissions import sign
from segarena_server.extensions.site_sections import PersonalDataSource
from segarena_server.site import Site
from segarena_server.storage.data_folder import DataFolder
from segarena_studio.human_user.run_registry import ServedRun, list_all_runs

_NAME = 12


def participant_name(
    site: Site,
    run: ServedRun,
    person_id: int | None,
) -> str:
    """Return the pseudonym of a person in the records of a run; computing it requires the site's secret."""
    # Include the run, so that pseudonyms in two published runs cannot be matched.
    return sign(site, "seat", f"{run.id}:{person_id}")[:_NAME]


def about(session: Session, person_id: int) -> list[dict[str, Any]]:
    """Return nothing: seats are in files, not in tables."""
    del session, person_id
    return []


def files(site: Site, person_id: int) -> Iterator[tuple[str, bytes]]:
    """Yield a person's prompts at each of their seats, for runs that still exist."""
    for run in list_all_runs(site.folder):
        name = participant_name(site, run, person_id)
        for seat in run.seats.names():
            info = run.seats.seat(seat)
            if info is not None and run.seats.person(seat) == name:
                yield f"{run.id}/{seat}.json", _encode_seat(run, info, name)


def _encode_seat(
    run: ServedRun,
    info: SeatInfo,
    name: str,
) -> bytes:
    try:
        rounds = list(run.seats.rounds(info.seat))
    except StoreError as error:
        return msgspec.json.encode({"run": run.title, "damaged": str(error)})
    return msgspec.json.encode(
        {
            "run": run.title,
            "name": name,
            "sample": info.sample,
            "target": info.target,
            "user": info.user,
            "rounds": rounds,
        }
    )


def forget(
    session: Session,
    folder: DataFolder,
    person_id: int,
    now: float,
) -> None:
    """Do nothing: others rely on the records, whose pseudonym no longer belongs to an account."""
    del session, folder, person_id, now


KEPT = PersonalDataSource(
    about=about,
    files=files,
    forget=forget,
)
