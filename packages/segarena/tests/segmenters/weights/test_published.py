"""The authors' files of every published size: names and shapes by the rules of their definitions, without weights.

The rules are compared with names and shapes of tiny models made by the authors' code (the data
folder).
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from math import prod
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from segarena.segmenters.weights import sam as weights_sam  # noqa: E402
from segarena.segmenters.weights import sam2 as weights_sam2  # noqa: E402
from segarena.segmenters.weights import sam2_video as weights_sam2_video  # noqa: E402
from segarena.segmenters.weights import sam_hq as weights_sam_hq  # noqa: E402

DATA = Path(__file__).parent / "data"
NEW_IN_SAM21 = ("no_obj_embed_spatial", "obj_ptr_tpos_proj.weight", "obj_ptr_tpos_proj.bias")


def read_json(name):
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


def layer(name, rows, *others):
    """A linear layer or a convolution."""
    return {f"{name}.weight": [rows, *others], f"{name}.bias": [rows]}


def transposed(name, before, after):
    """A transposed convolution that doubles the sides."""
    return {f"{name}.weight": [before, after, 2, 2], f"{name}.bias": [after]}


def norm(name, width):
    return {f"{name}.weight": [width], f"{name}.bias": [width]}


def perceptron(name, *widths):
    names = {}
    for index, (before, after) in enumerate(pairwise(widths)):
        names |= layer(f"{name}.layers.{index}", after, before)
    return names


def attention(name, width, inner, seen=None):
    names = layer(f"{name}.out_proj", width, inner)
    for part, before in (("q", width), ("k", seen or width), ("v", seen or width)):
        names |= layer(f"{name}.{part}_proj", inner, before)
    return names


def prompt_encoder(width):
    names = {"pe_layer.positional_encoding_gaussian_matrix": [2, width // 2]}
    names |= {f"{name}.weight": [1, width] for name in ("not_a_point_embed", "no_mask_embed")}
    names |= {f"point_embeddings.{index}.weight": [1, width] for index in range(4)}
    for index, (before, after, side) in ((0, (1, 4, 2)), (3, (4, 16, 2)), (6, (16, width, 1))):
        names |= layer(f"mask_downscaling.{index}", after, before, side, side)
    return names | norm("mask_downscaling.1", 4) | norm("mask_downscaling.4", 16)


def mask_decoder(width, mlp, iou, *, is_sam2=False):
    names = {"iou_token.weight": [1, width], "mask_tokens.weight": [4, width]}
    for index in range(2):
        block = f"transformer.layers.{index}"
        names |= attention(f"{block}.self_attn", width, width)
        names |= attention(f"{block}.cross_attn_token_to_image", width, width // 2)
        names |= attention(f"{block}.cross_attn_image_to_token", width, width // 2)
        first, second = ("layers.0", "layers.1") if is_sam2 else ("lin1", "lin2")
        names |= layer(f"{block}.mlp.{first}", mlp, width) | layer(
            f"{block}.mlp.{second}", width, mlp
        )
        for number in range(1, 5):
            names |= norm(f"{block}.norm{number}", width)
        names |= perceptron(
            f"output_hypernetworks_mlps.{2 * index}", width, width, width, width // 8
        )
        names |= perceptron(
            f"output_hypernetworks_mlps.{2 * index + 1}", width, width, width, width // 8
        )
    names |= attention("transformer.final_attn_token_to_image", width, width // 2)
    names |= norm("transformer.norm_final_attn", width)
    names |= transposed("output_upscaling.0", width, width // 4) | norm(
        "output_upscaling.1", width // 4
    )
    names |= transposed("output_upscaling.3", width // 4, width // 8)
    names |= perceptron("iou_prediction_head", width, iou, iou, 4)
    if is_sam2:
        names |= {"obj_score_token.weight": [1, width]} | perceptron(
            "pred_obj_score_head", width, width, width, 1
        )
        names |= layer("conv_s0", width // 8, width, 1, 1) | layer(
            "conv_s1", width // 4, width, 1, 1
        )
    return names


def under(prefix, names):
    return {f"{prefix}.{name}": shape for name, shape in names.items()}


def sam(width, depth, heads, global_layers, *, grid=64, window=14, out=256, mlp=2048, iou=256):
    """All tensors of a SAM."""
    encoder = {"pos_embed": [1, grid, grid, width], **layer("patch_embed.proj", width, 3, 16, 16)}
    for index in range(depth):
        block, side = f"blocks.{index}", grid if index in global_layers else window
        encoder |= {f"{block}.attn.rel_pos_{axis}": [2 * side - 1, width // heads] for axis in "hw"}
        encoder |= layer(f"{block}.attn.qkv", 3 * width, width) | layer(
            f"{block}.attn.proj", width, width
        )
        encoder |= layer(f"{block}.mlp.lin1", 4 * width, width) | layer(
            f"{block}.mlp.lin2", width, 4 * width
        )
        encoder |= norm(f"{block}.norm1", width) | norm(f"{block}.norm2", width)
    encoder |= {"neck.0.weight": [out, width, 1, 1], "neck.2.weight": [out, out, 3, 3]}
    encoder |= norm("neck.1", out) | norm("neck.3", out)
    return {
        **under("image_encoder", encoder),
        **under("prompt_encoder", prompt_encoder(out)),
        **under("mask_decoder", mask_decoder(out, mlp, iou)),
    }


def sharper(width, out=256):
    """Tensors that SAM-HQ adds to a SAM whose encoder has this width."""
    fine = out // 8
    names = {"hf_token.weight": [1, out], **perceptron("hf_mlp", out, out, out, fine)}
    for name, before, between in (
        ("compress_vit_feat", width, out),
        ("embedding_encoder", out, out // 4),
    ):
        names |= transposed(f"{name}.0", before, between) | norm(f"{name}.1", between)
        names |= transposed(f"{name}.3", between, fine)
    names |= layer("embedding_maskfeature.0", out // 4, fine, 3, 3) | norm(
        "embedding_maskfeature.1", out // 4
    )
    return under("mask_decoder", names | layer("embedding_maskfeature.3", fine, out // 4, 3, 3))


def sam2_encoder(width, stages, windows, background, out=256):
    """The encoder of a SAM 2, and its neck."""
    names = {
        "pos_embed": [1, width, background, background],
        "pos_embed_window": [1, width, windows[0], windows[0]],
        **layer("patch_embed.proj", width, 3, 7, 7),
    }
    starts, before = [sum(stages[:n]) for n in range(len(stages))], width
    for index in range(sum(stages)):
        block, wide = f"blocks.{index}", width * 2 ** (sum(start <= index for start in starts) - 1)
        names |= layer(f"{block}.attn.qkv", 3 * wide, before) | layer(
            f"{block}.attn.proj", wide, wide
        )
        names |= perceptron(f"{block}.mlp", wide, 4 * wide, wide)
        names |= layer(f"{block}.proj", wide, before) if wide != before else {}
        names |= norm(f"{block}.norm1", before) | norm(f"{block}.norm2", wide)
        before = wide
    neck = [layer(f"convs.{n}.conv", out, width * 2 ** (3 - n), 1, 1) for n in range(4)]
    return under("image_encoder.trunk", names) | {
        f"image_encoder.neck.{name}": shape for part in neck for name, shape in part.items()
    }


def sam2_memory(width=256, *, layers=4, mlp=2048, kept=64, is_21=True):
    """Tensors of the memory of a SAM 2 and of its object pointers."""
    names = {"maskmem_tpos_enc": [7, 1, 1, kept], "no_obj_ptr": [1, width]}
    names |= {"no_mem_embed": [1, 1, width], "no_mem_pos_enc": [1, 1, width]}
    names |= layer("mask_downsample", 1, 1, 4, 4) | perceptron(
        "obj_ptr_proj", width, width, width, width
    )
    if is_21:
        names |= {"no_obj_embed_spatial": [1, kept], **layer("obj_ptr_tpos_proj", kept, width)}
    for index in range(layers):
        block = f"memory_attention.layers.{index}"
        names |= attention(f"{block}.self_attn", width, width)
        names |= attention(f"{block}.cross_attn_image", width, width, seen=kept)
        names |= layer(f"{block}.linear1", mlp, width) | layer(f"{block}.linear2", width, mlp)
        for number in range(1, 4):
            names |= norm(f"{block}.norm{number}", width)
    names |= norm("memory_attention.norm", width)
    before = 1
    for index, after in ((0, 4), (3, 16), (6, 64), (9, 256)):
        names |= layer(f"memory_encoder.mask_downsampler.encoder.{index}", after, before, 3, 3)
        names |= norm(f"memory_encoder.mask_downsampler.encoder.{index + 1}", after)
        before = after
    names |= layer("memory_encoder.mask_downsampler.encoder.12", width, 256, 1, 1)
    names |= layer("memory_encoder.pix_feat_proj", width, width, 1, 1) | layer(
        "memory_encoder.out_proj", kept, width, 1, 1
    )
    for index in range(2):
        block = f"memory_encoder.fuser.layers.{index}"
        names |= {
            f"{block}.gamma": [width],
            **layer(f"{block}.dwconv", width, 1, 7, 7),
            **norm(f"{block}.norm", width),
        }
        names |= layer(f"{block}.pwconv1", 4 * width, width) | layer(
            f"{block}.pwconv2", width, 4 * width
        )
    return names


def sam2(*encoder, out=256, mlp=2048, **memory):
    """All tensors of a SAM 2."""
    return {
        **sam2_encoder(*encoder, out=out),
        **under("sam_prompt_encoder", prompt_encoder(out)),
        **under("sam_mask_decoder", mask_decoder(out, 2048, 256, is_sam2=True)),
        **sam2_memory(out, mlp=mlp, **memory),
    }


def test_the_rules_give_the_names_and_shapes_of_the_authors_own_tiny_models():
    tiny = {"grid": 4, "window": 3, "out": 32, "mlp": 64, "iou": 24}
    assert sam(32, 3, 4, (1,), **tiny) == read_json("sam")
    assert sam(32, 3, 4, (1,), **tiny) | sharper(32, 32) == read_json("sam_hq")
    assert sam2(16, (1, 2, 3, 1), (8, 4, 14, 7), 7, out=128, mlp=48, layers=1) == read_json("sam2")


def empty(shapes):
    return {name: torch.empty(shape, device="meta") for name, shape in shapes.items()}


def check_fit(converted, kind):
    """Compare the tensors of a mapping with the library's model of its configuration."""
    config, renamed = converted
    with torch.device("meta"):
        wanted = kind(kind.config_class(**config)).state_dict()
    assert {name: tensor.shape for name, tensor in renamed.items()} == {
        n: t.shape for n, t in wanted.items()
    }
    return config


