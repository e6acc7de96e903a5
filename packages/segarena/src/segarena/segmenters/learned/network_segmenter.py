"""Base classes of segmenters that are neural networks: weights, device, floating-point format, batch size."""

# Annotations are not postponed here: options of subclasses in other modules are validated against
# these annotations, which must therefore be types at run time.
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

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

    Raises:
        PluginInvalid: an option or device is unknown.
        InvalidInput: the weights cannot be used.
        MissingExtra: torch or transformers is not installed.
    """

    weights: str
    device: str = "auto"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    allow_download: bool = False

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all weights and of the configuration."""
        from segarena.segmenters.learned.promptable import tensor_serialization

        return tensor_serialization.model_fingerprint(self.model)

    def load(self, family: str) -> None:
        """Load the network in evaluation mode; sets `model`, `torch_device` and `torch_dtype`.

        Args:
            family: a key of `segarena.segmenters.weights.loading.FAMILIES`.
        """
        # Imported here, because torch is optional and every listing of plug-ins imports this file.
        from segarena.pytorch import torch
        from segarena.segmenters.learned.promptable.devices import choose_device
        from segarena.segmenters.weights.loading import load_model

        self.torch_device: Any = choose_device(self.device)
        self.torch_dtype: Any = getattr(torch, self.dtype)
        self.device = str(self.torch_device)
        self.model: Any = load_model(
            self.weights,
            family=family,
            device=self.device,
            dtype=self.dtype,
            allow_download=self.allow_download,
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
