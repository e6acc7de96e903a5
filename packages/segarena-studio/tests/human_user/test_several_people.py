"""Several people in one run beside a simulated user, by requests alone."""

import threading
import time
from collections import Counter

import polars as pl
import pytest

import segarena
from segarena.engine.human_dialogue_files import Seats
from segarena.engine.human_page_server import PeopleSettings

PATIENCE_S = 60


def about(seats, name):
    told = seats.seat(name)
    return told.sample, told.target


class SeatClient:
    """A person who clicks in the middle of every target."""

    def __init__(self, client, seats):
        self.client, self.seats, self.place, self.had = (
            client,
            seats,
            f"/studio/seats/{seats.info().id}",
            [],
        )
        self.key = client.get(self.place).text.split('data-key="')[1].split('"')[0]

    def ask(self, method, what, body):
        answer = self.client.request(
            method, f"{self.place}/{what}", json=body, headers={"x-form-key": self.key}
        )
        assert answer.status_code == 200, answer.text
        return answer.json()

    def sit(self):
        """Take a seat and complete its dialogue; return its target, or None without a free seat."""
        seat = self.ask("POST", "take", {})["seat"]
        if seat is None:
            return None
        height, width = self.seats.seat(seat).shape
        click = {
            "kind": "click",
            "position": [height // 2, width // 2],
            "is_positive": True,
            "object_id": 1,
        }
        told = {
            "id": f"00000000-0000-4000-8000-{seat.replace('-', ''):0>12}",
            "prompts": [click],
            "active_s": 0.1,
        }
        assert self.ask("PUT", f"{seat}/rounds/1", told)["is_over"]
        self.had.append(about(self.seats, seat))
        return self.had[-1]


@pytest.fixture
def run(served, tmp_path):
    """A run that requests prompts for each of two targets twice, next to a simulated user, in a thread."""
    data = served.site.folder.path
    how = {
        "dataset": "sample-squares(count=2)",
        "users": ["human", "centre"],
        "repeats": 2,
        "rounds": 1,
    }
    ended = []

    def work():
        people = PeopleSettings(at=data)
        ended.append(
            segarena.evaluate(
                "clicks", segmenter="image-blind", out=tmp_path / "run", people=people, **how
            )
        )

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    until = time.monotonic() + PATIENCE_S
    while not list((data / "seats").glob("*.json")) and time.monotonic() < until:
        time.sleep(0.02)

    def done():
        thread.join(PATIENCE_S)
        return ended[0]

    return Seats(tmp_path / "run"), done


@pytest.mark.long
def test_two_people_share_a_run_with_a_simulated_user(served, run):
    seats, done = run
    sitters = [SeatClient(served.person(name), seats) for name in ("Ada", "Ben")]
    until = time.monotonic() + PATIENCE_S
    while sum(len(sitter.had) for sitter in sitters) < 4 and time.monotonic() < until:
        for sitter in sitters:
            people = Counter(about(seats, name) for name in seats.names() if seats.person(name))
            offered = {
                about(seats, name) for name in seats.names() if not seats.person(name)
            } - set(sitter.had)
            target = sitter.sit()
            assert target is None or people[target] <= min(
                (people[one] for one in offered), default=0
            )
    found = done()

    by_person = found.people().group_by("person").agg(pl.col("sample").sort(), pl.len())
    assert by_person["len"].to_list() == [2, 2]
    assert (
        by_person["sample"].to_list() == [sorted(found.samples)] * 2
    )  # each was asked about each, once
    records = found.records()
    assert records.group_by("user").len().sort("user").rows() == [("centre", 2), ("human", 4)]
    assert records.filter(user="human").group_by("sample", "target").len()["len"].to_list() == [
        2,
        2,
    ]
    assert found.is_complete
    assert records["failure"].null_count() == records.height
