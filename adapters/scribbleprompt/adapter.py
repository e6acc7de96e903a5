"""ScribblePrompt as published in halleewong/ScribblePrompt: a small U-Net for clicks, boxes and scribbles."""

import sys
from pathlib import Path

import cv2
import numpy as np
import torch
from segarena_worker import serve


class Model:
    """ScribblePrompt-UNet on grey pictures of 128 px; prompts are drawn into additional channels.

    Args:
        repository: a checkout of the published code; from this file's folder, if relative.
        weights: the published checkpoint; random ones without.
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
            raise FileNotFoundError(f"{repository} holds no {missing} {repository}")
        sys.path.insert(0, str(repository))
        from scribbleprompt.models.unet import ScribblePromptUNet

        class Network(ScribblePromptUNet):
            """Without the search for a checkpoint in the repository's own folder."""

            def build_model(self, pretrained=False):
                super().build_model(pretrained=False)

        self.weights, self.device = weights, device
        torch.manual_seed(0)
        self.unet = Network(device=device)
        self.network = self.unet.model.eval()
        if weights:
            self.network.load_state_dict(
                torch.load(weights, map_location=device, weights_only=True)
            )

    def encode(self, sample):
        """Return the image in grey at 128 px, and its shape."""
        grey = torch.from_numpy(sample.image.mean(axis=2, dtype=np.float32) / 255)[None, None]
        small = torch.nn.functional.interpolate(grey, size=self.unet.input_size, mode="bilinear")
        return {"image": small.to(self.device), "shape": sample.shape}

    def predict(self, encoded, dialogues):
        """Answer each dialogue with its mask; the logits go into the next round."""
        return [self.answer(encoded["image"], encoded["shape"], dialogue) for dialogue in dialogues]

    def answer(self, image, shape, dialogue):
        """Return the mask and the logits at 128 px."""
        before = dialogue.logits
        logits = self.unet.predict(
            image,
            mask_input=None if before is None else torch.from_numpy(before.copy()).to(self.device),
            return_logits=True,
            **self.drawn(dialogue.prompts, np.array(self.unet.input_size) / shape),
        )
        large = torch.nn.functional.interpolate(
            torch.sigmoid(logits), size=tuple(shape), mode="bilinear"
        )
        return (large > 0.5)[0, 0].cpu().numpy(), logits.cpu().numpy()

    def drawn(self, prompts, scale):
        """Return the prompts as (x, y) at 128 px, as the network's `predict` takes them."""
        clicks = [prompt for prompt in prompts if prompt.kind == "click"]
        boxes = [
            np.array([prompt.start, prompt.stop]) for prompt in prompts if prompt.kind == "box"
        ]
        given = {}
        if clicks:
            places = np.array([click.position for click in clicks]) * scale
            given["point_coords"] = torch.from_numpy(places[:, ::-1].astype(np.int64))[None].to(
                self.device
            )
            given["point_labels"] = torch.tensor(
                [[int(click.is_positive) for click in clicks]], device=self.device
            )
        if boxes:
            corners = [(box * scale)[:, ::-1].reshape(-1) for box in boxes]
            given["box"] = torch.from_numpy(np.array(corners)).int()[None].to(self.device)
        lines = np.zeros((2, *self.unet.input_size), dtype=np.uint8)
        for prompt in prompts:
            if prompt.kind == "scribble":
                points = np.round(np.array(prompt.points) * scale).astype(np.int32)
                cv2.polylines(
                    lines[0 if prompt.is_positive else 1], [points[:, ::-1].copy()], False, 1
                )
        if lines.any():
            given["scribbles"] = torch.from_numpy(lines).float()[None].to(self.device)
        return given


if __name__ == "__main__":
    serve(Model)
