"""Every page in a browser, reached by links: for each role, narrow and wide, light and dark, by keyboard alone."""

import re
import time
import uuid
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import pytest
from sqlalchemy import select
from starlette.routing import Route

from segarena.client import participate
from segarena_server.app import ROUTERS
from segarena_server.auth.access_keys import create_key
from segarena_server.auth.accounts import invite
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase, read_challenge
from segarena_server.db.orm_models import Challenge as Row
from segarena_server.db.orm_models import Person, Submission
from segarena_server.demos.demo_site import DEMO_ROLES, DemoSite
from segarena_server.demos.demo_types import ChallengeDemo, DemoRun
from segarena_server.extensions.site_sections import site_sections
from segarena_server.jobs.job_queue import enqueue_job, find_job
from segarena_server.server_process import first_admin_link
from segarena_server.workers.kinds.challenge_preparation import (
    ChallengeJobRequest,
    PreviewChallenge,
)

NO_PAGES = {
    "/static/{name}": "a file",
    "/static/reports/{script:path}": "a file",
    "/static/{section}/{version}/{module:path}": "a file",
    "/challenges/{slug}/images/{image}": "a file",
    "/challenges/{slug}/{phase}": "leads to a section of the challenge's page",
    "/oidc": "leads elsewhere",
    "/oidc/back": "leads back",
    "/sign-in/code": "the second step of a sign-in, looked at in test_second_factor.py",
}
"""Routes that are no pages, and why; whatever else is asked for by GET can be reached by links."""

LETTERS = ("reset", "address")
"""Pages that letters link to, with a key."""

ROUTES = [
    route
    for router in ROUTERS
    for route in router.routes
    if isinstance(route, Route) and "GET" in route.methods and not route.path.startswith("/api/")
]
ROOMS = [[name] for name in site_sections()]
"""What is there of other packages has tests of its own."""

TEXT = "Find them.\n\n# Data\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n# Rules\n\n```\nlong\n```"

PERSONS = {"nobody": "", **{name.lower(): name for name in DEMO_ROLES}, "ada": "Ada"}
SIZES = ((1400, "light"), (390, "dark"), (390, "light"), (1400, "dark"))


@pytest.fixture(scope="module")
def working_alone(serve):
    """A server on which the demo site is created."""
    return serve()


@pytest.fixture(scope="module")
def starting(serve):
    """A new server without data."""
    return serve()


@pytest.fixture(scope="module")
def shown(tmp_path_factory, working_alone):
    """A site with the data of the demo."""
    served = working_alone
    now = datetime.now(UTC)
    phase = Phase(
        name="test",
        closes=now + timedelta(days=2),
        samples_per_run=1,
        shows="board",
        runs_at_once=3,
    )
    later = Phase(name="later", opens=now + timedelta(days=2), shows="own")
    described = ChallengeDescription(
        practice_may_reveal_test=True, slug="squares", title="Squares", text=TEXT,
        benchmark="clicks(rounds=2)",
        dataset="sample-squares(count=2)", phases=(phase, later, Phase(name="own", kind="practice", takes=("run",))),
    )  # fmt: skip
    held = {"participant": "Ada", "phase": "test", "days_ago": 0.5}
    runs = (
        DemoRun(name="one", segmenter="watershed", **held),
        DemoRun(name="left", segmenter="watershed", samples=0, **held),
    )
    demo = ChallengeDemo(
        name="squares", command="", summary="squares", describe=lambda now: described, runs=runs
    )
    demonstration = DemoSite(served.site, [demo], now)
    demonstration.set_up(lambda _: None)
    demonstration.take_part(served.address, tmp_path_factory.mktemp("participants"), lambda _: None)
    return demonstration


class Links(HTMLParser):
    """Return the addresses on this site to which a page links."""

    def __init__(self, place, text):
        super().__init__()
        self.found, self._place = [], place
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        to = dict(attributes).get("href") if tag == "a" else None
        is_ours = to and not urlsplit(to).netloc and to.split("/")[1:2] not in ROOMS
        if is_ours:
            self.found.append(urljoin(self._place, to).partition("#")[0])


def sign_in(served, demonstration, name):
    client = served.client()
    if name:
        form = {"name": name, "password": demonstration.password}
        assert client.post("/sign-in", data=form).status_code == 303
    return client


def pages_of(client, letters=(), mains=None):
    """Return the pages reachable by links from the first one and from e-mails: one address for each route.

    What is in `<main>` there is put into `mains`, by address.
    """
    waiting = ["/", *letters]
    seen, pages = set(waiting), {}
    while waiting:
        place = waiting.pop(0)
        answer = client.get(place)
        assert answer.status_code == 200, place
        route = route_of(place)
        if not answer.headers["content-type"].startswith("text/html"):
            pages[route.path] = None
            continue
        if pages.setdefault(route.path, place) == place and mains is not None:
            mains[place] = re.sub(r'value="[0-9a-f]{64}"', "", answer.text.partition("<main")[2])
        fresh = set(Links(place, answer.text).found) - seen
        seen |= fresh
        waiting += sorted(fresh)
    return pages


