"""ScribblePrompt as published in halleewong/ScribblePrompt: a small U-Net for clicks, boxes and scribbles."""

import sys
from pathlib import Path

import cv2
import numpy as np
import torch
from segarena_worker import serve


class Model:
    """ScribblePrompt-UNet on grey images of 128 px; prompts are drawn into additional input channels.

    Args:
        repository: a checkout of the published code; a relative path starts at the folder of this file.
        weights: the published checkpoint; without it, weights are random.
        device: "cpu" or "cuda:0".
    """

    takes = ("click", "box", "scribble")
    samples = ("image",)
    slice_intensity = "slice-min-max"
    encodes_with_prompts = True

    def __init__(self, repository="ScribblePrompt", weights="", device="cpu"):
        repository = Path(__file__).parent / repository
        if not (repository / "scribbleprompt").is_dir():
            missing = (
                "folder scribbleprompt; git clone https://github.com/halleewong/ScribblePrompt"
            )
            raise FileNotFoundError(f"{repository} lacks {missing} {repository}")
        sys.path.insert(0, str(repository))
        from scribbleprompt.models.unet import ScribblePromptUNet

        class Network(ScribblePromptUNet):
            """The published network, without its search for a checkpoint in the repository's folder."""

            def build_model(self, pretrained=False):
                super().build_model(pretrained=False)

        self.weights = weights
        self.device = device
        torch.manual_seed(0)
        self.unet = Network(device=device)
        self.network = self.unet.model.eval()
        if weights:
            self.network.load_state_dict(
                torch.load(weights, map_location=device, weights_only=True)
            )

    def encode(self, sample):
        """Return the image in grey (1, 1, H, W), from 0 to 1; the published code resizes it with the prompts."""
        grey = torch.from_numpy(sample.image.mean(axis=2, dtype=np.float32) / 255)[None, None]
        return grey.to(self.device)

    def predict(self, image, dialogues):
        """Return each dialogue's mask, and its logits for the next round."""
        return [self.answer(image, dialogue) for dialogue in dialogues]

    def answer(self, image, dialogue):
        """Return the mask and the logits at 128 px."""
        from scribbleprompt.models.unet import rescale_inputs

        shape = tuple(image.shape[-2:])
        small = rescale_inputs({"img": image, **self.given(dialogue.prompts, shape)})
        before = dialogue.logits
        logits = self.unet.predict(
            small.pop("img"),
            mask_input=None if before is None else torch.from_numpy(before.copy()).to(self.device),
            return_logits=True,
            **small,
        )
        large = torch.nn.functional.interpolate(torch.sigmoid(logits), size=shape, mode="bilinear")
        return (large > 0.5)[0, 0].cpu().numpy(), logits.cpu().numpy()

    def given(self, prompts, shape):
        """Return prompts in the published format: positions as (x, y), scribbles as masks (1, 2, H, W)."""
        clicks = [prompt for prompt in prompts if prompt.kind == "click"]
        boxes = [prompt for prompt in prompts if prompt.kind == "box"]
        given = {}
        if clicks:
            positions = torch.tensor([click.position[::-1] for click in clicks])
            labels = torch.tensor([int(click.is_positive) for click in clicks])
            given["point_coords"] = positions[None].to(self.device)
            given["point_labels"] = labels[None].to(self.device)
        if boxes:
            corners = torch.tensor([[*box.start[::-1], *box.stop[::-1]] for box in boxes])
            given["box"] = corners[None].int().to(self.device)
        # As wide as one pixel of the network, so that resizing without antialiasing leaves no gaps.
        width = max(1, round(max(shape) / max(self.unet.input_size)))
        lines = np.zeros((2, *shape), dtype=np.uint8)
        for prompt in prompts:
            if prompt.kind == "scribble":
                points = np.round(np.array(prompt.points)).astype(np.int32)
                channel = lines[0 if prompt.is_positive else 1]
                cv2.polylines(channel, [points[:, ::-1].copy()], False, 1, width)
        if lines.any():
            given["scribbles"] = torch.from_numpy(lines).float()[None].to(self.device)
        return given


if __name__ == "__main__":
    serve(Model)
