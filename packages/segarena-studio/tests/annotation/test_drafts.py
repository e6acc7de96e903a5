"""Drafts: no save overwrites an unknown revision, repeated saves count once, old revisions are pruned."""

import json
import random
from itertools import pairwise

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
from sqlalchemy import select

from segarena.errors import InvalidInput
from segarena_server.storage.compression import decompress_body
from segarena_studio.annotation.drafts import (
    RECENT,
    SaveRequest,
    add_revision,
    check_save,
    pruned_revision,
    read_newest_draft,
    read_undo_history,
    save_draft,
)
from segarena_studio.annotation.time_tracking import read_region_times, sum_short_gaps
from segarena_studio.orm_models import Draft, LogSegment, Task


@pytest.fixture
def task(site):
    person = someone(site, "Anna")
    return give_task(site, tasks_of(site, project_of(site, person))[0], person)


def keep(site, task, told):
    save = msgspec.json.decode(text_of(told), type=SaveRequest)
    document = check_save(save)
    with site.database.writing() as session:
        return save_draft(session, session.get_one(Task, task), save, document, 5.0)


def newest(site, task):
    with site.database.reading() as session:
        return read_newest_draft(session, session.get_one(Task, task))


def test_a_draft_is_kept_as_it_came(site, task):
    drawn = scene(box(1, 2, 30, 40), open=[0, 1], names=("Straße 道",))
    history = [{"kind": "vertex", "x": 0.1}]
    assert keep(site, task, save_of(0, drawn=drawn, history=history)) == 1
    found = newest(site, task)
    assert (found.revision, found.id, found.state) == (1, "save-0", "in progress")
    assert json.loads(bytes(found.scene)) == drawn
    with site.database.reading() as session:
        row = session.get_one(Task, task)
        assert json.loads(read_undo_history(session, row)) == history
        assert (row.regions, row.points, row.saved_at) == (1, 4, 5.0)


def test_a_draft_on_an_older_one_changes_nothing(site, task):
    assert keep(site, task, save_of(0)) == 1
    assert keep(site, task, save_of(1)) == 2
    assert (
        keep(
            site,
            task,
            save_of(1, "other", drawn=scene(box(0, 0, 9, 9)), history=[1], time_ms={"r1": 9}),
        )
        is None
    )
    found = newest(site, task)
    assert (found.revision, found.id) == (2, "save-1")
    with site.database.reading() as session:
        row = session.get_one(Task, task)
        assert (read_undo_history(session, row), row.spent) == (b"null", "{}")


def test_what_is_sent_twice_counts_once(site, task):
    told = save_of(
        0,
        time_ms={"r1": 700},
        active_ms={"r1": 500},
        log=[{"at_ms": 1000, "kind": "x"}, {"at_ms": 3000, "kind": "y"}],
    )
    assert [keep(site, task, told), keep(site, task, told)] == [1, 1]
    assert keep(site, task, save_of(1, time_ms={"r1": 300, "r2": 50})) == 2
    assert keep(site, task, told) == 1  # as it was answered
    with site.database.reading() as session:
        row = session.get_one(Task, task)
        assert row.annotation_ms == 2000
        spent = {
            region: (one.total_s, one.active_s)
            for region, one in read_region_times(row.spent).items()
        }
        assert spent == {"r1": (1.0, 0.5), "r2": (0.05, 0.0)}
        logged = session.scalars(select(LogSegment)).all()
        assert [
            len(json.loads(decompress_body(one.entries))) for one in logged if one.task_id == task
        ] == [2]


@pytest.mark.parametrize("seed", range(20))
def test_of_two_windows_in_any_order_nothing_is_overwritten_unseen(site, task, seed):
    """Two windows save, some answers are lost and sent again; each knows all that it builds on."""
    rng = random.Random(seed)
    knows = [0, 0]
    lost = [None, None]
    content = {0: frozenset()}
    for step in range(25):
        who = rng.randrange(2)
        told = lost[who] or (
            save_of(knows[who], f"{who}-{step}"),
            content[knows[who]] | {(who, step)},
        )
        lost[who] = None
        revision = keep(site, task, told[0])
        if revision is None:
            knows[who] = newest(
                site, task
            ).revision  # the person looks at it, and takes it or draws on it
            continue
        content[revision] = told[1]
        if rng.random() < 0.3:
            lost[who] = told  # the answer does not arrive
        else:
            knows[who] = revision
    last = newest(site, task).revision
    assert last == max(content)
    for revision in range(1, last + 1):
        assert content[revision] > content[revision - 1]


@pytest.mark.long
def test_of_many_revisions_few_are_kept_and_those_decided_on_stay(site, task):
    document = check_save(msgspec.json.decode(text_of(save_of(0)), type=SaveRequest))
    with site.database.writing() as session:
        row = session.get_one(Task, task)
        for number in range(600):
            add_revision(
                session,
                row,
                b"{}",
                document,
                float(number),
                client_id=f"c{number}",
                is_kept=number == 8,
            )
            session.flush()
    with site.database.reading() as session:
        left = session.scalars(
            select(Draft.revision).where(Draft.task_id == task).order_by(Draft.revision)
        ).all()
    assert left[-RECENT:] == list(range(601 - RECENT, 601))
    assert 9 in left
    assert len(left) < 80
    older = [revision for revision in left if revision != 9]
    # Whatever moment one goes back to, something is kept that is at most a quarter further back.
    assert all(600 - before <= 1.25 * (600 - after) + 1 for before, after in pairwise(older))


def test_what_is_let_go_of_is_at_most_one_a_save():
    left = set()
    for newest_one in range(1, 3000):
        left = (left | {newest_one}) - {pruned_revision(newest_one)}
    assert len(left) <= 8 * 12 + RECENT


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"id": ""}, "id"),
        ({"id": "a b"}, "id"),
        ({"id": "x" * 65}, "id"),
        ({"history": "x" * 2**21}, "history"),
    ],
)
def test_a_save_that_cannot_be_is_told(change, told):
    with pytest.raises(InvalidInput, match=told):
        check_save(msgspec.json.decode(text_of(save_of(0) | change), type=SaveRequest))


@pytest.mark.parametrize(
    "change", [{"base": -1}, {"more": 1}, {"time_ms": {"r1": -5}}, {"log": [{"kind": "x"}]}]
)
def test_a_save_of_another_form_is_not_read(change):
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text_of(save_of(0) | change), type=SaveRequest)


def test_annotation_time_is_of_gaps_shorter_than_five_seconds():
    assert sum_short_gaps([0, 1000, 5999, 10_999, 11_000]) == (1000 + 4999 + 1, 11_000)
    assert sum_short_gaps([12_000, 500], 11_000) == (1000, 12_000)
    assert sum_short_gaps([]) == (0, None)
