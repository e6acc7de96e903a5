"""Worker side of the protocol: serve a model from its own Python through a pipe or a socket.

This single file needs only the standard library and NumPy (1.16 to 2) in Python 3.7 and later. Copy
it next to a model as `segarena_worker.py`; the whole adapter is then

    from segarena_worker import serve

    class Model:
        takes = ("click",)
        samples = ("image",)

        def __init__(self, checkpoint="", size=448): ...    # options, with defaults

        def encode(self, sample): ...                       # once per sample; return anything

        def predict(self, encoded, dialogues): ...          # one bool mask, or (mask, logits), per dialogue

    if __name__ == "__main__":
        serve(Model)

and a run uses it as `--segmenter "worker('python my_adapter.py', python='envs/mine/bin/python')"`.
Samples, prompts and dialogues have the same fields as in segarena, so a plug-in needs few changes.
All output of the model goes to a log. docs/workers.md describes the protocol.

A worker only caches data: it may be killed and restarted between any two calls.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import hmac
import inspect
import json
import os
import platform
import secrets
import select
import signal
import socket
import stat
import struct
import sys
import threading
import time
import traceback

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

PROTOCOL = 1
GREETING = b"segarena-worker %d\n"
"""First message of a worker; the host ignores any earlier output in the pipe."""

TOKEN = "SEGARENA_WORKER_TOKEN"  # noqa: S105 - the name of a variable
"""The environment variable with the token that a listening worker requires."""

PROMPTS = ("click", "box", "limits", "scribble", "lasso", "mask", "support")
SAMPLES = ("image", "volume", "video")

MOST_HEADER_BYTES = 64 * 2**20
MOST_BODY_BYTES = 64 * 2**30
MOST_UNKNOWN_BYTES = 4096
"""Maximum header bytes of a client that has not presented the token yet."""
_MOST_STRANGERS, _MOST_STRANGE_SECONDS = 16, 10
"""Maximum number of simultaneous clients without token, and seconds after which such a client is disconnected."""

_PREFIX = struct.Struct("<IQ")
# Only little-endian, so that both sides agree on the byte order without negotiating it.
_DTYPES = ("|u1", "|i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "<f2", "<f4", "<f8")
_BITS = "bits"
_MOST_AXES = 8
_SMALL_BYTES = 2**19
"""Parts of a frame are joined to writes of up to this size in bytes, because each write wakes the reader."""
# From <linux/prctl.h>; Python has no constant for it.
_PR_SET_PDEATHSIG = 1


class ProtocolError(Exception):
    """The other side violates the protocol; the connection cannot continue."""


class Refused(Exception):
    """A request fails, but the connection continues; `kind` is the reason that the other side receives."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


# A frame: u32 length of the header, u64 length of the body, JSON header, then the arrays in order.


