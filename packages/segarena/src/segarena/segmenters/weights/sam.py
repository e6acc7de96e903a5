"""Conversion of the authors' files of SAM (ViT-B, L, H) and of models with its architecture, such as MedSAM.

All sizes are read from the shapes of the tensors, so no list of variants is needed. The original
decoder uses 1e-5 as the epsilon of layer norms, the library 1e-6 by default, so the configuration
sets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from segarena.segmenters.weights.tensor_renaming import (
    Rules,
    Shapes,
    count_numbered,
    rename_tensors,
    shapes_of,
    stack_rules,
)

ENCODER_RULES: Rules = (
    (r"image_encoder\.patch_embed\.proj\.", r"vision_encoder.patch_embed.projection."),
    (r"image_encoder\.blocks\.(\d+)\.norm([12])\.", r"vision_encoder.layers.\1.layer_norm\2."),
    (r"image_encoder\.blocks\.", r"vision_encoder.layers."),
    *stack_rules(
        "image_encoder.neck",
        "vision_encoder.neck.",
        {0: "conv1", 1: "layer_norm1", 2: "conv2", 3: "layer_norm2"},
    ),
    (r"image_encoder\.", r"vision_encoder."),
)
MASK_LAYERS = {0: "conv1", 1: "layer_norm1", 3: "conv2", 4: "layer_norm2", 6: "conv3"}
PROMPT_RULES: Rules = (
    (
        r"prompt_encoder\.pe_layer\.positional_encoding_gaussian_matrix",
        r"shared_image_embedding.positional_embedding",
    ),
    (r"prompt_encoder\.point_embeddings\.", r"prompt_encoder.point_embed."),
    *stack_rules("prompt_encoder.mask_downscaling", "prompt_encoder.mask_embed.", MASK_LAYERS),
)
DECODER_RULES: Rules = (
    (r"(mask_decoder\.transformer\.layers\.\d+)\.norm([1-4])\.", r"\1.layer_norm\2."),
    (
        r"mask_decoder\.transformer\.norm_final_attn\.",
        r"mask_decoder.transformer.layer_norm_final_attn.",
    ),
    *stack_rules(
        "mask_decoder.output_upscaling",
        "mask_decoder.upscale_",
        {0: "conv1", 1: "layer_norm", 3: "conv2"},
    ),
)
PERCEPTRONS = r"mask_decoder\.(?:output_hypernetworks_mlps\.\d+|iou_prediction_head)"
TIED = {
    "prompt_encoder.shared_embedding.positional_embedding": "shared_image_embedding.positional_embedding",
}


def convert(weights: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the configuration, and the weights under the library's tensor names.

    Raises:
        KeyError: a tensor that determines a size of the model is missing.

    Source: facebookresearch/segment-anything, segment_anything/modeling and build_sam.py.
    """
    return sam_config(shapes_of(weights)), sam_weights(weights)


def sam_weights(
    weights: Mapping[str, Any],
    more: Rules = (),
    perceptrons: str = PERCEPTRONS,
) -> dict[str, Any]:
    """Return the weights under the library's tensor names; the rules `more` are applied first."""
    new = rename_tensors(
        weights, (*more, *ENCODER_RULES, *PROMPT_RULES, *DECODER_RULES), perceptrons
    )
    # The library stores shared weights under two names.
    for copy, source in TIED.items():
        if source in new:
            new[copy] = new[source]
    return new


def sam_config(shapes: Shapes) -> dict[str, Any]:
    """Return the configuration of the three parts, derived from tensor shapes alone."""
    width, _, patch_px, _ = shapes["image_encoder.patch_embed.proj.weight"]
    grid = shapes["image_encoder.pos_embed"][1]
    prompt = {
        "hidden_size": shapes["prompt_encoder.no_mask_embed.weight"][1],
        "image_size": grid * patch_px,
        "patch_size": patch_px,
        "mask_input_channels": shapes["prompt_encoder.mask_downscaling.6.weight"][1],
        "num_point_embeddings": count_numbered(
            shapes, r"prompt_encoder\.point_embeddings\.(\d+)\."
        ),
    }
    vision = {
        "hidden_size": width,
        "output_channels": shapes["image_encoder.neck.0.weight"][0],
        "image_size": grid * patch_px,
        "patch_size": patch_px,
        "mlp_dim": shapes["image_encoder.blocks.0.mlp.lin1.weight"][0],
        "num_pos_feats": shapes["prompt_encoder.pe_layer.positional_encoding_gaussian_matrix"][1],
        **_attention(shapes, width, grid),
    }
    decoder = {
        **decoder_config(shapes, "mask_decoder.transformer.layers.0.mlp.lin1.weight"),
        "layer_norm_eps": 1e-5,
    }
    return {
        "vision_config": vision,
        "prompt_encoder_config": prompt,
        "mask_decoder_config": decoder,
    }


def decoder_config(shapes: Shapes, mlp: str) -> dict[str, Any]:
    """Return the configuration of the mask decoder.

    The shapes do not determine the number of heads; every published file has 8.

    Args:
        shapes: shapes of all tensors.
        mlp: name of the first tensor of the decoder's first multilayer perceptron.
    """
    width = shapes["mask_decoder.iou_token.weight"][1]
    cross = shapes["mask_decoder.transformer.layers.0.cross_attn_token_to_image.q_proj.weight"]
    return {
        "hidden_size": width,
        "mlp_dim": shapes[mlp][0],
        "num_hidden_layers": count_numbered(shapes, r"mask_decoder\.transformer\.layers\.(\d+)\."),
        "num_attention_heads": 8,
        "attention_downsample_rate": width // cross[0],
        "num_multimask_outputs": shapes["mask_decoder.mask_tokens.weight"][0] - 1,
        "iou_head_depth": count_numbered(
            shapes, r"mask_decoder\.iou_prediction_head\.layers\.(\d+)\."
        ),
        "iou_head_hidden_dim": shapes["mask_decoder.iou_prediction_head.layers.0.weight"][0],
    }


def _attention(
    shapes: Shapes,
    width: int,
    grid: int,
) -> dict[str, Any]:
    """Return heads, windows and global layers, derived from the tables of relative positions.

    The table for n positions has 2n - 1 rows.
    """
    depth = count_numbered(shapes, r"image_encoder\.blocks\.(\d+)\.")
    tables = [shapes[f"image_encoder.blocks.{index}.attn.rel_pos_h"] for index in range(depth)]
    sides = [(rows + 1) // 2 for rows, _ in tables]
    return {
        "num_hidden_layers": depth,
        "num_attention_heads": width // tables[0][1],
        "window_size": min(sides),
        "global_attn_indexes": [index for index, side in enumerate(sides) if side == grid],
    }
