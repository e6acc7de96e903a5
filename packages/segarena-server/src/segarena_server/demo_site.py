"""The demonstration site of `segarena serve --demo`: people, challenges, and runs of participants.

This process makes the runs over the network with the participants' client, and the server evaluates
them as in a real challenge. They happen one after the other while the site's clock is set back by some
days, so that boards have a history and phases are over or have just begun.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from segarena.client import participate
from segarena.errors import InvalidInput
from segarena.registry import build
from segarena_server.auth.accounts import invite, register
from segarena_server.auth.keys import create_key
from segarena_server.auth.passwords import hash_password
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.showcases import Showcase, ShowcaseRun
from segarena_server.db.orm_models import Challenge, Person
from segarena_server.extensions.site_sections import site_sections
from segarena_server.settings import Settings, is_loopback
from segarena_server.site import Site

DEMO_ROLES = {"Olga": "admin", "Vera": "viewer"}
"""Roles of the people who do not take part."""

WAITING = "Dana"
"""Person whose account awaits confirmation."""

_DAY_S = 86400.0
_BEFORE_S = 14 * _DAY_S
"""Age of the demonstration's oldest event."""

_PATIENCE_S = 30.0

OnStep = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoAccount:
    """An account of the demonstration.

    Attributes:
        name, role: of the account.
        token: access token for its client programs.
    """

    name: str
    role: str
    token: str


class DemoSite:
    """A site with demonstration data.

    Args:
        site: a new site that only this machine reaches.
        shown: challenges with their runs.

    Raises:
        InvalidInput: others could reach the site, or it has data already.
    """

    def __init__(self, site: Site, shown: Sequence[Showcase]) -> None:
        check_demo_settings(site.settings)
        with site.database.reading() as session:
            if session.query(Person).count() or session.query(Challenge).count():
                raise InvalidInput(
                    f"--demo: {site.folder.path} is in use; name a new folder, or leave --demo out"
                )
        self._site = site
        self._shown = shown
        self.password = secrets.token_hex(5)
        self.open_phase = f"{shown[0].challenge.slug}/{shown[0].challenge.phases[-1].name}"
        self.accounts: dict[str, DemoAccount] = {}

    def set_up(self, on_step: OnStep) -> None:
        """Create accounts, challenges and examples; call `on_step` with a line about each."""
        self._site.clock = partial(_then, _BEFORE_S)
        takers = {one.who: "participant" for each in self._shown for one in each.tries}
        on_step("creating accounts")
        for name, role in {**DEMO_ROLES, **takers}.items():
            self.accounts[name] = DemoAccount(name=name, role=role, token=self._account(name, role))
        self._account(WAITING, "")
        for each in reversed(self._shown):  # the newest stands first on the first page
            make_challenge(self._site, each.challenge, partial(_tell, on_step, each.challenge.slug))
        for name, room in site_sections().items():
            on_step(f"creating examples for {name}")
            room.show(self._site)

    def take_part(self, address: str, scratch: Path, on_step: OnStep) -> None:
        """Make the runs, oldest first, and set the clock to the present.

        Args:
            address: address of the running server.
            scratch: folder for the files of the participants' programs.
            on_step: called with a line about each run.

        Raises:
            SegarenaError: a run failed.
        """
        tries = [(one, each.challenge.slug) for each in self._shown for one in each.tries]
        try:
            for number, (one, slug) in enumerate(
                sorted(tries, key=lambda pair: -pair[0].days_ago), 1
            ):
                on_step(f"run {number} of {len(tries)}: {one.who} at {slug}, {one.segmenter}")
                self._site.clock = partial(_then, one.days_ago * _DAY_S)
                self._hold(
                    one,
                    f"{address}/challenges/{slug}/{one.phase}",
                    scratch / slug / one.who / one.name,
                )
        finally:
            self._site.clock = time.time

    def _account(self, name: str, role: str) -> str:
        """Create an account and return a token; without a role it awaits confirmation and has none."""
        now = self._site.now()
        kept = hash_password(self.password, name)
        with self._site.database.writing() as session:
            invitation = invite(session, now, role) if role else ""
            person = register(session, now, name=name, kept=kept, invitation=invitation)
            if role:
                return create_key(session, "token", now, person_id=person.id, label="demonstration")
            return ""

    def _hold(self, one: ShowcaseRun, challenge: str, out: Path) -> None:
        how: dict[str, Any] = {
            "out": out,
            "token": self.accounts[one.who].token,
            "cache": out.parent / "samples",
        }
        if one.samples is not None:
            _leave_after(one.samples, challenge, one.segmenter, **how)
            return
        participate.evaluate(challenge, segmenter=one.segmenter, patience_s=_PATIENCE_S, **how)
        participate.read_scores(out, token=how["token"])


def check_demo_settings(settings: Settings) -> None:
    """Raise `InvalidInput` if other machines could reach a demonstration, whose password is shown."""
    if settings.url or settings.db or not is_loopback(settings.host):
        raise InvalidInput("--demo: only on this machine; leave --host, --url and --db out")


def _tell(on_step: OnStep, slug: str, done: int, of: int) -> None:
    on_step(f"{slug}: {done} of {of} samples ready")


def _then(ago_s: float) -> float:
    return time.time() - ago_s


def _leave_after(samples: int, challenge: str, segmenter: str, **how: Any) -> None:
    """Take part with the first samples only, as if the program had been stopped."""
    model = build("segmenter", segmenter)
    sessions = participate.sessions(challenge, name=segmenter, **how)
    held: set[str] = set()
    for session in sessions:
        if session.sample.id not in held and len(held) == samples:
            return
        held.add(session.sample.id)
        encoded = model.encode(session.sample)
        while (dialogue := session.next()) is not None:
            session.submit(model.predict(encoded, [dialogue])[0])
