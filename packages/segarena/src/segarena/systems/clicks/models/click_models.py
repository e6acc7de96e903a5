"""Click models as plug-ins: models of where people click in a photograph.

A click model is a plug-in of the kind `click-model`, written NAME, NAME(option=value, ...) or
file.py:Name. It is built into an `ImageClickMap` of `click_maps.py`. Simulated users sample clicks
from it, and `segarena click-data judge` compares it with real clicks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.plugin_spec import PluginSpec
from segarena.registry import build, register
from segarena.samples import ImageSample, Mask, Sample
from segarena.systems.clicks.click_maps import ImageClickMap
from segarena.systems.clicks.models.baseline_click_models import (
    DepthClickModel,
    SaliencyClickModel,
    SaliencyModel,
    contrast_saliency,
    uniform_click_map,
)
from segarena.systems.clicks.sampling.error_weights import DepthWeighting, FrameBorder, SharedMap

CONTRAST = "contrast"
CLICK_MODEL_KIND = "click-model"
"""Plug-in kind that this system adds."""

click_model = partial(register, CLICK_MODEL_KIND)
"""Decorator that registers a click model under a name."""


class ImageModelAdapter:
    """Adapter from an `ImageClickMap` to a `ClickMap` for image samples.

    Args:
        model: the model; if it has a method `predict_maps(images, targets, errors)`, maps are
            computed in batches.
    """

    def __init__(self, model: ImageClickMap) -> None:
        self._model = model
        self.of_depths: DepthWeighting | None = getattr(model, "of_depths", None)

    def __call__(
        self,
        sample: Sample,
        target: Mask,
        error: Mask,
    ) -> NDArray[Any]:
        """Return the model's click map for the sample.

        Raises:
            InvalidInput: the sample is not an image.
        """
        return self._model(_require_pixels(sample), target, error)

    def many(
        self,
        samples: Sequence[Sample],
        targets: Sequence[Mask],
        errors: Sequence[Mask],
    ) -> Sequence[NDArray[Any]]:
        """Return one map per sample, in one batch if the model supports it; for exceptions see `__call__`."""
        images = [_require_pixels(sample) for sample in samples]
        predict_maps = getattr(self._model, "predict_maps", None)
        if predict_maps is not None:
            return predict_maps(images, targets, errors)
        inputs = zip(images, targets, errors, strict=True)
        return [self._model(image, target, error) for image, target, error in inputs]


def shared_map(text: str) -> SharedMap:
    """Build the click model described by `text`; all users in this process share one object.

    Raises:
        UnknownPlugin, PluginInvalid: see `segarena.registry.build`.
        MissingExtra: the model needs torch, which is not installed.
    """
    file = weights_file(text)
    changed_ns = 0 if file is None else file.stat().st_mtime_ns
    return _shared_map(str(PluginSpec.parse(text)), changed_ns)


@cache
def _shared_map(text: str, changed_ns: int) -> SharedMap:
    del changed_ns  # part of the cache key, so that replaced weights give a new model
    return SharedMap(ImageModelAdapter(build(CLICK_MODEL_KIND, text)))


@click_model("uniform")
def uniform_model() -> ImageClickMap:
    """Assign the same likelihood to every pixel of the error (the paper's UD)."""
    return uniform_click_map


@click_model("depth")
def depth_model(*, border: FrameBorder = "background") -> ImageClickMap:
    """Prefer pixels far from the edge of the error (the paper's DT).

    Args:
        border: whether the image border counts as an edge. "background": it does. "published": it
            does not, and an error that fills the whole image gives a uniform map.
    """
    return DepthClickModel(border=border)


@click_model("saliency-crop")
def saliency_crop_model(*, saliency: str = CONTRAST) -> ImageClickMap:
    """Prefer salient pixels in the crop around the error (the paper's SI).

    The map is confined to the error.

    Args:
        saliency: "contrast", which needs no weights, or file.py:Name of a `SaliencyModel` (see
            `models/baseline_click_models.py`).
    """
    return SaliencyClickModel(_build_saliency(saliency), background="image")


@click_model("saliency-cutout")
def saliency_cutout_model(*, saliency: str = CONTRAST) -> ImageClickMap:
    """Prefer salient pixels when everything outside the error is grey (the paper's SM).

    Args:
        saliency: as for `saliency-crop`.
    """
    return SaliencyClickModel(_build_saliency(saliency), background="grey")


@click_model("crowd")
def crowd_model() -> ImageClickMap:
    """Use the mean click map of the synthetic crowd, which is the best possible model of that crowd."""
    # Imported late to avoid a cycle: the crowd's instances import the click maps of this package.
    from segarena.systems.clicks.crowd.synthetic_crowd import crowd_map

    return crowd_map


@click_model("network")
def network_model(
    *,
    path: str,
    size: str | None = None,
    device: str = "auto",
    antialias: bool = True,
    call_path: Literal["benchmark", "evaluation"] = "benchmark",
) -> ImageClickMap:
    """Predict clicks with the clickability network. Needs torch.

    Args:
        path: the checkpoint with the weights.
        size: size of the network; by default the size stored in the checkpoint, or the paper's if
            none is stored.
        device: "cpu", "cuda", ...; "auto" uses a GPU when there is one.
        antialias: smooth the map when it is scaled down; False as in the published code.
        call_path: "benchmark" or "evaluation", the two ways in which the published code converts
            the network's canvas to a map.
    """
    # Imported late because it needs torch, which is optional.
    from segarena.systems.clicks.network.prediction import ClickabilityModel

    return ClickabilityModel.load(
        path,
        size=size,
        device=device,
        antialias=antialias,
        call_path=call_path,
    )


def weights_file(text: str) -> Path | None:
    """Return the weights file of the click model described by `text`, or None if it names no existing file.

    Callers hash this file, because its contents are part of the model's identity.
    """
    path = PluginSpec.parse(text).options.get("path")
    if isinstance(path, str) and Path(path).is_file():
        return Path(path)
    return None


def _build_saliency(text: str) -> SaliencyModel:
    if text == CONTRAST:
        return contrast_saliency
    if ".py:" not in text:
        raise InvalidInput(f"saliency {text!r}: expected {CONTRAST!r} or file.py:Name")
    return build("saliency", text)


def _require_pixels(sample: Sample) -> NDArray[np.uint8]:
    if not isinstance(sample, ImageSample):
        raise InvalidInput(
            f"sample {sample.id}: click models need an image, got a {type(sample).__name__}"
        )
    return sample.image
