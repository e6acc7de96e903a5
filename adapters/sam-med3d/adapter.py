"""SAM-Med3D as published in uni-medical/SAM-Med3D: 3D SAM on a cube around the clicks."""

import sys
from pathlib import Path

import numpy as np
import torch
from segarena_worker import serve
from torch.nn.functional import interpolate

SIDE = 128
"""Side of the network's input cube, in voxels."""


class Model:
    """SAM-Med3D with ViT-B on voxels of 1.5 mm; its inputs are clicks and the previous round's logits.

    The cube is centred on the mean of the first round's positive clicks; the published evaluation
    centres it on the ground truth.

    Args:
        repository: a checkout of the published code; a relative path starts at the folder of this file.
        weights: the published checkpoint, of the first or the turbo version; without it, weights are random.
        voxel_mm: voxel size to which volumes are resampled.
        device: "cpu" or "cuda:0".
    """

    takes = ("click",)
    samples = ("volume",)

    def __init__(self, repository="SAM-Med3D", weights="", voxel_mm=1.5, device="cpu"):
        repository = Path(__file__).parent / repository
        if not (repository / "segment_anything/build_sam3D.py").is_file():
            missing = "segment_anything/build_sam3D.py; git clone https://github.com/uni-medical/SAM-Med3D"
            raise FileNotFoundError(f"{repository} lacks {missing} {repository}")
        sys.path.insert(0, str(repository))
        from segment_anything.build_sam3D import sam_model_registry3D

        self.weights = weights
        self.voxel_mm = voxel_mm
        self.device = device
        torch.manual_seed(0)
        self.network = sam_model_registry3D["vit_b_ori"]().to(device).eval()
        if weights:
            checkpoint = torch.load(weights, map_location="cpu", weights_only=True)
            self.network.load_state_dict(checkpoint["model_state_dict"])

    def encode(self, sample):
        """Return the volume in right-anterior-superior order at 1.5 mm, and the parameters of the conversion."""
        order, flips = axes_of(sample.affine)
        voxels = np.flip(np.asarray(sample.voxels, dtype=np.float32).transpose(order), flips).copy()
        spacing = np.array([sample.spacing_mm[axis] for axis in order])
        # As many whole voxels as fit, around the same centre, like the published resampling.
        fitting = np.floor(np.array(voxels.shape) * spacing / self.voxel_mm + 1e-9).astype(int)
        step = self.voxel_mm / spacing
        shape = np.where(np.array(voxels.shape) == 1, 1, np.maximum(fitting, 1))
        small = resampled(voxels, shape, step)
        return {
            "voxels": torch.from_numpy(small),
            "shape": voxels.shape,
            "order": order,
            "flips": flips,
            "step": step,
            "cubes": {},
        }

    def predict(self, encoded, dialogues):
        """Return each dialogue's mask, and its low-resolution logits for the next round."""
        with torch.no_grad():
            return [self.answer(encoded, dialogue) for dialogue in dialogues]

    def answer(self, encoded, dialogue):
        """Return the mask in the volume's original axis order, and the logits of the cube."""
        places = np.array([click.position for click in dialogue.clicks])[:, list(encoded["order"])]
        for axis in encoded["flips"]:
            places[:, axis] = encoded["shape"][axis] - 1 - places[:, axis]
        centre = (np.array(encoded["shape"]) - 1) / 2
        small_centre = (np.array(encoded["voxels"].shape) - 1) / 2
        places = (places - centre) / encoded["step"] + small_centre
        labels = np.array([int(click.is_positive) for click in dialogue.clicks])
        opened = sum(prompt.kind == "click" for prompt in dialogue.rounds[0])
        start = np.round(places[:opened][labels[:opened] == 1].mean(axis=0)).astype(int) - SIDE // 2
        logits = self.decode(
            self.features(encoded, tuple(start)), places - start, labels, dialogue.logits
        )
        cube = interpolate(logits, size=(SIDE,) * 3, mode="trilinear")[0, 0].cpu()
        whole = torch.full(encoded["voxels"].shape, -1e3)
        inside, of_cube = overlap(start, whole.shape)
        whole[inside] = cube[of_cube]
        large = resampled(whole.numpy(), encoded["shape"], 1 / encoded["step"]) > 0
        return np.flip(large, encoded["flips"]).transpose(
            np.argsort(encoded["order"])
        ), logits.cpu().numpy()

    def features(self, encoded, start):
        """Return the features of the cube that begins at `start`; cached, so that each cube is encoded once."""
        if start not in encoded["cubes"]:
            cube = torch.zeros((SIDE,) * 3)
            inside, of_cube = overlap(np.array(start), encoded["voxels"].shape)
            cube[of_cube] = encoded["voxels"][inside]
            seen = cube[cube > 0] if (cube > 0).any() else cube
            cube = (cube - seen.mean()) / seen.std().clamp(min=1e-6)
            encoded["cubes"][start] = self.network.image_encoder(cube[None, None].to(self.device))
        return encoded["cubes"][start]

    def decode(self, features, places, labels, before):
        """Return low-resolution logits (1, 1, 32, 32, 32) from features, clicks and the previous logits."""
        mask = (
            np.zeros((1, 1) + (SIDE // 4,) * 3, dtype=np.float32)
            if before is None
            else before.copy()
        )
        points = (
            torch.from_numpy(places).float()[None].to(self.device),
            torch.from_numpy(labels)[None].to(self.device),
        )
        sparse, dense = self.network.prompt_encoder(
            points=points, boxes=None, masks=torch.from_numpy(mask).to(self.device)
        )
        return self.network.mask_decoder(
            image_embeddings=features,
            image_pe=self.network.prompt_encoder.get_dense_pe(),
            sparse_prompt_embeddings=sparse,
            dense_prompt_embeddings=dense,
            multimask_output=False,
        )[0]


def axes_of(affine):
    """Return the axes that run right, anterior and superior, and which of them are reversed."""
    if affine is None:
        return (2, 1, 0), ()
    order = tuple(int(axis) for axis in np.abs(affine[:3, :3]).argmax(axis=1))
    return order, tuple(world for world, axis in enumerate(order) if affine[world, axis] < 0)


def resampled(voxels, shape, step):
    """Resample a volume linearly to another shape around the same centre, one axis after another.

    `step` is the distance between the new voxels along each axis, in voxels of the given volume.
    """
    for axis, (count, distance) in enumerate(zip(shape, step)):
        last = voxels.shape[axis] - 1
        places = last / 2 + (np.arange(count) - (count - 1) / 2) * distance
        places = places.clip(0, last)
        below = np.floor(places).astype(int)
        weight_shape = [1, 1, 1]
        weight_shape[axis] = -1
        weights = (places - below).astype(np.float32).reshape(weight_shape)
        above = np.minimum(below + 1, last)
        voxels = voxels.take(below, axis) * (1 - weights) + voxels.take(above, axis) * weights
    return voxels


def overlap(start, shape):
    """Return where a volume and the cube overlap: the slices of the volume, and those of the cube."""
    low = np.maximum(start, 0)
    high = np.minimum(start + SIDE, shape)
    inside = tuple(slice(int(a), int(max(a, b))) for a, b in zip(low, high))
    of_cube = tuple(slice(int(a), int(max(a, b))) for a, b in zip(low - start, high - start))
    return inside, of_cube


if __name__ == "__main__":
    serve(Model)
