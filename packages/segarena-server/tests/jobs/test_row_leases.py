"""Leases: detection of dead and silent processes, by each process's own clock only."""

import os
import subprocess
import sys

import pytest

from segarena_server.jobs.row_leases import LeaseWatch, is_gone, new_lease


def lease_of_another_process():
    code = "from segarena_server.jobs.row_leases import new_lease; print(new_lease())"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.long
def test_this_process_is_not_gone_and_one_that_ended_is():
    assert not is_gone(new_lease())
    assert is_gone(lease_of_another_process())


def test_a_process_with_a_number_that_was_used_again_is_another():
    machine, number, _, _ = new_lease().split(":")
    assert is_gone(f"{machine}:{number}:1:x")
    assert int(number) == os.getpid()


def test_nothing_is_known_of_another_machine_unless_all_are_on_this_one():
    lease = "another/pid[1]:1:2:3"
    assert not is_gone(lease)
    assert is_gone(lease, is_same_machine=True)


def test_a_lease_without_a_beat_is_dead_after_its_time_and_one_with_beats_never():
    now = [1000.0]
    watch = LeaseWatch(10.0, lambda: now[0])
    for second in range(0, 60, 3):
        now[0] = 1000.0 + second
        dead = watch.expired({"silent": ("a", 5), "alive": ("b", second)})
        assert dead == (["silent"] if second >= 12 else [])


def test_a_new_lease_of_the_same_job_has_its_own_time():
    now = [0.0]
    watch = LeaseWatch(10.0, lambda: now[0])
    watch.expired({"job": ("first", 0)})
    now[0] = 9.0
    watch.expired({"job": ("second", 0)})
    now[0] = 18.0
    assert watch.expired({"job": ("second", 0)}) == []
    now[0] = 19.0
    assert watch.expired({"job": ("second", 0)}) == ["job"]
