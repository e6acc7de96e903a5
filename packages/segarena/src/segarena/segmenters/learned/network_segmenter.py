"""What all segmenters that are networks share: which weights, where they run, and in which numbers."""

# Annotations are not postponed here: subclasses in other modules inherit these options, which are checked by them.
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    pass


@dataclass(kw_only=True, eq=False)
class NetworkSegmenter:
    """A network with weights that somebody brings.

    Args:
        weights: a folder, a name on the hub or the authors' own file (see `segarena.segmenters.weights.loading`).
        device: "cpu", "cuda" or "cuda:1"; "auto" is the first GPU, or the CPU where there is none.
        dtype: the network's floating point numbers.
        allow_download: whether a name on the hub may be fetched.

    Raises:
        PluginInvalid: an option that does not exist, or a device that is not there.
        InvalidInput: the weights cannot be used.
        MissingExtra: torch or transformers is not installed.
    """

    weights: str
    device: str = "auto"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    allow_download: bool = False

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all weights and of the configuration."""
        from segarena.segmenters.learned.promptable import tensor_serialization

        return tensor_serialization.model_fingerprint(self.model)

    def load(self, family: str) -> None:
        """Set `model`, in evaluation mode on its device, and the torch objects `place` and `numbers`.

        Args:
            family: one of `segarena.segmenters.weights.loading.FAMILIES`.
        """
        # torch is an extra, and every listing of plug-ins imports this file.
        from segarena.pytorch import torch
        from segarena.segmenters.learned.promptable.devices import choose_device
        from segarena.segmenters.weights.loading import load_model

        self.place: Any = choose_device(self.device)
        self.numbers: Any = getattr(torch, self.dtype)
        self.device = str(self.place)
        self.model: Any = load_model(
            self.weights,
            family=family,
            device=self.device,
            dtype=self.dtype,
            allow_download=self.allow_download,
        )


@dataclass(kw_only=True, eq=False)
class BatchingSegmenter(NetworkSegmenter):
    """A network that answers several prompts at once.

    Args:
        batch_size: dialogues decoded at once on a GPU; "auto" takes half of its free memory, at most 64. The CPU
            decodes one by one.
    """

    batch_size: int | Literal["auto"] = "auto"

    def load(self, family: str) -> None:
        """Load the model, after a look at the batch size."""
        from segarena.segmenters.learned.promptable.devices import check_batch_size

        check_batch_size(self.batch_size)
        super().load(family)

    def choose_batches(self, side_px: int) -> "Batches":
        """Return how much to do at once, for a network that sees a square of so many pixels."""
        from segarena.segmenters.learned.promptable.devices import BatchRunner, choose_batch_size

        bytes_per_number = self.numbers.itemsize
        return BatchRunner(
            choose_batch_size(
                self.batch_size, self.place, side_px=side_px, bytes_per_number=bytes_per_number
            )
        )
