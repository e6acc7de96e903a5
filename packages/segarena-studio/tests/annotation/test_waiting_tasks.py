"""Tasks that wait for a person: which page they land on, what the navigation announces."""

import pytest
from annotation_fixtures import give_task, picture, project_of, someone, tasks_of
from postgres import Postgres, programs

from segarena_server.auth.accounts import register
from segarena_server.db.orm_models import Person
from segarena_server.server_process import open_site
from segarena_server.settings import Settings
from segarena_studio.annotation.invitations import (
    accept_invitation,
    find_pending_invitation,
    invite_people,
)
from segarena_studio.annotation.picture_import import add_files
from segarena_studio.annotation.projects import list_members, list_projects_of, remove_member
from segarena_studio.annotation.waiting_tasks import (
    count_waiting,
    find_returned_notice,
    find_work_page,
    list_returned_tasks,
)
from segarena_studio.orm_models import Comment, Decision, Project, Task


def set_state(site, task, state):
    with site.database.writing() as session:
        session.get_one(Task, task).state = state


def work_page(site, person):
    return find_work_page(site, person)


def notice(site, person):
    with site.database.reading() as session:
        return find_returned_notice(session, person)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def postgres(request):
    """A PostgreSQL server, or None for SQLite."""
    if request.param == "sqlite":
        yield None
        return
    if programs() is None:
        pytest.skip("no PostgreSQL is installed here")
    started = Postgres()
    yield started
    started.stop()


@pytest.fixture
def site(postgres, tmp_path):
    """A site of its own for each test, because work in all projects of a person counts."""
    db = postgres.new_database(with_tables=True) if postgres else ""
    made = open_site(tmp_path / "data", Settings(port=0, workers=0, db=db))
    yield made
    made.database.close()


@pytest.fixture
def people(site):
    return {name: someone(site, name) for name in ("Lea", "Rex", "Anna")}


def test_work_is_on_the_page_of_its_project_and_on_the_list_if_several_have_some(site, people):
    members = {"Anna": "annotator"}
    assert work_page(site, people["Anna"]) == ""
    first = project_of(site, people["Lea"], members)
    assert work_page(site, people["Anna"]) == f"/studio/projects/{first}"
    # The lead could take the free picture, but rarely draws.
    assert work_page(site, people["Lea"]) == ""
    project_of(site, people["Lea"], members)
    assert work_page(site, people["Anna"]) == "/studio/projects"


def test_a_closed_project_or_one_without_tasks_for_a_person_is_no_work(site, people):
    given = project_of(site, people["Lea"], {"Anna": "annotator"}, is_free=False)
    assert work_page(site, people["Anna"]) == ""
    task = give_task(site, tasks_of(site, given)[0], people["Anna"])
    assert work_page(site, people["Anna"]) == f"/studio/projects/{given}"
    set_state(site, task, "approved")
    assert work_page(site, people["Anna"]) == ""
    set_state(site, task, "returned")
    with site.database.writing() as session:
        session.get_one(Project, given).state = "closed"
    assert work_page(site, people["Anna"]) == ""
    assert notice(site, people["Anna"]) is None


def test_reviewers_land_where_others_have_finished(site, people):
    project = project_of(
        site, people["Lea"], {"Rex": "reviewer", "Anna": "annotator"}, is_free=False
    )
    task = give_task(site, tasks_of(site, project)[0], people["Anna"])
    assert work_page(site, people["Rex"]) == ""
    set_state(site, task, "finished")
    assert work_page(site, people["Rex"]) == f"/studio/projects/{project}"
    assert work_page(site, people["Anna"]) == ""


@pytest.mark.long
@pytest.mark.postgresql
def test_the_notice_counts_returned_pictures_of_members(site, people):
    project = project_of(site, people["Lea"], {"Anna": "annotator"}, pictures=3)
    tasks = [give_task(site, task, people["Anna"]) for task in tasks_of(site, project)]
    assert notice(site, people["Anna"]) is None
    set_state(site, tasks[0], "returned")
    assert (notice(site, people["Anna"]).count, notice(site, people["Anna"]).text) == (
        1,
        "1 picture returned to you",
    )
    set_state(site, tasks[1], "returned")
    assert notice(site, people["Anna"]).text == "2 pictures returned to you"
    with site.database.reading() as session:
        rows = list_projects_of(session, people["Anna"], most=5).rows
        waiting = count_waiting(session, rows, people["Anna"])[project]
    assert (waiting.own, waiting.returned, waiting.free, waiting.to_draw) == (3, 2, 0, 3)
    with site.database.writing() as session:
        remove_member(session, session.get_one(Project, project), people["Anna"])
    assert notice(site, people["Anna"]) is None


