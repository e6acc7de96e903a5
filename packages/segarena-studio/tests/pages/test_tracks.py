"""Videos in projects: frames, propagation and proposals over the API and in the editor, up to the export."""

import csv
import io
import json
import zipfile

import pytest
from annotation_fixtures import EditorClient, box, give_task, picture, save_of, scene, tasks_of
from at_work import Here
from moving_disc import SIZE, disc, video_project

from segarena.errors import InvalidInput
from segarena_server.workers.pool import JobRunner
from segarena_studio.annotation.assignment import deal_tasks, next_task
from segarena_studio.annotation.pictures import add_picture, check_picture
from segarena_studio.annotation.projects import change_project, read_rules, set_member
from segarena_studio.annotation.propagation_job import PropagateTracks
from segarena_studio.orm_models import Project, Task

FRAMES = 4


@pytest.fixture(scope="module")
def people(served):
    roles = {"Lena": "organiser", "Axel": "participant", "Ruth": "participant"}
    return {name: EditorClient(served, name, role) for name, role in roles.items()}


@pytest.fixture
def tasks(served, people):
    """The frames of a video in a project of Lena's, all of them Axel's; Ruth reviews."""
    site = served.site
    found = video_project(site, people["Lena"].id, FRAMES)
    with site.database.writing() as session:
        project = session.get_one(Project, session.get_one(Task, found[0]).project_id)
        set_member(session, project, "Axel", "annotator", 0.0)
        set_member(session, project, "Ruth", "reviewer", 0.0)
    return [give_task(site, task, people["Axel"].id) for task in tasks_of(site, project.id)]


def run(site):
    """Execute the waiting propagation."""
    return JobRunner(site, [PropagateTracks()], Here()).run_next()


def draw(client, task, drawn):
    """Save a drawing."""
    base = client.ask("GET", f"{task}/draft").json()["revision"]
    told = client.ask("PUT", f"{task}/draft", save_of(base, f"save-{task}-{base}", drawn=drawn))
    assert told.status_code == 200, told.text


def finish(client, task):
    """Ask to finish a frame."""
    base = client.ask("GET", f"{task}/draft").json()["revision"]
    return client.ask(
        "POST", f"{task}/finalise", {"base": base, "is_complete": True, "is_ordered": True}
    )


def marks(client, task):
    """Return the state of region r1 in each frame."""
    frames = client.ask("GET", f"{task}/frames").json()["frames"]
    return [frame["tracks"].get("r1") for frame in frames]


def test_a_track_is_propagated_accepted_finished_and_exported(served, people, tasks):
    axel, lena, site = people["Axel"], people["Lena"], served.site
    first, second, third, _ = tasks
    draw(axel, first, scene(disc(0), names=("disc",)))
    asked = axel.ask("POST", f"{first}/propagation", {"regions": ["r1"]})
    assert (asked.status_code, asked.json()["state"]) == (200, "waiting")
    assert axel.ask("POST", f"{first}/propagation", {"regions": ["r1"]}).status_code == 409
    assert run(site)
    told = axel.ask("GET", f"{first}/propagation").json()
    assert (told["state"], told["frames"], told["finished"]) == ("done", 3, 0)
    assert marks(axel, first) == ["drawn", "proposed", "proposed", "proposed"]
    refused = finish(axel, second)
    assert refused.status_code == 422
    assert refused.json()["message"] == (
        "not finished yet: expected proposals to be accepted, corrected or deleted, "
        "got 1 that nobody has decided on yet"
    )
    # Axel corrects the third frame by hand, and accepts the others from the first one.
    draw(axel, third, scene(disc(2), names=("disc",)))
    settled = axel.ask("POST", f"{first}/track", {"region": "r1", "action": "accept"})
    assert settled.json() == {"frames": 2}
    assert marks(axel, first) == ["drawn", "accepted", "drawn", "accepted"]
    assert axel.ask("POST", f"{first}/propagation", {"regions": ["r1"]}).status_code == 422
    for task in tasks:
        assert finish(axel, task).status_code == 200
    assert axel.ask("POST", f"{first}/propagation", {"regions": ["r1"]}).status_code == 409
    reviewed = people["Ruth"].client
    assert "accepted proposal" in reviewed.get(f"/studio/tasks/{second}/look").text
    assert "accepted proposal" not in reviewed.get(f"/studio/tasks/{third}/look").text
    with site.database.reading() as session:
        project = session.get_one(Task, first).project_id
    answer = lena.client.post(
        f"/studio/projects/{project}/export", data={"key": lena.key, "to": "coco"}
    )
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        tracks = list(csv.DictReader(io.StringIO(archive.read("tracks.csv").decode())))
        regions = json.loads(archive.read("scenes.json"))["annotations"]
        readme = archive.read("README.txt").decode()
    assert [(row["video"], row["frame"], row["track"], row["origin"]) for row in tracks] == [
        ("clip", "1", "r1", "drawn"),
        ("clip", "2", "r1", "propagated and accepted"),
        ("clip", "3", "r1", "drawn"),
        ("clip", "4", "r1", "propagated and accepted"),
    ]
    assert [region["track_id"] for region in regions] == ["r1"] * 4
    assert [region.get("propagation") for region in regions] == [None, "accepted", None, "accepted"]
    assert "tracks.csv: the track of each region" in readme
    assert "left out" not in readme


