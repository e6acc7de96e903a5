"""Creation, state and deletion of studies."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena.plugin_spec import PluginSpec
from segarena_server.audit_log import record_event
from segarena_server.site import Site
from segarena_studio.studies.description import Study, check_study, encode_study
from segarena_studio.studies.hidden_datasets import check_specification, list_hidden_datasets
from segarena_studio.studies.orm_models import StudyItem, StudyRow
from segarena_studio.studies.preparation import PreparedStudy, SampleContext, prepare_study
from segarena_studio.studies.segmenters import check_answers_clicks

Actor = Mapping[str, Any]
"""Actor for the audit log: `person_id` and `address`; empty on the command line."""

COMMAND_LINE: Actor = {}


def create_study(
    site: Site,
    study: Study,
    watch: SampleContext = lambda done, of: nullcontext(),
) -> PreparedStudy:
    """Create a study on a site, in this process rather than as a job.

    Raises:
        InvalidInput: the name is taken, or the study is invalid.
        SegarenaError: the dataset cannot be opened, or the storage fails.
    """
    with site.database.reading() as session:
        check_new(session, study)
        hidden = list_hidden_datasets(session)
    prepared = prepare_study(study, site.folder.samples, watch, hidden)
    with site.database.writing() as session:
        write_study(session, site.now(), study, prepared, COMMAND_LINE)
    return prepared


def check_new(session: Session, study: Study) -> None:
    """Raise `InvalidInput` if the name is taken, or if the study is invalid or names a hidden dataset."""
    check_study(study)
    if session.scalar(select(StudyRow.id).where(StudyRow.slug == study.slug)):
        raise InvalidInput(f"slug: a study {study.slug} already exists; choose another name")
    # Check now and not after the preparation, which may take hours.
    for segmenter in study.corrections:
        check_answers_clicks(PluginSpec.parse_named(segmenter))
    check_specification(study.dataset, list_hidden_datasets(session))


def write_study(
    session: Session,
    now: float,
    study: Study,
    prepared: PreparedStudy,
    by: Actor,
) -> StudyRow:
    """Write a prepared study.

    Raises:
        InvalidInput: the name was taken in the meantime, or as for `check_new`.
    """
    check_new(session, study)
    # Checked again above: preparation may take hours, and the name may be taken by now.
    row = StudyRow(
        slug=study.slug,
        description=encode_study(study),
        dataset=prepared.dataset,
        person_id=by.get("person_id"),
        made_at=now,
    )
    session.add(row)
    session.flush()
    items = [{"study_id": row.id, **values} for values in prepared.rows]
    session.execute(insert(StudyItem), items)
    record_event(session, now, "study made", study.slug, **by)
    return row


def set_study_state(
    session: Session,
    now: float,
    row: StudyRow,
    state: str,
    by: Actor,
) -> None:
    """Open or close a study; participants may finish their current batch.

    Raises:
        InvalidInput: the state is neither open nor closed.
    """
    if state not in ("open", "closed"):
        raise InvalidInput(f"state: expected open or closed, got {state[:20]!r}")
    row.state = state
    record_event(session, now, f"study {state}", row.slug, **by)


def delete_study(
    session: Session,
    now: float,
    row: StudyRow,
    by: Actor,
) -> None:
    """Delete a study with all answers; its pictures stay in the storage, where other studies may use them."""
    # Record the event before the deletion, while the row still has its name.
    record_event(session, now, "study deleted", row.slug, **by)
    session.execute(delete(StudyRow).where(StudyRow.id == row.id))
