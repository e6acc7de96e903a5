"""In-memory frames of the worker protocol, from an untrusted sender: every length is checked against a limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import msgspec

from segarena.errors import InvalidInput
from segarena.samples import Shape
from segarena.worker import ProtocolError, Stream, restore

ArrayAnnouncement: TypeAlias = tuple[str, Shape, str | None]
"""Array description in a header: dtype ("bits" for bool), shape, and a file, which these frames may not name."""

CONTENT_TYPE = "application/x-segarena-frames"

MAX_HEADER_BYTES = 16 * 2**20
# A colour video has the most axes: time, rows, columns and colours.
MAX_AXES = 4
# Far above any real side length, and low enough that the product of four sides stays a small Python
# int.
_MAX_SIDE = 2**40
_MAX_ERROR_LETTERS = 200

Kind = TypeVar("Kind")


class _MemoryStream(Stream):
    """A stream that reads from given bytes, and collects the bytes written to it."""

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
        """Reject files, arrays with too many or too long axes, and everything that the caller's check rejects."""
        for dtype, shape, file in announced:
            is_too_large = len(shape) > MAX_AXES or max(shape, default=0) >= _MAX_SIDE
            if file is not None or is_too_large:
                raise ProtocolError(f"an array that is not accepted here: {dtype} {shape}")
        if self.check is not None:
            self.check(announced)

    @property
    def is_exhausted(self) -> bool:
        return not self._rest


def write_frame(header: Mapping[str, Any], arrays: Sequence[Any] = ()) -> bytes:
    """Serialize a frame. The same content gives the same bytes."""
    stream = _MemoryStream()
    stream.send(header, arrays)
    return bytes(stream.written)


def read_frame(
    data: bytes,
    kind: type[Kind],
    *,
    what: str,
    most_header: int = MAX_HEADER_BYTES,
    check: Callable[[Sequence[ArrayAnnouncement]], None] | None = None,
) -> tuple[Kind, list[Any]]:
    """Parse a frame into its header and arrays.

    Arrays take at most eight times the size of the frame, because bool arrays are transmitted as
    bits.

    Args:
        data: the bytes of exactly one frame.
        kind: type of the header.
        what: the name of the message in errors.
        most_header: size limit of the header, in bytes.
        check: function that checks the announced arrays before memory is allocated; raises `InvalidInput`.

    Raises:
        InvalidInput: the data are not a frame with such a header, or exceed a limit.
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
        raise InvalidInput(f"{what}: expected one frame, got more bytes after it")
    return convert_field(header, kind, what), arrays


def restore_fields(
    encoded: Any,
    arrays: Sequence[Any],
    what: str,
) -> dict[str, Any]:
    """Return the fields of an object in a header, including its arrays.

    Raises:
        InvalidInput: the value is not an object, or refers to a missing array.
    """
    try:
        fields = dict(encoded)
        return {str(name): restore(value, arrays) for name, value in fields.items()}
    except (ProtocolError, TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{what}: {str(error)[:_MAX_ERROR_LETTERS]}") from error


def convert_field(
    value: Any,
    kind: type[Kind],
    what: str,
) -> Kind:
    """Convert a value of a header to a type.

    Raises:
        InvalidInput: the value cannot be converted; the message starts with `what`.
    """
    try:
        return msgspec.convert(value, kind)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{what}: {str(error)[:_MAX_ERROR_LETTERS]}") from error
