"""RPMMs as published in Yang-Bob/PMMs: prototype mixtures of one example, in three residual steps."""

import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from segarena_worker import serve

MEAN = [0.485, 0.456, 0.406]
SPREAD = [0.229, 0.224, 0.225]


class Model:
    """RPMMs for images of 481 px and one example, as in the published one-shot test.

    The published code initializes the mixtures at random in each call; here every call uses the same
    seed.

    Args:
        repository: a checkout of the published code; a relative path starts at the folder of this file.
        weights: a published checkpoint; without it, weights are random.
        side_px: side of the square to which images are resized.
        device: "cpu" or "cuda:0".
    """

    takes = ("support",)
    samples = ("image",)
    encodes_with_prompts = True

    def __init__(self, repository="PMMs", weights="", side_px=481, device="cpu"):
        repository = Path(__file__).parent / repository
        if not (repository / "networks/FRPMMs.py").is_file():
            missing = "networks/FRPMMs.py; git clone https://github.com/Yang-Bob/PMMs"
            raise FileNotFoundError(f"{repository} lacks {missing} {repository}")
        sys.path.insert(0, str(repository))
        if not torch.cuda.is_available():  # the published code always calls .cuda()
            torch.Tensor.cuda = torch.nn.Module.cuda = lambda self, *_args, **_options: self
        import torchvision

        build = (
            torchvision.models.resnet50
        )  # the checkpoint contains the backbone, so nothing is downloaded
        torchvision.models.resnet50 = lambda pretrained=False: build()
        from networks.FRPMMs import OneModel

        self.weights = weights
        self.side_px = side_px
        self.device = device
        torch.manual_seed(0)
        self.network = OneModel(Namespace(batch_size=1))
        if weights:
            checkpoint = torch.load(weights, map_location="cpu", weights_only=True)
            self.network.load_state_dict(checkpoint["state_dict"])
        self.network.to(device).eval()

    def encode(self, sample):
        """Return the image, resized and normalized, as (1, 3, 481, 481), and its original shape."""
        # Like the published code, use Pillow, which averages over all pixels when it shrinks an image.
        small = Image.fromarray(np.ascontiguousarray(sample.image)).resize(
            (self.side_px, self.side_px), Image.BILINEAR
        )
        pixels = np.asarray(small) / 255.0
        image = torch.from_numpy((pixels - MEAN) / SPREAD).float().permute(2, 0, 1)[None]
        return {"image": image.to(self.device), "shape": sample.shape}

    def predict(self, query, dialogues):
        """Return the mask of each dialogue."""
        with torch.no_grad():
            return [self.answer(query, dialogue) for dialogue in dialogues]

    def answer(self, query, dialogue):
        """Return the mask in the shape of the query."""
        example = next(prompt for prompt in dialogue.prompts if prompt.kind == "support")
        mask = self.drawn(example.mask).to(self.device)
        torch.manual_seed(0)
        logits = self.network(query["image"], example.encoded["image"], mask)[-1]
        large = torch.nn.functional.interpolate(logits, size=tuple(query["shape"]), mode="bilinear")
        return (large.argmax(dim=1) == 1)[0].cpu().numpy()

    def drawn(self, mask):
        """Return an example's mask (1, 1, 481, 481), resized by Pillow as published."""
        whole = Image.fromarray(mask.astype(np.float32))
        small = whole.resize((self.side_px, self.side_px), Image.NEAREST)
        return torch.from_numpy(np.array(small))[None, None]


if __name__ == "__main__":
    serve(Model)
