"""Base classes of segmenters that are neural networks: weights, device, number format, batch size."""

# Annotations are not postponed here: the options of subclasses in other modules are validated
# by these annotations, which must be types at run time.
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from segarena.segmenters.learned.promptable.devices import BatchRunner


@dataclass(kw_only=True, eq=False)
class NetworkSegmenter:
    """A network with weights that you bring.

    Args:
        weights: a folder, a name on the hub, or the authors' own file (see
            `segarena.segmenters.weights.loading`).
        device: "cpu", "cuda" or "cuda:1"; "auto" is the first GPU, or the CPU if there is none.
        dtype: floating point format of the network.
        allow_download: whether weights may be downloaded from the hub.

    Raises:
        PluginInvalid: an unknown option or device.
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
        """Set `model`, in evaluation mode on its device, and `torch_device` and `torch_dtype`.

        Args:
            family: one of `segarena.segmenters.weights.loading.FAMILIES`.
        """
        # torch is an optional dependency, and every listing of plug-ins imports this file.
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
    """A network that decodes several dialogues in one batch.

    Args:
        batch_size: dialogues decoded at once on a GPU; "auto" fills half of its free memory, at most
            64. The CPU decodes one by one.
    """

    batch_size: int | Literal["auto"] = "auto"

    def load(self, family: str) -> None:
        """Check the batch size, then load the model."""
        from segarena.segmenters.learned.promptable.devices import check_batch_size

        check_batch_size(self.batch_size)
        super().load(family)

    def create_batch_runner(self, side_px: int) -> "BatchRunner":
        """Return the batch runner for a network whose input is a square of this side."""
        from segarena.segmenters.learned.promptable.devices import BatchRunner, choose_batch_size

        size = choose_batch_size(
            self.batch_size,
            self.torch_device,
            side_px=side_px,
            bytes_per_number=self.torch_dtype.itemsize,
        )
        return BatchRunner(size)
