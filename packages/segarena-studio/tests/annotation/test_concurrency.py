"""Concurrent requests on both kinds of databases: one succeeds, the other gets a conflict or the same result."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from annotation_fixtures import (
    box,
    give_task,
    picture,
    project_of,
    save_of,
    scene,
    someone,
    tasks_of,
    text_of,
)
from msgspec.json import decode
from postgres import Postgres, programs

from segarena.systems.scenes.model.scene import SceneSet
from segarena_server.server_process import open_site
from segarena_server.settings import Settings
from segarena_studio.annotation.access import find_task
from segarena_studio.annotation.assignment import deal_tasks, next_task
from segarena_studio.annotation.drafts import SaveRequest, check_save, save_draft
from segarena_studio.annotation.picture_import import add_files
from segarena_studio.annotation.prior_annotations import start_tasks
from segarena_studio.annotation.scene_document import document_to_scene, read_document
from segarena_studio.orm_models import Project, Task

TIMES = 5


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def site(request, tmp_path_factory):
    """A site on a database of each kind."""
    postgres = None
    if request.param == "postgresql":
        if programs() is None:
            pytest.skip("no PostgreSQL is installed here")
        postgres = Postgres()
    settings = Settings(
        port=0, workers=0, db=postgres.new_database(with_tables=True) if postgres else ""
    )
    made = open_site(tmp_path_factory.mktemp("site") / "data", settings)
    yield made
    made.database.close()
    if postgres:
        postgres.stop()


@pytest.fixture
def anna(site):
    return someone(site, "Anna")


@pytest.fixture
def bert(site):
    return someone(site, "Bert")


def at_once(*deeds):
    """Call all functions at the same moment, and return their results."""
    start = threading.Barrier(len(deeds))

    def do(deed):
        start.wait(60)
        return deed()

    with ThreadPoolExecutor(len(deeds)) as pool:
        return list(pool.map(do, deeds))


def ask(site, project, person):
    with site.database.writing() as session:
        task = next_task(session, session.get_one(Project, project), person)
        return task and task.id


def save(site, task, person, name):
    told = decode(text_of(save_of(0, name)), type=SaveRequest)
    with site.database.writing() as session:
        found = find_task(session, task, person, for_change=True)
        return save_draft(session, found.task, told, check_save(told), 1.0)


@pytest.mark.long
def test_who_asks_twice_is_given_one_task(site, anna):
    for _ in range(TIMES):
        project = project_of(site, anna, annotators=2)
        one, other = at_once(*[lambda project=project: ask(site, project, anna)] * 2)
        assert one is not None
        assert one == other


def test_of_two_drafts_on_one_revision_one_is_kept(site, anna):
    for _ in range(TIMES):
        task = give_task(site, tasks_of(site, project_of(site, anna))[0], anna)
        found = at_once(
            *[lambda task=task, name=name: save(site, task, anna, name) for name in "ab"]
        )
        assert sorted(found, key=str) == [1, None]


def test_a_picture_that_two_bring_is_there_once(site, anna):
    for _ in range(TIMES):
        project = project_of(site, anna, pictures=0)
        found = at_once(
            *[lambda project=project: add_files(site, project, [("a.png", picture(1))])] * 2
        )
        assert sorted((one.new, one.known, one.refused) for one in found) == [
            (0, 1, []),
            (1, 0, []),
        ]


def test_a_first_draft_and_a_file_to_begin_with_never_take_each_others_place(site, anna):
    drawn = document_to_scene(
        read_document(text_of(scene(box(10, 10, 60, 60)))), name="street-0.png", shape=(90, 120)
    )
    for _ in range(TIMES):
        project = project_of(site, anna)
        task = give_task(site, tasks_of(site, project)[0], anna)
        revision, started = at_once(
            lambda task=task: save(site, task, anna, "mine"),
            lambda project=project: start_tasks(site, project, SceneSet(scenes=(drawn,))),
        )
        assert (revision, started.tasks, started.left) in [(1, 0, 1), (None, 1, 0)]
        assert tasks_of(site, project)[0].revision == 1


@pytest.mark.long
def test_a_task_that_somebody_was_given_is_not_dealt_to_another(site, anna, bert):
    for _ in range(TIMES):
        project = project_of(site, anna, {"Bert": "annotator"})

        def deal_out(project=project):
            with site.database.writing() as session:
                return deal_tasks(session, session.get_one(Project, project), [bert])

        task, _ = at_once(lambda project=project: ask(site, project, anna), deal_out)
        (row,) = tasks_of(site, project)
        assert (task, row.person_id) in [(row.id, anna), (None, bert)]
        assert isinstance(row, Task)
