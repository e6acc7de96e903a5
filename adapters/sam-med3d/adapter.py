"""SAM-Med3D as published in uni-medical/SAM-Med3D: SAM with three axes, on a cube around the clicks."""

import sys
from pathlib import Path

import numpy as np
import torch
from segarena_worker import serve
from torch.nn.functional import interpolate

SIDE = 128
"""Of the cube that the network sees, in voxels."""


class Model:
    """ViT-B in three dimensions on voxels of 1.5 mm; clicks, and its own low-resolution logits of the round before.

    The cube lies around the middle of the positive clicks of the first round, where the published evaluation puts it
    around the truth.

    Args:
        repository: a checkout of the published code; from this file's folder, if relative.
        weights: the published checkpoint, of the first or the turbo version; random ones without.
        voxel_mm: what volumes are resampled to.
        device: "cpu" or "cuda:0".
    """

    takes = ("click",)
    samples = ("volume",)

    def __init__(self, repository="SAM-Med3D", weights="", voxel_mm=1.5, device="cpu"):
        repository = Path(__file__).parent / repository
        if not (repository / "segment_anything/build_sam3D.py").is_file():
            missing = "segment_anything/build_sam3D.py; git clone https://github.com/uni-medical/SAM-Med3D"
            raise FileNotFoundError(f"{repository} holds no {missing} {repository}")
        sys.path.insert(0, str(repository))
        from segment_anything.build_sam3D import sam_model_registry3D

        self.weights, self.voxel_mm, self.device = weights, voxel_mm, device
        torch.manual_seed(0)
        self.network = sam_model_registry3D["vit_b_ori"]().to(device).eval()
        if weights:
            checkpoint = torch.load(weights, map_location="cpu", weights_only=True)
            self.network.load_state_dict(checkpoint["model_state_dict"])

    def encode(self, sample):
        """Return the volume in right-anterior-superior order at 1.5 mm, and how it got there."""
        order, flips = axes_of(sample.affine)
        voxels = np.flip(np.asarray(sample.voxels, dtype=np.float32).transpose(order), flips).copy()
        spacing = np.array([sample.spacing_mm[axis] for axis in order])
        # The number of whole voxels that fit, around the same centre, as the published resampling has.
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
        """Answer each dialogue with its mask; the low-resolution logits go into the next round."""
        with torch.no_grad():
            return [self.answer(encoded, dialogue) for dialogue in dialogues]

    def answer(self, encoded, dialogue):
        """Return the mask in the volume's own order, and the logits of the cube."""
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
        """Return what the encoder makes of the cube that begins at `start`, once."""
        if start not in encoded["cubes"]:
            cube = torch.zeros((SIDE,) * 3)
            inside, of_cube = overlap(np.array(start), encoded["voxels"].shape)
            cube[of_cube] = encoded["voxels"][inside]
            seen = cube[cube > 0] if (cube > 0).any() else cube
            cube = (cube - seen.mean()) / seen.std().clamp(min=1e-6)
            encoded["cubes"][start] = self.network.image_encoder(cube[None, None].to(self.device))
        return encoded["cubes"][start]

    def decode(self, features, places, labels, before):
        """Return logits (1, 1, 32, 32, 32)."""
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
    """Return which axes of a volume run right, anterior and superior, and which of these run the other way."""
    if affine is None:
        return (2, 1, 0), ()
    order = tuple(int(axis) for axis in np.abs(affine[:3, :3]).argmax(axis=1))
    return order, tuple(world for world, axis in enumerate(order) if affine[world, axis] < 0)


def resampled(voxels, shape, step):
    """Return a volume of another shape around the same centre, interpolated linearly, one axis after another.

    `step` is the distance between its voxels along each axis, in voxels of the given volume.
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
    """Return the part of a volume that the cube covers, and that part of the cube."""
    low, high = np.maximum(start, 0), np.minimum(start + SIDE, shape)
    inside = tuple(slice(int(a), int(max(a, b))) for a, b in zip(low, high))
    of_cube = tuple(slice(int(a), int(max(a, b))) for a, b in zip(low - start, high - start))
    return inside, of_cube


if __name__ == "__main__":
    serve(Model)
