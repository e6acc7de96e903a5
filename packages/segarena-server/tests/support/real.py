"""A real server with challenges, in a thread of this process."""

import sys
import threading
from contextlib import contextmanager
from pathlib import Path

from segarena_server.auth.access_keys import create_key
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.orm_models import Person
from segarena_server.server_process import SiteServer, open_site
from segarena_server.settings import Settings

sys.path.insert(0, str(Path(__file__).parent))
from forked import workers_are_forked

SEED = 7


def describe(slug, benchmark, dataset, **phase):
    phase = {"name": "test", "seed": SEED, **phase}
    return ChallengeDescription(
        slug=slug, title=slug, benchmark=benchmark, dataset=dataset, phases=(Phase(**phase),)
    )


def lay(data, *challenges, port=0):
    """Return a site with these challenges."""
    site = open_site(data, Settings(port=port, workers=1))
    for challenge in challenges:
        make_challenge(site, challenge, lambda *_: None)
    return site


def token_of(site, name, role="participant"):
    """Return a token of a new person of this role."""
    with site.database.writing() as session:
        person = Person(
            name=name, folded=name, password="-", role=role, state="confirmed", made_at=0.0
        )
        session.add(person)
        session.flush()
        return create_key(session, "token", site.now(), person_id=person.id)


@contextmanager
def at_work(site):
    """Serve in a thread; yield the address."""
    serving, started, ports = SiteServer(site), threading.Event(), []

    def note(port):
        ports.append(port)
        started.set()

    thread = threading.Thread(target=serving.run, args=(note,), daemon=True)
    with workers_are_forked():
        thread.start()
        assert started.wait(30)
        try:
            yield f"http://127.0.0.1:{ports[0]}"
        finally:
            serving.stop()
            thread.join(30)
