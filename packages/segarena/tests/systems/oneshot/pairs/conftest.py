"""Small files in the formats of the published lists and datasets."""

import cv2
import numpy as np
import pytest

LISTS = {
    "fixedsplits/pascal5i/split0_test.txt": [
        "1_2009_000001 1_2009_000002",
        "2_2009_000003 2_2009_000004",
    ],
    "fixedsplits/coco20i/split0_test.txt": ["1_129492 1_139", "5_42 5_139"],
    "tiers/attribute/split0_q_easy_sal.txt": [
        "1_2009_000001 1_2009_000002",
        "1_2009_000001 1_2009_000001",
    ],
    "tiers/attribute/split0_q_hard_nsal.txt": [
        "2_2009_000003 2_2009_000004",
        "2_2009_000004 2_2009_000003",
    ],
    "tiers/suppcog/split0_tier2.txt": [
        "1_2009_000001 1_2009_000001 10 1",
        "aug/xf33271_1_2009_000002 1_2009_000002 5 1",
        "1_2009_000001 1_2009_000002 1 1",
        "1_2009_000001 1_2009_000002 1 1",
        "1_2009_000002 1_2009_000002 1 1",
        "1_2009_000001 2_2009_000003 1 -1",
        "1_2009_000001 aug/null_1_2009_000002 1 -1",
        "2_2009_000003 aug/null_2_2009_000004.jpg 1 -1",
    ],
    "tiers/general/general_tier.txt": [
        "10_psp_1 10_psp_2",
        "11_pspgo_9 10_psp_10",
        "12_hen_of_the_woods_3 12_hen_of_the_woods_4",
        "13_abe0s_flyingfish_1 13_abe0s_flyingfish_2",
    ],
}


@pytest.fixture
def lists(tmp_path):
    """Write lists in the published format; return the folder."""
    for name, lines in LISTS.items():
        file = tmp_path / "toss" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "toss"


@pytest.fixture
def draw():
    """Return a function that writes an image and a mask, or a label map, each of one square."""

    def write(image, mask, *, value=255, size=(20, 30), seed=0, square=(4, 12)):
        image.parent.mkdir(parents=True, exist_ok=True)
        mask.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(seed).integers(0, 255, (*size, 3), dtype=np.uint8)
        cv2.imwrite(str(image), pixels)
        values = np.zeros(size, np.uint8)
        values[square[0] : square[1], square[0] : square[1]] = value
        cv2.imwrite(str(mask), values)

    return write


@pytest.fixture
def pascal(tmp_path, draw):
    """Write the four images of the lists in TOSS's merged layout; return the folder."""
    root = tmp_path / "voc"
    for number, (label, image) in enumerate(
        [(1, "2009_000001"), (1, "2009_000002"), (2, "2009_000003"), (2, "2009_000004")]
    ):
        draw(root / "images" / f"{image}.jpg", root / "masks" / f"{label}_{image}.png", seed=number)
    return root
