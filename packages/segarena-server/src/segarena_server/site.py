"""The state of one server process: settings, data folder, database, limits and caches."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from segarena_server.auth.login_throttle import AttemptLimiter
from segarena_server.auth.rate_limit import RateLimiter
from segarena_server.challenges.boards import BoardCache
from segarena_server.challenges.time_charge import Moment
from segarena_server.db.database import Database
from segarena_server.http.upload_budget import UploadBudget
from segarena_server.prometheus import RequestMetrics
from segarena_server.settings import Settings
from segarena_server.storage.data_folder import DataFolder
from segarena_server.storage.image_cache import ImageCache
from segarena_server.turns.notifier import Notifier
from segarena_server.turns.turn_repository import TurnKey

_QUARTER_HOUR_S = 900.0


@dataclass(slots=True)
class Site:
    """The state of one server process.

    Attributes:
        settings: the configuration.
        folder: the data folder.
        database: the database.
        secret: key for signing cookies and forms.
        requests: rate limit of requests to this process.
        attempts: limits on passwords, registrations and the like, for all servers together.
        news: wakes requests that wait for an evaluation.
        sent: times when responses left that are not in the table yet.
        hurry: called when there is something to evaluate.
        counted: metrics of the requests so far.
        held: leases that this process holds.
        is_draining: returns whether the process is shutting down.
        clock: returns seconds since 1970; replaced in tests and demonstrations.
        intake: limit on the memory of large request bodies.
        album: cache of rendered images.
        boards: cache of the boards.
        only_person: the single user of a local site; None where people have accounts.
        things: further state of site sections, by type.
        at_end: called at shutdown.
    """

    settings: Settings
    folder: DataFolder
    database: Database
    secret: bytes
    requests: RateLimiter = field(init=False)
    attempts: AttemptLimiter = field(init=False)
    news: Notifier = field(default_factory=Notifier)
    sent: dict[TurnKey, Moment] = field(default_factory=dict[TurnKey, Moment])
    hurry: Callable[[], object] = field(default=lambda: None)
    counted: RequestMetrics = field(default_factory=RequestMetrics)
    held: set[str] = field(default_factory=set[str])
    is_draining: Callable[[], bool] = field(default=lambda: False)
    clock: Callable[[], float] = time.time
    intake: UploadBudget = field(init=False)
    album: ImageCache = field(init=False)
    boards: BoardCache = field(default_factory=BoardCache)
    only_person: int | None = None
    things: dict[type[Any], Any] = field(default_factory=dict[type[Any], Any])
    at_end: list[Callable[[], object]] = field(default_factory=list[Callable[[], object]])

    def __post_init__(self) -> None:
        """Create the limiters and caches from the settings."""
        self.requests = RateLimiter(self.settings.limits.requests_per_minute, 60.0)
        most = self.settings.limits.sign_ins
        self.attempts = AttemptLimiter(self.database, most, _QUARTER_HOUR_S, self.now)
        self.intake = UploadBudget(int(self.settings.limits.bodies_mb * 2**20))
        self.album = ImageCache(self.folder.pictures, self.settings.limits)

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        return self.clock()