class Stream:
    """Frames over two file descriptors.

    Args:
        source: descriptor to read from.
        sink: descriptor to write to; equal to `source` for a socket.
        most_header: maximum bytes of a received header, checked before any allocation.
        most_body: maximum bytes of a received body, checked before any allocation.
    """

    def __init__(
        self,
        source: int,
        sink: int,
        most_header: int = MOST_HEADER_BYTES,
        most_body: int = MOST_BODY_BYTES,
    ) -> None:
        self.source = source
        self.sink = sink
        self.most_header = most_header
        self.most_body = most_body

    def before_read(self) -> None:
        """Do nothing; subclasses wait here until data can be read, and enforce limits."""

    def before_write(self) -> None:
        """Do nothing; subclasses wait here until data can be written, and enforce limits."""

    def before_arrays(self, announced: Sequence[tuple[str, tuple[int, ...], str | None]]) -> None:
        """Do nothing; subclasses check dtype, shape and file of the arrays here, before any allocation."""

    def send(self, header: Mapping[str, Any], arrays: Sequence[Any] = ()) -> None:
        """Write one frame."""
        bodies = [as_body(array) for array in arrays]
        whole = dict(header, arrays=[body.description for body in bodies])
        text = json.dumps(whole, separators=(",", ":")).encode("utf-8")
        small = bytearray(_PREFIX.pack(len(text), sum(body.size for body in bodies)) + text)
        for part in (part for body in bodies for part in body.parts()):
            if len(small) + len(part) <= _SMALL_BYTES:
                small += part
                continue
            self.write(small)
            small = bytearray()
            self.write(part)
        self.write(small)

    def receive(self) -> tuple[dict[str, Any], list[Any]]:
        """Receive the header and the arrays of the next frame.

        Raises:
            EOFError: the other side closed the connection.
            ProtocolError: the data are not a frame or exceed a limit, or a shared file is not the announced array.
        """
        lengths = bytearray(_PREFIX.size)
        self.read_into(lengths)
        header_bytes, body_bytes = _PREFIX.unpack(bytes(lengths))
        if header_bytes > self.most_header or body_bytes > self.most_body:
            raise ProtocolError(
                f"expected a header of at most {self.most_header} bytes and a body of at most "
                f"{self.most_body}, got {header_bytes} and {body_bytes}: the data are not a frame "
                "of the protocol, or too large"
            )
        text = bytearray(header_bytes)
        self.read_into(text)
        header = _header_of(text)
        announced = header.pop("arrays", [])
        if not isinstance(announced, list):
            raise ProtocolError(
                f"expected a list of arrays in the header, got {type(announced).__name__}"
            )
        shapes = [_checked(each) for each in announced]
        # Arrays in shared files have no bytes in the body.
        announced_bytes = sum(_bytes_of(*each) for each in shapes if each[2] is None)
        if announced_bytes != body_bytes:
            raise ProtocolError("the arrays announced in the header differ from those in the body")
        self.before_arrays(shapes)
        return header, [self._array(*each) for each in shapes]

    def _array(
        self,
        dtype: str,
        shape: tuple[int, ...],
        file: str | None,
    ) -> Any:
        if file is not None:
            return _mapped(dtype, shape, file)
        raw: Any = np.empty(_bytes_of(dtype, shape, None), dtype=np.uint8)
        if raw.size:
            self.read_into(memoryview(raw))
        if dtype == _BITS:
            return np.unpackbits(raw)[: _count(shape)].view(np.bool_).reshape(shape)
        return raw.view(np.dtype(dtype)).reshape(shape)

    def read_into(self, buffer: Any) -> None:
        """Fill a buffer; raise EOFError if the connection ends before it is full."""
        view = memoryview(buffer)
        while len(view):
            self.before_read()
            count = os.readv(self.source, [view])
            if not count:
                raise EOFError("the other side closed the connection")
            view = view[count:]

    def write(self, data: Any) -> None:
        """Write all bytes of `data`."""
        view = memoryview(data)
        while len(view):
            self.before_write()
            view = view[os.write(self.sink, view) :]


class Body:
    """An array to send.

    Args:
        description: entry in the header: dtype and shape, and the file of a shared array.
        size: number of its bytes in the body of the frame; 0 for a shared array.
        parts: function that returns the bytes in parts, so that a large array need not be in memory as a whole.
    """

    def __init__(
        self,
        description: dict[str, Any],
        size: int,
        parts: Callable[[], Iterable[Any]],
    ) -> None:
        self.description = description
        self.size = size
        self.parts = parts


