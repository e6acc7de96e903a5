"""Participation by requests alone, valid and invalid ones."""

import json
import logging
from functools import partial

import pytest
from sqlalchemy import func, select
from study_fixtures import ParticipantClient, answer, link_of, study_of

from segarena_studio.studies import trials
from segarena_studio.studies.orm_models import StudyCode, StudyLink, StudyTrial, StudyVisitor
from segarena_studio.studies.study_export import study_named
from segarena_studio.studies.trial_answers import judge_answer
from segarena_studio.studies.trials import item_mask, trial_item

OFF = answer((-20, -20))


@pytest.fixture(scope="module")
def made(served):
    return study_of(served.site)


@pytest.fixture(scope="module")
def link(made):
    return link_of(made, 1000)


@pytest.fixture
def taker(served, link):
    return ParticipantClient(served.client(), link)


def right(site, step, **changes):
    """Return a correct answer."""
    with site.database.reading() as session:
        rows, columns = item_mask(
            trial_item(session, session.get(StudyTrial, step["trial"]))
        ).nonzero()
    return answer((columns[0] + 0.5, rows[0] + 0.5), **changes)


def batch(taker, site, give=right):
    """Complete a batch; return the description of each trial."""
    step, purposes = taker.post("batch").json(), []
    while "trial" in step:
        with site.database.reading() as session:
            trial = session.get(StudyTrial, step["trial"])
            purposes.append((trial.purpose, trial_item(session, trial).image))
        assert taker.give(step, give(site, step)).status_code == 200
        step = taker.next()
    return step, purposes


def train(taker, site):
    step = taker.next()
    assert taker.give(step, right(site, step)).json() == {"feedback": "right"}
    return taker.next()


def visitors(site):
    with site.database.reading() as session:
        return session.scalar(select(func.count()).select_from(StudyVisitor))


@pytest.mark.long
def test_from_consent_to_the_code(served, taker):
    assert taker.agreed.status_code == 303
    step = taker.next()
    assert (step["is_training"], step["place"], step["of"]) == (True, 1, 1)
    assert train(taker, served.site)["state"] == "ready"
    first, seen = batch(taker, served.site)
    assert first["state"] == "ready"
    last, more = batch(taker, served.site)
    purposes = [purpose for purpose, _ in seen]
    assert sorted(purposes) == ["attention", "main", "main", "main"]
    assert purposes[0] == "main"
    images = [image for _, image in (*seen, *more)]
    assert len(set(images)) == len(images) == 8
    assert (last["state"], last["batch"]) == ("done", 2)
    assert taker.code()
    with served.site.database.reading() as session:
        kept = session.scalars(select(StudyCode).where(StudyCode.code == last["code"])).one()
        assert (kept.batches, kept.counted) == (2, 2)
    assert taker.post("batch").json()["state"] == "done"


def test_nobody_comes_without_agreeing(served, link):
    before, client = visitors(served.site), served.client()
    for told in ({}, {"agrees": "yes"}, {"device": "pc"}, {"agrees": "yes", "device": "fridge"}):
        assert client.post(f"/studio/take/{link}", data=told).status_code == 422
    assert client.get(f"/studio/take/{link}/trials").headers["location"] == f"/studio/take/{link}"
    assert client.get(f"/studio/take/{link}/next").status_code == 404
    assert visitors(served.site) == before


def test_the_form_sent_twice_is_one_person_and_the_browser_comes_back(served, taker):
    before = visitors(served.site)
    again = taker.client.post(taker.base, data={"agrees": "yes", "device": "mobile"})
    assert again.headers["location"] == f"{taker.base}/trials"
    assert taker.client.get(taker.base).headers["location"] == f"{taker.base}/trials"
    assert visitors(served.site) == before


def test_links_that_are_not_ours_full_or_ended_let_nobody_in(served, made, link):
    client = served.client()
    number = link.partition("-")[0]
    forged = (
        f"{number}-{'0' * 24}",
        f"0{link}",
        f"{link}x",
        f"{int(number) + 1}-{link.partition('-')[2]}",
    )
    for text in (*forged, number, "", "x-y", "9" * 50):
        assert client.get(f"/studio/take/{text}").status_code == 404, text
    narrow = link_of(made, most=1)
    assert ParticipantClient(served.client(), narrow).agreed.status_code == 303
    late = ParticipantClient(served.client(), narrow)
    assert late.agreed.status_code == 422
    assert "number of participants" in late.client.get(late.base).text
    with served.site.database.writing() as session:
        session.get(StudyLink, int(narrow.partition("-")[0])).ended_at = 1.0
    assert "is no longer valid" in late.client.get(late.base).text


