"""Browser: two tabs on one picture; changes of different regions are merged, and the same region is asked about."""

import pytest
from annotation_fixtures import box, give_task, picture, save_of, scene, tasks_of, text_of
from msgspec.json import decode

from segarena_studio.annotation.drafts import SaveRequest, check_save, save_draft
from segarena_studio.annotation.pictures import add_picture, check_picture
from segarena_studio.annotation.projects import ProjectRules, create_project
from segarena_studio.orm_models import Project, Task

SIZE = (640, 480)
DRAWN = scene(box(20, 20, 200, 200), box(220, 20, 400, 200), box(420, 20, 600, 200))


@pytest.fixture
def task(alone):
    """A task of the one person, with three regions."""
    site = alone.served.site
    with site.database.writing() as session:
        rules = ProjectRules(name="Street")
        project = create_project(session, rules, site.only_person, 0.0).id
        checked = check_picture("street.png", picture(size=SIZE))
        row = session.get_one(Project, project)
        add_picture(session, row, site.folder.photographs, checked, 0.0)
    number = give_task(site, tasks_of(site, project)[0], site.only_person)
    save = decode(text_of(save_of(0, drawn=DRAWN)), type=SaveRequest)
    with site.database.writing() as session:
        save_draft(session, session.get_one(Task, number), save, check_save(save), 1.0)
    return number


@pytest.fixture
def tabs(alone, open_warm_page, task):
    """Two tabs of one browser with the editor of the task."""
    address = f"{alone.served.address}/studio/tasks/{task}"
    # A browser itself complains of an answer that is a conflict.
    first = open_warm_page(address, cookies=alone.cookies(), expects="409")
    second = first.context.new_page()
    second.set_viewport_size(first.viewport_size)
    second.goto(address)
    for page in (first, second):
        page.locator("#scene[data-ready]").wait_for()
    return first, second


def rename(page, place, name):
    page.locator(".regions input").nth(place).fill(name)
    page.keyboard.press("Enter")
    page.locator("#saved:not(.saved-saved)").wait_for()


def names(page):
    page.locator("#saved.saved-saved").wait_for()
    return page.locator(".regions input").evaluate_all("all => all.map((each) => each.value)")


def stored(alone, task):
    headers = {"accept": "application/json"}
    found = alone.client().get(f"/studio/tasks/{task}/draft", headers=headers).json()
    return [region["name"] for region in found["scene"]["regions"]]


@pytest.mark.long
def test_changes_of_different_regions_are_merged_without_a_question(alone, task, tabs):
    first, second = tabs
    rename(first, 0, "dog")
    names(first)
    rename(second, 2, "tree")
    assert names(second) == ["dog", "thing 2", "tree"] == stored(alone, task)
    assert not second.locator("#conflict").is_visible()
    assert "added to this drawing" in second.locator("#said").text_content()
    second.keyboard.press("Control+z")
    assert "Undone: the changes that were saved elsewhere" in second.locator("#said").text_content()
    second.keyboard.press("Control+Shift+z")
    assert names(second) == ["dog", "thing 2", "tree"]
    rename(first, 1, "house")
    assert names(first) == ["dog", "house", "tree"] == stored(alone, task)


@pytest.mark.long
@pytest.mark.parametrize(
    ("button", "expected"),
    [("#keep-mine", ["dog", "pony", "tree"]), ("#take-theirs", ["dog", "horse", "tree"])],
)
def test_only_a_region_that_both_have_changed_is_asked_about(alone, task, tabs, button, expected):
    first, second = tabs
    rename(first, 0, "dog")
    rename(first, 1, "horse")
    names(first)
    rename(second, 2, "tree")
    rename(second, 1, "pony")
    second.locator("#conflict[open]").wait_for()
    told = second.locator("#conflict-text").text_content()
    assert "Both versions changed pony (there: horse). All other changes" in told
    assert stored(alone, task) == ["dog", "horse", "thing 3"]
    second.locator(button).click()
    assert names(second) == expected == stored(alone, task)
