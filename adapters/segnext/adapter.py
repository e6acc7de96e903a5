"""SegNext as published in uncbiag/SegNext: the image is encoded once, then fused with clicks and the previous mask."""

import sys
from pathlib import Path

import torch
from segarena_worker import serve


class Model:
    """SegNext with a plain ViT; one or two self-attention blocks fuse its features with the prompts.

    Args:
        repository: a checkout of the published code; a relative path starts at the folder of this file.
        weights: a published checkpoint, which names its own network; without it, random weights of ViT-B.
        trust_pickle: read any checkpoint, which may execute code in it. Published checkpoints also
            contain floats, which torch before 2.0 cannot read otherwise.
        side_px: side of the square to which images are resized if weights are random; a checkpoint
            contains its own value (1024).
        threshold: minimum probability of a mask pixel.
        device: "cpu" or "cuda:0".
    """

    takes = ("click",)
    samples = ("image",)

    def __init__(
        self,
        repository="SegNext",
        weights="",
        trust_pickle=False,
        side_px=1024,
        threshold=0.49,
        device="cpu",
    ):
        repository = Path(__file__).parent / repository
        if not (repository / "segnext/isegm").is_dir():
            missing = "folder segnext/isegm; git clone https://github.com/uncbiag/SegNext"
            raise FileNotFoundError(f"{repository} lacks {missing} {repository}")
        sys.path.insert(0, str(repository / "segnext"))
        from isegm.inference.predictor import BasePredictor

        self.weights = weights
        self.threshold = threshold
        self.device = device
        self.network = self.build(weights, trust_pickle, side_px).to(device).eval()
        self.predictor = BasePredictor(self.network)

    def build(self, weights, trust_pickle, side_px):
        """Return the network; a published checkpoint contains its arguments."""
        from isegm.model.is_plainvit_model import PlainVitModel
        from isegm.utils.serialization import load_model

        if weights:
            checkpoint = torch.load(weights, map_location="cpu", weights_only=not trust_pickle)
            network = load_model(checkpoint["config"])
            network.load_state_dict(checkpoint["state_dict"])
            return network
        torch.manual_seed(0)
        attention = {"dim": 768, "num_heads": 12, "mlp_ratio": 4, "qkv_bias": True}
        return PlainVitModel(
            use_disks=True,
            norm_radius=5,
            backbone_params={
                "img_size": (side_px, side_px),
                "patch_size": (16, 16),
                "in_chans": 3,
                "embed_dim": 768,
                "depth": 12,
                "global_atten_freq": 3,
                "num_heads": 12,
                "mlp_ratio": 4,
                "qkv_bias": True,
            },
            neck_params={"in_dim": 768, "out_dims": [128, 256, 512, 1024]},
            head_params={
                "in_channels": [128, 256, 512, 1024],
                "in_select_index": [0, 1, 2, 3],
                "dropout_ratio": 0.1,
                "num_classes": 1,
                "out_channels": 256,
            },
            fusion_params={"type": "self_attention", "depth": 1, "params": attention},
        )

    def encode(self, sample):
        """Return the image's features and its shape, (1, 3, H, W)."""
        with torch.no_grad():
            self.predictor.set_image(sample.image)
        return {"features": self.predictor.image_feats, "shape": self.predictor.orig_img_shape}

    def predict(self, encoded, dialogues):
        """Return each dialogue's mask, and its probabilities for the next round."""
        self.predictor.image_feats = encoded["features"]
        self.predictor.orig_img_shape = encoded["shape"]
        self.network.orig_size = encoded["shape"][
            -2:
        ]  # which the network remembers of the last image encoded
        return [self.answer(encoded["shape"], dialogue) for dialogue in dialogues]

    def answer(self, shape, dialogue):
        """Return the mask and its probabilities."""
        from isegm.inference.clicker import Click, Clicker

        clicks = [
            Click(is_positive=click.is_positive, coords=click.position) for click in dialogue.clicks
        ]
        previous = torch.zeros((1, 1, *shape[-2:]), device=self.device)
        if dialogue.logits is not None:
            previous = torch.from_numpy(dialogue.logits.copy())[None, None].to(self.device)
        self.predictor.prev_mask = previous
        with torch.no_grad():
            probabilities = self.predictor.predict(Clicker(init_clicks=clicks))
        return probabilities > self.threshold, probabilities


if __name__ == "__main__":
    serve(Model)
