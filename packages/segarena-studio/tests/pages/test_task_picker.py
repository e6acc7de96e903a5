"""Picture picker: own tasks and free ones; drawings to copy from are one's own."""

import pytest
from annotation_fixtures import (
    EditorClient,
    box,
    give_task,
    project_of,
    save_of,
    scene,
    tasks_of,
)

DRAWN = scene(box(10, 10, 60, 60), names=("dog",))


@pytest.fixture(scope="module")
def people(served):
    roles = {"Lola": "organiser", "Rita": "participant", "Andi": "participant"}
    return {name: EditorClient(served, name, role) for name, role in roles.items()}


@pytest.fixture
def tasks(served, people):
    """Two tasks of Andi, one of Rita, and a free one, in a project of Lola's where Rita reviews."""
    members = {"Rita": "reviewer", "Andi": "annotator"}
    project = project_of(served.site, people["Lola"].id, members, pictures=4)
    found = tasks_of(served.site, project)
    for task, name in zip(found, ("Andi", "Andi", "Rita"), strict=False):
        give_task(served.site, task, people[name].id)
    return [task.id for task in found]


@pytest.mark.long
def test_an_annotator_is_shown_their_tasks_and_free_ones(people, tasks):
    andi = people["Andi"]
    first, second, others, free = tasks
    andi.ask("PUT", f"{second}/draft", save_of(0, drawn=DRAWN))
    told = andi.ask("GET", f"{first}/tasks").json()
    assert {task["id"]: (task["state"], task["regions"]) for task in told["own"]} == {
        first: ("clean", 0),
        second: ("in progress", 1),
    }
    assert [(task["id"], task["name"]) for task in told["free"]] == [(free, "street-3.png")]
    thumbnail = andi.ask("GET", f"{first}/tasks/{free}/thumbnail")
    assert thumbnail.headers["content-type"] == "image/jpeg"
    for closed in (others, second):
        assert andi.ask("GET", f"{first}/tasks/{closed}/thumbnail").status_code == 404


def test_regions_are_copied_from_ones_own_drawings_only(served, people, tasks):
    andi, rita = people["Andi"], people["Rita"]
    first, second, others, _ = tasks
    andi.ask("PUT", f"{second}/draft", save_of(0, drawn=DRAWN))
    rita.ask("PUT", f"{others}/draft", save_of(0, drawn=DRAWN))
    told = andi.ask("GET", f"{first}/tasks/{second}/scene").json()
    assert told == {"scene": DRAWN, "width": 120, "height": 90}
    assert andi.ask("GET", f"{first}/tasks/{others}/scene").status_code == 404
    # A reviewer may look at this drawing, but not copy it into their own.
    assert rita.ask("GET", f"{second}/draft").status_code == 200
    assert rita.ask("GET", f"{others}/tasks/{second}/scene").status_code == 404
    elsewhere = tasks_of(served.site, project_of(served.site, andi.id, pictures=1))[0]
    give_task(served.site, elsewhere, andi.id)
    assert andi.ask("GET", f"{elsewhere.id}/tasks/{second}/scene").status_code == 404


def test_a_free_task_is_taken_by_choice(people, tasks):
    andi = people["Andi"]
    first, _, _, free = tasks
    page = andi.client.get(f"/studio/tasks/{first}").text
    project = page.split('href="/studio/projects/')[1].split('"')[0]
    form = {"key": andi.key, "task": str(free)}
    address = f"/studio/projects/{project}/take"
    answer = andi.client.post(address, data=form, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/studio/tasks/{free}")
    again = people["Rita"].client.post(
        address, data={**form, "key": people["Rita"].key}, follow_redirects=False
    )
    assert again.headers["location"] == f"/studio/projects/{project}"


def test_the_page_of_a_free_task_offers_to_annotate_it(people, tasks):
    lola = people["Lola"]
    first, _, _, free = tasks
    offered = (
        f'<input type="hidden" name="task" value="{free}"><button class="main">Annotate</button>'
    )
    assert offered in lola.client.get(f"/studio/tasks/{free}/look").text
    assert ">Annotate</button>" not in lola.client.get(f"/studio/tasks/{first}/look").text
