"""Server metrics in the text format of Prometheus."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from segarena_server.db.orm_models import Job, Run, Turn

_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_BOUNDS_S = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 30.0)


class RequestMetrics:
    """Counts and durations of the requests to this process, by route."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str, int]] = Counter()
        self._buckets: defaultdict[str, list[int]] = defaultdict(_empty_buckets)
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def count(
        self,
        method: str,
        route: str,
        status: int,
        seconds: float,
    ) -> None:
        """Count a request, and add its duration in seconds."""
        # Clients may invent methods, and each one would become a new time series.
        known = method if method in _METHODS else "other"
        with self._lock:
            self._counts[known, route, status] += 1
            self._buckets[route][bisect_left(_BOUNDS_S, seconds)] += 1
            self._seconds[route] += seconds

    def text(self) -> Iterator[str]:
        """Yield the lines of the Prometheus text format."""
        # Copied under the lock, so that formatting does not hold up requests.
        with self._lock:
            counts = dict(self._counts)
            buckets = dict(self._buckets)
            seconds = dict(self._seconds)
        yield from _metric(
            "segarena_requests_total",
            "counter",
            (
                ({"method": method, "route": route, "status": str(status)}, count)
                for (method, route, status), count in counts.items()
            ),
        )
        yield "# TYPE segarena_request_seconds histogram"
        for route, found in buckets.items():
            for index, bound in enumerate((*_BOUNDS_S, float("inf"))):
                label = "+Inf" if bound == float("inf") else f"{bound:g}"
                yield _line(
                    "segarena_request_seconds_bucket",
                    {"route": route, "le": label},
                    # Prometheus buckets are cumulative: each one includes all shorter durations.
                    sum(found[: index + 1]),
                )
            yield _line("segarena_request_seconds_sum", {"route": route}, seconds[route])
            yield _line("segarena_request_seconds_count", {"route": route}, sum(found))


def database_metrics(session: Session, now: float) -> Iterator[str]:
    """Yield the metrics of the tables: turns, runs and jobs by state, and the age of the oldest waiting turn."""
    turns = session.execute(select(Turn.state, func.count()).group_by(Turn.state)).all()
    yield from _metric(
        "segarena_turns", "gauge", (({"state": state}, count) for state, count in turns)
    )
    runs = session.execute(select(Run.state, func.count()).group_by(Run.state)).all()
    yield from _metric(
        "segarena_runs", "gauge", (({"state": state}, count) for state, count in runs)
    )
    query = select(Job.kind, Job.state, func.count()).group_by(Job.kind, Job.state)
    jobs: list[tuple[Mapping[str, str], float]] = []
    for kind, state, count in session.execute(query):
        jobs.append(({"kind": kind, "state": state}, count))
    yield from _metric("segarena_jobs", "gauge", jobs)
    oldest = session.scalar(select(func.min(Turn.received_at)).where(Turn.state == "waiting"))
    # A clock that was set back could otherwise produce a negative age.
    waiting_s = 0.0 if oldest is None else max(0.0, now - oldest)
    yield from _metric("segarena_oldest_waiting_seconds", "gauge", [({}, waiting_s)])


def _empty_buckets() -> list[int]:
    # One bucket more than there are bounds, for durations above the last bound.
    return [0] * (len(_BOUNDS_S) + 1)


def _metric(
    name: str,
    kind: str,
    values: Iterable[tuple[Mapping[str, str], float]],
) -> Iterator[str]:
    yield f"# TYPE {name} {kind}"
    for labels, value in values:
        yield _line(name, labels, value)


def _line(
    name: str,
    labels: Mapping[str, str],
    value: float,
) -> str:
    if not labels:
        return f"{name} {value:g}"
    pairs = ",".join(f'{label}="{text}"' for label, text in labels.items())
    return f"{name}{{{pairs}}} {value:g}"
