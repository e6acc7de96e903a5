"""A server at work in a thread of this process, and people who come to it."""

import threading

import httpx2

from segarena.work.jobs import run_unit
from segarena_server.auth.accounts import invite
from segarena_server.auth.keys import create_key
from segarena_server.auth.permissions import cookie_name, session_cookie
from segarena_server.db.orm_models import Person, Run
from segarena_server.jobs.worker import TaskExecutor
from segarena_server.serving import SiteServer


class Served:
    """A server at work in a thread of this process."""

    def __init__(self, site):
        self.site = site
        self.serving = SiteServer(site)
        self._clients = []
        self._started = threading.Event()
        self._thread = threading.Thread(target=self.serving.run, args=(self._note,), daemon=True)
        self._thread.start()
        assert self._started.wait(20)

    def _note(self, port):
        self.address = f"http://127.0.0.1:{port}"
        self._started.set()

    @property
    def is_alive(self):
        """Whether it has not ended."""
        return self._thread.is_alive()

    def client(self, **options):
        """Return a client that sends nothing by itself."""
        made = httpx2.Client(base_url=self.address, timeout=30, trust_env=False, **options)
        self._clients.append(made)
        return made

    def person(self, name, role="participant"):
        """Return a client that is signed in as a new person of this role."""
        with self.site.database.writing() as session:
            invitation = invite(session, self.site.now(), role)
        client = self.client()
        form = {"name": name, "password": f"password of {name}", "invitation": invitation}
        assert client.post("/register", data=form).status_code == 303
        return client

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
        """Return a client that is signed in as whoever began a run."""
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


class Here:
    """Does units in this process: another one takes seconds to start."""

    doing, number = "", None

    def __init__(self):
        self._do = TaskExecutor(30.0, 60.0).open()

    def do(self, unit, meanwhile, limit_s=None):
        meanwhile()
        return run_unit(self._do, unit)

    def end(self):
        pass