def as_body(array: Any) -> Body:
    """Convert an array to the format of the protocol: little-endian, C order, bool as packed bits.

    A `Body` is returned unchanged.

    Raises:
        TypeError: the array contains something other than bool, integers and float16 to float64.
    """
    if isinstance(array, Body):
        return array
    values = np.asarray(array)
    if values.dtype == np.bool_:
        dtype = _BITS
        raw = np.packbits(values.reshape(-1))
    else:
        dtype = dtype_name(values.dtype)
        contiguous = np.ascontiguousarray(values, dtype=np.dtype(dtype))
        raw = contiguous.reshape(-1).view(np.uint8)
    description = {"shape": list(values.shape), "dtype": dtype}
    return Body(description, raw.size, lambda: [raw.data] if raw.size else [])


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype in headers; raise TypeError for unsupported ones."""
    little: Any = np.dtype(dtype).newbyteorder("<")
    if little.str not in _DTYPES:
        raise TypeError(
            f"{dtype} arrays cannot be sent; only integers, float16 to float64 and bool can"
        )
    return little.str


def _header_of(text: bytearray) -> dict[str, Any]:
    try:
        header = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"expected a JSON header, got {bytes(text[:60])!r}") from error
    if not isinstance(header, dict):
        raise ProtocolError(f"expected an object as header, got {bytes(text[:60])!r}")
    return header


def _checked(announced: Any) -> tuple[str, tuple[int, ...], str | None]:
    # Anything other than an object fails the checks below.
    description = announced if isinstance(announced, dict) else {}
    dtype = description.get("dtype")
    shape = description.get("shape")
    file = description.get("file")
    is_shape = (
        isinstance(shape, list)
        and len(shape) <= _MOST_AXES
        and all(type(n) is int and n >= 0 for n in shape)
    )
    is_dtype = dtype == _BITS or dtype in _DTYPES
    if not is_dtype or not is_shape or not isinstance(file, (str, type(None))):
        raise ProtocolError(f"invalid array: {_short(announced)}")
    return str(dtype), tuple(shape or ()), file


def _count(shape: Sequence[int]) -> int:
    count = 1
    for side in shape:
        count *= side
    return count


def _bytes_of(
    dtype: str,
    shape: tuple[int, ...],
    _file: str | None,
) -> int:
    count = _count(shape)
    if dtype == _BITS:
        return (count + 7) // 8
    return count * np.dtype(dtype).itemsize


def _mapped(
    dtype: str,
    shape: tuple[int, ...],
    file: str,
) -> Any:
    try:
        found = os.stat(file)
    except OSError as error:
        raise ProtocolError(f"{file}: {error.strerror}") from error
    if (
        dtype == _BITS
        or not stat.S_ISREG(found.st_mode)
        or found.st_size != _bytes_of(dtype, shape, file)
    ):
        raise ProtocolError(f"{file} is not the array of {dtype} {shape} that was announced")
    return np.memmap(file, dtype=np.dtype(dtype), mode="r", shape=shape)


# Values: logits of a model may be arrays in tuples, lists and dictionaries.


def flatten(value: Any, arrays: list[Any]) -> Any:
    """Convert a value to JSON; append its arrays to `arrays`, and refer to them by index.

    Raises:
        TypeError: the value contains something other than None, arrays, bools, numbers, strings,
            tuples, lists and dictionaries with string keys.
    """
    if value is None or isinstance(value, (bool, str)) or type(value) in (int, float):
        return value
    if isinstance(value, (list, tuple)):
        inner = [flatten(each, arrays) for each in value]
        if isinstance(value, list):
            return inner
        return {"tuple": inner}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: flatten(each, arrays) for key, each in value.items()}}
    # Some logits stay on a GPU and convert themselves to arrays.
    if isinstance(value, (np.ndarray, np.generic, Body)) or hasattr(value, "__array__"):
        arrays.append(as_body(value))
        return {"array": len(arrays) - 1}
    raise TypeError(
        f"{type(value).__name__} cannot be sent; return NumPy arrays (tensor.cpu().numpy()), numbers, or these in "
        "tuples, lists or dictionaries"
    )


def restore(encoded: Any, arrays: Sequence[Any]) -> Any:
    """Restore a value that `flatten` converted.

    Raises:
        ProtocolError: the value refers to a missing array, or has an unknown form.
    """
    if isinstance(encoded, list):
        return [restore(each, arrays) for each in encoded]
    if not isinstance(encoded, dict):
        return encoded
    if len(encoded) == 1:
        ((kind, inner),) = encoded.items()
        if kind == "array" and type(inner) is int and 0 <= inner < len(arrays):
            return arrays[inner]
        if kind == "tuple" and isinstance(inner, list):
            return tuple(restore(each, arrays) for each in inner)
        if kind == "dict" and isinstance(inner, dict):
            return {key: restore(each, arrays) for key, each in inner.items()}
    raise ProtocolError(f"invalid value: {_short(encoded)}")


# Inputs of a model; fields as in segarena.samples, segarena.prompts and segarena.dialogue.


class Fields:
    """A record with named fields."""

    kind = ""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            "{} has no {}; it has {}".format(type(self).__name__, name, ", ".join(vars(self)))
        )

    def __repr__(self) -> str:
        plain = {
            key: value for key, value in vars(self).items() if not isinstance(value, np.ndarray)
        }
        return "{}({})".format(
            type(self).__name__, ", ".join("{}={!r}".format(*item) for item in plain.items())
        )


class ImageSample(Fields):
    """A photograph: `id`, `image` uint8 (H, W, 3), RGB; `shape` is (H, W)."""

    kind = "image"

    @property
    def shape(self) -> tuple[int, ...]:
        """(H, W)."""
        return self.image.shape[:2]


class VolumeSample(Fields):
    """A scan: `id`, `voxels` (D, H, W), `spacing_mm` along these, `affine` 4 x 4 or None, `modality` or ""."""

    kind = "volume"

    @property
    def shape(self) -> tuple[int, ...]:
        """(D, H, W)."""
        return self.voxels.shape


class VideoSample(Fields):
    """A video: `id`, `frames` uint8 (T, H, W, 3), RGB; `frame_shape` is (H, W), `shape` is (T, H, W)."""

    kind = "video"

    @property
    def frame_shape(self) -> tuple[int, ...]:
        """(H, W)."""
        return self.frames.shape[1:3]

    @property
    def shape(self) -> tuple[int, ...]:
        """(T, H, W)."""
        return self.frames.shape[:3]


class Click(Fields):
    """One point: `position` along the sample's axes, (row, column) in an image; `is_positive`; `object_id`."""

    kind = "click"


class Box(Fields):
    """A box from `start` (inclusive) to `stop` (exclusive) along the sample's axes; `object_id`."""

    kind = "box"


class Limits(Fields):
    """The `first` and `last` slice (both inclusive) of the object along `axis`; `object_id`."""

    kind = "limits"


class Scribble(Fields):
    """A drawn line through `points`, sub-pixel positions; `is_positive`; `object_id`."""

    kind = "scribble"


