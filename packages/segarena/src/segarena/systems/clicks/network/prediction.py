"""Click predictions of the clickability network. Needs torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window
from segarena.errors import InvalidInput, InvalidMask
from segarena.pytorch import Tensor, functional, torch
from segarena.samples import Mask, as_image, as_mask
from segarena.systems.clicks.network.checkpoint import load_checkpoint
from segarena.systems.clicks.network.letterbox import Letterbox, view_window
from segarena.systems.clicks.network.model import ClickabilityNetwork, NetworkSize

CallPath = Literal["benchmark", "evaluation"]
# The published model and its benchmark class use different values to avoid division by zero.
EPSILONS = {"benchmark": 1e-8, "evaluation": 1e-9}
GPU_BATCH = 16


class ClickabilityModel:
    """Click model that applies the clickability network to images of any size.

    The map is not restricted to the error; samplers multiply it by the error.

    Args:
        network: the network with its weights; it is switched to evaluation mode.
        device: "cpu", "cuda", "cuda:1", ...; "auto" uses a GPU when there is one.
        call_path: one of the two ways in which the published code converts the canvas to a map.
            "benchmark" crops and resizes; "evaluation" also rescales the cropped map to [0, 1],
            which gives NaN for a constant map.
        antialias: smooth the map when it is scaled down, which happens for images smaller than the
            canvas. The published code does not smooth with torchvision 0.16, but does with newer
            versions.
        batch_size: number of images per forward pass in `predict_maps`. None uses 16 on a GPU and 1
            on a CPU, where larger batches are slower (1.4 times for 8, `benches/click_network.py`).
    """

    def __init__(
        self,
        network: ClickabilityNetwork,
        *,
        device: str = "auto",
        call_path: CallPath = "benchmark",
        antialias: bool = True,
        batch_size: int | None = None,
    ) -> None:
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        self.device = torch.device(device)
        self.network = network.to(self.device).eval()
        self.call_path = call_path
        self.antialias = antialias
        default_batch_size = 1 if self.device.type == "cpu" else GPU_BATCH
        self.batch_size = batch_size or default_batch_size

    @classmethod
    def load(
        cls,
        path: Path | str,
        *,
        size: NetworkSize | str | None = None,
        **options: Any,
    ) -> ClickabilityModel:
        """Load the model with the weights in `path`.

        See `load_checkpoint` for errors; `options` are the keyword arguments of the constructor.
        """
        return cls(load_checkpoint(path, size), **options)

    def __call__(
        self,
        image: NDArray[np.uint8],
        target: Mask,
        error: NDArray[Any],
    ) -> NDArray[np.float32]:
        """Return the clickability of each pixel: float32 (H, W) in [0, 1]; all 0 if the error is empty.

        Args:
            image: uint8 (H, W, 3), RGB.
            target: bool (H, W).
            error: bool or float in [0, 1], (H, W); in the first round the target itself.

        Raises:
            InvalidImage, InvalidMask: wrong shapes, types or values.
        """
        return self.predict_maps([image], [target], [error])[0]

    def predict_maps(
        self,
        images: Sequence[NDArray[np.uint8]],
        targets: Sequence[Mask],
        errors: Sequence[NDArray[Any]],
    ) -> list[NDArray[np.float32]]:
        """Return one map per image, computed in batches; the images may differ in size.

        Raises:
            InvalidInput: the three lists differ in length.
        """
        if not len(images) == len(targets) == len(errors):
            raise InvalidInput(
                f"expected one target and one error per image, got {len(images)} images, "
                f"{len(targets)} targets and {len(errors)} errors"
            )
        maps = [np.zeros(np.shape(error), dtype=np.float32) for error in errors]
        # Without an error the map is zero, so the network does not have to run.
        with_error = np.flatnonzero([np.any(error) for error in errors]).tolist()
        for start in range(0, len(with_error), self.batch_size):
            batch = with_error[start : start + self.batch_size]
            views: list[tuple[Window, Letterbox]] = []
            inputs: list[NDArray[np.float32]] = []
            for index in batch:
                window, box, planes = self._prepare(images[index], targets[index], errors[index])
                views.append((window, box))
                inputs.append(planes)
            canvases = self._predict(np.stack(inputs))
            for index, (window, box), canvas in zip(batch, views, canvases, strict=True):
                maps[index][window] = self._restore(canvas, box)
        return maps

    def _prepare(
        self,
        image: NDArray[np.uint8],
        target: Mask,
        error: NDArray[Any],
    ) -> tuple[Window, Letterbox, NDArray[np.float32]]:
        """Return the image window shown to the network, its letterbox, and the input tensor (5, S, S)."""
        pixels = as_image(image)
        shape = (pixels.shape[0], pixels.shape[1])
        truth = as_mask(target, shape, name="target")
        if np.shape(error) != shape:
            raise InvalidMask(f"error mask: expected shape {shape}, got {np.shape(error)}")
        window = view_window(error, self.network.size.margin)
        visible_target = truth[window]
        visible_error = np.asarray(error)[window]
        box = Letterbox.fit(visible_target.shape, self.network.size.side_px)
        masks = np.stack([box.put_mask(visible_target), box.put_mask(visible_error)])
        inputs = np.concatenate([box.put_image(pixels[window]), masks])
        return window, box, inputs

    def _predict(self, inputs: NDArray[np.float32]) -> Tensor:
        """Return the maps on the canvas, (B, 1, S, S)."""
        with torch.inference_mode():
            batch = torch.from_numpy(inputs).to(self.device)
            image = batch[:, :3]
            masks = batch[:, 3:]
            return self.network(image, masks, epsilon=EPSILONS[self.call_path])

    def _restore(self, canvas: Tensor, box: Letterbox) -> NDArray[np.float32]:
        """Return the map, resized to the size of the image."""
        with torch.inference_mode():
            cut = canvas[None, :, box.rows, box.columns]
            resized = functional.interpolate(
                cut,
                size=box.shape,
                mode="bilinear",
                align_corners=False,
                antialias=self.antialias,
            )
            restored = resized[0, 0]
            # The published model evaluation rescales once more and without an epsilon, the
            # published benchmark does not.
            if self.call_path == "evaluation":
                restored = (restored - restored.min()) / (restored.max() - restored.min())
            return restored.cpu().numpy()
