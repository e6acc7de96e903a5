"""Segmenter whose model runs in another process: in its own Python, in a container, or on another machine."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from segarena.dialogue import Dialogue, Prediction
from segarena.errors import PluginInvalid, PredictionInvalid, SegmenterError
from segarena.files.hashes import sha256
from segarena.registry import segmenter
from segarena.samples import Sample
from segarena.segmenters.workers.encoding_handle import EncodingHandle
from segarena.segmenters.workers.process_memory import peak_resident_bytes
from segarena.segmenters.workers.worker_client import LossCounter, WorkerClient
from segarena.segmenters.workers.worker_config import WorkerConfig, WorkerLost
from segarena.serialization import encode_dialogue
from segarena.worker import TOKEN, ProtocolError, prediction_from, restore


@segmenter("worker")
class Worker:
    """A model in its own Python, container or machine, served by an adapter of about 40 lines.

    The run starts the worker, and restarts it if it dies. The new worker encodes the sample again
    and receives the whole dialogue. If two workers are lost on one sample, that sample fails, and
    the error quotes the last lines of the worker's output.

    Args:
        command: the program, as in a shell ("python my_adapter.py", "docker run -i my_image"), or
            the address of a listening worker: "tcp://host:port", "unix:/path".
        python: interpreter that replaces the word python in the command:
            "envs/ritm/bin/python".
        folder: working directory of the program; by default the current one.
        options: options for the adapter's model: {"checkpoint": "ritm.pth"}.
        name: name in tables; by default that of the model, see `model_name`.
        token: name of the environment variable with the token of a listening worker.
        network: False starts the program in its own namespaces without any network; works on
            Linux systems that allow it.
        memory_gb: memory limit, above which the worker is stopped and restarted; 0 sets no limit.
            Works on Linux.
        log: file to which all output of the worker is appended; by default only the last lines are
            kept.
        start_s: seconds for a start, and for encoding again after a crash.

    Raises:
        PluginInvalid: the worker cannot be started, rejects its options or has another protocol
            version.
    """

    # Opening a run folder must not start programs (`segarena.registry.only_built_in`).
    starts_programs = True
    prompt_kinds: frozenset[str] | None = None
    sample_kinds: frozenset[str] = frozenset({"image", "volume", "video"})

    def __init__(
        self,
        command: str,
        *,
        python: str = "",
        folder: str = "",
        options: Mapping[str, Any] | None = None,
        name: str = "",
        token: str = TOKEN,
        network: bool = True,
        memory_gb: float = 0.0,
        log: str = "",
        start_s: float = 300.0,
    ) -> None:
        self._config = WorkerConfig(
            command=command,
            python=python,
            folder=folder,
            name=name,
            token=token,
            network=network,
            memory_gb=memory_gb,
            log=log,
            start_s=start_s,
        )
        self.client = WorkerClient(self._config, options or {})
        self._adopted = weakref.WeakKeyDictionary[EncodingHandle, EncodingHandle]()
        weakref.finalize(self, self.client.end)
        try:
            description = self.client.description
        except WorkerLost as error:
            raise PluginInvalid(f"worker: {command[:80]!r} {error}") from error
        self.model = description.model
        self.display_name = name or model_name(description.model, command, folder)
        self.sample_kinds = frozenset(description.sample_kinds)
        if description.prompt_kinds is None:
            self.prompt_kinds = None
        else:
            self.prompt_kinds = frozenset(description.prompt_kinds)
        self.device = description.device
        self.slice_intensity = description.slice_intensity
        self.encodes_with_prompts = description.encodes_with_prompts
        self.pack: Callable[[EncodingHandle], dict[str, Any]] | None = None
        self.unpack: Callable[[Mapping[str, Any]], EncodingHandle] | None = None
        if description.packs:
            self.pack = self._pack
            self.unpack = self._unpack

    def __reduce__(self) -> Any:
        # A process cannot be pickled, so the copy starts its own worker on first use.
        config = {name: getattr(self._config, name) for name in self._config.__slots__}
        start = partial(Worker, **config, options=self.client.options)
        return start, ()

    @cached_property
    def identity(self) -> dict[str, dict[str, str]]:
        """Hashes and versions of everything that determines the predictions.

        SHA-256 of the declared weights ("weights") and of the adapter's file ("sources"), and
        versions of the worker's Python and packages ("environment").

        Raises:
            SegmenterError: the worker reports an error.
        """
        answer, _ = self.client.call_with_restart(
            LossCounter(), lambda: self.client.request("identify", {})
        )
        parts: dict[str, dict[str, str]] = {}
        for name in ("weights", "sources", "environment"):
            part = answer.get(name)
            parts[name] = dict(part) if isinstance(part, dict) else {}
        return parts

    @cached_property
    def fingerprint(self) -> str:
        """Hash of everything that determines the encodings."""
        description = self.client.description
        options = sorted(description.options.items())
        parts = [description.fingerprint, description.version, options, self.identity]
        return sha256(repr(parts))

    @property
    def peak_bytes_elsewhere(self) -> int:
        """Peak memory of the worker process in bytes; 0 if unknown."""
        return peak_resident_bytes(self.client.pid)

    def encode(self, sample: Sample) -> EncodingHandle:
        """Send a sample to the worker, which encodes it; return the handle of the encoding.

        Raises:
            SegmenterError: the worker reports an error, or two workers were lost over the sample.
        """
        return self._encode(sample)

    def predict(self, encoded: EncodingHandle, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Send dialogues about an encoded sample to the worker, which predicts them.

        Raises:
            SegmenterError: the worker reports an error, or two workers were lost over the sample.
            PredictionInvalid: an answer has no valid form.
        """
        own = self._adopt(encoded)

        def attempt() -> list[Prediction]:
            arrays: list[Any] = []
            generation = own.ensure_current()
            encoded_dialogues = [
                encode_dialogue(dialogue, arrays, self._handle_of) for dialogue in dialogues
            ]
            header = {"handle": own.handle, "dialogues": encoded_dialogues}
            answer, received = self.client.request("predict", header, arrays, generation=generation)
            own.record_passes(answer)
            return _predictions(answer, received)

        return self.client.call_with_restart(own.losses, attempt)

    def _pack(self, encoded: EncodingHandle) -> dict[str, Any]:
        """Convert an encoding to named arrays."""

        def attempt() -> dict[str, Any]:
            generation = encoded.ensure_current()
            answer, received = self.client.request(
                "pack", {"handle": encoded.handle}, generation=generation
            )
            packed = answer.get("packed")
            try:
                fields = dict(packed or {})
                return {name: restore(value, received) for name, value in fields.items()}
            except (ProtocolError, TypeError, ValueError) as error:
                raise SegmenterError(
                    f"the worker returned something other than named arrays: {error}"
                ) from error

        return self.client.call_with_restart(encoded.losses, attempt)

    def _unpack(self, arrays: Mapping[str, Any]) -> EncodingHandle:
        """Send a packed encoding to the worker, which restores it."""
        return self._encode(dict(arrays))

    def _encode(self, source: Sample | Mapping[str, Any]) -> EncodingHandle:
        encoded = EncodingHandle(self.client, source)
        self.client.call_with_restart(encoded.losses, encoded.ensure_current)
        return encoded

    def _adopt(self, encoded: EncodingHandle) -> EncodingHandle:
        """Return this worker's own handle for an encoding that another worker may have computed."""
        if encoded.client is self.client:
            return encoded
        if encoded not in self._adopted:
            self._adopted[encoded] = EncodingHandle(self.client, encoded.source)
        return self._adopted[encoded]

    def _handle_of(self, encoded: EncodingHandle) -> int:
        own = self._adopt(encoded)
        own.ensure_current()
        return own.handle


def _predictions(answer: Mapping[str, Any], arrays: Sequence[Any]) -> list[Prediction]:
    answers = answer.get("answers")
    if not isinstance(answers, list):
        raise PredictionInvalid(
            f"the worker returned {type(answers).__name__} instead of a list of answers"
        )
    try:
        decoded = [prediction_from(each, arrays) for each in answers]
    except (ProtocolError, TypeError, ValueError) as error:
        raise PredictionInvalid(f"the worker's answer has an unknown form: {error}") from error
    return [Prediction(each.mask, each.logits, each.score, each.candidates) for each in decoded]


def model_name(announced: str, command: str, folder: str = "") -> str:
    """Return a name for the model of a worker: the announced one, or that of the adapter's file.

    The announced name is the model's `name`, or the name of its class. The class name `Model` of
    the template is ignored, and a file `adapter.py` gets the name of its folder. The result is ""
    for a command without a file.
    """
    if announced not in ("", "Model", "model"):
        return announced
    for word in command.split():
        file = Path(folder, word.strip("\"'")).absolute()
        if file.suffix == ".py":
            return file.parent.name if file.stem == "adapter" else file.stem
    return ""