class Lasso(Fields):
    """A closed outline through `points`, sub-pixel positions; `is_positive`; `object_id`."""

    kind = "lasso"


class MaskPrompt(Fields):
    """A mask drawn by the user: `mask` bool, shape of the sample; `object_id`."""

    kind = "mask"


class Support(Fields):
    """One example: `sample`, an image; `mask` of its object; `encoded`, the encoding of that image."""

    kind = "support"


class Lift(Fields):
    """Rules by which prompts of a few slices extend to others: `spread`, `keeps_prompts`, `protocol`."""


class Prediction:
    """A prediction of the model; also the type of `dialogue.previous`.

    Args:
        mask: bool, shape of the sample; uint8 labels for several objects.
        logits: value that the next round receives as `dialogue.logits`: arrays, or arrays in
            tuples, lists and dictionaries; None if there is none.
        score: the model's own estimate of its quality, or None.
        candidates: frames of a video in which the model requests the next prompts, or None.
    """

    def __init__(
        self,
        mask: Any,
        logits: Any = None,
        score: float | None = None,
        candidates: tuple[int, ...] | None = None,
    ) -> None:
        self.mask = mask
        self.logits = logits
        self.score = score
        self.candidates = candidates


class Dialogue(Fields):
    """All prompts so far about one target.

    `rounds` has one tuple of prompts per round, the last of which is not answered yet; `previous`
    is the `Prediction` of the previous round, None in the first; `lift` is a `Lift` or None.
    """

    @property
    def prompts(self) -> tuple[Any, ...]:
        """All prompts so far, in the order in which they were given."""
        return tuple(prompt for prompts in self.rounds for prompt in prompts)

    @property
    def clicks(self) -> tuple[Any, ...]:
        """All clicks so far, in the order in which they were given."""
        return tuple(prompt for prompt in self.prompts if prompt.kind == "click")

    @property
    def logits(self) -> Any:
        """Logits that the model returned in the previous round; None in the first."""
        if self.previous is None:
            return None
        return self.previous.logits

    def previous_mask(self, shape: Sequence[int]) -> Any:
        """Return the mask of the previous round; in the first round an all-False mask of `shape`."""
        if self.previous is None:
            return np.zeros(shape, dtype=np.bool_)
        return self.previous.mask


_SAMPLES = {"image": ImageSample, "volume": VolumeSample, "video": VideoSample}
_PROMPTS = {each.kind: each for each in (Click, Box, Limits, Scribble, Lasso, MaskPrompt)}


def sample_from(encoded: Any, arrays: Sequence[Any]) -> Any:
    """Decode a sample from a header."""
    fields = {key: restore(value, arrays) for key, value in _object(encoded).items()}
    made = _SAMPLES.get(fields.pop("kind", None))
    if made is None:
        raise ProtocolError(f"invalid sample: {_short(encoded)}")
    return made(**fields)


def dialogue_from(
    encoded: Any,
    arrays: Sequence[Any],
    example: Callable[[int], tuple[Any, Any]],
) -> Dialogue:
    """Decode a dialogue from a header; `example` returns the sample and encoding of a handle."""

    def prompt(one: Any) -> Any:
        fields = {
            key: restore(value, arrays) for key, value in _object(one).items() if key != "sample"
        }
        kind = fields.pop("kind", None)
        if kind == "support":
            handle = fields.pop("handle", None)
            known = (
                (sample_from(one.get("sample"), arrays), None)
                if handle is None
                else example(handle)
            )
            return Support(sample=known[0], encoded=known[1], **fields)
        if kind not in _PROMPTS:
            raise ProtocolError(f"invalid prompt: {_short(one)}")
        return _PROMPTS[kind](**fields)

    header = _object(encoded)
    rounds = []
    for prompts in header["rounds"]:
        rounds.append(tuple(prompt(one) for one in prompts))
    previous = header.get("previous")
    if previous is not None:
        previous = prediction_from(previous, arrays)
    lift = header.get("lift")
    if lift is not None:
        lift = Lift(**_object(lift))
    return Dialogue(rounds=tuple(rounds), previous=previous, lift=lift)


def prediction_from(encoded: Any, arrays: Sequence[Any]) -> Prediction:
    """Decode a prediction from a header."""
    fields = {key: restore(value, arrays) for key, value in _object(encoded).items()}
    candidates = fields.get("candidates")
    if candidates is not None:
        candidates = tuple(int(frame) for frame in candidates)
    return Prediction(fields.get("mask"), fields.get("logits"), fields.get("score"), candidates)


