"""Permissions of every route of the studio for every kind of visitor. New routes must be added here."""

import re

import pytest
from annotation_fixtures import (
    box,
    give_task,
    picture,
    project_of,
    save_of,
    scene,
    someone,
    tasks_of,
)
from starlette.routing import Route
from study_fixtures import answer, link_of, study_of

from segarena_server.auth.permissions import required_role
from segarena_studio.orm_models import Task
from segarena_studio.site_section import STUDIO

NOBODY, VIEWER, OTHER, ORGANISER, ADMIN = "nobody", "viewer", "other", "organiser", "admin"
OWNER, SECOND, REVIEWER, LEAD = "owner", "second", "reviewer", "lead"
PERSONS = (NOBODY, VIEWER, OTHER, ORGANISER, ADMIN, OWNER, SECOND, REVIEWER, LEAD)
"""Of a project there are: who annotates the task that is asked for, who annotates the same picture, who reviews and who
leads it. The others are in no project."""

EVERYBODY = set(PERSONS)
PARTICIPANTS = EVERYBODY - {NOBODY, VIEWER}
ORGANISERS = {ORGANISER, ADMIN, LEAD}
MEMBERS = {OWNER, SECOND, REVIEWER, LEAD}
JUDGES = {REVIEWER, LEAD}
SEES_TASK = {OWNER, REVIEWER, LEAD}
NOBODY_HERE: set[str] = set()
"""What is of a studio on one machine alone, or of something that this test does not make."""

