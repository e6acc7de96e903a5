import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena import Box, Click, ImageSample, Lasso, Limits, MaskPrompt, Scribble, Support
from segarena.errors import StoreError
from segarena.records.prompts import RecordedMask, RecordedSupport, prompts_text, read_prompts

MASK = np.eye(4, dtype=bool)
SUPPORT = Support(ImageSample(id="example", image=np.zeros((4, 4, 3), dtype=np.uint8)), MASK)

numbers = st.integers(0, 500)
positions = st.lists(numbers, min_size=2, max_size=3).map(tuple)
points = st.lists(st.tuples(st.floats(0, 500), st.floats(0, 500)), min_size=1, max_size=5).map(
    tuple
)
prompts = st.one_of(
    st.builds(Click, positions, st.booleans(), st.integers(1, 9)),
    st.builds(Box, positions, positions, st.integers(1, 9)),
    st.builds(Limits, numbers, numbers, st.integers(0, 2)),
    st.builds(Scribble, points, st.booleans(), st.integers(1, 9)),
    st.builds(Lasso, points, st.booleans()),
    st.builds(RecordedMask, numbers, st.integers(1, 9)),
    st.builds(RecordedSupport, st.text(), numbers),
)


@given(st.lists(prompts, max_size=4).map(tuple))
def test_prompts_come_back_from_their_record(given_prompts):
    assert read_prompts(prompts_text(given_prompts)) == given_prompts


@given(st.lists(prompts, min_size=1, max_size=3), st.data())
def test_damaged_text_is_one_line_or_still_prompts(given_prompts, data):
    text = prompts_text(given_prompts)
    place = data.draw(st.integers(0, len(text) - 1))
    damaged = (
        text[:place]
        + data.draw(st.text(max_size=2))
        + data.draw(st.sampled_from(["", text[place + 1 :]]))
    )
    try:
        assert isinstance(read_prompts(damaged), tuple)
    except StoreError as error:
        assert str(error).startswith("prompts: ")  # noqa: PT017 - both outcomes are right


def test_numbers_of_numpy_are_written_as_numbers():
    given_prompts = [
        Click((np.int64(3), np.int64(4))),
        Scribble(((np.float64(0.5), np.float32(1.5)),)),
    ]
    assert read_prompts(prompts_text(given_prompts)) == (Click((3, 4)), Scribble(((0.5, 1.5),)))


def test_masks_and_supports_leave_only_name_and_size():
    text = prompts_text([MaskPrompt(MASK, object_id=2), SUPPORT])
    assert json.loads(text) == [
        {"kind": "mask", "area_px": 4, "object_id": 2},
        {"kind": "support", "sample": "example", "area_px": 4},
    ]
    assert read_prompts(text) == (RecordedMask(4, 2), RecordedSupport("example", 4))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            '[{"kind": "wish"}]',
            "expected one of the kinds click, box, limits, scribble, lasso, mask, support, got 'wish'",
        ),
        ('[{"kind": "click"}]', "missing required field `position`"),
        ('[{"position": [1, 2]}]', "got 'kind'"),
        ('[{"kind": "scribble", "points": 3}]', "Expected `array`, got `int` - at `$.points`"),
        (
            '[{"kind": "click", "position": [1.5, 2]}]',
            "Expected `int`, got `float` - at `$.position[0]`",
        ),
        ('[{"kind": ["click"]}]', "unhashable"),
        ('{"kind": "click"}', "Expected `array`, got `object`"),
        ('[{"kind": "cl', "truncated"),
    ],
)
def test_the_field_at_fault_is_named(text, told):
    with pytest.raises(StoreError) as caught:
        read_prompts(text)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
