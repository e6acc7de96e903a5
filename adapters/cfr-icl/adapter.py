"""CFR-ICL as published in TitorX/CFR-ICL-Interactive-Segmentation: SimpleClick's network refines its own mask."""

import sys
from pathlib import Path

import numpy as np
import torch
from segarena_worker import serve


class Model:
    """CFR-ICL with flipped test-time augmentation, a window around the object, and refinement passes.

    Args:
        repository: a checkout of the published code; a relative path starts at the folder of this file.
        weights: a published checkpoint, which names its own network; without it, random weights of ViT-B.
        trust_pickle: also read checkpoints that contain more than tensors and numbers, as published ones
            do; reading such a file may execute any code in it.
        zoom_px: side of the window; the published evaluation uses 672 for DAVIS.
        refinements: number of further passes for the first click; the published evaluation uses
            `--cf-n=4`.
        adaptive: stop refining when the mask hardly changes (`--acf` of the published evaluation).
        threshold: minimum probability of a mask pixel.
        device: "cpu" or "cuda:0".
    """

    takes = ("click",)
    samples = ("image",)
    encodes_with_prompts = True

    def __init__(
        self,
        repository="CFR-ICL-Interactive-Segmentation",
        weights="",
        trust_pickle=False,
        zoom_px=448,
        refinements=4,
        adaptive=True,
        threshold=0.49,
        device="cpu",
    ):
        repository = Path(__file__).parent / repository
        if not (repository / "isegm").is_dir():
            missing = (
                "folder isegm; git clone https://github.com/TitorX/CFR-ICL-Interactive-Segmentation"
            )
            raise FileNotFoundError(f"{repository} lacks {missing} {repository}")
        sys.path.insert(0, str(repository))
        from isegm.inference.predictors import get_predictor
        from isegm.model.modeling.pos_embed import interpolate_pos_embed_inference

        self.weights = weights
        self.threshold = threshold
        self.device = device
        self.network = self.build(weights, trust_pickle).to(device).eval()
        interpolate_pos_embed_inference(self.network.backbone, (zoom_px, zoom_px), device)
        self.predictor = get_predictor(
            self.network,
            "NoBRS",
            torch.device(device),
            zoom_in_params={"skip_clicks": -1, "target_size": (zoom_px, zoom_px)},
            predictor_params={
                "cascade_step": refinements + 1,
                "cascade_adaptive": adaptive,
                "cascade_clicks": 1,
            },
        )

    def build(self, weights, trust_pickle):
        """Return the network; a published checkpoint contains its class and arguments."""
        from isegm.model.is_plainvit_model import PlainVitModel
        from isegm.model.modeling.transformer_helper.cross_entropy_loss import CrossEntropyLoss
        from isegm.utils.serialization import load_model

        if weights:
            checkpoint = torch.load(weights, map_location="cpu", weights_only=not trust_pickle)
            network = load_model(checkpoint["config"], eval_ritm=False)
            network.load_state_dict(checkpoint["state_dict"])
            return network
        torch.manual_seed(0)
        return PlainVitModel(
            use_disks=True,
            norm_radius=5,
            with_prev_mask=True,
            backbone_params={
                "img_size": (448, 448),
                "patch_size": (16, 16),
                "in_chans": 3,
                "embed_dim": 768,
                "depth": 12,
                "num_heads": 12,
                "mlp_ratio": 4,
                "qkv_bias": True,
            },
            neck_params={"in_dim": 768, "out_dims": [128, 256, 512, 1024]},
            head_params={
                "in_channels": [128, 256, 512, 1024],
                "in_index": [0, 1, 2, 3],
                "dropout_ratio": 0.1,
                "num_classes": 1,
                "loss_decode": CrossEntropyLoss(),
                "align_corners": False,
                "upsample": "x1",
                "channels": 256,
            },
        )

    def encode(self, sample):
        """Return the image unchanged, because the network needs the clicks for every pass."""
        return sample.image

    def predict(self, image, dialogues):
        """Return each dialogue's mask, and its predictor state for the next round."""
        return [self.answer(image, dialogue) for dialogue in dialogues]

    def answer(self, image, dialogue):
        """Return the mask, with the probabilities and the zoom window as the state for the next round."""
        from isegm.inference.clicker import Click, Clicker

        # NumPy integers, as in the published evaluation: with them, positions in the window keep double
        # precision.
        clicks = [
            Click(is_positive=click.is_positive, coords=np.array(click.position))
            for click in dialogue.clicks
        ]
        self.predictor.set_input_image(image)
        if dialogue.logits is not None:
            self.remember(**dialogue.logits)
        with torch.no_grad():
            probabilities = self.predictor.get_prediction(Clicker(init_clicks=clicks))
        window = self.predictor.zoom_in.get_state()[1]
        carried = {
            "probabilities": probabilities,
            "window": None if window is None else np.array(window),
        }
        return probabilities > self.threshold, carried

    def remember(self, probabilities, window):
        """Restore the predictor's state after the previous round."""
        previous = probabilities[None, None]
        shape = (1, 4, *probabilities.shape)
        zoomed = (
            shape,
            None if window is None else tuple(int(side) for side in window),
            previous,
            None,
            False,
        )
        others = [None] * (len(self.predictor.transforms) - 1)
        self.predictor.set_states(
            {
                "transform_states": [zoomed, *others],
                "prev_prediction": torch.from_numpy(previous.copy()).to(self.device),
            }
        )


if __name__ == "__main__":
    serve(Model)
