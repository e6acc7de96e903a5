"""A standalone studio: only the printed link signs its person in."""

import re

import pytest

from segarena_server.auth.keys import create_key
from segarena_server.db.orm_models import Person
from segarena_studio import commands
from segarena_studio.standalone import OWN, open_standalone


def key_of_another(site):
    """Return a session key of another person."""
    with site.database.writing() as session:
        person = Person(
            name="Eve", folded="eve", password="-", role="admin", state="confirmed", made_at=0.0
        )
        session.add(person)
        session.flush()
        return create_key(session, "session", site.now(), person_id=person.id)


def test_the_printed_link_opens_it_for_its_person(alone):
    client = alone.served.client(follow_redirects=True)
    assert client.get("/studio").url.path == "/sign-in"
    page = client.get(alone.link)
    assert page.url.path == "/studio"
    assert "<h1>Studio</h1>" in page.text
    assert "Sign out" not in page.text


def test_two_of_one_browser_side_by_side_log_nobody_out(alone, served):
    """A browser keeps cookies by the machine, not by the port."""
    browser = alone.served.client(follow_redirects=True)
    assert browser.get(alone.link).url.path == "/studio"
    other = served.person("Neighbour")
    browser.cookies.update(other.cookies)
    assert browser.get(f"{served.address}/studio").url.path == "/studio"
    assert browser.get("/studio").url.path == "/studio"


def test_no_other_key_opens_it(alone):
    for wrong in ("", "sas_", alone.key[:-1], key_of_another(alone.served.site)):
        assert alone.served.client().get("/studio/open", params={"key": wrong}).status_code == 404


def test_a_server_with_accounts_is_opened_by_nobody_so(served):
    answer = served.client().get("/studio/open", params={"key": key_of_another(served.site)})
    assert answer.status_code == 404


@pytest.mark.parametrize("starts", [2, 3])
def test_starting_again_takes_back_what_was_printed_and_makes_nobody_new(tmp_path, starts):
    keys = []
    for _ in range(starts):
        site, key = open_standalone(tmp_path, 0)
        keys.append(key)
        with site.database.reading() as session:
            people = session.query(Person).count()
        site.database.close()
    assert len(set(keys)) == starts
    assert people == 1
    assert [file.name for file in tmp_path.iterdir()] == [OWN]


def test_a_port_that_is_taken_is_told_in_a_line_before_anything_is_begun(alone, tmp_path, refused):
    port = alone.served.address.rpartition(":")[2]
    told = refused("studio", tmp_path, "--port", port, "--no-browser")
    assert told.splitlines() == [
        f"error: cannot listen on port {port}: in use or not permitted; choose another --port"
    ]
    assert list(tmp_path.iterdir()) == []


def test_the_link_of_a_folder_opens_its_projects(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(commands.SiteServer, "run", lambda self, welcome: welcome(8766))
    commands.studio(tmp_path, port=0, browser=False)
    (link,) = re.findall(r"http\S+", capsys.readouterr().out)
    assert link.endswith("&to=projects")
