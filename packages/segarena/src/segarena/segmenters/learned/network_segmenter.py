"""Base classes of segmenters that are neural networks: weights, device, floating-point format, batch size."""

# Annotations are not postponed here: options of subclasses in other modules are validated against
# these annotations, which must therefore be types at run time.
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from segarena.errors import PluginInvalid
from segarena.segmenters.learned.promptable.tensor_serialization import model_fingerprint

if TYPE_CHECKING:
    from segarena.segmenters.learned.promptable.devices import BatchRunner


@dataclass(kw_only=True, eq=False)
class NetworkSegmenter:
    """A neural network whose weights you provide.

    Args:
        weights: a folder, a name on the hub, or a file released by the authors (see
            `segarena.segmenters.weights.loading`).
        device: "cpu", "cuda" or "cuda:1"; "auto" is the first GPU, or the CPU if there is none.
        dtype: floating-point format of the network.
        allow_download: whether weights may be downloaded from the hub.
        autocast: compute in this format where PyTorch considers it safe, with weights in float32;
            None turns it off.
        tf32: True lets a GPU round float32 products to TF32, which is faster.
        compile: True compiles the network at its first calls, which can take minutes; later calls
            are faster. On the CPU this needs a C++ compiler.
        channels_last: True stores the weights of convolutions with the channels last, which suits half
            precision on GPUs.

    Raises:
        PluginInvalid: an option or device is unknown, or an option has no effect on this device or
            with this dtype.
        InvalidInput: the weights cannot be used.
        MissingExtra: torch or transformers is not installed.
    """

    weights: str
    device: str = "auto"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    allow_download: bool = False
    # The defaults are None, so that runs of earlier versions, which did not record these options,
    # can be continued.
    autocast: Literal["bfloat16", "float16"] | None = None
    tf32: bool | None = None
    compile: bool | None = None
    channels_last: bool | None = None

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all weights and of the configuration."""
        return model_fingerprint(self.model)

    def load(self, family: str) -> None:
        """Load the network in evaluation mode; sets `model`, `torch_device`, `torch_dtype` and `precision`.

        Args:
            family: a key of `segarena.segmenters.weights.loading.FAMILIES`.
        """
        # Imported here, because torch is optional and every listing of plug-ins imports this file.
        from segarena.pytorch import torch
        from segarena.segmenters.learned.promptable.devices import (
            MixedPrecision,
            choose_device,
            compile_in_place,
        )
        from segarena.segmenters.weights.loading import load_model

        self.torch_device: Any = choose_device(self.device)
        self.torch_dtype: Any = getattr(torch, self.dtype)
        self.device = str(self.torch_device)
        self._check_precision()
        self.precision: Any = MixedPrecision(
            device=self.torch_device,
            autocast=self.autocast and getattr(torch, self.autocast),
            is_tf32=bool(self.tf32),
        )
        self.model: Any = load_model(
            self.weights,
            family=family,
            device=self.device,
            dtype=self.dtype,
            allow_download=self.allow_download,
        )
        if self.channels_last:
            self.model.to(memory_format=torch.channels_last)
        if self.compile:
            compile_in_place(self.compiled_parts())

    def compiled_parts(self) -> Iterable[Any]:
        """Return the modules of the network that `compile` compiles: those that are called as functions."""
        return self.model.children()

    def _check_precision(self) -> None:
        """Raise `PluginInvalid` for options that have no effect."""
        if self.dtype != "float32":
            for option in ("autocast", "tf32"):
                value = getattr(self, option)
                if value:
                    raise PluginInvalid(
                        f"{option}={value!r}: expected dtype='float32', got {self.dtype!r}; set one of the two"
                    )
        if self.tf32 and self.torch_device.type != "cuda":
            raise PluginInvalid(
                f"tf32=True: expected a GPU, got device={self.device!r}; leave it out"
            )


@dataclass(kw_only=True, eq=False)
class BatchingSegmenter(NetworkSegmenter):
    """A network that decodes several dialogues as one batch.

    Args:
        batch_size: number of dialogues decoded at once on a GPU; "auto" fills half of its free
            memory, at most 64. The CPU always decodes one at a time.
    """

    batch_size: int | Literal["auto"] = "auto"

    def load(self, family: str) -> None:
        """Check the batch size, then load the model."""
        from segarena.segmenters.learned.promptable.devices import check_batch_size

        check_batch_size(self.batch_size)
        super().load(family)

    def create_batch_runner(self, side_px: int) -> "BatchRunner":
        """Return the batch runner for a network whose input is a square with this side."""
        from segarena.segmenters.learned.promptable.devices import BatchRunner, choose_batch_size

        size = choose_batch_size(
            self.batch_size,
            self.torch_device,
            side_px=side_px,
            bytes_per_number=self.torch_dtype.itemsize,
        )
        return BatchRunner(size)
