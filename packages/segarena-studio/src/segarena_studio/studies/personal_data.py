"""Personal data of accounts in studies: the studies that they created. Participants have no account."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from segarena_server.extensions.site_sections import PersonalDataSource
from segarena_server.site import Site
from segarena_server.storage.data_folder import DataFolder
from segarena_studio.studies.orm_models import StudyRow


def about(session: Session, person_id: int) -> list[dict[str, Any]]:
    """Return the studies that a person created."""
    made = select(StudyRow).where(StudyRow.person_id == person_id).order_by(StudyRow.id)
    return [{"slug": row.slug, "made_at": row.made_at} for row in session.scalars(made)]


def files(site: Site, person_id: int) -> Iterator[tuple[str, bytes]]:
    """Yield nothing: answers do not belong to the leader of a study."""
    del site, person_id
    yield from ()


def forget(
    session: Session,
    folder: DataFolder,
    person_id: int,
    now: float,
) -> None:
    """Remove the creator from studies."""
    del folder, now
    session.connection().execute(
        update(StudyRow).where(StudyRow.person_id == person_id).values(person_id=None)
    )


KEPT = PersonalDataSource(
    about=about,
    files=files,
    forget=forget,
)