def test_a_study_for_phones_takes_no_computers(served):
    mobile = link_of(study_of(served.site, slug="phones", devices=("mobile",)))
    assert ParticipantClient(served.client(), mobile, "pc").agreed.status_code == 422
    assert ParticipantClient(served.client(), mobile, "mobile").agreed.status_code == 303


def test_training_must_be_right_and_ends(served, taker):
    for tries in range(3):
        step = taker.next()
        assert step["is_training"], tries
        assert taker.give(step, OFF).json() == {"feedback": "wrong"}
    assert taker.next()["state"] == "failed"
    assert taker.post("batch").json()["state"] == "failed"
    assert taker.next()["code"] == ""


def test_an_answer_counts_once(served, taker):
    step = taker.next()
    told = right(served.site, step)
    assert taker.post(f"trials/{step['trial']}", told).status_code == 409  # not begun
    assert taker.give(step, told).json() == {"feedback": "right"}
    assert taker.post(f"trials/{step['trial']}", told).json() == {"feedback": "right"}
    assert taker.post(f"trials/{step['trial']}", OFF).status_code == 409
    assert taker.post(f"trials/{step['trial']}/begin").status_code == 409
    with served.site.database.reading() as session:
        visitor = session.get(StudyVisitor, session.get(StudyTrial, step["trial"]).visitor_id)
        assert (visitor.tries, visitor.passed) == (1, 1)


def test_answers_are_judged_while_nothing_is_locked(served, taker, monkeypatch):
    """A second writing transaction would wait in vain for a first one that evaluates an answer."""

    def judged(*given):
        with served.site.database.writing() as session:
            session.scalars(select(StudyVisitor).with_for_update()).all()
        return judge_answer(*given)

    monkeypatch.setattr(trials, "judge_answer", judged)
    step = taker.next()
    assert taker.give(step, right(served.site, step)).json() == {"feedback": "right"}


def test_trials_of_others_are_nobody_s(served, link, taker):
    step, other = taker.next(), ParticipantClient(served.client(), link)
    for ending in ("", "/begin"):
        assert (
            other.post(f"trials/{step['trial']}{ending}", OFF if not ending else {}).status_code
            == 404
        )
    for ending in ("picture", "target"):
        assert other.client.get(f"{other.base}/trials/{step['trial']}/{ending}").status_code == 404
        assert (
            taker.client.get(f"{taker.base}/trials/{step['trial']}/{ending}").headers[
                "content-type"
            ]
            == "image/jpeg"
        )
    assert taker.post("trials/none/begin").status_code == 404


def test_a_cookie_that_is_not_signed_opens_nothing(served, taker):
    (cookie,) = list(taker.client.cookies.jar)
    stranger = served.client()
    key, _, signature = cookie.value.partition(".")
    for value in (key, f"{key}.{'0' * 64}", f"x{key}.{signature}", ".", "a.b.c", f"{key}."):
        stranger.cookies.set(cookie.name, value, domain="127.0.0.1")
        assert stranger.get(f"{taker.base}/next").status_code == 404, value
    assert cookie.has_nonstandard_attr("HttpOnly")


def test_hostile_answers_are_refused_and_change_nothing(served, taker):
    step = taker.next()
    address = f"{taker.base}/trials/{step['trial']}"
    taker.post(f"trials/{step['trial']}/begin")
    good = json.dumps(right(served.site, step))
    bodies = [
        b"",
        b"null",
        b"[]",
        b"\xff",
        b"{" * 100_000,
        b'{"strokes": []}',
        json.dumps({**OFF, "more": 1}).encode(),
    ]
    bodies += [good.replace("10.0", number).encode() for number in ("NaN", "1e999", "-1", '"x"')]
    bodies += [json.dumps({**OFF, "strokes": OFF["strokes"] * 201}).encode()]
    for body in bodies:
        assert taker.client.post(address, content=body).status_code == 422, body[:60]
    assert taker.client.post(address, content=b" " * (1024 * 1024 + 1)).status_code == 413
    elsewhere = {"origin": "https://elsewhere.example", "sec-fetch-site": "cross-site"}
    assert taker.client.post(address, content=good, headers=elsewhere).status_code == 403
    assert taker.next()["trial"] == step["trial"]
    assert taker.client.post(address, content=good).status_code == 200


