"""Editor API: drafts, checks, finishing, comments, and permissions."""

import threading

import pytest
from annotation_fixtures import (
    EditorClient,
    box,
    give_task,
    picture,
    project_of,
    save_of,
    scene,
    tasks_of,
)
from sqlalchemy import event

from segarena_studio.annotation import scene_check_cache
from segarena_studio.annotation.drafts import MOST_BYTES
from segarena_studio.pages import editor_api

GOOD = scene(box(10, 10, 60, 60), box(50, 20, 110, 80))


@pytest.fixture(scope="module")
def people(served):
    roles = {"Lea": "organiser", "Rex": "participant", "Anna": "participant", "Bert": "participant"}
    pages = {name: EditorClient(served, name, role) for name, role in roles.items()}
    pages["Eve"] = EditorClient(served, "Eve", "admin")  # is in no project
    return pages


@pytest.fixture
def task(served, people):
    """A task of Anna, in a project of Lea's where Rex reviews and Bert annotates the same picture."""
    members = {"Rex": "reviewer", "Anna": "annotator", "Bert": "annotator"}
    project = project_of(served.site, people["Lea"].id, members, annotators=2, labels=("dog", "猫"))
    first, second = tasks_of(served.site, project)
    give_task(served.site, second, people["Bert"].id)
    return give_task(served.site, first, people["Anna"].id)


@pytest.mark.long
def test_a_draft_comes_back_with_all_that_the_editor_needs(people, task):
    anna = people["Anna"]
    before = anna.ask("GET", f"{task}/draft").json()
    assert (before["revision"], before["scene"], before["history"], before["is_open"]) == (
        0,
        None,
        None,
        True,
    )
    assert (before["labels"], before["picture"]) == (
        ["dog", "猫"],
        {"name": "street-0.png", "width": 120, "height": 90},
    )
    answer = anna.ask("PUT", f"{task}/draft", save_of(0, history=["undo"]))
    assert (answer.status_code, answer.json()["revision"]) == (200, 1)
    after = anna.ask("GET", f"{task}/draft").json()
    assert (after["revision"], after["id"], after["history"]) == (1, "save-0", ["undo"])
    assert after["scene"] == save_of(0)["scene"]
    assert anna.ask("GET", f"{task}/picture").content == picture(0)
    assert anna.ask("GET", f"{task}/thumbnail").headers["content-type"] == "image/jpeg"


def test_another_window_is_told_what_there_is(people, task):
    anna = people["Anna"]
    anna.ask("PUT", f"{task}/draft", save_of(0))
    answer = anna.ask("PUT", f"{task}/draft", save_of(0, "other"))
    assert answer.status_code == 409
    told = answer.json()
    assert (told["revision"], told["id"], told["scene"]) == (1, "save-0", save_of(0)["scene"])


def test_a_patch_is_saved_and_a_stale_one_is_told_what_changed(people, task):
    anna = people["Anna"]
    anna.ask("PUT", f"{task}/draft", save_of(0, drawn=GOOD))
    region = {**GOOD["regions"][1], "name": "猫"}
    patch = {"scene": {"length": 8, "regions": [region], "next_id": 3}}
    told = {"base": 1, "id": "renamed", "patch": patch}
    assert anna.ask("PUT", f"{task}/draft", told).json()["revision"] == 2
    found = anna.ask("GET", f"{task}/draft").json()
    assert found["scene"] == {**GOOD, "regions": [GOOD["regions"][0], region]}
    stale = anna.ask("PUT", f"{task}/draft", {**told, "id": "other"})
    assert stale.status_code == 409
    assert (stale.json()["scene"], stale.json()["changes"]["regions"]) == (None, [region])
    assert anna.ask("PUT", f"{task}/draft", told).json()["revision"] == 2
    wrong = {"base": 2, "id": "wrong", "patch": {"scene": {"length": 99}}}
    assert anna.ask("PUT", f"{task}/draft", wrong).status_code == 422
    assert people["Rex"].ask("PUT", f"{task}/draft", told).status_code == 404
    back = anna.ask("GET", f"{task}/draft?base=1").json()["ancestor"]
    assert back["regions"] == [GOOD["regions"][1]]
    for none in ("2", "9", "x", "-1"):
        assert anna.ask("GET", f"{task}/draft?base={none}").json()["ancestor"] is None