def tell_prediction(answer: Any, arrays: list[Any]) -> dict[str, Any]:
    """Encode an answer for a header: a mask, (mask, logits), or a `Prediction`."""
    if isinstance(answer, tuple):
        if not 1 <= len(answer) <= 2:
            raise TypeError(f"expected a mask or (mask, logits), got a tuple of {len(answer)}")
        answer = Prediction(*answer)
    if not hasattr(answer, "mask") or isinstance(answer, np.ndarray):
        answer = Prediction(answer)
    # JSON has neither NaN nor infinity.
    score = getattr(answer, "score", None)
    if score is not None:
        score = float(score) if np.isfinite(score) else None
    candidates = getattr(answer, "candidates", None)
    if candidates is not None:
        candidates = [int(frame) for frame in candidates]
    return {
        "mask": flatten(np.asarray(answer.mask), arrays),
        "logits": flatten(answer.logits, arrays),
        "score": score,
        "candidates": candidates,
    }


def _short(encoded: Any) -> str:
    return repr(encoded)[:200]


def _object(encoded: Any) -> dict[str, Any]:
    if not isinstance(encoded, dict):
        raise ProtocolError(f"expected an object, got {_short(encoded)}")
    return encoded


# Serving.


class Model:
    """A model built from an adapter with options, and its declared capabilities.

    Args:
        kind: the adapter's class.
        options: options of its constructor.

    Raises:
        Refused: an option is unknown or has no default, a capability is declared incorrectly, or the model has no
            `encode` or no `predict`.
    """

    def __init__(self, kind: Callable[..., Any], options: Mapping[str, Any]) -> None:
        known = _options_of(kind)
        for name in options:
            if name not in known:
                shown = ", ".join("{}={!r}".format(*item) for item in known.items()) or "no options"
                raise Refused("options", f"unknown option {name!r}; it takes {shown}")
        self.options = dict(known, **options)
        self.model = kind(**options)
        own_name = getattr(self.model, "name", None)
        self.name = (
            own_name
            if isinstance(own_name, str) and own_name
            else str(getattr(kind, "__name__", "model"))
        )
        self.prompt_kinds = self._kinds(("takes", "prompt_kinds"), PROMPTS, None)
        self.sample_kinds = self._kinds(("samples", "sample_kinds"), SAMPLES, ["image"])
        for method in ("encode", "predict"):
            if not callable(getattr(self.model, method, None)):
                raise Refused(
                    "model", f"{self.name} has no {method}; a model has encode and predict"
                )

    def _kinds(
        self,
        names: Sequence[str],
        known: Sequence[str],
        default: Any,
    ) -> Any:
        said = next(
            (
                getattr(self.model, name)
                for name in names
                if getattr(self.model, name, None) is not None
            ),
            None,
        )
        if said is None:
            return default
        kinds = [said] if isinstance(said, str) else sorted(said)
        wrong = [kind for kind in kinds if kind not in known]
        if wrong or not kinds:
            raise Refused(
                "model",
                "{}: expected some of {}, got {!r}".format(names[0], ", ".join(known), said),
            )
        return kinds

    def described(self) -> dict[str, Any]:
        """Return what the response to a hello message says about the model."""
        model = self.model
        return {
            "protocol": PROTOCOL,
            "model": self.name,
            "pid": os.getpid(),
            "prompt_kinds": self.prompt_kinds,
            "sample_kinds": self.sample_kinds,
            "version": str(getattr(model, "version", "")),
            "device": str(getattr(model, "device", "cpu")),
            "fingerprint": str(getattr(model, "fingerprint", None) or ""),
            "slice_intensity": getattr(model, "slice_intensity", None),
            "packs": callable(getattr(model, "pack", None))
            and callable(getattr(model, "unpack", None)),
            "encodes_with_prompts": bool(getattr(model, "encodes_with_prompts", False)),
            "options": {key: _plain(value) for key, value in self.options.items()},
            "environment": environment(),
        }

    def identity(self) -> dict[str, Any]:
        """Return the SHA-256 of the adapter's files (main program, class of the model) and of the model's `weights`."""
        weights: Any = getattr(self.model, "weights", ()) or ()
        files = (
            [weights]
            if isinstance(weights, (str, bytes)) or hasattr(weights, "__fspath__")
            else list(weights)
        )
        paths = [os.fsdecode(file) for file in files]
        missing = [path for path in paths if not os.path.isfile(path)]
        if missing:
            raise Refused(
                "model",
                f"weights: expected files, got {missing[0]}, which does not exist or is not a file",
            )
        sources = {
            getattr(sys.modules.get("__main__"), "__file__", None),
            inspect.getsourcefile(type(self.model)),
        }
        return {
            "weights": {path: _sha256(path) for path in paths},
            "sources": {os.path.basename(path): _sha256(path) for path in sources if path},
        }


