"""Hostile requests to the studio: damaged saves, questions and forms, hostile pictures and names.

    python tests/stress/studio_hostile.py [--requests 3000] [--seed N]

An annotator and the project's lead send what the pages send, damaged in bytes or in single values: other types, deep
lists, huge numbers, NaN, scripts and paths as names; pictures that are cut, have false headers or would decompress to
gigabytes; addresses with names that act as paths. Requirement: no 5xx, no error that the server attributes to itself,
less than 1 GiB of memory in each of its processes, no unescaped script in any page, an intact database, and an honest
save and an honest click that work as before.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import sys
import tempfile
import threading
import time
import zlib
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
from damage import damaged
from served import Server, children, integrity_of
from sqlalchemy import select
from studio_load import scene_of
from studio_saves import Site, prepare

sys.path.insert(0, str(Path(__file__).parents[2] / "packages/segarena-studio/tests/support"))
from annotation_fixtures import picture, someone

from segarena_server.auth.access_keys import create_key
from segarena_server.auth.permissions import cookie_name, session_cookie
from segarena_server.server_process import open_site
from segarena_server.settings import Settings
from segarena_studio.orm_models import Project

MOST_BYTES = 1 << 30
SCRIPT = "<script>alert(1)</script>"
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 10**30, 1e308, "", SCRIPT, "../../etc/passwd", "\x00", "a" * 100_000, [], {}, [[]] * 50,
    '"onmouseover="alert(1)', "{{ 7 * 7 }}", "'; DROP TABLE people; --", "💥", "\ud800",
)  # fmt: skip
NAMES = (
    "../../etc/passwd",
    "..%2f..%2fsecret",
    "%00",
    "9" * 400,
    "-1",
    "1e9",
    "%3Cscript%3E",
    "0",
    "99999999999999999999",
)
PLACES = (
    "tasks/{name}", "tasks/{name}/draft", "tasks/{name}/picture", "tasks/{name}/look", "projects/{name}",
    "projects/{name}/export.zip", "projects/{project}?state={name}&person={name}&text={name}&page={name}",
    "projects/{project}/people?since={name}", "{name}", "seats/{name}", "studies/{name}",
)  # fmt: skip


class Attacker:
    """An annotator and a lead who send damaged requests.

    Args:
        server: server to attack.
        site: its people and tasks.
        lead: cookie of the project's lead.
        rng: random generator that selects requests and damage.
    """

    def __init__(
        self, server: Server, site: Site, lead: str, project: int, rng: random.Random
    ) -> None:
        self._rng, self._task, self._project = rng, site.tasks[0], project
        self.annotator, self._lead = (_client(server, cookie) for cookie in (site.sign_in(0), lead))
        self.heard = Counter[int]()
        self.unescaped = 0

    def attack(self) -> None:
        """Send one request."""
        kinds = (
            self._json,
            self._json,
            self._json,
            self._bytes,
            self._picture,
            self._form,
            self._place,
        )
        try:
            answer = self._rng.choice(kinds)()
        except (
            httpx2.TransportError
        ):  # a body that is too long is rejected before it has arrived, and the connection ends
            self.heard[0] += 1
            return
        self.heard[answer.status_code] += 1
        self.unescaped += "html" in answer.headers.get("content-type", "") and SCRIPT in answer.text

    def _sound(self) -> tuple[str, str, dict[str, Any]]:
        save = {
            "base": 0,
            "id": f"x{self._rng.random()}",
            "scene": scene_of(1),
            "history": [1],
            "log": [],
        }
        click = {
            "segmenter": "watershed",
            "prompts": [{"kind": "click", "at": [3.5, 4.5], "is_positive": True}],
        }
        return self._rng.choice(
            (
                ("PUT", "draft", save),
                ("POST", "ask", click),
                ("POST", "encode", {"segmenter": "watershed", "is_ahead": True}),
                ("POST", "check", {"scene": scene_of(1)}),
                ("POST", "finalise", {"base": 0, "is_complete": True, "is_ordered": True}),
                ("POST", "comments", {"text": "here", "at": [1.0, 2.0], "region": "r1"}),
            )
        )

    def _json(self) -> httpx2.Response:
        method, place, told = self._sound()
        for _ in range(self._rng.randint(1, 3)):
            self._change(told)
        body = json.dumps(told).encode()
        return self.annotator.request(method, f"/studio/tasks/{self._task}/{place}", content=body)

    def _change(self, told: Any) -> None:
        """Replace a random value of a document."""
        while isinstance(told, (dict, list)) and told:
            key = self._rng.choice(list(told) if isinstance(told, dict) else range(len(told)))
            if not isinstance(told[key], (dict, list)) or not told[key] or self._rng.random() < 0.3:
                told[key] = self._rng.choice(VALUES)
                return
            told = told[key]

    def _bytes(self) -> httpx2.Response:
        method, place, told = self._sound()
        deep = b"[" * 50_000
        body = damaged(json.dumps(told).encode(), [deep, b"\xff\xfe", b"NaN", picture()], self._rng)
        return self.annotator.request(method, f"/studio/tasks/{self._task}/{place}", content=body)

    def _picture(self) -> httpx2.Response:
        content = self._rng.choice(
            (_bomb(), damaged(picture(), [b"GIF89a", b"<svg/>", b"%PDF"], self._rng))
        )
        name = self._rng.choice(
            (f"{SCRIPT}.png", "../../x.png", "x.svg", "a" * 300 + ".png", "\x00.png", "x.png")
        )
        files = {"files": (name, content, "image/png")}
        place = f"/studio/projects/{self._project}/pictures"
        return self._lead.post(place, data={"key": self._lead.headers["x-form-key"]}, files=files)

    def _form(self) -> httpx2.Response:
        place = self._rng.choice(
            ("settings", "members", "deal", "folder", "state", "next", "export")
        )
        names = (
            "name",
            "guide",
            "labels",
            "annotators",
            "seed",
            "person",
            "role",
            "count",
            "folder",
            "state",
            "is_free",
            "to",
            "which",
            "annotator",
        )
        texts = [value for value in VALUES if isinstance(value, str) and value.isprintable()]
        form = {name: self._rng.choice(texts) for name in names}
        form |= {"name": SCRIPT, "annotators": "1", "key": self._lead.headers["x-form-key"]}
        form["state"] = "open"
        return self._lead.post(f"/studio/projects/{self._project}/{place}", data=form)

    def _place(self) -> httpx2.Response:
        place = self._rng.choice(PLACES).format(name=self._rng.choice(NAMES), project=self._project)
        return self._lead.get(f"/studio/{place}", headers={"accept": "text/html"})


def _client(server: Server, cookie: str) -> httpx2.Client:
    client = httpx2.Client(
        base_url=f"http://127.0.0.1:{server.port}", headers={"cookie": cookie}, timeout=120
    )
    client.headers["accept"] = "application/json"
    client.headers["x-form-key"] = client.get("/studio/key").json()["key"]
    return client


def _bomb() -> bytes:
    """Return a PNG of some kilobytes whose header claims 60 000 x 60 000 pixels."""
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 0, 0, 0, 0)
    body = zlib.compress(bytes(10**6))
    parts = ((b"IHDR", header), (b"IDAT", body), (b"IEND", b""))
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def honest(attacker: Attacker, task: int) -> bool:
    """Save and click as the page does; return whether both worked."""
    address, client = f"/studio/tasks/{task}", attacker.annotator
    before = client.get(f"{address}/draft").json()
    if not before["is_open"]:
        client.post(f"{address}/reopen", content=b'{"text": ""}')
    save = {"base": before["revision"], "id": f"honest-{time.time_ns()}", "scene": scene_of(7)}
    saved = client.put(f"{address}/draft", json=save)
    click = {"segmenter": "watershed", "prompts": [{"kind": "click", "at": [60.5, 45.5]}]}
    answer = client.post(f"{address}/ask", json=click)
    again = client.get(f"{address}/draft").json()["scene"]
    return saved.status_code == answer.status_code == httpx2.codes.OK and again == scene_of(7)


def main() -> int:
    """Run the attack and print the results; return 1 if a requirement is not met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        site = prepare(Path(folder) / "data", 1)
        opened = open_site(site.data, Settings())
        lead = someone(opened, "Lead")
        with opened.database.writing() as session:
            key = create_key(session, "session", opened.now(), person_id=lead)
            project = session.scalars(select(Project.id)).one()
        opened.database.close()
        cookie = f"{cookie_name(opened)}={session_cookie(opened, key)}"
        server = Server(site.data, log=Path(folder) / "log", settings={"workers": 0})
        server.start()
        server.wait()
        attacker = Attacker(server, site, cookie, project, random.Random(given.seed))
        largest, is_over = [0], threading.Event()
        watching = threading.Thread(target=_watch, args=(server, largest, is_over), daemon=True)
        watching.start()
        for _ in range(given.requests):
            attacker.attack()
        is_over.set()
        is_honest = honest(attacker, site.tasks[0])
        server.stop()
        lines = [json.loads(line) for line in (Path(folder) / "log").read_text().splitlines()]
        faults = [told for told in lines if told["level"] == "error"]
        is_whole = integrity_of(site.data / "segarena.sqlite")
    broken = sum(count for status, count in attacker.heard.items() if status >= 500)
    for fault in faults[:3]:
        print(fault)
    print(
        f"seed {given.seed}: answers {dict(sorted(attacker.heard.items()))}, at most {largest[0] >> 20} MiB a process"
    )
    print(
        f"{given.requests} requests, {broken} with 5xx, {len(faults)} faults, {attacker.unescaped} pages with a "
        f"script, honest work {'goes on' if is_honest else 'FAILS'}, database {'whole' if is_whole else 'DAMAGED'}"
    )
    is_right = is_honest and is_whole and largest[0] < MOST_BYTES
    return int(not is_right or bool(broken or faults or attacker.unescaped))


def _watch(server: Server, largest: list[int], is_over: threading.Event) -> None:
    while not is_over.wait(0.2):
        for pid in (server.process.pid, *children(server.process.pid)):
            with suppress(OSError):
                words = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
                largest[0] = max(largest[0], int(words[1]) * 4096)


if __name__ == "__main__":
    sys.exit(main())
