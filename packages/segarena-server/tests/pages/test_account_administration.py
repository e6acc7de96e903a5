"""The list of people: search, filters, pages, and the confirmation of several accounts at once."""

import re

import pytest
from sqlalchemy import func, select, update

from segarena_server.auth.account_list import ACCOUNTS_PER_PAGE
from segarena_server.auth.teams import make_team
from segarena_server.db.orm_models import AuditEvent, Person

WAITING = 60


@pytest.fixture(scope="module")
def served(on_both):
    """A server with 63 participants and two organisers."""
    with on_both.site.database.writing() as session:
        for number in range(WAITING):
            session.add(account(f"Newcomer {number:02}", "waiting"))
        session.add(account("Zoë Ärger", "confirmed", email="Zoe@Lab.example.org"))
        session.add(account("Under_score", "closed", contact="room 100%"))
        member = account("Member", "confirmed")
        session.add(member)
        session.flush()
        make_team(session, member, "The Snakes", on_both.site.now())
        session.add(account("Boss", "waiting", role="organiser"))
    return on_both


@pytest.fixture
def newcomers_wait(served):
    """Let all newcomers wait, whom other tests have confirmed."""
    newcomers = Person.name.startswith("Newcomer ")
    with served.site.database.writing() as session:
        session.execute(update(Person).where(newcomers).values(state="waiting"))


@pytest.fixture(scope="module")
def organiser(served):
    return served.person("Olga", "organiser")


def account(name, state, role="participant", **values):
    return Person(
        name=name,
        folded=name.casefold(),
        password="-",
        role=role,
        state=state,
        made_at=1.0,
        **values,
    )


def names(page):
    return re.findall(r'<td class="who"><b>([^<]+)</b>', page.text)


def key_of(client):
    return re.search(r'name="key" value="([0-9a-f]{64})"', client.get("/organise").text)[1]


def numbers(served, *wanted):
    with served.site.database.reading() as session:
        return [
            session.scalars(select(Person.id).where(Person.name == name)).one() for name in wanted
        ]


def states(served, *wanted):
    with served.site.database.reading() as session:
        return [
            session.scalars(select(Person.state).where(Person.name == name)).one()
            for name in wanted
        ]


def confirm(client, *chosen, key=None, **fields):
    boxes = {f"person-{number}": "on" for number in chosen}
    form = {"key": key or key_of(client), **boxes, **fields}
    return client.post("/organise/people/confirm", data=form)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("zoë", ["Zoë Ärger"]),
        ("ÄRGER", ["Zoë Ärger"]),
        ("zoe@lab", ["Zoë Ärger"]),
        ("snakes", ["Member"]),
        ("100%", ["Under_score"]),
        ("under_", ["Under_score"]),
        ("newcomer 07", ["Newcomer 07"]),
        ("nobody of this name", []),
        ("'; DROP TABLE people; --", []),
    ],
)
def test_search_finds_names_addresses_contacts_and_teams(organiser, text, expected):
    assert names(organiser.get("/organise/people", params={"q": text})) == expected


def test_wildcards_of_the_database_are_plain_characters(organiser):
    assert names(organiser.get("/organise/people", params={"q": "%"})) == ["Under_score"]
    assert names(organiser.get("/organise/people", params={"q": "_"})) == ["Under_score"]


def test_pages_list_everybody_once_waiting_ones_first(organiser, served, newcomers_wait):
    first = organiser.get("/organise/people")
    second = organiser.get("/organise/people?page=2")
    assert len(names(first)) == ACCOUNTS_PER_PAGE
    listed = names(first) + names(second)
    with served.site.database.reading() as session:
        is_listed = Person.state != "deleted"
        assert len(listed) == session.scalar(select(func.count(Person.id)).where(is_listed))
    assert len(set(listed)) == len(listed)
    assert {"Newcomer 00", "Boss"} <= set(listed[: WAITING + 1])
    assert listed[-1] == "Under_score"


@pytest.mark.parametrize("page", ["0", "-1", "99999999999", "x", "٣", ""])
def test_impossible_pages_show_a_page_that_exists(organiser, page):
    answer = organiser.get("/organise/people", params={"page": page})
    assert answer.status_code == 200
    assert names(answer)


def test_filters_by_state_and_role_combine_and_stay_on_other_pages(organiser, newcomers_wait):
    waiting = organiser.get("/organise/people?state=waiting&role=participant")
    assert len(names(waiting)) == ACCOUNTS_PER_PAGE
    assert "Boss" not in names(waiting)
    onward = re.search(r'href="([^"]+)" rel="next"', waiting.text)[1].replace("&amp;", "&")
    assert onward == "/organise/people?state=waiting&role=participant&page=2"
    assert set(names(organiser.get(onward))) == {f"Newcomer {number}" for number in range(50, 60)}
    assert names(organiser.get("/organise/people?state=closed")) == ["Under_score"]
    assert "Boss" in names(organiser.get("/organise/people?role=organiser"))


