"""Servers and pages in a browser for the tests of the studio."""

import pytest
from argon2 import PasswordHasher
from at_work import Served
from forked import workers_are_forked
from tables_once import tables_made_once
from warm_pages import WarmPages

from segarena_server.auth import passwords
from segarena_server.server_process import open_site
from segarena_server.settings import Settings
from segarena_studio.standalone import open_standalone


@pytest.fixture(autouse=True, scope="session")
def passwords_are_quick():
    """Make password hashing cheap; its cost is not tested here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            passwords, "_hasher", PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
        )
        yield


@pytest.fixture(autouse=True, scope="session")
def processes_are_forked():
    """Fork worker processes, so that they inherit imported modules."""
    with workers_are_forked():
        yield


@pytest.fixture(autouse=True, scope="session")
def tables_are_made_once(tmp_path_factory):
    """Create new databases as copies of one that has all tables."""
    with tables_made_once(tmp_path_factory.mktemp("tables")):
        yield


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server with accounts on a new data folder, for all tests of a module."""
    made = Served(
        open_site(tmp_path_factory.mktemp("served") / "data", Settings(port=0, workers=0))
    )
    yield made
    made.stop()


class StandaloneStudio:
    """A standalone studio, and the address with the key of its person."""

    def __init__(self, folder):
        site, self.key = open_standalone(folder, 0)
        self.served = Served(site)
        self.link = f"{self.served.address}/studio/open?key={self.key}"

    def cookies(self):
        """Return the cookies of the person for a browser, which thus need not open the first page."""
        client = self.client()
        return [
            {"name": name, "value": value, "url": self.served.address}
            for name, value in client.cookies.items()
        ]

    def client(self):
        """Return a client that was let in."""
        client = self.served.client(follow_redirects=True)
        assert client.get(self.link).status_code == 200
        return client


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A standalone studio for all tests of a module."""
    made = StandaloneStudio(tmp_path_factory.mktemp("pictures"))
    yield made
    made.served.stop()


@pytest.fixture(scope="module")
def warm_pages(browser):
    """Pages that no test uses, for all tests of a module."""
    return WarmPages(browser)


@pytest.fixture
def open_warm_page(warm_pages):
    """Open an address like `open_page`, in a page that earlier tests used; errors of the page fail the test too.

    `cookies` are set before. An error of the browser itself that has the text `expects` is no failure.
    """
    used = []
    complaints = []

    def opened(
        address, *, cookies=(), expects="", width=1400, height=900, scheme="light", **options
    ):
        def hear(told):
            is_wrong = told.type in ("error", "warning") and not (expects and expects in told.text)
            if is_wrong:
                complaints.append(told.text)

        def hear_error(error):
            complaints.append(str(error))

        page = warm_pages.take(**options)
        used.append((page, hear, hear_error))
        page.context.add_cookies(list(cookies))
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_default_timeout(60_000)
        page.on("console", hear)
        page.on("pageerror", hear_error)
        page.goto(address)
        return page

    yield opened
    for page, hear, hear_error in used:
        warm_pages.give_back(page)
        page.remove_listener("console", hear)
        page.remove_listener("pageerror", hear_error)
    assert complaints == []
