"""XMem as published in hkchengrex/XMem, with the scribble network of its demonstration."""

import sys
from pathlib import Path

import cv2
import numpy as np
import torch
from segarena_worker import serve

MEAN = [0.485, 0.456, 0.406]
SPREAD = [0.229, 0.224, 0.225]
SETTINGS = {
    "top_k": 30,
    "mem_every": 10,
    "deep_update_every": -1,
    "enable_long_term": True,
    "enable_long_term_count_usage": True,
    "max_mid_term_frames": 10,
    "min_mid_term_frames": 5,
    "max_long_term_elements": 10000,
    "num_prototypes": 128,
}
"""Settings of the published demonstration."""


class Model:
    """XMem with masks from scribbles, propagated in both directions up to frames with earlier scribbles.

    In the demonstration, a person decides how far a mask is propagated; this rule is the adapter's
    own. The labels of the previous round come with the dialogue.

    Args:
        repository: a checkout of the published code; a relative path starts at the folder of this file.
        weights: the published checkpoint of XMem; without it, weights are random.
        scribbles: checkpoint of the network that converts scribbles to masks.
        device: "cpu" or "cuda:0".
    """

    takes = ("scribble",)
    samples = ("video",)
    encodes_with_prompts = True

    def __init__(self, repository="XMem", weights="", scribbles="", device="cpu"):
        repository = Path(__file__).parent / repository
        if not (repository / "inference/inference_core.py").is_file():
            missing = "inference/inference_core.py; git clone https://github.com/hkchengrex/XMem"
            raise FileNotFoundError(f"{repository} lacks {missing} {repository}")
        sys.path.insert(0, str(repository))
        from model import resnet

        resnet.model_zoo.load_url = lambda _url: (
            None
        )  # the checkpoint contains the backbones, so nothing is downloaded
        resnet.load_weights_add_extra_dim = lambda *_args: None
        from inference.interact.s2m.s2m_network import deeplabv3plus_resnet50
        from model.network import XMem

        torch.manual_seed(0)
        self.device = device
        self.weights = [path for path in (weights, scribbles) if path]
        self.settings = dict(SETTINGS)
        self.network = XMem(self.settings)
        self.drawing = deeplabv3plus_resnet50()
        if weights:
            self.network.load_weights(
                torch.load(weights, map_location="cpu", weights_only=True), True
            )
        if scribbles:
            self.drawing.load_state_dict(
                torch.load(scribbles, map_location="cpu", weights_only=True)
            )
        self.network.to(device).eval()
        self.drawing.to(device).eval()

    def encode(self, sample):
        """Return the frames, normalized: (T, 3, H, W)."""
        frames = (
            torch.from_numpy(np.asarray(sample.frames)).float() / 255 - torch.tensor(MEAN)
        ) / torch.tensor(SPREAD)
        return frames.permute(0, 3, 1, 2).to(self.device)

    def predict(self, frames, dialogues):
        """Return the labels of all objects in all frames, for each dialogue."""
        with torch.no_grad():
            return [self.answer(frames, dialogue) for dialogue in dialogues]

    def answer(self, frames, dialogue):
        """Return the labels; frames with scribbles of earlier rounds, and frames beyond them, keep their labels."""
        objects = max(prompt.object_id for prompt in dialogue.prompts)
        shape = (len(frames), *frames.shape[-2:])
        labels = dialogue.previous_mask(shape).astype(np.uint8)
        drawn_in = [int(prompts[0].points[0][0]) for prompts in dialogue.rounds]
        frame = drawn_in[-1]
        before = set(drawn_in[:-1]) - {drawn_in[-1]}
        mask = self.mask_of(frames[frame], labels[frame], dialogue.rounds[-1], objects)
        forward = range(frame, len(frames))
        backward = range(frame, -1, -1)
        for way in (forward, backward):
            stop = next((place for place, number in enumerate(way) if number in before), len(way))
            self.propagate(frames, mask, way[:stop], labels)
        return labels if objects > 1 else labels == 1

    def propagate(self, frames, mask, way, labels):
        """Propagate the mask of the first frame in `way` to the others, and store the result in `labels`."""
        from inference.inference_core import InferenceCore

        core = InferenceCore(self.network, self.settings)
        core.set_all_labels(list(range(1, len(mask) + 1)))
        for place, number in enumerate(way):
            probabilities = core.step(
                frames[number], mask if place == 0 else None, end=place == len(way) - 1
            )
            labels[number] = probabilities.argmax(dim=0).cpu().numpy()

    def mask_of(self, frame, labels, prompts, objects):
        """Return probabilities (objects, H, W) from the scribbles in one frame."""
        from util.tensor_util import pad_divide_by, unpad

        drawn = np.full(labels.shape, 255, dtype=np.uint8)
        for prompt in prompts:
            points = np.round(np.array(prompt.points)[:, :0:-1]).astype(np.int32)
            cv2.polylines(
                drawn,
                [points],
                False,
                int(prompt.object_id if prompt.is_positive else 0),
                thickness=3,
            )
        found = []
        for label in range(1, objects + 1):
            marks = np.stack([labels == label, drawn == label, (drawn != label) & (drawn != 255)])
            seen = torch.cat([frame, torch.from_numpy(marks).float().to(self.device)])[None]
            padded, padding = pad_divide_by(seen, 16)
            found.append(unpad(torch.sigmoid(self.drawing(padded)), padding)[0, 0])
        return torch.stack(found)


if __name__ == "__main__":
    serve(Model)
