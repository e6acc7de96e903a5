"""Requests that make no sense, frames that are none, and a host that is gone in the middle of a word."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

from segarena.dialogue import Dialogue
from segarena.prompts import Click
from segarena.segmenters.workers.check_helpers import (
    CheckResult,
    predict_two_rounds,
    run_check,
    tested_prompt_kinds,
)
from segarena.segmenters.workers.connection import open_connection
from segarena.segmenters.workers.synthetic_samples import SHAPES, synthetic_sample
from segarena.segmenters.workers.worker import Worker
from segarena.segmenters.workers.worker_client import WorkerError
from segarena.serialization import encode_dialogue
from segarena.worker import PROTOCOL

ENDS_WITHIN_S = 10.0
"""So soon a worker is gone after its host hung up."""


FRAMES = {
    "a frame that announces a body of 2^62 bytes": (2).to_bytes(4, "little")
    + (2**62).to_bytes(8, "little")
    + b"{}",
    "the end in the middle of a frame": (100).to_bytes(4, "little")
    + (0).to_bytes(8, "little")
    + b'{"verb"',
    "the end before anything is asked": b"",
}
"""What may be said before the host is gone."""


def wrong_requests(worker: Worker, _make: Callable[[], Worker]) -> Iterator[CheckResult]:
    """Ask for what it cannot give; it says so, and answers what comes next."""
    of = min(worker.sample_kinds)
    outside = Dialogue().ask((Click(tuple(side + 5 for side in SHAPES[of])),))
    bodies: list[Any] = []
    outside_told = encode_dialogue(outside, bodies, lambda _: 0)
    unknown = {"rounds": [[{"kind": "wish"}]]}
    no_option = {"protocol": PROTOCOL, "options": {"no such option": 1}}
    requests: list[tuple[str, str, dict[str, Any], str]] = [
        ("an unknown verb", "dance", {}, "verb"),
        ("another protocol", "hello", {"protocol": PROTOCOL + 1}, "protocol"),
        ("an option that it does not have", "hello", no_option, "options"),
        ("an unknown handle", "predict", {"handle": -1, "dialogues": []}, "handle"),
        ("a prompt of an unknown kind", "predict", {"dialogues": [unknown]}, "protocol"),
        ("a sample of an unknown kind", "encode", {"sample": {"kind": "smell"}}, "protocol"),
        ("a prompt outside of the sample", "predict", {"dialogues": [outside_told]}, ""),
        ("a dialogue without prompts", "predict", {"dialogues": [{"rounds": []}]}, ""),
    ]
    for what, verb, told, expected in requests:

        def attempt(verb: str = verb, told: dict[str, Any] = told, expected: str = expected) -> str:
            encoded = worker.encode(synthetic_sample(of, SHAPES[of], 0))
            life = encoded.known()
            came = ""
            try:
                worker.conversation.ask(verb, {"handle": encoded.handle, **told}, life=life)
            except WorkerError as error:
                came = error.kind
            if expected and came != expected:
                return f"expected an error of kind {expected!r}, got {came or 'an answer'!r}"
            predict_two_rounds(worker, tested_prompt_kinds(worker)[0], of, SHAPES[of])
            return ""

        yield run_check(f"goes on after {what}", attempt)


def identity(worker: Worker, _make: Callable[[], Worker]) -> Iterator[CheckResult]:
    """Ask which files it stands on, and let it forget something."""

    def attempt() -> str:
        return "" if worker.identity["sources"] else "it does not say which file it is"

    checked = run_check("says which files decide its answers", attempt)
    weights = worker.identity["weights"] if checked.is_right else {}
    none = "no weights among them: set self.weights to a list of files if it has any"
    told = checked.told or ", ".join(weights) or none
    yield replace(checked, told=told)

    def forgotten() -> str:
        encoded = worker.encode(
            synthetic_sample(
                min(worker.sample_kinds), (4,) * len(SHAPES[min(worker.sample_kinds)]), 0
            )
        )
        held = int(worker.conversation.ask("ping", {}, life=encoded.known())[0].get("held", 0))
        worker.conversation.drop(worker.conversation.life, encoded.handle)
        left = int(worker.conversation.ask("drop", {})[0].get("held", 0))
        return "" if left < held else f"holds {left} encodings after one of {held} was dropped"

    yield run_check("forgets an encoding that is not needed any more", forgotten)


def broken_frames(worker: Worker, _make: Callable[[], Worker]) -> Iterator[CheckResult]:
    """Speak nonsense to it, or hang up: it ends."""
    reach = worker.conversation.reach
    if reach.is_address:  # without the token it hangs up, and goes on for others
        return
    for what, data in FRAMES.items():

        def attempt(data: bytes = data) -> str:
            started = time.monotonic()
            link = open_connection(reach)
            now = time.monotonic()
            link.until = now + max(
                ENDS_WITHIN_S, now - started
            )  # a large model takes long to leave, too
            with closing(link), suppress(OSError):  # it may be gone already
                link.write(data)
                link.hang_up()
                link.wait_for_end()
            return ""

        checked = run_check(f"ends after {what}", attempt)
        yield (
            checked
            if checked.is_right
            else replace(checked, told=f"{checked.told}: it goes on, held by nobody")
        )
