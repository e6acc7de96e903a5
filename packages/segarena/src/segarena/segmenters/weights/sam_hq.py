"""Conversion of the authors' files of SAM-HQ (ViT-B, L, H): SAM and the parts that refine its masks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from segarena.segmenters.weights.sam import PERCEPTRONS, sam_config, sam_weights
from segarena.segmenters.weights.tensor_renaming import Rules, shapes_of, stack_rules

HQ_LAYERS = {0: "conv1", 1: "norm", 3: "conv2"}  # layer 2 has no weights
RULES: Rules = (
    (r"mask_decoder\.hf_token\.", r"mask_decoder.hq_token."),
    (r"mask_decoder\.hf_mlp\.", r"mask_decoder.hq_mask_mlp."),
    *stack_rules("mask_decoder.compress_vit_feat", "mask_decoder.compress_vit_", HQ_LAYERS),
    *stack_rules("mask_decoder.embedding_encoder", "mask_decoder.encoder_", HQ_LAYERS),
    *stack_rules("mask_decoder.embedding_maskfeature", "mask_decoder.mask_", HQ_LAYERS),
)


def convert(weights: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the configuration, and the weights under the library's tensor names.

    Raises:
        KeyError: a tensor that determines a size of the model is missing.

    Source: SysCV/sam-hq, segment_anything/modeling/mask_decoder_hq.py and build_sam.py.
    """
    shapes = shapes_of(weights)
    config = sam_config(shapes)
    compression = shapes["mask_decoder.compress_vit_feat.0.weight"]
    config["mask_decoder_config"]["vit_dim"] = compression[0]
    perceptrons = rf"{PERCEPTRONS}|mask_decoder\.hf_mlp"
    return config, sam_weights(weights, RULES, perceptrons)


def repair(model: Any) -> None:
    """Make the library's decoder upscale the output of its transformer, as in the authors' code.

    Up to transformers 5.23 the decoder discards this output and upscales its own input with rows
    and columns exchanged, so every mask is wrong. In versions without this bug, the repair changes
    nothing.
    """
    image = _AttendedImage()
    model.mask_decoder.transformer.register_forward_hook(image.keep)
    model.mask_decoder.upscale_conv1.register_forward_pre_hook(image.replace_input)


class _AttendedImage:
    """Hooks that pass the image part of the transformer's output to the upscaling layer."""

    def __init__(self) -> None:
        self._image: Any = None

    def keep(
        self,
        _module: Any,
        _inputs: Any,
        outputs: tuple[Any, ...],
    ) -> None:
        self._image = outputs[1]  # (image, prompt set, position, channel)

    def replace_input(self, _module: Any, inputs: tuple[Any, ...]) -> tuple[Any]:
        height, width = inputs[0].shape[-2:]
        image = self._image
        # Deleted, because the hook outlives the call and would keep the image in GPU memory.
        self._image = None
        channels = image.shape[-1]
        planes = image.transpose(2, 3).reshape(-1, channels, height, width)
        return (planes,)
