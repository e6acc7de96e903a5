"""`segarena serve --demo`: a site to click through, with people, challenges, and runs held as participants hold theirs.

The runs come over the network from this process, by the participants' client; what is judged is judged as in a real
challenge. They happen one after the other, while the site's clock stands some days ago, so that the boards have a
history, phases are over, and others have just begun.
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
"""Who does not take part."""

WAITING = "Dana"
"""Whose account an organiser has yet to confirm."""

_DAY_S = 86400.0
_BEFORE_S = 14 * _DAY_S
"""When all began."""

_PATIENCE_S = 30.0

OnStep = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoAccount:
    """Who can sign in.

    Attributes:
        name, role: of the account.
        token: with which its programs take part.
    """

    name: str
    role: str
    token: str


class DemoSite:
    """A site to click through.

    Args:
        site: new, and reached from this machine alone.
        shown: the challenges, with the runs at them.

    Raises:
        InvalidInput: others could reach the site, or it is in use.
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

    def lay(self, on_step: OnStep) -> None:
        """Make the accounts and the challenges; `on_step` is called with a line about each."""
        self._site.clock = partial(_then, _BEFORE_S)
        takers = {one.who: "participant" for each in self._shown for one in each.tries}
        on_step("making accounts")
        for name, role in {**DEMO_ROLES, **takers}.items():
            self.accounts[name] = DemoAccount(name=name, role=role, token=self._account(name, role))
        self._account(WAITING, "")
        for each in reversed(self._shown):  # the newest stands first on the first page
            make_challenge(self._site, each.challenge, partial(_tell, on_step, each.challenge.slug))
        for name, room in site_sections().items():
            on_step(f"making examples for {name}")
            room.show(self._site)

    def take_part(self, address: str, scratch: Path, on_step: OnStep) -> None:
        """Hold the runs, the oldest first, and come back to today.

        Args:
            address: of the site, which is served meanwhile.
            scratch: for what the participants' programs keep.
            on_step: called with a line about each run.

        Raises:
            SegarenaError: a run came to nothing.
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
        """Make an account; return a token of it, and "" for one that has to be confirmed."""
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
    """Raise `InvalidInput` where others than this machine could reach a demonstration: its accounts are for nobody."""
    if settings.url or settings.db or not is_loopback(settings.host):
        raise InvalidInput("--demo: only on this machine; leave --host, --url and --db out")


def _tell(on_step: OnStep, slug: str, done: int, of: int) -> None:
    on_step(f"{slug}: {done} of {of} samples ready")


def _then(ago_s: float) -> float:
    return time.time() - ago_s


def _leave_after(samples: int, challenge: str, segmenter: str, **how: Any) -> None:
    """Answer about so many samples, and no more."""
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