def test_deleted_accounts_are_not_listed(organiser, served):
    with served.site.database.writing() as session:
        session.add(account("(deleted 0)", "deleted"))
    assert names(organiser.get("/organise/people?q=deleted")) == []


def test_several_accounts_are_confirmed_in_one_step(organiser, served):
    chosen = numbers(served, "Newcomer 01", "Newcomer 02")
    answer = confirm(organiser, *chosen, list="q=newcomer&state=waiting")
    assert answer.headers["location"] == "/organise/people?q=newcomer&state=waiting&confirmed=2"
    assert states(served, "Newcomer 01", "Newcomer 02", "Newcomer 03") == [
        "confirmed",
        "confirmed",
        "waiting",
    ]
    assert "2 accounts confirmed" in organiser.get(answer.headers["location"]).text
    with served.site.database.reading() as session:
        about = set(session.scalars(select(AuditEvent.about)))
    assert {f"account {number}: confirmed, participant" for number in chosen} <= about


@pytest.mark.long
def test_a_whole_page_fits_into_one_form(organiser, served):
    chosen = numbers(served, *(f"Newcomer {number}" for number in range(10, 60)))
    assert len(chosen) == ACCOUNTS_PER_PAGE
    assert confirm(organiser, *chosen).headers["location"].endswith("confirmed=50")


def test_accounts_that_do_not_wait_stay_as_they_are(organiser, served):
    (closed,) = numbers(served, "Under_score")
    assert confirm(organiser, closed).headers["location"] == "/organise/people?confirmed=0"
    assert states(served, "Under_score") == ["closed"]
    assert confirm(organiser).headers["location"] == "/organise/people?confirmed=0"


def test_an_account_that_only_admins_may_confirm_refuses_the_whole_form(organiser, served):
    chosen = numbers(served, "Newcomer 04", "Boss")
    assert confirm(organiser, *chosen).status_code == 403
    assert states(served, "Newcomer 04", "Boss") == ["waiting", "waiting"]


@pytest.mark.long
def test_unknown_accounts_and_names_are_refused(organiser):
    assert confirm(organiser, 999_999_999).status_code == 404
    for number in ("x", "-1", "1" * 30, "1.0", "²"):
        assert confirm(organiser, number).status_code == 422


def test_participants_and_other_sites_confirm_nobody(organiser, served):
    (waiting,) = numbers(served, "Newcomer 05")
    participant = served.person("Sly")
    own = re.search(r'name="key" value="([0-9a-f]{64})"', participant.get("/account").text)[1]
    assert confirm(participant, waiting, key=own).status_code == 404
    assert confirm(organiser, waiting, key="0" * 64).status_code == 403
    assert states(served, "Newcomer 05") == ["waiting"]


def test_a_form_leads_back_to_the_list_and_nowhere_else(organiser, served):
    (one,) = numbers(served, "Newcomer 06")
    form = {"key": key_of(organiser), "state": "confirmed"}
    for given, expected in (
        ("q=a+b&page=2", "/organise/people?q=a+b&page=2"),
        ("https://evil.example/", "/organise/people"),
        ("//evil.example\r\nset-cookie: x=1", "/organise/people"),
        ("q=%0d%0aset-cookie:x", "/organise/people?q=set-cookie%3Ax"),
    ):
        answer = organiser.post(f"/organise/people/{one}", data={**form, "list": given})
        assert answer.status_code == 303
        assert answer.headers["location"] == expected


@pytest.mark.long
def test_many_people_by_keyboard_alone_on_a_phone(
    served, organiser, open_page, page_widths, barriers
):
    page = open_page(served.address, width=390)
    for name, value in organiser.cookies.items():
        page.context.add_cookies([{"name": name, "value": value, "url": served.address}])
    page.goto(f"{served.address}/organise/people")
    assert page.locator(".people tbody tr").count() == ACCOUNTS_PER_PAGE
    assert max(page_widths(page).values()) <= 390
    assert barriers(page) == {}
    assert page.evaluate("document.documentElement.scrollHeight") < 6000
    tab_to(page, "Select Newcomer 08")
    page.keyboard.press("Space")
    tab_to(page, "Confirm selected", back=True)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert "1 account confirmed" in page.text_content("main")
    assert states(served, "Newcomer 08") == ["confirmed"]


@pytest.mark.long
def test_selecting_and_confirming_work_without_scripts(served, organiser, open_page):
    page = open_page(served.address, java_script_enabled=False)
    for name, value in organiser.cookies.items():
        page.context.add_cookies([{"name": name, "value": value, "url": served.address}])
    page.goto(f"{served.address}/organise/people?state=waiting")
    page.get_by_label("Select Newcomer 09").check()
    page.get_by_role("button", name="Confirm selected").click()
    assert "1 account confirmed" in page.text_content("main")
    assert states(served, "Newcomer 09") == ["confirmed"]


def tab_to(page, name, back=False):
    label = "document.activeElement.ariaLabel || document.activeElement.innerText"
    for _ in range(150):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        if page.evaluate(label) == name:
            return
    raise AssertionError(f"the tab key does not come to {name}")
