"""Checks of a worker's protocol: invalid requests, broken frames, and a host that disappears."""

from __future__ import annotations

import time
from collections.abc import Iterator
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

END_LIMIT_S = 10.0
"""Number of seconds within which a worker must end after its host has hung up; more if its start took longer."""


def _frame(
    header_bytes: int,
    body_bytes: int,
    content: bytes,
) -> bytes:
    return header_bytes.to_bytes(4, "little") + body_bytes.to_bytes(8, "little") + content


FRAMES = {
    "a frame that announces a body of 2^62 bytes": _frame(2, 2**62, b"{}"),
    "the end in the middle of a frame": _frame(100, 0, b'{"verb"'),
    "the end before any request": b"",
}
"""Last bytes that a host sends before it hangs up."""


def wrong_requests(worker: Worker) -> Iterator[CheckResult]:
    """Send invalid requests; check that the worker continues and, for most of them, the kind of its error."""
    sample_kind = min(worker.sample_kinds)
    shape = SHAPES[sample_kind]
    outside = Dialogue().ask((Click(tuple(side + 5 for side in shape)),))
    bodies: list[Any] = []
    outside_header = encode_dialogue(outside, bodies, lambda _: 0)
    unknown = {"rounds": [[{"kind": "wish"}]]}
    no_option = {"protocol": PROTOCOL, "options": {"no such option": 1}}
    # Description, verb, header, and expected kind of the error ("" accepts any reaction).
    requests: list[tuple[str, str, dict[str, Any], str]] = [
        ("an unknown verb", "dance", {}, "verb"),
        ("another protocol", "hello", {"protocol": PROTOCOL + 1}, "protocol"),
        ("an unknown option", "hello", no_option, "options"),
        ("an unknown handle", "predict", {"handle": -1, "dialogues": []}, "handle"),
        ("a prompt of an unknown kind", "predict", {"dialogues": [unknown]}, "protocol"),
        ("a sample of an unknown kind", "encode", {"sample": {"kind": "smell"}}, "protocol"),
        ("a prompt outside the sample", "predict", {"dialogues": [outside_header]}, ""),
        ("a dialogue without prompts", "predict", {"dialogues": [{"rounds": []}]}, ""),
    ]
    for description, verb, header, expected in requests:

        def attempt(
            verb: str = verb,
            header: dict[str, Any] = header,
            expected: str = expected,
        ) -> str:
            encoded = worker.encode(synthetic_sample(sample_kind, shape, 0))
            generation = encoded.ensure_current()
            fields = {"handle": encoded.handle, **header}
            received = ""
            try:
                worker.client.request(verb, fields, generation=generation)
            except WorkerError as error:
                received = error.kind
            if expected and received != expected:
                got = received or "an answer"
                return f"expected an error of kind {expected!r}, got {got!r}"
            predict_two_rounds(worker, tested_prompt_kinds(worker)[0], sample_kind, shape)
            return ""

        yield run_check(f"continues after {description}", attempt)


def identity(worker: Worker) -> Iterator[CheckResult]:
    """Check that the worker reports the files that determine its predictions, and frees encodings."""

    def names_sources() -> str:
        return "" if worker.identity["sources"] else "it does not report its own file"

    result = run_check("reports the files that determine its answers", names_sources)
    if result.has_passed:
        weights = ", ".join(worker.identity["weights"])
        hint = "no weights among them: set self.weights to a list of files if the model has any"
        result = replace(result, details=weights or hint)
    yield result

    def frees_encoding() -> str:
        sample_kind = min(worker.sample_kinds)
        shape = (4,) * len(SHAPES[sample_kind])
        encoded = worker.encode(synthetic_sample(sample_kind, shape, 0))
        before, _ = worker.client.request("ping", {}, generation=encoded.ensure_current())
        worker.client.release(worker.client.generation, encoded.handle)
        after, _ = worker.client.request("drop", {})
        held = int(before.get("held", 0))
        left = int(after.get("held", 0))
        if left < held:
            return ""
        return f"holds {left} encodings after one of {held} was dropped"

    yield run_check("frees an encoding that is no longer needed", frees_encoding)


def broken_frames(worker: Worker) -> Iterator[CheckResult]:
    """Send broken frames and hang up; check that the worker ends. Listening workers are not checked."""
    config = worker.client.config
    # A listening worker closes connections without the token and keeps running for other hosts.
    if config.is_address:
        return
    for description, data in FRAMES.items():

        def attempt(data: bytes = data) -> str:
            started = time.monotonic()
            stream = open_connection(config)
            now = time.monotonic()
            # A large model that loads slowly also ends slowly.
            stream.until = now + max(END_LIMIT_S, now - started)
            # The worker may have ended already when the last bytes are written.
            with closing(stream), suppress(OSError):
                stream.write(data)
                stream.hang_up()
                stream.wait_for_end()
            return ""

        result = run_check(f"ends after {description}", attempt)
        if not result.has_passed:
            result = replace(result, details=f"{result.details}: it keeps running without a host")
        yield result