@pytest.mark.long
def test_proposals_are_left_out_of_exports_of_begun_tasks(served, people, tasks):
    axel, lena, site = people["Axel"], people["Lena"], served.site
    draw(axel, tasks[0], scene(disc(0), names=("disc",)))
    axel.ask("POST", f"{tasks[0]}/propagation", {"regions": ["r1"], "frames": 2})
    assert run(site)
    with site.database.reading() as session:
        project = session.get_one(Task, tasks[0]).project_id
    answer = lena.client.post(
        f"/studio/projects/{project}/export", data={"key": lena.key, "to": "coco", "which": "begun"}
    )
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert len(json.loads(archive.read("scenes.json"))["annotations"]) == 1
        assert (
            "2 proposals that nobody has accepted are left out."
            in archive.read("README.txt").decode()
        )
    removed = axel.ask("POST", f"{tasks[0]}/track", {"region": "r1", "action": "remove"})
    assert removed.json() == {"frames": 2}
    assert marks(axel, tasks[0]) == ["drawn", None, None, None]


def test_frames_without_objects_can_be_finished_and_exported(served, people, tasks):
    axel, lena = people["Axel"], people["Lena"]
    assert finish(axel, tasks[0]).status_code == 200
    assert axel.ask("GET", f"{tasks[0]}/draft").json()["revision"] == 1
    with served.site.database.reading() as session:
        project = session.get_one(Task, tasks[0]).project_id
    answer = lena.client.post(
        f"/studio/projects/{project}/export", data={"key": lena.key, "to": "coco"}
    )
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        scenes = json.loads(archive.read("scenes.json"))
        assert ([image["file_name"] for image in scenes["images"]], scenes["annotations"]) == (
            ["clip/000.png"],
            [],
        )
    assert lena.client.get(f"/studio/tasks/{tasks[0]}/look").status_code == 200


@pytest.mark.long
def test_frames_and_tracks_are_for_their_annotator_only(people, tasks):
    axel, ruth = people["Axel"], people["Ruth"]
    draw(axel, tasks[0], scene(disc(0)))
    assert ruth.ask("GET", f"{tasks[0]}/draft").status_code == 200
    for method, place, body in (
        ("GET", "frames", None),
        ("GET", "propagation", None),
        ("POST", "propagation", {"regions": ["r1"]}),
        ("POST", "propagation/cancel", {}),
        ("POST", "track", {"region": "r1", "action": "accept"}),
    ):
        assert ruth.ask(method, f"{tasks[0]}/{place}", body).status_code == 404
    for wrong in (
        {"regions": []},
        {"regions": ["r1"], "frames": 0},
        {"regions": ["r1"], "direction": "up"},
        {"regions": ["r1"], "segmenter": "my_model.py:Model"},
    ):
        assert axel.ask("POST", f"{tasks[0]}/propagation", wrong).status_code == 422
    cancelled = axel.ask("POST", f"{tasks[0]}/propagation/cancel", {})
    assert cancelled.json()["state"] == "none"


def test_a_person_gets_whole_videos(served, people):
    site = served.site
    clips = [(f"other/{number}.png", picture(number)) for number in range(2)]
    found = video_project(site, people["Lena"].id, 3, extra=clips, annotators=2)
    with site.database.writing() as session:
        project = session.get_one(Project, session.get_one(Task, found[0]).project_id)
        for name in ("Axel", "Ruth"):
            set_member(session, project, name, "annotator", 0.0)
        task = next_task(session, project, people["Axel"].id)
        video = task.picture.name.split("/")[0]
        own = session.query(Task).filter(
            Task.project_id == project.id, Task.person_id == people["Axel"].id
        )
        names = sorted(one.picture.name for one in own)
        assert len(names) == {"clip": 3, "other": 2}[video]
        assert task.picture.name == names[0]
        assert {name.split("/")[0] for name in names} == {video}
        assert deal_tasks(session, project, [people["Axel"].id, people["Ruth"].id]) == 0
        owners = {}
        for one in session.query(Task).filter(Task.project_id == project.id):
            owners.setdefault(one.picture.name, set()).add(one.person_id)
        assert all(len(of_frame) == 2 for of_frame in owners.values())