def environment() -> dict[str, str]:
    """Return the type of the machine, and the versions of Python and of those relevant packages that are imported."""
    versions = {"python": platform.python_version(), "machine": platform.machine()}
    for name in (
        "numpy",
        "torch",
        "torchvision",
        "mmcv",
        "cv2",
        "scipy",
        "monai",
        "tensorflow",
        "jax",
    ):
        version = getattr(sys.modules.get(name), "__version__", None)
        if version is not None:
            versions[name] = str(version)
    return versions


def _options_of(kind: Callable[..., Any]) -> dict[str, Any]:
    """Return the options of a constructor with their defaults."""
    found: dict[str, Any] = {}
    for parameter in inspect.signature(kind).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is parameter.empty:
            raise Refused("model", f"option {parameter.name} of {kind.__name__} needs a default")
        found[parameter.name] = parameter.default
    return found


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _sha256(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


class Conversation:
    """Answers the requests of one host, and keeps the encodings to which the host has handles.

    Args:
        stream: connection to the host.
        models: returns the model for given options; builds it only once for the same options.
        lock: locked while a model works, because a listening worker may have several hosts.
    """

    def __init__(
        self,
        stream: Stream,
        models: Callable[[Mapping[str, Any]], Model],
        lock: Any,
    ) -> None:
        self._stream = stream
        self._models = models
        self._lock = lock
        self._model: Any = None
        self._held: dict[int, tuple[Any, Any]] = {}
        self._handles = 0
        self._verbs = {
            "hello": self._hello,
            "identify": self._identify,
            "encode": self._encode,
            "predict": self._predict,
            "pack": self._pack,
            "unpack": self._unpack,
            "drop": self._nothing,
            "ping": self._nothing,
            "bye": self._nothing,
        }

    def hold(self) -> None:
        """Answer requests until the host sends bye, disconnects or violates the protocol."""
        while True:
            try:
                request, arrays = self._stream.receive()
            except EOFError:
                return
            except ProtocolError as error:
                self._stream.send(
                    {"id": None, "error": {"kind": "protocol", "message": str(error)}}
                )
                return
            found: list[Any] = []
            with self._lock:
                reply = self._reply(request, arrays, found)
            self._stream.send(dict(reply, id=request.get("id")), found)
            if request.get("verb") == "bye":
                return

    def _reply(
        self,
        request: dict[str, Any],
        arrays: list[Any],
        found: list[Any],
    ) -> dict[str, Any]:
        started = time.perf_counter()
        try:
            verb = str(request.get("verb"))
            if verb not in self._verbs:
                raise Refused(
                    "verb", f"unknown verb {_short(verb)}; known: {', '.join(self._verbs)}"
                )
            for handle in request.get("drop", ()):
                self._held.pop(handle, None)
            answer = self._verbs[verb](request, arrays, found)
            answer["seconds"] = time.perf_counter() - started
        except Refused as error:
            del found[:]
            return {"error": {"kind": error.kind, "message": str(error)}}
        except (Exception, SystemExit) as error:
            del found[:]
            traceback.print_exc()
            kind = (
                "memory"
                if isinstance(error, MemoryError)
                else "protocol"
                if _is_ours(error)
                else "model"
            )
            message = str(error) if _is_ours(error) else f"{type(error).__name__}: {error}"
            return {"error": {"kind": kind, "message": " ".join(message.split())}}
        return {"ok": answer}

    def _hello(
        self,
        request: dict[str, Any],
        _arrays: list[Any],
        _found: list[Any],
    ) -> dict[str, Any]:
        if request.get("protocol") != PROTOCOL:
            raise Refused(
                "protocol",
                f"this worker speaks protocol {PROTOCOL}, the host {_short(request.get('protocol'))}",
            )
        self._model = self._models(_object(request.get("options", {})))
        return dict(self._model.described(), sees=_content_of(request.get("look")))

    def _identify(
        self,
        _request: dict[str, Any],
        _arrays: list[Any],
        _found: list[Any],
    ) -> dict[str, Any]:
        return dict(self._opened().identity(), environment=environment())

    def _encode(
        self,
        request: dict[str, Any],
        arrays: list[Any],
        _found: list[Any],
    ) -> dict[str, Any]:
        sample = sample_from(request.get("sample"), arrays)
        return self._keep(sample, self._opened().model.encode(sample))

    def _predict(
        self,
        request: dict[str, Any],
        arrays: list[Any],
        found: list[Any],
    ) -> dict[str, Any]:
        encoded = self._example(request.get("handle"))[1]
        dialogues = [dialogue_from(each, arrays, self._example) for each in request["dialogues"]]
        given = self._opened().model.predict(encoded, dialogues)
        if given is None:
            raise TypeError("predict returned None; return a list with one mask per dialogue")
        answers = [tell_prediction(answer, found) for answer in given]
        return dict(_passes(encoded), answers=answers)

    def _pack(
        self,
        request: dict[str, Any],
        _arrays: list[Any],
        found: list[Any],
    ) -> dict[str, Any]:
        packed = self._opened().model.pack(self._example(request.get("handle"))[1])
        return {
            "packed": {
                str(name): flatten(np.asarray(each), found) for name, each in dict(packed).items()
            }
        }

    def _unpack(
        self,
        request: dict[str, Any],
        arrays: list[Any],
        _found: list[Any],
    ) -> dict[str, Any]:
        packed = {
            name: restore(each, arrays) for name, each in _object(request.get("packed")).items()
        }
        return self._keep(None, self._opened().model.unpack(packed))

    def _nothing(
        self,
        _request: dict[str, Any],
        _arrays: list[Any],
        _found: list[Any],
    ) -> dict[str, Any]:
        return {"held": len(self._held)}

    def _keep(self, sample: Any, encoded: Any) -> dict[str, Any]:
        self._handles += 1
        self._held[self._handles] = sample, encoded
        return dict(_passes(encoded), handle=self._handles, bytes=_size_of(encoded))

    def _opened(self) -> Model:
        if self._model is None:
            raise Refused("order", "hello comes first")
        return self._model

    def _example(self, handle: Any) -> tuple[Any, Any]:
        if type(handle) is not int or handle not in self._held:
            raise Refused("handle", f"unknown handle {_short(handle)}; encode again")
        return self._held[handle]


def _is_ours(error: BaseException) -> bool:
    return isinstance(error, ProtocolError)


def _content_of(path: Any) -> str:
    """Return the start of a file, which proves to the host that both access the same disk; "" if it is unreadable."""
    try:
        with open(str(path), "rb") as file:
            return file.read(200).decode("ascii", "replace")
    except OSError:
        return ""


def _passes(encoded: Any) -> dict[str, Any]:
    seconds = getattr(encoded, "pass_seconds", None)
    return {"pass_seconds": None if seconds is None else [float(each) for each in seconds]}


def _size_of(value: Any, depth: int = 6) -> int:
    """Return the approximate size of the arrays and tensors in a value, in bytes."""
    size = getattr(value, "nbytes", None)
    if isinstance(size, int):
        return size
    if callable(getattr(value, "element_size", None)):
        return int(value.element_size() * value.nelement())
    inner = (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, (list, tuple))
        else None
    )
    parts = list(getattr(value, "__dict__", {}).values()) if inner is None else list(inner)
    return sum(_size_of(part, depth - 1) for part in parts) if depth else 0


