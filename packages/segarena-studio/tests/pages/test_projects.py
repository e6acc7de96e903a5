"""A project from creation to export, as a lead, a reviewer and annotators see it."""

import io
import re
import zipfile

import pytest
from annotation_fixtures import (
    box,
    compare_all,
    give_task,
    picture,
    project_of,
    save_of,
    scene,
    someone,
    tasks_of,
)
from at_work import Here
from PIL import Image
from sqlalchemy import select
from typer.testing import CliRunner

from segarena.cli.main import app
from segarena.files.hashes import sha256
from segarena_server.audit_log import latest_events
from segarena_server.jobs.job_queue import find_job
from segarena_server.workers.pool import JobRunner
from segarena_studio.annotation import export_job
from segarena_studio.annotation.export_job import ExportProject, StoredArchive, find_export
from segarena_studio.orm_models import Picture, Project, Task

ANNA = scene(
    box(10, 10, 60, 60), box(50, 20, 110, 80), box(0, 0, 120, 90), names=("dog", "cat", "grass")
)
BERT = scene(
    box(12, 10, 60, 60), box(50, 22, 110, 80), box(0, 0, 120, 90), names=("dog", "fox", "grass")
)


class Visitor:
    """A signed-in person who submits forms."""

    def __init__(self, served, name, role="participant"):
        self.client = served.person(name, role)
        self.id = someone(served.site, name)
        self.key = re.search(r'name="key" value="([0-9a-f]{64})"', self.client.get("/studio").text)[
            1
        ]

    def get(self, place):
        return self.client.get(f"/studio/{place}", follow_redirects=True)

    def post(self, place, files=None, **fields):
        return self.client.post(f"/studio/{place}", data={"key": self.key, **fields}, files=files)

    def ask(self, method, place, body=None):
        headers = {"accept": "application/json", "x-form-key": self.key}
        return self.client.request(method, f"/studio/{place}", json=body, headers=headers)

    def draw(self, task, drawn):
        base = self.ask("GET", f"tasks/{task}/draft").json()["revision"]
        assert self.ask("PUT", f"tasks/{task}/draft", save_of(base, drawn=drawn)).status_code == 200
        told = {"base": base + 1, "is_complete": True, "is_ordered": True}
        answer = self.ask("POST", f"tasks/{task}/finalise", told)
        assert answer.status_code == 200, answer.text


@pytest.fixture(scope="module")
def people(served):
    roles = {
        "Lea": "organiser",
        "Rex": "participant",
        "Anna": "participant",
        "Bert": "participant",
        "Eve": "organiser",
    }
    return {name: Visitor(served, name, role) for name, role in roles.items()}


@pytest.fixture
def project(served, people):
    members = {"Rex": "reviewer", "Anna": "annotator", "Bert": "annotator"}
    return project_of(served.site, people["Lea"].id, members, pictures=2, annotators=2)


def test_a_project_is_made_filled_and_shared_on_pages(served, people):
    lea, anna = people["Lea"], people["Anna"]
    rules = {
        "guide": "Outline\r\nall.",
        "labels": "dog\n\ncat",
        "annotators": "2",
        "is_free": "yes",
        "is_reviewed": "yes",
    }
    made = lea.post("projects/new", name="Streets & <b>roads</b>", seed="7", **rules)
    assert made.status_code == 303
    place = made.headers["location"].removeprefix("/studio/").partition("/settings")[0]
    files = [
        ("pictures", (name, picture(n), "image/png"))
        for n, name in enumerate(("a.png", "b.png", "b.txt"))
    ]
    page = lea.post(f"{place}/pictures", files)
    assert "2 added, 1 rejected" in page.text
    assert "2 existed already" in lea.post(f"{place}/pictures", files[:2]).text
    assert lea.post(f"{place}/members", name="anna", role="annotator").status_code == 303
    page = anna.get(place)
    assert "Streets &amp; &lt;b&gt;roads&lt;/b&gt;" in page.text
    assert "2 pictures for you" in page.text
    assert anna.post(f"{place}/next").headers["location"].startswith("/studio/tasks/")
    assert "dog\ncat" in lea.get(f"{place}/settings").text
    with served.site.database.reading() as session:
        row = session.scalars(
            select(Project).where(Project.id == int(place.rpartition("/")[2]))
        ).one()
        assert (row.seed, row.annotators, row.guide) == (7, 2, "Outline\nall.")


