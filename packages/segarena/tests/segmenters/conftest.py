from __future__ import annotations

import copy
import importlib
from pathlib import Path

import pytest


def tiny_sam():
    from transformers import (
        SamConfig,
        SamMaskDecoderConfig,
        SamModel,
        SamPromptEncoderConfig,
        SamVisionConfig,
    )

    vision = SamVisionConfig(
        hidden_size=16,
        output_channels=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=128,
        patch_size=16,
        window_size=4,
        global_attn_indexes=[1],
        num_pos_feats=8,
        mlp_dim=32,
        initializer_range=0.05,
    )
    return SamModel(
        SamConfig(
            vision_config=vision,
            prompt_encoder_config=SamPromptEncoderConfig(hidden_size=16, image_size=128),
            mask_decoder_config=SamMaskDecoderConfig(
                hidden_size=16, mlp_dim=32, num_attention_heads=2, iou_head_hidden_dim=16
            ),
        )
    )


def tiny_sam_hq():
    from transformers import (
        SamHQConfig,
        SamHQMaskDecoderConfig,
        SamHQModel,
        SamHQPromptEncoderConfig,
        SamHQVisionConfig,
    )

    vision = SamHQVisionConfig(
        hidden_size=16,
        output_channels=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=128,
        patch_size=16,
        window_size=4,
        global_attn_indexes=[1],
        num_pos_feats=8,
        mlp_dim=32,
        initializer_range=0.05,
    )
    return SamHQModel(
        SamHQConfig(
            vision_config=vision,
            prompt_encoder_config=SamHQPromptEncoderConfig(hidden_size=16, image_size=128),
            mask_decoder_config=SamHQMaskDecoderConfig(
                hidden_size=16,
                mlp_dim=32,
                num_attention_heads=2,
                iou_head_hidden_dim=16,
                vit_dim=16,
            ),
        )
    )


def tiny_sam2():
    from transformers import (
        Sam2Config,
        Sam2HieraDetConfig,
        Sam2MaskDecoderConfig,
        Sam2Model,
        Sam2PromptEncoderConfig,
        Sam2VisionConfig,
    )

    backbone = Sam2HieraDetConfig(
        image_size=[128, 128],
        hidden_size=8,
        num_attention_heads=1,
        blocks_per_stage=[1, 1, 2, 1],
        embed_dim_per_stage=[8, 16, 32, 64],
        num_attention_heads_per_stage=[1, 1, 2, 2],
        window_size_per_stage=[4, 4, 4, 4],
        global_attention_blocks=[3],
        window_positional_embedding_background_size=[4, 4],
    )
    vision = Sam2VisionConfig(
        backbone_config=backbone,
        backbone_channel_list=[64, 32, 16, 8],
        backbone_feature_sizes=[[32, 32], [16, 16], [8, 8]],
        fpn_hidden_size=16,
    )
    return Sam2Model(
        Sam2Config(
            vision_config=vision,
            prompt_encoder_config=Sam2PromptEncoderConfig(hidden_size=16, image_size=128),
            mask_decoder_config=Sam2MaskDecoderConfig(
                hidden_size=16, mlp_dim=32, num_attention_heads=2, iou_head_hidden_dim=16
            ),
        )
    )


def tiny_sam3_tracker():
    from transformers import Sam3TrackerConfig, Sam3TrackerModel
    from transformers.models.sam3.configuration_sam3 import Sam3VisionConfig, Sam3ViTConfig
    from transformers.models.sam3_tracker.configuration_sam3_tracker import (
        Sam3TrackerMaskDecoderConfig,
        Sam3TrackerPromptEncoderConfig,
    )

    backbone = Sam3ViTConfig(
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=112,
        pretrain_image_size=56,
        patch_size=14,
        window_size=4,
        global_attn_indexes=[1],
    )
    vision = Sam3VisionConfig(
        backbone_config=backbone,
        fpn_hidden_size=16,
        backbone_feature_sizes=[[32, 32], [16, 16], [8, 8]],
    )
    return Sam3TrackerModel(
        Sam3TrackerConfig(
            vision_config=vision,
            prompt_encoder_config=Sam3TrackerPromptEncoderConfig(hidden_size=16, image_size=112),
            mask_decoder_config=Sam3TrackerMaskDecoderConfig(
                hidden_size=16, mlp_dim=32, num_attention_heads=2, iou_head_hidden_dim=16
            ),
        )
    )


def tiny_edgetam():
    """A tiny EdgeTAM whose backbone, which needs one more package, is replaced by four convolutions."""
    import torch
    from transformers import (
        EdgeTamConfig,
        EdgeTamMaskDecoderConfig,
        EdgeTamModel,
        EdgeTamPromptEncoderConfig,
        EdgeTamVisionConfig,
        ViTConfig,
    )
    from transformers.modeling_outputs import BaseModelOutput

    class Backbone(torch.nn.Module):
        def __init__(self):
            super().__init__()
            widths, strides = (3, 8, 16, 32, 64), (4, 2, 2, 2)
            self.stages = torch.nn.ModuleList(
                torch.nn.Conv2d(before, after, stride, stride)
                for before, after, stride in zip(widths, widths[1:], strides, strict=False)
            )

        def forward(self, pixel_values, **_):
            levels = [pixel_values]
            for stage in self.stages:
                levels.append(stage(levels[-1]).tanh())
            return BaseModelOutput(last_hidden_state=levels[1:])

    vision = EdgeTamVisionConfig(
        backbone_config=ViTConfig(
            hidden_size=8,
            intermediate_size=8,
            num_hidden_layers=1,
            num_attention_heads=1,
            image_size=16,
        ),
        backbone_channel_list=[64, 32, 16, 8],
        backbone_feature_sizes=[[32, 32], [16, 16], [8, 8]],
        fpn_hidden_size=16,
    )
    model = EdgeTamModel(
        EdgeTamConfig(
            vision_config=vision,
            prompt_encoder_config=EdgeTamPromptEncoderConfig(hidden_size=16, image_size=128),
            mask_decoder_config=EdgeTamMaskDecoderConfig(
                hidden_size=16, mlp_dim=32, num_attention_heads=2, iou_head_hidden_dim=16
            ),
        )
    )
    model.vision_encoder.backbone = Backbone()
    return model


