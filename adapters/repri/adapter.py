"""RePRI as published in mboudiaf/RePRI-for-Few-Shot-Segmentation: a classifier fitted to one example and the query."""

import sys
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import torch
from segarena_worker import serve

MEAN = [0.485, 0.456, 0.406]
SPREAD = [0.229, 0.224, 0.225]
FITTING = {
    "temperature": 20.0,
    "adapt_iter": 50,
    "weights": [1.0, "auto", "auto"],
    "cls_lr": 0.025,
    "FB_param_update": [10],
    "cls_visdom_freq": 5,
    "FB_param_type": "soft",
    "FB_param_noise": 0,
}
"""Values of the published configuration for PASCAL."""


class Model:
    """RePRI with PSPNet's features at 417 px; it estimates the object's share of the query image.

    Args:
        repository: a checkout of the published code; a relative path starts at the folder of this file.
        weights: a published checkpoint of the same depth; without it, weights are random.
        layers: number of layers of the ResNet: 50 or 101.
        classes: number of classes in the published training, including the background.
        side_px: side of the square; a multiple of 8 plus 1.
        device: "cpu" or "cuda:0".
    """

    takes = ("support",)
    samples = ("image",)

    def __init__(
        self,
        repository="RePRI-for-Few-Shot-Segmentation",
        weights="",
        layers=50,
        classes=16,
        side_px=417,
        device="cpu",
    ):
        repository = Path(__file__).parent / repository
        if not (repository / "src/classifier.py").is_file():
            missing = "src/classifier.py; git clone https://github.com/mboudiaf/RePRI-for-Few-Shot-Segmentation"
            raise FileNotFoundError(f"{repository} lacks {missing} {repository}")
        sys.path.insert(0, str(repository))
        # The published code imports a plotting package and uses the rank of the process as its
        # device.
        sys.modules.setdefault("visdom_logger", SimpleNamespace(VisdomLogger=None))
        torch.distributed.get_rank = lambda: device
        from src.model.pspnet import get_model

        self.weights = weights
        self.side_px = side_px
        self.device = device
        torch.manual_seed(0)
        shape = Namespace(
            arch="resnet",
            layers=layers,
            pretrained=False,
            bins=[1, 2, 3, 6],
            dropout=0.1,
            m_scale=False,
            bottleneck_dim=512,
            num_classes_tr=classes,
        )
        self.network = get_model(shape)
        if weights:
            checkpoint = torch.load(weights, map_location="cpu", weights_only=True)["state_dict"]
            self.network.load_state_dict(
                {name.replace("module.", "", 1): value for name, value in checkpoint.items()}
            )
        self.network.to(device).eval()

    def encode(self, sample):
        """Return features of unit length, and the image's shape before and after resizing."""
        height, width = (
            int(side * (self.side_px / max(sample.shape))) // 8 * 8 for side in sample.shape
        )
        square = np.zeros((self.side_px, self.side_px, 3))
        # Converted to floats first, because interpolated integers would be rounded.
        square[:height, :width] = cv2.resize(
            sample.image.astype(np.float32), (width, height), interpolation=cv2.INTER_LINEAR
        )
        image = (
            torch.from_numpy((square / 255 - MEAN) / SPREAD)
            .float()
            .permute(2, 0, 1)[None]
            .to(self.device)
        )
        with torch.no_grad():
            features = self.network.extract_features(image)
        return {
            "features": torch.nn.functional.normalize(features, dim=1),
            "shape": sample.shape,
            "size": (height, width),
        }

    def predict(self, query, dialogues):
        """Return the mask of each dialogue."""
        return [self.answer(query, dialogue) for dialogue in dialogues]

    def answer(self, query, dialogue):
        """Return the mask in the shape of the query."""
        from src.classifier import Classifier

        examples = [prompt for prompt in dialogue.prompts if prompt.kind == "support"]
        shown = torch.stack([example.encoded["features"] for example in examples], dim=1)
        masks = torch.stack(
            [self.drawn(example.encoded["size"], example.mask) for example in examples], dim=1
        )
        # Only the padding of the query's "ground truth" is read; the rest would be used to plot
        # errors.
        padding = self.drawn(query["size"], np.zeros(query["shape"], dtype=np.bool_))[:, None]
        features = query["features"][:, None]
        count = torch.tensor([float(len(examples))], device=self.device)
        classifier = Classifier(Namespace(**FITTING))
        classifier.init_prototypes(shown, features, masks, padding, [[1]], None)
        classifier.compute_FB_param(features_q=features, gt_q=padding)
        classifier.RePRI(shown, features, masks, padding, [[1]], count, None)
        with torch.no_grad():
            logits = classifier.get_logits(features)
            square = torch.nn.functional.interpolate(
                logits, size=(self.side_px,) * 2, mode="bilinear", align_corners=True
            )
            found = classifier.get_probas(square)[0, 0, 1]
        height, width = query["size"]
        seen = found[None, None, :height, :width]
        large = torch.nn.functional.interpolate(
            seen, size=tuple(query["shape"]), mode="bilinear", align_corners=True
        )
        return (large > 0.5)[0, 0].cpu().numpy()

    def drawn(self, size, mask):
        """Return a mask (1, 417, 417): 1 for the object, 0 for other pixels, 255 for padding."""
        height, width = size
        square = np.full((self.side_px, self.side_px), 255, dtype=np.int64)
        square[:height, :width] = cv2.resize(
            mask.astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST
        )
        return torch.from_numpy(square)[None].to(self.device)


if __name__ == "__main__":
    serve(Model)
