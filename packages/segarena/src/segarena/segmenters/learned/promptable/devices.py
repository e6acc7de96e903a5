"""Where a network runs, in which numbers, and how much of it at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from segarena.errors import PluginInvalid, SegmenterError
from segarena.pytorch import torch

LARGEST_BATCH = 64
"""Beyond this a larger batch gains nothing that would be worth its memory."""

_BYTES_PER_DIALOGUE = 128 * 2**20
"""What one dialogue takes in a decoder for 1024 pixels in float32, counted from its layers and doubled."""

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def choose_device(name: str) -> torch.device:
    """Return the device called `name`; "auto" is the first CUDA device, or the CPU where there is none.

    Raises:
        PluginInvalid: there is no such device.
    """
    there = ["cpu", *(f"cuda:{index}" for index in range(torch.cuda.device_count()))]
    if name == "auto":
        wanted = there[min(1, len(there) - 1)]
    else:
        wanted = "cuda:0" if name == "cuda" else name
    if wanted not in there:
        raise PluginInvalid(
            f"device={name!r} is not there; available: 'auto', {', '.join(map(repr, there))}"
        )
    return torch.device(wanted)


def check_batch_size(size: int | str) -> None:
    """Raise `PluginInvalid` unless `size` is "auto" or a whole number of at least 1."""
    if size != "auto" and (not isinstance(size, int) or isinstance(size, bool) or size < 1):
        raise PluginInvalid(f"batch_size={size!r}: expected 'auto' or a whole number of at least 1")


def choose_batch_size(
    size: int | str, device: torch.device, *, side_px: int = 1024, bytes_per_number: int = 4
) -> int:
    """Return how many dialogues to decode at once.

    On the CPU always 1: batches gain no time there, and kernels that round otherwise in another batch would make a
    result depend on its neighbours. On a GPU, "auto" takes half of the free memory, and at most `LARGEST_BATCH`: the
    less, the larger the square that the network sees and the wider its numbers. Raises as `check_batch_size`.
    """
    check_batch_size(size)
    if device.type == "cpu":
        return 1
    if isinstance(size, int):
        return size
    free_bytes, _ = torch.cuda.mem_get_info(device)
    each_bytes = _BYTES_PER_DIALOGUE * (side_px / 1024) ** 2 * bytes_per_number / 4
    return max(1, min(LARGEST_BATCH, int(free_bytes / 2 / each_bytes)))


class BatchRunner:
    """Does work in batches of at most `size`, and halves that for good when memory runs out."""

    def __init__(self, size: int) -> None:
        self.size = size

    def map(
        self, work: Callable[[Sequence[Item]], Sequence[Answer]], items: Sequence[Item]
    ) -> list[Answer]:
        """Return one answer per item, in order. Warns the first time that memory runs out.

        Raises:
            SegmenterError: memory runs out for a single item.
        """
        done: list[Answer] = []
        while len(done) < len(items):
            batch = items[len(done) : len(done) + self.size]
            answers = self._try(work, batch)
            if answers is None:
                self._halve(len(batch))
            else:
                done.extend(answers)
        return done

    @staticmethod
    def _try(
        work: Callable[[Sequence[Item]], Sequence[Answer]], batch: Sequence[Item]
    ) -> Sequence[Answer] | None:
        """Return the answers, or None when memory ran out: outside of the handler nothing holds the failed tensors."""
        try:
            return work(batch)
        except torch.OutOfMemoryError as error:
            if len(batch) == 1:
                raise out_of_memory_error("decoding one dialogue", error) from error
            return None

    def _halve(self, failed: int) -> None:
        self.size = max(1, failed // 2)
        torch.cuda.empty_cache()
        warnings.warn(
            f"out of memory with {failed} dialogues at once; going on with {self.size}. "
            f"Set batch_size={self.size} to start so",
            RuntimeWarning,
            stacklevel=4,
        )


@contextmanager
def encoding_context() -> Generator[None]:
    """Let a network look at an image, without keeping what training would need.

    Raises:
        SegmenterError: out of memory.
    """
    try:
        with torch.inference_mode():
            yield
    except torch.OutOfMemoryError as error:
        raise out_of_memory_error("encoding one image", error) from error


def out_of_memory_error(doing: str, error: Exception) -> SegmenterError:
    """Return the error to raise when even the smallest piece of work does not fit."""
    first: Any = str(error).partition("\n")[0]
    return SegmenterError(
        f"out of memory while {doing}: {first}; take dtype='bfloat16', smaller weights or another device"
    )
