"""People, pictures, projects and scenes for the tests of annotation."""

import io
import json
import re
import time

import numpy as np
from PIL import Image
from sqlalchemy import select

from segarena_server.auth.access_keys import create_key
from segarena_server.auth.permissions import cookie_name, session_cookie
from segarena_server.db.orm_models import Person
from segarena_studio.annotation.agreement import compare_pending, find_pending_pairs
from segarena_studio.annotation.pictures import add_picture, check_picture
from segarena_studio.annotation.projects import ProjectRules, create_project, set_member
from segarena_studio.orm_models import Task

WIDTH, HEIGHT = 120, 90


def picture(seed=0, size=(WIDTH, HEIGHT), kind="PNG", **options):
    """Return the bytes of a random picture."""
    pixels = np.random.default_rng(seed).integers(0, 255, (size[1], size[0], 3)).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format=kind, **options)
    return buffer.getvalue()


def someone(site, name, role="participant"):
    """Return the number of a person of this name, created on demand."""
    with site.database.writing() as session:
        found = session.scalar(select(Person).where(Person.name == name))
        if found is None:
            found = Person(
                name=name,
                folded=name.lower(),
                password="-",
                role=role,
                state="confirmed",
                made_at=0.0,
            )
            session.add(found)
            session.flush()
        return found.id


def cookies_of(served, person):
    """Return the cookies with which a browser is signed in as a person, by number."""
    with served.site.database.writing() as session:
        key = create_key(session, "session", served.site.now(), person_id=person)
    value = session_cookie(served.site, key)
    return [{"name": cookie_name(served.site), "value": value, "url": served.address}]


def project_of(site, lead, members=None, *, pictures=1, **rules):
    """Create a project with some pictures and return its number; members are roles by names of existing people."""
    with site.database.writing() as session:
        project = create_project(
            session, ProjectRules(**{"name": "Street", "seed": 1, **rules}), lead, 0.0
        )
        for name, role in (members or {}).items():
            set_member(session, project, name, role, 0.0)
        for number in range(pictures):
            checked = check_picture(f"street-{number}.png", picture(number))
            add_picture(session, project, site.folder.photographs, checked, 0.0)
        return project.id


def tasks_of(site, project):
    """Return the tasks of a project."""
    with site.database.reading() as session:
        return list(
            session.scalars(select(Task).where(Task.project_id == project).order_by(Task.id))
        )


def give_task(site, task, person):
    """Assign a task to a person, and return its number."""
    with site.database.writing() as session:
        session.get_one(Task, task.id).person_id = person
    return task.id


def compare_all(site, project):
    """Compare all pending pairs; a page request may be comparing at the same time."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        compare_pending(site, project)
        with site.database.reading() as session:
            if not find_pending_pairs(session, project):
                return
        time.sleep(0.02)
    raise AssertionError("drawings were not compared in time")


def box(left, top, right, bottom):
    """Return the corners of a box, (x, y)."""
    return [[left, top], [right, top], [right, bottom], [left, bottom]]


def scene(*outlines, names=(), **more):
    """Return a document of outlines, front first."""
    points = [corner for outline in outlines for corner in outline]
    regions = []
    at = 0
    for number, outline in enumerate(outlines, 1):
        name = names[number - 1] if number <= len(names) else f"thing {number}"
        told = {"name": name, "is_stuff": False, "is_hidden": False, "is_locked": False}
        regions.append({"id": f"r{number}", "ring": list(range(at, at + len(outline))), **told})
        at += len(outline)
    return {
        "version": 1,
        "points": points,
        "regions": regions,
        "next_id": len(outlines) + 1,
        **more,
    }


def save_of(base, number=None, drawn=None, **more):
    """Return a save request of an editor."""
    drawn = drawn if drawn is not None else scene(box(10, 10, 60, 60))
    return {
        "base": base,
        "id": f"save-{base if number is None else number}",
        "scene": drawn,
        **more,
    }


def text_of(value):
    """Encode a value as JSON."""
    return json.dumps(value).encode()


class EditorClient:
    """A signed-in person's editor, by requests."""

    def __init__(self, served, name, role="participant"):
        self.client = served.person(name, role)
        self.id = someone(served.site, name)
        self.key = re.search(r'name="key" value="([0-9a-f]{64})"', self.client.get("/studio").text)[
            1
        ]

    def ask(self, method, place, body=None, **headers):
        headers = {"accept": "application/json", "x-form-key": self.key, **headers}
        return self.client.request(method, f"/studio/tasks/{place}", json=body, headers=headers)