@pytest.mark.long
def test_a_project_gets_videos_only_while_nobody_has_begun(served, people, tasks):
    site = served.site
    with site.database.writing() as session:
        project = session.get_one(Project, session.get_one(Task, tasks[0]).project_id)
        rules = read_rules(project)
        assert rules.has_videos
        places = {
            task.picture.place for task in session.query(Task).filter(Task.project_id == project.id)
        }
        assert len(places) == 1
    page = people["Lena"].client.get(f"/studio/projects/{project.id}/settings").text
    assert 'name="has_videos" value="yes" checked' in page
    draw(people["Axel"], tasks[0], scene(box(1, 1, 40, 40)))
    without = {
        **{name: getattr(rules, name) for name in rules.__struct_fields__},
        "has_videos": False,
    }
    with (
        site.database.writing() as session,
        pytest.raises(InvalidInput, match="nobody has begun to annotate"),
    ):
        change_project(session, session.get_one(Project, project.id), type(rules)(**without))


def test_a_frame_of_another_size_is_refused_in_one_line(served, people, tasks):
    axel, site = people["Axel"], served.site
    with site.database.writing() as session:
        project = session.get_one(Project, session.get_one(Task, tasks[0]).project_id)
        odd = check_picture("clip/9.png", picture())
        add_picture(session, project, site.folder.photographs, odd, 0.0)
        (task,) = [
            one
            for one in session.query(Task).filter(Task.project_id == project.id)
            if one.picture.name == "clip/9.png"
        ]
        task.person_id = axel.id
    draw(axel, tasks[0], scene(disc(0)))
    answer = axel.ask("POST", f"{tasks[0]}/propagation", {"regions": ["r1"]})
    assert answer.status_code == 422
    assert answer.json()["message"] == (
        "expected frames of one size, got clip/000.png with 160 x 120 and clip/9.png with 120 x 90 pixels; "
        "put them in different folders"
    )


@pytest.mark.long
def test_a_region_is_followed_through_a_video_in_the_editor(alone, open_warm_page):
    site = alone.served.site
    tasks = video_project(site, site.only_person, FRAMES, name="In the browser")
    client = alone.client()
    address = f"{alone.served.address}/studio/tasks/{tasks[0]}"
    page = open_warm_page(address, cookies=alone.cookies())
    page.locator("#scene[data-ready]").wait_for()
    frames = page.locator("#timeline .frame")
    page.wait_for_function("() => document.querySelectorAll('#timeline .frame').length === 4")
    # Draw a box around the disc; its id names the track.
    page.evaluate(
        """(outline) => {
          const { editor } = window.segarena;
          editor.edit("close", null, (steps) => {
            steps.addRegion(outline.map((at) => steps.addPoint(at)), { name: "disc" }, 0);
            return null;
          });
          editor.select(editor.scene.regions[0].id);
        }""",
        disc(0, 24),
    )
    region = f"r{tasks[0]}-1"
    page.keyboard.press("Shift+G")
    page.get_by_role("dialog").get_by_role("button", name="Propagate").click()
    # The workers of the studio execute it.
    page.get_by_text("Proposals changed in 3 frames.").wait_for()
    page.locator("#timeline .frame[data-mark=proposed]").nth(2).wait_for()
    shown = [frames.nth(number).get_attribute("data-mark") for number in range(FRAMES)]
    assert shown == ["drawn", *["proposed"] * 3]
    page.keyboard.press("PageDown")
    page.wait_for_url(f"**/studio/tasks/{tasks[1]}#{region}")
    page.locator("#scene[data-ready]").wait_for()
    assert page.locator(".regions li.is-selected.is-proposed").count() == 1
    page.get_by_text("is only proposed; accept, correct or delete it").wait_for(state="attached")
    page.keyboard.press("g")
    page.locator("#timeline .frame[aria-current][data-mark=accepted]").wait_for()
    page.keyboard.press("z")
    page.locator("#timeline .frame[aria-current][data-mark=proposed]").wait_for()
    # A correction makes it a key frame.
    page.evaluate(
        """() => {
          const { editor } = window.segarena;
          const point = editor.region.ring[0];
          editor.edit("move", editor.selected, (steps) => {
            const [x, y] = editor.scene.points[point];
            steps.movePoint(point, [x + 2, y]);
            return null;
          });
        }"""
    )
    page.locator("#timeline .frame[aria-current][data-mark=drawn]").wait_for()
    page.locator(".frame").nth(2).click()
    page.wait_for_url(f"**/studio/tasks/{tasks[2]}#{region}")
    page.locator("#scene[data-ready]").wait_for()
    page.get_by_role("button", name="Accept in all frames").click()
    page.get_by_text("Accepted in 1 other frame.").wait_for()
    page.locator("#saved.saved-saved").wait_for()
    told = client.get(
        f"/studio/tasks/{tasks[0]}/frames", headers={"accept": "application/json"}
    ).json()["frames"]
    assert [frame["tracks"] for frame in told] == [
        {region: "drawn"},
        {region: "drawn"},
        {region: "accepted"},
        {region: "accepted"},
    ]
    assert page.evaluate("() => window.segarena.editor.size") == list(SIZE)
