"""The page of a visitor's own team."""

import re

import pytest
from sqlalchemy import select

from segarena_server.db.orm_models import AuditEvent


def form_key(client):
    return re.search(r'name="key" value="([0-9a-f]{64})"', client.get("/").text)[1]


def post(client, place, **fields):
    return client.post(place, data={"key": form_key(client), **fields})


def invitation(client):
    return re.search(r"/team\?invitation=(sam_[\w-]+)", post(client, "/team/invitations").text)[1]


@pytest.fixture(scope="module")
def served(on_both):
    return on_both


@pytest.fixture(scope="module")
def people(served):
    return {name: served.person(name) for name in ("Ada", "Bela", "Caro")}


@pytest.mark.long
def test_a_team_is_made_joined_by_a_link_and_left(served, people):
    ada, bela, caro = people.values()
    assert "You take part on your own" in ada.get("/team").text
    assert post(ada, "/team", name="The <Owls>").status_code == 422
    assert post(ada, "/team", name="Night Owls").headers["location"] == "/team"
    text = invitation(ada)
    assert text not in ada.get("/team").text
    shown = bela.get("/team", params={"invitation": text}).text
    assert "Join Night Owls" in shown
    assert post(bela, "/team/join", invitation=text).status_code == 303
    assert "Bela" in ada.get("/team").text
    assert "is invalid or has expired" in caro.get("/team", params={"invitation": text}).text
    assert post(caro, "/team/join", invitation=text).status_code == 422
    assert post(bela, "/team/leave").status_code == 303
    assert "Bela" not in re.search(r'id="members".*?</ul>', ada.get("/team").text, re.DOTALL)[0]
    with served.site.database.reading() as session:
        events = session.scalars(
            select(AuditEvent).where(AuditEvent.action.startswith("team")).order_by(AuditEvent.id)
        )
        told = [(event.action, event.about) for event in events]
    assert [action for action, _ in told] == [
        "team made",
        "team invitation made",
        "team joined",
        "team left",
    ]
    assert len({about for _, about in told}) == 1
    assert not re.search("Owls|Ada|Bela|sam_", " ".join(about for _, about in told))


@pytest.mark.parametrize("name", ["Caro", "caro", "ADA"])
def test_nobody_makes_a_team_with_the_name_of_a_person(people, name):
    answer = post(people["Bela"], "/team", name=name)
    assert answer.status_code == 422
    assert "taken" in answer.text


def test_nobody_is_invited_to_a_team_of_one(people):
    assert post(people["Caro"], "/team/invitations").status_code == 422
    assert post(people["Caro"], "/team/leave").status_code == 422


@pytest.mark.parametrize("text", ["", "sam_", "sam_" + "x" * 43, "x" * 5000, "sam_\r\nx: y", "💥"])
def test_an_invitation_that_is_none_opens_nothing(people, text):
    assert people["Caro"].get("/team", params={"invitation": text}).status_code == 200
    assert post(people["Caro"], "/team/join", invitation=text).status_code == 422


def test_a_join_without_the_key_of_the_session_is_refused(people):
    assert people["Caro"].post("/team/join", data={"invitation": "x"}).status_code == 403
    assert people["Caro"].post("/team/leave", data={}).status_code == 403