def test_saving_takes_what_is_not_valid_and_finishing_does_not(people, task):
    anna = people["Anna"]
    wrong = scene(box(10, 10, 60, 60), box(70, 10, 75, 15), names=("", "small"), open=[0])
    assert anna.ask("PUT", f"{task}/draft", save_of(0, drawn=wrong)).status_code == 200
    answer = anna.ask(
        "POST", f"{task}/finalise", {"base": 1, "is_complete": True, "is_ordered": False}
    )
    assert answer.status_code == 422
    faults = {fault["kind"]: fault for fault in answer.json()["faults"]}
    assert set(faults) == {"open", "unnamed", "small", "ordered"}
    assert faults["small"]["regions"] == ["r2"]
    assert anna.ask("POST", f"{task}/check", {"scene": wrong}).json()["faults"][0]["kind"] == "open"
    anna.ask("PUT", f"{task}/draft", save_of(1, drawn=GOOD))
    boxes = {"is_complete": True, "is_ordered": True}
    assert anna.ask("POST", f"{task}/finalise", {"base": 1, **boxes}).status_code == 409
    assert anna.ask("POST", f"{task}/finalise", {"base": 2, **boxes}).json() == {
        "state": "finished"
    }
    closed = anna.ask("PUT", f"{task}/draft", save_of(2))
    assert (closed.status_code, closed.json()["state"]) == (423, "finished")
    assert anna.ask("POST", f"{task}/reopen", {}).json() == {"state": "in progress"}
    assert anna.ask("PUT", f"{task}/draft", save_of(2)).status_code == 200


def test_comments_are_of_a_place_and_are_settled(people, task):
    rex, anna = people["Rex"], people["Anna"]
    said = rex.ask(
        "POST", f"{task}/comments", {"text": " the <b>tail</b> ", "at": [5.5, 7], "region": "r1"}
    ).json()
    assert (
        anna.ask("POST", f"{task}/comments/{said['id']}/done", {"is_done": True}).status_code == 200
    )
    told = anna.ask("GET", f"{task}/draft").json()["comments"]
    assert [(one["text"], one["by"], one["at"], one["is_done"]) for one in told] == [
        ("the <b>tail</b>", "Rex", [5.5, 7], True)
    ]
    for wrong in (
        {"text": " "},
        {"text": "x" * 2001},
        {"text": "x", "at": [500, 1]},
        {"text": "x", "at": [1]},
    ):
        assert rex.ask("POST", f"{task}/comments", wrong).status_code == 422
    other = rex.ask("POST", f"{task}/comments/{said['id'] + 1}/done", {"is_done": True})
    assert other.status_code == 404


@pytest.mark.parametrize("name", ["Bert", "Eve"])
@pytest.mark.parametrize(
    ("method", "place", "body"),
    [
        ("GET", "draft", None),
        ("PUT", "draft", save_of(0)),
        ("GET", "picture", None),
        ("GET", "preview", None),
        ("GET", "thumbnail", None),
        ("GET", "neighbours", None),
        ("POST", "check", {"scene": GOOD}),
        ("POST", "finalise", {"base": 0, "is_complete": True, "is_ordered": True}),
        ("POST", "reopen", {}),
        ("POST", "comments", {"text": "x"}),
        ("POST", "comments/1/done", {"is_done": True}),
    ],
)
def test_annotators_of_a_picture_see_nothing_of_each_other_and_others_nothing_at_all(
    people, task, name, method, place, body
):
    answer = people[name].ask(method, f"{task}/{place}", body)
    assert (answer.status_code, answer.json()["error"]) == (404, "unknown")
    assert answer.json() == people[name].ask(method, f"999999/{place}", body).json()


def test_a_reviewer_sees_a_task_and_draws_nothing_in_it(people, task):
    rex = people["Rex"]
    told = rex.ask("GET", f"{task}/draft").json()
    assert (told["is_open"], told["history"]) == (False, None)
    assert rex.ask("PUT", f"{task}/draft", save_of(0)).status_code == 404
    assert (
        rex.ask(
            "POST", f"{task}/finalise", {"base": 0, "is_complete": True, "is_ordered": True}
        ).status_code
        == 404
    )


