from __future__ import annotations

import pytest

from segarena.errors import InvalidInput
from segarena.segmenters.images.watershed import WatershedSegmenter


@pytest.mark.parametrize("frame_step", [-1, 128])
def test_a_frame_step_that_no_colour_can_have_is_refused(frame_step):
    with pytest.raises(InvalidInput, match=r"0\.\.127"):
        WatershedSegmenter(frame_step=frame_step)
