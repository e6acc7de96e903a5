"""Handle for an encoding that stays in the worker's memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from segarena.errors import SegmenterError
from segarena.samples import Sample
from segarena.segmenters.workers.worker_client import LossCounter, WorkerClient
from segarena.serialization import encode_sample
from segarena.work.deadline import pause_deadline
from segarena.worker import flatten


class EncodingHandle:
    """Handle for a worker's encoding of a sample, with everything needed to encode the sample again.

    Args:
        client: client of the worker.
        source: the sample, or the arrays into which an encoding of it was packed.

    Attributes:
        handle: the worker's id of the encoding.
        losses: workers lost on this sample.
        nbytes: approximate memory that the encoding takes in the worker.
        pass_seconds: duration of each encoder pass so far; set only for encodings that are computed
            in parts on demand (see `segarena.plugin_capabilities.pass_seconds`).
    """

    pass_seconds: list[float]

    def __init__(self, client: WorkerClient, source: Sample | Mapping[str, Any]) -> None:
        self.client = client
        self.source = source
        self.handle = 0
        self.losses = LossCounter()
        self.nbytes = 0
        self._generation = 0
        self._earlier_passes: list[float] = []

    def ensure_current(self) -> int:
        """Encode the sample if it has no encoding yet or the worker was replaced; return the generation of the handle.

        Raises:
            WorkerLost, WorkerError: see `WorkerClient.request`.
            SegmenterError: the worker's answer is invalid.
        """
        client = self.client
        client.start()
        if self._generation == client.generation:
            return self._generation
        if not self._generation:
            self._encode()
            return self._generation
        self._earlier_passes = list(getattr(self, "pass_seconds", ()))
        # Encoding again after a crash is not model time, so the time limit of a start applies.
        limit_s = client.config.start_s
        with pause_deadline(limit_s), client.response_limit(limit_s):
            self._encode()
        return self._generation

    def record_passes(self, answer: Mapping[str, Any]) -> None:
        """Record the encoder passes that an answer reports."""
        reported = answer.get("pass_seconds")
        if isinstance(reported, list):
            passes = [seconds for seconds in reported if isinstance(seconds, float)]
            self.pass_seconds = [*self._earlier_passes, *passes]

    def _encode(self) -> None:
        arrays: list[Any] = []
        if isinstance(self.source, Mapping):
            packed = {name: flatten(array, arrays) for name, array in self.source.items()}
            answer, _ = self.client.request("unpack", {"packed": packed}, arrays)
        else:
            sample = encode_sample(self.source, arrays, self.client.shared.body)
            answer, _ = self.client.request("encode", {"sample": sample}, arrays)
        handle = answer.get("handle")
        size = answer.get("bytes")
        if not isinstance(handle, int):
            raise SegmenterError(
                f"the worker returned {handle!r} as the handle of an encoding, expected an integer"
            )
        self.handle = handle
        self.nbytes = size if isinstance(size, int) else 0
        self._generation = self.client.generation
        self.record_passes(answer)

    def __del__(self) -> None:
        self.client.release(self._generation, self.handle)
