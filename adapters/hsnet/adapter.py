"""HSNet as published in juhongm999/hsnet: a mask from hypercorrelations between an example and the query."""

import sys
from pathlib import Path

import cv2
import numpy as np
import torch
from PIL import Image
from segarena_worker import serve

MEAN = [0.485, 0.456, 0.406]
SPREAD = [0.229, 0.224, 0.225]


class Model:
    """HSNet for images of 400 px; with several examples, the masks are combined by vote, as published.

    Args:
        repository: a checkout of the published code; a relative path starts at the folder of this file.
        weights: a published checkpoint of the same backbone; without it, weights are random.
        backbone: "vgg16", "resnet50" or "resnet101".
        side_px: side of the square to which images are resized.
        device: "cpu" or "cuda:0".
    """

    takes = ("support",)
    samples = ("image",)
    encodes_with_prompts = True

    def __init__(
        self, repository="hsnet", weights="", backbone="resnet101", side_px=400, device="cpu"
    ):
        repository = Path(__file__).parent / repository
        if not (repository / "model/hsnet.py").is_file():
            missing = "model/hsnet.py; git clone https://github.com/juhongm999/hsnet"
            raise FileNotFoundError(f"{repository} lacks {missing} {repository}")
        sys.path.insert(0, str(repository))
        from torchvision.models import resnet, vgg

        for module, name in ((vgg, "vgg16"), (resnet, "resnet50"), (resnet, "resnet101")):
            setattr(module, name, without_download(getattr(module, name)))
        from model.hsnet import HypercorrSqueezeNetwork

        self.weights = weights
        self.side_px = side_px
        self.device = device
        torch.manual_seed(0)
        self.network = HypercorrSqueezeNetwork(backbone, use_original_imgsize=False)
        if weights:
            checkpoint = torch.load(weights, map_location="cpu", weights_only=True)
            self.network.load_state_dict(
                {name.replace("module.", "", 1): value for name, value in checkpoint.items()}
            )
        self.network.to(device).eval()

    def encode(self, sample):
        """Return the image, resized and normalized, as (1, 3, 400, 400), and its original shape."""
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
        examples = [prompt for prompt in dialogue.prompts if prompt.kind == "support"]
        masks = [
            cv2.resize(
                example.mask.astype(np.uint8), (self.side_px,) * 2, interpolation=cv2.INTER_NEAREST
            )
            for example in examples
        ]
        batch = {
            "query_img": query["image"],
            "support_imgs": torch.stack([example.encoded["image"] for example in examples], dim=1),
            "support_masks": torch.from_numpy(np.stack(masks)).float()[None].to(self.device),
        }
        found = self.network.predict_mask_nshot(batch, nshot=len(examples))[0].cpu().numpy()
        height, width = query["shape"]
        return (
            cv2.resize(found.astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST)
            == 1
        )


def without_download(build):
    """Return a builder of a backbone that downloads no weights, because the checkpoint contains them."""
    return lambda pretrained=False: build()


if __name__ == "__main__":
    serve(Model)
