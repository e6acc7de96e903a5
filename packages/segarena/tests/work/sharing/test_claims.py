"""Processes that start, work, pause and die: every unit is done, and twice only if its process was given up."""

import os
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.errors import InvalidMask, RunConflict, StoreError
from segarena.work.ledger import Ledger
from segarena.work.sharing.claims import Claims
from segarena.work.sharing.locks import refuse_sharers
from segarena.work.sharing.process_heartbeats import PresenceLapsed, Sharer, present_sharers

COUNT = 12
WHO = range(3)


class Work:
    """Work shared by simulated processes, whose results are recorded like files."""

    def __init__(self, folder, count=COUNT, workers=1):
        self.folder, self.count, self.workers = Path(folder), count, workers
        self.did = []
        self.stack = ExitStack()

    def come(self, of="units"):
        claims = Claims(
            self.folder / "claims",
            self.folder / "lock",
            were_done=lambda units: set(units) & set(self.did),
            workers=self.workers,
        )
        self.stack.enter_context(claims)
        with claims.keeping():
            claims.begin(of, self.count, lambda: set(range(self.count)) - set(self.did))
        return claims

    def do(self, claims, unit, seconds=1.0, failure=None):
        self.did.append(unit)
        claims.done(unit, seconds, failure)

    def do_all(self, claims, units):
        for unit in units:
            self.do(claims, unit)

    def silence(self, claims):
        """Make a process silent for so long that it is given up."""
        with suppress(FileNotFoundError):  # it was given up already
            os.utime(self.folder / "claims" / f"{claims._me}.sharer", (0, 0))


@pytest.fixture
def work(tmp_path):
    made = Work(tmp_path)
    with made.stack:
        yield made


def ignore(_):
    pass


steps = st.lists(
    st.tuples(st.sampled_from(WHO), st.sampled_from(["ask", "ask", "do", "pause", "die"]))
)


@given(steps)
def test_every_unit_is_done_and_twice_only_after_somebody_was_given_up(said):
    with tempfile.TemporaryDirectory() as folder:
        work = Work(folder)
        with work.stack:
            run_interleaved(work, said)


def run_interleaved(work, said):
    here, may_be_twice = {}, set()
    for who, what in said:
        if who not in here:
            claims = work.come()
            here[who] = claims, claims.units(), []
        claims, turn, asked = here[who]
        if what == "ask":
            claims._presence.touch()  # the first sign of life of one that was paused
            asked += [unit for unit in [next(turn, None)] if unit is not None]
        elif what == "do":
            work.do_all(claims, [asked.pop(0)] if asked else [])
        else:
            may_be_twice |= set(asked)
            work.silence(claims)
        if what == "die":
            del here[who]
    last = work.come()
    for claims, _, asked in here.values():
        work.do_all(claims, asked)
        claims.__exit__()
    while last.wait(ignore):
        work.do_all(last, last.units())
    assert set(work.did) == set(range(COUNT))
    assert {unit for unit in work.did if work.did.count(unit) > 1} <= may_be_twice
    assert last.count_done == COUNT


def test_what_was_given_up_goes_to_others_and_comes_to_no_harm(work):
    one, other = work.come(), work.come()
    first = next(one.units())
    work.silence(one)
    assert other.wait(ignore)
    for unit in other.units():
        work.do(other, unit)
    assert sorted(work.did) == list(range(COUNT))
    assert not other.wait(ignore)
    work.do(one, first)  # the lid is opened again
    assert not list(one.units())
    assert not one.wait(ignore)
    assert one.count_done == other.count_done == COUNT


def test_who_comes_back_leaves_alone_what_others_claimed_meanwhile(tmp_path):
    work = Work(tmp_path, workers=4)
    with work.stack:
        one, other = work.come(), work.come()
        turn = one.units()
        assert next(turn) == 0
        assert one._shares.claims[one._me] == {0, 1, 2, 3}
        work.silence(one)
        assert list(other.units()) == [*range(4, COUNT), *range(4)]
        one._presence.touch()
        assert not list(turn)


def test_what_the_dead_finished_is_not_done_again(work):
    one, other = work.come(), work.come()
    units = one.units()
    work.do(one, next(units))
    work.do(one, next(units))
    assert len(one._finished) == 1  # the other one has not been told of it
    work.silence(one)
    for unit in other.units():
        work.do(other, unit)
    assert sorted(work.did) == list(range(COUNT))


def test_who_leaves_gives_back_what_was_not_done(work):
    one, other = work.come(), work.come()
    work.do(one, next(one.units()))
    one.__exit__()
    assert sorted(other.units()) == list(range(1, COUNT))


