"""Participants with the real server, whose run contains the ground truth."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from real import SEED, at_work, describe, lay, token_of
from sqlalchemy import select

import segarena
from segarena.client.challenge_run_record import read_participation
from segarena.client.connection import Connection
from segarena.client.participate import read_scores
from segarena.client.run_display import score_lines
from segarena.registry import build
from segarena_server.db.orm_models import Turn

KEYS = ["sample", "target", "user", "repeat", "round"]
CASES = {
    "clicks": ("clicks(rounds=3)", "sample-squares(count=3)", "watershed"),
    "groups": ("rclicks(groups=2, rounds=2)", "sample-squares(count=2)", "watershed"),
    "video": ("davis(rounds=2)", "demo-videos(size=(60, 100), frames=8)", "colour-flow"),
    "published": (
        "davis(rounds=2, protocol='published')",
        "demo-videos(size=(60, 100), frames=8)",
        "colour-flow",
    ),
    "volume": ("cvpr2025(box=False)", "phantom(cases=1, shape=(20, 48, 48))", "watershed"),
    "lifts": (
        "radioactive(prompts='3b-inter', refine='scribble', rounds=2)",
        "phantom(cases=1, shape=(20, 48, 48))",
        "graph",
    ),
    "one-shot": ("toss", "oneshot-demo(fold=0)", "copy-support-mask"),
}


@pytest.fixture(scope="module")
def arena(tmp_path_factory):
    """The server with a challenge of every kind; yields its site, the participant's token and the address."""
    challenges = [
        describe(slug, benchmark, dataset, samples_per_run=3, shows="board")
        for slug, (benchmark, dataset, _) in CASES.items()
    ]
    # Boards of the cases have one run each; other tests hold theirs here.
    benchmark, dataset, _ = CASES["clicks"]
    challenges.append(describe("more", benchmark, dataset, samples_per_run=3, shows="board"))
    hurry = describe("hurry", "clicks(rounds=2)", "sample-squares(count=1)", seconds_per_object=1.5)
    site = lay(tmp_path_factory.mktemp("arena") / "data", *challenges, hurry)
    with at_work(site) as address:
        yield site, token_of(site, "ann"), address
    site.database.close()


@pytest.mark.parametrize(
    "slug",
    [
        slug if slug in ("groups", "one-shot") else pytest.param(slug, marks=pytest.mark.long)
        for slug in CASES
    ],
)
def test_the_run_at_the_server_is_the_run_that_has_the_truth(arena, tmp_path, slug, monkeypatch):
    site, _, address = arena
    # A participant of their own, since challenges share samples, about which a second run is not ranked.
    monkeypatch.setenv("SEGARENA_TOKEN", token_of(site, f"ann of {slug}"))
    benchmark, dataset, segmenter = CASES[slug]
    folder = segarena.evaluate(
        challenge=f"{address}/challenges/{slug}", segmenter=segmenter, out=tmp_path / "mine"
    )
    begun, told = read_scores(tmp_path / "mine")
    there = segarena.RunFolder.open(site.folder.runs / begun.run)
    here = segarena.evaluate(
        benchmark, dataset=dataset, segmenter=segmenter, seed=SEED, out=tmp_path / "here"
    )
    drawn = here.records().filter(
        here.records()["sample"].is_in(there.records()["sample"].unique().to_list())
    )
    assert there.records().sort(KEYS).equals(drawn.sort(KEYS))
    assert there.is_complete
    assert there.config.counts is not None
    assert folder.records().height == there.records().height > 0
    assert told["state"] == "over"
    assert (told["place"], told["of"]) == (1, 1)
    assert "your best run has rank 1 of 1: " in score_lines("address", told)[-1]
    shown = {
        score["user"] for score in told["scores"]
    }  # as on boards: of several users, those that its table is about
    assert shown <= {*there.records()["user"]}
    assert shown


@pytest.mark.long
def test_the_participants_own_clock_is_told_beside_the_servers(arena, tmp_path, monkeypatch):
    site, _, address = arena
    monkeypatch.setenv("SEGARENA_TOKEN", token_of(site, "own clock"))
    folder = segarena.evaluate(
        challenge=f"{address}/challenges/more", segmenter="watershed", out=tmp_path / "run"
    )
    with site.database.reading() as session:
        of_run = select(Turn.number, Turn.client_s).where(
            Turn.run_id == read_participation(tmp_path / "run").run
        )
        turns = session.execute(of_run).all()
    answered = [client_s for number, client_s in turns if number]
    assert all(client_s > 0 for client_s in answered)
    own = folder.timings().filter(folder.timings()["round"] > 0)["predict_s"].sum()
    assert sum(answered) == pytest.approx(own)


