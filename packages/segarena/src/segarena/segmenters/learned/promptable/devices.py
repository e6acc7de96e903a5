"""Device of a network, its batch size, and errors when its memory runs out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from segarena.errors import PluginInvalid, SegmenterError
from segarena.pytorch import Tensor, nn, torch

LARGEST_BATCH = 64
"""Maximum batch size; larger batches save too little time for the memory that they need."""

_BYTES_PER_DIALOGUE = 128 * 2**20
"""Memory for one dialogue in a float32 decoder with 1024-pixel input: the sum over layers, doubled."""
_DEFAULT_SIDE_PX = 1024
_FLOAT32_BYTES = 4

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def choose_device(name: str) -> torch.device:
    """Return the device called `name`; "auto" is the first CUDA device, or the CPU if there is none.

    Raises:
        PluginInvalid: the device does not exist.
    """
    gpus = [f"cuda:{index}" for index in range(torch.cuda.device_count())]
    devices = ["cpu", *gpus]
    if name == "auto":
        wanted = gpus[0] if gpus else "cpu"
    elif name == "cuda":
        wanted = "cuda:0"
    else:
        wanted = name
    if wanted not in devices:
        available = ", ".join(map(repr, devices))
        raise PluginInvalid(f"device={name!r} does not exist; available: 'auto', {available}")
    return torch.device(wanted)


def copy_to_device(
    array: NDArray[Any],
    device: torch.device,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Copy an array to a device, without waiting for a GPU to finish earlier work.

    Args:
        array: any shape and numeric dtype.
        device: destination; on the CPU the result shares the memory of a contiguous array.
        dtype: format of the result; None keeps that of the array. A GPU converts the format itself.
    """
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    if device.type == "cuda":
        # Only copies from page-locked memory run beside the computation.
        tensor = tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device, dtype)


def copy_to_host(tensor: Tensor) -> NDArray[Any]:
    """Return a tensor as an array in main memory. This waits until the device has computed it."""
    tensor = tensor.detach()
    if tensor.device.type != "cuda":
        return tensor.cpu().numpy()
    host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    host.copy_(tensor, non_blocking=True)
    torch.cuda.current_stream(tensor.device).synchronize()
    # Page-locked memory is scarce, so it must not live as long as a prediction.
    return host.numpy().copy()


def copy_together_to_host(*tensors: Tensor) -> list[NDArray[Any]]:
    """Return tensors as arrays in main memory; one copy and one wait serve all of them.

    Args:
        tensors: bool, uint8 or float32, any shapes, on one device.
    """
    octets = torch.cat([tensor.contiguous().reshape(-1).view(torch.uint8) for tensor in tensors])
    copied = copy_to_host(octets)
    arrays: list[NDArray[Any]] = []
    start = 0
    for tensor in tensors:
        stop = start + tensor.numel() * tensor.element_size()
        dtype = np.dtype(str(tensor.dtype).removeprefix("torch."))
        # A copy, because a float may start at any byte, and the arrays live for different times.
        values = copied[start:stop].copy().view(dtype)
        arrays.append(values.reshape(tensor.shape))
        start = stop
    return arrays


def check_batch_size(size: int | str) -> None:
    """Raise `PluginInvalid` unless `size` is "auto" or an integer of at least 1."""
    if size == "auto":
        return
    is_whole = isinstance(size, int) and not isinstance(size, bool)
    if not is_whole or int(size) < 1:
        raise PluginInvalid(f"batch_size={size!r}: expected 'auto' or a whole number of at least 1")


def choose_batch_size(
    size: int | str,
    device: torch.device,
    *,
    side_px: int = _DEFAULT_SIDE_PX,
    bytes_per_number: int = _FLOAT32_BYTES,
) -> int:
    """Return how many dialogues to decode in one batch.

    On the CPU the result is always 1. Batches save no time there, and kernels that round
    differently for other batch sizes would make a result depend on the rest of its batch. On a GPU,
    "auto" fills half of the free memory, at most `LARGEST_BATCH`.

    Args:
        size: "auto" or a fixed number.
        device: device of the network.
        side_px: side of the network's input; the memory of a dialogue grows with its square.
        bytes_per_number: size of a number in the network's format.

    Raises:
        PluginInvalid: see `check_batch_size`.
    """
    check_batch_size(size)
    if device.type == "cpu":
        return 1
    if isinstance(size, int):
        return size
    free_bytes, _ = torch.cuda.mem_get_info(device)
    each_bytes = (
        _BYTES_PER_DIALOGUE * (side_px / _DEFAULT_SIDE_PX) ** 2 * bytes_per_number / _FLOAT32_BYTES
    )
    return max(1, min(LARGEST_BATCH, int(free_bytes / 2 / each_bytes)))