def serve(kind: Callable[..., Any], arguments: Sequence[str] | None = None) -> None:
    """Serve a model to the host that started this program, or with `--listen ADDRESS` to hosts that connect.

    Args:
        kind: the adapter's class; all options of its constructor must have defaults.
        arguments: `--listen unix:PATH` or `--listen tcp://HOST:PORT`, and options of the model as `--name value`; by
            default the command line.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if sys.stdin.isatty() and not words:
        sys.exit(
            'This is a worker of segarena. Try it: segarena worker check-adapter "python %s". A run: '
            "segarena run clicks --segmenter \"worker('python %s')\". On another machine: python %s --listen tcp://0.0.0.0:7000"
            % ((os.path.basename(sys.argv[0]),) * 3)
        )
    try:
        address, given = _read_arguments(words, kind)
    except Refused as error:
        sys.exit(f"error: {error}")
    built: dict[str, Model] = {}

    def models(options: Mapping[str, Any]) -> Model:
        key = json.dumps(options, sort_keys=True)
        if key not in built:
            built[key] = Model(kind, dict(given, **options))
        return built[key]

    if address:
        try:
            _listen(address, models)
        except (Refused, OSError) as error:
            sys.exit(f"error: cannot listen on {address}: {error}")
    else:
        _serve_parent(models)


def _read_arguments(words: list[str], kind: Callable[..., Any]) -> tuple[str, dict[str, Any]]:
    """Return the address to listen on ("" for none), and the options with the types of their defaults."""
    known, address, given = _options_of(kind), "", {}
    while words:
        name = words.pop(0)
        if not name.startswith("--") or not words:
            raise Refused("options", f"expected --listen ADDRESS or --option value, got {name!r}")
        key, text = name[2:].replace("-", "_"), words.pop(0)
        if key == "listen":
            address = text
        elif key in known:
            given[key] = _read_option(text, known[key])
        else:
            raise Refused(
                "options",
                "unknown option {}; it takes {}".format(name, ", ".join(known) or "no options"),
            )
    return address, given


def _read_option(text: str, default: Any) -> Any:
    if isinstance(default, bool):
        return text.lower() in ("1", "true", "yes")
    if isinstance(default, (int, float)):
        return type(default)(text)
    return text


def _serve_parent(models: Callable[[Mapping[str, Any]], Model]) -> None:
    """Serve on the original stdin and stdout; the model's own output goes to stderr, which is the log."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # a model that reads stdin gets nothing, and takes no request
    os.dup2(2, 1)
    sys.stdout.flush()  # output buffered so far goes to the log, too
    stdout: Any = sys.stdout
    if hasattr(stdout, "reconfigure"):
        stdout.reconfigure(line_buffering=True)
    _die_with_parent(source)
    stream = Stream(source, sink)
    try:
        stream.write(GREETING % PROTOCOL)
        Conversation(stream, models, threading.Lock()).hold()
    except (BrokenPipeError, ConnectionResetError):
        pass
    sys.stderr.flush()


