"""A segmenter in one file: regions of similar colour grow from the clicks.

segarena run clicks --segmenter "examples/grow_regions.py:GrowRegions(tolerance=12)" --dataset demo
"""

import cv2
import numpy as np


class GrowRegions:
    """Segmenter that flood-fills similar colours from each click. Where fills overlap, the nearer click wins.

    Args:
        tolerance: largest difference in each CIELAB channel from the clicked pixel, 0 to 255.
        smooth_px: radius of a median filter that reduces texture.
    """

    prompt_kinds = frozenset({"click"})

    def __init__(self, *, tolerance: int = 16, smooth_px: int = 3) -> None:
        self.tolerance = (tolerance,) * 3
        self.smooth_px = smooth_px

    def encode(self, sample):
        """Convert the image to smoothed CIELAB, once for all clicks."""
        return cv2.medianBlur(cv2.cvtColor(sample.image, cv2.COLOR_RGB2LAB), 2 * self.smooth_px + 1)

    def predict(self, encoded, dialogues):
        """Return a mask for each dialogue about the image."""
        return [self._answer(encoded, dialogue.clicks) for dialogue in dialogues]

    def _answer(self, lab, clicks):
        mask = np.zeros(lab.shape[:2], dtype=bool)
        nearest = np.full(lab.shape[:2], np.inf)
        for click in clicks:
            flood = np.zeros(np.add(mask.shape, 2), np.uint8)
            how = cv2.FLOODFILL_FIXED_RANGE | cv2.FLOODFILL_MASK_ONLY
            cv2.floodFill(lab, flood, click.position[::-1], 0, self.tolerance, self.tolerance, how)
            away = np.hypot(*(np.indices(mask.shape) - np.reshape(click.position, (2, 1, 1))))
            away[flood[1:-1, 1:-1] == 0] = np.inf
            mask[away < nearest] = click.is_positive
            nearest = np.minimum(nearest, away)
        return mask
