"""The state of one server process: settings, data folder, database, limits and caches."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar

from segarena_server.clock import Moment, Outage
from segarena_server.db.database import Database
from segarena_server.db.orm_models import TurnKey
from segarena_server.limits.login_throttle import AttemptLimiter, SignInThrottle
from segarena_server.limits.rate_limit import RateLimiter
from segarena_server.limits.upload_budget import UploadBudget
from segarena_server.notifier import Notifier
from segarena_server.prometheus import RequestMetrics
from segarena_server.settings import Settings
from segarena_server.storage.data_folder import DataFolder

_QUARTER_HOUR_S = 900.0

Thing = TypeVar("Thing")


@dataclass(slots=True)
class Site:
    """The state of one server process.

    Attributes:
        settings: the configuration.
        folder: the data folder.
        database: the database.
        secret: key for signing cookies and forms.
        requests: rate limiter of requests to this process.
        attempts: limiter of registrations, e-mails and the like, shared by all servers.
        sign_ins: throttle of wrong passwords, shared by all servers.
        news: wakes requests that wait for an evaluation.
        sent: departure times of responses that are not in the table yet.
        outages: periods without a running server, as known when this process started.
        hurry: called when a new job is waiting.
        counted: metrics of the requests so far.
        held: leases that this process holds.
        is_draining: returns whether the process is shutting down.
        clock: returns seconds since 1970; replaced in tests and demos.
        intake: limit on the memory of large request bodies.
        only_person: the single user of a local site; None on servers with accounts.
        things: caches and other state, one object per type.
        at_end: functions to call at shutdown.
    """

    settings: Settings
    folder: DataFolder
    database: Database
    secret: bytes
    requests: RateLimiter = field(init=False)
    attempts: AttemptLimiter = field(init=False)
    sign_ins: SignInThrottle = field(init=False)
    news: Notifier = field(default_factory=Notifier)
    sent: dict[TurnKey, Moment] = field(default_factory=dict[TurnKey, Moment])
    outages: tuple[Outage, ...] = ()
    hurry: Callable[[], object] = field(default=lambda: None)
    counted: RequestMetrics = field(default_factory=RequestMetrics)
    held: set[str] = field(default_factory=set[str])
    is_draining: Callable[[], bool] = field(default=lambda: False)
    clock: Callable[[], float] = time.time
    intake: UploadBudget = field(init=False)
    only_person: int | None = None
    things: dict[type[Any], Any] = field(default_factory=dict[type[Any], Any])
    _lock: Lock = field(default_factory=Lock, repr=False)
    at_end: list[Callable[[], object]] = field(default_factory=list[Callable[[], object]])

    def __post_init__(self) -> None:
        """Create the limiters and the upload budget from the settings."""
        # In memory, unlike the two limiters below: a database write per request would cost more
        # than most requests themselves.
        self.requests = RateLimiter(self.settings.limits.requests_per_minute, 60.0)
        most = self.settings.limits.sign_ins
        self.attempts = AttemptLimiter(self.database, most, _QUARTER_HOUR_S, self.now)
        self.sign_ins = SignInThrottle(self.attempts, most)
        self.intake = UploadBudget(int(self.settings.limits.bodies_mb * 2**20))

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        return self.clock()

    def shared(self, kind: type[Thing], make: Callable[[], Thing]) -> Thing:
        """Return the only object of a type in `things`; the first call creates it."""
        # Under a lock, because several threads may make the first call at once.
        with self._lock:
            if kind not in self.things:
                self.things[kind] = make()
            return self.things[kind]
