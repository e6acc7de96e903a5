"""Assignment: nobody gets a picture twice, pictures and people are balanced."""

from collections import Counter

import pytest
from annotation_fixtures import project_of, save_of, someone, tasks_of, text_of
from msgspec.json import decode

from segarena_server.http_errors import Refusal
from segarena_studio.annotation.assignment import (
    assign_task,
    count_free_tasks,
    deal_tasks,
    list_abandoned_tasks,
    list_takeable_tasks,
    next_task,
    release_begun_tasks,
    take_task,
)
from segarena_studio.annotation.drafts import SaveRequest, check_save, read_newest_draft, save_draft
from segarena_studio.annotation.projects import remove_member, set_member
from segarena_studio.orm_models import LogSegment, Project, Task

NAMES = ("Anna", "Bert", "Cleo")


@pytest.fixture
def people(site):
    return [someone(site, name) for name in NAMES]


def ask(site, project, person, **how):
    with site.database.writing() as session:
        task = next_task(session, session.get_one(Project, project), person, **how)
        return None if task is None else (task.id, task.picture_id)


def set_state(site, task, state):
    with site.database.writing() as session:
        session.get_one(Task, task).state = state


def test_free_tasks_cover_every_picture_before_any_has_two_people(site, people):
    project = project_of(
        site, people[0], dict.fromkeys(NAMES[1:], "annotator"), pictures=4, annotators=2
    )
    given = []
    for turn in range(8):
        task, picture = ask(site, project, people[turn % 3])
        set_state(site, task, "finished")
        given.append((people[turn % 3], picture))
    assert len({picture for _, picture in given[:4]}) == 4
    assert len(set(given)) == 8
    assert ask(site, project, people[2]) is None


def test_the_order_is_that_of_the_seed(site, people):
    first, again, other = (project_of(site, people[0], pictures=6, seed=seed) for seed in (7, 7, 8))

    def order(project):
        with site.database.reading() as session:
            pictures = [task.picture for task in session.query(Task).filter_by(project_id=project)]
            return [picture.name for picture in sorted(pictures, key=lambda picture: picture.place)]

    assert order(first) == order(again) != order(other)


@pytest.mark.long
def test_ones_own_tasks_come_first_and_what_somebody_waits_for_before_them(site, people):
    project = project_of(site, people[0], pictures=4)
    own = []
    for _ in range(3):
        own.append(ask(site, project, people[0])[0])
        set_state(site, own[-1], "finished")
    for task, state in zip(own, ("clean", "in progress", "returned"), strict=True):
        set_state(site, task, state)
    assert ask(site, project, people[0])[0] == own[2]
    assert ask(site, project, people[0], besides=own[2])[0] == own[1]


def test_a_free_task_that_begins_with_a_file_is_given_too(site, people):
    project = project_of(site, people[0], {"Bert": "annotator"})
    (task,) = tasks_of(site, project)
    set_state(site, task.id, "in progress")
    with site.database.reading() as session:
        assert count_free_tasks(session, session.get_one(Project, project), people[1]) == 1
    assert ask(site, project, people[1])[0] == task.id
    with (
        site.database.writing() as session,
        pytest.raises(Refusal, match="belongs to its annotator"),
    ):
        assign_task(session, session.get_one(Task, task.id), people[0])


def test_where_a_lead_gives_tasks_nobody_takes_any(site, people):
    project = project_of(site, people[0], {"Bert": "annotator"}, is_free=False)
    assert ask(site, project, people[1]) is None
    with site.database.reading() as session:
        assert count_free_tasks(session, session.get_one(Project, project), people[1]) == 0


@pytest.mark.parametrize("annotators", [1, 2, 3])
def test_tasks_are_dealt_out_evenly(site, people, annotators):
    project = project_of(
        site, people[0], dict.fromkeys(NAMES[1:], "annotator"), pictures=7, annotators=annotators
    )
    with site.database.writing() as session:
        assert deal_tasks(session, session.get_one(Project, project), people) == 0
    tasks = tasks_of(site, project)
    counts = Counter(task.person_id for task in tasks)
    assert max(counts.values()) - min(counts.values()) <= 1
    assert len({(task.picture_id, task.person_id) for task in tasks}) == len(tasks)


def test_what_nobody_could_be_given_is_counted(site, people):
    project = project_of(site, people[0], pictures=2, annotators=3)
    with site.database.writing() as session:
        assert deal_tasks(session, session.get_one(Project, project), people[:1]) == 4


def test_a_lead_gives_and_takes_what_was_not_begun(site, people):
    project = project_of(site, people[0], {"Bert": "annotator"}, annotators=2)
    one, other = tasks_of(site, project)
    with site.database.writing() as session:
        assign_task(session, session.get_one(Task, one.id), people[1])
        with pytest.raises(Refusal, match="already"):
            assign_task(session, session.get_one(Task, other.id), people[1])
        with pytest.raises(Refusal, match="member"):
            assign_task(session, session.get_one(Task, other.id), people[2])
        assign_task(session, session.get_one(Task, one.id), None)
        assign_task(session, session.get_one(Task, one.id), people[1])
        session.get_one(Task, one.id).state = "in progress"
        with pytest.raises(Refusal, match="belongs to its annotator"):
            assign_task(session, session.get_one(Task, one.id), people[0])