def test_the_home_page_of_a_new_organiser_leads_to_the_studio(served):
    home = served.person("Olga", "organiser").get("/").text
    assert 'To annotate pictures or collect prompts, open <a href="/studio">Studio</a>.' in home
    assert "To annotate pictures" not in served.person("Ada", "participant").get("/").text


def test_a_script_is_told_of_each_file(people, project):
    lea = people["Lea"]
    headers = {"accept": "application/json"}
    body = {
        "data": {"key": lea.key},
        "files": {"pictures": ("../x.png", picture())},
        "headers": headers,
    }
    answer = lea.client.post(f"/studio/projects/{project}/pictures", **body)
    assert (answer.status_code, answer.json()["new"]) == (200, 0)
    assert "plain file name" in answer.json()["refused"][0]


@pytest.mark.long
def test_annotators_see_their_own_and_reviewers_all(people, project):
    anna, rex = people["Anna"], people["Rex"]
    task = anna.post(f"projects/{project}/next").headers["location"].rpartition("/")[2]
    page = anna.get(f"projects/{project}").text
    assert page.count("/thumbnail") == 1
    assert "Bert" not in page
    assert rex.get(f"projects/{project}").text.count("/thumbnail") == 2
    assert rex.get(f"projects/{project}?text=street-1").text.count("/thumbnail") == 1
    assert rex.get(f"projects/{project}?person={anna.id}").text.count("/thumbnail") == 1
    assert rex.get(f"projects/{project}?state=approved").text.count("/thumbnail") == 0
    assert rex.get(f"projects/{project}?state=%3Cscript%3E&person=9e9&page=-4").status_code == 200
    assert people["Bert"].get(f"tasks/{task}/look").status_code == 404


@pytest.mark.long
def test_what_is_finished_is_reviewed_corrected_compared_and_exported(
    served, people, project, tmp_path
):
    anna, bert, rex, lea = (people[name] for name in ("Anna", "Bert", "Rex", "Lea"))
    first, second = tasks_of(served.site, project)[:2]
    give_task(served.site, first, anna.id)
    give_task(served.site, second, bert.id)
    anna.draw(first.id, scene(box(10, 10, 60, 60), box(50, 20, 110, 80), names=("dog", "cat")))
    bert.draw(second.id, BERT)
    look = rex.get(f"tasks/{first.id}/look").text
    assert "Review this" in look
    rex.post(f"tasks/{first.id}/review", do="take")
    assert (
        rex.post(
            f"tasks/{first.id}/review", do="return", text="the <i>grass</i>", revision="1"
        ).status_code
        == 303
    )
    assert people["Anna"].ask("GET", f"tasks/{first.id}/draft").json()["said"] == "the <i>grass</i>"
    anna.draw(first.id, ANNA)
    page = rex.get(f"tasks/{first.id}/look").text
    assert "Changed since it was returned" in page
    assert re.search(r"grass</b> <small>new", page)
    assert "the &lt;i&gt;grass&lt;/i&gt;" in page
    stale = rex.post(f"tasks/{first.id}/review", do="approve", revision="1")
    assert (stale.status_code, "reload the page" in stale.text) == (409, True)
    answer = rex.post(f"tasks/{first.id}/review", do="approve", revision="2", next="yes")
    assert answer.headers["location"] == f"/studio/tasks/{second.id}/look"
    compare_all(served.site, project)
    page = lea.get(f"projects/{project}").text
    assert "region consistency" in page
    assert "names of matched regions" in page
    people_page = lea.get(f"projects/{project}/people").text
    assert re.search(r'data-label="Regions">3<', people_page)
    assert anna.get(f"projects/{project}/people").text.count('<tr><td class="words"><a') == 1
    assert anna.get(f"projects/{project}/export").status_code == 404
    exported = rex.post(f"projects/{project}/export", photographs="yes")
    with zipfile.ZipFile(io.BytesIO(exported.content)) as archive:
        archive.extractall(tmp_path)
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} >= {
        "scenes.json",
        "times.csv",
        "README.txt",
    }
    assert len(list((tmp_path / "images").iterdir())) == 1
    for command in (
        ["check-annotations", str(tmp_path / "scenes.json")],
        ["statistics", str(tmp_path / "scenes.json")],
    ):
        ran = CliRunner().invoke(app, ["amodal", *command])
        assert ran.exit_code == 0, ran.output
    assert (
        "0 errors"
        in CliRunner()
        .invoke(app, ["amodal", "check-annotations", str(tmp_path / "scenes.json")])
        .output
    )


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 81}, "name"),
        ({"name": "x", "annotators": "0"}, "annotators"),
        ({"name": "x", "annotators": "21"}, "annotators"),
        ({"name": "x", "annotators": "two"}, "whole"),
        ({"name": "x", "seed": "99999999999"}, "seed"),
        ({"name": "x", "guide": "y" * 10_001}, "guide"),
        ({"name": "x", "labels": "y" * 201}, "names to suggest"),
    ],
)
def test_rules_that_cannot_be_are_told(people, form, told):
    answer = people["Lea"].post("projects/new", **form)
    assert answer.status_code == 422
    message, _ = alert_in(answer.text, "/studio/projects/new")
    assert told in message.lower()


