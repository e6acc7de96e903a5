"""Studies for tests, and people who take part in them without a browser."""

import re

from segarena_studio.studies.description import Study
from segarena_studio.studies.management import create_study
from segarena_studio.studies.study_export import study_named
from segarena_studio.studies.visits import link_text, make_link

NO_TIME = {"free_s": 0.0, "shown_s": 0.0, "text_s": 0.0, "blocked_s": 0.0}


class Made:
    """A study on a site."""

    def __init__(self, site, slug):
        self.site, self.slug = site, slug


def study_of(site, **changes):
    """Return a study of squares in which nothing has to be waited for."""
    told = {
        "slug": "squares", "title": "Squares", "dataset": "sample-squares(count=6)", "batch": 3, "batches": 2,
        "training": 1, "attention": 1, "answers": 5, **NO_TIME,
    }  # fmt: skip
    study = Study(**{**told, **changes})
    create_study(site, study)
    return Made(site, study.slug)


def link_of(made, most=50):
    """Return the text of a new link of a study."""
    with made.site.database.writing() as session:
        link = make_link(session, study_named(session, made.slug), "", most, made.site.now())
        return link_text(made.site, link)


def answer(*places, pointer="mouse", **changes):
    """Return what a page sends for one stroke through these places."""
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


class Taker:
    """Somebody who takes part by requests alone."""

    def __init__(self, client, link, device="pc"):
        self.client, self.base = client, f"/studio/take/{link}"
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
