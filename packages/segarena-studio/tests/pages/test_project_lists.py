"""Pages that lead people to their work: landing after signing in, returned pictures, lists, live parts."""

import base64
import re

import pytest
from annotation_fixtures import (
    box,
    cookies_of,
    give_task,
    picture,
    project_of,
    save_of,
    scene,
    someone,
    tasks_of,
)

from segarena_studio.orm_models import STATES, Comment, Decision, Task

FINISHABLE = scene(box(10, 10, 60, 60), box(50, 20, 110, 80), names=("dog", "cat"))


@pytest.fixture(scope="module")
def lead(served):
    return someone(served.site, "Lea", "organiser")


@pytest.fixture
def annotator(served, request):
    """The name of an annotator of this test alone, and a client that is signed in."""
    name = f"Anna {re.sub('[^0-9a-z]', '', request.node.name)[-24:]}"
    return name, served.person(name)


@pytest.fixture
def come(served, open_warm_page):
    """Open a page as a person."""

    def opened(person, place, **options):
        cookies = cookies_of(served, person)
        return open_warm_page(f"{served.address}{place}", cookies=cookies, **options)

    return opened


def return_task(served, task, by, *, reason="Look at the tail.", comments=1):
    with served.site.database.writing() as session:
        session.get_one(Task, task).state = "returned"
        session.add(
            Decision(
                task_id=task, person_id=by, kind="returned", revision=0, text=reason, made_at=1.0
            )
        )
        for number in range(comments):
            text = f"Comment <{number}>"
            session.add(Comment(task_id=task, person_id=by, revision=0, text=text, made_at=1.0))


def sign_in(served, name):
    form = {"name": name, "password": f"password of {name}"}
    return served.client().post("/sign-in", data=form).headers["location"]


@pytest.mark.long
def test_people_land_on_their_work_after_signing_in(served, lead, annotator):
    name, client = annotator
    assert sign_in(served, name) == "/"
    project = project_of(served.site, lead, {name: "annotator"})
    assert sign_in(served, name) == f"/studio/projects/{project}"
    # Whoever is signed in already gets there too.
    assert client.get("/sign-in").headers["location"] == f"/studio/projects/{project}"
    project_of(served.site, lead, {name: "annotator"})
    assert sign_in(served, name) == "/studio/projects"


@pytest.mark.long
def test_returned_pictures_are_announced_on_pages_and_in_the_navigation(served, lead, annotator):
    name, client = annotator
    project = project_of(served.site, lead, {name: "annotator"}, name="Cats", pictures=2)
    tasks = [
        give_task(served.site, task, someone(served.site, name))
        for task in tasks_of(served.site, project)
    ]
    places = ("/studio", "/studio/projects", f"/studio/projects/{project}")
    for place in ("/", *places):
        assert "returned to you" not in client.get(place).text.lower()
    for task in tasks:
        return_task(served, task, lead, comments=2)
    for place in ("/", *places):
        assert "2 pictures returned to you" in client.get(place).text
    for place in places:
        text = client.get(place).text
        assert f'<a href="/studio/tasks/{tasks[0]}">street-0.png</a>' in text
        assert "Look at the tail." in text
        assert "2 unresolved comments" in text
    assert "returned to you" not in served.client().get("/sign-in").text


@pytest.mark.long
def test_projects_are_shown_as_cards_or_a_table_by_what_is_searched(served, lead, annotator):
    name, client = annotator
    for number in range(26):
        project_of(served.site, lead, {name: "annotator"}, name=f"Street {number:02}", pictures=1)
    page = client.get("/studio/projects").text
    assert page.count("<h2><a") == 24
    assert "page 1 of 2" in page
    assert "26 projects" in page
    assert "1 to annotate" in page
    second = client.get("/studio/projects?page=2").text
    assert second.count("<h2><a") == 2
    table = client.get("/studio/projects?view=table&text=street+1").text
    assert table.count('<tr><td class="words">') == 10
    assert "view=table" in client.get("/studio/projects?view=table").text.partition("page=2")[0]
    assert "No project matches." in client.get("/studio/projects?state=closed").text
    for odd in ("page=0", "page=99999999999999999999", "role=x&state=y&view=z", "text=%00"):
        assert client.get(f"/studio/projects?{odd}").status_code in (200, 422)


def test_pictures_are_shown_as_a_table(served, lead, annotator):
    name, client = annotator
    project = project_of(served.site, lead, {name: "annotator"}, pictures=3, annotators=2)
    task = give_task(served.site, tasks_of(served.site, project)[0], someone(served.site, name))
    table = client.get(f"/studio/projects/{project}?view=table").text
    assert '<ul class="pictures">' not in table
    assert table.count("<tr><td>") == 1
    assert f'href="/studio/tasks/{task}"' in table
    assert client.get(f"/studio/projects/{project}?page={10**30}").status_code in (200, 422)


