"""Conversion of the authors' files of SAM 2 and SAM 2.1 (tiny, small, base+, large), for single images.

Tensor shapes do not determine the encoder's heads, windows and global layers, so a table lists them
by width and depth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from segarena.errors import InvalidInput
from segarena.segmenters.weights.sam import DECODER_RULES, PERCEPTRONS, PROMPT_RULES, decoder_config
from segarena.segmenters.weights.tensor_renaming import (
    Rules,
    Shapes,
    count_numbered,
    rename_tensors,
    shapes_of,
    stack_rules,
)

# Meta's file numbers the modules of a sequence: four times a convolution, a norm and an activation, then a convolution.
DOWNSAMPLER_LAYERS = {
    0: "layers.0.conv",
    1: "layers.0.layer_norm",
    3: "layers.1.conv",
    4: "layers.1.layer_norm",
    6: "layers.2.conv",
    7: "layers.2.layer_norm",
    9: "layers.3.conv",
    10: "layers.3.layer_norm",
    12: "final_conv",
}

RULES: Rules = (
    (
        r"image_encoder\.trunk\.patch_embed\.proj\.",
        r"vision_encoder.backbone.patch_embed.projection.",
    ),
    (
        r"image_encoder\.trunk\.blocks\.(\d+)\.norm([12])\.",
        r"vision_encoder.backbone.blocks.\1.layer_norm\2.",
    ),
    (r"image_encoder\.trunk\.", r"vision_encoder.backbone."),
    (r"image_encoder\.neck\.convs\.(\d+)\.conv\.", r"vision_encoder.neck.convs.\1."),
    (r"(mask_decoder\.transformer\.(?:layers\.\d+\.)?\w+)\.out_proj\.", r"\1.o_proj."),
    (r"(memory_attention\.layers\.\d+\.\w+)\.out_proj\.", r"\1.o_proj."),
    (r"(memory_attention\.layers\.\d+)\.norm([1-3])\.", r"\1.layer_norm\2."),
    (r"memory_attention\.norm\.", r"memory_attention.layer_norm."),
    *stack_rules(
        "memory_encoder.mask_downsampler.encoder",
        "memory_encoder.mask_downsampler.",
        DOWNSAMPLER_LAYERS,
    ),
    (r"memory_encoder\.pix_feat_proj\.", r"memory_encoder.feature_projection."),
    (
        r"memory_encoder\.fuser\.layers\.(\d+)\.gamma",
        r"memory_encoder.memory_fuser.layers.\1.scale",
    ),
    (
        r"memory_encoder\.fuser\.layers\.(\d+)\.dwconv\.",
        r"memory_encoder.memory_fuser.layers.\1.depthwise_conv.",
    ),
    (
        r"memory_encoder\.fuser\.layers\.(\d+)\.norm\.",
        r"memory_encoder.memory_fuser.layers.\1.layer_norm.",
    ),
    (
        r"memory_encoder\.fuser\.layers\.(\d+)\.pwconv",
        r"memory_encoder.memory_fuser.layers.\1.pointwise_conv",
    ),
    (r"memory_encoder\.out_proj\.", r"memory_encoder.projection."),
    (r"maskmem_tpos_enc$", r"memory_temporal_positional_encoding"),
    (r"no_mem_embed$", r"no_memory_embedding"),
    (r"no_mem_pos_enc$", r"no_memory_positional_encoding"),
    (r"no_obj_ptr$", r"no_object_pointer"),
    (r"no_obj_embed_spatial$", r"occlusion_spatial_embedding_parameter"),
    (r"obj_ptr_proj\.", r"object_pointer_proj."),
    (r"obj_ptr_tpos_proj\.", r"temporal_positional_encoding_projection_layer."),
)
MORE_PERCEPTRONS = (
    r"|image_encoder\.trunk\.blocks\.\d+\.mlp|mask_decoder\.transformer\.layers\.\d+\.mlp"
    r"|mask_decoder\.pred_obj_score_head|obj_ptr_proj"
)


@dataclass(frozen=True, slots=True)
class EncoderVariant:
    """Sizes of a published encoder that tensor shapes do not determine.

    Attributes:
        heads: attention heads of the first stage; each further stage has twice as many.
        global_blocks: blocks with attention over the whole image.
        windows: sides of the attention windows, by stage.
        side_px: side of the training images.
    """

    heads: int
    global_blocks: tuple[int, ...]
    windows: tuple[int, ...] = (8, 4, 14, 7)
    side_px: int = 1024


# Keys: width of the first stage and blocks per stage. Source: facebookresearch/sam2, sam2/configs.
VARIANTS: dict[tuple[int, tuple[int, ...]], EncoderVariant] = {
    (96, (1, 2, 7, 2)): EncoderVariant(1, (5, 7, 9)),
    (96, (1, 2, 11, 2)): EncoderVariant(1, (7, 10, 13)),
    (112, (2, 3, 16, 3)): EncoderVariant(2, (12, 16, 20)),
    (144, (2, 6, 36, 4)): EncoderVariant(2, (23, 33, 43), windows=(8, 4, 16, 8)),
}


def convert(weights: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the configuration, and the weights under the library's tensor names, including the memory part.

    Raises:
        KeyError: a tensor that determines a size of the model is missing.
        InvalidInput: the encoder has no published size.

    Source: facebookresearch/sam2, sam2/modeling and sam2/configs.
    """
    plain = {name.removeprefix("sam_"): tensor for name, tensor in weights.items()}
    shapes = shapes_of(plain)
    return sam2_config(shapes), _weights(plain)


