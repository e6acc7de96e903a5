"""A hostile host: holds a conversation with a worker in which everything is tried that goes wrong sooner or later."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from segarena.dialogue import Dialogue, Prediction
from segarena.errors import PluginInvalid
from segarena.segmenters.workers.check_helpers import (
    CheckResult,
    build_dialogue,
    predict_checked,
    predict_two_rounds,
    run_check,
    tested_prompt_kinds,
)
from segarena.segmenters.workers.encoding_handle import EncodingHandle
from segarena.segmenters.workers.protocol_checks import broken_frames, identity, wrong_requests
from segarena.segmenters.workers.synthetic_samples import ODD_SHAPES, SHAPES, synthetic_sample
from segarena.segmenters.workers.worker import Worker

MAX_STARTS = 10
"""A worker that is lost so often is not tried any further."""


def check_worker(make: Callable[[], Worker], *, limit_s: float = 60.0) -> list[CheckResult]:
    """Hold the conversation; return what is right and what is not.

    Args:
        make: starts the worker; another one each time.
        limit_s: of each request.
    """
    started = time.perf_counter()
    try:
        worker = make()
    except PluginInvalid as error:
        return [
            CheckResult(
                what="starts and says hello",
                is_right=False,
                told=str(error).removeprefix("worker: "),
            )
        ]
    seconds = time.perf_counter() - started
    with worker.conversation.within(limit_s):
        found = [_introduced(worker, seconds)]
        steps = (
            _prompts,
            _odd_shapes,
            _batches,
            _again,
            _elsewhere,
            _packing,
            wrong_requests,
            identity,
        )
        for each in chain.from_iterable(
            step(worker, make) for step in (*steps, broken_frames, _speed)
        ):
            found.append(each)
            if worker.conversation.starts > MAX_STARTS:
                told = f"it had to be started {MAX_STARTS} times; what else there is was not tried"
                return [*found, CheckResult(what="stays alive", is_right=False, told=told)]
    return found


def _introduced(worker: Worker, seconds: float) -> CheckResult:
    hello = worker.conversation.hello
    versions = ", ".join(
        f"{name} {version}" for name, version in hello.environment.items() if name != "machine"
    )
    if worker.prompt_kinds is None:
        takes = "prompts it does not name"
    else:
        takes = ", ".join(sorted(worker.prompt_kinds))
    told = f"{hello.model} on {hello.device} in {seconds:.1f} s; {versions}; {', '.join(worker.sample_kinds)}: {takes}"
    return CheckResult(what="starts and says hello", is_right=True, told=told)


def _prompts(worker: Worker, _make: Callable[[], Worker]) -> Iterator[CheckResult]:
    for of in sorted(worker.sample_kinds):
        for kind in tested_prompt_kinds(worker):

            def attempt(of: str = of, kind: str = kind) -> str:
                predict_two_rounds(worker, kind, of, SHAPES[of])
                return ""

            yield run_check(f"answers {kind} prompts in two rounds ({of})", attempt)


def _odd_shapes(worker: Worker, _make: Callable[[], Worker]) -> Iterator[CheckResult]:
    for of in sorted(worker.sample_kinds):
        for shape in ODD_SHAPES[of]:

            def attempt(of: str = of, shape: Sequence[int] = shape) -> str:
                predict_two_rounds(worker, tested_prompt_kinds(worker)[0], of, shape)
                return ""

            yield run_check(f"answers on {' × '.join(map(str, shape))} ({of})", attempt)


def _asked(worker: Worker, of: str, seed: int = 0) -> tuple[EncodingHandle, list[Dialogue]]:
    """Return an encoded sample and three dialogues about it."""
    shape = SHAPES[of]
    kinds = tested_prompt_kinds(worker)
    encoded = worker.encode(synthetic_sample(of, shape, seed))
    return encoded, [
        build_dialogue(worker, kinds[number % len(kinds)], shape, 1 + number) for number in range(3)
    ]


def _batches(worker: Worker, _make: Callable[[], Worker]) -> Iterator[CheckResult]:
    for of in sorted(worker.sample_kinds):

        def attempt(of: str = of) -> str:
            encoded, dialogues = _asked(worker, of)
            singly = [
                predict_checked(worker, encoded, SHAPES[of], [dialogue])[0]
                for dialogue in dialogues
            ]
            together = predict_checked(worker, encoded, SHAPES[of], dialogues)
            backwards = predict_checked(worker, encoded, SHAPES[of], dialogues[::-1])[::-1]
            return _difference(singly, together, "together") or _difference(
                singly, backwards, "in another order"
            )

        yield run_check(f"answers three dialogues together as one by one ({of})", attempt)


def _again(worker: Worker, _make: Callable[[], Worker]) -> Iterator[CheckResult]:
    for of in sorted(worker.sample_kinds):

        def attempt(of: str = of) -> str:
            encoded, dialogues = _asked(worker, of)
            first = predict_checked(worker, encoded, SHAPES[of], dialogues)
            other, others = _asked(worker, of, seed=1)
            predict_checked(worker, other, SHAPES[of], others)
            return _difference(
                first,
                predict_checked(worker, encoded, SHAPES[of], dialogues),
                "after another sample",
            )

        yield run_check(f"answers the same when asked again later ({of})", attempt)


def _elsewhere(worker: Worker, make: Callable[[], Worker]) -> Iterator[CheckResult]:
    def attempt() -> str:
        of = min(worker.sample_kinds)
        encoded, (_, dialogue, _) = _asked(worker, of)
        (before,) = predict_checked(worker, encoded, SHAPES[of], [Dialogue(dialogue.rounds[:1])])
        stored = replace(dialogue, previous=before)
        answer = predict_checked(worker, encoded, SHAPES[of], [stored])
        fresh = make()
        again = predict_checked(
            fresh, fresh.encode(synthetic_sample(of, SHAPES[of], 0)), SHAPES[of], [stored]
        )
        fresh.conversation.end()
        return _difference(answer, again, "by another process")

    yield run_check("answers the same in another process, from the dialogue alone", attempt)


def _packing(worker: Worker, _make: Callable[[], Worker]) -> Iterator[CheckResult]:
    pack = worker.pack
    unpack = worker.unpack
    if pack is None or unpack is None:
        return

    def attempt() -> str:
        of = min(worker.sample_kinds)
        encoded, dialogues = _asked(worker, of)
        before = predict_checked(worker, encoded, SHAPES[of], dialogues)
        packed = pack(encoded)
        wrong = [name for name, array in packed.items() if not isinstance(array, np.ndarray)]
        if wrong:
            return f"pack gives {wrong[0]!r}, which is no array"
        return _difference(
            before,
            predict_checked(worker, unpack(packed), SHAPES[of], dialogues),
            "from the packed encoding",
        )

    yield run_check("answers the same from an encoding that was packed and unpacked", attempt)


def _difference(first: Sequence[Prediction], second: Sequence[Prediction], how: str) -> str:
    for one, other in zip(first, second, strict=True):
        differing = int(np.count_nonzero(np.asarray(one.mask) != np.asarray(other.mask)))
        if differing:
            return f"{differing} of {np.size(one.mask)} pixels are others {how}; nothing may be kept between calls"
    return ""


def _speed(worker: Worker, _make: Callable[[], Worker]) -> Iterator[CheckResult]:
    times: list[float] = []

    def attempt() -> str:
        for _ in range(20):
            started = time.perf_counter()
            worker.conversation.ask("ping", {})
            times.append(time.perf_counter() - started)
        return ""

    checked = run_check("answers a ping", attempt)
    yield replace(checked, told=f"in {1000 * min(times):.2f} ms") if checked.is_right else checked
