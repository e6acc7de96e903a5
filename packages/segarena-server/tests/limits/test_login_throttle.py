"""Sign-in attempts counted in the database: shared by several servers, without lost concurrent ones."""

import threading

import pytest
from sqlalchemy import func, select

from segarena_server.db.database import Database
from segarena_server.db.orm_models import Attempt
from segarena_server.limits.login_throttle import AttemptLimiter, SignInThrottle, origin_of

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
    """Two servers with one database."""
    other = Database(database.file or database.engine.url.render_as_string(hide_password=False))
    yield [AttemptLimiter(one, 3, 900.0, clock) for one in (database, other)]
    other.close()


@pytest.mark.postgresql
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


@pytest.mark.long
@pytest.mark.postgresql
def test_what_was_right_is_taken_back(servers):
    for _ in range(20):
        assert servers[0].take(ADA, HERE) == 0
        servers[1].take_back(ADA, HERE)
    for _ in range(2):
        servers[0].take(ADA)
    servers[1].forget(ADA)
    assert [servers[0].take(ADA) > 0 for _ in range(4)] == [False, False, False, True]


@pytest.mark.long
@pytest.mark.postgresql
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


def wrong(throttle, number, name="ada", address="10.0.0.1", device=""):
    """Try wrong passwords; return the number of attempts that were not throttled."""
    return sum(throttle.start(name, address, device) == 0 for _ in range(number))


@pytest.fixture
def throttle(servers):
    return SignInThrottle(servers[0], 3)


def test_one_address_locks_a_name_for_itself_alone(throttle):
    assert wrong(throttle, 20) == 3
    assert wrong(throttle, 1, address="10.0.0.2") == 1
    assert wrong(throttle, 1, name="bela") == 1


@pytest.mark.long
def test_a_known_device_has_its_own_tries_even_at_a_locked_address(throttle):
    for number in range(11):
        wrong(throttle, 4, name=f"name {number}")
    assert wrong(throttle, 1) == 0
    assert wrong(throttle, 20, device="d1") == 3
    assert wrong(throttle, 1, device="d2") == 1


@pytest.mark.long
def test_all_names_together_are_limited_for_one_address(throttle):
    assert sum(wrong(throttle, 3, name=f"name {number}") for number in range(20)) == 30


@pytest.mark.long
def test_guessing_from_many_addresses_slows_down_and_locks_nobody_out(throttle):
    through = [wrong(throttle, 5, address=f"10.0.1.{number}") for number in range(20)]
    assert through == [3] * 10 + [1] * 10
    assert wrong(throttle, 1, address="192.0.2.7") == 1
    assert wrong(throttle, 5, name="bela", address="192.0.2.8") == 3


@pytest.mark.long
def test_the_right_password_forgets_the_wrong_ones_at_this_name_alone(throttle):
    for _ in range(9):
        assert wrong(throttle, 2, name="ada") == 2
        assert throttle.start("mallory", "10.0.0.1", "") == 0
        throttle.succeed("mallory", "10.0.0.1", "")
        throttle.succeed("ada", "10.0.0.1", "")
    # 9 times 2 wrong ones less the 9 that the successes of ada took back.
    assert wrong(throttle, 10, name="mallory") == 3


@pytest.mark.postgresql
def test_a_lock_can_be_lifted_for_one_name_or_for_all(throttle, servers):
    for name in ("ada", "bela"):
        for address in ("10.0.0.1", "10.0.0.2"):
            wrong(throttle, 3, name=name, address=address)
    throttle.lift("ada")
    assert wrong(throttle, 1, address="10.0.0.2") == 1
    assert wrong(throttle, 1, name="bela") == 0
    servers[0].forget_all()
    assert wrong(throttle, 1, name="bela") == 1


ORIGINS = [
    ("10.0.0.1", "10.0.0.1"),
    ("::ffff:10.0.0.1", "10.0.0.1"),
    ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
    ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
    ("", ""),
    ("testclient", "testclient"),
]


@pytest.mark.parametrize(("address", "origin"), ORIGINS)
def test_all_addresses_of_one_customer_are_one_origin(address, origin):
    assert origin_of(address) == origin
