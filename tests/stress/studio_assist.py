"""From a click to its mask: the time that the studio adds to the segmenter's, including for the first click.

    python tests/stress/studio_assist.py [--clicks 40] [--pictures 6] [--segmenter graph] [--megapixels 3]

A simulated annotator opens one picture after the other. Like the editor, it requests the encoding of the picture when
it is opened, and then of the next two; it clicks at once, and repeatedly for `--look-s` seconds. It sends HTTP requests
and reads the run lengths, as the page does. The time from the request to the parsed reply, without the segmenter's own,
is what the studio adds: network, waiting for the process, communication between processes, run lengths, JSON.
Requirement: its 95th percentile is at most `--most-ms`, also for the first click on each picture. The very first
picture cannot be encoded ahead: its first click waits until the segmenter is built and has encoded it, and is reported
separately.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import httpx2
import numpy as np
from served import Server
from studio_saves import Site

sys.path.insert(0, str(Path(__file__).parents[2] / "packages/segarena-studio/tests/support"))
from annotation_fixtures import give_task, someone, tasks_of

from segarena_server.server_process import open_site
from segarena_server.settings import Settings
from segarena_studio.annotation.pictures import add_picture, check_picture
from segarena_studio.annotation.projects import ProjectRules, create_project, set_member


@dataclass(frozen=True, slots=True)
class Asked:
    """A click with its reply: milliseconds in total, of the segmenter, and of the encoding of the picture."""

    total: float
    model: float
    encode: float
    is_first: bool

    @property
    def added(self) -> float:
        """Time that the studio adds."""
        return self.total - self.model - self.encode


def photograph(seed: int, megapixels: float) -> bytes:
    """Return a picture of blobs and noise, as a JPEG."""
    rng, width = np.random.default_rng(seed), round((megapixels * 1e6 * 4 / 3) ** 0.5)
    height = width * 3 // 4
    image = rng.integers(0, 255, (height // 40, width // 40, 3)).astype(np.uint8)
    image = cv2.resize(image, (width, height), interpolation=cv2.INTER_CUBIC)
    for _ in range(12):
        centre, axes = rng.integers(0, [width, height]), rng.integers(width // 30, width // 8, 2)
        colour = tuple(map(int, rng.integers(0, 255, 3)))
        cv2.ellipse(image, tuple(map(int, centre)), tuple(map(int, axes)), 0, 0, 360, colour, -1)
    return cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes()


def prepare(data: Path, pictures: int, megapixels: float, segmenters: tuple[str, ...]) -> Site:
    """Create a project of such pictures, all assigned to one annotator."""
    site = open_site(data, Settings(segmenters=segmenters))
    lead, person = someone(site, "Lead", "organiser"), someone(site, "Anna")
    with site.database.writing() as session:
        project = create_project(session, ProjectRules(name="Clicks", seed=1), lead, 0.0)
        set_member(session, project, "Anna", "annotator", 0.0)
        for number in range(pictures):
            checked = check_picture(f"{number}.jpg", photograph(number, megapixels))
            add_picture(session, project, site.folder.photographs, checked, 0.0)
        number = project.id
    tasks = [give_task(site, task, person) for task in tasks_of(site, number)]
    site.database.close()
    return Site(data, [person], tasks)


class Page:
    """The requests of the editor's page."""

    def __init__(self, server: Server, cookie: str, segmenter: str) -> None:
        headers = {"accept": "application/json", "cookie": cookie}
        self._client = httpx2.Client(
            base_url=f"http://127.0.0.1:{server.port}", headers=headers, timeout=300
        )
        self._client.headers["x-form-key"] = self._client.get("/studio/key").json()["key"]
        self._segmenter = segmenter

    def open(self, task: int) -> tuple[int, int]:
        """Open a picture: request its encoding and those of the next two; return its width and height."""
        told = self._client.get(f"/studio/tasks/{task}/draft").json()["picture"]
        self._encode(task, is_ahead=False)
        for each in self._client.get(f"/studio/tasks/{task}/neighbours").json()["next"][:2]:
            self._encode(each["task"], is_ahead=True)
        return told["width"], told["height"]

    def ask(self, task: int, prompts: list[dict[str, Any]], *, is_first: bool) -> Asked:
        """Send a request and read the reply."""
        started = time.perf_counter()
        answer = self._client.post(
            f"/studio/tasks/{task}/ask", json={"segmenter": self._segmenter, "prompts": prompts}
        )
        told = answer.raise_for_status().json()
        total = 1e3 * (time.perf_counter() - started)
        if sum(told["counts"]) != told["size"][0] * told["size"][1]:
            raise ValueError("the run lengths do not fill the picture")
        return Asked(total, told["model_ms"], told["encode_ms"], is_first)

    def in_order(self, tasks: list[int]) -> list[int]:
        """Return tasks in the order in which they are worked on."""
        places = {
            task: self._client.get(f"/studio/tasks/{task}/neighbours").json() for task in tasks
        }
        following = {
            task: told["next"][0]["task"] if told["next"] else 0 for task, told in places.items()
        }
        found = [task for task, told in places.items() if not told["previous"]]
        while following[found[-1]]:
            found.append(following[found[-1]])
        return found

    def _encode(self, task: int, *, is_ahead: bool) -> None:
        body = {"segmenter": self._segmenter, "is_ahead": is_ahead}
        self._client.post(f"/studio/tasks/{task}/encode", json=body).raise_for_status()