def bytes_for_features(device: torch.device) -> int:
    """Return how many bytes of a GPU's memory may hold features of a video: half of the free memory; 0 on the CPU."""
    if device.type != "cuda":
        return 0
    free_bytes, _ = torch.cuda.mem_get_info(device)
    return free_bytes // 2


class BatchRunner:
    """Runs work in batches of at most `size`, and halves the size permanently when memory runs out."""

    def __init__(self, size: int) -> None:
        self.size = size

    def map(
        self, work: Callable[[Sequence[Item]], Sequence[Answer]], items: Sequence[Item]
    ) -> list[Answer]:
        """Return one result per item, in order; warn when memory runs out.

        Raises:
            SegmenterError: memory runs out for a single item.
        """
        finished: list[Answer] = []
        while len(finished) < len(items):
            batch = items[len(finished) : len(finished) + self.size]
            answers = self._try(work, batch)
            if answers is None:
                self._halve(len(batch))
            else:
                finished.extend(answers)
        return finished

    @staticmethod
    def _try(
        work: Callable[[Sequence[Item]], Sequence[Answer]], batch: Sequence[Item]
    ) -> Sequence[Answer] | None:
        """Return the results, or None if memory ran out.

        The caller retries outside the exception handler, because a traceback would keep the tensors
        of the failed attempt alive.
        """
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
            f"out of memory with {failed} dialogues at once; continuing with {self.size}. "
            f"Set batch_size={self.size} to start with this size",
            RuntimeWarning,
            stacklevel=4,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedPrecision:
    """Floating-point formats in which a network computes, in addition to the format of its weights.

    Attributes:
        device: device of the network.
        autocast: format of the operations that PyTorch considers safe in it; None keeps the format
            of the weights.
        is_tf32: whether products of float32 numbers may be rounded to TF32 on a GPU.
    """

    device: torch.device
    autocast: torch.dtype | None = None
    is_tf32: bool = False

    @contextmanager
    def inference(self) -> Generator[None]:
        """Run a network without gradients in these formats."""
        autocast = torch.autocast(
            self.device.type, dtype=self.autocast, enabled=self.autocast is not None
        )
        with torch.inference_mode(), autocast, _tf32(self.device, is_on=self.is_tf32):
            yield

    @contextmanager
    def encoding(self, count: int = 1) -> Generator[None]:
        """Run an encoder like `inference`, and report exhausted memory as a one-line error.

        Args:
            count: number of images in the pass.

        Raises:
            SegmenterError: the device ran out of memory.
        """
        images = "one image" if count == 1 else f"{count} images"
        try:
            with self.inference():
                yield
        except torch.OutOfMemoryError as error:
            raise out_of_memory_error(f"encoding {images}", error) from error


@contextmanager
def _tf32(device: torch.device, *, is_on: bool) -> Generator[None]:
    """Allow or forbid TF32 in the block; without it, PyTorch would use TF32 in convolutions alone."""
    if device.type != "cuda":
        yield
        return
    backends: Any = torch.backends
    matmul = backends.cuda.matmul
    cudnn = backends.cudnn
    # PyTorch 2.9 replaced the flags by a setting for each kind of operation.
    if hasattr(matmul, "fp32_precision"):
        parts = [(matmul, "fp32_precision"), (cudnn.conv, "fp32_precision")]
        value: Any = "tf32" if is_on else "ieee"
    else:
        parts = [(matmul, "allow_tf32"), (cudnn, "allow_tf32")]
        value = is_on
    before = [getattr(owner, name) for owner, name in parts]
    for owner, name in parts:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for (owner, name), old in zip(parts, before, strict=True):
            setattr(owner, name, old)


def compile_in_place(parts: Iterable[nn.Module], backend: str = "inductor") -> None:
    """Compile parts of a network at their first calls; names and values of weights do not change."""
    for part in parts:
        part.compile(backend=backend)


def out_of_memory_error(activity: str, error: Exception) -> SegmenterError:
    """Return the one-line error for an activity that ran out of memory."""
    first_line: Any = str(error).partition("\n")[0]
    return SegmenterError(
        f"out of memory while {activity}: {first_line}; use dtype='bfloat16', smaller weights or "
        "another device"
    )
