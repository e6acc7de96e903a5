"""Conformance check of a worker: its behaviour in a run, after a crash, and with a faulty host."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

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
"""The check stops if the worker had to be started more often than this."""

_PINGS = 20


def check_worker(make: Callable[[], Worker], *, limit_s: float = 60.0) -> list[CheckResult]:
    """Run all checks on a worker and return their results.

    Args:
        make: function that starts the worker, as a new process each time.
        limit_s: seconds for each response.
    """
    started = time.perf_counter()
    try:
        worker = make()
    except PluginInvalid as error:
        fault = str(error).removeprefix("worker: ")
        return [CheckResult(check="starts and sends its greeting", has_passed=False, details=fault)]
    seconds = time.perf_counter() - started
    results = [_describe_start(worker, seconds)]
    with worker.client.response_limit(limit_s):
        for result in _all_checks(worker, make):
            results.append(result)
            if worker.client.starts > MAX_STARTS:
                details = f"it had to be started {MAX_STARTS} times; the other checks were skipped"
                stopped = CheckResult(check="stays alive", has_passed=False, details=details)
                return [*results, stopped]
    return results


def _all_checks(worker: Worker, make: Callable[[], Worker]) -> Iterator[CheckResult]:
    yield from _check_prompt_kinds(worker)
    yield from _check_odd_shapes(worker)
    yield from _check_batches(worker)
    yield from _check_repetition(worker)
    yield _check_other_process(worker, make)
    yield from _check_packing(worker)
    yield from wrong_requests(worker)
    yield from identity(worker)
    yield from broken_frames(worker)
    yield _measure_ping(worker)


def _describe_start(worker: Worker, seconds: float) -> CheckResult:
    description = worker.client.description
    packages: list[str] = []
    for name, version in description.environment.items():
        if name != "machine":
            packages.append(f"{name} {version}")
    if worker.prompt_kinds is None:
        prompts = "prompts, none declared"
    else:
        prompts = ", ".join(sorted(worker.prompt_kinds))
    samples = ", ".join(worker.sample_kinds)
    details = (
        f"{description.model} on {description.device} in {seconds:.1f} s; "
        f"{', '.join(packages)}; {samples}: {prompts}"
    )
    return CheckResult(check="starts and sends its greeting", has_passed=True, details=details)


def _check_prompt_kinds(worker: Worker) -> Iterator[CheckResult]:
    for sample_kind in sorted(worker.sample_kinds):
        for kind in tested_prompt_kinds(worker):

            def attempt(sample_kind: str = sample_kind, kind: str = kind) -> str:
                predict_two_rounds(worker, kind, sample_kind, SHAPES[sample_kind])
                return ""

            yield run_check(f"answers {kind} prompts in two rounds ({sample_kind})", attempt)


def _check_odd_shapes(worker: Worker) -> Iterator[CheckResult]:
    for sample_kind in sorted(worker.sample_kinds):
        for shape in ODD_SHAPES[sample_kind]:

            def attempt(sample_kind: str = sample_kind, shape: Sequence[int] = shape) -> str:
                kind = tested_prompt_kinds(worker)[0]
                predict_two_rounds(worker, kind, sample_kind, shape)
                return ""

            sides = " × ".join(map(str, shape))
            yield run_check(f"answers on {sides} ({sample_kind})", attempt)


def _encode_with_dialogues(
    worker: Worker,
    sample_kind: str,
    seed: int = 0,
) -> tuple[EncodingHandle, list[Dialogue]]:
    """Return an encoded sample and three dialogues about it, with one, two and three rounds."""
    shape = SHAPES[sample_kind]
    kinds = tested_prompt_kinds(worker)
    encoded = worker.encode(synthetic_sample(sample_kind, shape, seed))
    dialogues: list[Dialogue] = []
    for number in range(3):
        kind = kinds[number % len(kinds)]
        dialogues.append(build_dialogue(worker, kind, shape, 1 + number))
    return encoded, dialogues


def _check_batches(worker: Worker) -> Iterator[CheckResult]:
    """Check that a prediction does not depend on the other dialogues of its batch."""
    for sample_kind in sorted(worker.sample_kinds):

        def attempt(sample_kind: str = sample_kind) -> str:
            shape = SHAPES[sample_kind]
            encoded, dialogues = _encode_with_dialogues(worker, sample_kind)
            singly: list[Prediction] = []
            for dialogue in dialogues:
                singly += predict_checked(worker, encoded, shape, [dialogue])
            together = predict_checked(worker, encoded, shape, dialogues)
            reversed_order = predict_checked(worker, encoded, shape, dialogues[::-1])[::-1]
            fault = _difference(singly, together, "together")
            return fault or _difference(singly, reversed_order, "in another order")

        yield run_check(
            f"gives the same answers to three dialogues together as one by one ({sample_kind})",
            attempt,
        )


def _check_repetition(worker: Worker) -> Iterator[CheckResult]:
    """Check that predictions are the same after another sample was encoded and predicted."""
    for sample_kind in sorted(worker.sample_kinds):

        def attempt(sample_kind: str = sample_kind) -> str:
            shape = SHAPES[sample_kind]
            encoded, dialogues = _encode_with_dialogues(worker, sample_kind)
            first = predict_checked(worker, encoded, shape, dialogues)
            other, other_dialogues = _encode_with_dialogues(worker, sample_kind, seed=1)
            predict_checked(worker, other, shape, other_dialogues)
            again = predict_checked(worker, encoded, shape, dialogues)
            return _difference(first, again, "after another sample")

        yield run_check(
            f"gives the same answers when the prompts are repeated later ({sample_kind})", attempt
        )


def _check_other_process(worker: Worker, make: Callable[[], Worker]) -> CheckResult:
    """Check that a new process gives the same predictions, so that a run survives a restart."""

    def attempt() -> str:
        sample_kind = min(worker.sample_kinds)
        shape = SHAPES[sample_kind]
        encoded, (_, dialogue, _) = _encode_with_dialogues(worker, sample_kind)
        first_round = Dialogue(dialogue.rounds[:1])
        (first,) = predict_checked(worker, encoded, shape, [first_round])
        continued = replace(dialogue, previous=first)
        expected = predict_checked(worker, encoded, shape, [continued])
        fresh = make()
        fresh_encoded = fresh.encode(synthetic_sample(sample_kind, shape, 0))
        again = predict_checked(fresh, fresh_encoded, shape, [continued])
        fresh.client.end()
        return _difference(expected, again, "by another process")

    return run_check("gives the same answers in another process, from the dialogue alone", attempt)


def _check_packing(worker: Worker) -> Iterator[CheckResult]:
    pack = worker.pack
    unpack = worker.unpack
    if pack is None or unpack is None:
        return

    def attempt() -> str:
        sample_kind = min(worker.sample_kinds)
        shape = SHAPES[sample_kind]
        encoded, dialogues = _encode_with_dialogues(worker, sample_kind)
        expected = predict_checked(worker, encoded, shape, dialogues)
        packed = pack(encoded)
        for name, array in packed.items():
            if not isinstance(array, np.ndarray):
                return f"pack gives {name!r}, which is not an array"
        again = predict_checked(worker, unpack(packed), shape, dialogues)
        return _difference(expected, again, "from the packed encoding")

    yield run_check("gives the same answers from an encoding that was packed and unpacked", attempt)


def _difference(
    first: Sequence[Prediction],
    second: Sequence[Prediction],
    how: str,
) -> str:
    """Describe the first pair of predictions that differ; "" if all are equal."""
    for one, other in zip(first, second, strict=True):
        differing = int(np.count_nonzero(np.asarray(one.mask) != np.asarray(other.mask)))
        if differing:
            return (
                f"{differing} of {np.size(one.mask)} pixels differ {how}; "
                "a model must keep no state between calls"
            )
    return ""


def _measure_ping(worker: Worker) -> CheckResult:
    times: list[float] = []

    def attempt() -> str:
        for _ in range(_PINGS):
            started = time.perf_counter()
            worker.client.request("ping", {})
            times.append(time.perf_counter() - started)
        return ""

    result = run_check("answers a ping", attempt)
    if not result.has_passed:
        return result
    return replace(result, details=f"in {1000 * min(times):.2f} ms")