def test_time_is_the_server_s(served):
    site = served.site
    slow = study_of(
        site, slug="slow", training=0, attention=0, free_s=1.0, shown_s=2.0, blocked_s=3.0
    )
    taker, clock = ParticipantClient(served.client(), link_of(slow)), site.clock
    step = taker.post("batch").json()
    try:
        now = site.now()
        site.clock = lambda: now
        assert taker.post(f"trials/{step['trial']}/begin").json() == {"elapsed_s": 0.0}
        target = f"{taker.base}/trials/{step['trial']}/target"
        for later, status, answered in (
            (2.5, 200, 409),
            (5.5, 403, 409),
            (5.9, 403, 409),
            (6.0, 403, 200),
        ):
            site.clock = partial(float, now + later)
            assert taker.next()["trial"] == step["trial"]
            begun = taker.post(f"trials/{step['trial']}/begin").json()
            assert begun["elapsed_s"] == pytest.approx(later)
            assert taker.client.get(target).status_code == status
            assert taker.post(f"trials/{step['trial']}", right(site, step)).status_code == answered
        assert taker.client.get(target).status_code == 403
        with site.database.reading() as session:
            trial = session.get(StudyTrial, step["trial"])
            assert (trial.loads, round(trial.answered_s, 6)) == (5, 6.0)
    finally:
        site.clock = clock


@pytest.mark.long
def test_a_batch_that_is_off_does_not_count_and_is_asked_again(served):
    site = served.site
    made = study_of(
        site,
        slug="off",
        training=0,
        attention=0,
        answers=1,
        dataset="sample-squares(count=3)",
        batches=1,
    )
    text = link_of(made)
    first = ParticipantClient(served.client(), text)
    end, seen = batch(first, site, lambda *_: OFF)
    assert (end["state"], len(seen)) == ("done", 3)
    with site.database.reading() as session:
        assert (
            session.scalars(select(StudyCode.counted).where(StudyCode.code == end["code"])).one()
            == 0
        )
    second = ParticipantClient(served.client(), text)
    assert len(batch(second, site)[1]) == 3
    third = ParticipantClient(served.client(), text)
    assert third.post("batch").json()["state"] == "done"  # all are answered
    assert third.next()["code"] == ""


@pytest.mark.long
def test_whoever_misses_the_checks_leaves_their_place_to_others(served):
    site = served.site
    made = study_of(
        site, slug="careless", training=0, answers=1, dataset="sample-squares(count=3)", batches=1
    )
    text = link_of(made)

    def careless(site, step):
        with site.database.reading() as session:
            purpose = session.get(StudyTrial, step["trial"]).purpose
        return OFF if purpose == "attention" else right(site, step)

    end, _ = batch(ParticipantClient(served.client(), text), site, careless)
    with site.database.reading() as session:
        assert (
            session.scalars(select(StudyCode.counted).where(StudyCode.code == end["code"])).one()
            == 0
        )
    assert len(batch(ParticipantClient(served.client(), text), site)[1]) == 4


def test_stopping_after_a_batch_gives_the_code_and_not_before(served, taker):
    train(taker, served.site)
    assert taker.post("finish").json()["state"] == "ready"
    batch(taker, served.site)
    assert taker.post("finish").json()["state"] == "done"
    assert taker.code()


def test_withdrawing_leaves_nothing(served, taker):
    site = served.site
    step = taker.next()
    taker.give(step, right(site, step))
    with site.database.reading() as session:
        visitor = session.get(StudyTrial, step["trial"]).visitor_id
    assert "deleted" in taker.client.post(f"{taker.base}/withdraw", data={"key": ""}).text
    with site.database.reading() as session:
        assert session.get(StudyVisitor, visitor) is None
        assert session.get(StudyTrial, step["trial"]) is None
    assert taker.client.get(f"{taker.base}/next").status_code == 404


def test_who_takes_part_is_not_in_the_log(served, taker, caplog):
    """Wait for log lines, which are written after the responses were sent."""
    lines = {}
    with caplog.at_level(logging.INFO, logger="segarena_server"):
        for _ in range(100):
            taker.next()
            taker.client.get("/sign-in")
            told = [record.told for record in caplog.records if hasattr(record, "told")]
            lines = {one["route"]: (one["address"], one["person"], one["path"]) for one in told}
            if len(lines) > 1:
                break
    assert lines.pop("/sign-in") == ("127.0.0.1", None, "/sign-in")
    assert set(lines.values()) == {("", None, "")}


def test_a_closed_study_begins_no_batch(served):
    site = served.site
    made = study_of(site, slug="closing", training=0)
    text = link_of(made)
    taker = ParticipantClient(served.client(), text)
    with site.database.writing() as session:
        study_named(session, made.slug).state = "closed"
    assert taker.post("batch").json()["state"] == "done"
    assert "is closed" in served.client().get(f"/studio/take/{text}").text