@pytest.mark.long
def test_two_processes_and_a_script_of_its_own_leave_the_same_records(arena, tmp_path, monkeypatch):
    site, _, address = arena
    url = f"{address}/challenges/more"
    monkeypatch.setenv("SEGARENA_TOKEN", token_of(site, "two"))
    segarena.evaluate(challenge=url, segmenter="watershed", workers=2, out=tmp_path / "two")
    monkeypatch.setenv("SEGARENA_TOKEN", token_of(site, "own"))
    model = build("segmenter", "watershed")
    for session in segarena.sessions(challenge=url, out=tmp_path / "own"):
        encoded = model.encode(session.sample)
        while (dialogue := session.next()) is not None:
            session.submit(model.predict(encoded, [dialogue])[0])
    two, own = (
        segarena.RunFolder.open(site.folder.runs / read_participation(tmp_path / name).run)
        for name in ("two", "own")
    )
    assert two.records().height > 0
    assert two.records().sort(KEYS).equals(own.records().sort(KEYS))


@pytest.mark.long
def test_an_answer_that_comes_late_is_dropped_by_the_clock_of_the_server(
    arena, tmp_path, monkeypatch
):
    """A stalled network is charged, from the prompts sent to the answer received, whatever the client reports."""
    site, _, address = arena
    monkeypatch.setenv("SEGARENA_TOKEN", token_of(site, "late"))
    ask = Connection.ask

    def stalled(self, method, path, **options):
        if path.endswith("/turns/1"):
            time.sleep(2.0)
        return ask(self, method, path, **options)

    monkeypatch.setattr(Connection, "ask", stalled)
    folder = segarena.evaluate(
        challenge=f"{address}/challenges/hurry", segmenter="watershed", out=tmp_path / "run"
    )
    there = segarena.RunFolder.open(site.folder.runs / read_participation(tmp_path / "run").run)
    assert there.records().height == folder.records().height == 0
    assert folder.timings().filter(folder.timings()["round"] == 1).height == 1
    # A busy server may notice that its prompts have left a little after they have come.
    assert (there.timings().filter(there.timings()["round"] == 1)["predict_s"] >= 1.5).all()


SLOW = """
import time
import numpy as np

class Slow:
    def encode(self, sample):
        return np.indices(sample.shape)

    def predict(self, encoded, dialogues):
        time.sleep(0.2)
        return [self.near(encoded, dialogue.clicks) for dialogue in dialogues]

    def near(self, grid, clicks):
        near = [np.abs(grid - np.reshape(click.position, (2, 1, 1))).max(axis=0) < 2 for click in clicks]
        return np.any(near, axis=0)
"""


def start(*words, **options):
    return subprocess.Popen(
        [sys.executable, "-c", "from segarena.cli.start import main; main()", *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )


def wait_for(what, process, patience_s=60.0):
    until = time.monotonic() + patience_s
    while not what():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < until
        time.sleep(0.02)


def answers(port):
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) == 0


def kill(process):
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.long
def test_a_run_outlives_the_death_of_its_client_and_of_its_server(tmp_path, monkeypatch):
    """Both are killed during a sample and resume, and every answer counts once."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    dataset = "sample-squares(count=3)"
    site = lay(tmp_path / "data", describe("squares", "clicks(rounds=4)", dataset))
    monkeypatch.setenv("SEGARENA_TOKEN", token_of(site, "ann"))
    site.database.close()
    (tmp_path / "slow.py").write_text(SLOW)
    url = f"http://127.0.0.1:{port}/challenges/squares"
    out, segmenter = tmp_path / "mine", f"{tmp_path / 'slow.py'}:Slow"
    serve = ["serve", tmp_path / "data", "--port", port, "--log", tmp_path / "log"]
    run = ["run", "--challenge", url, "-s", segmenter, "-o", out]
    server = start(*serve)
    wait_for(lambda: answers(port), server)
    client = start(*run)
    try:
        wait_for(lambda: list(out.glob("turns/*/2.turn")), client)
        kill(client)
        client = start(*run)
        wait_for(lambda: len(list(out.glob("turns/*/1.reply"))) == 2, client)
        kill(server)
        server = start(*serve)
        _, told = client.communicate(timeout=120)
        assert client.returncode == 0, told
    finally:
        for process in (server, client):
            if process.poll() is None:
                kill(process)
    assert "3 samples, 12 rounds, 0 failures" in " ".join(told.split())
    (there,) = map(segarena.RunFolder.open, (tmp_path / "data" / "runs").iterdir())
    here = segarena.evaluate(
        "clicks(rounds=4)", dataset=dataset, segmenter=segmenter, seed=SEED, out=tmp_path / "here"
    )
    assert there.records().sort(KEYS).equals(here.records().sort(KEYS))


@pytest.mark.long
def test_a_second_run_about_the_same_samples_gets_the_same_prompts(arena, tmp_path, monkeypatch):
    site, _, address = arena
    monkeypatch.setenv("SEGARENA_TOKEN", token_of(site, "twice"))
    prompts = []
    for name, segmenter in (("first", "watershed"), ("second", "graph")):
        segarena.evaluate(
            challenge=f"{address}/challenges/more", segmenter=segmenter, out=tmp_path / name
        )
        records = segarena.RunFolder.open(
            site.folder.runs / read_participation(tmp_path / name).run
        ).records()
        prompts.append(
            {
                tuple(row[key] for key in KEYS): row["prompts"]
                for row in records.iter_rows(named=True)
            }
        )
    first, second = prompts
    assert first
    assert all(second[key] == said for key, said in first.items() if key in second)
    assert first.keys() & second.keys()
