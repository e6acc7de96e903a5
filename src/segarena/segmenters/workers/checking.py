"""A hostile host: holds a conversation with a worker in which everything is tried that goes wrong sooner or later."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from segarena.dialogue import Dialogue, Prediction, as_prediction
from segarena.errors import PluginInvalid, SegarenaError
from segarena.prompts import Click
from segarena.samples import Support
from segarena.segmenters.workers.conversation import Told
from segarena.segmenters.workers.encoded import Encoded
from segarena.segmenters.workers.examples import ODD_SHAPES, SHAPES, said_in, sample_of
from segarena.segmenters.workers.links import Lost, reached
from segarena.segmenters.workers.telling import tell_dialogue
from segarena.segmenters.workers.worker import Worker
from segarena.worker import PROMPTS, PROTOCOL

MOST_LIVES = 10
"""A worker that is lost so often is not tried any further."""

ENDS_WITHIN_S = 10.0
"""So soon a worker is gone after its host hung up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One thing that was tried.

    Attributes:
        what: was tried.
        is_right: whether the worker did what it should.
        told: what came.
    """

    what: str
    is_right: bool
    told: str = ""


def check_worker(make: Callable[[], Worker], *, limit_s: float = 60.0) -> list[Checked]:
    """Hold the conversation; return what is right and what is not.

    Args:
        make: starts the worker; another one each time.
        limit_s: of each request.
    """
    started = time.perf_counter()
    try:
        worker = make()
    except PluginInvalid as error:
        return [Checked(what="starts and says hello", is_right=False, told=str(error).removeprefix("worker: "))]
    seconds = time.perf_counter() - started
    with worker.conversation.within(limit_s):
        found = [_introduced(worker, seconds)]
        steps = (_prompts, _odd_shapes, _batches, _again, _elsewhere, _packing, _wrong_requests, _identity)
        for each in chain.from_iterable(step(worker, make) for step in (*steps, _broken_frames, _speed)):
            found.append(each)
            if worker.conversation.life > MOST_LIVES:
                told = f"it had to be started {MOST_LIVES} times; what else there is was not tried"
                return [*found, Checked(what="stays alive", is_right=False, told=told)]
    return found


def _introduced(worker: Worker, seconds: float) -> Checked:
    hello = worker.conversation.hello
    versions = ", ".join(f"{name} {version}" for name, version in hello.environment.items() if name != "machine")
    takes = "prompts it does not name" if worker.prompt_kinds is None else ", ".join(sorted(worker.prompt_kinds))
    told = f"{hello.model} on {hello.device} in {seconds:.1f} s; {versions}; {', '.join(worker.sample_kinds)}: {takes}"
    return Checked(what="starts and says hello", is_right=True, told=told)


def _tried(what: str, attempt: Callable[[], str]) -> Checked:
    """Try something; it returns what is wrong, or raises."""
    try:
        told = attempt()
    except (SegarenaError, Told, Lost) as error:
        told = str(error)
    return Checked(what=what, is_right=not told, told=told)


def _kinds(worker: Worker) -> list[str]:
    return sorted(PROMPTS if worker.prompt_kinds is None else worker.prompt_kinds)


def _dialogue(worker: Worker, kind: str, shape: Sequence[int], rounds: int) -> Dialogue:
    """Return what is said in so many rounds; examples come encoded, as in a run."""
    said = [
        tuple(
            replace(prompt, encoded=worker.encode(prompt.sample)) if isinstance(prompt, Support) else prompt
            for prompt in said_in(kind, tuple(shape), number)
        )
        for number in range(rounds)
    ]
    return Dialogue(tuple(said))


def _answers(worker: Worker, encoded: Encoded, shape: Sequence[int], dialogues: Sequence[Dialogue]) -> list[Prediction]:
    given = worker.predict(encoded, dialogues)
    if len(given) != len(dialogues):
        raise PluginInvalid(f"{len(dialogues)} dialogues, {len(given)} answers; return one each, in their order")
    return [as_prediction(each, tuple(shape), name="its answer") for each in given]


def _in_two_rounds(worker: Worker, kind: str, of: str, shape: Sequence[int], seed: int = 0) -> list[Prediction]:
    """Return the answers of two rounds, the second one with what the first handed back."""
    encoded = worker.encode(sample_of(of, shape, seed))
    both = _dialogue(worker, kind, shape, 2)
    (first,) = _answers(worker, encoded, shape, [Dialogue(both.rounds[:1])])
    (second,) = _answers(worker, encoded, shape, [replace(both, previous=first)])
    return [first, second]


def _prompts(worker: Worker, _make: Callable[[], Worker]) -> Iterator[Checked]:
    for of in sorted(worker.sample_kinds):
        for kind in _kinds(worker):

            def attempt(of: str = of, kind: str = kind) -> str:
                _in_two_rounds(worker, kind, of, SHAPES[of])
                return ""

            yield _tried(f"answers {kind} prompts in two rounds ({of})", attempt)


def _odd_shapes(worker: Worker, _make: Callable[[], Worker]) -> Iterator[Checked]:
    for of in sorted(worker.sample_kinds):
        for shape in ODD_SHAPES[of]:

            def attempt(of: str = of, shape: Sequence[int] = shape) -> str:
                _in_two_rounds(worker, _kinds(worker)[0], of, shape)
                return ""

            yield _tried(f"answers on {' × '.join(map(str, shape))} ({of})", attempt)


def _asked(worker: Worker, of: str, seed: int = 0) -> tuple[Encoded, list[Dialogue]]:
    """Return an encoded sample and three dialogues about it."""
    shape, kinds = SHAPES[of], _kinds(worker)
    encoded = worker.encode(sample_of(of, shape, seed))
    return encoded, [_dialogue(worker, kinds[number % len(kinds)], shape, 1 + number) for number in range(3)]


def _batches(worker: Worker, _make: Callable[[], Worker]) -> Iterator[Checked]:
    for of in sorted(worker.sample_kinds):

        def attempt(of: str = of) -> str:
            encoded, dialogues = _asked(worker, of)
            singly = [_answers(worker, encoded, SHAPES[of], [dialogue])[0] for dialogue in dialogues]
            together = _answers(worker, encoded, SHAPES[of], dialogues)
            backwards = _answers(worker, encoded, SHAPES[of], dialogues[::-1])[::-1]
            return _difference(singly, together, "together") or _difference(singly, backwards, "in another order")

        yield _tried(f"answers three dialogues together as one by one ({of})", attempt)


def _again(worker: Worker, _make: Callable[[], Worker]) -> Iterator[Checked]:
    for of in sorted(worker.sample_kinds):

        def attempt(of: str = of) -> str:
            encoded, dialogues = _asked(worker, of)
            first = _answers(worker, encoded, SHAPES[of], dialogues)
            other, others = _asked(worker, of, seed=1)
            _answers(worker, other, SHAPES[of], others)
            return _difference(first, _answers(worker, encoded, SHAPES[of], dialogues), "after another sample")

        yield _tried(f"answers the same when asked again later ({of})", attempt)


def _elsewhere(worker: Worker, make: Callable[[], Worker]) -> Iterator[Checked]:
    def attempt() -> str:
        of = min(worker.sample_kinds)
        encoded, (_, dialogue, _) = _asked(worker, of)
        (before,) = _answers(worker, encoded, SHAPES[of], [Dialogue(dialogue.rounds[:1])])
        stored = replace(dialogue, previous=before)
        answer = _answers(worker, encoded, SHAPES[of], [stored])
        fresh = make()
        again = _answers(fresh, fresh.encode(sample_of(of, SHAPES[of], 0)), SHAPES[of], [stored])
        fresh.conversation.end()
        return _difference(answer, again, "by another process")

    yield _tried("answers the same in another process, from the dialogue alone", attempt)


def _packing(worker: Worker, _make: Callable[[], Worker]) -> Iterator[Checked]:
    pack, unpack = worker.pack, worker.unpack
    if pack is None or unpack is None:
        return

    def attempt() -> str:
        of = min(worker.sample_kinds)
        encoded, dialogues = _asked(worker, of)
        before = _answers(worker, encoded, SHAPES[of], dialogues)
        packed = pack(encoded)
        wrong = [name for name, array in packed.items() if not isinstance(array, np.ndarray)]
        if wrong:
            return f"pack gives {wrong[0]!r}, which is no array"
        return _difference(before, _answers(worker, unpack(packed), SHAPES[of], dialogues), "from the packed encoding")

    yield _tried("answers the same from an encoding that was packed and unpacked", attempt)


def _difference(first: Sequence[Prediction], second: Sequence[Prediction], how: str) -> str:
    for one, other in zip(first, second, strict=True):
        differing = int(np.count_nonzero(np.asarray(one.mask) != np.asarray(other.mask)))
        if differing:
            return f"{differing} of {np.size(one.mask)} pixels are others {how}; nothing may be kept between calls"
    return ""


def _wrong_requests(worker: Worker, _make: Callable[[], Worker]) -> Iterator[Checked]:
    of = min(worker.sample_kinds)
    outside = Dialogue().ask((Click(tuple(side + 5 for side in SHAPES[of])),))
    bodies: list[Any] = []
    outside_told = tell_dialogue(outside, bodies, lambda _: 0)
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
            encoded = worker.encode(sample_of(of, SHAPES[of], 0))
            life = encoded.known()
            came = ""
            try:
                worker.conversation.ask(verb, {"handle": encoded.handle, **told}, life=life)
            except Told as error:
                came = error.kind
            if expected and came != expected:
                return f"expected an error of kind {expected!r}, got {came or 'an answer'!r}"
            _in_two_rounds(worker, _kinds(worker)[0], of, SHAPES[of])
            return ""

        yield _tried(f"goes on after {what}", attempt)


def _identity(worker: Worker, _make: Callable[[], Worker]) -> Iterator[Checked]:
    def attempt() -> str:
        return "" if worker.identity["sources"] else "it does not say which file it is"

    checked = _tried("says which files decide its answers", attempt)
    weights = worker.identity["weights"] if checked.is_right else {}
    none = "no weights among them: set self.weights to a list of files if it has any"
    told = checked.told or ", ".join(weights) or none
    yield replace(checked, told=told)

    def forgotten() -> str:
        encoded = worker.encode(sample_of(min(worker.sample_kinds), (4,) * len(SHAPES[min(worker.sample_kinds)]), 0))
        held = int(worker.conversation.ask("ping", {}, life=encoded.known())[0].get("held", 0))
        worker.conversation.drop(worker.conversation.life, encoded.handle)
        left = int(worker.conversation.ask("drop", {})[0].get("held", 0))
        return "" if left < held else f"holds {left} encodings after one of {held} was dropped"

    yield _tried("forgets an encoding that is not needed any more", forgotten)


FRAMES = {
    "letters that are no frame": b"GET / HTTP/1.1\r\nHost: worker\r\n\r\n",
    "a frame that announces a body of 2^62 bytes": (2).to_bytes(4, "little") + (2**62).to_bytes(8, "little") + b"{}",
    "the end in the middle of a frame": (100).to_bytes(4, "little") + (0).to_bytes(8, "little") + b'{"verb"',
    "the end before anything is asked": b"",
}
"""What may be said before the host is gone."""


def _broken_frames(worker: Worker, _make: Callable[[], Worker]) -> Iterator[Checked]:
    reach = worker.conversation.reach
    if reach.is_address:  # without the token it hangs up, and goes on for others
        return
    for what, data in FRAMES.items():

        def attempt(data: bytes = data) -> str:
            link = reached(reach)
            link.until = time.monotonic() + ENDS_WITHIN_S
            with closing(link), suppress(OSError):  # it may be gone already
                link.write(data)
                link.hang_up()
                link.wait_for_end()
            return ""

        checked = _tried(f"ends after {what}", attempt)
        yield checked if checked.is_right else replace(checked, told=f"{checked.told}: it goes on, held by nobody")


def _speed(worker: Worker, _make: Callable[[], Worker]) -> Iterator[Checked]:
    times: list[float] = []

    def attempt() -> str:
        for _ in range(20):
            started = time.perf_counter()
            worker.conversation.ask("ping", {})
            times.append(time.perf_counter() - started)
        return ""

    checked = _tried("answers a ping", attempt)
    yield replace(checked, told=f"in {1000 * min(times):.2f} ms") if checked.is_right else checked
