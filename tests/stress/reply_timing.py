"""Reply times as a channel: do they tell whether something exists, or how good an answer is?

    python tests/stress/reply_timing.py [--pairs 300] [--answers 60]

Pairs of requests that must be indistinguishable are sent in random order: a sign-in with a wrong password to an account
that exists and to one that does not; the run of somebody else and one that does not exist; a good and a poor answer to
the same prompt of a test phase. For each case the script prints how often the first request of a pair took longer, with
a sign test, and the mean difference with its 95 % interval. Bar: no p below .001. Answers in a practice phase, whose
replies are not delayed, are measured for comparison and have no bar.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import httpx2
import numpy as np
from scipy.stats import binomtest
from served import PHASE, SLUG, Server, prepare

from segarena.dialogue import Prediction
from segarena.protocol.turns import TurnHeader, pack_turn
from segarena.samples import Mask
from segarena.statistics.intervals import bootstrap_mean
from segarena_server.auth.accounts import invite
from segarena_server.server_process import open_site
from segarena_server.settings import Settings

SUSPICIOUS_P = 0.001
FIRST_TICK_S = 0.25
SIDES = (480, 640)


def main() -> int:
    """Send pairs of requests and compare their times; return 1 if a requirement is not met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--answers", type=int, default=60, help="Pairs of answers in each phase.")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = random.Random(given.seed)
    is_held = compare_answers("test", given.answers, rng)
    compare_answers("practice", given.answers, rng)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        phase: dict[str, Any] = {
            "kind": "test",
            "shows": "prompts",
            "runs_at_once": 1000,
            "unlimited_ranked_runs": True,
        }
        tokens = prepare(data, 2, "sample-squares(count=1)", **phase)
        site = open_site(data, Settings())
        with site.database.writing() as session:
            invitation = invite(session, site.now(), "participant")
        site.database.close()
        generous = {"sign_ins": 10**6, "requests_per_minute": 10**6}
        settings = {"workers": 1, "limits": generous}
        server = Server(data, log=Path(folder) / "log", settings=settings)
        server.start()
        server.wait()
        base = f"http://127.0.0.1:{server.port}"
        with httpx2.Client(base_url=base, timeout=60, trust_env=False) as client:
            form = {"name": "Known", "password": "a long password", "invitation": invitation}
            client.post("/register", data=form)
            client.cookies.clear()
            apis = [api_of(client, token) for token in tokens]
            run = begin(apis[0])
            cases: dict[str, tuple[Callable[[], float], Callable[[], float]]] = {
                "wrong password: account exists, does not": (
                    lambda: sign_in(client, "Known"),
                    lambda: sign_in(client, f"Unknown {rng.randrange(10**9)}"),
                ),
                "run: of somebody else, does not exist": (
                    lambda: timed(apis[1], f"/runs/{run['id']}"),
                    lambda: timed(apis[1], f"/runs/{uuid.uuid4()}"),
                ),
            }
            for name, (first, second) in cases.items():
                is_held &= compare(name, first, second, given.pairs, rng)
        server.stop()
    return int(not is_held)


def compare(
    name: str,
    first: Callable[[], float],
    second: Callable[[], float],
    pairs: int,
    rng: random.Random,
) -> bool:
    """Print how often the first request of a pair took longer; return whether this can be chance."""
    times_s: tuple[list[float], list[float]] = ([], [])
    for _ in range(pairs):
        for which in rng.sample((0, 1), 2):
            times_s[which].append((first, second)[which]())
    longer = sum(one > other for one, other in zip(*times_s, strict=True))
    p = binomtest(longer, pairs).pvalue
    medians = [1000 * statistics.median(found) for found in times_s]
    difference = bootstrap_mean(1000 * np.subtract(*times_s))
    print(
        f"{name}: first longer in {longer} of {pairs}, p {p:.3f}; medians {medians[0]:.2f} and {medians[1]:.2f} ms; "
        f"mean difference {difference.mean:+.2f} [{difference.low:+.2f}, {difference.high:+.2f}] ms"
    )
    late = [sum(time_s > 2 * FIRST_TICK_S for time_s in found) for found in times_s]
    print(f"  after more than {2 * FIRST_TICK_S} s: {late[0]} and {late[1]} of {pairs}", flush=True)
    return p >= SUSPICIOUS_P