def alert_in(page, action):
    """Return the error in the form with this address, and the form, as HTML."""
    for form in re.findall(r"<form.*?</form>", page, re.DOTALL):
        alert = re.search(r'role="alert"[^>]*>(.*?)</p>', form, re.DOTALL)
        if f'action="{action}"' in form and alert:
            return alert[1], form
    raise AssertionError(f"no error in the form {action}: {page}")


def test_a_rejected_new_project_keeps_what_was_typed(people):
    typed = {
        "name": "x" * 81,
        "guide": "Outline <all> cars.",
        "labels": "car\r\nwheel",
        "annotators": "two",
        "is_free": "no",
        "is_reviewed": "no",
        "seed": "12",
    }
    answer = people["Lea"].post("projects/new", **typed)
    assert answer.status_code == 422
    told, form = alert_in(answer.text, "/studio/projects/new")
    assert "whole numbers" in told
    assert "Error: New project" in answer.text
    assert f'value="{"x" * 81}"' in form
    assert "Outline &lt;all&gt; cars." in form
    assert "car\nwheel</textarea>" in form
    assert 'max="20" value="two"' in form
    assert 'value="12"' in form
    assert 'name="is_free" value="no" checked' in form
    assert 'name="is_reviewed" value="no" checked' in form


@pytest.mark.parametrize(
    ("place", "fields", "told", "kept"),
    [
        ("settings", {"name": "", "guide": "Wheels too."}, "Name: expected", "Wheels too."),
        (
            "invite",
            {"people": "Nobody here", "role": "reviewer"},
            "confirmed",
            ">Nobody here</textarea>",
        ),
        ("invite", {"people": "Nobody", "role": "reviewer"}, "confirmed", "selected>reviewer"),
        ("invite", {"people": " ,;", "role": "lead"}, "1 to 200 names", "> ,;</textarea>"),
        ("deal", {}, "Expected at least one", "Anna"),
        ("remove", {"name": "Stret"}, "type its name", 'value="Stret"'),
        (
            "export",
            {"to": "labelme", "photographs": "yes"},
            "found none",
            'value="labelme" checked',
        ),
        ("export", {"nameless": "yes"}, "found none", 'name="nameless" value="yes" checked'),
    ],
)
def test_a_rejected_form_shows_the_reason_and_what_was_typed(
    people, project, place, fields, told, kept
):
    answer = people["Lea"].post(f"projects/{project}/{place}", **fields)
    assert answer.status_code == 422
    message, form = alert_in(answer.text, f"/studio/projects/{project}/{place}")
    assert told in message
    assert kept in form
    assert answer.text.count('role="alert"') == 1


def test_a_rejected_file_is_told_in_its_form(people, project):
    for place, name in (("start", "file"), ("pictures", "pictures")):
        answer = people["Lea"].post(
            f"projects/{project}/{place}", {name: ("x.txt", b"{")}, annotator="Anna"
        )
        assert answer.status_code == 422
        _, form = alert_in(answer.text, f"/studio/projects/{project}/{place}")
        assert place == "pictures" or 'value="Anna"' in form


