"""Comparison page: access, and side by side and flicker in the browser."""

import pytest
from annotation_fixtures import (
    EditorClient,
    box,
    cookies_of,
    give_task,
    project_of,
    save_of,
    scene,
    tasks_of,
)

ONE = scene(box(10, 10, 60, 60), box(70, 20, 110, 80), names=("dog", "cat"))
OTHER = scene(box(10, 10, 60, 45), names=("dog",))


@pytest.fixture(scope="module")
def people(served):
    names = ("Lea", "Rex", "Anna", "Bert", "Rita")
    return {name: EditorClient(served, name, "organiser") for name in names}


@pytest.fixture(scope="module")
def tasks(served, people):
    """Tasks of Anna and Bert about the same picture, which Rex reviews; the third one is free."""
    members = {"Rex": "reviewer", "Anna": "annotator", "Bert": "annotator"}
    project = project_of(served.site, people["Lea"].id, members, annotators=3)
    project_of(served.site, people["Lea"].id, {"Rita": "reviewer"})
    free, *drawn = [task.id for task in reversed(tasks_of(served.site, project))]
    for task, name, drawing in zip(drawn, ("Anna", "Bert"), (ONE, OTHER), strict=True):
        for found in tasks_of(served.site, project):
            if found.id == task:
                give_task(served.site, found, people[name].id)
        assert people[name].ask("PUT", f"{task}/draft", save_of(0, drawn=drawing)).is_success
    return {"Anna": drawn[0], "Bert": drawn[1], "free": free, "project": project}


@pytest.mark.long
@pytest.mark.parametrize("place", ["compare", "comparison"])
def test_only_reviewers_and_leads_of_the_project_compare(people, tasks, place):
    address = f"/studio/tasks/{tasks['Anna']}/{place}"
    statuses = {name: who.client.get(address).status_code for name, who in people.items()}
    assert statuses == {"Lea": 200, "Rex": 200, "Anna": 404, "Bert": 404, "Rita": 404}
    assert people["Rex"].client.get(f"/studio/tasks/99999/{place}").status_code == 404


def test_the_comparison_is_that_of_the_task_with_all_others(people, tasks):
    anna, bert = tasks["Anna"], tasks["Bert"]
    told = people["Rex"].ask("GET", f"{bert}/comparison").json()
    assert [drawing["annotator"] for drawing in told["drawings"]] == ["Bert", "Anna"]
    assert told["drawings"][1]["scene"] == ONE
    assert list(told["comparisons"]) == [str(anna)]
    (match,) = told["comparisons"][str(anna)]["matches"]
    assert (match["one"], match["other"], match["iou"]) == ("r1", "r1", 0.7)
    free = people["Rex"].client.get(
        f"/studio/tasks/{tasks['free']}/compare", follow_redirects=False
    )
    assert free.headers["location"].endswith("/compare")
    assert people["Rex"].ask("GET", f"{tasks['free']}/comparison").json()["comparisons"] == {}


def test_reviewers_find_the_comparison_on_the_page_of_a_drawing(people, tasks):
    link = f'href="/studio/tasks/{tasks["Anna"]}/compare"'
    look = f"/studio/tasks/{tasks['Anna']}/look"
    assert link in people["Rex"].client.get(look).text
    assert link not in people["Anna"].client.get(look).text


@pytest.fixture
def come(served, people, tasks, open_warm_page):
    """Open the comparison of Anna's drawing as the reviewer."""

    def opened(**options):
        address = f"{served.address}/studio/tasks/{tasks['Anna']}/compare"
        page = open_warm_page(address, cookies=cookies_of(served, people["Rex"].id), **options)
        page.locator("#compare[data-ready]").wait_for()
        return page

    return opened


def views(page):
    return page.evaluate(
        "segarena.panes.map(({picture: {view}}) => [view.scale, ...view.toImage([0, 0])])"
    )


@pytest.mark.long
def test_drawings_side_by_side_move_together_and_mark_their_differences(come, barriers):
    page = come()
    assert barriers(page) == {}
    assert page.locator("[data-differences] li").all_inner_texts() == [
        "Only Anna: 2 cat\nnothing overlaps it",
        "IoU 0.70: 1 dog\nBert: 1 dog",
    ]
    marks = page.evaluate("segarena.panes.map(({marks}) => Object.fromEntries(marks))")
    assert marks == [{"r2": "alone", "r1": "iou"}, {"r1": "iou"}]
    before = views(page)
    page.keyboard.press("+")
    page.mouse.move(200, 500)
    page.mouse.wheel(0, -300)
    page.wait_for_function(f"segarena.panes[0].picture.view.scale > {1.3 * before[0][0]}")
    one, other = views(page)
    assert one == pytest.approx(other, abs=0.5)
    page.keyboard.press("J")
    selected = "segarena.panes.map(({editor}) => editor.selected)"
    assert page.evaluate(selected) == ["r2", None]
    page.keyboard.press("J")
    assert page.evaluate(selected) == ["r1", "r1"]
    page.get_by_label("Mark IoU below").fill("0.65")
    assert page.locator("[data-differences] li").count() == 1


@pytest.mark.long
def test_flicker_shows_the_next_drawing_while_a_finger_or_a_key_holds(come, barriers):
    page = come(width=390, height=844, scheme="dark", has_touch=True)
    assert barriers(page) == {}
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shown = page.locator(".pane.is-front figcaption")
    assert shown.inner_text() == "Anna"
    page.keyboard.down("h")
    assert shown.inner_text() == "Bert"
    page.keyboard.up("h")
    assert shown.inner_text() == "Anna"
    holder = page.get_by_role("button", name="Hold to see the next")
    holder.dispatch_event("pointerdown", {"pointerType": "touch"})
    assert shown.inner_text() == "Bert"
    holder.dispatch_event("pointerup", {"pointerType": "touch"})
    assert shown.inner_text() == "Anna"
    page.get_by_role("button", name="2 Bert").tap()
    assert shown.inner_text() == "Bert"
    page.get_by_label("side by side").check()
    assert page.locator(".pane").last.is_visible()