def compare_answers(kind: str, pairs: int, rng: random.Random) -> bool:
    """Compare the times of replies to good and to poor answers to the first prompt of a dialogue."""
    with tempfile.TemporaryDirectory() as folder:
        dataset, target = draw_photograph(Path(folder) / "photograph")
        phase: dict[str, Any] = {"kind": kind, "shows": "prompts"}
        if kind == "test":
            phase["unlimited_ranked_runs"] = True
        data = Path(folder) / "data"
        (token,) = prepare(data, 1, dataset, **phase)
        server = Server(data, log=Path(folder) / "log", settings={"workers": 1})
        server.start()
        server.wait()
        base = f"http://127.0.0.1:{server.port}"
        # An answer with few errors, and one with errors in most of the picture.
        good = cv2.erode(target.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
        poor = ~target
        with httpx2.Client(base_url=base, timeout=60, trust_env=False) as client:
            api = api_of(client, token)
            # The first run also waits for the worker process to start.
            answer_time(api, good)
            is_held = compare(
                f"{kind} phase: poor answer, good answer",
                lambda: answer_time(api, poor),
                lambda: answer_time(api, good),
                pairs,
                rng,
            )
        server.stop()
    return is_held


def draw_photograph(folder: Path) -> tuple[str, Mask]:
    """Draw a photograph with one object; return it as a dataset is written, and the mask of the object."""
    rng = np.random.default_rng(0)
    mask = np.zeros(SIDES, np.uint8)
    cv2.ellipse(mask, (300, 230), (150, 90), 20, 0, 360, 255, -1)
    photograph = np.where(mask > 0, 190, 60) + rng.normal(0, 12, SIDES)
    photograph = cv2.merge([photograph.clip(0, 255).astype(np.uint8)] * 3)
    for kind, pixels in (("images", photograph), ("masks", mask)):
        (folder / kind).mkdir(parents=True)
        cv2.imwrite(str(folder / kind / "0.png"), pixels)
    return f"folder(path={str(folder)!r})", mask > 0


def answer_time(api: Callable[..., httpx2.Response], mask: Mask) -> float:
    """Answer the first prompt of a new run; return the seconds until the reply."""
    run: dict[str, Any] = begin(api)
    (place,) = run["places"]
    path = f"/runs/{run['id']}/samples/{place['key']}/turns"
    send(api, f"{path}/0", pack_turn(TurnHeader(id=str(uuid.uuid4()), open=[0])))
    body = pack_turn(TurnHeader(id=str(uuid.uuid4())), {0: Prediction(mask)})
    begun = time.perf_counter()
    send(api, f"{path}/1", body)
    taken_s = time.perf_counter() - begun
    api("POST", f"/runs/{run['id']}/finish")
    return taken_s


def send(api: Callable[..., httpx2.Response], path: str, body: bytes) -> None:
    """Send a turn until it has a reply."""
    reply = api("POST", path, content=body)
    while reply.status_code in (202, 503):
        time.sleep(0.05)
        reply = api("POST", path, content=body)
    reply.raise_for_status()


def api_of(client: httpx2.Client, token: str) -> Callable[..., httpx2.Response]:
    """Return a function that sends a request of a participant."""
    headers = {"authorization": f"Bearer {token}"}

    def ask(method: str, path: str, **options: object) -> httpx2.Response:
        return client.request(method, f"/api/v1{path}", headers=headers, **options)  # type: ignore[arg-type] - passed on unchanged

    return ask


def begin(api: Callable[..., httpx2.Response]) -> dict[str, Any]:
    """Begin a run."""
    told = {"id": str(uuid.uuid4()), "name": "mine"}
    path = f"/challenges/{SLUG}/phases/{PHASE}/runs"
    answer = api("POST", path, json=told)
    # The only sample stays in use until the run before is closed.
    while answer.status_code == 429:
        time.sleep(0.1)
        answer = api("POST", path, json=told)
    answer.raise_for_status()
    return answer.json()


def sign_in(client: httpx2.Client, name: str) -> float:
    """Return the duration of a sign-in with a wrong password in seconds."""
    begun = time.perf_counter()
    client.post("/sign-in", data={"name": name, "password": "a wrong password"})
    return time.perf_counter() - begun


def timed(api: Callable[..., httpx2.Response], path: str) -> float:
    """Return the duration of a request in seconds."""
    begun = time.perf_counter()
    api("GET", path)
    return time.perf_counter() - begun


if __name__ == "__main__":
    sys.exit(main())