@pytest.mark.long
def test_a_decision_without_a_reason_is_told_in_the_form_and_others_are_not_shown_more(
    served, people, project
):
    lea, anna = people["Lea"], people["Anna"]
    task = anna.post(f"projects/{project}/next").headers["location"].rpartition("/")[2]
    anna.draw(task, ANNA)
    with served.site.database.reading() as session:
        revision = session.get_one(Task, int(task)).revision
    answer = lea.post(f"tasks/{task}/review", do="return", text=" ", revision=str(revision))
    assert answer.status_code == 422
    message, form = alert_in(answer.text, f"/studio/tasks/{task}/review")
    assert "Say what to change" in message
    assert 'name="next" value="yes">' in form
    answer = lea.post(f"tasks/{task}/review", do="approve", text="Good.", revision="0")
    assert answer.status_code == 409
    _, form = alert_in(answer.text, f"/studio/tasks/{task}/review")
    assert "Good.</textarea>" in form
    assert f'name="revision" value="{revision}"' in form
    # After the last waiting picture, the page says so instead of only showing the same picture again.
    answer = lea.post(f"tasks/{task}/review", do="approve", revision=str(revision), next="yes")
    assert answer.headers["location"] == f"/studio/tasks/{task}/look"
    assert "No other picture waits for review." in lea.get(f"tasks/{task}/look").text
    # Whoever may not use the form at all still gets no page of it.
    assert people["Eve"].post(f"tasks/{task}/review", do="approve").status_code == 404
    assert anna.post(f"projects/{project}/settings", name="").status_code == 404
    as_json = lea.client.post(
        f"/studio/tasks/{task}/review",
        data={"key": lea.key},
        headers={"accept": "application/json"},
    )
    assert as_json.json()["error"] == "invalid"


@pytest.mark.long
@pytest.mark.parametrize(
    ("width", "scheme"),
    [(1400, "light"), (390, "dark")],
)
def test_a_rejected_form_is_where_the_reader_is(alone, open_warm_page, barriers, width, scheme):
    project = project_of(alone.served.site, alone.served.site.only_person)
    page = open_warm_page(
        f"{alone.served.address}/studio/projects/{project}/settings",
        cookies=alone.cookies(),
        expects="422",
        width=width,
        height=800,
        scheme=scheme,
    )
    page.locator("#rules textarea[name=guide]").fill("Outline every wheel.")
    page.locator("#rules textarea[name=labels]").fill("w" * 201)
    page.locator("#rules button.main").click()
    alert = page.locator("#rules [role=alert]")
    alert.wait_for()
    page.wait_for_function(
        """() => {
          const { top, bottom } = document.activeElement.getBoundingClientRect();
          const isAlert = document.activeElement.getAttribute("role") === "alert";
          return isAlert && top > 0 && bottom < innerHeight;
        }"""
    )
    assert page.locator("#rules textarea[name=guide]").input_value() == "Outline every wheel."
    assert page.locator("#rules textarea[name=labels]").input_value() == "w" * 201
    assert barriers(page) == {}
    page.locator("#rules textarea[name=labels]").fill("wheel")
    page.locator("#rules button.main").click()
    page.locator("[role=alert]").wait_for(state="detached")
    assert page.locator("#rules textarea[name=guide]").input_value() == "Outline every wheel."


@pytest.mark.long
def test_more_annotators_make_more_tasks_and_fewer_only_where_nobody_has_them(
    served, people, project
):
    lea = people["Lea"]
    rules = {"name": "Street", "is_free": "yes", "is_reviewed": "no"}
    assert lea.post(f"projects/{project}/settings", annotators="3", **rules).status_code == 303
    assert len(tasks_of(served.site, project)) == 6
    assert lea.post(f"projects/{project}/settings", annotators="1", **rules).status_code == 303
    assert len(tasks_of(served.site, project)) == 2
    lea.post(f"projects/{project}/settings", annotators="2", **rules)
    for _ in range(2):
        people["Anna"].post(f"projects/{project}/next")
    lea.post(
        f"projects/{project}/deal",
        **{f"to:{people['Bert'].id}": "yes", f"to:{people['Anna'].id}": "yes"},
    )
    assert lea.post(f"projects/{project}/settings", annotators="1", **rules).status_code == 422


def test_a_closed_project_is_looked_at_and_not_drawn_in(served, people, project):
    lea, anna = people["Lea"], people["Anna"]
    task = anna.post(f"projects/{project}/next").headers["location"].rpartition("/")[2]
    assert lea.post(f"projects/{project}/state", state="closed").status_code == 303
    assert anna.ask("PUT", f"tasks/{task}/draft", save_of(0)).status_code == 423
    assert anna.get(f"projects/{project}").status_code == 200
    lea.post(f"projects/{project}/state", state="open")
    assert anna.ask("PUT", f"tasks/{task}/draft", save_of(0)).status_code == 200