def sam2_config(shapes: Shapes) -> dict[str, Any]:
    """Return the configuration of encoder, prompt encoder and decoder; names in `shapes` lack the prefix "sam_"."""
    backbone = _backbone(shapes)
    side_px = backbone["image_size"][0]
    width = shapes["image_encoder.neck.convs.0.conv.weight"][0]
    vision = {
        "backbone_config": backbone,
        "backbone_channel_list": backbone["embed_dim_per_stage"][::-1],
        "backbone_feature_sizes": [[side_px // step] * 2 for step in (4, 8, 16)],
        "fpn_hidden_size": width,
    }
    prompt = {
        "hidden_size": width,
        "image_size": side_px,
        "mask_input_channels": shapes["prompt_encoder.mask_downscaling.6.weight"][1],
        "num_point_embeddings": count_numbered(
            shapes, r"prompt_encoder\.point_embeddings\.(\d+)\."
        ),
    }
    decoder = decoder_config(shapes, "mask_decoder.transformer.layers.0.mlp.layers.0.weight")
    return {
        "vision_config": vision,
        "prompt_encoder_config": prompt,
        "mask_decoder_config": decoder,
    }


def _backbone(shapes: Shapes) -> dict[str, Any]:
    depth = count_numbered(shapes, r"image_encoder\.trunk\.blocks\.(\d+)\.")
    # The first block of each later stage widens its input, for which it has a projection.
    starts = [0]
    for block in range(1, depth):
        if f"image_encoder.trunk.blocks.{block}.proj.weight" in shapes:
            starts.append(block)
    stages = tuple(after - start for start, after in pairwise([*starts, depth]))
    widths = [shapes[f"image_encoder.trunk.blocks.{start}.attn.proj.weight"][0] for start in starts]
    if (widths[0], stages) not in VARIANTS:
        blocks = " + ".join(map(str, stages))
        raise InvalidInput(
            f"no published encoder has stages of {blocks} blocks that begin with width {widths[0]}"
        )
    variant = VARIANTS[widths[0], stages]
    return {
        "model_type": "sam2_hiera_det_model",
        "hidden_size": widths[0],
        "num_attention_heads": variant.heads,
        "image_size": [variant.side_px, variant.side_px],
        "window_positional_embedding_background_size": list(
            shapes["image_encoder.trunk.pos_embed"][2:]
        ),
        "blocks_per_stage": list(stages),
        "embed_dim_per_stage": widths,
        "num_attention_heads_per_stage": [variant.heads * 2**stage for stage in range(len(stages))],
        "window_size_per_stage": list(variant.windows),
        "global_attention_blocks": list(variant.global_blocks),
    }


def _weights(plain: Mapping[str, Any]) -> dict[str, Any]:
    from segarena.pytorch import torch

    new = rename_tensors(
        plain, (*RULES, *PROMPT_RULES, *DECODER_RULES), PERCEPTRONS + MORE_PERCEPTRONS
    )
    points = sorted(name for name in new if name.startswith("prompt_encoder.point_embed."))
    new["prompt_encoder.point_embed.weight"] = torch.cat([new.pop(name) for name in points])
    position = new["shared_image_embedding.positional_embedding"]
    return new | {"prompt_encoder.shared_embedding.positional_embedding": position.clone()}
