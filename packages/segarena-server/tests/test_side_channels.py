"""Side channels of a server: time, size, wording and effort of responses."""

import asyncio
import math
import threading
import time
import uuid
from types import SimpleNamespace

import anyio
import pytest
from argon2 import PasswordHasher, extract_parameters
from sqlalchemy import event

from segarena.protocol.turns import TurnHeader, pack_turn
from segarena_server.auth import passwords
from segarena_server.auth.accounts import register
from segarena_server.challenges.challenge_management import existing_challenge, make_challenge
from segarena_server.challenges.challenge_repository import cached_description as described_in
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.orm_models import Run
from segarena_server.db.orm_models import Turn as Row
from segarena_server.notifier import Notifier
from segarena_server.preflight import faults_of
from segarena_server.runs import delayed_replies, turn_service
from segarena_server.storage.compression import compress_body

API = "/api/v1"


@pytest.fixture(scope="module")
def phases(working):
    """A challenge with a test and a practice phase."""
    about = {"runs_at_once": 1000, "samples_per_run": 1, "shows": "board"}
    told = (Phase(name="test", **about), Phase(name="open", kind="practice", **about))
    described = ChallengeDescription(
        practice_may_reveal_test=True,
        slug="photos",
        title="Photos",
        benchmark="clicks(rounds=3)",
        dataset="demo",
        phases=told,
    )
    make_challenge(working.site, described, lambda *_: None)
    return working


def begin(api, phase):
    told = {"id": str(uuid.uuid4()), "name": "mine"}
    return api.post(f"/challenges/photos/phases/{phase}/runs", json=told).json()


def send_first(api, run):
    """Request the first prompts; return the response and its latency in seconds."""
    started = time.perf_counter()
    answer = api.post(
        f"/runs/{run['id']}/samples/{run['places'][0]['key']}/turns/0",
        content=pack_turn(TurnHeader(id="turn-zero", open=[0])),
    )
    return answer, time.perf_counter() - started


@pytest.mark.long
def test_a_reply_of_a_test_leaves_at_a_tick_and_nothing_says_before_that_it_is_there(
    phases, monkeypatch
):
    api = phases.api(phases.token("waiting"))
    send_first(api, begin(api, "open"))  # processes are there
    seen = []
    # A busy machine may have the reply only when it may leave: then let the tick be later.
    for tick_s in (1.5, 6.0, 24.0):
        monkeypatch.setattr("segarena_server.challenges.turn_time_accounting.FIRST_TICK_S", tick_s)
        seen = look_before_tick(phases, api, tick_s)
        if seen:
            break
    assert {*seen} == {("evaluating", True, False)}


def look_before_tick(phases, api, tick_s):
    """Request prompts of a test phase; return the visible state of the turn between its evaluation and the tick."""
    run, told, seen = begin(api, "test"), [], []
    pages = phases.pages_of(run["id"])
    started = time.perf_counter()
    thread = threading.Thread(target=lambda: told.append(send_first(api, run)))
    thread.start()
    is_done = False
    while thread.is_alive():
        with phases.site.database.reading() as session:
            row = session.get(Row, (run["id"], 0, 0))
            is_done = is_done or (row is not None and row.state == "done")
        said = api.get(f"/runs/{run['id']}").json()
        shown = pages.get(f"/runs/{run['id']}/samples/1").text
        if is_done and time.perf_counter() - started < 0.8 * tick_s:
            seen.append(
                ((said["queue"] or {}).get("phase"), ">leased<" in shown, ">done<" in shown)
            )
        time.sleep(0.02)
    thread.join()
    ((answer, seconds),) = told
    assert answer.status_code == 200
    assert seconds >= tick_s
    return seen


@pytest.mark.parametrize("state", ["closing", "over"])
def test_a_run_whose_last_reply_is_held_back_goes_on(state):
    """The run ends meanwhile, which the participant could otherwise see before the reply."""
    run = Run(id="run", state=state, fault="", ended_at=9.0, extract="{}")
    told = delayed_replies.as_participant_sees(
        SimpleNamespace(expunge=lambda _: None), run, [("run", 0)]
    )
    assert (told.state, told.ended_at, told.extract) == ("open", None, "")


def test_replies_that_are_held_back_keep_no_thread_busy(monkeypatch):
    """Many replies wait on a server with two threads, and both stay free."""
    looked = []

    def look(*told):
        looked.append(told)
        return SimpleNamespace(response=compress_body(b"reply"), sent="{}"), 30.0

    monkeypatch.setattr(turn_service, "_find_evaluated", look)
    site = SimpleNamespace(news=Notifier(), settings=SimpleNamespace(workers=1))
    request = SimpleNamespace(
        app=SimpleNamespace(state=SimpleNamespace(site=site)), state=SimpleNamespace()
    )

    async def hold():
        limiter = anyio.to_thread.current_default_thread_limiter()
        limiter.total_tokens = 2
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            held = [
                group.create_task(turn_service.wait_for_reply(request, ("run", 0, number)))
                for number in range(60)
            ]
            while len(looked) < 60:
                await asyncio.sleep(0.01)
            assert await anyio.to_thread.run_sync(lambda: "free") == "free"
            assert not any(task.done() for task in held)
            for task in held:
                task.cancel()

    asyncio.run(hold())


