"""Estimates of the remaining time, for a progress display."""

from __future__ import annotations

import statistics

from segarena.work.progress import Progress

# Fewer units say little about the mean.
_MIN_UNITS = 3
# Weight of a new estimate in the displayed time, and the largest factor between the two.
_BLEND = 0.3
_MAX_DISTANCE = 1.3
# Largest factor between one shown time and the next, beyond the time that has passed.
_MAX_STEP = 1.25
# Share of the longest units, whose durations are cut to that of the next longest.
_TRIMMED_SHARE = 0.05
# Early units that are longer than this many medians may include loading.
_MAX_EARLY_MEDIANS = 2.0
_MIN_UTILIZATION = 0.05


class RemainingTime:
    """Estimator of the remaining time, from the durations of finished units.

    There is no estimate before each worker has had time for two units. Long units among the first ones
    count less, because they may load a model or fill a cache. Later estimates are blended with earlier ones.

    Args:
        workers: number of worker processes of this program.
    """

    def __init__(self, workers: int) -> None:
        self._workers = max(1, workers)
        self._durations_s: list[float] = []
        self._done_s: list[float] = []
        self._measured_s = 0.0
        self._shown_s: float | None = None
        self._shown_at_s = 0.0

    def update(self, state: Progress, now_s: float) -> float | None:
        """Return the remaining seconds; None if too few units are done.

        Args:
            state: the state of the work.
            now_s: time on a monotonic clock.
        """
        self._record(state, now_s)
        left = state.units - state.done
        if left <= 0:
            return 0.0
        estimate_s = self._estimate(state, left, now_s)
        if estimate_s is None:
            return None
        if self._shown_s is not None:
            estimate_s = _smoothed_s(estimate_s, self._shown_s, now_s - self._shown_at_s)
        self._shown_s = estimate_s
        self._shown_at_s = now_s
        return estimate_s

    @property
    def units(self) -> int:
        """Number of units that the estimate is based on."""
        return len(self._durations_s)

    def _record(self, state: Progress, now_s: float) -> None:
        here = state.done - state.resumed - state.elsewhere
        new = here - len(self._durations_s)
        if new <= 0:
            return
        duration_s = max(0.0, state.seconds - self._measured_s) / new
        self._measured_s = state.seconds
        self._durations_s.extend([duration_s] * new)
        self._done_s.extend([now_s] * new)

    def _estimate(
        self,
        state: Progress,
        left: int,
        now_s: float,
    ) -> float | None:
        count = len(self._durations_s)
        workers = min(self._workers, count + left)
        if count < max(_MIN_UNITS, 2 * workers + 1):
            return None
        unit_s = self._unit_s(workers)
        if unit_s > 0:
            unit_s /= self._utilization(workers)
        else:  # work that does not measure its units
            unit_s = workers * (self._done_s[-1] - self._done_s[0]) / (count - 1)
        return unit_s * max(left / (workers * state.sharers), 0.5)

    def _utilization(self, workers: int) -> float:
        """Return the share of time that workers spend on units, measured once all workers are busy."""
        start = 2 * workers
        if len(self._durations_s) < 2 * start + 1:
            return 1.0
        # Units under way at the start and at the end cancel out.
        worked_s = sum(self._durations_s[start:])
        passed_s = self._done_s[-1] - self._done_s[start - 1]
        if passed_s <= 0:
            return 1.0
        return min(max(worked_s / (workers * passed_s), _MIN_UTILIZATION), 1.0)

    def _unit_s(self, workers: int) -> float:
        """Return the mean duration of a unit, with the few longest durations shortened to the next longest."""
        count = len(self._durations_s)
        longest_s = sorted(self._durations_s, reverse=True)
        typical_s = _MAX_EARLY_MEDIANS * statistics.median(self._durations_s[workers:])
        early_limit_s = max(longest_s[min(workers, count - 1)], typical_s)
        limit_s = longest_s[int(_TRIMMED_SHARE * count)]
        early = 3 * workers
        counted_s = [min(duration_s, early_limit_s) for duration_s in self._durations_s[:early]]
        counted_s += [min(duration_s, limit_s) for duration_s in self._durations_s[early:]]
        return statistics.fmean(counted_s)


def _smoothed_s(
    estimate_s: float,
    shown_s: float,
    passed_s: float,
) -> float:
    """Return an estimate that is close to the new one but does not jump away from the one on display."""
    expected_s = max(shown_s - passed_s, 0.0)
    near_s = min(max(expected_s, estimate_s / _MAX_DISTANCE), estimate_s * _MAX_DISTANCE)
    blended_s = near_s + _BLEND * (estimate_s - near_s)
    return min(max(blended_s, expected_s / _MAX_STEP), shown_s * _MAX_STEP)
