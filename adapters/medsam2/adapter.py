"""MedSAM2 as published in bowang-lab/MedSAM2: SAM 2.1 at 512 px tracks an object through slices."""

import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from segarena_worker import serve

MEAN = [0.485, 0.456, 0.406]
SPREAD = [0.229, 0.224, 0.225]
SIDE = 512


class Model:
    """MedSAM2, which prompts single slices and tracks the object from them up and down.

    A box over several slices prompts the middle one. Intensities are clipped to the volume's
    percentiles 0.5 and 99.5; the published script uses a window that its data specify.

    Args:
        repository: a checkout of the published code; a relative path starts at the folder of this file.
        weights: a published checkpoint; without it, weights are random.
        settings: the settings file of the checkpoint, in `sam2/`.
        device: "cpu" or "cuda:0".
    """

    takes = ("click", "box")
    samples = ("volume",)
    encodes_with_prompts = True

    def __init__(
        self,
        repository="MedSAM2",
        weights="",
        settings="configs/sam2.1_hiera_t512.yaml",
        device="cpu",
    ):
        repository = Path(__file__).parent / repository
        if not (repository / "sam2").is_dir():
            missing = "folder sam2; git clone https://github.com/bowang-lab/MedSAM2"
            raise FileNotFoundError(f"{repository} lacks {missing} {repository}")
        sys.path.insert(0, str(repository))
        from sam2.build_sam import build_sam2_video_predictor_npz

        self.weights = weights
        self.device = device
        torch.manual_seed(0)
        self.network = build_sam2_video_predictor_npz(settings, None, device=device)
        if weights:
            checkpoint = torch.load(weights, map_location="cpu", weights_only=True)
            self.network.load_state_dict(checkpoint["model"])

    def encode(self, sample):
        """Return the slices as normalized pictures, (D, 3, 512, 512), and the shape of the volume."""
        voxels = np.asarray(sample.voxels, dtype=np.float32)
        low, high = np.percentile(voxels, (0.5, 99.5))
        grey = (voxels.clip(low, high) - low) / max(float(high - low), 1e-8)
        # Pillow's bicubic filter on bytes, as published; OpenCV's gives other values.
        small = [
            np.array(Image.fromarray(each).resize((SIDE, SIDE), Image.BICUBIC))
            for each in (grey * 255).astype(np.uint8)
        ]
        pictures = torch.from_numpy(np.stack(small)).float()[:, None].repeat(1, 3, 1, 1) / 255
        pictures = (pictures - torch.tensor(MEAN)[:, None, None]) / torch.tensor(SPREAD)[
            :, None, None
        ]
        return {"pictures": pictures.to(self.device), "shape": sample.shape}

    def predict(self, encoded, dialogues):
        """Return the mask of each dialogue."""
        with torch.inference_mode():
            return [
                self.answer(encoded["pictures"], encoded["shape"], dialogue.prompts)
                for dialogue in dialogues
            ]

    def answer(self, pictures, shape, prompts):
        """Return the mask tracked from the lowest prompted slice up and from the highest one down."""
        state = self.network.init_state(pictures, *shape[1:])
        slices = [self.slice_of(prompt) for prompt in prompts]
        for number in sorted(set(slices)):
            here = [prompt for prompt, at in zip(prompts, slices) if at == number]
            clicks = [prompt for prompt in here if prompt.kind == "click"]
            boxes = [
                [*prompt.start[:0:-1], *prompt.stop[:0:-1]]
                for prompt in here
                if prompt.kind == "box"
            ]
            self.network.add_new_points_or_box(
                state,
                frame_idx=number,
                obj_id=1,
                points=np.array([click.position[:0:-1] for click in clicks], dtype=np.float32)
                if clicks
                else None,
                labels=np.array([click.is_positive for click in clicks], dtype=np.int32)
                if clicks
                else None,
                box=np.array(boxes[-1], dtype=np.float32) if boxes else None,
            )
        mask = np.zeros(shape, dtype=np.bool_)
        for start, is_reverse in ((min(slices), False), (max(slices), True)):
            for number, _, logits in self.network.propagate_in_video(
                state, start_frame_idx=start, reverse=is_reverse
            ):
                mask[number] = (logits[0, 0] > 0).cpu().numpy()
        return mask

    def slice_of(self, prompt):
        """Return the slice in which a prompt is applied."""
        if prompt.kind == "click":
            return int(prompt.position[0])
        return int((prompt.start[0] + prompt.stop[0] - 1) // 2)


if __name__ == "__main__":
    serve(Model)
