"""Studies for tests, and participants that only send requests."""

import re

from segarena_studio.studies.description import Study
from segarena_studio.studies.management import create_study
from segarena_studio.studies.study_export import study_named
from segarena_studio.studies.visits import link_text, make_link

NO_TIME = {"free_s": 0.0, "shown_s": 0.0, "text_s": 0.0, "blocked_s": 0.0}


class CreatedStudy:
    """A study on a site."""

    def __init__(self, site, slug):
        self.site = site
        self.slug = slug


def study_of(site, **changes):
    """Create a study of squares without waiting times."""
    told = {
        "slug": "squares", "title": "Squares", "dataset": "sample-squares(count=6)", "batch": 3, "batches": 2,
        "training": 1, "attention": 1, "answers": 5, **NO_TIME,
    }  # fmt: skip
    study = Study(**{**told, **changes})
    create_study(site, study)
    return CreatedStudy(site, study.slug)


def link_of(made, most=50):
    """Create a link of a study and return its text."""
    with made.site.database.writing() as session:
        link = make_link(session, study_named(session, made.slug), "", most, made.site.now())
        return link_text(made.site, link)


def answer(*places, pointer="mouse", **changes):
    """Return the answer of a page for one stroke through these points."""
    points = [
        [float(x), float(y), float(x), float(y), 10.0 * number, 0.5]
        for number, (x, y) in enumerate(places)
    ]
    return {
        "strokes": [{"pointer": pointer, "clicks": 1, "points": points}],
        "screen": {
            "device_pixel_ratio": 1.0, "page_scale": 1.0, "image_scale": 2.0, "window": [800, 600], "scroll": [0, 0],
        },
        "times": {"free_ms": 0.0, "shown_ms": 0.0, "blocked_ms": 0.0, "answer_ms": 10.0},
        **changes,
    }  # fmt: skip


class ParticipantClient:
    """A participant that only sends requests."""

    def __init__(self, client, link, device="pc"):
        self.client = client
        self.base = f"/studio/take/{link}"
        self.agreed = client.post(self.base, data={"agrees": "yes", "device": device})

    def post(self, what, told=None):
        return self.client.post(f"{self.base}/{what}", json={} if told is None else told)

    def next(self):
        return self.client.get(f"{self.base}/next").json()

    def give(self, step, told):
        """Begin a trial and answer it."""
        self.post(f"trials/{step['trial']}/begin")
        return self.post(f"trials/{step['trial']}", told)

    def code(self):
        return re.fullmatch(r"[0-9A-F]{10}", self.next()["code"])
