"""RITM as published in SamsungLabs/ritm_interactive_segmentation: image and clicks enter the network together."""

import sys
from pathlib import Path

import numpy as np
import torch
from segarena_worker import serve


class Model:
    """HRNet without backpropagating refinement, with a flipped twin, zoomed in from the second click on.

    Args:
        repository: a checkout of the published code; from this file's folder, if relative.
        weights: a published checkpoint, which names its own network; random ones of HRNet-18 without.
        trust_pickle: read any checkpoint, which may execute code; published ones also contain floats, which torch
            before 2.0 cannot read otherwise.
        zoom_px: the longer side of the window; 600 for DAVIS in the published evaluation.
        threshold: of the probability.
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
            raise FileNotFoundError(f"{repository} holds no {missing} {repository}")
        sys.path.insert(0, str(repository))
        from isegm.inference.predictors import get_predictor

        self.weights, self.threshold, self.device = weights, threshold, device
        self.network = self.build(weights, trust_pickle).to(device).eval()
        self.predictor = get_predictor(
            self.network, "NoBRS", torch.device(device), zoom_in_params={"target_size": zoom_px}
        )

    def build(self, weights, trust_pickle):
        """Return the network; a published checkpoint holds its class and arguments."""
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
        """Nothing can be done without the clicks."""
        return sample.image

    def predict(self, image, dialogues):
        """Answer each dialogue with its mask, and what the predictor wants to know again in the next round."""
        return [self.answer(image, dialogue) for dialogue in dialogues]

    def answer(self, image, dialogue):
        """Return the mask, the probabilities it was cut from and the window that was looked at."""
        from isegm.inference.clicker import Click, Clicker

        # NumPy's integers, as in the published evaluation: they stay in double precision in the window.
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
        """Bring the predictor into the state after the round before."""
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
