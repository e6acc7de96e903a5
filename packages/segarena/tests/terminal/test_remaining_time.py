"""The time left, against the true time left of simulated sequences of durations."""

import heapq
import random

import pytest

from segarena.terminal.progress import rough_text
from segarena.terminal.remaining_time import RemainingTime
from segarena.work.progress import Progress

UNITS = 100
BOUND = 1.5
SEQUENCES = {
    "equal": lambda rng: 1.0,
    "normal": lambda rng: max(0.2, rng.gauss(1, 0.3)),
    "skewed": lambda rng: rng.lognormvariate(0, 0.4),
}


def simulated(durations, workers, startup_s=3.0):
    """Yield the share that is done, the time, the estimate and the true time left after each unit."""
    free = [startup_s] * workers
    ends = []
    for duration in durations:
        end = heapq.heappop(free) + duration
        heapq.heappush(free, end)
        ends.append((end, duration))
    ends.sort()
    last = ends[-1][0]
    remaining_time = RemainingTime(workers)
    seconds = 0.0
    for done, (end, duration) in enumerate(ends, 1):
        seconds += duration
        state = Progress(units=len(durations), done=done, seconds=seconds)
        yield done / len(durations), end, remaining_time.update(state, end), last - end


@pytest.mark.parametrize("slow_s", [0.0, 8.0])
@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("name", SEQUENCES)
def test_between_a_fifth_and_four_fifths_estimates_are_near_the_truth(name, workers, slow_s):
    """The first unit of each worker takes `slow_s` longer."""
    for seed in range(5):
        rng = random.Random(seed)
        durations = [SEQUENCES[name](rng) for _ in range(UNITS)]
        durations[:workers] = [duration + slow_s for duration in durations[:workers]]
        for share, _, estimate, left in simulated(durations, workers):
            if 0.2 <= share <= 0.8:
                assert left / BOUND <= estimate <= left * BOUND, (seed, share)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_no_update_changes_an_estimate_by_more_than_a_quarter_beyond_the_time_passed(workers):
    for seed in range(5):
        rng = random.Random(seed)
        durations = [rng.lognormvariate(0, 1) for _ in range(UNITS)]
        before = None
        for _, now, estimate, left in simulated(durations, workers):
            if before is not None and left:
                earlier, shown = before
                assert (shown - (now - earlier)) / 1.25 <= estimate + 1e-9
                assert estimate <= shown * 1.25 + 1e-9
            if estimate is not None:
                before = now, estimate


def test_there_is_no_estimate_before_each_worker_had_time_for_two_units():
    shown = [estimate for _, _, estimate, _ in simulated([1.0] * 40, workers=4)]
    assert shown[:8] == [None] * 8
    assert None not in shown[8:]


def test_a_slow_first_unit_does_not_count():
    shown = [estimate for *_, estimate, _ in simulated([60.0, *[1.0] * 20], workers=1)]
    assert shown[2] == pytest.approx(18 * 4 / 3, rel=0.2)


def test_one_very_long_unit_hardly_moves_the_estimate():
    durations = [1.0] * 100
    durations[30] = 100.0
    estimates = [(estimate, left) for *_, estimate, left in simulated(durations, workers=1)]
    assert all(estimate == pytest.approx(left, rel=0.25) for estimate, left in estimates[30:-1])


def test_workers_that_wait_between_units_are_taken_into_account():
    remaining_time = RemainingTime(1)
    for done in range(1, 31):
        estimate = remaining_time.update(Progress(units=60, done=done, seconds=0.5 * done), done)
    assert estimate == pytest.approx(30, rel=0.1)


def test_work_that_measures_no_units_is_estimated_from_the_clock():
    remaining_time = RemainingTime(1)
    for done in range(1, 31):
        estimate = remaining_time.update(Progress(units=60, done=done), 2.0 * done)
    assert estimate == pytest.approx(60, rel=0.05)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (3.2, "3 s"),
        (43, "45 s"),
        (130, "2 min"),
        (1290, "20 min"),
        (5300, "1.5 h"),
        (6500, "2.0 h"),
        (80000, "22.2 h"),
    ],
)
def test_estimates_are_rounded(seconds, text):
    assert rough_text(seconds) == text
