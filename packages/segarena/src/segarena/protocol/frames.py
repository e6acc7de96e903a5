"""Frames of the workers' protocol in memory, from someone who is not trusted: every length is held against a limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import msgspec

from segarena.errors import InvalidInput
from segarena.samples import Shape
from segarena.worker import ProtocolError, Stream, restore

ArrayAnnouncement: TypeAlias = tuple[str, Shape, str | None]
"""An array as a header announces it: dtype ("bits" for bool), shape, and the file that no frame here may name."""

CONTENT_TYPE = "application/x-segarena-frames"

MAX_HEADER_BYTES = 16 * 2**20
MAX_AXES = 4

Kind = TypeVar("Kind")


class _Memory(Stream):
    """A stream that reads from bytes, and writes to them."""

    def __init__(self, data: bytes = b"", **limits: int) -> None:
        super().__init__(-1, -1, **limits)
        self.written = bytearray()
        self.check: Callable[[Sequence[ArrayAnnouncement]], None] | None = None
        self._left = memoryview(data)

    def read_into(self, buffer: Any) -> None:
        """Take the next bytes; raise EOFError where there are fewer."""
        view = memoryview(buffer)
        if len(view) > len(self._left):
            raise EOFError("it ends too early")
        view[:] = self._left[: len(view)]
        self._left = self._left[len(view) :]

    def write(self, data: Any) -> None:
        """Append bytes."""
        self.written += data

    def before_arrays(self, announced: Sequence[ArrayAnnouncement]) -> None:
        """Refuse files, many axes, and what the caller does not take."""
        for dtype, shape, file in announced:
            if file is not None or len(shape) > MAX_AXES or max(shape, default=0) >= 2**40:
                raise ProtocolError(f"an array that is not taken here: {dtype} {shape}")
        if self.check is not None:
            self.check(announced)

    @property
    def is_read(self) -> bool:
        return not self._left


def write_frame(header: Mapping[str, Any], arrays: Sequence[Any] = ()) -> bytes:
    """Return a frame. The same content gives the same bytes."""
    stream = _Memory()
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

    No more memory is taken for arrays than eight times the bytes that are there: bool arrays travel as bits.

    Args:
        data: the whole of it, nothing more.
        what: how errors call it.
        most_header: bytes that its header may have.
        check: looks at what arrays are announced before they are made, and raises `InvalidInput`.

    Raises:
        InvalidInput: it is no frame, or not one that is taken here.
    """
    stream = _Memory(data, most_header=min(most_header, len(data)), most_body=len(data))
    stream.check = check
    try:
        header, arrays = stream.receive()
    except InvalidInput:
        raise
    except (ProtocolError, EOFError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidInput(f"{what}: {' '.join(str(error).split())[:200]}") from error
    if not stream.is_read:
        raise InvalidInput(f"{what}: expected one frame, more bytes follow it")
    return header, arrays


def restore_fields(told: Any, arrays: Sequence[Any], what: str) -> dict[str, Any]:
    """Return the fields of an object in a header, with their arrays.

    Raises:
        InvalidInput: it is none, or names an array that is not there.
    """
    try:
        return {str(name): restore(value, arrays) for name, value in dict(told).items()}
    except (ProtocolError, TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{what}: {str(error)[:200]}") from error


def convert_field(value: Any, kind: type[Kind], what: str) -> Kind:
    """Return a value of a header as a type.

    Raises:
        InvalidInput: it is none of that type; the field is named.
    """
    try:
        return msgspec.convert(value, kind)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{what}: {str(error)[:200]}") from error
