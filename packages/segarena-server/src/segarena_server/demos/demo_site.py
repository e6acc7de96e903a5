"""The site of `segarena serve --demo`: people, challenges, and runs of participants.

This process makes the runs over the network with the participants' client, and the server evaluates
them as in a real challenge. While each run takes place, the site's clock is set back by some days,
so that boards have a history and phases are over or have just begun.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from segarena.client import participate
from segarena.demos import find_demos
from segarena.errors import InvalidInput
from segarena.registry import build
from segarena_server.auth.access_keys import create_key
from segarena_server.auth.accounts import invite, register
from segarena_server.auth.passwords import hash_password
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.db.orm_models import Challenge, Person
from segarena_server.demos.demo_types import ChallengeDemo, DemoRun, SiteDemo
from segarena_server.settings import Settings, is_loopback
from segarena_server.site import Site

DEMO_ROLES = {"Olga": "admin", "Vera": "viewer"}
"""Roles of the people who do not take part."""

UNCONFIRMED = "Dana"
"""Name of the person whose account awaits confirmation."""

_DAY_S = 86400.0
# Earlier than the start of any demo's first phase, so that accounts are older than all runs.
_OLDEST_EVENT_S = 14 * _DAY_S

_PATIENCE_S = 30.0

OnStep = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoAccount:
    """An account of a demo site.

    Attributes:
        name, role: name and role of the account.
        token: access token for client programs.
    """

    name: str
    role: str
    token: str


class DemoSite:
    """A site filled with demos.

    Args:
        site: a new site that only this machine can reach.
        demos: challenges with their runs; at least one.
        now: the time to which the challenges' dates are relative.

    Raises:
        InvalidInput: other machines could reach the site, or it already has data.
    """

    def __init__(
        self,
        site: Site,
        demos: Sequence[ChallengeDemo],
        now: datetime,
    ) -> None:
        check_demo_settings(site.settings)
        with site.database.reading() as session:
            if session.query(Person).count() or session.query(Challenge).count():
                raise InvalidInput(
                    f"--demo: {site.folder.path} is already in use; name a new folder, or omit --demo"
                )
        self._site = site
        self._challenges = [demo.describe(now) for demo in demos]
        self._runs: list[tuple[str, DemoRun]] = []
        for challenge, demo in zip(self._challenges, demos, strict=True):
            self._runs += [(challenge.slug, run) for run in demo.runs]
        first = self._challenges[0]
        # Random, although it is printed: a fixed password would be known to every web page that
        # this browser opens.
        self.password = secrets.token_hex(5)
        self.open_phase = f"{first.slug}/{first.phases[-1].name}"
        self.accounts: dict[str, DemoAccount] = {}

    def set_up(self, on_step: OnStep) -> None:
        """Create accounts, challenges and the demos of other packages; report each step to `on_step`."""
        self._site.clock = partial(_earlier, _OLDEST_EVENT_S)
        on_step("creating accounts")
        roles = dict(DEMO_ROLES)
        for _, run in self._runs:
            roles[run.participant] = "participant"
        for name, role in roles.items():
            token = self._create_account(name, role)
            self.accounts[name] = DemoAccount(name=name, role=role, token=token)
        self._create_account(UNCONFIRMED, "")
        # In reverse, because the first page lists the newest challenge first.
        for challenge in reversed(self._challenges):
            make_challenge(self._site, challenge, partial(_report, on_step, challenge.slug))
        for demo in find_demos(SiteDemo):
            on_step(f"creating {demo.summary}")
            demo.add_to(self._site)

    def take_part(
        self,
        address: str,
        scratch: Path,
        on_step: OnStep,
    ) -> None:
        """Make the runs, oldest first, then set the clock to the present.

        Args:
            address: address of the running server.
            scratch: folder for the files of the participants' programs.
            on_step: called with a line about each run.

        Raises:
            SegarenaError: a run failed.
        """
        # A board is built from runs in the order of their ends, which the clock must not
        # contradict.
        oldest_first = sorted(self._runs, key=lambda slug_and_run: -slug_and_run[1].days_ago)
        try:
            for number, (slug, run) in enumerate(oldest_first, 1):
                on_step(
                    f"run {number} of {len(oldest_first)}: {run.participant} at {slug}, {run.segmenter}"
                )
                self._site.clock = partial(_earlier, run.days_ago * _DAY_S)
                challenge = f"{address}/challenges/{slug}/{run.phase}"
                self._make_run(run, challenge, scratch / slug / run.participant / run.name)
        finally:
            # Also after a failure, so that the pages of the running server show the present.
            self._site.clock = time.time

    def _create_account(self, name: str, role: str) -> str:
        """Create an account and return a token; without a role, let the account await confirmation and return ""."""
        now = self._site.now()
        password_hash = hash_password(self.password, name)
        with self._site.database.writing() as session:
            invitation = invite(session, now, role) if role else ""
            person = register(session, now, name=name, kept=password_hash, invitation=invitation)
            if role:
                return create_key(session, "token", now, person_id=person.id, label="demo")
            return ""

    def _make_run(
        self,
        run: DemoRun,
        challenge: str,
        out: Path,
    ) -> None:
        token = self.accounts[run.participant].token
        options: dict[str, Any] = {"out": out, "token": token, "cache": out.parent / "samples"}
        if run.samples is not None:
            _abandon_after(run.samples, challenge, run.segmenter, **options)
            return
        participate.evaluate(challenge, segmenter=run.segmenter, patience_s=_PATIENCE_S, **options)
        participate.read_scores(out, token=token)


def check_demo_settings(settings: Settings) -> None:
    """Raise `InvalidInput` if other machines could reach a demo site, because its password is printed."""
    if settings.url or settings.db or not is_loopback(settings.host):
        raise InvalidInput("--demo: runs only on this machine; omit --host, --url and --db")


def _report(
    on_step: OnStep,
    slug: str,
    done: int,
    of: int,
) -> None:
    on_step(f"{slug}: {done} of {of} samples ready")


def _earlier(ago_s: float) -> float:
    return time.time() - ago_s


def _abandon_after(
    samples: int,
    challenge: str,
    segmenter: str,
    **options: Any,
) -> None:
    """Take part with the first samples only, as if the program had been stopped halfway."""
    model = build("segmenter", segmenter)
    started: set[str] = set()
    for session in participate.sessions(challenge, name=segmenter, **options):
        if session.sample.id not in started and len(started) == samples:
            return
        started.add(session.sample.id)
        encoded = model.encode(session.sample)
        while (dialogue := session.next()) is not None:
            session.submit(model.predict(encoded, [dialogue])[0])