def _die_with_parent(source: int) -> None:
    """End this process as soon as the host is gone, even while the model is working."""
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):  # some C libraries have no prctl
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_watch, args=(source,), daemon=True).start()


def _watch(source: int) -> None:
    poll = select.poll()
    poll.register(source, 0)  # poll always reports hang-ups
    poll.poll()
    os._exit(1)


def _listen(address: str, models: Callable[[Mapping[str, Any]], Model]) -> None:
    """Serve several hosts that connect and present the token; the model works for one host at a time."""
    token = os.environ.get(TOKEN, "")
    if not token:
        token = secrets.token_urlsafe(24)
        sys.stderr.write(f"no token in {TOKEN}; generated one: {token}\n")
    listening, lock, strangers = (
        _bound(address),
        threading.Lock(),
        threading.Semaphore(_MOST_STRANGERS),
    )
    sys.stderr.write(f"listening at {address}\n")
    sys.stderr.flush()
    while True:
        strangers.acquire()
        connection, _ = listening.accept()
        threading.Thread(
            target=_meet, args=(connection, token, models, lock, strangers), daemon=True
        ).start()


def _bound(address: str) -> socket.socket:
    kind, place = parse_address(address)
    if kind == "unix":
        made = socket.socket(socket.AF_UNIX)
        if os.path.exists(place):
            if not stat.S_ISSOCK(os.stat(place).st_mode):
                raise Refused("options", f"{place} exists and is not a socket")
            os.unlink(place)  # a killed worker left it behind
        before = os.umask(0o077)
        made.bind(place)
        os.umask(before)
    else:
        made = socket.socket(socket.AF_INET6 if ":" in place[0] else socket.AF_INET)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(place)
    made.listen(16)
    return made


def parse_address(address: str) -> tuple[str, Any]:
    """Return ("unix", path) or ("tcp", (host, port)).

    Raises:
        Refused: the address has another form.
    """
    if address.startswith("unix:") and len(address) > len("unix:"):
        return "unix", address[len("unix:") :]
    host, colon, port = address[len("tcp://") :].rpartition(":")
    if (
        not address.startswith("tcp://")
        or not colon
        or not port.isdigit()
        or not 0 < int(port) < 65536
    ):
        raise Refused(
            "options",
            f"expected an address like unix:/tmp/worker or tcp://127.0.0.1:7000, got {address!r}",
        )
    return "tcp", (host.strip("[]"), int(port))


def _meet(
    connection: socket.socket,
    token: str,
    models: Callable[[Mapping[str, Any]], Model],
    lock: Any,
    strangers: Any,
) -> None:
    with connection:
        try:
            is_known = _shows_token(connection, token)
        except (OSError, EOFError, ProtocolError) as error:
            sys.stderr.write(f"a connection ended before it sent the token: {error}\n")
            return
        finally:
            strangers.release()
        try:
            if is_known:
                Conversation(Stream(connection.fileno(), connection.fileno()), models, lock).hold()
        except (OSError, EOFError, ProtocolError) as error:
            sys.stderr.write(f"a connection ended: {error}\n")


def _shows_token(connection: socket.socket, token: str) -> bool:
    """Return whether the client's first message has the token; disconnect a client that sends no message in time."""
    if connection.family != socket.AF_UNIX:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    stream = Stream(connection.fileno(), connection.fileno(), MOST_UNKNOWN_BYTES, 0)
    late = threading.Timer(_MOST_STRANGE_SECONDS, connection.shutdown, (socket.SHUT_RDWR,))
    late.start()
    try:
        stream.write(GREETING % PROTOCOL)
        request, _ = stream.receive()
    finally:
        late.cancel()
    shown = str(request.get("token", "")) if request.get("verb") == "token" else ""
    if not hmac.compare_digest(shown.encode("utf-8", "surrogatepass"), token.encode("utf-8")):
        time.sleep(0.5)  # slows down guessing
        refusal = f"wrong token; set {TOKEN} to the token of the worker"
        stream.send({"id": request.get("id"), "error": {"kind": "token", "message": refusal}})
        return False
    stream.send({"id": request.get("id"), "ok": {}})
    return True
