"""Patches: applying the difference of two drafts to the first gives the second; what does not fit is refused."""

import json
import random

import msgspec
import pytest
from annotation_fixtures import (
    box,
    give_task,
    project_of,
    save_of,
    scene,
    someone,
    tasks_of,
    text_of,
)

from segarena.errors import InvalidInput
from segarena_studio.annotation.draft_patch import (
    HistoryPatch,
    ScenePatch,
    diff_documents,
    patch_document,
    patch_history,
)
from segarena_studio.annotation.drafts import (
    SaveRequest,
    check_save,
    diff_to_revision,
    expand_patch,
    read_newest_draft,
    read_undo_history,
    save_draft,
)
from segarena_studio.orm_models import Task

OLD = scene(box(0, 0, 9, 9), box(20, 0, 29, 9), box(40, 0, 49, 9))


def patch_of(value):
    return msgspec.convert(value, ScenePatch)


def random_scene(rng, before):
    """Return a document in which some points, regions and their order differ from another one."""
    document = json.loads(json.dumps(before))
    points = document["points"]
    regions = document["regions"]
    for point in points:
        if rng.random() < 0.1:
            point[0] = round(rng.uniform(-5, 200), 2)
    for _ in range(rng.randrange(3)):
        points.append([rng.randrange(100), rng.uniform(0, 90)])
    if regions and rng.random() < 0.4:
        regions.pop(rng.randrange(len(regions)))
    used = max((index + 1 for region in regions for index in region["ring"]), default=0)
    del points[max(used, rng.randrange(len(points) + 1)) :]
    if points and rng.random() < 0.6:
        ring = [rng.randrange(len(points)) for _ in range(5)]
        name = f"r{document['next_id']}"
        document["next_id"] += 1
        regions.insert(
            rng.randrange(len(regions) + 1), {"id": name, "ring": ring, "name": "新", "more": 1}
        )
    if regions and rng.random() < 0.5:
        rng.choice(regions)["name"] = f"thing {rng.random()}"
    if rng.random() < 0.3:
        rng.shuffle(regions)
    document.pop("open", None)
    if points and rng.random() < 0.3:
        document["open"] = [0]
    return document


@pytest.mark.parametrize("seed", range(20))
def test_the_difference_of_two_documents_leads_from_one_to_the_other(seed):
    rng = random.Random(seed)
    before = OLD
    for _ in range(20):
        after = random_scene(rng, before)
        patch = diff_documents(text_of(before), text_of(after))
        sent = msgspec.json.decode(msgspec.json.encode(patch), type=ScenePatch)
        assert json.loads(patch_document(text_of(before), sent)) == after
        before = after


def test_a_patch_has_only_what_differs():
    moved = json.loads(json.dumps(OLD))
    moved["points"][5] = [30, 1]
    patch = diff_documents(text_of(OLD), text_of(moved))
    assert (patch.points, patch.regions, patch.removed, patch.order) == (
        ((5, [30, 1]),),
        (),
        (),
        None,
    )
    assert diff_documents(text_of(OLD), text_of({**OLD, "other": 1})) is None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"points": [[13, [0, 0]]], "length": 14}, "after a gap"),
        ({"length": 13}, "expected 13 points, got 12"),
        ({"removed": ["r9"]}, "no region r9"),
        ({"regions": [{"ring": []}]}, "with ids"),
        ({"order": ["r1", "r2"]}, "order of all"),
        ({"order": ["r1", "r1", "r2"]}, "order of all"),
    ],
)
def test_a_patch_that_does_not_fit_is_refused(change, told):
    with pytest.raises(InvalidInput, match=told):
        patch_document(text_of(OLD), patch_of({"length": 12, **change}))


def test_histories_keep_a_part_and_add_the_rest():
    stored = text_of({"version": 1, "stamp": 7, "done": [1, 2, 3, 4], "undone": [5]})
    patch = {"version": 1, "stamp": 8, "undone": {"first": 0, "count": 0, "added": [{"a": 1}]}}
    part = {"first": 1, "count": 2, "added": [9]}

    def history_patch(done):
        return msgspec.json.decode(text_of({**patch, "done": done}), type=HistoryPatch)

    found = patch_history(stored, history_patch(part))
    assert json.loads(found) == {
        "version": 1,
        "stamp": 8,
        "done": [2, 3, 9],
        "undone": [{"a": 1}],
    }
    assert patch_history(stored, None) == b"null"
    for wrong in ({"first": 3, "count": 2}, {"first": 9, "count": 0}):
        with pytest.raises(InvalidInput, match="history of"):
            patch_history(stored, history_patch(wrong))
    with pytest.raises(InvalidInput, match="another form"):
        patch_history(b"[1]", history_patch(part))


@pytest.fixture
def task(site):
    person = someone(site, "Anna")
    return give_task(site, tasks_of(site, project_of(site, person))[0], person)


def keep(site, task, told):
    save = msgspec.json.decode(text_of(told), type=SaveRequest)
    with site.database.reading() as session:
        whole = expand_patch(session, session.get_one(Task, task), save)
    document = check_save(whole) if whole else None
    with site.database.writing() as session:
        return save_draft(session, session.get_one(Task, task), whole or save, document, 5.0)


def renaming(base, number, name):
    """Return a save that renames the first region, as a patch."""
    region = {**OLD["regions"][0], "name": name}
    history = {"version": 1, "stamp": number, "undone": {"first": 0, "count": 0}}
    history["done"] = {"first": 0, "count": 0, "added": [f"to {name}"]}
    told = {"scene": {"length": 12, "regions": [region], "next_id": 4}, "history": history}
    return {"base": base, "id": f"save-{number}", "patch": told}


def test_a_patch_is_stored_as_a_whole_drawing(site, task):
    assert keep(site, task, save_of(0, drawn=OLD)) == 1
    assert keep(site, task, renaming(1, 2, "dog")) == 2
    expected = json.loads(json.dumps(OLD))
    expected["regions"][0]["name"] = "dog"
    with site.database.reading() as session:
        row = session.get_one(Task, task)
        assert json.loads(bytes(read_newest_draft(session, row).scene)) == expected
        assert json.loads(read_undo_history(session, row))["done"] == ["to dog"]
        back = diff_to_revision(session, row, 1)
    assert json.loads(patch_document(text_of(expected), back)) == OLD


def test_a_patch_of_an_older_revision_changes_nothing_and_is_told_the_difference(site, task):
    keep(site, task, save_of(0, drawn=OLD))
    first = renaming(1, "a", "dog")
    assert keep(site, task, {**first, "patch": renaming(1, 2, "dog")["patch"]}) == 2
    assert keep(site, task, renaming(1, 3, "cat")) is None
    with site.database.reading() as session:
        found = read_newest_draft(session, session.get_one(Task, task), base=1)
    assert (found.revision, found.id, bytes(found.scene)) == (2, "save-a", b"null")
    assert json.loads(patch_document(text_of(OLD), found.changes))["regions"][0]["name"] == "dog"


def test_a_patch_that_arrives_twice_counts_once(site, task):
    keep(site, task, save_of(0, drawn=OLD))
    assert [keep(site, task, renaming(1, 2, "dog")) for _ in range(2)] == [2, 2]
    assert keep(site, task, renaming(2, 3, "cat")) == 3
    assert keep(site, task, renaming(1, 2, "dog")) == 2


def test_a_patch_must_result_in_a_valid_drawing(site, task):
    keep(site, task, save_of(0, drawn=OLD))
    with pytest.raises(InvalidInput, match="scene"):
        keep(site, task, renaming(1, 2, "x" * 300))
