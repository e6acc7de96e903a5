"""A lead invites people by a list; accounts are added, and a link creates an account in the project."""

import html
import re

import pytest
from annotation_fixtures import cookies_of, project_of, someone

from segarena_server.auth.access_keys import LIFETIME_S
from segarena_server.db.orm_models import AccessKey
from segarena_studio.annotation.projects import list_members, remove_member, set_member
from segarena_studio.orm_models import Project


def key_of(client):
    return re.search(r'name="key" value="([0-9a-f]{64})"', client.get("/studio").text)[1]


@pytest.fixture(scope="module")
def lead(served):
    return served.person("Lea", "organiser")


@pytest.fixture
def project(served, lead):
    return project_of(served.site, someone(served.site, "Lea"))


def invite(client, project, people, role="annotator"):
    form = {"key": key_of(client), "people": people, "role": role}
    return client.post(f"/studio/projects/{project}/invite", data=form)


def links_in(served, page):
    """Return the paths of the invitation links on a page."""
    found = re.findall(r'<pre class="copy"[^>]*>(.*?)</pre>', page)
    return [html.unescape(link).removeprefix(served.address) for link in found]


def roles(served, project):
    with served.site.database.reading() as session:
        members = list_members(session, session.get_one(Project, project))
        return {person.name: role for person, role in members}


@pytest.mark.long
def test_accounts_in_a_list_are_added_and_what_cannot_be_used_stays_typed(served, lead, project):
    for name in ("Anna", "Bert"):
        served.person(f"{name} of list")
    page = invite(lead, project, "anna of list, Bert of list\r\n\r\nNobody;lea", "reviewer")
    assert page.status_code == 200
    assert "Anna of list, Bert of list added; Lea is already in the project." in page.text
    assert "1 entry could not be used" in page.text
    assert ">Nobody\n</textarea>" in page.text
    assert roles(served, project) == {
        "Lea": "lead",
        "Anna of list": "reviewer",
        "Bert of list": "reviewer",
    }


@pytest.mark.long
def test_a_link_creates_an_account_that_joins_the_project(served, lead, project):
    page = invite(lead, project, "new@example.org, wrong@@example.org").text
    assert "Only this machine can open these links." in page
    (link,) = links_in(served, page)
    assert "mailto:new%40example.org" in page
    assert "wrong@@example.org" in page.partition("could not be used")[2]
    visitor = served.client(follow_redirects=True)
    assert "You are invited to the project Street as an annotator." in visitor.get(link).text
    place = re.search(r'href="(/register\?invitation=[^"]+)"', visitor.get(link).text)[1]
    # Annotators appear on no board.
    assert "beside your work in projects" in visitor.get(place).text
    assert "You are invited" in visitor.get(place).text
    form = {"name": "New one", "password": "password of new", "invitation": link.partition("=")[2]}
    landed = visitor.post("/register", data=form)
    assert landed.url.path == "/studio/join"
    assert roles(served, project) == {"Lea": "lead"}
    joined = visitor.post("/studio/join", data={"key": key_of(visitor), "invitation": ""})
    assert joined.url.path == f"/studio/projects/{project}"
    assert roles(served, project)["New one"] == "annotator"
    # The link is used up, for everybody.
    assert served.client().get(link).status_code == 404
    assert "is invalid or has expired" in served.client().get(place).text
    assert visitor.get("/studio/join").status_code == 404
    # Nor does it let the person in again whom a lead has removed.
    person = someone(served.site, "New one")
    with served.site.database.writing() as session:
        remove_member(session, session.get_one(Project, project), person)
    answer = visitor.post("/studio/join", data={"key": key_of(visitor), "invitation": ""})
    assert answer.status_code == 404