def route_of(place):
    return next(route for route in ROUTES if route.path_regex.match(place.partition("?")[0]))


@pytest.fixture(scope="module")
def maps(looked):
    """The pages that each person reaches by links, one address for each route."""
    return looked[0]


@pytest.fixture(scope="module")
def fresh(looked):
    """The first page of each person, and those other pages that differ from the pages of earlier persons."""
    seen, fresh = set(), {}
    for person, mains in looked[1].items():
        fresh[person] = [place for place, main in mains.items() if place == "/" or main not in seen]
        seen |= set(mains.values())
    return fresh


@pytest.fixture(scope="module")
def looked(working_alone, shown):
    """The pages that each person reaches by links, and the e-mails that visitors without an account receive."""
    site = working_alone.site
    with site.database.writing() as session:
        ada = session.scalars(select(Person).where(Person.name == "Ada")).one().id
        keys = {
            kind: create_key(session, kind, site.now(), person_id=ada, label="ada@x.org")
            for kind in LETTERS
        }
        challenge = session.scalars(select(Row).where(Row.slug == "squares")).one()
        session.add(_refused(challenge.id, ada, site.now(), site.folder.sent.keep(b"no run")))
        told = ChallengeJobRequest(read_challenge(challenge.description), {}, "").text()
        enqueue_job(session, PreviewChallenge.name, "a draft", site.now(), told)
    _wait_for_draft(site)
    letters = {"nobody": [f"/{kind}?link={text}" for kind, text in keys.items()]}
    found = {person: sign_in(working_alone, shown, name) for person, name in PERSONS.items()}
    mains = {person: {} for person in PERSONS}
    pages = {
        person: pages_of(client, letters.get(person, ()), mains[person])
        for person, client in found.items()
    }
    return pages, mains


def _wait_for_draft(site):
    """Wait until no job is pending, because the page would otherwise reload during the test."""
    site.hurry()
    for _ in range(1200):
        with site.database.reading() as session:
            if find_job(session, PreviewChallenge.name, "a draft").state == "done":
                return
        time.sleep(0.05)
    raise AssertionError("the draft was not looked at")


def _refused(challenge_id, person_id, now, kept):
    """A submission with errors."""
    about = {
        "challenge_id": challenge_id,
        "phase": "own",
        "person_id": person_id,
        "kind": "run",
        "sent_at": now,
    }
    content = {"sha256": kept, "bytes": 6, "name": "mine", "segmenter": "", "note": ""}
    return Submission(
        id=str(uuid.uuid4()),
        state="refused",
        told='["the run is not finished"]',
        **about,
        **content,
    )


@pytest.mark.long
def test_links_lead_to_every_page(maps):
    met = {path for pages in maps.values() for path in pages}
    assert met | set(NO_PAGES) == {route.path for route in ROUTES}


@pytest.mark.parametrize(
    "sizes", [SIZES[:2], pytest.param(SIZES[2:], marks=pytest.mark.long)], ids=["usual", "others"]
)
@pytest.mark.parametrize(
    "person",
    # Organisers and admins have most of the pages.
    [
        pytest.param(person, marks=pytest.mark.long) if person in ("olga", "ada") else person
        for person in PERSONS
    ],
)
def test_every_page_is_whole_for_everybody(
    person, sizes, fresh, working_alone, shown, open_page, barriers, page_widths
):
    cookies = sign_in(working_alone, shown, PERSONS[person]).cookies
    page = open_page(working_alone.address)
    for name, value in cookies.items():
        page.context.add_cookies([{"name": name, "value": value, "url": working_alone.address}])
    for place in fresh[person]:
        page.set_viewport_size({"width": 1400, "height": 900})
        page.emulate_media(color_scheme="light")
        page.goto(f"{working_alone.address}{place}")
        assert page.locator("h1").count() == 1, place
        assert page.locator("main").count() == 1, place
        for width, scheme in sizes:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            assert max(page_widths(page).values()) <= width, (place, width)
            assert barriers(page) == {}, (place, width, scheme)
        assert unreached(page) == [], place


# Of radio buttons and tabs, the tab key comes to the selected one; arrow keys lead to the others.
REACHABLE = """() => [...document.querySelectorAll('a[href], button, input, select, textarea, summary')].filter(
  (one) => one.type !== 'hidden' && !one.disabled && one.checkVisibility({visibilityProperty: true})
    && !(one.type === 'radio' && !one.checked) && !(one.role === 'tab' && one.ariaSelected === 'false')
).map((one, number) => { one.dataset.number = number; return one.outerHTML; })"""
# Noted within the page: to ask it after each key would take as long as all keys.
WATCH = """() => {
  window.met = [];
  document.addEventListener('focusin', ({target}) => {
    const style = getComputedStyle(target);
    const isShown = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
    window.met.push([target.dataset.number ?? '', isShown]);
  });
}"""
MET = "() => [document.activeElement === document.body, window.met]"
NAME = """() => {
  const one = document.activeElement;
  return one.ariaLabel || one.labels?.[0]?.innerText || one.innerText;
}"""