def main() -> int:
    """Run the test and print the results; return 1 if a requirement is not met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clicks", type=int, default=40, help="Total number of clicks.")
    parser.add_argument("--pictures", type=int, default=6)
    parser.add_argument("--segmenter", default="graph", help="Without weights, or NAME=PLUGIN.")
    parser.add_argument("--megapixels", type=float, default=3.0)
    parser.add_argument("--look-s", type=float, default=20.0, help="Seconds spent on each picture.")
    parser.add_argument("--most-ms", type=float, default=150.0)
    given = parser.parse_args()
    rng = random.Random(0)
    further = (given.segmenter,) if given.segmenter not in ("graph", "grabcut", "watershed") else ()
    name = given.segmenter.partition("=")[0]
    with tempfile.TemporaryDirectory() as folder:
        site = prepare(Path(folder) / "data", given.pictures, given.megapixels, further)
        server = Server(
            site.data,
            log=Path(folder) / "log",
            settings={"workers": 0, "segmenters": list(further)},
        )
        server.start()
        server.wait()
        page, each = Page(server, site.sign_in(0), name), max(2, given.clicks // given.pictures)
        asked: list[Asked] = []
        for task in page.in_order(site.tasks):
            width, height = page.open(task)
            prompts: list[dict[str, Any]] = []
            for click in range(each):
                at = [rng.uniform(0.1, 0.9) * width, rng.uniform(0.1, 0.9) * height]
                prompts.append({"kind": "click", "at": at, "is_positive": click % 2 == 0})
                asked.append(page.ask(task, prompts, is_first=click == 0))
                time.sleep(given.look_s / each)
        server.stop()
    return tell(given, name, asked)


def tell(given: argparse.Namespace, name: str, asked: list[Asked]) -> int:
    """Print the results; return 1 if a requirement is not met."""
    very_first, asked = asked[0], asked[1:]
    firsts = [one for one in asked if one.is_first]
    print(
        f"{name}, {given.megapixels:g} megapixels: {len(asked)} clicks on {given.pictures} pictures"
    )
    print(
        f"the segmenter: {_spread([one.model for one in asked])}; in all {_spread([one.total for one in asked])}"
    )
    print(
        f"the very first click, with building the segmenter and encoding: {very_first.total:.0f} ms"
    )
    added, first = (_spread([one.added for one in which]) for which in (asked, firsts))
    print(f"added: {added}; by the first clicks {first}")
    highest = max(np.quantile([one.added for one in which], 0.95) for which in (asked, firsts))
    return int(bool(highest > given.most_ms))


def _spread(values_ms: list[float]) -> str:
    median, high, most = np.quantile(values_ms, [0.5, 0.95, 1.0])
    return f"median {median:.0f} ms, p95 {high:.0f}, at most {most:.0f}"


if __name__ == "__main__":
    sys.exit(main())