@pytest.mark.long
def test_tasks_begin_with_what_was_drawn_before(served, people, project, tmp_path):
    lea, anna = people["Lea"], people["Anna"]
    task = anna.post(f"projects/{project}/next").headers["location"].rpartition("/")[2]
    anna.draw(task, ANNA)
    exported = {
        kind: lea.post(f"projects/{project}/export", to=kind)
        for kind in ("coco-amodal", "rle", "coco")
    }
    for kind, answer in exported.items():
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            content = archive.read("scenes.json")
        other = project_of(served.site, lea.id, {"Anna": "annotator"}, pictures=2)
        if kind == "rle":  # it has no names of files, but the ids of this project
            continue
        page = lea.post(f"projects/{other}/start", {"file": ("scenes.json", content)})
        assert "1 task starts" in page.text, page.text
        begun = next(one for one in tasks_of(served.site, other) if one.state == "in progress")
        give_task(served.site, begun, anna.id)
        told = anna.ask("GET", f"tasks/{begun.id}/draft").json()
        assert [region["name"] for region in told["scene"]["regions"]] == ["dog", "cat", "grass"]
    for wrong in (
        (("x.json", b"{"),),
        (("x.json", b"[]"),),
        (("x.exe", b"{}"),),
        (("x.xml", b"<a>"),),
    ):
        answer = lea.post(f"projects/{project}/start", {"file": wrong[0]})
        assert answer.status_code == 422
        assert "/tmp/" not in answer.text


def test_an_empty_project_cannot_be_exported_and_says_so(people, project):
    answer = people["Lea"].post(f"projects/{project}/export")
    assert (answer.status_code, "found none" in answer.text) == (422, True)
    assert people["Lea"].post(f"projects/{project}/export", to="../x").status_code == 422


@pytest.mark.long
def test_a_thumbnail_is_small(served, people):
    lea = people["Lea"]
    project = project_of(served.site, lea.id, pictures=0)
    buffer = io.BytesIO(picture(0, (2000, 1000)))
    lea.post(
        f"projects/{project}/pictures",
        [("pictures", ("large.png", buffer.getvalue(), "image/png"))],
    )
    task = tasks_of(served.site, project)[0]
    small = Image.open(io.BytesIO(lea.get(f"tasks/{task.id}/thumbnail").content))
    assert small.size == (360, 180)


@pytest.mark.long
def test_a_picture_is_removed_while_nobody_has_begun_it_and_its_file_when_nothing_else_needs_it(
    served, people
):
    lea, site = people["Lea"], served.site
    projects = [project_of(site, lea.id, {"Anna": "annotator"}, pictures=n) for n in (0, 0)]
    content = picture(77)
    for project in projects:
        lea.post(f"projects/{project}/pictures", [("pictures", ("x.png", content, "image/png"))])
    first, second = (tasks_of(site, project)[0] for project in projects)
    file = site.folder.photographs.path(sha256(content))
    assert "Remove picture" in lea.get(f"tasks/{first.id}/look").text
    assert lea.post(f"tasks/{first.id}/remove-picture").status_code == 303
    assert (tasks_of(site, projects[0]), file.is_file()) == ([], True)
    give_task(site, second, people["Anna"].id)
    people["Anna"].ask("PUT", f"tasks/{second.id}/draft", save_of(0))
    assert lea.post(f"tasks/{second.id}/remove-picture").status_code == 409
    with site.database.writing() as session:
        session.get_one(Task, second.id).state = "clean"
    assert lea.post(f"tasks/{second.id}/remove-picture").status_code == 303
    assert not file.is_file()


@pytest.mark.parametrize(("digits", "status"), [(12, 404), (30, 404), (1900, 404), (5000, 414)])
def test_a_number_that_nothing_has_is_no_fault(people, project, digits, status):
    lea, number = people["Lea"], "9" * digits
    assert lea.get(f"projects/{number}").status_code == status
    assert lea.get(f"projects/{project}?person={number}").status_code == 200
    assert lea.post(f"projects/{project}/next", besides=number).status_code == 303
    assert lea.post(f"projects/{project}/members", do="remove", person=number).status_code == 422


def test_a_project_is_removed_by_who_writes_its_name(served, people):
    lea, site = people["Lea"], served.site
    project = project_of(site, lea.id, {"Anna": "annotator"}, name="Not this one")
    (task,) = tasks_of(site, project)
    assert lea.post(f"projects/{project}/remove", name="Street").status_code == 422
    assert tasks_of(site, project)
    with site.database.reading() as session:
        file = site.folder.photographs.path(session.get_one(Picture, task.picture_id).sha256)
    assert (
        lea.post(f"projects/{project}/remove", name=" Not  this one").headers["location"]
        == "/studio/projects"
    )
    assert tasks_of(site, project) == []
    assert lea.get(f"projects/{project}").status_code == 404
    assert file.is_file(), "other projects of these tests have the same photograph"
    with site.database.reading() as session:
        assert latest_events(session, 1)[0].action == "project removed"