@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_filters_apply_at_once_and_the_table_bars_nobody(
    served, lead, annotator, come, barriers, page_widths, width, scheme
):
    name, _ = annotator
    project = project_of(served.site, lead, {name: "annotator"}, pictures=4)
    task = give_task(served.site, tasks_of(served.site, project)[1], someone(served.site, name))
    return_task(served, task, lead)
    page = come(lead, f"/studio/projects/{project}", width=width, scheme=scheme)
    assert not page.get_by_role("button", name="Show", exact=True).is_visible()
    assert page.locator(".pictures > li").count() == 4
    page.get_by_role("combobox", name="State").select_option("returned")
    page.locator(".pictures > li").nth(1).wait_for(state="detached")
    assert page.locator("output").inner_text() == "1 picture"
    page.get_by_role("combobox", name="View").select_option("table")
    page.locator("table.pictures-table").wait_for()
    assert "state=returned" in page.url
    assert "view=table" in page.url
    assert not barriers(page)
    assert max(page_widths(page).values()) <= width
    page.get_by_role("combobox", name="State").select_option("")
    page.locator("table.pictures-table tr").nth(4).wait_for()
    page.get_by_role("searchbox", name="Name").focus()
    page.keyboard.type("street-2")
    page.locator("table.pictures-table tr").nth(2).wait_for(state="detached")
    # The field keeps the focus, so that the reader can go on typing.
    assert page.evaluate("document.activeElement.name") == "text"
    page.goto(f"{served.address}/studio/projects?view=table")
    page.get_by_label("Your role").select_option("reviewer")
    page.get_by_text("No project matches.").wait_for()
    page.get_by_label("Your role").select_option("lead")
    page.locator("table tbody tr").first.wait_for()
    assert not barriers(page)
    assert max(page_widths(page).values()) <= width


@pytest.mark.long
def test_filters_have_a_button_without_javascript(served, lead, annotator, browser):
    name, _ = annotator
    project = project_of(served.site, lead, {name: "annotator"}, pictures=4)
    context = browser.new_context(java_script_enabled=False)
    context.add_cookies(cookies_of(served, lead))
    page = context.new_page()
    page.goto(f"{served.address}/studio/projects/{project}")
    page.get_by_role("searchbox", name="Name").fill("street-3")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**text=street-3**")
    assert page.locator(".pictures > li").count() == 1
    context.close()


@pytest.mark.long
def test_counts_follow_when_the_reader_comes_back(served, lead, annotator, come):
    name, _ = annotator
    project = project_of(served.site, lead, {name: "annotator"}, pictures=2)
    anna = someone(served.site, name)
    task = give_task(served.site, tasks_of(served.site, project)[0], anna)
    page = come(anna, f"/studio/projects/{project}")
    assert page.get_by_text("2 pictures for you").is_visible()
    return_task(served, task, lead)
    with served.site.database.writing() as session:
        other = tasks_of(served.site, project)[1].id
        session.delete(session.get_one(Task, other))
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.get_by_text("1 picture for you, 1 returned").wait_for()
    page.get_by_role("link", name="Studio 1 picture returned to you").wait_for()
    page.get_by_role("heading", name="Returned to you 1").wait_for()


@pytest.mark.long
def test_unresolved_comments_are_shown_before_finishing(served, lead, annotator, come, barriers):
    name, client = annotator
    project = project_of(served.site, lead, {name: "annotator"})
    anna = someone(served.site, name)
    task = give_task(served.site, tasks_of(served.site, project)[0], anna)
    key = re.search(r'name="key" value="([0-9a-f]{64})"', client.get("/studio").text)[1]
    headers = {"accept": "application/json", "x-form-key": key}
    saved = client.put(
        f"/studio/tasks/{task}/draft", json=save_of(0, drawn=FINISHABLE), headers=headers
    )
    assert saved.status_code == 200
    page = come(anna, f"/studio/tasks/{task}")
    page.locator("#scene[data-ready]").wait_for()
    page.locator("#finish").click()
    page.locator("#finishing[open]").wait_for()
    page.wait_for_timeout(300)
    assert not page.locator("#finish-comments").is_visible()
    page.keyboard.press("Escape")
    return_task(served, task, lead, comments=2)
    page.locator("#finish").click()
    page.get_by_role("heading", name="2 unresolved comments").wait_for()
    assert "Comment <1> Lea" in page.locator("#finish-comments").inner_text()
    assert not barriers(page)
    page.get_by_role("button", name="Go to the comments").click()
    assert not page.locator("#finishing").is_visible()
    page.reload()
    page.locator("#scene[data-ready]").wait_for()
    page.get_by_label("Resolved").first.check()
    page.locator("#finish").click()
    page.get_by_role("heading", name="1 unresolved comment", exact=True).wait_for()