def unreached(page):
    """Return the elements that the tab key does not reach, and those without a visible focus."""
    page.evaluate("document.activeElement.blur()")
    there = page.evaluate(REACHABLE)
    page.evaluate(WATCH)
    for _ in there:
        page.keyboard.press("Tab")
    # Places that only scroll are reached too, so that there may be more of them.
    for _ in range(len(there) + 20):
        page.keyboard.press("Tab")
        is_body, met = page.evaluate(MET)
        if is_body:
            break
    seen = {number for number, _ in met}
    unseen = {number for number, is_shown in met if not is_shown}
    return [
        html[:200]
        for number, html in enumerate(there)
        if str(number) not in seen or str(number) in unseen
    ]


def go_to(page, what, most=80):
    """Press the tab key until the element with this name has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        name = page.evaluate(NAME)
        if re.match(what, name or "", re.IGNORECASE):
            return
    raise AssertionError(f"the tab key does not come to {what}")


def press(page, what):
    """Go to a link or button and press it."""
    go_to(page, what)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def fill(page, what, text):
    go_to(page, what)
    page.keyboard.insert_text(text)


@pytest.mark.long
def test_organising_by_keyboard_alone(serve, open_page):
    """From the link of the first start to a confirmed account."""
    starting = serve()
    link = first_admin_link(starting.site).replace(starting.site.settings.address, starting.address)
    page = open_page(link, width=390)
    register_there(page, "Olga")
    assert "What to do next" in page.text_content("main")
    press(page, "on a page")
    fill(page, "Title", "Made here")
    fill(page, "Short name", "made-here")
    fill(page, "Benchmark", "clicks(rounds=2)")
    fill(page, "Dataset", "sample-squares(count=2)")
    press(page, "Preview")
    page.get_by_role("button", name="Create the challenge").wait_for(timeout=60_000)
    press(page, "Create the challenge")
    page.get_by_role("link", name="Its page").wait_for(timeout=60_000)
    press(page, "Its page")
    assert page.text_content("h1") == "Made here"
    press(page, "Organise")
    fill(page, "For", "a colleague")
    press(page, "Create a link")
    assert "/register?invitation=" in page.text_content("pre.copy")
    visitor = open_page(f"{starting.address}/register")
    register_there(visitor, "Ada")
    assert "is waiting for an organiser" in visitor.text_content("main")
    page.goto(starting.address)
    press(page, "1 account waits")
    press(page, "Confirm Ada")
    press(visitor, "sign in")
    fill(visitor, "Name", "Ada")
    fill(visitor, "Password", "a long password")
    press(visitor, "Sign in$")
    assert visitor.text_content(".account .name") == "Ada"


def test_taking_part_by_keyboard_alone(starting, open_page, tmp_path):
    """From an invitation to the board."""
    phase = Phase(name="test", samples_per_run=1, shows="board")
    described = ChallengeDescription(
        practice_may_reveal_test=True,
        slug="squares",
        title="Squares",
        benchmark="clicks(rounds=2)",
        dataset="sample-squares(count=2)",
        phases=(phase,),
    )
    make_challenge(starting.site, described, lambda *_: None)
    with starting.site.database.writing() as session:
        invitation = invite(session, starting.site.now(), "participant")
    page = open_page(
        f"{starting.address}/register?invitation={invitation}", width=390, scheme="dark"
    )
    register_there(page, "Ben")
    press(page, "Tokens")
    fill(page, "For", "this machine")
    press(page, "Create a token")
    token = page.text_content("pre.secret").split()[0].removesuffix("Copy")
    challenge = f"{starting.address}/challenges/squares"
    participate.evaluate(
        challenge,
        segmenter="watershed",
        out=tmp_path / "mine",
        token=token,
        cache=tmp_path / "cache",
    )
    participate.read_scores(tmp_path / "mine", token=token)
    press(page, "My runs")
    press(page, "mine")
    assert page.text_content("h1") == "mine"
    assert "over" in page.text_content(".state-line")
    press(page, "squares")
    press(page, "Board of test")
    assert "Ben" in page.text_content("main")


@pytest.mark.long
def test_times_are_those_of_the_visitor_s_zone(starting, open_page):
    """In India it is half past five when it is noon in UTC."""
    page = open_page(f"{starting.address}/sign-in", timezone_id="Asia/Kolkata")
    assert "Asia/Calcutta" in page.text_content("footer") or "Asia/Kolkata" in page.text_content(
        "footer"
    )


@pytest.mark.long
def test_pages_are_whole_without_scripts(working_alone, shown, maps, open_page):
    cookies = sign_in(working_alone, shown, "Ada").cookies
    page = open_page(working_alone.address, java_script_enabled=False)
    for name, value in cookies.items():
        page.context.add_cookies([{"name": name, "value": value, "url": working_alone.address}])
    page.goto(f"{working_alone.address}{maps['ada']['/runs/{run_id}']}")
    assert re.search(r"\d\d:\d\d UTC", page.inner_text("main"))


def register_there(page, name):
    fill(page, "Name", name)
    fill(page, "Password", "a long password")
    press(page, "Create account")
