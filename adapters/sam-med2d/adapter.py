"""SAM-Med2D as published in OpenGVLab/SAM-Med2D: SAM with adapters, for slices of medical volumes."""

import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import torch
from segarena_worker import serve


class Model:
    """ViT-B at 256 px; of three masks the one that the network thinks best, the sigmoid of which it sees again.

    Args:
        repository: a checkout of the published code; from this file's folder, if relative.
        weights: the published checkpoint; random ones without.
        device: "cpu" or "cuda:0".
    """

    takes = ("click", "box")
    samples = ("image",)
    slice_intensity = "slice-positive-percentiles"

    def __init__(self, repository="SAM-Med2D", weights="", device="cpu"):
        repository = Path(__file__).parent / repository
        if not (repository / "segment_anything").is_dir():
            missing = "folder segment_anything; git clone https://github.com/OpenGVLab/SAM-Med2D"
            raise FileNotFoundError(f"{repository} holds no {missing} {repository}")
        sys.path.insert(0, str(repository))
        from segment_anything import sam_model_registry
        from segment_anything.predictor_sammed import SammedPredictor

        self.weights, self.device = weights, device
        torch.manual_seed(0)
        settings = Namespace(image_size=256, sam_checkpoint=None, encoder_adapter=True)
        self.network = sam_model_registry["vit_b"](settings).to(device).eval()
        if weights:
            self.network.load_state_dict(
                torch.load(weights, map_location="cpu", weights_only=True)["model"]
            )
        self.predictor = SammedPredictor(self.network)

    def encode(self, sample):
        """Return the features of the image with its sizes, as the predictor keeps them."""
        with torch.no_grad():
            self.predictor.set_image(sample.image)
        names = ("features", "original_size", "new_size")
        return {name: getattr(self.predictor, name) for name in names}

    def predict(self, encoded, dialogues):
        """Answer each dialogue with its mask; the low-resolution logits go into the next round."""
        for name, value in encoded.items():
            setattr(self.predictor, name, value)
        self.predictor.is_image_set = True
        return [self.answer(dialogue) for dialogue in dialogues]

    def answer(self, dialogue):
        """Return the mask and its low-resolution logits."""
        clicks = dialogue.clicks
        boxes = [prompt for prompt in dialogue.prompts if prompt.kind == "box"]
        before = dialogue.logits
        masks, _, logits = self.predictor.predict(
            point_coords=np.array([click.position[::-1] for click in clicks]) if clicks else None,
            point_labels=np.array([int(click.is_positive) for click in clicks]) if clicks else None,
            box=np.array([*boxes[-1].start[::-1], *boxes[-1].stop[::-1]]) if boxes else None,
            mask_input=None if before is None else 1 / (1 + np.exp(-before)),
            multimask_output=True,
        )
        return masks[0] > 0.5, logits


if __name__ == "__main__":
    serve(Model)
