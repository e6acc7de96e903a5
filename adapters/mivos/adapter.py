"""MiVOS as published in hkchengrex/MiVOS: a mask from scribbles is propagated and fused with earlier masks."""

import sys
from pathlib import Path

import cv2
import numpy as np
import torch
from segarena_worker import Prediction, serve

FILES = ("propagation_model.pth", "fusion.pth", "s2m.pth")
MEAN = [0.485, 0.456, 0.406]
SPREAD = [0.229, 0.224, 0.225]


class Model:
    """MiVOS as in the DAVIS interactive challenge: some rounds correct one frame, others propagate its mask.

    Every call replays all rounds from their scribbles; the features of frames are cached with the
    video.

    Args:
        repository: a checkout of the published code; a relative path starts at the folder of this file.
        weights: folder filled by the repository's `download_model.py`; without it, weights are random.
        propagates: indices of the rounds that propagate, from 0; the default is that of the published
            evaluation.
        device: "cpu" or "cuda:0".
    """

    takes = ("scribble",)
    samples = ("video",)

    def __init__(self, repository="MiVOS", weights="", propagates="2,5,7", device="cpu"):
        repository = Path(__file__).parent / repository
        if not (repository / "inference_core.py").is_file():
            missing = "inference_core.py; git clone https://github.com/hkchengrex/MiVOS"
            raise FileNotFoundError(f"{repository} lacks {missing} {repository}")
        sys.path.insert(0, str(repository))
        if not torch.cuda.is_available():  # the published code always calls .cuda()
            torch.Tensor.cuda = torch.nn.Module.cuda = lambda self, *_args, **_options: self
        from model.propagation import mod_resnet
        from torchvision import models

        build = models.resnet50  # the checkpoints contain the backbones, so nothing is downloaded
        models.resnet50 = lambda pretrained=False: build()
        mod_resnet.model_zoo.load_url = lambda _url: None
        mod_resnet.load_weights_sequential = lambda *_args: None
        from model.fusion_net import FusionNet
        from model.propagation.prop_net import PropagationNetwork
        from model.s2m.s2m_network import deeplabv3plus_resnet50

        torch.manual_seed(0)
        self.device = device
        self.propagates = {int(number) for number in propagates.split(",")}
        self.weights = [str(Path(weights, name)) for name in FILES] if weights else []
        self.networks = [PropagationNetwork(), FusionNet(), deeplabv3plus_resnet50()]
        for network, path in zip(self.networks, self.weights):
            network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
        for network in self.networks:
            network.to(device).eval()

    def encode(self, sample):
        """Return the normalized frames, and an empty cache for their features."""
        frames = (
            torch.from_numpy(np.asarray(sample.frames)).float() / 255 - torch.tensor(MEAN)
        ) / torch.tensor(SPREAD)
        return {"frames": frames.permute(0, 3, 1, 2)[None], "queries": {}}

    def predict(self, encoded, dialogues):
        """Return the labels of all objects in all frames, for each dialogue."""
        with torch.no_grad():
            return [self.answer(encoded, dialogue) for dialogue in dialogues]

    def answer(self, encoded, dialogue):
        """Return the labels, and the frame in which the next prompts are requested, if any."""
        from inference_core import InferenceCore

        objects = max(prompt.object_id for prompt in dialogue.prompts)
        core = InferenceCore(
            *self.networks[:2], encoded["frames"], objects, mem_profile=0, device=self.device
        )
        core.query_buf = encoded["queries"]
        core.q_buf_size = core.t
        for number, prompts in enumerate(dialogue.rounds):
            frame = int(prompts[0].points[0][0])
            mask = self.mask_of(core, prompts, frame)
            is_whole = number in self.propagates
            labels = core.interact(mask, frame) if is_whole else core.update_mask_only(mask, frame)
        labels = labels.copy() if objects > 1 else labels == 1
        return Prediction(labels, candidates=None if is_whole else (frame,))

    def mask_of(self, core, prompts, frame):
        """Return probabilities (background and objects, 1, H, W) from the scribbles in one frame."""
        from model.aggregate import aggregate_wbg
        from util.tensor_util import pad_divide_by

        drawn = np.full((core.h, core.w), -1, dtype=np.int16)
        for prompt in prompts:
            points = np.round(np.array(prompt.points)[:, :0:-1]).astype(np.int32)
            label = prompt.object_id if prompt.is_positive else 0
            cv2.polylines(drawn, [points], False, int(label))
        masks = torch.zeros((core.k, 1, core.nh, core.nw), device=self.device)
        for label in range(1, core.k + 1):
            marks = np.stack([drawn == label, (drawn != label) & (drawn != -1)]).astype(np.uint8)
            thick = np.stack([cv2.dilate(mark, np.ones((3, 3), np.uint8)) for mark in marks])
            strokes, _ = pad_divide_by(torch.from_numpy(thick).float()[None].to(self.device), 16)
            before = (core.masks[frame] == label).float()[None]
            seen = torch.cat([core.get_image_buffered(frame), before, strokes], dim=1)
            masks[label - 1] = torch.sigmoid(self.networks[2](seen))
        return aggregate_wbg(masks, keep_bg=True, hard=True)


if __name__ == "__main__":
    serve(Model)
