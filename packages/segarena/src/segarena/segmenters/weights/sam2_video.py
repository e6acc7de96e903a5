"""Conversion of the authors' SAM 2 and SAM 2.1 weights for videos: like `sam2`, plus the memory's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from segarena.segmenters.weights.sam2 import convert as convert_image
from segarena.segmenters.weights.tensor_renaming import Shapes, count_numbered, shapes_of


def convert(weights: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the configuration, and the weights under the library's tensor names.

    SAM 2.1 added two parts. Files of SAM 2 lack them, so the configuration disables them.

    Raises:
        KeyError, InvalidInput: see `segarena.segmenters.weights.sam2.convert`.

    Source: facebookresearch/sam2, sam2/modeling/sam2_base.py and sam2/configs.
    """
    config, new = convert_image(weights)
    side_px = config["prompt_encoder_config"]["image_size"]
    return config | _memory_config(shapes_of(weights), side_px), new


def _memory_config(shapes: Shapes, side_px: int) -> dict[str, Any]:
    width = shapes["no_mem_embed"][-1]
    channels = shapes["memory_encoder.out_proj.weight"][0]
    return {
        "image_size": side_px,
        "num_maskmem": shapes["maskmem_tpos_enc"][0],
        "enable_occlusion_spatial_embedding": "no_obj_embed_spatial" in shapes,
        "enable_temporal_pos_encoding_for_object_pointers": "obj_ptr_tpos_proj.weight" in shapes,
        "memory_attention_hidden_size": width,
        "memory_attention_num_layers": count_numbered(shapes, r"memory_attention\.layers\.(\d+)\."),
        "memory_attention_feed_forward_hidden_size": shapes[
            "memory_attention.layers.0.linear1.weight"
        ][0],
        "memory_attention_rope_feat_sizes": [side_px // 16, side_px // 16],
        "memory_encoder_hidden_size": width,
        "memory_encoder_output_channels": channels,
        "mask_downsampler_embed_dim": shapes["memory_encoder.mask_downsampler.encoder.12.weight"][
            0
        ],
        "memory_fuser_num_layers": count_numbered(
            shapes, r"memory_encoder\.fuser\.layers\.(\d+)\."
        ),
        "memory_fuser_embed_dim": shapes["memory_encoder.fuser.layers.0.gamma"][0],
        "memory_fuser_intermediate_dim": shapes["memory_encoder.fuser.layers.0.pwconv1.weight"][0],
    }
