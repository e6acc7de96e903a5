"""Classes that each fold tests, in PASCAL-5i and in the two conventions of COCO-20i."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, TypeAlias

from segarena.errors import InvalidInput
from segarena.files.hashes import fingerprint

FoldRule: TypeAlias = Literal["pascal", "interleaved", "blocks"]
# The papers print the folds as 1 to 4, but all published files count from 0 to 3.
FOLD_COUNT = 4
FOLD_RULES: Mapping[str, tuple[FoldRule, ...]] = {
    "pascal5i": ("pascal",),
    "coco20i": ("interleaved", "blocks"),
}
"""Fold conventions of each dataset."""

PASCAL_CLASSES = (
    "aeroplane",
    "bicycle",
    "bird",
    "boat",
    "bottle",
    "bus",
    "car",
    "cat",
    "chair",
    "cow",
    "diningtable",
    "dog",
    "horse",
    "motorbike",
    "person",
    "pottedplant",
    "sheep",
    "sofa",
    "train",
    "tvmonitor",
)
"""Names of the classes 1 to 20, in order."""

COCO_CLASSES = (
    "person",
    "bicycle",
    "car",
    "motorcycle",
    "airplane",
    "bus",
    "train",
    "truck",
    "boat",
    "traffic light",
    "fire hydrant",
    "stop sign",
    "parking meter",
    "bench",
    "bird",
    "cat",
    "dog",
    "horse",
    "sheep",
    "cow",
    "elephant",
    "bear",
    "zebra",
    "giraffe",
    "backpack",
    "umbrella",
    "handbag",
    "tie",
    "suitcase",
    "frisbee",
    "skis",
    "snowboard",
    "sports ball",
    "kite",
    "baseball bat",
    "baseball glove",
    "skateboard",
    "surfboard",
    "tennis racket",
    "bottle",
    "wine glass",
    "cup",
    "fork",
    "knife",
    "spoon",
    "bowl",
    "banana",
    "apple",
    "sandwich",
    "orange",
    "broccoli",
    "carrot",
    "hot dog",
    "pizza",
    "donut",
    "cake",
    "chair",
    "couch",
    "potted plant",
    "bed",
    "dining table",
    "toilet",
    "tv",
    "laptop",
    "mouse",
    "remote",
    "keyboard",
    "cell phone",
    "microwave",
    "oven",
    "toaster",
    "sink",
    "refrigerator",
    "book",
    "clock",
    "vase",
    "scissors",
    "teddy bear",
    "hair drier",
    "toothbrush",
)
"""Names of the contiguous class ids 1 to 80, in order; these are not COCO's category ids (1 to 90)."""


def fold_classes(fold: int, rule: FoldRule) -> tuple[int, ...]:
    """Return the class ids (from 1) that fold `fold` (0 to 3) tests.

    "pascal": 5 fold + 1 to 5 fold + 5. "blocks": 20 fold + 1 to 20 fold + 20, as in PANet, and in
    PFENet and RePRI by default. "interleaved": fold + 1, fold + 5, ..., fold + 77, as in FWB,
    HSNet, PMMs and the lists of TOSS. The last two are both called COCO-20i, and their results are
    not comparable.

    Raises:
        InvalidInput: the fold or the rule is unknown.
    """
    if fold not in range(FOLD_COUNT):
        raise InvalidInput(f"fold {fold!r}: expected 0 to 3 (the paper prints 1 to 4)")
    ranges = {
        "pascal": range(5 * fold + 1, 5 * fold + 6),
        "blocks": range(20 * fold + 1, 20 * fold + 21),
        "interleaved": range(fold + 1, 81, 4),
    }
    if rule not in ranges:
        raise InvalidInput(f"folds {rule!r}: expected one of {', '.join(ranges)}")
    return tuple(ranges[rule])


def fold_of(class_id: int, rule: FoldRule) -> int:
    """Return the fold that tests a class; raise `InvalidInput` if no fold does."""
    for fold in range(FOLD_COUNT):
        if class_id in fold_classes(fold, rule):
            return fold
    class_count = len(PASCAL_CLASSES) if rule == "pascal" else len(COCO_CLASSES)
    raise InvalidInput(f"class {class_id}: expected 1 to {class_count}")


def complete_fold_classes(
    dataset: str,
    fold: int | None,
    known: Collection[str],
) -> set[str]:
    """Return all classes that a fold of PASCAL-5i or COCO-20i tests, inferred from some of them.

    The convention is the first one whose fold tests all `known` classes. If there is none, the
    result is empty.
    """
    if fold is None or fold not in range(FOLD_COUNT):
        return set()
    for rule in FOLD_RULES.get(dataset, ()):
        classes = {str(label) for label in fold_classes(fold, rule)}
        if classes.issuperset(known):
            return classes
    return set()


def fold_checksum(rule: FoldRule) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of the folds.

    The hash is over the class ids written as `1 2 3;6 7;...`, with folds separated by semicolons.
    """
    folds: list[str] = []
    for fold in range(FOLD_COUNT):
        classes = [str(class_id) for class_id in fold_classes(fold, rule)]
        folds.append(" ".join(classes))
    return fingerprint(";".join(folds))
