"""A sample, a turn and a reply of every kind, with all possible content."""

import numpy as np

from segarena.dialogue import Lift, Prediction
from segarena.prompts import Box, Click, Lasso, Limits, MaskPrompt, Scribble
from segarena.protocol.replies import DialogueReply
from segarena.protocol.turns import TurnHeader
from segarena.samples import ImageSample, Support, Target, VideoSample, VolumeSample

SHAPE = (3, 20, 30)
ID = "0f8fad5b-d9cb-469f-a165-70867728950e"


def samples():
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (*SHAPE, 3), dtype=np.uint8)
    truth = (Target(id="the liver", mask=np.ones(SHAPE, bool)),)
    photograph = ImageSample(
        id="cat_0017.jpg",
        image=pixels[0],
        targets=(Target(id="cat", mask=np.ones(SHAPE[1:], bool)),),
    )
    return [
        photograph,
        VolumeSample(
            id="patient",
            voxels=pixels[..., 0].astype(np.int16) - 9,
            spacing_mm=(3.0, 1.0, 0.5),
            targets=truth,
        ),
        VolumeSample(
            id="patient",
            voxels=rng.random(SHAPE),
            spacing_mm=(1.0, 1.0, 1.0),
            affine=np.eye(4),
            modality="MR",
        ),
        VideoSample(
            id="clip",
            frames=list(pixels),
            frame_shape=SHAPE[1:],
            targets=truth,
            scribbles=({"a": 1},),
        ),
    ]


def labels():
    found = np.zeros(SHAPE, np.uint8)
    found[0, 2:9, 3:5], found[1:, 4, :] = 1, 7
    return found


def noise():
    return np.random.default_rng(1).random(SHAPE) > 0.5


def answers():
    box = np.zeros(SHAPE, bool)
    box[:, 3:9, 4:20] = True
    masks = [box, noise(), labels(), np.zeros(SHAPE, bool), np.zeros(SHAPE, np.uint8)]
    given = {number: Prediction(mask) for number, mask in enumerate(masks)}
    given[5] = Prediction(box, candidates=(0, 2))
    given[6] = "predict: out of memory"
    return given


def header():
    return TurnHeader(id=ID, client_s=1.5, open=[8])


OBJECTS = {0: 1, 1: 1, 2: 7, 3: 1, 4: 7, 5: 1, 6: 1}


def prompts():
    support = ImageSample(id="secret name", image=samples()[0].image, targets=samples()[0].targets)
    return [
        Click((0, 1, 2)),
        Click((2, 19, 29), is_positive=False, object_id=3),
        Click((np.int64(1), np.int64(2), np.int64(3))),
        Box((0, 1, 2), (1, 8, 9), 2),
        Limits(0, 2),
        Scribble(((0.0, 1.5, 2.25), (0.0, 3.0, 4.0)), False, 0),
        Lasso(((1.0, 1.0, 1.0), (1.0, 5.0, 1.0), (1.0, 5.0, 7.0))),
        MaskPrompt(noise(), 2),
        Support(support, np.eye(20, 30, dtype=bool)),
    ]


def reply():
    return [
        DialogueReply(
            dialogue=0,
            rounds=[prompts()],
            objects=7,
            lift=Lift(spread="interpolate", keeps_prompts=False),
        ),
        DialogueReply(dialogue=4, rounds=[[], [], prompts()[:1]], values={"iou": 0.5, "nsd": None}),
        DialogueReply(dialogue=9, over=True, failed="judging failed"),
        DialogueReply(dialogue=11, over=True, late=True),
    ]
