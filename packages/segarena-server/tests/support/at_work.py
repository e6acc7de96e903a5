"""A running server in a thread of this process, and its visitors."""

import threading
import time

import httpx2

from segarena.work.jobs import run_unit
from segarena_server.auth.access_keys import create_key
from segarena_server.auth.accounts import invite
from segarena_server.auth.challenge_organisers import add_organiser
from segarena_server.auth.permissions import cookie_name, session_cookie
from segarena_server.challenges.challenge_repository import find_challenge
from segarena_server.db.orm_models import Person, Run
from segarena_server.server_process import SiteServer
from segarena_server.workers.worker import TaskExecutor


class Served:
    """A running server in a thread of this process."""

    def __init__(self, site):
        self.site = site
        self.serving = SiteServer(site)
        self._clients = []
        self._started = threading.Event()
        self._thread = threading.Thread(target=self.serving.run, args=(self._note,), daemon=True)
        self._thread.start()
        assert self._started.wait(60)

    def _note(self, port):
        self.address = f"http://127.0.0.1:{port}"
        self._started.set()

    @property
    def is_alive(self):
        """Whether the server is running."""
        return self._thread.is_alive()

    def client(self, **options):
        """Return a client without credentials."""
        made = httpx2.Client(base_url=self.address, timeout=60, trust_env=False, **options)
        self._clients.append(made)
        return made

    def person(self, name, role="participant", organises=()):
        """Return a client that is signed in as a new person of this role, an organiser of these challenges."""
        with self.site.database.writing() as session:
            invitation = invite(session, self.site.now(), role)
        client = self.client()
        form = {"name": name, "password": f"password of {name}", "invitation": invitation}
        assert client.post("/register", data=form).status_code == 303
        for slug in organises:
            self.organises(name, slug)
        return client

    def organises(self, name, slug):
        """Make a person an organiser of a challenge."""
        with self.site.database.writing() as session:
            add_organiser(session, find_challenge(session, slug), name, self.site.now(), {})

    def token(self, name, role="participant"):
        """Return a token of a new person of this role."""
        with self.site.database.writing() as session:
            person = Person(
                name=name, folded=name, password="-", role=role, state="confirmed", made_at=0.0
            )
            session.add(person)
            session.flush()
            return create_key(session, "token", self.site.now(), person_id=person.id)

    def pages_of(self, run_id):
        """Return a client that is signed in as the owner of a run."""
        client = self.client()
        with self.site.database.writing() as session:
            owner = session.get_one(Run, run_id).person_id
            key = create_key(session, "session", self.site.now(), person_id=owner)
        client.cookies.set(
            cookie_name(self.site), session_cookie(self.site, key), domain="127.0.0.1"
        )
        return client

    def api(self, token, **options):
        """Return a client of the interface for programs."""
        made = self.client(headers={"authorization": f"Bearer {token}"}, **options)
        made.base_url = f"{self.address}/api/v1"
        return made

    def stop(self):
        for client in self._clients:
            client.close()
        self.serving.stop()
        self._thread.join(20)
        self.site.database.close()


def send_turn(api, path, body, **headers):
    """Send a turn and return the response with its reply.

    Like a participant's client, ask again as long as the server answers that the turn is being evaluated, which a busy
    machine may take longer for than a request may wait.
    """
    answer = api.post(path, content=body, headers=headers)
    deadline = time.monotonic() + 120
    while answer.status_code == 202 and time.monotonic() < deadline:
        answer = api.get(path)
    return answer


class Here:
    """Runs units in this process, because another one takes seconds to start."""

    doing, number = "", None

    def __init__(self):
        self._do = TaskExecutor(30.0, 60.0).open()

    def do(self, unit, meanwhile, limit_s=None):
        meanwhile()
        return run_unit(self._do, unit)

    def end(self):
        pass