@pytest.mark.long
def test_a_phone_shows_at_once_why_a_picture_was_returned(served, lead, annotator, come, barriers):
    name, _ = annotator
    project = project_of(served.site, lead, {name: "annotator"}, pictures=2)
    anna = someone(served.site, name)
    new, returned = (
        give_task(served.site, task, anna) for task in tasks_of(served.site, project)[:2]
    )
    return_task(served, returned, lead)
    page = come(anna, f"/studio/tasks/{new}", width=390)
    page.locator("#scene[data-ready]").wait_for()
    assert not page.locator("#side").is_visible()
    page.goto(f"{served.address}/studio/tasks/{returned}")
    page.get_by_text("Returned: Look at the tail.").wait_for()
    assert not barriers(page)
    page.locator("#picture").click(position={"x": 100, "y": 30})
    page.locator("#side").wait_for(state="hidden")


@pytest.mark.long
def test_the_table_of_people_fits_a_page_of_1400_pixels(served, lead, annotator, come, page_widths):
    name, _ = annotator
    others = [f"Somebody with a long name {number}" for number in range(3)]
    for other in others:
        someone(served.site, other)
    members = dict.fromkeys((name, *others), "annotator")
    project = project_of(served.site, lead, members, pictures=6, annotators=4)
    tasks = tasks_of(served.site, project)
    people = [someone(served.site, other) for other in members]
    for number, task in enumerate(tasks):
        give_task(served.site, task, people[number % 4])
        with served.site.database.writing() as session:
            row = session.get_one(Task, task.id)
            row.state = STATES[number // 4]
            row.regions, row.points = 1234, 98765
            row.annotation_ms = row.total_ms = row.active_ms = 5e7
    page = come(lead, f"/studio/projects/{project}/people")
    assert page.locator("table.work tbody tr").count() == 4
    widths = "one => [one.scrollWidth, one.clientWidth]"
    needed, given = page.locator(".scroll").evaluate(widths)
    assert needed <= given
    assert max(page_widths(page).values()) <= 1400
    states = page.locator("table.work tbody tr").first.locator(".state-counts li").all_inner_texts()
    assert states == [
        "1 approved",
        "1 in review",
        "1 finished",
        "1 returned",
        "1 in progress",
        "1 clean",
    ]
    page.get_by_label("Saved since").fill("2001-01-01")
    page.get_by_text("Nothing was saved in this period.").wait_for()
    assert "since=2001-01-01" in page.url


DROP = """(files) => {
  const transfer = new DataTransfer();
  for (const [name, text] of files) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    transfer.items.add(new File([bytes], name));
  }
  const target = document.querySelector("h1");
  for (const kind of ["dragover", "drop"]) {
    const options = { dataTransfer: transfer, bubbles: true, cancelable: true };
    if (target.dispatchEvent(new DragEvent(kind, options))) throw new Error(`${kind} was not taken`);
  }
}"""


@pytest.mark.long
@pytest.mark.parametrize("place", ["", "/settings"])
def test_files_dropped_anywhere_on_the_page_are_uploaded(served, lead, come, place):
    project = project_of(served.site, lead, pictures=0)
    page = come(lead, f"/studio/projects/{project}{place}")
    one = base64.b64encode(picture(1)).decode()
    files = [("a.png", one), ("b.png", one), ("notes.txt", "aGFsbG8=")]
    page.evaluate(DROP, files)
    page.get_by_text("2 added, 1 rejected.").wait_for()
    told = page.locator("[data-refused]").inner_text()
    assert "b.png has the same content as a.png" in told
    assert "notes.txt: expected JPEG" in told
    # The counts on the page follow.
    if place:
        page.locator("#task-counts", has_text="2 clean").wait_for()
    else:
        page.locator(".pictures > li").nth(1).wait_for()
    assert len(tasks_of(served.site, project)) == 2


def test_annotators_have_nothing_to_upload_with(served, lead, annotator):
    name, client = annotator
    project = project_of(served.site, lead, {name: "annotator"})
    assert "data-upload" not in client.get(f"/studio/projects/{project}").text


@pytest.mark.long
def test_the_sections_of_the_settings_are_reached_by_links(served, lead, come, barriers):
    project = project_of(served.site, lead)
    page = come(lead, f"/studio/projects/{project}/settings")
    links = page.get_by_role("navigation", name="Sections of the settings").get_by_role("link")
    targets = [link.get_attribute("href") for link in links.all()]
    sections = page.locator("main section[id]").evaluate_all(
        "all => all.map((one) => `#${one.id}`)"
    )
    assert targets == sections
    links.last.focus()
    page.keyboard.press("Enter")
    assert page.url.endswith("#remove")
    assert page.get_by_role("button", name="Delete project").is_visible()
    assert not barriers(page)
