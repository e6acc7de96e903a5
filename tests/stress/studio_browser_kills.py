"""Kills of a browser while the reply to a save is on its way or never comes: its tabs' drafts must be restored.

    python tests/stress/studio_browser_kills.py [--kills 20] [--seed N]

A real Chromium with a profile on the disk draws regions in the editor. Saves, or the replies to them, are lost on the
way. At a random moment within half a second of a region's last click all its processes are killed (SIGKILL). Another
Chromium opens the picture with the same profile. Requirement: no region older than two seconds is missing, restored
ones reach the server once the network is back, and nobody is asked to choose.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "packages/segarena-server/tests/support"))
sys.path.insert(0, str(Path(__file__).parents[2] / "packages/segarena-studio/tests/support"))
sys.path.insert(0, str(Path(__file__).parents[2]))  # first: `conftest` is the one of all tests

from annotation_fixtures import give_task, picture, tasks_of
from at_work import Served
from conftest import CHROMIUM, QUIET
from input_devices import Mouse

from segarena_studio.annotation.pictures import add_picture, check_picture
from segarena_studio.annotation.projects import ProjectRules, create_project
from segarena_studio.orm_models import Project
from segarena_studio.standalone import open_standalone

SIZE = (640, 480)
YOUNG_S = 2.0


def main() -> int:
    """Run the test and print the results; return 1 if a requirement is not met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = parser.parse_args()
    if CHROMIUM is None:
        print("nothing was tried: there is no Chromium")
        return 0
    from playwright.sync_api import sync_playwright

    rng = random.Random(given.seed)
    young = old = choices = there = 0
    age_s = 0.0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        site, key = open_standalone(Path(folder) / "pictures", 0, workers=0)
        served = Served(site)
        with site.database.writing() as session:
            project = create_project(session, ProjectRules(name="Street"), site.only_person, 0.0).id
            drawn_on = check_picture("street.png", picture(size=SIZE))
            add_picture(
                session, session.get_one(Project, project), site.folder.photographs, drawn_on, 0.0
            )
        task = give_task(site, tasks_of(site, project)[0], site.only_person)
        profile = Path(folder) / "profile"
        for _ in range(given.kills):
            context, page = opened(playwright, profile, served, key, task)
            shown = count(page)
            choices += page.locator("#conflict[open]").count()
            missing = max(0, there - shown)
            old, young = old + missing * (age_s > YOUNG_S), young + missing * (age_s <= YOUNG_S)
            page.locator("#saved.saved-saved").wait_for(timeout=60_000)
            lose_saves(page, rng)
            outline(page, shown)
            drawn_at, there = time.monotonic(), shown + 1
            time.sleep(rng.uniform(0.0, 0.5))
            age_s = time.monotonic() - drawn_at
            kill(profile)
            with suppress(Exception):
                context.close()
        context, page = opened(playwright, profile, served, key, task)
        shown = count(page)
        young += max(0, there - shown)
        page.locator("#saved.saved-saved").wait_for(timeout=60_000)
        kept = len(served_scene(served, key, task)["regions"])
        context.close()
        served.stop()
    print(
        f"seed {given.seed}: {given.kills} kills of Chromium; {young} regions missing that were younger than half a "
        f"second, {old} older ones, {choices} choices; {shown} regions shown in the end, {kept} with the server"
    )
    return int(bool(old or choices or shown != kept))


def opened(playwright: Any, profile: Path, served: Served, key: str, task: int) -> tuple[Any, Any]:
    """Open the picture in a browser with this profile."""
    context = playwright.chromium.launch_persistent_context(
        str(profile),
        executable_path=CHROMIUM,
        args=["--disable-gpu", *QUIET.split()],
        viewport={"width": 1400, "height": 900},
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"{served.address}/studio/open?key={key}")
    page.goto(f"{served.address}/studio/tasks/{task}")
    page.locator("#scene[data-ready]").wait_for()
    return context, page


def lose_saves(page: Any, rng: random.Random) -> None:
    """Lose saves, or the replies to them, on the way."""

    def lose(route: Any) -> None:
        if route.request.method != "PUT":
            route.continue_()
        elif is_heard:
            route.fetch()
        else:
            route.abort()

    is_heard = rng.random() < 0.5
    page.route("**/draft", lose)


def outline(page: Any, number: int) -> None:
    """Draw the region with this number at its own place."""
    x, y = 10 + 60 * (number % 10), 10 + 60 * (number // 10 % 7)
    Mouse(page, SIZE).outline((x, y), (x + 50, y), (x + 50, y + 50), (x, y + 50))


def count(page: Any) -> int:
    """Return how many regions the editor has."""
    return int(page.evaluate("window.segarena.editor.scene.regions.length"))


def kill(profile: Path) -> None:
    """Kill all processes of the browser with this profile."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes()
            if str(profile).encode() in words and b"chrom" in words.split(b"\0")[0]:
                os.kill(int(folder.name), signal.SIGKILL)
    time.sleep(0.3)
    for lock in profile.glob("Singleton*"):
        lock.unlink(missing_ok=True)


def served_scene(served: Served, key: str, task: int) -> dict[str, Any]:
    """Return the scene that the server has."""
    client = served.client(follow_redirects=True)
    client.get(f"/studio/open?key={key}")
    return client.get(f"/studio/tasks/{task}/draft", headers={"accept": "application/json"}).json()[
        "scene"
    ]


if __name__ == "__main__":
    sys.exit(main())
