"""A metric in one file: the size of the largest error. An IoU of 0.95 can hide one hole or a thousand specks.

segarena run clicks --segmenter graph --dataset demo --metric examples/largest_error.py:LargestError
"""

import cv2
import numpy as np


class LargestError:
    """Areas in pixels of the largest 8-connected missing region and the largest surplus region.

    If there is no such region, the area is 0, so two empty masks give 0 and 0. Ignored pixels
    belong to no region.
    """

    columns = ("largest_missing_px", "largest_surplus_px")

    def __call__(self, comparison):
        """Return both sizes in pixels."""
        return {
            "largest_missing_px": largest_patch_px(comparison.missing),
            "largest_surplus_px": largest_patch_px(comparison.surplus),
        }


def largest_patch_px(mask):
    """Return the number of pixels in the largest 8-connected patch of `mask`, or 0 if it is empty."""
    if not mask.any():
        return 0
    _, _, statistics, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    return int(statistics[1:, cv2.CC_STAT_AREA].max())
