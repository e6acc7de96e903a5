"""Browser: pictures are added, and a drawing is commented on, sent back, corrected and approved."""

import pytest
from annotation_fixtures import (
    box,
    compare_all,
    cookies_of,
    give_task,
    picture,
    project_of,
    scene,
    someone,
    tasks_of,
    text_of,
)

from segarena_studio.annotation.access import find_task
from segarena_studio.annotation.drafts import add_revision
from segarena_studio.annotation.review import finish_task, list_comments
from segarena_studio.annotation.scene_document import read_document
from segarena_studio.orm_models import Task
from segarena_studio.pages.review import region_colour

FIRST = scene(box(10, 10, 60, 60), box(50, 20, 110, 80), names=("dog", "cat"))
SECOND = scene(box(10, 10, 70, 60), box(50, 20, 110, 80), names=("dog", "cat"))
OTHER = scene(box(10, 10, 58, 60), box(50, 22, 110, 80), names=("dog", "fox"))


@pytest.fixture(scope="module")
def people(served):
    """Numbers of a lead, a reviewer and two annotators."""
    return {
        name: someone(served.site, name, "organiser") for name in ("Lea", "Rex", "Anna", "Bert")
    }


def draw(served, task, person, drawn):
    with served.site.database.writing() as session:
        found = find_task(session, task, person)
        document = read_document(text_of(drawn))
        add_revision(
            session, found.task, text_of(drawn), document, 1.0, client_id=f"c{found.task.revision}"
        )
        finish_task(session, found, 2.0)


@pytest.fixture
def come(served, people, open_warm_page):
    """Open a page as one of these people."""

    def opened(who, place, **options):
        cookies = cookies_of(served, people[who])
        return open_warm_page(f"{served.address}{place}", cookies=cookies, **options)

    return opened


@pytest.mark.long
def test_pictures_are_sent_one_by_one_and_what_is_none_is_told(served, people, come, tmp_path):
    project = project_of(served.site, people["Lea"], pictures=0)
    (tmp_path / "a.png").write_bytes(picture(1))
    (tmp_path / "b.png").write_bytes(b"<svg onload='alert(1)'>")
    page = come("Lea", f"/studio/projects/{project}/settings")
    page.locator("input[name=pictures]").set_input_files([tmp_path / "a.png", tmp_path / "b.png"])
    page.get_by_role("button", name="Add pictures").click()
    page.get_by_text("1 added, 1 rejected.").wait_for()
    assert "b.png: expected JPEG" in page.locator("[data-refused] li").inner_text()
    assert len(tasks_of(served.site, project)) == 1


