"""Personal data: downloads contain drawings, and deleting an account removes what identifies the person."""

import json

import pytest
from annotation_fixtures import give_task, picture, project_of, save_of, someone, tasks_of, text_of
from msgspec.json import decode
from sqlalchemy import select

from segarena.errors import InvalidInput
from segarena_server.db.orm_models import Person
from segarena_server.privacy.account_deletion import delete_account
from segarena_server.privacy.personal_data import personal_data_of
from segarena_studio.annotation import personal_data
from segarena_studio.annotation.drafts import SaveRequest, check_save, save_draft
from segarena_studio.annotation.picture_import import add_files
from segarena_studio.orm_models import Draft, LogSegment, Member, Picture, Project, Task


@pytest.fixture
def lea(site):
    return someone(site, "Lea")


def draw(site, task):
    log = [{"at_ms": 5, "kind": "vertex"}]
    save = decode(text_of(save_of(0, f"{task}", history=["secret"], log=log)), type=SaveRequest)
    with site.database.writing() as session:
        save_draft(session, session.get_one(Task, task), save, check_save(save), 1.0)


def test_a_copy_has_what_was_drawn_and_when(site, lea):
    anna = someone(site, "Anna Copy")
    project = project_of(site, lea, {"Anna Copy": "annotator"})
    task = give_task(site, tasks_of(site, project)[0], anna)
    draw(site, task)
    with site.database.reading() as session:
        told = personal_data_of(session, session.get_one(Person, anna), 1.0)["drawing"]
    assert told["projects"] == [{"name": "Street", "role": "annotator", "since": 0.0}]
    assert [(one["id"], one["picture"], one["regions"]) for one in told["tasks"]] == [
        (task, "street-0.png", 1)
    ]
    ((name, content),) = personal_data.files(site, anna)
    found = json.loads(content)
    assert (name, found["scene"]["regions"][0]["name"]) == (f"{task}.json", "thing 1")
    assert found["log"] == [[{"at_ms": 5, "kind": "vertex", "region": None}]]


def test_a_deleted_account_leaves_what_was_drawn_and_no_trace_of_when(site, lea):
    anna = someone(site, "Anna Gone")
    project = project_of(site, lea, {"Anna Gone": "annotator"}, pictures=2)
    drawn, clean = (give_task(site, task, anna) for task in tasks_of(site, project))
    draw(site, drawn)
    with site.database.writing() as session:
        delete_account(session, site.folder, session.get_one(Person, anna), 2.0)
    with site.database.reading() as session:
        assert session.get(Draft, (drawn, 1)) is not None
        assert session.scalars(select(LogSegment).where(LogSegment.task_id == drawn)).all() == []
        assert session.get(Member, (project, anna)) is None
        assert session.get_one(Task, clean).person_id is None
        task = session.get_one(Task, drawn)
        assert (task.history, task.person.name) == (None, f"(deleted {anna})")


def test_who_alone_leads_others_says_first_who_leads_them_next(site, lea):
    boss, other = someone(site, "Boss", "organiser"), someone(site, "Other")
    alone, common = project_of(site, boss), project_of(site, boss, {"Other": "reviewer"})
    with (
        pytest.raises(InvalidInput, match="'Street' has no other lead"),
        site.database.writing() as session,
    ):
        personal_data.forget(session, site.folder, boss, 1.0)
    with site.database.writing() as session:
        session.get_one(Member, (common, other)).role = "lead"
        session.flush()
        personal_data.forget(session, site.folder, boss, 1.0)
    with site.database.reading() as session:
        assert session.get(Project, alone) is None
        assert session.get(Project, common) is not None


def test_photographs_go_with_a_project_that_nobody_else_is_in_unless_another_needs_them(site, lea):
    boss = someone(site, "Lonely", "organiser")
    alone, _ = project_of(site, boss), project_of(site, lea)
    add_files(site, alone, [("a.png", picture(99))])
    with site.database.reading() as session:
        pictures = session.scalars(
            select(Picture).where(Picture.project_id == alone).order_by(Picture.name)
        ).all()
    with site.database.writing() as session:
        personal_data.forget(session, site.folder, boss, 1.0)
    there = [site.folder.photographs.path(one.sha256).is_file() for one in pictures]
    assert there == [False, True]
    assert not site.folder.photographs.path(pictures[0].thumbnail).is_file()