def test_who_is_signed_out_or_elsewhere_is_told_in_json(served, people, task):
    anna = people["Anna"]
    stranger = served.client()
    headers = {"accept": "application/json"}
    answer = stranger.put(f"/studio/tasks/{task}/draft", json=save_of(0), headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (401, "token")
    wrong = anna.ask("PUT", f"{task}/draft", save_of(0), **{"x-form-key": "0" * 64})
    assert (wrong.status_code, wrong.json()["error"]) == (403, "form")
    elsewhere = anna.ask("PUT", f"{task}/draft", save_of(0), **{"sec-fetch-site": "cross-site"})
    assert elsewhere.status_code == 403
    assert anna.ask("GET", f"{task}/draft").json()["revision"] == 0


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"base": 0}', b"\xff", b"[" * 9999, b"x" * (MOST_BYTES + 1)]
)
def test_what_is_no_save_is_refused(people, task, body):
    anna = people["Anna"]
    headers = {"x-form-key": anna.key, "content-type": "application/json"}
    answer = anna.client.put(f"/studio/tasks/{task}/draft", content=body, headers=headers)
    assert answer.status_code == (413 if len(body) > MOST_BYTES else 422)


def test_neighbours_are_ones_own_open_tasks(served, people):
    anna = people["Anna"]
    project = project_of(served.site, people["Lea"].id, {"Anna": "annotator"}, pictures=3)
    own = [give_task(served.site, one, anna.id) for one in tasks_of(served.site, project)]
    found = {task: anna.ask("GET", f"{task}/neighbours").json() for task in own}
    order = sorted(own, key=lambda task: -len(found[task]["next"]))
    assert [[one["task"] for one in found[task]["next"]] for task in order] == [
        order[1:],
        order[2:],
        [],
    ]
    assert found[order[1]]["previous"][0]["task"] == order[0]


@pytest.mark.long
def test_a_save_takes_a_bounded_number_of_statements(served, people, task):
    counted = []
    engine = served.site.database.engine

    def note(connection, cursor, statement, *_):
        # Other threads, such as the one that stores heartbeats, use the database too.
        if threading.current_thread().name.startswith("AnyIO"):
            counted.append(statement)

    for number in range(40):
        people["Anna"].ask("PUT", f"{task}/draft", save_of(number))
    event.listen(engine, "before_cursor_execute", note)
    try:
        log = [{"at_ms": 1, "kind": "x"}]
        assert people["Anna"].ask("PUT", f"{task}/draft", save_of(40, log=log)).status_code == 200
    finally:
        event.remove(engine, "before_cursor_execute", note)
    assert len(counted) <= 11, counted


@pytest.mark.long
def test_finishing_a_large_scene_tells_the_progress_of_its_checks(people, task, monkeypatch):
    going = threading.Event()
    check_document = scene_check_cache.check_document

    def slow_check(*given, **options):
        assert going.wait(30)
        return check_document(*given, **options)

    monkeypatch.setattr(scene_check_cache, "check_document", slow_check)
    monkeypatch.setattr(editor_api, "_CHECK_WAIT_S", 0.05)
    anna = people["Anna"]
    # A drawing that no other test has, because the server remembers the checks of drawings.
    anna.ask("PUT", f"{task}/draft", save_of(0, drawn=scene(box(11, 12, 61, 62))))
    finish = {"base": 1, "is_complete": True, "is_ordered": True}
    answer = anna.ask("POST", f"{task}/finalise", finish)
    progress = {"step": "areas", "done": 0, "total": 1, "unit": "regions"}
    assert (answer.status_code, answer.json()) == (
        202,
        {"is_checked": False, "progress": progress},
    )
    assert people["Rex"].ask("GET", f"{task}/checks").json()["progress"] == progress
    assert people["Bert"].ask("GET", f"{task}/checks").status_code == 404
    look = people["Rex"].client.get(f"/studio/tasks/{task}/look").text
    assert f'data-checking="/studio/tasks/{task}/checks"' in look
    going.set()
    monkeypatch.setattr(editor_api, "_CHECK_WAIT_S", 30.0)
    assert anna.ask("GET", f"{task}/checks").json() == {"is_checked": True}
    assert anna.ask("POST", f"{task}/finalise", finish).json() == {"state": "finished"}
    assert "data-checking" not in people["Rex"].client.get(f"/studio/tasks/{task}/look").text