def millions(shapes):
    return sum(map(prod, shapes.values())) / 1e6


# Width, depth, heads and global layers; millions of parameters as published.
SAM_SIZES = {
    "vit_b": ((768, 12, 12, (2, 5, 8, 11)), 93.7),  # and MedSAM
    "vit_l": ((1024, 24, 16, (5, 11, 17, 23)), 312.3),
    "vit_h": ((1280, 32, 16, (7, 15, 23, 31)), 641.1),
}


@pytest.mark.parametrize("size", SAM_SIZES)
def test_every_published_sam_fits_the_library(size):
    (width, depth, heads, global_layers), published = SAM_SIZES[size]
    shapes = sam(width, depth, heads, global_layers)
    assert millions(shapes) == pytest.approx(published, abs=0.06)
    vision = check_fit(weights_sam.convert(empty(shapes)), transformers.SamModel)["vision_config"]
    assert (vision["image_size"], vision["window_size"], vision["num_attention_heads"]) == (
        1024,
        14,
        heads,
    )
    assert vision["global_attn_indexes"] == list(global_layers)


@pytest.mark.parametrize("size", SAM_SIZES)
def test_every_published_sam_hq_fits_the_library(size):
    (width, depth, heads, global_layers), _ = SAM_SIZES[size]
    shapes = sam(width, depth, heads, global_layers) | sharper(width)
    config = check_fit(weights_sam_hq.convert(empty(shapes)), transformers.SamHQModel)
    assert config["mask_decoder_config"]["vit_dim"] == width