def test_quick_units_are_claimed_many_at_a_time_and_few_at_the_end(tmp_path):
    work = Work(tmp_path, count=4000)
    sizes, last = [], 0
    with work.stack:
        one, _ = work.come(), work.come()
        for unit in one.units():
            work.do(one, unit, seconds=0.005)
            if (mine := len(one._shares.claims[one._me])) != last:
                sizes.append(mine)
                last = mine
    assert sizes[0] == 1
    assert sizes[1] == 3999 // 4
    assert sizes == [sizes[0], *sorted(sizes[1:], reverse=True)]
    assert sizes[-2] == 100  # half a second
    assert len(list(tmp_path.rglob("0*"))) == 0  # nothing is left of it
    assert len(sizes) < 40


def test_slow_units_are_claimed_one_by_one_for_each_process(tmp_path):
    work = Work(tmp_path, count=100, workers=4)
    with work.stack:
        one = work.come()
        turn = one.units()
        first = next(turn)
        assert len(one._shares.claims[one._me]) == 4
        work.do(one, first, seconds=1000.0)
        assert [next(turn) for _ in range(4)] == [1, 2, 3, 4]
        assert one._shares.claims[one._me] == {1, 2, 3, 4}


def test_one_at_a_time_changes_what_belongs_to_all(work):
    one, other = work.come(), work.come()
    with one.keeping():
        one.check_kept()
        assert not other.try_keeping()
        with pytest.raises(PresenceLapsed):
            other.check_kept()
    with other.keeping():
        assert not one.try_keeping()


def test_who_was_given_up_may_not_change_what_belongs_to_all(work):
    one, other = work.come(), work.come()
    assert one.try_keeping()
    work.silence(one)
    with pytest.raises(PresenceLapsed, match="silent for too long"):
        one.check_kept()
    work.silence(one)
    assert other.try_keeping()
    with pytest.raises(PresenceLapsed):
        one.check_kept()


def test_why_units_failed_is_known_to_all(work):
    one, other = work.come(), work.come()
    for unit in one.units():
        work.do(one, unit, failure=InvalidMask("no mask") if unit == 3 else None)
    assert not other.wait(ignore)
    assert other.failed == one.failed == {3: ("InvalidMask", "no mask")}


def test_while_waiting_it_is_told_who_does_what(work):
    one, other = work.come(), work.come()
    mine = list(zip(range(COUNT - 1), one.units(), strict=False))
    for _, unit in mine[:-1]:
        work.do(one, unit)
    (last,) = other.units()
    told = []

    def on_wait(text):
        told.append(text)
        work.do(one, mine[-1][1])
        work.do(other, last)

    one._is_at_end = True
    assert not other.wait(on_wait)
    assert told[0].startswith(str(one._presence.me))


def test_the_folder_is_gone_when_the_last_one_left(work):
    one, other = work.come(), work.come()
    one.__exit__()
    assert (work.folder / "claims").is_dir()
    other.__exit__()
    assert not list(work.folder.iterdir())


def test_other_work_is_refused(work):
    work.come()
    with pytest.raises(
        RunConflict,
        match=r"is shared by .* \(process \d+\) for units, but this command works on other units; choose",
    ):
        work.come("other units")


def test_work_of_which_all_are_gone_is_begun_anew(work):
    one = work.come()
    work.do(one, next(one.units()))
    work.silence(one)
    other = work.come("other units")
    assert sorted(other.units()) == list(range(1, COUNT))


def test_another_version_is_refused_and_named(work):
    work.come()
    other = msgspec.structs.replace(
        Sharer.here(), version="0.0.1", host="old-host", machine="another"
    )
    (work.folder / "claims" / f"{other.token}.sharer").write_bytes(msgspec.json.encode(other))
    with pytest.raises(
        RunConflict, match=r"is shared by old-host \(process \d+\) with segarena 0\.0\.1, but"
    ):
        work.come()
    assert other.token in present_sharers(work.folder / "claims")


def test_who_works_alone_and_who_shares_refuse_each_other(work, monkeypatch):
    monkeypatch.setattr("segarena.work.sharing.locks._PATIENCE_S", 0.0)
    with (
        Ledger(work.folder / "lock", {}),
        pytest.raises(RunConflict, match="in use by another process without --share"),
    ):
        work.come()
    one = work.come()
    with pytest.raises(RunConflict, match=r"is shared by .*; add --share to join"):
        refuse_sharers(work.folder / "claims")
    with pytest.raises(RunConflict, match="in use by another process"):
        Ledger(work.folder / "lock", {})
    one.__exit__()
    refuse_sharers(work.folder / "claims")


def test_a_log_that_is_gone_is_told(work):
    one = work.come()
    units = one.units()
    next(units)
    for file in (work.folder / "claims").iterdir():
        file.unlink()
    (work.folder / "claims").rmdir()
    with pytest.raises(StoreError, match="give the same command again"):
        next(units)


def test_a_damaged_entry_says_nothing(work):
    one = work.come()
    number = len(list((work.folder / "claims").glob("0*"))) + 1
    (work.folder / "claims" / f"{number:09d}").write_bytes(b"")
    assert sorted(one.units()) == list(range(COUNT))


def test_a_file_system_without_links_is_told(work, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(StoreError, match="needs a file system with hard links; omit"):
        work.come()
