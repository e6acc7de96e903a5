"""A standalone studio: only the printed link signs its person in."""

import re

import numpy as np
import pytest
from annotation_fixtures import picture
from PIL import Image
from sqlalchemy import select

from segarena_server.auth.access_keys import create_key
from segarena_server.db.orm_models import Person
from segarena_studio import commands
from segarena_studio.orm_models import Task
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


@pytest.mark.long
def test_the_printed_link_opens_it_for_its_person(alone):
    client = alone.served.client(follow_redirects=True)
    assert client.get("/studio").url.path == "/sign-in"
    page = client.get(alone.link)
    assert page.url.path == "/studio"
    assert "<h1>Studio</h1>" in page.text
    assert "Sign out" not in page.text


@pytest.mark.long
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


def test_the_viewer_tells_a_taken_port_in_a_line(alone, refused):
    port = alone.served.address.rpartition(":")[2]
    told = refused("look", "demo", "--port", port, "--no-browser")
    assert told.splitlines() == [
        f"error: cannot listen on port {port}: in use or not permitted; choose another --port"
    ]


def open_folder(monkeypatch, capsys, folder, **options):
    """Run `segarena studio` without serving; return the path that the printed link opens, and the output."""
    links = []

    def serve(server, welcome):
        welcome(8766)
        path = re.search(r"/studio/open\S+", capsys.readouterr().out)
        links.append(path[0])

    monkeypatch.setattr(commands.SiteServer, "run", serve)
    commands.studio(folder, port=0, browser=False, **options)
    return links[0].partition("&to=")[2]


def test_the_link_of_a_folder_without_pictures_opens_the_projects(tmp_path, monkeypatch, capsys):
    assert open_folder(monkeypatch, capsys, tmp_path) == "projects"


def test_the_link_of_a_folder_opens_its_pictures(tmp_path, monkeypatch, capsys):
    (tmp_path / "a.png").write_bytes(picture(1))
    assert open_folder(monkeypatch, capsys, tmp_path) == "projects/1"


@pytest.mark.parametrize("to", ["projects/1", "projects", "look"])
def test_the_link_leads_to_a_page_of_the_studio(alone, to):
    answer = alone.served.client().get(alone.link, params={"key": alone.key, "to": to})
    assert answer.headers["location"] == f"/studio/{to}"


@pytest.mark.parametrize("to", ["//evil.example", "../x", "a/b", "projects/1/2", "a.b", "%2f", "1"])
def test_the_link_leads_nowhere_else(alone, to):
    answer = alone.served.client().get(alone.link, params={"key": alone.key, "to": to})
    assert answer.headers["location"] == "/studio"


@pytest.mark.parametrize(("masks", "begun"), [(True, 1), (False, 0), (None, 0)])
def test_a_folder_with_masks_offers_them_as_a_start(tmp_path, monkeypatch, capsys, masks, begun):
    values = np.zeros((90, 120), np.uint8)
    values[10:60, 10:60] = 255
    for folder in ("images", "masks"):
        (tmp_path / folder).mkdir()
    (tmp_path / "images" / "a.png").write_bytes(picture(1))
    Image.fromarray(values).save(tmp_path / "masks" / "a.png")
    # Without a terminal nobody can answer a question, so the command names the option.
    monkeypatch.setattr(commands.SiteServer, "run", lambda server, welcome: None)
    commands.studio(tmp_path, port=0, browser=False, masks=masks)
    out = capsys.readouterr().out
    assert "1 picture, 1 new\n" in out
    assert ("start the drawings from them with --masks" in out) == (masks is None)
    assert ("1 drawing starts from masks" in out) == bool(begun)
    site, _ = open_standalone(tmp_path, 0)
    with site.database.reading() as session:
        assert [task.revision for task in session.scalars(select(Task))] == [begun]
    site.database.close()
