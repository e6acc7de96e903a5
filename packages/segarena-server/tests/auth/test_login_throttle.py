"""Tries counted in the database: by several servers together, and none of many at once is forgotten."""

import threading

import pytest
from sqlalchemy import func, select

from segarena_server.auth.login_throttle import AttemptLimiter
from segarena_server.db.database import Database
from segarena_server.db.orm_models import Attempt

ADA, BELA, HERE = ("name", "ada"), ("name", "bela"), ("address", "10.0.0.1")


class Clock:
    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def servers(database, clock):
    """Two servers of one database."""
    other = Database(database.file or database.engine.url.render_as_string(hide_password=False))
    yield [AttemptLimiter(one, 3, 900.0, clock) for one in (database, other)]
    other.close()


def test_tries_hold_across_servers_and_end_with_the_window(servers, clock):
    for number in range(3):
        clock.now += 100
        assert servers[number % 2].take(ADA) == 0
    clock.now += 100
    assert [round(server.take(ADA)) for server in servers] == [600, 600]
    assert servers[0].take(BELA) == 0
    clock.now += 601
    assert servers[1].take(ADA) == 0
    assert servers[0].take(ADA) > 0


def test_whoever_has_to_wait_for_one_key_uses_up_no_other(servers):
    for _ in range(3):
        servers[0].take(ADA)
    for _ in range(10):
        assert servers[0].take(HERE, ADA) > 0
    for _ in range(3):
        assert servers[1].take(HERE) == 0


def test_what_was_right_is_taken_back(servers):
    for _ in range(20):
        assert servers[0].take(ADA, HERE) == 0
        servers[1].take_back(ADA, HERE)
    for _ in range(2):
        servers[0].take(ADA)
    servers[1].forget(ADA)
    assert [servers[0].take(ADA) > 0 for _ in range(4)] == [False, False, False, True]


def test_of_many_tries_at_once_no_more_than_allowed_go_through(servers):
    let = []
    threads = [
        threading.Thread(target=lambda n=n: let.append(servers[n % 2].take(ADA, HERE) == 0))
        for n in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(let) == 3


def test_no_wait_is_longer_than_the_window_whatever_the_clock_says(servers, clock):
    for _ in range(3):
        servers[0].take(ADA)
    clock.now -= 3600
    for _ in range(4):
        assert servers[0].take(ADA) <= 900
    clock.now += 7200
    assert servers[0].take(ADA) == 0


def test_names_are_not_kept_and_old_tries_go(servers, clock, database):
    servers[0].take(ADA, HERE)
    with database.reading() as session:
        assert "ada" not in " ".join(session.scalars(select(Attempt.key)))
    clock.now += 10_000
    servers[0].take(BELA)
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Attempt)) == 1