def test_somebody_with_an_account_joins_by_the_link(served, lead, project):
    (link,) = links_in(served, invite(lead, project, "old@example.org", "reviewer").text)
    old = served.person("Old account")
    assert "Join as Old account" in old.get(link).text
    form = {"key": key_of(old), "invitation": link.partition("=")[2]}
    without_key = old.post("/studio/join", data={**form, "key": ""})
    assert without_key.status_code == 403
    assert old.post("/studio/join", data=form).status_code == 303
    assert roles(served, project)["Old account"] == "reviewer"
    second = served.person("Second account")
    form["key"] = key_of(second)
    assert second.post("/studio/join", data=form).status_code == 404


def test_an_invitation_expires_and_ends_with_its_project(served, lead, project, monkeypatch):
    first, second = links_in(served, invite(lead, project, "a@example.org\nb@example.org").text)
    assert served.client().get(first).status_code == 200
    with served.site.database.writing() as session:
        for key in session.query(AccessKey).filter(
            AccessKey.label.startswith(f"project:{project}:")
        ):
            assert key.ends_at - key.made_at == LIFETIME_S["invitation"]
            if key.id % 2:
                key.ends_at = 1.0
    assert sorted(served.client().get(link).status_code for link in (first, second)) == [200, 404]
    with served.site.database.writing() as session:
        session.delete(session.get_one(Project, project))
    assert {served.client().get(link).status_code for link in (first, second)} == {404}


def test_a_lead_who_is_no_organiser_invites_accounts_only(served, lead, project):
    plain = served.person("Plain lead")
    with served.site.database.writing() as session:
        set_member(session, session.get_one(Project, project), "Plain lead", "lead", 0.0)
    served.person("Guest of plain")
    refused = invite(plain, project, "new@example.org")
    assert refused.status_code == 422
    assert "only organisers of the server" in refused.text
    assert "e-mail addresses, one per line" not in refused.text
    page = invite(plain, project, "new@example.org\nGuest of plain").text
    assert links_in(served, page) == []
    assert roles(served, project)["Guest of plain"] == "annotator"


def test_other_invitations_are_none_to_a_project(served, lead, project):
    # Organisers choose the labels of the server's invitations, and may belong to no project.
    stranger = served.person("Stranger", "organiser")
    form = {"key": key_of(stranger), "role": "participant"}
    for label in (f"project:{project}:lead", f"project:{project}:lead:{'0' * 32}"):
        page = stranger.post("/organise/invitations", data={**form, "label": label}).text
        text = re.search(r"invitation=(sai_[\w-]+)", page)[1]
        place = f"/studio/join?invitation={text}"
        assert served.client().get(place).status_code == 404
        joining = {"key": key_of(stranger), "invitation": text}
        assert stranger.post("/studio/join", data=joining).status_code == 404
    for wrong in ("sai_", "x" * 5000, "sas_abc", "%00"):
        assert served.client().get("/studio/join", params={"invitation": wrong}).status_code == 404


@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_pages_of_invitations_bar_nobody(
    served, lead, project, open_warm_page, barriers, page_widths, width, scheme
):
    address = f"{served.address}/studio/projects/{project}/settings"
    cookies = cookies_of(served, someone(served.site, "Lea"))
    page = open_warm_page(address, cookies=cookies, width=width, scheme=scheme)
    page.get_by_label("Invite people").fill("someone@example.org\nNobody")
    page.get_by_role("button", name="Invite").click()
    page.get_by_role("link", name="Write to someone@example.org").wait_for()
    assert not barriers(page)
    assert max(page_widths(page).values()) <= width
    link = page.locator("pre.copy").evaluate("one => one.firstChild.textContent")
    path = link.removeprefix(served.address)
    page.goto(f"{served.address}{path}")
    page.get_by_role("button", name="Join as Lea").wait_for()
    assert not barriers(page)
    page.context.clear_cookies()
    page.goto(f"{served.address}{path}")
    page.get_by_role("link", name="Create an account").wait_for()
    assert not barriers(page)
    assert max(page_widths(page).values()) <= width
