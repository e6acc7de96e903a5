"""SegVol as published in BAAI-DCAI/SegVol: first the whole volume at low resolution, then the found region."""

import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import torch
from segarena_worker import serve
from torch.nn.functional import interpolate

WINDOW = (32, 256, 256)


class Model:
    """SegVol with clicks or a box, without text: zoom-out, then zoom-in by sliding windows.

    Args:
        repository: a checkout of the published code; a relative path starts at the folder of this file.
        weights: the published checkpoint; without it, weights are random.
        zoom_in: refine the found region with sliding windows at full resolution.
        device: "cpu" or "cuda:0".
    """

    takes = ("click", "box")
    samples = ("volume",)
    encodes_with_prompts = True

    def __init__(self, repository="SegVol", weights="", zoom_in=True, device="cpu"):
        repository = Path(__file__).parent / repository
        if not (repository / "segment_anything_volumetric").is_dir():
            missing = (
                "folder segment_anything_volumetric; git clone https://github.com/BAAI-DCAI/SegVol"
            )
            raise FileNotFoundError(f"{repository} lacks {missing} {repository}")
        sys.path.insert(0, str(repository))
        if not torch.cuda.is_available():  # the published code always calls .cuda()
            torch.Tensor.cuda = torch.nn.Module.cuda = lambda self, *_args, **_options: self
        from network.model import SegVol
        from segment_anything_volumetric import sam_model_registry

        self.weights = weights
        self.zoom_in = zoom_in
        self.device = device
        torch.manual_seed(0)
        patch = (4, 16, 16)
        parts = sam_model_registry["vit"](args=Namespace(spatial_size=WINDOW, patch_size=patch))
        self.network = SegVol(
            image_encoder=parts.image_encoder,
            mask_decoder=parts.mask_decoder,
            prompt_encoder=parts.prompt_encoder,
            clip_ckpt=str(repository / "config" / "clip"),
            roi_size=WINDOW,
            patch_size=patch,
            test_mode=True,
        )
        if weights:
            checkpoint = torch.load(weights, map_location="cpu", weights_only=True)["model"]
            self.network.load_state_dict(
                {name.replace("module.", "", 1): value for name, value in checkpoint.items()}
            )
        self.network = self.network.to(device).eval()

    def encode(self, sample):
        """Return intensities from 0 to 1, normalized by the voxels above the volume's mean, as published.

        The axes run superior, anterior and right. The volume is padded to the window, then cropped to
        its positive values.
        """
        order, flips = axes_of(sample.affine)
        voxels = np.asarray(sample.voxels, dtype=np.float32).transpose(order)
        voxels = np.flip(voxels, flips)
        above = voxels[voxels > voxels.mean()]
        low, high = (
            np.percentile(above, (0.05, 99.95)) if above.size else (voxels.min(), voxels.max())
        )
        clipped = np.clip(voxels, low, high) - low
        values, start = foreground_of(clipped / max(float(high - low), 1e-8))
        volume = torch.from_numpy(values)[None, None].to(self.device)
        return {
            "volume": volume,
            "small": interpolate(volume, size=WINDOW, mode="nearest-exact"),
            "shape": voxels.shape,
            "start": start,
            "order": order,
            "flips": flips,
        }

    def predict(self, encoded, dialogues):
        """Return the mask of each dialogue."""
        with torch.no_grad():
            return [self.in_sample(encoded, dialogue) for dialogue in dialogues]

    def in_sample(self, encoded, dialogue):
        """Return the mask in the sample's original axis order and shape."""
        found = self.answer(encoded["volume"], encoded["small"], placed(encoded, dialogue))
        whole = np.zeros(encoded["shape"], dtype=np.bool_)
        start = encoded["start"]
        low = np.maximum(start, 0)
        high = np.minimum(start + np.array(found.shape), whole.shape)
        inside = tuple(slice(a, b) for a, b in zip(low, high))
        of_found = tuple(slice(a, b) for a, b in zip(low - start, high - start))
        whole[inside] = found[of_found]
        return np.flip(whole, encoded["flips"]).transpose(np.argsort(encoded["order"]))

    def answer(self, volume, small, dialogue):
        """Return the mask from the small volume, replaced in the found region by the zoomed-in result."""
        from utils.monai_inferers_utils import (
            build_binary_cube,
            build_binary_points,
            logits2roi_coor,
        )

        shape = volume.shape[2:]
        scale = np.array(WINDOW) / np.array(shape)
        boxes = [prompt for prompt in dialogue.prompts if prompt.kind == "box"]
        points = None
        box = None
        if boxes:
            corners = np.concatenate([boxes[-1].start * scale, boxes[-1].stop * scale - 1]).round()
            box = torch.from_numpy(corners.clip(min=0)).float()[None].to(self.device)
            drawn = build_binary_cube(box, WINDOW)
        else:
            places = torch.from_numpy(
                (np.array([click.position for click in dialogue.clicks]) * scale).round()
            )
            labels = torch.tensor([int(click.is_positive) for click in dialogue.clicks])
            places = places.clamp(max=torch.tensor(WINDOW) - 1)
            points = places.float()[None].to(self.device), labels.float()[None].to(self.device)
            drawn = build_binary_points(places, labels, WINDOW)
        seen = self.network(small, text=None, boxes=box, points=points)
        logits = interpolate(seen, size=shape, mode="nearest")[0, 0]
        window = logits2roi_coor(WINDOW, logits) if self.zoom_in else [None]
        if window[0] is not None:
            part = tuple(slice(int(a), int(b) + 1) for a, b in zip(window[:3], window[3:]))
            marks = interpolate(drawn[None, None].float(), size=shape, mode="nearest")[0, 0].to(
                self.device
            )
            logits[part] = self.closely(
                volume[0, 0][part], marks[part], (torch.sigmoid(logits[part]) > 0.5).long(), box
            )
        return (logits > 0).cpu().numpy()

    def closely(self, voxels, marks, found, box):
        """Return the logits of sliding windows over the found region."""
        from utils.monai_inferers_utils import sliding_window_inference

        found_logits = sliding_window_inference(
            voxels[None, None],
            (marks[None, None], found[None, None]),
            WINDOW,
            1,
            self.network,
            0.5,
            text=None,
            use_box=box is not None,
            use_point=box is None,
        )
        return found_logits[0, 0]


