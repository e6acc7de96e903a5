import numpy as np
import pytest

pytest.importorskip("transformers")

from segarena import registry
from segarena.dialogue import Dialogue, Lift, Prediction
from segarena.errors import SegmenterError
from segarena.prompts import Box, Click, Limits
from segarena.samples import ImageSample, VolumeSample
from segarena.segmenters.volumes.intensity_windows import resize_to_unit_square

IMAGE = np.random.default_rng(0).integers(0, 256, (50, 70, 3), dtype=np.uint8)


@pytest.fixture
def medsam(folder_of):
    return registry.build("segmenter", f"medsam(weights={str(folder_of('sam'))!r}, device='cpu')")


def test_masks_are_those_of_the_plain_network_on_the_square(medsam, tiny_model):
    import torch

    box = Box((10, 20), (41, 66))
    (given,) = medsam.predict(
        medsam.encode(ImageSample(id="x", image=IMAGE)), [Dialogue(((box,),))]
    )
    model = tiny_model("sam")
    side = model.config.vision_config.image_size
    corners = torch.tensor([[[20 * side / 70, 10 * side / 50, 65 * side / 70, 40 * side / 50]]])
    with torch.inference_mode():
        low = model(
            pixel_values=torch.from_numpy(resize_to_unit_square(IMAGE, side).transpose(2, 0, 1))[
                None
            ],
            input_boxes=corners,
            multimask_output=False,
        ).pred_masks[0, 0]
        full = torch.nn.functional.interpolate(
            low.sigmoid()[None], (50, 70), mode="bilinear", align_corners=False
        )
    np.testing.assert_array_equal(given.mask, full[0, 0].numpy() > 0.5)
    assert given.mask.any()
    assert not given.mask.all()
    assert given.logits is None


def test_nothing_is_handed_back_and_the_newest_box_counts(medsam):
    encoded = medsam.encode(ImageSample(id="x", image=IMAGE))
    boxes = [Box((10, 20), (41, 66)), Box((2, 2), (20, 30))]
    dialogue = Dialogue(((boxes[0],), (boxes[1],)), previous=Prediction(np.ones((50, 70), bool)))
    (second,) = medsam.predict(encoded, [dialogue])
    (alone,) = medsam.predict(encoded, [Dialogue(((boxes[1],),))])
    np.testing.assert_array_equal(second.mask, alone.mask)


def test_clicks_are_refused(medsam):
    with pytest.raises(SegmenterError, match="box"):
        medsam.predict(
            medsam.encode(ImageSample(id="x", image=IMAGE)), [Dialogue(((Click((3, 3)),),))]
        )


def test_encodings_can_be_kept(medsam):
    sample, dialogue = ImageSample(id="x", image=IMAGE), Dialogue(((Box((10, 20), (41, 66)),),))
    encoded = medsam.encode(sample)
    (live,) = medsam.predict(encoded, [dialogue])
    (kept,) = medsam.predict(medsam.unpack(medsam.pack(encoded)), [dialogue])
    np.testing.assert_array_equal(live.mask, kept.mask)


@pytest.mark.parametrize(
    ("protocol", "intensity"),
    [("careful", "slice-foreground-percentiles"), ("published", "slice-positive-percentiles")],
)
def test_volumes_are_shown_by_its_own_rule(medsam, protocol, intensity):
    rng = np.random.default_rng(1)
    scan = VolumeSample(
        id="ct",
        voxels=rng.normal(-100, 300, (5, 40, 40)).astype(np.int16),
        spacing_mm=(3.0, 1.0, 1.0),
    )
    lifted = registry.build(
        "segmenter", registry.PluginSpec("slices", {"segmenter": medsam, "protocol": protocol})
    )
    assert lifted.intensity == intensity
    dialogue = Dialogue(
        ((Box((2, 10, 10), (3, 30, 30)), Limits(1, 3)),), lift=Lift(spread="extrude")
    )
    encoded = lifted.encode(scan)
    (prediction,) = lifted.predict(encoded, [dialogue])
    assert len(encoded.pass_seconds) == 3
    assert not prediction.mask[[0, 4]].any()
    assert "click" not in lifted.prompt_kinds
