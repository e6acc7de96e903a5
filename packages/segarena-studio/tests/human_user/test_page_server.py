"""A run with a page of its own: people, page and run are killed during a dialogue, and continue."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext, suppress
from pathlib import Path

import httpx2
import pytest

import segarena
from segarena.engine import evaluate
from segarena.engine.human_dialogue_files import PersonPrompts, RunInfo, Seats
from segarena.engine.human_page_server import NoPageServer, PeopleSettings
from segarena.errors import InvalidInput
from segarena_studio.human_user.page_server import open_pages

RUN = [
    "run",
    "clicks",
    "-s",
    "image-blind",
    "-d",
    "demo",
    "--limit",
    "1",
    "--rounds",
    "3",
    "-u",
    "human",
    "--no-browser",
]
PATIENCE_S = 60


class RunProcess:
    """A run in a separate process, and a headless browser signed in to its page."""

    def __init__(self, out):
        command = [Path(sys.executable).with_name("segarena"), *RUN, "--out", out]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        told = next((line for line in self.process.stdout if "people give prompts at" in line), "")
        assert told, self.process.wait()
        link = "http" + told.split("http", 1)[1].strip()
        self.client = httpx2.Client(
            base_url=link.split("/studio")[0], timeout=30, trust_env=False, follow_redirects=True
        )
        self.client.get(link)
        self.id = Seats(out).info().id
        page = self.client.get(f"/studio/seats/{self.id}").text
        self.key = page.split('data-key="')[1].split('"')[0]

    def ask(self, method, place, body=None):
        headers = {"x-form-key": self.key}
        return self.client.request(
            method, f"/studio/seats/{self.id}/{place}", json=body, headers=headers
        )

    def seat(self):
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            seat = self.ask("POST", "take", {}).json()["seat"]
            if seat is not None:
                return seat
            time.sleep(0.05)
        raise AssertionError("nobody was asked")

    def end(self):
        """Kill the run unless it has ended, and return its last output."""
        self.process.kill()
        told, _ = self.process.communicate(timeout=PATIENCE_S)
        self.client.close()
        return told


def given(row, column, **more):
    click = {"kind": "click", "position": [row, column], "is_positive": True, "object_id": 1}
    identity = f"00000000-0000-4000-8000-{row:06d}{column:06d}"
    return {
        "id": identity,
        "prompts": [click],
        "active_s": 1000.0,
        "pointer": "mouse",
        "strokes": [],
        **more,
    }


@pytest.fixture
def start(tmp_path):
    begun = []

    def started():
        begun.append(RunProcess(tmp_path / "run"))
        return begun[-1]

    yield started
    for one in begun:
        one.end()


def page_process(out):
    """Return the process that serves the page of a run; None if there is none."""
    for told in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = told.read_text().split("\0")
            if "segarena_studio.human_user.page_process" in words and str(out) in words:
                return int(told.parent.name)
    return None


@pytest.mark.long
def test_a_page_is_lost_a_run_is_killed_and_both_go_on_where_they_were(
    start, tmp_path, monkeypatch
):
    out = tmp_path / "run"
    run = start()
    seat = run.seat()
    answered = run.ask("PUT", f"{seat}/rounds/1", given(100, 90)).json()
    assert (answered["round"], answered["is_waiting"]) == (2, False)
    os.kill(page_process(out), signal.SIGKILL)
    assert run.process.wait(PATIENCE_S) == 2
    assert "the page for people is closed" in run.end()

    again = start()
    assert again.seat() == seat
    until = time.monotonic() + PATIENCE_S
    while (state := again.ask("GET", f"{seat}/state").json())[
        "is_waiting"
    ] and time.monotonic() < until:
        time.sleep(0.05)
    there = ("round", "prediction", "given")
    assert [state[name] for name in there] == [answered[name] for name in there]
    assert again.ask("PUT", f"{seat}/rounds/2", given(50, 40)).status_code == 200
    again.end()
    until = time.monotonic() + PATIENCE_S
    while page_process(out) and time.monotonic() < until:  # the page ends with what started it
        time.sleep(0.05)
    assert page_process(out) is None

    seats = Seats(out)
    for place, name in enumerate(seats.names()):
        for round_ in range(1 + (2 if name == seat else 0), 4):
            prompts = json.dumps(given(10 * round_, place)["prompts"])
            seats.give(name, round_, PersonPrompts(id="x", prompts=prompts, person="p", user_s=1.0))
    monkeypatch.setattr(
        evaluate, "page_server", lambda *_: nullcontext(NoPageServer(address="here"))
    )
    folder = segarena.evaluate(
        "clicks", segmenter="image-blind", users=["human"], out=out, limit=1, rounds=3
    )
    first = folder.records().filter(target=folder.records()["target"][0])
    assert [json.loads(text)[0]["position"] for text in first["prompts"]] == [
        [100, 90],
        [50, 40],
        [30, 0],
    ]
    assert folder.people().height == folder.records().height
    assert (
        folder.people()["user_s"] < PATIENCE_S
    ).all()  # whatever the page told: not longer than it could be seen


def test_a_folder_of_no_server_is_refused(tmp_path):
    (tmp_path / "pictures").mkdir()
    with pytest.raises(InvalidInput, match="the data folder of a server"):
        segarena.evaluate(
            "clicks",
            segmenter="image-blind",
            users=["human"],
            limit=1,
            out=tmp_path / "run",
            people=PeopleSettings(at=tmp_path / "pictures"),
        )


@pytest.mark.long
def test_people_of_a_server_find_a_run_while_it_asks_them(served, tmp_path):
    run = tmp_path / "run"
    Seats(run).open(
        RunInfo(title="clicks · photographs", sample_kind="image", rounds=3, most_prompts=1)
    )
    person = served.person("invited")
    with open_pages(run, PeopleSettings(at=served.site.folder.path)) as pages:
        pages.check()
        assert pages.address.endswith(f"/studio/seats/{Seats(run).info().id}")
        assert "clicks · photographs" in person.get("/studio/seats").text
    assert "clicks · photographs" not in person.get("/studio/seats").text
