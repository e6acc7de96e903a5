"""RITM as published in SamsungLabs/ritm_interactive_segmentation: the network takes image and clicks together."""

import sys
from pathlib import Path

import numpy as np
import torch
from segarena_worker import serve


class Model:
    """RITM with HRNet and flipped test-time augmentation; it zooms in from the second click on.

    Args:
        repository: a checkout of the published code; a relative path starts at the folder of this file.
        weights: a published checkpoint, which names its own network; without it, random weights of HRNet-18.
        trust_pickle: read any checkpoint, which may execute code in it. Published checkpoints also
            contain floats, which torch before 2.0 cannot read otherwise.
        zoom_px: longer side of the window; the published evaluation uses 600 for DAVIS.
        threshold: minimum probability of a mask pixel.
        device: "cpu" or "cuda:0".
    """

    takes = ("click",)
    samples = ("image",)
    encodes_with_prompts = True

    def __init__(
        self,
        repository="ritm_interactive_segmentation",
        weights="",
        trust_pickle=False,
        zoom_px=400,
        threshold=0.49,
        device="cpu",
    ):
        repository = Path(__file__).parent / repository
        if not (repository / "isegm").is_dir():
            missing = "folder isegm; git clone https://github.com/SamsungLabs/ritm_interactive_segmentation"
            raise FileNotFoundError(f"{repository} lacks {missing} {repository}")
        sys.path.insert(0, str(repository))
        from isegm.inference.predictors import get_predictor

        self.weights = weights
        self.threshold = threshold
        self.device = device
        self.network = self.build(weights, trust_pickle).to(device).eval()
        self.predictor = get_predictor(
            self.network, "NoBRS", torch.device(device), zoom_in_params={"target_size": zoom_px}
        )

    def build(self, weights, trust_pickle):
        """Return the network; a published checkpoint contains its class and arguments."""
        from isegm.model.is_hrnet_model import HRNetModel
        from isegm.utils.serialization import load_model

        if weights:
            checkpoint = torch.load(weights, map_location="cpu", weights_only=not trust_pickle)
            network = load_model(checkpoint["config"])
            network.load_state_dict(checkpoint["state_dict"])
            return network
        torch.manual_seed(0)
        return HRNetModel(
            width=18,
            ocr_width=64,
            with_aux_output=True,
            use_leaky_relu=True,
            use_rgb_conv=False,
            use_disks=True,
            norm_radius=5,
            with_prev_mask=True,
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
