"""MobileSAM as published in ChaoningZhang/MobileSAM: SAM with a small encoder."""

import sys
from pathlib import Path

import numpy as np
import torch
from segarena_worker import serve


class Model:
    """MobileSAM with TinyViT; after the first click, it uses the best-rated of three masks.

    Args:
        repository: a checkout of the published code; a relative path starts at the folder of this file.
        weights: the published checkpoint; without it, weights are random.
        device: "cpu" or "cuda:0".
    """

    takes = ("click", "box")
    samples = ("image",)

    def __init__(self, repository="MobileSAM", weights="", device="cpu"):
        repository = Path(__file__).parent / repository
        if not (repository / "mobile_sam").is_dir():
            missing = "folder mobile_sam; git clone https://github.com/ChaoningZhang/MobileSAM"
            raise FileNotFoundError(f"{repository} lacks {missing} {repository}")
        sys.path.insert(0, str(repository))
        from mobile_sam import SamPredictor, sam_model_registry

        self.weights = weights
        self.device = device
        torch.manual_seed(0)
        self.network = sam_model_registry["vit_t"]().to(device).eval()
        if weights:
            self.network.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
        self.predictor = SamPredictor(self.network)

    def encode(self, sample):
        """Return the image's features and sizes in the format of the predictor."""
        self.predictor.set_image(sample.image)
        names = ("features", "original_size", "input_size")
        return {name: getattr(self.predictor, name) for name in names}

    def predict(self, encoded, dialogues):
        """Return each dialogue's mask, and its low-resolution logits for the next round."""
        for name, value in encoded.items():
            setattr(self.predictor, name, value)
        self.predictor.is_image_set = True
        return [self.answer(dialogue) for dialogue in dialogues]

    def answer(self, dialogue):
        """Return the mask and its low-resolution logits."""
        clicks = dialogue.clicks
        boxes = [prompt for prompt in dialogue.prompts if prompt.kind == "box"]
        is_open = len(clicks) == 1 and not boxes
        masks, scores, logits = self.predictor.predict(
            point_coords=np.array([click.position[::-1] for click in clicks]) if clicks else None,
            point_labels=np.array([int(click.is_positive) for click in clicks]) if clicks else None,
            box=np.array([*boxes[-1].start[::-1], *boxes[-1].stop[::-1]]) if boxes else None,
            mask_input=dialogue.logits,
            multimask_output=is_open,
        )
        best = int(np.argmax(scores))
        return masks[best], logits[best : best + 1]


if __name__ == "__main__":
    serve(Model)