def tiny_clipseg():
    from transformers import CLIPSegConfig, CLIPSegForImageSegmentation

    clip = {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    return CLIPSegForImageSegmentation(
        CLIPSegConfig(
            text_config=clip | {"vocab_size": 9, "bos_token_id": 0, "eos_token_id": 1},
            vision_config=clip | {"image_size": 32, "patch_size": 8},
            projection_dim=12,
            extract_layers=[0, 1],
            reduce_dim=8,
            decoder_num_attention_heads=2,
            decoder_intermediate_size=16,
        )
    )


def tiny_seggpt():
    from transformers import SegGptConfig, SegGptForImageSegmentation

    return SegGptForImageSegmentation(
        SegGptConfig(
            hidden_size=16,
            num_hidden_layers=4,
            num_attention_heads=2,
            image_size=[64, 32],
            patch_size=8,
            pretrain_image_size=16,
            mlp_dim=32,
            decoder_hidden_size=8,
            merge_index=1,
            intermediate_hidden_state_indices=[1, 2, 3],
        )
    )


def tiny_dino():
    from transformers import Dinov2Config, Dinov2Model

    return Dinov2Model(
        Dinov2Config(
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            mlp_ratio=2,
            image_size=56,
            patch_size=14,
        )
    )


def tiny_sam2_video():
    from transformers import Sam2VideoConfig, Sam2VideoModel

    sam2 = tiny_sam2().config
    wide = 128  # the library needs a larger multiple of the 64 channels of its memory
    sam2.vision_config.fpn_hidden_size = sam2.prompt_encoder_config.hidden_size = wide
    sam2.mask_decoder_config.hidden_size = wide
    return Sam2VideoModel(
        Sam2VideoConfig(
            vision_config=sam2.vision_config.to_dict(),
            prompt_encoder_config=sam2.prompt_encoder_config.to_dict(),
            mask_decoder_config=sam2.mask_decoder_config.to_dict(),
            image_size=128,
            memory_attention_hidden_size=wide,
            memory_attention_num_layers=1,
            memory_attention_feed_forward_hidden_size=32,
            memory_attention_rope_feat_sizes=[8, 8],
            memory_encoder_hidden_size=wide,
            mask_downsampler_embed_dim=wide,
            memory_fuser_num_layers=1,
            memory_fuser_embed_dim=wide,
            memory_fuser_intermediate_dim=32,
        )
    )


# With seeds at which masks are neither empty nor full.
TINY = {
    "sam": (tiny_sam, 6),
    "sam-hq": (tiny_sam_hq, 6),
    "sam2": (tiny_sam2, 6),
    "edgetam": (tiny_edgetam, 3),
    "sam3-tracker": (tiny_sam3_tracker, 3),
    "clipseg": (tiny_clipseg, 0),
    "seggpt": (tiny_seggpt, 0),
    "dino": (tiny_dino, 0),
    "persam": (tiny_sam, 6),
    "sam2-video": (tiny_sam2_video, 2),
    "slices": (tiny_sam, 6),
    "medsam": (tiny_sam, 6),
}


def scramble(model):
    """Give every weight a value at which masks have structure; with the small initial ones masks are flat."""
    import torch

    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim > 1:
                weight.normal_(
                    0, 1.0 if "positional_embedding" in name else 1.5 / weight[0].numel() ** 0.5
                )
            elif name.endswith("weight"):
                weight.fill_(1.0)
            else:
                weight.normal_(0, 0.1)


@pytest.fixture(scope="session")
def tiny_model():
    """A function from a family's name to its tiny model with random weights, always the same ones."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # networks as small as these only wait for each other's threads
    built = {}

    def build(family):
        if family not in built:
            with torch.random.fork_rng():
                make, seed = TINY[family]
                torch.manual_seed(seed)
                model = make().eval()
                scramble(model)
            built[family] = model
        return built[family]

    yield build
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def folder_of(tiny_model, tmp_path_factory):
    """A function from a family's name to a folder as the library writes it.

    Each is read once: a segmenter that is built from one gets a copy of what was read, in a fifth of the time.
    """
    made, read = {}, {}

    def save(family):
        if family not in made:
            made[family] = tmp_path_factory.mktemp("weights") / family
            tiny_model(family).save_pretrained(made[family])
        return made[family]

    def load(given, *, family, **how):
        if Path(given) not in made.values():
            return load_model(given, family=family, **how)
        key = (given, family, *sorted(how.items()))
        if key not in read:
            read[key] = load_model(given, family=family, **how)
        return copy.deepcopy(read[key])

    weights = importlib.import_module("segarena.segmenters.weights.loading")
    load_model = weights.load_model
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weights, "load_model", load)
        yield save


@pytest.fixture
def edgetam_without_its_package(tiny_model, monkeypatch):
    """Let weights of EdgeTAM be the tiny model with its own backbone; the true one needs a package that is no extra."""
    weights = importlib.import_module("segarena.segmenters.weights.loading")
    load = weights.load_model

    def instead(given, *, family, **how):
        return (
            copy.deepcopy(tiny_model(family))
            if family == "edgetam"
            else load(given, family=family, **how)
        )

    monkeypatch.setattr(weights, "load_model", instead)
