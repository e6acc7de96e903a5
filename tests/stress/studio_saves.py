"""Annotators draw while the server is killed, its disk is full, sessions end, and tabs are killed.

    python tests/stress/studio_saves.py [--saves 1000] [--kills 50] [--fills 5] [--sign-outs 10] [--tab-kills 40]

Browsers are simulated by the page's own modules under node, with drafts that outlive tabs (`studio_browsers.mjs`). The
server is a real one, killed with SIGKILL at random moments within half a second of an acknowledged save. Requirement:
after each kill the database contains every acknowledged save, and nothing that was not sent; no killed tab loses an
edit older than two seconds; no annotator must choose between two of their own revisions; the page says "saved" only of
what the server has; in the end it has every edit, each counted once, and no browser keeps a draft.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from full_disk import Disk, disk_at
from served import Server, integrity_of
from sqlalchemy import select

sys.path.insert(0, str(Path(__file__).parents[2] / "packages/segarena-studio/tests/support"))
from annotation_fixtures import give_task, project_of, someone, tasks_of

from segarena_server.auth.access_keys import create_key, end_keys
from segarena_server.auth.permissions import cookie_name, session_cookie
from segarena_server.db.database import Database
from segarena_server.server_process import open_site
from segarena_server.settings import Settings
from segarena_server.storage.compression import decompress_body
from segarena_studio.annotation.drafts import read_revision
from segarena_studio.orm_models import LogSegment, Task

BROWSERS = Path(__file__).with_name("studio_browsers.mjs")
YOUNG_MS = 2000.0
"""An edit that is younger may be lost with the tab."""


@dataclass
class Browsers:
    """Simulated browsers in one node process, and their reports."""

    process: subprocess.Popen[str]
    acknowledged: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    told: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    saves: int = 0

    def listen(self) -> None:
        """Collect the reports of the browsers until they end."""
        for line in self.process.stdout or ():
            told = json.loads(line)
            if "revision" in told:
                self.acknowledged[told["browser"]] = told["edits"], told["revision"]
                self.saves += 1
            else:
                self.told.append(told)

    def wait_for_save(self, seconds: float = 60.0) -> bool:
        """Wait until another save is acknowledged; return False if the browsers have ended."""
        before, until = self.saves, time.monotonic() + seconds
        while self.saves == before and self.process.poll() is None:
            if time.monotonic() > until:
                raise TimeoutError("no save was acknowledged for a minute")
            time.sleep(0.005)
        return self.process.poll() is None


@dataclass
class Site:
    """The folder of a server with a project, an annotator for each browser, and their cookies."""

    data: Path
    people: list[int]
    tasks: list[int]

    def cookies(self) -> list[str]:
        """Sign in all annotators again, which ends earlier sessions."""
        return [self.sign_in(number) for number in range(len(self.people))]

    def sign_in(self, number: int) -> str:
        """End the sessions of one annotator; return the cookie of a new one."""
        site = open_site(self.data, Settings())
        with site.database.writing() as session:
            end_keys(session, self.people[number], site.now(), kind="session")
            key = create_key(session, "session", site.now(), person_id=self.people[number])
        site.database.close()
        return f"{cookie_name(site)}={session_cookie(site, key)}"

    def sign_out(self, number: int) -> None:
        """End the sessions of one annotator."""
        database = Database(self.data / "segarena.sqlite")
        with database.writing() as session:
            end_keys(session, self.people[number], time.time(), kind="session")
        database.close()

    def standing(self) -> list[tuple[int, int, int]]:
        """Return edits, revision and number of log entries for each task."""
        database = Database(self.data / "segarena.sqlite")
        found: list[tuple[int, int, int]] = []
        with database.reading() as session:
            for number in self.tasks:
                task = session.get_one(Task, number)
                drawn = read_revision(session, task)
                logs = session.scalars(
                    select(LogSegment.entries).where(LogSegment.task_id == number)
                )
                entries = sum(len(json.loads(decompress_body(each))) for each in logs)
                found.append(
                    (int(drawn[0].regions[0].name) if drawn else 0, task.revision, entries)
                )
        database.close()
        return found


def prepare(data: Path, browsers: int) -> Site:
    """Create people, a project and a task for each."""
    site = open_site(data, Settings())
    lead = someone(site, "Lead", "organiser")
    names = [f"Annotator {number}" for number in range(browsers)]
    people = [someone(site, name) for name in names]
    project = project_of(site, lead, dict.fromkeys(names, "annotator"), pictures=browsers)
    tasks = [
        give_task(site, task, person)
        for task, person in zip(tasks_of(site, project), people, strict=True)
    ]
    site.database.close()
    return Site(data, people, tasks)


def start_browsers(server: Server, site: Site, *, saves: int, kills: float, seed: int) -> Browsers:
    """Start the browsers."""
    each = [
        {"task": task, "person": person, "cookie": cookie}
        for task, person, cookie in zip(site.tasks, site.people, site.cookies(), strict=True)
    ]
    told = {
        "address": f"http://127.0.0.1:{server.port}",
        "browsers": each,
        "saves": saves,
        "kills": kills,
        "seed": seed,
    }
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        ["node", str(BROWSERS)], stdin=pipe, stdout=pipe, text=True, bufsize=1
    )
    browsers = Browsers(process)
    threading.Thread(target=browsers.listen, daemon=True).start()
    _say(browsers, told)
    return browsers


def kill_once(server: Server, site: Site, browsers: Browsers, rng: random.Random) -> int:
    """Kill the server at a random moment and restart it; return how many acknowledged saves were lost."""
    time.sleep(rng.uniform(0.0, 0.5))
    server.kill()
    time.sleep(0.3)  # by now, all acknowledged saves are reported
    acknowledged = dict(browsers.acknowledged)
    lost = 0
    for number, (edits, revision, _) in enumerate(site.standing()):
        told_edits, told_revision = acknowledged.get(number, (0, 0))
        lost += edits < told_edits or revision < told_revision
    server.start()
    server.wait()
    return lost


def sign_out_once(site: Site, browsers: Browsers, rng: random.Random) -> None:
    """End a person's session; they sign in again some time later, in another tab."""
    number = rng.randrange(len(site.people))
    site.sign_out(number)
    time.sleep(rng.uniform(0.1, 1.5))
    _say(browsers, {"browser": number, "cookie": site.sign_in(number)})