PROJECT, TASK, LOOK, SEAT, STUDY, TAKE = (
    "/studio/projects/{project_id:int}",
    "/studio/tasks/{task_id:int}",
    "/studio/look",
    "/studio/seats",
    "/studio/studies/{slug}",
    "/studio/take/{link}",
)
WHO = {
    ("GET", "/studio"): PARTICIPANTS,
    ("GET", "/studio/open"): NOBODY_HERE,
    ("GET", "/studio/components"): NOBODY_HERE,
    ("GET", "/studio/projects"): PARTICIPANTS,
    ("GET", "/studio/projects/new"): ORGANISERS,
    ("POST", "/studio/projects/new"): ORGANISERS,
    ("GET", PROJECT): MEMBERS,
    ("POST", f"{PROJECT}/next"): MEMBERS,
    ("POST", f"{PROJECT}/take"): MEMBERS,
    ("GET", f"{PROJECT}/people"): MEMBERS,
    ("GET", f"{PROJECT}/settings"): {LEAD},
    ("POST", f"{PROJECT}/settings"): {LEAD},
    ("POST", f"{PROJECT}/state"): {LEAD},
    ("POST", f"{PROJECT}/remove"): {LEAD},
    ("POST", f"{PROJECT}/members"): {LEAD},
    ("POST", f"{PROJECT}/invite"): {LEAD},
    # Only with an invitation:
    ("GET", "/studio/join"): NOBODY_HERE,
    ("POST", "/studio/join"): NOBODY_HERE,
    ("POST", f"{PROJECT}/deal"): {LEAD},
    ("POST", f"{PROJECT}/pictures"): {LEAD},
    ("POST", f"{PROJECT}/folder"): {LEAD},
    ("POST", f"{PROJECT}/start"): {LEAD},
    ("GET", f"{PROJECT}/export"): JUDGES,
    ("POST", f"{PROJECT}/export"): JUDGES,
    ("GET", f"{PROJECT}/export.zip"): NOBODY_HERE,
    ("GET", TASK): SEES_TASK,
    ("GET", f"{TASK}/look"): SEES_TASK,
    ("GET", f"{TASK}/view"): SEES_TASK,
    ("GET", f"{TASK}/compare"): JUDGES,
    ("GET", f"{TASK}/comparison"): JUDGES,
    ("GET", f"{TASK}/checks"): SEES_TASK,
    ("POST", f"{TASK}/review"): SEES_TASK,
    ("POST", f"{TASK}/give"): {LEAD},
    ("POST", f"{TASK}/remove-picture"): {LEAD},
    ("GET", f"{TASK}/draft"): SEES_TASK,
    ("PUT", f"{TASK}/draft"): {OWNER},
    ("POST", f"{TASK}/check"): SEES_TASK,
    ("POST", f"{TASK}/finalise"): {OWNER},
    ("POST", f"{TASK}/reopen"): SEES_TASK,
    ("GET", f"{TASK}/comments"): SEES_TASK,
    ("POST", f"{TASK}/comments"): SEES_TASK,
    ("POST", f"{TASK}/comments/{{comment_id:int}}/done"): SEES_TASK,
    ("GET", f"{TASK}/picture"): SEES_TASK,
    # Only of 16-bit pictures:
    ("GET", f"{TASK}/values"): NOBODY_HERE,
    ("GET", f"{TASK}/preview"): SEES_TASK,
    ("GET", f"{TASK}/thumbnail"): SEES_TASK,
    ("GET", f"{TASK}/neighbours"): SEES_TASK,
    ("GET", f"{TASK}/tasks"): {OWNER},
    # Their own drawings and free tasks only:
    ("GET", f"{TASK}/tasks/{{other_id:int}}/scene"): {OWNER},
    ("GET", f"{TASK}/tasks/{{other_id:int}}/thumbnail"): NOBODY_HERE,
    ("GET", f"{TASK}/frames"): {OWNER},
    ("GET", f"{TASK}/propagation"): {OWNER},
    ("POST", f"{TASK}/propagation"): {OWNER},
    ("POST", f"{TASK}/propagation/cancel"): {OWNER},
    ("POST", f"{TASK}/track"): {OWNER},
    ("GET", "/studio/key"): PARTICIPANTS,
    ("POST", f"{TASK}/ask"): {OWNER},
    ("POST", f"{TASK}/encode"): {OWNER},
    ("GET", LOOK): NOBODY_HERE,
    ("GET", f"{LOOK}/{{number:int}}"): NOBODY_HERE,
    ("GET", f"{LOOK}/{{number:int}}/view"): NOBODY_HERE,
    ("GET", f"{LOOK}/{{number:int}}/rows"): NOBODY_HERE,
    ("GET", f"{LOOK}/{{number:int}}/content"): NOBODY_HERE,
    ("GET", f"{LOOK}/{{number:int}}/plane/{{direction:int}}/{{index:int}}"): NOBODY_HERE,
    ("GET", f"{LOOK}/{{number:int}}/layers/{{direction:int}}/{{index:int}}"): NOBODY_HERE,
    ("GET", f"{LOOK}/{{number:int}}/thumb"): NOBODY_HERE,
    ("POST", f"{LOOK}/{{number:int}}/replay"): NOBODY_HERE,
    ("GET", f"{LOOK}/{{number:int}}/report"): NOBODY_HERE,
    ("GET", SEAT): PARTICIPANTS,
    ("GET", f"{SEAT}/{{run}}"): NOBODY_HERE,
    ("GET", f"{SEAT}/{{run}}/dialogues"): NOBODY_HERE,
    ("POST", f"{SEAT}/{{run}}/dialogues/{{seat}}/free"): NOBODY_HERE,
    ("POST", f"{SEAT}/{{run}}/dialogues/{{seat}}/end"): NOBODY_HERE,
    ("POST", f"{SEAT}/{{run}}/take"): NOBODY_HERE,
    ("GET", f"{SEAT}/{{run}}/{{seat}}/about"): NOBODY_HERE,
    ("GET", f"{SEAT}/{{run}}/{{seat}}/state"): NOBODY_HERE,
    ("PUT", f"{SEAT}/{{run}}/{{seat}}/rounds/{{number}}"): NOBODY_HERE,
    ("GET", f"{SEAT}/{{run}}/{{seat}}/picture/{{number}}"): NOBODY_HERE,
    ("GET", f"{SEAT}/{{run}}/{{seat}}/voxels"): NOBODY_HERE,
    ("GET", "/studio/studies"): ORGANISERS,
    ("GET", "/studio/studies/new"): ORGANISERS,
    ("POST", "/studio/studies/new"): ORGANISERS,
    ("POST", "/studio/studies/{slug}/corrections"): ORGANISERS,
    ("GET", STUDY): ORGANISERS,
    ("POST", STUDY): ORGANISERS,
    ("POST", f"{STUDY}/links"): ORGANISERS,
    ("POST", f"{STUDY}/links/{{link}}/end"): ORGANISERS,
    ("GET", f"{STUDY}/items/{{number:int}}"): ORGANISERS,
    ("GET", f"{STUDY}/items/{{number:int}}/picture"): ORGANISERS,
    ("GET", f"{STUDY}/export"): ORGANISERS,
    ("GET", TAKE): EVERYBODY,
    ("POST", TAKE): EVERYBODY,
    ("GET", f"{TAKE}/trials"): EVERYBODY,
    # Only who agreed, whatever account they have:
    ("GET", f"{TAKE}/next"): NOBODY_HERE,
    ("POST", f"{TAKE}/batch"): NOBODY_HERE,
    ("POST", f"{TAKE}/finish"): NOBODY_HERE,
    ("POST", f"{TAKE}/withdraw"): NOBODY_HERE,
    ("POST", f"{TAKE}/trials/{{trial}}"): NOBODY_HERE,
    ("POST", f"{TAKE}/trials/{{trial}}/begin"): NOBODY_HERE,
    ("GET", f"{TAKE}/trials/{{trial}}/picture"): NOBODY_HERE,
    ("GET", f"{TAKE}/trials/{{trial}}/target"): NOBODY_HERE,
}
"""Who gets something else than that they may not, or that there is nothing."""

