"""Click models by name: where people click in a photograph.

A click model is a plug-in of its own kind, `click-model`: NAME, NAME(option=value, ...) or file.py:Name, built into a
`ImageClickMap` of `maps.py`. Users sample from it, and `segarena clicks judge` compares it with real clicks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.registry import build, register
from segarena.samples import ImageSample, Mask, Sample
from segarena.specs import PluginSpec
from segarena.systems.clicks.models.click_maps import ImageClickMap
from segarena.systems.clicks.models.reference_models import (
    DepthClickModel,
    SaliencyClickModel,
    SaliencyModel,
    contrast_saliency,
    uniform_click_map,
)
from segarena.systems.clicks.sampling.error_weights import DepthWeighting, FrameBorder, SharedMap

CONTRAST = "contrast"
CLICK_MODEL_KIND = "click-model"
"""The kind of these plug-ins, which this system brings."""

click_model = partial(register, CLICK_MODEL_KIND)


class ImageModelAdapter:
    """A click model as users call it: with a sample, which must be an image.

    Args:
        model: with a method `predict_maps(images, targets, errors)` it is called in batches.
    """

    def __init__(self, model: ImageClickMap) -> None:
        self._model = model
        self.of_depths: DepthWeighting | None = getattr(model, "of_depths", None)

    def __call__(self, sample: Sample, target: Mask, error: Mask) -> NDArray[Any]:
        """Return the model's map; raises `InvalidInput` when the sample is not an image."""
        return self._model(_image(sample), target, error)

    def many(
        self, samples: Sequence[Sample], targets: Sequence[Mask], errors: Sequence[Mask]
    ) -> Sequence[NDArray[Any]]:
        """Return one map for each, all at once if the model can; raises as a single one."""
        images = [_image(sample) for sample in samples]
        predict_maps = getattr(self._model, "predict_maps", None)
        if predict_maps is not None:
            return predict_maps(images, targets, errors)
        return [self._model(*each) for each in zip(images, targets, errors, strict=True)]


def shared_map(text: str) -> SharedMap:
    """Return the click model written as `text`, one for all users of this process who name it.

    Raises:
        UnknownPlugin, PluginInvalid: see `segarena.registry.build`.
        MissingExtra: it needs torch, which is not installed.
    """
    file = weights_file(text)
    return _shared_map(str(PluginSpec.parse(text)), 0 if file is None else file.stat().st_mtime_ns)


@cache
def _shared_map(text: str, changed_ns: int) -> SharedMap:
    del changed_ns  # weights that were replaced are another map
    return SharedMap(ImageModelAdapter(build(CLICK_MODEL_KIND, text)))


@click_model("uniform")
def uniform_model() -> ImageClickMap:
    """Every pixel of the error alike (the paper's UD)."""
    return uniform_click_map


@click_model("depth")
def depth_model(*, border: FrameBorder = "background") -> ImageClickMap:
    """By distance from the edge of the error (the paper's DT).

    Args:
        border: "background": the frame is an edge. "published": it is not, and an error that fills the frame is
            uniform.
    """
    return DepthClickModel(border=border)


@click_model("saliency-crop")
def saliency_crop_model(*, saliency: str = CONTRAST) -> ImageClickMap:
    """By what stands out in the crop around the error (the paper's SI), confined to the error.

    Args:
        saliency: "contrast", which needs no weights, or file.py:Name of a `Saliency` of `models/reference.py`.
    """
    return SaliencyClickModel(_saliency(saliency), background="image")


@click_model("saliency-cutout")
def saliency_cutout_model(*, saliency: str = CONTRAST) -> ImageClickMap:
    """By what stands out in the crop when everything off the error is grey (the paper's SM).

    Args:
        saliency: as for `saliency-crop`.
    """
    return SaliencyClickModel(_saliency(saliency), background="grey")


@click_model("crowd")
def crowd_model() -> ImageClickMap:
    """Where the synthetic crowd clicks on average: what the best model of that crowd would find."""
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
    """The clickability network with the weights in a file. Needs torch.

    Args:
        path: the checkpoint.
        size: of the network; by default as noted in the file, or the paper's.
        device: "cpu", "cuda", ...; "auto" takes a GPU when there is one.
        antialias: smooth when a map is made smaller; False as published.
        call_path: "benchmark" or "evaluation", the two published ways from the canvas to the map.
    """
    from segarena.systems.clicks.network.prediction import ClickabilityModel

    return ClickabilityModel.load(
        path, size=size, device=device, antialias=antialias, call_path=call_path
    )


def weights_file(text: str) -> Path | None:
    """Return the file that a click model is read from, if it has one: its contents are part of what it is."""
    path = PluginSpec.parse(text).options.get("path")
    return Path(path) if isinstance(path, str) and Path(path).is_file() else None


def _saliency(text: str) -> SaliencyModel:
    if text == CONTRAST:
        return contrast_saliency
    if ".py:" not in text:
        raise InvalidInput(f"saliency {text!r}: expected {CONTRAST!r} or file.py:Name")
    return build("saliency", text)


def _image(sample: Sample) -> NDArray[np.uint8]:
    if not isinstance(sample, ImageSample):
        raise InvalidInput(
            f"sample {sample.id}: click models look at images, this is a {type(sample).__name__}"
        )
    return sample.image