def fill_once(disk: Disk, server: Server, browsers: Browsers, rng: random.Random) -> None:
    """Keep the disk full for some seconds."""
    disk.fill(server)
    time.sleep(rng.uniform(1.0, 4.0))
    disk.free(server)
    browsers.wait_for_save()


def _say(browsers: Browsers, told: dict[str, Any]) -> None:
    assert browsers.process.stdin is not None
    with suppress(BrokenPipeError):
        browsers.process.stdin.write(json.dumps(told) + "\n")


def main() -> int:
    """Run the test and print the results; return 1 if a requirement is not met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--saves", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--fills", type=int, default=5)
    parser.add_argument("--sign-outs", type=int, default=10)
    parser.add_argument("--tab-kills", type=int, default=40, help="Approximate number of saves.")
    parser.add_argument("--browsers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = parser.parse_args()
    if shutil.which("node") is None:
        print("nothing was tried: there is no node")
        return 0
    rng = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder, disk_at(Path(folder) / "disk") as disk:
        site = prepare(disk.place / "data", given.browsers)
        server = Server(site.data, log=Path(folder) / "log", settings={"workers": 0})
        server.start()
        server.wait()
        share = given.tab_kills / max(1, given.saves)
        browsers = start_browsers(server, site, saves=given.saves, kills=share, seed=given.seed)
        troubles = ["kill"] * given.kills + ["fill"] * given.fills + ["sign out"] * given.sign_outs
        rng.shuffle(troubles)
        lost = done = 0
        for number, trouble in enumerate(troubles):
            while (
                browsers.saves < given.saves * number / max(1, len(troubles))
                and browsers.wait_for_save()
            ):
                pass
            if not browsers.wait_for_save():
                break
            done += 1
            if trouble == "kill":
                lost += kill_once(server, site, browsers, rng)
            elif trouble == "fill":
                fill_once(disk, server, browsers, rng)
            else:
                sign_out_once(site, browsers, rng)
        code = browsers.process.wait(300)
        time.sleep(0.2)
        server.stop()
        found = site.standing()
        is_whole = integrity_of(site.data / "segarena.sqlite")
    return tell(
        given,
        browsers,
        found,
        lost=lost,
        done=done,
        is_whole=is_whole and not code,
        troubles=len(troubles),
    )


def tell(
    given: argparse.Namespace,
    browsers: Browsers,
    found: Sequence[tuple[int, int, int]],
    *,
    lost: int,
    done: int,
    is_whole: bool,
    troubles: int,
) -> int:
    """Print the results; return 1 if a requirement is not met."""
    over = {each["browser"]: each for each in browsers.told if each.get("over")}
    killed = [each for each in browsers.told if each.get("killed")]
    differing = sum(
        number not in over or over[number]["shown"] != edits
        for number, (edits, _, _) in enumerate(found)
    )
    made = sum(each["made"] for each in over.values())
    entries, gone = sum(entries for *_, entries in found), sum(each["lost"] for each in killed)
    twice = max(0, entries - made)
    old = sum(each["oldest_ms"] > YOUNG_MS for each in killed)
    choices, wrong = (sum(each[what] for each in over.values()) for what in ("choices", "wrong"))
    kept = sum(each["kept"] for each in over.values())
    print(
        f"seed {given.seed}: {browsers.saves} saves of {made} edits by {given.browsers} browsers; {given.kills} kills "
        f"of the server, {given.fills} times a full disk, {given.sign_outs} times signed out; {len(killed)} tabs "
        f"killed, with {gone} edits younger than {YOUNG_MS / 1000:g} s"
    )
    print(
        f"{lost} acknowledged saves lost, {old} older edits lost, {choices} false choices, "
        f"{wrong} times saved was wrong, {differing} scenes differ, {twice} edits counted twice, {kept} drafts left, "
        f"database {'whole' if is_whole else 'DAMAGED'}"
    )
    is_right = (
        is_whole
        and done == troubles
        and not any((lost, old, choices, wrong, differing, twice, kept))
    )
    return int(not is_right)


if __name__ == "__main__":
    sys.exit(main())
