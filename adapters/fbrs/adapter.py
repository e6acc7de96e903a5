"""f-BRS as published in SamsungLabs/fbrs_interactive_segmentation: features are optimized to fit the clicks."""

import sys
from pathlib import Path

import numpy as np
import torch
from segarena_worker import serve

MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)
"""Mean and standard deviation of ImageNet's colours, with which the published evaluation normalizes."""


class Model:
    """f-BRS-B with a ResNet; replays all clicks, because each optimization starts from the previous one.

    Args:
        repository: a checkout of the published code; a relative path starts at the folder of this file.
        weights: a published checkpoint, which names its own backbone; without it, random weights of `backbone`.
        backbone: "resnet34", "resnet50" or "resnet101".
        mode: "f-BRS-B", or another published mode: "NoBRS", "f-BRS-A", "f-BRS-C", "RGB-BRS",
            "DistMap-BRS".
        zoom_px: longer side of the window; the published evaluation uses 600 for DAVIS.
        threshold: minimum probability of a mask pixel.
        device: "cpu" or "cuda:0".
    """

    takes = ("click",)
    samples = ("image",)
    encodes_with_prompts = True

    def __init__(
        self,
        repository="fbrs_interactive_segmentation",
        weights="",
        backbone="resnet34",
        mode="f-BRS-B",
        zoom_px=400,
        threshold=0.49,
        device="cpu",
    ):
        repository = Path(__file__).parent / repository
        if not (repository / "isegm").is_dir():
            missing = "folder isegm; git clone https://github.com/SamsungLabs/fbrs_interactive_segmentation"
            raise FileNotFoundError(f"{repository} lacks {missing} {repository}")
        sys.path.insert(0, str(repository))
        from isegm.inference.predictors import get_predictor
        from isegm.inference.utils import load_is_model
        from isegm.model.is_deeplab_model import get_deeplab_model

        self.weights = weights
        self.threshold = threshold
        if weights:
            self.network = load_is_model(weights, device)
        else:
            torch.manual_seed(0)
            self.network = (
                get_deeplab_model(backbone=backbone, deeplab_ch=128, aspp_dropout=0.2)
                .to(device)
                .eval()
            )
        for parameter in self.network.parameters():
            parameter.requires_grad = False
        self.predictor = get_predictor(
            self.network, mode, torch.device(device), zoom_in_params={"target_size": zoom_px}
        )

    def encode(self, sample):
        """Return the normalized image (3, H, W); the network needs the clicks for every pass."""
        image = torch.from_numpy(sample.image.copy()).permute(2, 0, 1).float() / 255
        mean = torch.tensor(MEAN)[:, None, None]
        deviation = torch.tensor(DEVIATION)[:, None, None]
        return (image - mean) / deviation

    def predict(self, image, dialogues):
        """Return the mask of each dialogue."""
        return [self.answer(image, dialogue.clicks) for dialogue in dialogues]

    def answer(self, image, clicks):
        """Return the mask after the last click."""
        from isegm.inference.clicker import Click, Clicker

        self.predictor.set_input_image(image)
        # NumPy integers, as in the published evaluation: with them, positions in the window keep double
        # precision.
        said = [
            Click(is_positive=click.is_positive, coords=tuple(np.array(click.position)))
            for click in clicks
        ]
        for count in range(len(said)):
            probabilities = self.predictor.get_prediction(Clicker(init_clicks=said[: count + 1]))
        return probabilities > self.threshold


if __name__ == "__main__":
    serve(Model)
