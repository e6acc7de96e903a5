"""Frames of the worker protocol in memory, from an untrusted sender: every length is checked against a limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import msgspec

from segarena.errors import InvalidInput
from segarena.samples import Shape
from segarena.worker import ProtocolError, Stream, restore

ArrayAnnouncement: TypeAlias = tuple[str, Shape, str | None]
"""An array as a header announces it: dtype ("bits" for bool), shape, and a file, which no frame here may name."""

CONTENT_TYPE = "application/x-segarena-frames"

MAX_HEADER_BYTES = 16 * 2**20
MAX_AXES = 4
# Far above any real side, and low enough that the product of four sides is a Python int of sane size.
_MAX_SIDE = 2**40
_MAX_ERROR_LETTERS = 200

Kind = TypeVar("Kind")


class _MemoryStream(Stream):
    """A stream that reads from bytes and writes to them."""

    def __init__(self, data: bytes = b"", **limits: int) -> None:
        super().__init__(-1, -1, **limits)
        self.written = bytearray()
        self.check: Callable[[Sequence[ArrayAnnouncement]], None] | None = None
        self._rest = memoryview(data)

    def read_into(self, buffer: Any) -> None:
        """Read the next bytes; raise EOFError if there are too few."""
        view = memoryview(buffer)
        if len(view) > len(self._rest):
            raise EOFError("it ends too early")
        view[:] = self._rest[: len(view)]
        self._rest = self._rest[len(view) :]

    def write(self, data: Any) -> None:
        """Append bytes."""
        self.written += data

    def before_arrays(self, announced: Sequence[ArrayAnnouncement]) -> None:
        """Reject files, arrays with many axes, and whatever the caller's check rejects."""
        for dtype, shape, file in announced:
            is_too_large = len(shape) > MAX_AXES or max(shape, default=0) >= _MAX_SIDE
            if file is not None or is_too_large:
                raise ProtocolError(f"an array that is not taken here: {dtype} {shape}")
        if self.check is not None:
            self.check(announced)

    @property
    def is_exhausted(self) -> bool:
        return not self._rest


def write_frame(header: Mapping[str, Any], arrays: Sequence[Any] = ()) -> bytes:
    """Return a frame. The same content gives the same bytes."""
    stream = _MemoryStream()
    stream.send(header, arrays)
    return bytes(stream.written)


def read_frame(
    data: bytes,
    *,
    what: str,
    most_header: int = MAX_HEADER_BYTES,
    check: Callable[[Sequence[ArrayAnnouncement]], None] | None = None,
) -> tuple[dict[str, Any], list[Any]]:
    """Return the header and the arrays of a frame.

    Arrays take at most eight times the bytes of the frame, because bool arrays are transmitted as bits.

    Args:
        data: exactly one frame.
        what: the name of the message in errors.
        most_header: the limit of the header, in bytes.
        check: inspects the announced arrays before memory is allocated; raises `InvalidInput`.

    Raises:
        InvalidInput: not a frame, or one that exceeds a limit.
    """
    stream = _MemoryStream(data, most_header=min(most_header, len(data)), most_body=len(data))
    stream.check = check
    try:
        header, arrays = stream.receive()
    except InvalidInput:
        raise
    except (ProtocolError, EOFError, ValueError, OverflowError, RecursionError) as error:
        reason = " ".join(str(error).split())[:_MAX_ERROR_LETTERS]
        raise InvalidInput(f"{what}: {reason}") from error
    if not stream.is_exhausted:
        raise InvalidInput(f"{what}: expected one frame, more bytes follow it")
    return header, arrays


def restore_fields(encoded: Any, arrays: Sequence[Any], what: str) -> dict[str, Any]:
    """Return the fields of an object in a header, with their arrays.

    Raises:
        InvalidInput: not an object, or it refers to an array that is not there.
    """
    try:
        fields = dict(encoded)
        return {str(name): restore(value, arrays) for name, value in fields.items()}
    except (ProtocolError, TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{what}: {str(error)[:_MAX_ERROR_LETTERS]}") from error


def convert_field(value: Any, kind: type[Kind], what: str) -> Kind:
    """Return a value of a header as a type.

    Raises:
        InvalidInput: another type; the message names the field.
    """
    try:
        return msgspec.convert(value, kind)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{what}: {str(error)[:_MAX_ERROR_LETTERS]}") from error
