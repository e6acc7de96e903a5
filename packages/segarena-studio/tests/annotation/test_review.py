"""Review: the way from a drawing to its approval, and forbidden steps."""

import pytest
from annotation_fixtures import box, give_task, project_of, scene, someone, tasks_of, text_of

from segarena.errors import InvalidInput
from segarena_server.http_errors import Refusal
from segarena_studio.annotation import review
from segarena_studio.annotation.access import find_task
from segarena_studio.annotation.drafts import add_revision, read_revision
from segarena_studio.annotation.scene_checks import check_document
from segarena_studio.annotation.scene_document import read_document
from segarena_studio.orm_models import Task


@pytest.fixture
def anna(site):
    return someone(site, "Anna")


@pytest.fixture
def rex(site):
    return someone(site, "Rex")


@pytest.fixture
def task(site, anna, rex):
    project = project_of(site, someone(site, "Lea"), {"Anna": "annotator", "Rex": "reviewer"})
    task = give_task(site, tasks_of(site, project)[0], anna)
    draw(site, task, anna, scene(box(10, 10, 60, 60)))
    return task


def draw(site, task, person, drawn):
    with site.database.writing() as session:
        row = find_task(session, task, person).task
        add_revision(
            session,
            row,
            text_of(drawn),
            read_document(text_of(drawn)),
            1.0,
            client_id=f"c{row.revision}",
        )


def do(site, task, person, step, *args):
    with site.database.writing() as session:
        found = find_task(session, task, person, for_change=True)
        step(session, found, *args)
        return found.task.state


def test_a_task_is_returned_corrected_and_approved_and_every_step_is_known(site, task, anna, rex):
    assert do(site, task, anna, review.finish_task, 2.0) == "finished"
    assert do(site, task, rex, review.take_for_review, rex, 3.0) == "in review"
    do(site, task, rex, review.add_comment, rex, "its tail goes on", (20.0, 30.0), "r1", 4.0)
    assert do(site, task, rex, review.return_task, rex, "", 5.0) == "returned"
    draw(site, task, anna, scene(box(10, 10, 70, 60)))
    assert do(site, task, anna, review.finish_task, 6.0) == "finished"
    assert do(site, task, rex, review.approve_task, rex, "good", 7.0) == "approved"
    with site.database.reading() as session:
        row = session.get_one(Task, task)
        told = [(one.kind, one.revision, one.text) for one in review.list_decisions(session, row)]
        assert told == [
            ("begun", 0, ""), ("finished", 1, ""), ("taken", 1, ""), ("returned", 1, ""), ("finished", 2, ""),
            ("approved", 2, "good"),
        ]  # fmt: skip
        before, after = (read_revision(session, row, revision)[0] for revision in (1, 2))
        assert (before.points[1], after.points[1]) == ((60, 10), (70, 10))
        assert review.find_last_return(session, row).revision == 1


def test_who_returns_a_task_says_why(site, task, anna, rex):
    do(site, task, anna, review.finish_task, 2.0)
    with pytest.raises(InvalidInput, match="say what to change"):
        do(site, task, rex, review.return_task, rex, " ", 3.0)
    assert do(site, task, rex, review.return_task, rex, "look at the order", 3.0) == "returned"


def test_what_is_not_finished_is_not_judged_and_ones_own_work_never(site, task, anna, rex):
    for step in (review.approve_task, review.return_task):
        with pytest.raises(Refusal, match="in progress"):
            do(site, task, rex, step, rex, "x", 2.0)
    do(site, task, anna, review.finish_task, 2.0)
    with pytest.raises(Refusal, match="does not exist, or it belongs"):
        do(site, task, anna, review.approve_task, anna, "", 3.0)
    with pytest.raises(Refusal, match="reopen"):
        do(site, task, anna, review.finish_task, 3.0)


def test_an_annotator_opens_again_what_no_reviewer_took(site, task, anna, rex):
    do(site, task, anna, review.finish_task, 2.0)
    assert do(site, task, anna, review.reopen_task, anna, "", 3.0) == "in progress"
    with pytest.raises(Refusal, match="already open"):
        do(site, task, anna, review.reopen_task, anna, "", 3.0)
    do(site, task, anna, review.finish_task, 4.0)
    do(site, task, rex, review.take_for_review, rex, 5.0)
    with pytest.raises(Refusal, match="a reviewer can return it"):
        do(site, task, anna, review.reopen_task, anna, "", 6.0)
    do(site, task, rex, review.approve_task, rex, "", 6.0)
    assert do(site, task, rex, review.reopen_task, rex, "one more look", 7.0) == "returned"


def found_in(site, task, *outlines, **more):
    with site.database.reading() as session:
        picture = find_task(session, task, someone(site, "Anna")).picture
    looked = check_document(read_document(text_of(scene(*outlines, **more))), picture)
    return [fault.kind for fault in looked.faults], [remark.kind for remark in looked.remarks]


@pytest.mark.parametrize(
    ("outlines", "more", "faults"),
    [
        ((), {}, ["empty"]),
        ((box(10, 10, 60, 60),), {"names": (" ",)}, ["unnamed"]),
        ((box(10, 10, 60, 60)[:3],), {}, ["few-vertices"]),
        ((box(10, 10, 34, 35),), {}, []),  # 24 x 25 = 600 pixels
        ((box(10, 10, 33, 36),), {}, ["small"]),  # 23 x 26 = 598
        ((box(100, 10, 160, 40),), {}, []),  # of which 20 x 30 = 600 lie in the picture
        ((box(101, 10, 160, 40),), {}, ["small"]),
        (([[10, 10], [60, 60], [60, 10], [10, 60]],), {}, ["self-intersection"]),
        ((box(5, 5, 80, 80), box(10, 10, 60, 60)), {}, ["contained"]),
        ((box(10, 10, 60, 60), box(5, 5, 80, 80)), {}, []),
        ((box(10, 10, 60, 60),), {"open": [0]}, ["open"]),
    ],
)
def test_what_keeps_a_scene_from_being_finished(site, task, outlines, more, faults):
    assert found_in(site, task, *outlines, **more)[0] == faults


def test_what_is_only_worth_a_look_is_a_remark_with_a_place(site, task):
    assert found_in(site, task, box(30, 0, 40, 90), box(40, 0, 110, 90))[0] == []
    faults, remarks = found_in(site, task, box(10, 10, 60, 60), box(61, 10, 110, 60))
    assert (faults, remarks) == ([], ["double-border"])


def test_a_region_that_is_large_enough_for_the_editor_alone_is_told_so(site, task):
    with site.database.reading() as session:
        picture = find_task(session, task, someone(site, "Anna")).picture
    messages = {}
    for name, outline in {"both": box(10, 10, 33, 36), "one": box(10.7, 10.5, 35.3, 35.2)}.items():
        (fault,) = check_document(read_document(text_of(scene(outline))), picture).faults
        messages[name] = fault.message
    assert (
        "got 576; regions this small are not annotated; the editor counts 600, by the centres of "
        "pixels" in messages["one"]
    )
    assert "centres" not in messages["both"]


def test_messages_call_regions_by_their_places_and_names(site, task):
    with site.database.reading() as session:
        picture = find_task(session, task, someone(site, "Anna")).picture
    hollow = [[10, 10], [100, 10], [100, 30], [40, 30], [40, 60], [100, 60], [100, 80], [10, 80]]
    drawn = scene(box(40, 30, 100, 60), hollow, names=("cup", "table"))
    looked = check_document(read_document(text_of(drawn)), picture)
    (message,) = [remark.message for remark in looked.remarks if remark.kind == "modal"]
    assert "behind region 1 (cup)," in message