def test_a_lead_frees_what_somebody_left_behind(served, people):
    lea, anna = people["Lea"], people["Anna"]
    project = project_of(served.site, lea.id, {"Anna": "annotator"}, is_free=False)
    task = give_task(served.site, tasks_of(served.site, project)[0], anna.id)
    anna.ask("PUT", f"tasks/{task}/draft", save_of(0))
    assert "Assignment" not in lea.get(f"tasks/{task}/look").text
    lea.post(f"projects/{project}/members", do="remove", person=str(anna.id))
    assert "left the project with <a href" in lea.get(f"projects/{project}/settings").text
    assert "The next annotator continues this drawing" in lea.get(f"tasks/{task}/look").text
    assert (
        lea.post(f"projects/{project}/members", do="free", person=str(anna.id)).status_code == 303
    )
    assert tasks_of(served.site, project)[0].person_id is None
    assert "left the project with <a href" not in lea.get(f"projects/{project}/settings").text


@pytest.mark.long
def test_a_large_export_is_made_by_a_job_and_waits_for_who_asked(served, people, monkeypatch):
    monkeypatch.setattr(export_job, "_AT_ONCE", 0)
    lea, rex, site = people["Lea"], people["Rex"], served.site
    project = project_of(site, lea.id, {"Anna": "annotator", "Rex": "reviewer"}, pictures=2)
    people["Anna"].draw(give_task(site, tasks_of(site, project)[0], people["Anna"].id), ANNA)
    asked = lea.post(f"projects/{project}/export", photographs="yes")
    assert asked.headers["location"] == f"/studio/projects/{project}/export"
    waiting = lea.get(f"projects/{project}/export")
    assert (waiting.headers["refresh"], "is being created" in waiting.text) == ("2", True)
    assert lea.post(f"projects/{project}/export", to="rle").status_code == 409
    assert lea.get(f"projects/{project}/export.zip").status_code == 404
    kept = []
    for _ in range(2):
        assert JobRunner(site, [ExportProject()], Here()).run_next()
        page = lea.get(f"projects/{project}/export")
        assert "Your export is ready" in page.text
        assert "refresh" not in page.headers
        with zipfile.ZipFile(
            io.BytesIO(lea.get(f"projects/{project}/export.zip").content)
        ) as archive:
            assert {"scenes.json", "times.csv", "README.txt", "images/street-0.png"} == set(
                archive.namelist()
            )
            assert archive.read("images/street-0.png") == picture(0)
        kept.append(set(site.folder.exports.folder.rglob("*/*")))
        lea.post(f"projects/{project}/export", photographs="yes", nameless="yes")
    assert [len(files) for files in kept] == [1, 1]
    assert kept[0] != kept[1], "the one before is gone"
    assert rex.get(f"projects/{project}/export.zip").status_code == 404
    assert JobRunner(site, [ExportProject()], Here()).run_next()
    for file in site.folder.exports.folder.rglob("*/*"):
        file.unlink()
    assert "was deleted" in lea.get(f"projects/{project}/export.zip").text


@pytest.mark.long
def test_exports_go_with_their_project_also_one_that_comes_late(served, people, monkeypatch):
    monkeypatch.setattr(export_job, "_AT_ONCE", 0)
    lea, site, exports = people["Lea"], served.site, served.site.folder.exports
    project = project_of(site, lea.id, {"Anna": "annotator"}, name="Gone")
    people["Anna"].draw(give_task(site, tasks_of(site, project)[0], people["Anna"].id), ANNA)
    lea.post(f"projects/{project}/export")
    assert JobRunner(site, [ExportProject()], Here()).run_next()
    with site.database.reading() as session:
        _, made = find_export(session, project, lea.id)
    assert exports.path(made.sha256).is_file()
    lea.post(f"projects/{project}/remove", name="Gone")
    assert not exports.path(made.sha256).is_file()
    late = exports.keep(b"late")
    with site.database.writing() as session:
        assert find_export(session, project, lea.id) is None
        job = find_job(session, ExportProject.name, f"{project} {lea.id}")
        ExportProject().write(session, site, job, StoredArchive(late, 4, "late.zip"))
    assert not exports.path(late).is_file()
