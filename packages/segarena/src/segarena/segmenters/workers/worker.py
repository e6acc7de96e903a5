"""The segmenter whose model works in another process: in a Python of its own, in a container, on another machine."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
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
    """A model in a Python, a container or a machine of its own, which an adapter of about 40 lines lets answer.

    The worker is started when the run begins, and again when it dies: then it is told and asked everything once more.
    Two that are lost over one sample make that sample a failure, with the last lines that were printed.

    Args:
        command: the program that starts it, as in a shell ("python my_adapter.py", "docker run -i my_image"), or where
            one listens: "tcp://host:port", "unix:/path".
        python: the interpreter in place of the word python in the command: "envs/ritm/bin/python".
        folder: where the program is started; by default here.
        options: of the adapter's model: {"checkpoint": "ritm.pth"}.
        name: what tables call it; by default worker, with its options where there are several.
        token: the environment variable with the token that a worker which listens asks for.
        network: False starts it in namespaces of its own, without any network; on Linux, where that is allowed.
        memory_gb: what it may have in use before it is ended and started again; 0 sets no limit. On Linux.
        log: a file to which all that it prints is appended; by default the last lines alone are kept.
        start_s: what starting it, and encoding again after a crash, may take.

    Raises:
        PluginInvalid: it cannot be started, refuses its options or speaks another version of the protocol.
    """

    starts_programs = True  # so a run folder that is only read does not build it (`segarena.registry.only_built_in`)
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
        self._reach = WorkerConfig(
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
        self.conversation = WorkerClient(self._reach, options or {})
        self._adopted = weakref.WeakKeyDictionary[EncodingHandle, EncodingHandle]()
        weakref.finalize(self, self.conversation.end)
        try:
            hello = self.conversation.hello
        except WorkerLost as error:
            raise PluginInvalid(f"worker: {command[:80]!r} {error}") from error
        self.model = hello.model
        self.sample_kinds = frozenset(hello.sample_kinds)
        if hello.prompt_kinds is None:
            self.prompt_kinds = None
        else:
            self.prompt_kinds = frozenset(hello.prompt_kinds)
        self.device = hello.device
        self.slice_intensity = hello.slice_intensity
        self.encodes_with_prompts = hello.encodes_with_prompts
        self.pack: Callable[[EncodingHandle], dict[str, Any]] | None = (
            self._pack if hello.packs else None
        )
        self.unpack: Callable[[Mapping[str, Any]], EncodingHandle] | None = (
            self._unpack if hello.packs else None
        )

    def __reduce__(self) -> Any:
        given = {name: getattr(self._reach, name) for name in self._reach.__slots__}
        return partial(Worker, **given, options=self.conversation.options), ()

    @cached_property
    def identity(self) -> dict[str, dict[str, str]]:
        """What decides its answers: SHA-256 of declared weights and of the adapter's file, versions there.

        Raises:
            SegmenterError: it cannot say.
        """
        answer, _ = self.conversation.insist(
            LossCounter(), lambda: self.conversation.ask("identify", {})
        )
        kinds = ("weights", "sources", "environment")
        found = {kind: answer.get(kind) for kind in kinds}
        return {kind: dict(said) if isinstance(said, dict) else {} for kind, said in found.items()}

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what decides its encodings."""
        hello = self.conversation.hello
        return sha256(
            repr([hello.fingerprint, hello.version, sorted(hello.options.items()), self.identity])
        )

    @property
    def peak_bytes_elsewhere(self) -> int:
        """The most memory that its process has had in use; 0 where that cannot be known."""
        return peak_resident_bytes(self.conversation.pid)

    def encode(self, sample: Sample) -> EncodingHandle:
        """Let the worker encode a sample; return what stands for it here.

        Raises:
            SegmenterError: the worker says why it cannot, or was lost twice over it.
        """
        return self._made(sample)

    def predict(self, encoded: EncodingHandle, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Let the worker answer dialogues about an encoded sample.

        Raises:
            SegmenterError: the worker says why it cannot, or was lost twice over this sample.
            PredictionInvalid: its answers are not of the form that answers have.
        """
        mine = self._mine(encoded)

        def once() -> list[Prediction]:
            arrays: list[Any] = []
            life = mine.known()
            told = [encode_dialogue(dialogue, arrays, self._handle_of) for dialogue in dialogues]
            request = {"handle": mine.handle, "dialogues": told}
            answer, found = self.conversation.ask("predict", request, arrays, life=life)
            mine.note(answer)
            return _predictions(answer, found)

        return self.conversation.insist(mine.tries, once)

    def _pack(self, encoded: EncodingHandle) -> dict[str, Any]:
        """Return an encoding as named arrays."""

        def once() -> dict[str, Any]:
            life = encoded.known()
            answer, found = self.conversation.ask("pack", {"handle": encoded.handle}, life=life)
            packed = answer.get("packed")
            try:
                return {name: restore(each, found) for name, each in dict(packed or {}).items()}
            except (ProtocolError, TypeError, ValueError) as error:
                raise SegmenterError(
                    f"the worker gives something else than named arrays: {error}"
                ) from error

        return self.conversation.insist(encoded.tries, once)

    def _unpack(self, arrays: Mapping[str, Any]) -> EncodingHandle:
        """Let the worker have an encoding that it packed."""
        return self._made(dict(arrays))

    def _made(self, of: Sample | Mapping[str, Any]) -> EncodingHandle:
        encoded = EncodingHandle(self.conversation, of)
        self.conversation.insist(encoded.tries, encoded.known)
        return encoded

    def _mine(self, encoded: EncodingHandle) -> EncodingHandle:
        """Return an encoding, or where another worker made it, the same by this one."""
        if encoded.conversation is self.conversation:
            return encoded
        if encoded not in self._adopted:
            self._adopted[encoded] = EncodingHandle(self.conversation, encoded.of)
        return self._adopted[encoded]

    def _handle_of(self, encoded: EncodingHandle) -> int:
        mine = self._mine(encoded)
        mine.known()
        return mine.handle


def _predictions(answer: Mapping[str, Any], arrays: Sequence[Any]) -> list[Prediction]:
    told = answer.get("answers")
    if not isinstance(told, list):
        raise PredictionInvalid(
            f"the worker gives {type(told).__name__} in place of a list of answers"
        )
    try:
        found = [prediction_from(each, arrays) for each in told]
    except (ProtocolError, TypeError, ValueError) as error:
        raise PredictionInvalid(f"the worker's answer is of no known form: {error}") from error
    return [Prediction(each.mask, each.logits, each.score, each.candidates) for each in found]
