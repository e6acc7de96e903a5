"""f-BRS as published in SamsungLabs/fbrs_interactive_segmentation: clicks are enforced by optimizing features."""

import sys
from pathlib import Path

import numpy as np
import torch
from segarena_worker import serve

MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)
"""Of ImageNet's red, green and blue, as in the published evaluation, which normalizes images itself."""


class Model:
    """f-BRS-B with a ResNet; the clicks so far are replayed, since each optimization starts from the one before.

    Args:
        repository: a checkout of the published code; from this file's folder, if relative.
        weights: a published checkpoint, which tells its own backbone; random ones of `backbone` without.
        backbone: "resnet34", "resnet50" or "resnet101".
        mode: "f-BRS-B", or another of the published ones: "NoBRS", "f-BRS-A", "f-BRS-C", "RGB-BRS", "DistMap-BRS".
        zoom_px: the longer side of the window; 600 for DAVIS in the published evaluation.
        threshold: of the probability.
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
            raise FileNotFoundError(f"{repository} holds no {missing} {repository}")
        sys.path.insert(0, str(repository))
        from isegm.inference.predictors import get_predictor
        from isegm.inference.utils import load_is_model
        from isegm.model.is_deeplab_model import get_deeplab_model

        self.weights, self.threshold = weights, threshold
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
        """Return the normalized image (3, H, W); the network needs the clicks for everything else."""
        image = torch.from_numpy(sample.image.copy()).permute(2, 0, 1).float() / 255
        mean = torch.tensor(MEAN)[:, None, None]
        deviation = torch.tensor(DEVIATION)[:, None, None]
        return (image - mean) / deviation

    def predict(self, image, dialogues):
        """Answer each dialogue with its mask."""
        return [self.answer(image, dialogue.clicks) for dialogue in dialogues]

    def answer(self, image, clicks):
        """Return the mask after the last click."""
        from isegm.inference.clicker import Click, Clicker

        self.predictor.set_input_image(image)
        # NumPy's integers, as in the published evaluation: they stay in double precision in the window.
        said = [
            Click(is_positive=click.is_positive, coords=tuple(np.array(click.position)))
            for click in clicks
        ]
        for count in range(len(said)):
            probabilities = self.predictor.get_prediction(Clicker(init_clicks=said[: count + 1]))
        return probabilities > self.threshold


if __name__ == "__main__":
    serve(Model)
