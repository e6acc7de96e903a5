"""PFENet as published in dvlab-research/PFENet: a prior mask and a feature pyramid from one example."""

import sys
from pathlib import Path

import cv2
import numpy as np
import torch
from segarena_worker import serve

MEAN = [0.485, 0.456, 0.406]
SPREAD = [0.229, 0.224, 0.225]


class Model:
    """PFENet for images resized to 473 px at the longer side and padded to a square.

    Args:
        repository: a checkout of the published code; a relative path starts at the folder of this file.
        weights: a published checkpoint of the same depth; without it, weights are random.
        layers: number of layers of the ResNet: 50 or 101.
        side_px: side of the square; a multiple of 8 plus 1.
        device: "cpu" or "cuda:0".
    """

    takes = ("support",)
    samples = ("image",)
    encodes_with_prompts = True

    def __init__(self, repository="PFENet", weights="", layers=50, side_px=473, device="cpu"):
        repository = Path(__file__).parent / repository
        if not (repository / "model/PFENet.py").is_file():
            missing = "model/PFENet.py; git clone https://github.com/dvlab-research/PFENet"
            raise FileNotFoundError(f"{repository} lacks {missing} {repository}")
        sys.path.insert(0, str(repository))
        if not torch.cuda.is_available():  # the published code always calls .cuda()
            torch.Tensor.cuda = torch.nn.Module.cuda = lambda self, *_args, **_options: self
        from model.PFENet import PFENet

        self.weights = weights
        self.side_px = side_px
        self.device = device
        torch.manual_seed(0)
        self.network = PFENet(layers=layers, pretrained=False)
        if weights:
            checkpoint = torch.load(weights, map_location="cpu", weights_only=True)["state_dict"]
            self.network.load_state_dict(
                {name.replace("module.", "", 1): value for name, value in checkpoint.items()}
            )
        self.network.to(device).eval()

    def encode(self, sample):
        """Return the image, resized, padded and normalized, with its shape before and after resizing."""
        height, width = (
            int(side * (self.side_px / max(sample.shape))) // 8 * 8 for side in sample.shape
        )
        square = np.zeros((self.side_px, self.side_px, 3))
        # Converted to floats first, because interpolated integers would be rounded.
        square[:height, :width] = cv2.resize(
            sample.image.astype(np.float32), (width, height), interpolation=cv2.INTER_LINEAR
        )
        image = torch.from_numpy((square / 255 - MEAN) / SPREAD).float().permute(2, 0, 1)[None]
        return {"image": image.to(self.device), "shape": sample.shape, "size": (height, width)}

    def predict(self, query, dialogues):
        """Return the mask of each dialogue."""
        with torch.no_grad():
            return [self.answer(query, dialogue) for dialogue in dialogues]

    def answer(self, query, dialogue):
        """Return the mask in the shape of the query."""
        examples = [prompt for prompt in dialogue.prompts if prompt.kind == "support"]
        self.network.shot = len(examples)
        images = torch.stack([example.encoded["image"] for example in examples], dim=1)
        masks = torch.stack([self.drawn(example) for example in examples], dim=1)
        logits = self.network(x=query["image"], s_x=images, s_y=masks)
        height, width = query["size"]
        large = torch.nn.functional.interpolate(
            logits[:, :, :height, :width],
            size=tuple(query["shape"]),
            mode="bilinear",
            align_corners=True,
        )
        return (large.argmax(dim=1) == 1)[0].cpu().numpy()

    def drawn(self, example):
        """Return an example's mask (1, 473, 473): 1 for the object, 0 for other pixels, 255 for padding."""
        height, width = example.encoded["size"]
        mask = np.full((self.side_px, self.side_px), 255.0, dtype=np.float32)
        small = cv2.resize(
            example.mask.astype(np.float32), (width, height), interpolation=cv2.INTER_NEAREST
        )
        mask[:height, :width] = small
        return torch.from_numpy(mask)[None].to(self.device)


if __name__ == "__main__":
    serve(Model)