@pytest.mark.long
@pytest.mark.parametrize(("phase", "is_held"), [("test", True), ("open", False)])
@pytest.mark.postgresql
def test_a_practice_waits_for_nothing_and_a_test_never_long(phases, phase, is_held):
    api = phases.api(phases.token(f"waits in {phase}"))
    run = begin(api, phase)
    assert send_first(api, run)[0].status_code == 200
    with phases.site.database.reading() as session:
        row = session.get_one(Row, (run["id"], 0, 0))
        at_once, an_hour_ago, later = (
            delayed_replies.remaining_delay_s(session, row, row.received_at + passed_s)
            for passed_s in (0.0, -3600.0, 3600.0)
        )
        took_s = row.done_at - row.received_at
    assert (at_once >= 0.25) == is_held
    assert at_once <= 0.25 + 2 * took_s
    assert (an_hour_ago, later) == (
        0.0,
        0.0,
    )  # a clock that was set back by an hour would hold it back for an hour


ASKED = [
    ("GET", "/runs/{run}"),
    ("GET", "/runs/{run}/samples/{key}"),
    ("GET", "/runs/{run}/samples/{key}/turns/0"),
    ("POST", "/runs/{run}/samples/{key}/turns/0"),
    ("POST", "/runs/{run}/finish"),
    ("GET", "/runs/{run}/scores"),
]


@pytest.mark.long
@pytest.mark.parametrize(("method", "path"), ASKED)
def test_what_is_another_ones_is_refused_in_the_words_and_with_the_work_of_what_is_not_there(
    phases, method, path
):
    number = ASKED.index((method, path))
    owner, other = (phases.api(phases.token(f"{name} of {number}")) for name in ("owner", "other"))
    run = begin(owner, "open")
    send_first(owner, run)
    there = {"run": run["id"], "key": run["places"][0]["key"]}
    nowhere = {"run": str(uuid.uuid4()), "key": "x" * len(there["key"])}
    other.get("/challenges")  # that the token was used is noted once a minute
    asked = []

    def note(*told):
        if threading.current_thread().name.startswith("AnyIO"):  # others look around now and then
            asked.append(told[2])

    event.listen(phases.site.database.engine, "before_cursor_execute", note)
    said = []
    try:
        for names in (there, nowhere):
            asked.clear()
            answer = other.request(
                method, path.format(**names), **({"content": b"x"} if method == "POST" else {})
            )
            headers = set(answer.headers)
            said.append((answer.status_code, answer.content, headers, list(asked)))
    finally:
        event.remove(phases.site.database.engine, "before_cursor_execute", note)
    assert said[0] == said[1]
    assert said[0][0] == 404
    assert said[0][3]


@pytest.mark.long
def test_names_cannot_be_guessed(phases):
    """Keys of samples have at least 128 random bits and differ between runs; so do generated seeds."""
    api = phases.api(phases.token("guessing"))
    keys = {begin(api, "open")["places"][0]["key"] for _ in range(20)}
    assert len(keys) == 20
    letters = {letter for key in keys for letter in key}
    assert min(map(len, keys)) * math.log2(64) >= 128
    assert len(letters) > 50
    described = ChallengeDescription(
        practice_may_reveal_test=True, slug="two", title="Two", benchmark="clicks", dataset="demo",
        phases=(Phase(name="a", samples_per_run=1), Phase(name="b", samples_per_run=1)),
    )  # fmt: skip
    make_challenge(phases.site, described, lambda *_: None)
    seeds = [
        phase.seed
        for phase in described_in(existing_challenge(phases.site, "two").description).phases
    ]
    assert min(seeds) > 2**32
    assert seeds[0] != seeds[1]


@pytest.mark.long
@pytest.mark.postgresql
def test_a_seed_that_can_be_guessed_is_a_fault_of_a_test(working):
    phases = (Phase(name="a", seed=7), Phase(name="b", kind="practice", seed=7))
    described = ChallengeDescription(
        practice_may_reveal_test=True,
        slug="seven",
        title="Seven",
        benchmark="clicks",
        dataset="demo",
        phases=phases,
    )
    make_challenge(working.site, described, lambda *_: None)
    found = faults_of(working.site.folder.path, working.site.settings)
    assert [line for line in found if "seven" in line] == [
        "challenge seven, phase a: its seed can be guessed; omit it, and the server generates one"
    ]


@pytest.mark.parametrize("name", ["nobody here", "waits"])
@pytest.mark.postgresql
def test_a_wrong_password_takes_as_much_work_whoever_it_is_for(phases, monkeypatch, name):
    if name == "waits":
        with phases.site.database.writing() as session:
            register(session, 0.0, name=name, kept="x")
    worked = []
    monkeypatch.setattr(
        "segarena_server.pages.accounts.is_password", lambda *told: worked.append(told)
    )
    assert (
        phases.client().post("/sign-in", data={"name": name, "password": "wrong"}).status_code
        == 403
    )
    assert len(worked) == 1


@pytest.mark.long
def test_what_is_verified_for_nobody_has_the_parameters_of_what_is_kept():
    assert extract_parameters(passwords._DUMMY_HASH) == extract_parameters(
        PasswordHasher().hash("a password")
    )
    assert not passwords.is_password("wrong", None)
