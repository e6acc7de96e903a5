"""Charged time when clocks jump, networks stall, people pause and machines restart."""

from dataclasses import replace

import pytest

from segarena.errors import InvalidInput
from segarena_server.challenges.turn_time_accounting import (
    SLOWEST_BYTES,
    TimeBank,
    TimeCharge,
    arrival,
    charge,
    clock_start,
)
from segarena_server.clock import Moment, Outage

SENT = Moment(boot="a", boot_s=1000.0, utc_s=1.8e9)


def after(seconds, *, boot="a", jump_s=0.0):
    """Return the moment this number of seconds after `SENT`, optionally after a clock change or a restart."""
    boot_s = SENT.boot_s + seconds if boot == SENT.boot else 3.0
    return Moment(boot=boot, boot_s=boot_s, utc_s=SENT.utc_s + seconds + jump_s)


@pytest.mark.parametrize("jump_s", [3600.0, -3600.0, 86400.0 * 365])
def test_a_jump_of_the_time_of_day_changes_nothing(jump_s):
    assert charge(SENT, after(4.5, jump_s=jump_s)) == TimeCharge(seconds=4.5, is_sure=True)


def test_a_stall_of_the_network_is_charged_and_pointed_out():
    charged = charge(SENT, after(1.0 + 2.0))
    assert charged.seconds == 3.0
    assert charged.excess_s(1.0) == 2.0
    assert charged.is_apart(1.0)
    assert not charged.is_apart(2.9)


def test_a_paused_client_is_charged_whatever_its_clock_says():
    charged = charge(SENT, after(7200.0))
    assert charged.seconds == 7200.0
    assert charged.is_apart(3.0)


def test_a_server_that_is_started_again_goes_on_with_the_same_clock():
    kept = Moment.of(SENT.plain())
    assert charge(kept, after(8.0)) == TimeCharge(seconds=8.0)


def test_a_machine_that_is_started_again_goes_by_the_time_of_day_and_says_so():
    assert charge(SENT, after(8.0, boot="b")) == TimeCharge(seconds=8.0, is_sure=False)
    assert charge(SENT, after(8.0, boot="b", jump_s=-3600.0)) == TimeCharge(
        seconds=0.0, is_sure=False
    )


@pytest.mark.parametrize(
    ("began_s", "ended_s", "charged_s"),
    [(2.0, 6.0, 4.0), (-9.0, 3.0, 5.0), (5.0, 99.0, 5.0), (-1.0, 9.0, 0.0)],
)
def test_seconds_of_an_outage_are_not_charged_and_make_the_rest_unsure(began_s, ended_s, charged_s):
    outage = Outage(began=after(began_s), ended=after(ended_s))
    charged = charge(SENT, after(8.0), outages=[outage])
    assert charged == TimeCharge(seconds=charged_s, is_sure=False)


@pytest.mark.parametrize(("began_s", "ended_s"), [(-9.0, -1.0), (8.0, 9.0)])
def test_an_outage_before_the_prompts_or_after_the_answer_changes_nothing(began_s, ended_s):
    outage = Outage(began=after(began_s), ended=after(ended_s))
    assert charge(SENT, after(8.0), outages=[outage]) == TimeCharge(seconds=8.0)


def test_two_outages_are_both_subtracted():
    outages = [Outage(began=after(at), ended=after(at + 1.5)) for at in (1.0, 5.0)]
    assert charge(SENT, after(8.0), outages=outages).seconds == 5.0


def test_a_clock_that_is_set_during_an_outage_changes_nothing():
    outage = Outage(began=after(2.0), ended=after(6.0, jump_s=3600.0))
    assert charge(SENT, after(8.0, jump_s=3600.0), outages=[outage]).seconds == 4.0


def test_an_outage_with_a_restart_of_the_machine_goes_by_the_time_of_day():
    outage = Outage(began=after(2.0), ended=after(6.0, boot="b"))
    charged = charge(SENT, after(8.0, boot="b"), outages=[outage])
    assert charged == TimeCharge(seconds=4.0, is_sure=False)
    assert Outage.of(outage.plain()) == outage


def test_machines_that_cannot_say_when_they_started_are_not_taken_for_one():
    nowhere = replace(SENT, boot="")
    assert not charge(nowhere, replace(nowhere, boot_s=5000.0, utc_s=SENT.utc_s + 2.0)).is_sure


def test_nothing_is_charged_backwards():
    assert charge(SENT, after(-1.0)).seconds == 0.0


def test_the_last_byte_counts_for_those_who_commit_to_nothing():
    first, last = after(2.0), after(60.0)
    assert charge(SENT, arrival(first, last, is_committed=True)).seconds == 2.0
    assert charge(SENT, arrival(first, last, is_committed=False)).seconds == 60.0


def test_prompts_count_as_sent_even_to_those_who_do_not_read_the_last_byte():
    assert clock_start(SENT, after(4.0), size=1000) == after(4.0)
    assert clock_start(SENT, after(600.0), size=2 * SLOWEST_BYTES) == after(7.0)
    assert clock_start(SENT, after(20.0), size=100 * SLOWEST_BYTES) == after(20.0)


def test_now_goes_on_and_is_kept_as_json():
    first, second = Moment.now(), Moment.now()
    assert 0.0 <= charge(first, second).seconds < 60.0
    assert charge(first, second).is_sure
    assert Moment.of(first.plain()) == first
    for wrong in ({}, {**first.plain(), "boot_s": "x"}, None):
        with pytest.raises(InvalidInput):
            Moment.of(wrong)


def test_slow_answers_are_paid_from_the_bank():
    bank = TimeBank(2.0, bank_s=3.0)
    assert [bank.pays(seconds) for seconds in (2.0, 3.5, 0.1, 3.5, 2.0)] == [
        True,
        True,
        True,
        True,
        True,
    ]
    assert bank.left_s == 0.0
    assert not bank.pays(2.001)
    assert bank.pays(2.0)


def test_without_a_limit_nothing_is_paid():
    bank = TimeBank(None)
    assert bank.pays(1e9)
    assert bank.left_s == 0.0


def test_who_was_given_another_start_of_the_same_machine_is_not_sure(tmp_path, monkeypatch):
    moments = []
    for number in range(2):
        (tmp_path / str(number)).symlink_to(f"time:[{number}]")
        monkeypatch.setattr("segarena_server.clock._TIME_NAMESPACE", tmp_path / str(number))
        moments.append(Moment.now())
    assert charge(moments[0], moments[0]).is_sure
    assert not charge(*moments).is_sure
