"""Periods without a running server, for which no participant is charged.

Every server stores a heartbeat in the database every few seconds. A server that starts finds the
last heartbeat of any server. If it is too old, no server was running since then.
"""

from __future__ import annotations

import json
import logging
import threading
from contextlib import suppress

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from segarena.errors import SegarenaError
from segarena_server.clock import Moment, Outage
from segarena_server.db.database import DatabaseAway
from segarena_server.db.orm_models import SharedValue
from segarena_server.server_log import LOG
from segarena_server.site import Site

_INTERVAL_S = 2.0
"""Seconds between two heartbeats."""
_SHORTEST_S = 2 * _INTERVAL_S
"""A shorter gap may be due to a late heartbeat of another server."""
_MOST_OUTAGES = 100
"""Maximum number of stored outages; older ones are forgotten."""
_STOP_S = 20.0

_ALIVE = "alive"
_OUTAGES = "outages"


class OutageRecorder:
    """Thread that stores heartbeats; starting it also records the outage that ends at that moment.

    Args:
        site: the site, which gets the outages so far.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._store_signs, daemon=True)

    def start(self) -> None:
        """Record the outage before this start, if any, and start the thread.

        Raises:
            DatabaseAway: the database does not respond.
        """
        # If two servers create the rows at the same moment, there was no outage to record.
        with suppress(IntegrityError):
            self._site.outages = self._record_outage()
        self._thread.start()

    def stop(self) -> None:
        """Store a last heartbeat and stop the thread."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_S)

    def _record_outage(self) -> tuple[Outage, ...]:
        now = Moment.now()
        with self._site.database.writing() as session:
            last = session.get(SharedValue, _ALIVE, with_for_update=True)
            outages = _stored_outages(session)
            if last is not None:
                outage = Outage(began=Moment.of(json.loads(last.value)), ended=now)
                if outage.seconds > _SHORTEST_S:
                    outages = (*outages, outage)[-_MOST_OUTAGES:]
                    plain = [outage.plain() for outage in outages]
                    session.merge(SharedValue(name=_OUTAGES, value=json.dumps(plain)))
            session.merge(SharedValue(name=_ALIVE, value=json.dumps(now.plain())))
        return outages

    def _store_signs(self) -> None:
        is_over = False
        while not is_over:
            is_over = self._is_over.wait(_INTERVAL_S)
            try:
                with self._site.database.writing() as session:
                    value = json.dumps(Moment.now().plain())
                    session.merge(SharedValue(name=_ALIVE, value=value))
            except DatabaseAway:
                # Requests report this; the next heartbeat tries again.
                continue
            except Exception as error:
                # Log any error and continue, because without this thread the next start would
                # record an outage from now on.
                LOG.log(
                    logging.ERROR,
                    "heartbeat: %s",
                    error,
                    exc_info=not isinstance(error, SegarenaError),
                )


def _stored_outages(session: Session) -> tuple[Outage, ...]:
    stored = session.get(SharedValue, _OUTAGES)
    if stored is None:
        return ()
    return tuple(Outage.of(plain) for plain in json.loads(stored.value))