# Width, blocks by stage, windows by stage and background; millions of parameters as published.
SAM2_SIZES = {
    "tiny": ((96, (1, 2, 7, 2), (8, 4, 14, 7), 7), 38.9),
    "small": ((96, (1, 2, 11, 2), (8, 4, 14, 7), 7), 46.0),
    "base_plus": ((112, (2, 3, 16, 3), (8, 4, 14, 7), 14), 80.8),
    "large": ((144, (2, 6, 36, 4), (8, 4, 16, 8), 7), 224.4),
}


# Sizes differ in numbers alone: the smallest of both versions and the largest are looked at in every run.
@pytest.mark.parametrize(
    ("size", "is_21"),
    [
        (size, is_21)
        if size == "tiny" or (size, is_21) == ("large", True)
        else pytest.param(size, is_21, marks=pytest.mark.long)
        for size in SAM2_SIZES
        for is_21 in (True, False)
    ],
)
def test_every_published_sam2_fits_the_library_for_videos_and_for_images(size, is_21):
    encoder, published = SAM2_SIZES[size]
    shapes = sam2(*encoder, is_21=is_21)
    assert millions(shapes) == pytest.approx(published, abs=0.1)
    config = check_fit(weights_sam2_video.convert(empty(shapes)), transformers.Sam2VideoModel)
    assert config["image_size"] == 1024
    assert config["enable_occlusion_spatial_embedding"] is is_21
    image_config, renamed = weights_sam2.convert(empty(shapes))
    with torch.device("meta"):
        model = transformers.Sam2Model(transformers.Sam2Config(**image_config))
    wanted = {name: tensor.shape for name, tensor in model.state_dict().items()}
    assert wanted == {name: renamed[name].shape for name in wanted if name in renamed}
    # What the image model has no place for, the library itself calls the video's.
    video = transformers.Sam2Model._keys_to_ignore_on_load_unexpected
    assert all(
        any(re.search(pattern, name) for pattern in video) for name in renamed if name not in wanted
    )
