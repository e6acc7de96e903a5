"""The demo photographs at a small size, for fast segmenters and simulated users."""

import cv2
import numpy as np

from segarena.registry import build


def small_photographs(folder, names, side):
    """Write demo photographs with their first targets as squares of `side` px; return the dataset's specification."""
    demo = build("dataset", "demo")
    for kind in ("images", "masks"):
        (folder / kind).mkdir(parents=True)
    for name in names:
        sample = demo.load(name)
        image = cv2.resize(sample.image, (side, side), interpolation=cv2.INTER_AREA)
        mask = cv2.resize(
            sample.targets[0].mask.astype(np.uint8), (side, side), interpolation=cv2.INTER_NEAREST
        )
        cv2.imwrite(str(folder / "images" / f"{name}.png"), image[:, :, ::-1])
        cv2.imwrite(str(folder / "masks" / f"{name}.png"), 255 * mask)
    return f"folder(path={str(folder)!r})"