def axes_of(affine):
    """Return the axes that run superior, anterior and right, and which of them are reversed."""
    if affine is None:
        return (0, 1, 2), ()
    order = tuple(int(axis) for axis in np.abs(affine[:3, :3]).argmax(axis=1))[::-1]
    return order, tuple(axis for axis in range(3) if affine[2 - axis, order[axis]] < 0)


def foreground_of(values):
    """Pad a volume to the window and crop it to its positive values; return it with its start position."""
    missing = np.maximum(np.array(WINDOW) - values.shape, 0)
    before = missing // 2
    padded = np.pad(values, list(zip(before, missing - before)), mode="constant")
    places = np.argwhere(padded > 0)
    if not len(places):
        return padded, -before
    low = places.min(axis=0)
    high = places.max(axis=0) + 1
    cropped = padded[tuple(slice(a, b) for a, b in zip(low, high))]
    return np.ascontiguousarray(cropped), low - before


def placed(encoded, dialogue):
    """Return a dialogue with its prompts in coordinates of the cropped volume."""
    shape = np.array(encoded["shape"])
    order = list(encoded["order"])
    limit = np.array(encoded["volume"].shape[2:])

    def moved(position, last):
        place = np.array(position)[order]
        for axis in encoded["flips"]:
            place[axis] = shape[axis] - last - place[axis]
        return place - encoded["start"]

    boxes = []
    for prompt in dialogue.prompts:
        if prompt.kind == "box":
            corners = np.stack([moved(prompt.start, 0), moved(prompt.stop, 0)])
            start = corners.min(axis=0)
            stop = corners.max(axis=0)
            start = start.clip(0, limit - 1)
            boxes.append(Namespace(kind="box", start=start, stop=stop.clip(start + 1, limit)))
    clicks = [
        Namespace(position=moved(each.position, 1).clip(0, limit - 1), is_positive=each.is_positive)
        for each in dialogue.clicks
    ]
    return Namespace(prompts=boxes, clicks=clicks)


if __name__ == "__main__":
    serve(Model)
