"""Training instances on the network's canvas, grouped into batches. Needs torch."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.pytorch import Tensor, torch
from segarena.systems.clicks.click_maps import RadiusRule, click_map
from segarena.systems.clicks.crowd.instances import Instance
from segarena.systems.clicks.network.letterbox import Letterbox, view_window


@dataclass(frozen=True, slots=True, eq=False)
class CanvasInstance:
    """One training instance, placed on the canvas.

    `planes` is float32 (6, S, S): three colours, target, error and click map. The image fills the
    canvas columns `columns`.
    """

    planes: NDArray[np.float32]
    columns: slice


@dataclass(eq=False)
class TrainingSet:
    """Instances prepared for the network, computed lazily.

    Args:
        instances: the instances, with their clicks.
        side_px: side of the canvas.
        sigma: blur of the click maps, see `click_map`.
        radius: smoothing of the error mask, see `click_map`.
        margin: margin around the error of the image window shown to the network, see `NetworkSize`.
        is_cached: keep prepared instances in memory, 24 bytes per canvas pixel and instance.

    Raises:
        InvalidInput: there are no instances.
    """

    instances: Sequence[Instance]
    _: KW_ONLY
    side_px: int
    sigma: float = 5.0
    radius: RadiusRule = "paper"
    margin: float | None = None
    is_cached: bool = False

    def __post_init__(self) -> None:
        if not len(self.instances):
            raise InvalidInput("expected at least one instance to train on, got none")
        self._cache: dict[int, CanvasInstance] = {}

    def __len__(self) -> int:
        return len(self.instances)

    def __getitem__(self, index: int) -> CanvasInstance:
        if index in self._cache:
            return self._cache[index]
        prepared = self._prepare(self.instances[index])
        if self.is_cached:
            self._cache[index] = prepared
        return prepared

    @cached_property
    def fingerprint(self) -> str:
        """Short hash of the names and clicks of all instances.

        If the sequence of instances has its own `fingerprint`, the instances are not loaded.
        """
        known = getattr(self.instances, "fingerprint", None)
        if known is not None:
            return str(known)
        digest = hashlib.sha256()
        for instance in self.instances:
            digest.update(f"{instance.dataset}/{instance.full_stem}".encode())
            digest.update(np.ascontiguousarray(instance.positions, dtype=np.int64).tobytes())
        return digest.hexdigest()[:16]

    def _prepare(self, instance: Instance) -> CanvasInstance:
        error = instance.error
        window = view_window(error, self.margin)
        image = instance.image[window]
        target = instance.target[window]
        box = Letterbox.fit(target.shape, self.side_px)
        # The loss divides by the sum, so the map does not have to sum to 1 here.
        clicked = click_map(
            instance.positions, error, sigma=self.sigma, radius=self.radius, normalise="none"
        )
        visible = (target, error[window], clicked[window])
        masks = np.stack([box.put_mask(plane) for plane in visible])
        planes = np.concatenate([box.put_image(image), masks])
        return CanvasInstance(planes, box.columns)


def batches(
    data: TrainingSet,
    batch_size: int,
    *,
    order: NDArray[np.int64] | None = None,
    is_flipped: NDArray[np.bool_] | None = None,
    workers: int = 0,
) -> Iterator[Tensor]:
    """Yield the planes of `data` in batches, (B, 6, S, S); the last batch may be smaller.

    Args:
        data: the instances.
        batch_size: number of instances per batch.
        order: indices into `data`; None iterates over it once.
        is_flipped: for each position in `order`, whether the instance is flipped horizontally.
        workers: number of processes that prefetch batches; 0 prepares them in this process.
    """
    indices = np.arange(len(data)) if order is None else order
    flips = np.zeros(len(indices), dtype=np.bool_) if is_flipped is None else is_flipped
    items = _EpochDataset(data, indices, flips)
    # A separate generator, because the loader draws a seed for its workers and would otherwise
    # advance the global generator of the caller.
    loader: Any = torch.utils.data.DataLoader(
        items, batch_size=batch_size, num_workers=workers, generator=torch.Generator()
    )
    yield from loader


class _EpochDataset(torch.utils.data.Dataset[Tensor]):
    """One pass over a training set."""

    def __init__(
        self,
        data: TrainingSet,
        order: NDArray[np.int64],
        is_flipped: NDArray[np.bool_],
    ) -> None:
        self._data = data
        self._order = order
        self._is_flipped = is_flipped

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, index: int) -> Tensor:
        prepared = self._data[int(self._order[index])]
        planes = prepared.planes.copy()
        if self._is_flipped[index]:
            # Only the image is flipped, not the canvas: an odd margin would shift the image by a
            # pixel.
            planes[:, :, prepared.columns] = planes[:, :, prepared.columns][:, :, ::-1].copy()
        return torch.from_numpy(planes)