JSON = {
    "propagation": {"regions": ["r1"]},
    "cancel": {},
    "track": {"region": "r1", "action": "accept"},
    "draft": save_of(0),
    "check": {"scene": scene(box(0, 0, 9, 9))},
    "finalise": {"base": 0, "is_complete": True, "is_ordered": True},
    "reopen": {},
    "comments": {"text": "x"},
    "done": {"is_done": True},
    "ask": {"segmenter": "none", "prompts": [{"kind": "click", "at": [5, 5], "is_positive": True}]},
    "encode": {"segmenter": "none"},
    "batch": {},
    "finish": {},
    "begin": {},
    "{trial}": answer((5, 5)),
}
"""What scripts send, by how the address ends."""

FILES = {
    "pictures": ("pictures", ("a.png", picture(9), "image/png")),
    "start": ("file", ("a.json", b"{}")),
}
FORMS = {
    "review": {"do": "approve"},
    "members": {"name": "second", "role": "annotator"},
    "invite": {"people": "second", "role": "annotator"},
    "state": {"state": "open"},
    "{slug}": {"state": "open"},
}


@pytest.fixture(scope="module")
def scene_of_all(served):
    """All kinds of visitors, and a project of the lead with the owner's task."""
    roles = {ORGANISER: "organiser", LEAD: "organiser", ADMIN: "admin", VIEWER: "viewer"}
    pages = {
        name: served.person(name, roles.get(name, "participant"))
        for name in PERSONS
        if name != NOBODY
    }
    pages[NOBODY] = served.client()
    site = served.site
    numbers = {name: someone(site, name) for name in PERSONS if name != NOBODY}
    members = {OWNER: "annotator", SECOND: "annotator", REVIEWER: "reviewer"}
    project = project_of(site, numbers[LEAD], members, annotators=2, is_free=False)
    first, second = tasks_of(site, project)
    give_task(site, first, numbers[OWNER])
    with site.database.writing() as session:
        session.get_one(Task, first.id).state = "in progress"  # or its picture could be removed
    give_task(site, second, numbers[SECOND])
    values = {
        "project_id": project,
        "task_id": first.id,
        "other_id": first.id,
        "comment_id": 1,
        "number": 1,
        "direction": 0,
        "index": 0,
    }
    values |= {"run": "none", "seat": "none", "trial": "none", "slug": "photos"}
    return pages, values | {"link": link_of(study_of(site, slug="photos"))}


def key_of(client):
    found = re.search(r'name="key" value="([0-9a-f]{64})"', client.get("/team").text)
    return found[1] if found else ""


def ask(pages, values, person, method, path):
    client = pages[person]
    address = re.sub(r"\{(\w+)(?::\w+)?\}", lambda match: str(values[match[1]]), path)
    ending, key = path.rpartition("/")[2], key_of(client)
    if method == "GET":
        return client.get(address)
    if ending in JSON:
        return client.request(method, address, json=JSON[ending], headers={"x-form-key": key})
    files = [FILES[ending]] if ending in FILES else None
    return client.request(method, address, data={"key": key, **FORMS.get(ending, {})}, files=files)


def is_refused(answer):
    """Tell whether access was denied; forbidden pages look like missing ones."""
    if answer.status_code in (401, 403, 404):
        return True
    return answer.status_code == 303 and answer.headers["location"] == "/sign-in"


def test_the_table_of_this_test_is_that_of_the_studio():
    found = [
        (method, route)
        for router in STUDIO.routers
        for route in router.routes
        for method in route.methods - {"HEAD"}
    ]
    assert {(method, route.path) for method, route in found} == set(WHO)
    assert all(isinstance(route, Route) and required_role(route.endpoint) for _, route in found)


@pytest.mark.parametrize(
    "person",
    [
        person
        if person in (NOBODY, OTHER, SECOND)
        else pytest.param(person, marks=pytest.mark.long)
        for person in PERSONS
    ],
)
def test_nobody_gets_where_they_may_not(scene_of_all, person):
    wrong = []
    for (method, path), who in WHO.items():
        answer = ask(*scene_of_all, person, method, path)
        assert answer.status_code < 500, (method, path, answer.text)
        if is_refused(answer) != (person not in who):
            wrong.append((method, path, answer.status_code))
    assert wrong == []
