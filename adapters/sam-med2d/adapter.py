"""SAM-Med2D as published in OpenGVLab/SAM-Med2D: SAM with adapters, for slices of medical volumes."""

import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import torch
from segarena_worker import serve

SIDE_PX = 256


class Model:
    """SAM-Med2D with ViT-B at 256 px; the sigmoid of the best-rated of three masks enters the next round.

    Args:
        repository: a checkout of the published code; a relative path starts at the folder of this file.
        weights: the published checkpoint; without it, weights are random.
        small_images: "resize" or "pad" images of less than 256 px on both sides; the published predictor
            resizes them, the published test pads them.
        device: "cpu" or "cuda:0".
    """

    takes = ("click", "box")
    samples = ("image",)
    slice_intensity = "slice-positive-percentiles"

    def __init__(self, repository="SAM-Med2D", weights="", small_images="resize", device="cpu"):
        if small_images not in ("resize", "pad"):
            raise ValueError(f"small_images={small_images!r}: expected 'resize' or 'pad'")
        repository = Path(__file__).parent / repository
        if not (repository / "segment_anything").is_dir():
            missing = "folder segment_anything; git clone https://github.com/OpenGVLab/SAM-Med2D"
            raise FileNotFoundError(f"{repository} lacks {missing} {repository}")
        sys.path.insert(0, str(repository))
        from segment_anything import sam_model_registry
        from segment_anything.predictor_sammed import SammedPredictor

        self.weights = weights
        self.device = device
        self.small_images = small_images
        torch.manual_seed(0)
        settings = Namespace(image_size=SIDE_PX, sam_checkpoint=None, encoder_adapter=True)
        self.network = sam_model_registry["vit_b"](settings).to(device).eval()
        if weights:
            self.network.load_state_dict(
                torch.load(weights, map_location="cpu", weights_only=True)["model"]
            )
        self.predictor = SammedPredictor(self.network)

    def encode(self, sample):
        """Return features and sizes in the predictor's format, and the image's position in the square."""
        height, width = sample.image.shape[:2]
        is_padded = self.small_images == "pad" and max(height, width) < SIDE_PX
        with torch.no_grad():
            if is_padded:
                start = ((SIDE_PX - height) // 2, (SIDE_PX - width) // 2)
                self.set_padded(sample.image, start)
            else:
                start = (0, 0)
                self.predictor.set_image(sample.image)
        names = ("features", "original_size", "new_size")
        state = {name: getattr(self.predictor, name) for name in names}
        return {"state": state, "start": start, "shape": (height, width)}

    def set_padded(self, image, start):
        """Encode an image centred in a square of zeros, which the published predictor cannot do."""
        mean = self.network.pixel_mean.cpu()
        deviation = self.network.pixel_std.cpu()
        values = (torch.from_numpy(image.copy()).permute(2, 0, 1) - mean) / deviation
        height, width = image.shape[:2]
        square = torch.zeros((1, 3, SIDE_PX, SIDE_PX))
        square[0, :, start[0] : start[0] + height, start[1] : start[1] + width] = values
        self.predictor.features = self.network.image_encoder(square.to(self.device))
        self.predictor.original_size = self.predictor.new_size = (SIDE_PX, SIDE_PX)

    def predict(self, encoded, dialogues):
        """Return each dialogue's mask, and its low-resolution logits for the next round."""
        for name, value in encoded["state"].items():
            setattr(self.predictor, name, value)
        self.predictor.is_image_set = True
        return [self.answer(dialogue, encoded["start"], encoded["shape"]) for dialogue in dialogues]

    def answer(self, dialogue, start, shape):
        """Return the mask and its low-resolution logits; the image begins at `start` in the square."""
        clicks = dialogue.clicks
        boxes = [prompt for prompt in dialogue.prompts if prompt.kind == "box"]
        before = dialogue.logits
        offset = np.array(start)[::-1]
        positions = labels = box = None
        if clicks:
            positions = np.array([click.position[::-1] for click in clicks]) + offset
            labels = np.array([int(click.is_positive) for click in clicks])
        if boxes:
            corners = np.array([boxes[-1].start[::-1], boxes[-1].stop[::-1]]) + offset
            box = corners.reshape(-1)
        masks, _, logits = self.predictor.predict(
            point_coords=positions,
            point_labels=labels,
            box=box,
            mask_input=None if before is None else 1 / (1 + np.exp(-before)),
            multimask_output=True,
        )
        mask = masks[0] > 0.5
        return mask[start[0] : start[0] + shape[0], start[1] : start[1] + shape[1]], logits


if __name__ == "__main__":
    serve(Model)
