"""What people gave at seats, for who takes a copy of it along. It lies with the runs, which know nobody by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from sqlalchemy.orm import Session

from segarena.engine.human_queue import SeatInfo
from segarena.errors import StoreError
from segarena_server.auth.permissions import seal
from segarena_server.extensions.site_sections import Kept
from segarena_server.site import Site
from segarena_server.storage.data_folder import DataFolder
from segarena_studio.human_user.run_registry import ServedRun, list_all_runs

_NAME = 12


def participant_name(site: Site, run: ServedRun, person_id: int | None) -> str:
    """Return what records call somebody: the same in all of a run; only with the site's secret it can be made."""
    return seal(site, "seat", f"{run.id}:{person_id}")[:_NAME]


def about(session: Session, person_id: int) -> list[dict[str, Any]]:
    """Return nothing: no table knows of seats; what was given there is in files."""
    del session, person_id
    return []


def files(site: Site, person_id: int) -> Iterator[tuple[str, bytes]]:
    """Yield what somebody gave at each of their seats, of the runs that are still where they were."""
    for run in list_all_runs(site.folder):
        name = participant_name(site, run, person_id)
        for seat in run.seats.names():
            if run.seats.person(seat) == name and (told := run.seats.seat(seat)) is not None:
                yield f"{run.id}/{seat}.json", _given(run, told, name)


def _given(run: ServedRun, told: SeatInfo, name: str) -> bytes:
    try:
        rounds = list(run.seats.rounds(told.seat))
    except StoreError as error:
        return msgspec.json.encode({"run": run.title, "damaged": str(error)})
    what = {
        "run": run.title,
        "name": name,
        "sample": told.sample,
        "target": told.target,
        "user": told.user,
    }
    return msgspec.json.encode(what | {"rounds": rounds})


def forget(session: Session, folder: DataFolder, person_id: int, now: float) -> None:
    """Do nothing: records stay, as others rely on them, under a name that is nobody's once the account is gone."""
    del session, folder, person_id, now


KEPT = Kept(about=about, files=files, forget=forget)