def left(site, people, state="in progress"):
    """Return a project and a task that Bert began before he left."""
    project = project_of(site, people[0], {"Bert": "annotator", "Cleo": "annotator"})
    task = ask(site, project, people[1])[0]
    log = [{"at_ms": 1.0, "kind": "close", "region": "r1"}]
    told = decode(text_of(save_of(0, log=log, time_ms={"r1": 9.0})), type=SaveRequest)
    with site.database.writing() as session:
        save_draft(session, session.get_one(Task, task), told, check_save(told), 0.0)
        session.flush()
        session.get_one(Task, task).state = state
        remove_member(session, session.get_one(Project, project), people[1])
    return project, task


def test_others_go_on_with_what_somebody_left_behind_who_left(site, people):
    project, task = left(site, people)
    with site.database.writing() as session:
        assert [(one.name, count) for one, count in list_abandoned_tasks(session, project)] == [
            ("Bert", 1)
        ]
        assign_task(session, session.get_one(Task, task), people[2])
    with site.database.writing() as session:
        row = session.get_one(Task, task)
        assert (row.person_id, row.state, row.total_ms) == (people[2], "in progress", 9.0)
        assert read_newest_draft(session, row).revision == 1
        assert row.history is None
        assert session.get(LogSegment, (task, 1)) is None
        assert list_abandoned_tasks(session, project) == []


def test_what_somebody_left_behind_can_be_freed_for_whoever_asks(site, people):
    project, task = left(site, people)
    with site.database.writing() as session:
        with pytest.raises(Refusal, match="member of the project"):
            release_begun_tasks(session, project, people[2])
        release_begun_tasks(session, project, people[1])
    assert ask(site, project, people[2])[0] == task


def test_what_is_finished_stays_with_who_drew_it(site, people):
    project, task = left(site, people, "finished")
    with site.database.writing() as session:
        assert list_abandoned_tasks(session, project) == []
        with pytest.raises(Refusal, match="finished"):
            assign_task(session, session.get_one(Task, task), people[2])
        session.get_one(Task, task).person_id = None
        with pytest.raises(Refusal, match="finished"):
            assign_task(session, session.get_one(Task, task), people[2])


def test_what_somebody_did_not_begin_is_free_when_they_leave(site, people):
    project = project_of(site, people[0], {"Bert": "annotator"}, pictures=2)
    begun = ask(site, project, people[1])[0]
    set_state(site, begun, "in progress")
    with site.database.writing() as session:
        assign_task(
            session,
            session.get_one(Task, next(t.id for t in tasks_of(site, project) if t.id != begun)),
            people[1],
        )
        remove_member(session, session.get_one(Project, project), people[1])
    assert [task.person_id for task in tasks_of(site, project) if task.id != begun] == [None]
    assert [task.person_id for task in tasks_of(site, project) if task.id == begun] == [people[1]]


def test_a_project_is_always_led(site, people):
    project = project_of(site, people[0], {"Bert": "annotator"})
    with site.database.writing() as session:
        row = session.get_one(Project, project)
        for change in (
            lambda: remove_member(session, row, people[0]),
            lambda: set_member(session, row, "Anna", "reviewer", 0.0),
        ):
            with pytest.raises(ValueError, match="a project needs a lead"):
                change()
        set_member(session, row, "bert", "lead", 0.0)
        session.flush()
        remove_member(session, row, people[0])


def test_a_chosen_task_is_taken_once_and_only_of_pictures_with_the_fewest_people(site, people):
    project = project_of(
        site, people[0], dict.fromkeys(NAMES[1:], "annotator"), pictures=3, annotators=2
    )

    def choices(person):
        with site.database.reading() as session:
            tasks = list_takeable_tasks(session, session.get_one(Project, project), person)
            return {task.picture_id: task.id for task in tasks}

    def take(person, task):
        with site.database.writing() as session:
            taken = take_task(session, session.get_one(Project, project), person, task)
            return taken and taken.id

    first = choices(people[0])
    assert len(first) == 3
    picture, task = max(first.items())
    assert take(people[0], task) == task
    assert take(people[1], task) is None
    assert take(people[1], None) is None
    assert set(choices(people[0])) == set(choices(people[1])) == set(first) - {picture}
    for person in people[:2]:
        for other in list(choices(person).values())[:1]:
            assert take(person, other) == other
    assert set(choices(people[2])) == set(first)
    with site.database.writing() as session:
        session.get_one(Project, project).is_free = False
    assert choices(people[2]) == {}