@pytest.mark.postgresql
def test_returned_tasks_carry_the_newest_reason_and_their_unresolved_comments(site, people):
    project = project_of(site, people["Lea"], {"Anna": "annotator"}, pictures=2)
    task = give_task(site, tasks_of(site, project)[0], people["Anna"])
    set_state(site, task, "returned")
    with site.database.writing() as session:
        for number, (kind, text) in enumerate(
            (("returned", "first"), ("finished", ""), ("reopened", "last"), ("begun", "later"))
        ):
            session.add(
                Decision(task_id=task, kind=kind, revision=1, text=text, made_at=float(number))
            )
        for done_at in (None, None, 5.0):
            session.add(Comment(task_id=task, revision=1, text="x", made_at=0.0, done_at=done_at))
    with site.database.reading() as session:
        (found,) = list_returned_tasks(session, people["Anna"])
        assert list_returned_tasks(session, people["Anna"], project + 1) == []
        assert list_returned_tasks(session, people["Lea"]) == []
    assert (found.reason, found.comments, found.project) == ("last", 2, "Street")


def test_projects_come_in_pages_that_filters_narrow(site, people):
    made = [project_of(site, people["Lea"], name=f"P{n}", pictures=0) for n in range(5)]
    joined = project_of(site, people["Anna"], {"Lea": "annotator"}, name="Of Anna", pictures=0)
    with site.database.writing() as session:
        session.get_one(Project, made[0]).state = "closed"
    with site.database.reading() as session:

        def page(number, **wanted):
            found = list_projects_of(session, people["Lea"], most=4, page=number, **wanted)
            return [project.id for project, _ in found.rows], found.count, found.pages

        assert page(1) == ([joined, *made[:0:-1][:3]], 6, 2)
        assert page(2) == ([made[1], made[0]], 6, 2)
        assert page(10**9) == page(2)
        assert page(1, role="annotator") == ([joined], 1, 1)
        assert page(1, state="closed") == ([made[0]], 1, 1)
        assert page(1, text="p3") == ([made[3]], 1, 1)
        assert page(1, text="%") == ([], 0, 1)


@pytest.mark.long
@pytest.mark.postgresql
def test_an_invitation_is_the_work_of_the_account_that_it_created(site, people):
    project = project_of(site, people["Lea"], pictures=0)
    with site.database.writing() as session:
        entries = ["new@example.org", "Rex", "Nobody"]
        found = invite_people(
            session,
            site,
            session.get_one(Project, project),
            entries,
            "reviewer",
            site.now(),
            may_create_accounts=True,
        )
    assert (found.added, [entry for entry, _ in found.refused]) == (["Rex"], ["Nobody"])
    ((address, text),) = found.keys
    assert address == "new@example.org"
    with site.database.writing() as session:
        new = register(session, site.now(), name="New", kept="-", invitation=text)
        session.flush()
        person = new.id
    assert work_page(site, person) == "/studio/join"
    with site.database.writing() as session:
        pending = find_pending_invitation(session, site, person)
        assert (pending.project.id, pending.role) == (project, "reviewer")
        accept_invitation(session, pending, session.get_one(Person, person), site.now())
    assert work_page(site, person) == ""
    with site.database.reading() as session:
        members = list_members(session, session.get_one(Project, project))
    assert {person.name: role for person, role in members} == {
        "Lea": "lead",
        "New": "reviewer",
        "Rex": "reviewer",
    }


def test_the_same_content_is_found_under_another_name(site, people):
    project = project_of(site, people["Lea"], pictures=0)
    files = [("a.png", picture(1)), ("b.png", picture(1)), ("c.png", picture(2))]
    assert add_files(site, project, files).same == ["b.png has the same content as a.png"]