def test_a_drawing_is_returned_with_a_comment_at_a_place_and_approved_when_it_is_mended(
    served, people, come, barriers
):
    members = {"Rex": "reviewer", "Anna": "annotator", "Bert": "annotator"}
    project = project_of(served.site, people["Lea"], members, annotators=2)
    task, other = (
        give_task(served.site, task, people[name])
        for task, name in zip(tasks_of(served.site, project), ("Anna", "Bert"), strict=True)
    )
    draw(served, task, people["Anna"], FIRST)
    draw(served, other, people["Bert"], OTHER)
    compare_all(served.site, project)
    page = come("Rex", f"/studio/projects/{project}")
    assert not barriers(page)
    page.get_by_role("link", name="Review finished pictures").click()
    assert page.url.endswith("#pictures")
    page.get_by_role("link", name="View street-0.png by Anna").click()
    page.get_by_role("button", name="Review this").click()
    board = page.locator("[data-scene]")
    corner = board.bounding_box()
    scale = corner["width"] / 120
    page.mouse.click(corner["x"] + 31.2 * scale, corner["y"] + 20.4 * scale)
    board.focus()
    for key in ("ArrowLeft", "Shift+ArrowDown", "Enter"):  # a hundredth of the picture, and eight
        page.keyboard.press(key)
    page.keyboard.type("It goes on <b>here</b>.")
    page.get_by_role("button", name="Add").click()
    page.locator(".comment p", has_text="It goes on <b>here</b>.").wait_for()
    page.wait_for_function("document.activeElement.name === 'text'")  # for the next comment
    with served.site.database.reading() as session:
        (comment,) = list_comments(session, session.get_one(Task, task))
    assert (comment.x, comment.y) == (pytest.approx(30, abs=0.5), pytest.approx(30, abs=0.5))
    assert comment.region == "r1"
    page.get_by_label("then show the next waiting picture").uncheck()
    page.get_by_role("button", name="Return to Anna").click()
    assert "returned" in page.locator(".state-chip").first.inner_text()
    draw(served, task, people["Anna"], SECOND)
    page = come("Rex", f"/studio/tasks/{task}/look", width=390, scheme="dark")
    assert not barriers(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for number in (".numbers text", ".pin text"):
        assert page.locator(number).first.bounding_box()["height"] >= 12
    assert "dog outline" in " ".join(page.locator("aside ul").first.inner_text().split())
    before = page.locator(".before .outline").first
    assert before.is_visible()
    page.get_by_label("now", exact=True).check()
    assert not before.is_visible()
    page.get_by_label("photograph only").check()
    assert not page.locator(".after .outline").first.is_visible()
    page.locator("aside li[data-region=r1]").first.hover()
    assert "chosen" in page.locator(".after [data-region=r1]").get_attribute("class")
    # Fingers and keys do not hover: a pressed name keeps its region highlighted.
    page.get_by_role("button", name="dog").press("Enter")
    page.get_by_role("heading", name="Comments").hover()
    assert "chosen" in page.locator(".after [data-region=r1]").get_attribute("class")
    page.get_by_role("button", name="Resolve comment 1").click()
    page.get_by_role("button", name="Reopen comment 1").wait_for()
    page.wait_for_function("document.activeElement.textContent === 'Reopen'")
    page.get_by_role("link", name="Skip to the decision").press("Enter")
    for _ in ("explanation", "show the next picture", "approve"):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.value") == "approve"
    page.get_by_role("button", name="Approve").click()
    page.wait_for_url(f"**/studio/tasks/{other}/look")  # the next that waits
    with served.site.database.reading() as session:
        assert session.get_one(Task, task).state == "approved"


@pytest.mark.long
def test_no_page_of_projects_bars_anybody(served, people, come, barriers, page_widths):
    site, lea, anna, bert = served.site, *(people[name] for name in ("Lea", "Anna", "Bert"))
    members = dict.fromkeys(("Anna", "Bert"), "annotator")
    drawn = project_of(site, lea, members, annotators=3, guide="Outline\nall.", pictures=2)
    tasks = [task.id for task in tasks_of(site, drawn)]
    for task, person in zip(tasks, (anna, bert, lea), strict=False):
        with site.database.writing() as session:
            session.get_one(Task, task).person_id = person
        draw(served, task, person, FIRST if person == anna else OTHER)
    with site.database.writing() as session:
        left = session.get_one(Task, tasks[3])
        left.person_id, left.state = people["Rex"], "in progress"  # who is not in the project
    compare_all(site, drawn)
    empty, project = project_of(site, lea, pictures=0), f"/studio/projects/{drawn}"
    page = come("Lea", "/studio", width=390, scheme="dark")
    for place in (
        *("/studio", "/studio/projects", "/studio/projects/new", f"/studio/projects/{empty}"),
        *(
            project,
            f"{project}/people",
            f"{project}/settings",
            f"{project}/export",
            f"{project}?state=approved",
        ),
        *(f"/studio/tasks/{task}/look" for task in (tasks[0], tasks[3], tasks[4])),
    ):
        page.goto(f"{served.address}{place}")
        assert not barriers(page), place
        assert max(page_widths(page).values()) <= page.evaluate("innerWidth"), place
    page.goto(f"{served.address}/studio/tasks/{tasks[2]}")  # finished: it can be looked at
    page.locator("#scene[data-ready]").wait_for()
    assert not barriers(page)


@pytest.mark.long
@pytest.mark.parametrize("width", [1400, 390])
def test_a_reviewer_zooms_in_the_read_only_editor_and_comments_at_a_place(
    width, served, people, come, barriers
):
    project = project_of(
        served.site, people["Lea"], {"Rex": "reviewer", "Anna": "annotator"}, pictures=1
    )
    task = give_task(served.site, tasks_of(served.site, project)[0], people["Anna"])
    draw(served, task, people["Anna"], FIRST)
    page = come("Rex", f"/studio/tasks/{task}/look", width=width, height=844)
    page.get_by_role("link", name="Zoom and comment").click()
    page.locator("#scene[data-ready]").wait_for()
    before = page.evaluate("segarena.editor.picture.view.scale")
    page.keyboard.press("+")
    page.wait_for_function(f"() => segarena.editor.picture.view.scale > {before}")
    if width < 760:
        page.locator("#list-open").click()
        page.locator("#side.is-open").wait_for()
    assert barriers(page) == {}
    page.get_by_role("button", name="Choose a position").click()
    page.locator("#side:not(.is-open)").wait_for(state="attached")
    # Of the drawing's two regions, the dog is at this place.
    x, y = page.evaluate("segarena.editor.picture.view.toScreen([40, 40])")
    corner = page.locator("#picture").bounding_box()
    page.mouse.click(corner["x"] + x, corner["y"] + y)
    page.get_by_text("At 40, 40.").wait_for()
    page.locator("#comment-form textarea").fill("The ear is missing.")
    with page.expect_navigation():
        page.get_by_role("button", name="Add comment").click()
    page.locator("#scene[data-ready]").wait_for()
    page.locator("#notes").get_by_text("The ear is missing.").wait_for(state="attached")
    if width < 760:
        assert not page.locator("#side").is_visible()
        for name in ("Show the position", "Close"):
            page.locator("#list-open").click()
            page.get_by_role("button", name=name, exact=True).click()
            page.locator("#side").wait_for(state="hidden")
    with served.site.database.reading() as session:
        found = session.get_one(Task, task)
        (comment,) = list_comments(session, found)
        assert (comment.x, comment.y, comment.region) == (40, 40, "r1")
        assert (found.state, found.revision) == ("finished", 1)


@pytest.mark.long
def test_the_read_only_editor_is_for_those_who_may_see_the_task(served, people, come):
    project = project_of(
        served.site, people["Lea"], {"Anna": "annotator", "Bert": "annotator"}, pictures=1
    )
    task = give_task(served.site, tasks_of(served.site, project)[0], people["Anna"])
    page = come("Anna", f"/studio/tasks/{task}/view")
    assert page.url.endswith(f"/studio/tasks/{task}")


@pytest.mark.parametrize(
    ("region", "colour"),
    [("r1", "o0"), ("r2", "o1"), ("r24", "o23"), ("r25", "o0"), ("sky", "o18")],
)
def test_a_region_has_its_colour_from_the_editor(region, colour):
    # region-colours.test.js has the same table for the editor.
    assert region_colour(region) == colour
