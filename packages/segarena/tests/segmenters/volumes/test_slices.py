"""The lift around image segmenters, compared with slow implementations of the rules."""

import copy
import json
from dataclasses import replace

import cv2
import numpy as np
import pytest
from scipy import ndimage

from segarena import registry
from segarena.dialogue import Dialogue, Lift, Prediction
from segarena.errors import InvalidPrompt, PluginInvalid, PredictionInvalid, SegmenterError
from segarena.prompts import Box, Click, Lasso, Limits, MaskPrompt, Scribble
from segarena.samples import ImageSample, VolumeSample
from segarena.segmenters.volumes.slices import Slices
from segarena.worker import flatten, restore

SHAPE = (14, 40, 44)


class Recorder:
    """Segments bright pixels: the component under a click, or those in a box. Records its prompts."""

    def __init__(self, kinds=("click", "box")):
        self.prompt_kinds = frozenset(kinds)
        self.encoded, self.calls = [], []

    def encode(self, sample):
        plane = int(sample.id.rpartition(" ")[2])
        self.encoded.append(plane)
        return plane, sample.image[:, :, 0] > 128

    def predict(self, encoded, dialogues):
        plane, bright = encoded
        self.calls.append((plane, list(dialogues)))
        return [
            Prediction(answer(bright, dialogue), logits=(plane, len(dialogue.prompts)))
            for dialogue in dialogues
        ]

    def asked(self):
        """The prompts of each slice in a single dialogue."""
        return {plane: dialogue for plane, (dialogue,) in self.calls}


def answer(bright, dialogue):
    mask = np.zeros_like(bright)
    if dialogue.previous is not None:
        mask |= dialogue.previous.mask
    labels, _ = ndimage.label(bright, np.ones((3, 3)))
    for prompt in dialogue.prompts:
        if isinstance(prompt, Box):
            window = tuple(
                slice(max(0, a - 1), b + 1) for a, b in zip(prompt.start, prompt.stop, strict=True)
            )
            mask[window] |= bright[window]
        elif isinstance(prompt, Click) and prompt.is_positive and labels[prompt.position]:
            mask |= labels == labels[prompt.position]
        elif isinstance(prompt, Click) and not prompt.is_positive:
            mask &= labels != labels[prompt.position]
        elif isinstance(prompt, MaskPrompt):
            mask |= prompt.mask
    return mask


def tube(gap=()):
    """A bent tube of varying width, with a second piece next to it; slices in `gap` do not contain it."""
    truth = np.zeros(SHAPE, bool)
    rows, columns = np.mgrid[: SHAPE[1], : SHAPE[2]]
    for plane in range(2, 12):
        if plane not in gap:
            middle = (14 + plane, 12 + int(6 * np.sin(plane / 2)) + plane)
            truth[plane] = (rows - middle[0]) ** 2 + ((columns - middle[1]) / 1.5) ** 2 <= (
                2 + plane % 4
            ) ** 2
            truth[plane, 2 : 2 + plane // 4, 40:43] = True
    return truth


def volume(truth):
    return VolumeSample(
        id="tube", voxels=np.where(truth, 200, 10).astype(np.int16), spacing_mm=(3.0, 1.0, 1.0)
    )


def ask(inner, sample, *rounds, lift=None, previous=None, **options):
    """The predictions of all rounds."""
    lifted = Slices(segmenter=inner, **options)
    encoded, dialogue, given = lifted.encode(sample), Dialogue(lift=lift, previous=previous), []
    for prompts in rounds:
        dialogue = dialogue.ask(tuple(prompts))
        (prediction,) = lifted.predict(encoded, [dialogue])
        dialogue = dialogue.answer(prediction)
        given.append(prediction)
    return given


def tight(mask):
    rows, columns = np.nonzero(mask)
    return Box((int(rows.min()), int(columns.min())), (int(rows.max()) + 1, int(columns.max()) + 1))


def slow_centre(mask, by):
    """Centre of the largest piece, of its box or its mass, moved to its nearest pixel."""
    labels, count = ndimage.label(mask, np.ones((3, 3)))
    sizes = [int((labels == number).sum()) for number in range(1, count + 1)]
    largest = max(range(count), key=lambda index: (sizes[index], index)) + 1
    pixels = np.argwhere(labels == largest)
    middle = (pixels.min(axis=0) + pixels.max(axis=0)) / 2 if by == "box" else pixels.mean(axis=0)
    wanted = np.rint(middle)
    return tuple(int(i) for i in pixels[((pixels - wanted) ** 2).sum(axis=1).argmin()])


def test_prompts_stay_on_their_slices():
    inner = Recorder()
    truth = tube()
    (prediction,) = ask(
        inner,
        volume(truth),
        [Click((4, 18, 21)), Click((4, 0, 0), is_positive=False), Box((6, 5, 5), (7, 30, 40))],
    )
    assert inner.asked()[4].rounds == ((Click((18, 21)), Click((0, 0), is_positive=False)),)
    assert inner.asked()[6].rounds == ((Box((5, 5), (30, 40)),),)
    assert sorted(inner.encoded) == [4, 6]
    assert not prediction.mask[[0, 1, 2, 3, 5, *range(7, 14)]].any()
    np.testing.assert_array_equal(prediction.mask[6, 6:29, 6:39], truth[6, 6:29, 6:39])


def test_a_box_of_the_volume_is_drawn_on_all_its_slices():
    inner = Recorder()
    ask(inner, volume(tube()), [Box((3, 4, 5), (8, 30, 40))])
    assert {plane: dialogue.rounds for plane, dialogue in inner.asked().items()} == {
        plane: ((Box((4, 5), (30, 40)),),) for plane in range(3, 8)
    }


@pytest.mark.parametrize("gap", [(), (5, 6)])
def test_clicks_are_interpolated_on_every_slice_between_the_keys(gap):
    inner = Recorder()
    keys = [(2, 16, 16), (7, 21, 17), (11, 25, 20)]
    ask(
        inner,
        volume(tube(gap)),
        [Click(key) for key in reversed(keys)],
        lift=Lift(spread="interpolate"),
    )
    planes = np.arange(2, 12)
    want = [
        np.rint(np.interp(planes, [k[0] for k in keys], [k[axis] for k in keys])) for axis in (1, 2)
    ]
    assert {plane: dialogue.rounds for plane, dialogue in inner.asked().items()} == {
        int(plane): ((Click((int(row), int(column))),),)
        for plane, row, column in zip(planes, *want, strict=True)
    }


def test_boxes_are_interpolated_and_other_prompts_stay():
    inner = Recorder()
    prompts = [
        Box((2, 4, 6), (3, 10, 13)),
        Box((6, 8, 7), (7, 20, 30)),
        Click((4, 1, 1), is_positive=False),
    ]
    ask(inner, volume(tube()), prompts, lift=Lift(spread="interpolate"))
    asked = {plane: dialogue.rounds[0] for plane, dialogue in inner.asked().items()}
    assert sorted(asked) == [2, 3, 4, 5, 6]
    assert asked[3] == (
        Box((5, 6), (12, 17)),
    )  # 4 + 1, 6 + 0.25, 10 + 2.5, 13 + 4.25: halves to even
    assert asked[4] == (Box((6, 6), (15, 22)), Click((1, 1), is_positive=False))


def test_several_clicks_of_a_slice_are_interpolated_each_on_its_own_way():
    inner = Recorder()
    prompts = [Click((2, 0, 0)), Click((2, 10, 10)), Click((4, 2, 0)), Click((4, 20, 14))]
    ask(inner, volume(tube()), prompts, lift=Lift(spread="interpolate"))
    assert inner.asked()[3].rounds == ((Click((1, 0)), Click((15, 12))),)


def test_a_key_given_twice_is_one_key():
    inner, again = Recorder(), Recorder()
    keys = [Click((3, 17, 20)), Click((8, 22, 15))]
    lift = Lift(spread="interpolate", protocol="published")
    ask(inner, volume(tube()), keys, lift=lift)
    ask(again, volume(tube()), [*keys, keys[1]], lift=lift)
    assert {plane: d.rounds for plane, d in again.asked().items()} == {
        plane: d.rounds for plane, d in inner.asked().items()
    }


@pytest.mark.parametrize(("protocol", "times"), [("careful", 1), ("published", 2)])
def test_a_click_given_twice_counts_once_unless_published(protocol, times):
    inner = Recorder()
    ask(inner, volume(tube()), [Click((4, 18, 21))] * 2, lift=Lift(protocol=protocol))
    assert inner.asked()[4].rounds == ((Click((18, 21)),) * times,)


def test_a_single_key_is_all_there_is_of_an_object_on_one_slice():
    inner = Recorder()
    ask(inner, volume(tube()), [Click((5, 3, 3))], lift=Lift(spread="interpolate"))
    assert sorted(inner.asked()) == [5]


def test_a_box_of_one_slice_is_extruded_to_the_limits():
    inner = Recorder()
    prompts = [Box((5, 4, 5), (6, 30, 40)), Limits(3, 8)]
    ask(inner, volume(tube()), prompts, lift=Lift(spread="extrude"))
    assert {plane: dialogue.rounds[0] for plane, dialogue in inner.asked().items()} == {
        plane: (Box((4, 5), (30, 40)),) for plane in range(3, 9)
    }


def test_without_limits_nothing_is_extruded():
    inner = Recorder()
    ask(inner, volume(tube()), [Box((5, 4, 5), (6, 30, 40))], lift=Lift(spread="extrude"))
    assert sorted(inner.asked()) == [5]


def slow_propagation(truth, seeds, plane, first, last, protocol):
    """The rules step by step: up, then down, then all collected prompts at once; the published code predicts twice."""
    bright = volume(truth).voxels > 128
    collected = {plane: seeds}

    def predicted(where, prompts):
        return answer(bright[where], Dialogue((tuple(prompts),)))

    lists = {1: [], -1: []}
    for step, end in ((1, last), (-1, first)):
        here, prompts = plane, seeds
        if protocol == "published" and isinstance(seeds[0], Box) and here != end:
            here += step
            lists[step].append((here, prompts))
        while here != end:
            mask = predicted(here, prompts)
            if not mask.any():
                break
            here += step
            if isinstance(seeds[0], Box):
                prompts = [tight(mask)]
            else:
                prompts = [Click(slow_centre(mask, "box" if protocol == "published" else "mass"))]
            lists[step].append((here, prompts))
    if protocol == "published" and isinstance(seeds[0], Click):
        lists[-1] = lists[-1][5 - len(seeds) :]
    collected |= dict(lists[1]) | dict(lists[-1])
    mask = np.zeros_like(truth)
    for where, prompts in collected.items():
        mask[where] = predicted(where, prompts)
    return mask


@pytest.mark.parametrize("protocol", ["careful", "published"])
@pytest.mark.parametrize("kind", ["box", "one click", "five clicks"])
@pytest.mark.parametrize(
    ("gap", "limits"),
    [((), (2, 11)), ((4, 9), (2, 11)), ((), (0, 13)), ((), (6, 6)), ((6,), (5, 7))],
)
def test_propagation_follows_the_rules(protocol, kind, gap, limits):
    truth = tube(gap)
    bright = np.argwhere(truth[6] if truth[6].any() else np.ones(SHAPE[1:], bool))
    seeds = [tight(truth[6])] if kind == "box" and truth[6].any() else [Box((3, 3), (9, 9))]
    if kind != "box":
        seeds = [
            Click(tuple(int(i) for i in bright[n * 7]))
            for n in range(1 if kind == "one click" else 5)
        ]
    in_volume = [
        Box((6, *seed.start), (7, *seed.stop))
        if isinstance(seed, Box)
        else Click((6, *seed.position))
        for seed in seeds
    ]
    lift = Lift(spread="propagate", protocol=protocol)
    inner = Recorder()
    (prediction,) = ask(inner, volume(truth), [*in_volume, Limits(*limits)], lift=lift)
    want = slow_propagation(truth, seeds, 6, *limits, protocol)
    np.testing.assert_array_equal(prediction.mask, want)
    asked = [plane for plane, _ in inner.calls]
    assert len(asked) == len(set(asked))


def test_propagation_without_limits_ends_where_a_prediction_is_empty():
    truth = tube()
    truth[:, :10] = False
    (prediction,) = ask(
        Recorder(), volume(truth), [Box((6, 10, 5), (7, 30, 40))], lift=Lift(spread="propagate")
    )
    assert [plane for plane in range(14) if prediction.mask[plane].any()] == list(range(2, 12))


def test_between_two_seeds_each_goes_half_way():
    truth = tube()
    inner = Recorder()
    prompts = [Click((3, 17, 20)), Click((8, 22, 15)), Limits(2, 11)]
    ask(inner, volume(truth), prompts, lift=Lift(spread="propagate"))
    assert sorted(plane for plane, _ in inner.calls) == list(range(2, 12))
    assert [plane for plane, _ in inner.calls[:2]] == [3, 8]


ROUNDS = [
    [Click((4, 18, 21)), Click((5, 19, 20))],
    [Click((5, 0, 0), is_positive=False)],
    [Click((7, 21, 17)), Click((4, 2, 41))],
]


def test_newly_prompted_slices_are_predicted_again_from_all_their_prompts():
    inner = Recorder()
    predictions = ask(inner, volume(tube()), *ROUNDS, lift=Lift(keeps_prompts=True))
    assert [plane for plane, _ in inner.calls] == [4, 5, 5, 4, 7]
    again = {plane: dialogue for plane, (dialogue,) in inner.calls[3:]}
    assert again[4].rounds == ((Click((18, 21)),), (Click((2, 41)),))
    assert again[4].previous.logits == (4, 1)
    assert again[7].rounds == ((Click((21, 17)),),)
    assert again[7].previous is None
    np.testing.assert_array_equal(predictions[2].mask[5], predictions[1].mask[5])


def test_as_published_every_slice_prompted_before_is_predicted_again():
    inner = Recorder()
    ask(inner, volume(tube()), *ROUNDS, lift=Lift(keeps_prompts=True, protocol="published"))
    assert [plane for plane, _ in inner.calls] == [4, 5, 4, 5, 4, 5, 7]
    again = {plane: dialogue for plane, (dialogue,) in inner.calls[4:]}
    assert again[4].rounds == ((Click((18, 21)),), (Click((2, 41)),))
    assert again[5].rounds == ((Click((19, 20)),), (Click((0, 0), is_positive=False),))
    assert again[5].previous.logits == (5, 2)
    assert again[7].rounds == ((Click((21, 17)),),)


def test_without_them_only_newly_prompted_slices_are_from_new_prompts():
    inner = Recorder()
    predictions = ask(inner, volume(tube()), *ROUNDS, lift=Lift(keeps_prompts=False))
    assert [plane for plane, _ in inner.calls] == [4, 5, 5, 4, 7]
    assert [dialogue.rounds for _, (dialogue,) in inner.calls[2:]] == [
        ((Click((0, 0), is_positive=False),),),
        ((Click((2, 41)),),),
        ((Click((21, 17)),),),
    ]
    np.testing.assert_array_equal(
        predictions[2].mask[5], predictions[1].mask[5]
    )  # not predicted: as before


@pytest.mark.parametrize(("protocol", "remembers"), [("careful", True), ("published", False)])
def test_logits_of_a_slice_skipped_in_a_round_come_back_only_when_corrected(protocol, remembers):
    inner = Recorder()
    ask(inner, volume(tube()), *ROUNDS, lift=Lift(keeps_prompts=False, protocol=protocol))
    _, (dialogue,) = inner.calls[3]
    assert (dialogue.previous is not None) == remembers
    if remembers:
        assert dialogue.previous.logits == (4, 1)


def test_propagated_prompts_are_kept_for_later_rounds():
    inner = Recorder()
    rounds = [[Box((6, 10, 5), (7, 30, 40)), Limits(4, 8)], [Click((7, 0, 0), is_positive=False)]]
    ask(inner, volume(tube()), *rounds, lift=Lift(spread="propagate"))
    ((plane, (dialogue,)),) = inner.calls[5:]
    assert plane == 7
    assert isinstance(dialogue.rounds[0][0], Box)
    assert dialogue.rounds[1] == (Click((0, 0), is_positive=False),)


class Batches(Recorder):
    """Encodes up to three slices in one pass; fails on a pass with one of the slices in `failing`."""

    image_batch = 3

    def __init__(self, failing=()):
        super().__init__()
        self.failing, self.passes = failing, []

    def encode_batch(self, samples):
        encodings = [self.encode(sample) for sample in samples]
        planes = [plane for plane, _ in encodings]
        self.passes.append(planes)
        if set(planes) & set(self.failing):
            raise RuntimeError("out of memory")
        return encodings


BOXES = ([Box((3, 4, 5), (10, 30, 40))], [Box((9, 4, 5), (13, 30, 40))])


# With `keep_mb=0`, the cache keeps one slice.
@pytest.mark.parametrize("keep_mb", [0.0, 100.0])
def test_slices_are_encoded_in_batches_in_order_and_once(keep_mb):
    inner = Batches()
    batched = ask(inner, volume(tube()), *BOXES, keep_mb=keep_mb)
    alone = ask(Recorder(), volume(tube()), *BOXES, keep_mb=keep_mb)
    for one, other in zip(batched, alone, strict=True):
        np.testing.assert_array_equal(one.mask, other.mask)
        assert one.logits == other.logits
    assert inner.passes[:2] == [[3, 4, 5], [6, 7, 8]]
    # The second box begins on the last slice of the first one, which is still cached.
    assert inner.encoded == list(range(3, 13))
    assert max(map(len, inner.passes)) == 3


def test_each_slice_of_a_batch_has_its_share_of_the_duration():
    lifted = Slices(segmenter=Batches())
    encoded = lifted.encode(volume(tube()))
    lifted.predict(encoded, [Dialogue().ask(tuple(BOXES[0]))])
    assert len(encoded.pass_seconds) == 7
    assert len(set(encoded.pass_seconds[:3])) == 1


def test_slices_of_a_batch_that_fails_are_encoded_one_by_one():
    inner = Batches(failing=[4])
    with pytest.warns(RuntimeWarning, match="3 slices could not be encoded together.*memory"):
        given = ask(inner, volume(tube()), BOXES[0])
    assert inner.passes == [[3, 4, 5], [6, 7, 8]]
    np.testing.assert_array_equal(given[0].mask, ask(Recorder(), volume(tube()), BOXES[0])[0].mask)


def test_a_batch_with_another_number_of_encodings_is_refused():
    inner = Batches()
    inner.encode_batch = lambda samples: []
    with pytest.raises(SegmenterError, match="expected 3 encodings, got 0"):
        ask(inner, volume(tube()), BOXES[0])


def received(body):
    """The array of a body, as another process reads it."""
    octets = np.frombuffer(b"".join(body.parts()), np.uint8)
    shape = body.description["shape"]
    if body.description["dtype"] == "bits":
        return np.unpackbits(octets, count=int(np.prod(shape))).reshape(shape).astype(bool)
    return octets.view(body.description["dtype"]).reshape(shape)


@pytest.mark.parametrize("spread", ["stay", "propagate"])
def test_logits_survive_being_sent_to_another_process(spread):
    kinds = ("click", "box", "scribble", "lasso", "mask")
    drawn = MaskPrompt(tube())
    scribble = Scribble(((6, 20, 20), (6, 22, 24)))
    lasso = Lasso(((5, 18, 18), (5, 30, 18), (5, 30, 30)))
    first = (Box((6, 10, 5), (7, 30, 40)), scribble, lasso, Click((np.int64(5), np.int64(19), 20)))
    rounds = [(*first, drawn), (Click((7, 0, 0), is_positive=False),), (Click((6, 1, 1)),)]
    calls = []
    for is_sent in (False, True):
        inner = Recorder(kinds)
        lifted = Slices(segmenter=inner)
        encoded = lifted.encode(volume(tube()))
        dialogue = Dialogue(lift=Lift(spread=spread, keeps_prompts=True))
        for prompts in rounds:
            dialogue = dialogue.ask(prompts)
            (prediction,) = lifted.predict(encoded, [dialogue])
            if is_sent:
                arrays = []
                header = json.loads(json.dumps(flatten(prediction.logits, arrays)))
                logits = restore(header, [received(body) for body in arrays])
                prediction = replace(prediction, logits=logits)
            dialogue = dialogue.answer(prediction)
        calls.append([(plane, repr(asked)) for plane, (asked,) in inner.calls])
    assert calls[0] == calls[1]
    assert len(calls[0]) >= 4


def test_limits_cut_what_is_asked_and_what_is_answered():
    inner = Recorder()
    first, second = ask(
        inner,
        volume(tube()),
        [Box((0, 0, 0), SHAPE), Limits(4, 8), Limits(5, 20, axis=2)],
        [Limits(5, 6)],
    )
    assert sorted(plane for plane, _ in inner.calls[:5]) == [4, 5, 6, 7, 8]
    assert len(inner.calls) == 5
    assert first.mask[4:9].any()
    assert not first.mask[:, :, 21:].any()
    assert not second.mask[[4, 7, 8]].any()
    np.testing.assert_array_equal(second.mask[5:7], first.mask[5:7])


def test_a_drawn_mask_is_the_answer_where_nothing_else_is_said():
    drawn = np.zeros(SHAPE, bool)
    drawn[3:6, 30:35, 2:8] = True
    inner = Recorder()
    (prediction,) = ask(inner, volume(tube()), [MaskPrompt(drawn), Click((4, 18, 21))])
    assert sorted(inner.asked()) == [4]
    np.testing.assert_array_equal(prediction.mask[[3, 5]], drawn[[3, 5]])
    assert prediction.mask[4, 31, 4]  # handed in as the previous mask
    assert prediction.mask[4, 18, 21]
    understands = Recorder(("click", "mask"))
    ask(understands, volume(tube()), [MaskPrompt(drawn), Click((4, 18, 21))])
    assert [prompt.kind for prompt in understands.asked()[4].prompts] == ["click", "mask"]


def test_a_dialogue_may_start_from_a_mask_made_elsewhere():
    made = np.zeros(SHAPE, bool)
    made[4:6, 30:35, 2:8] = True
    inner = Recorder()
    (prediction,) = ask(inner, volume(tube()), [Click((4, 18, 21))], previous=Prediction(made))
    np.testing.assert_array_equal(prediction.mask[5], made[5])
    assert prediction.mask[4, 31, 4]
    assert prediction.mask[4, 18, 21]


def test_a_scribble_is_clicks_for_who_knows_no_scribbles():
    inner = Recorder(("click",))
    line = Scribble(((2.0, 5.4, 6.0), (2.0, 5.5, 6.6), (5.0, 8.5, 9.6)), is_positive=False)
    ask(inner, volume(tube()), [line])
    assert {plane: dialogue.prompts for plane, dialogue in inner.asked().items()} == {
        2: (Click((5, 6), False), Click((6, 7), False)),
        3: (Click((6, 8), False),),  # the line crosses slice 3 at (6.5, 7.6): halves to even
        4: (Click((8, 9), False),),
        5: (Click((8, 10), False),),
    }


def test_published_scribbles_click_only_where_their_points_lie():
    inner = Recorder(("click",))
    line = Scribble(((2.0, 5.0, 6.0), (5.0, 8.0, 9.0)))
    ask(inner, volume(tube()), [line], lift=Lift(protocol="published"))
    assert sorted(inner.asked()) == [2, 5]


def test_the_piece_of_a_scribble_in_a_slice_stays_a_scribble_for_who_knows_them():
    inner = Recorder(("click", "scribble"))
    line = Scribble(((2.0, 5.0, 6.0), (2.0, 5.5, 9.0), (3.0, 6.0, 10.0)))
    ask(inner, volume(tube()), [line])
    assert inner.asked()[2].prompts == (Scribble(((5.0, 6.0), (5.5, 9.0))),)
    assert inner.asked()[3].prompts == (Click((6, 10)),)


SQUARE = tuple(
    (4.0, row, column) for row, column in ((10.0, 10.0), (10.0, 20.0), (20.0, 20.0), (20.0, 10.0))
)


@pytest.mark.parametrize(
    ("kinds", "kind"),
    [
        ({"click", "lasso"}, "lasso"),
        ({"click", "mask", "box"}, "mask"),
        ({"click", "box"}, "box"),
        ({"click"}, "click"),
    ],
)
def test_the_outline_that_opens_a_dialogue_is_given_in_the_best_known_words(kinds, kind):
    inner = Recorder(kinds)
    ask(inner, volume(tube()), [Lasso(SQUARE)])
    (prompt,) = inner.asked()[4].prompts
    assert prompt.kind == kind
    if kind == "mask":
        want = np.zeros(SHAPE[1:], bool)
        want[10:21, 10:21] = True
        np.testing.assert_array_equal(prompt.mask, want)
    if kind == "box":
        assert prompt == Box((10, 10), (21, 21))
    if kind == "click":
        assert prompt == Click((15, 15))


def test_a_correcting_lasso_is_a_click_in_its_middle():
    inner = Recorder(("click", "mask", "box"))
    ask(inner, volume(tube()), [Click((4, 18, 21))], [Lasso(SQUARE, is_positive=False)])
    (_, (dialogue,)) = inner.calls[-1]
    assert dialogue.rounds[-1] == (Click((15, 15), is_positive=False),)


def test_a_lasso_in_another_plane_is_a_click_on_each_slice():
    inner = Recorder(("click", "lasso"))
    outline = tuple(
        (plane, row, 7.0) for plane, row in ((3.0, 10.0), (3.0, 20.0), (5.0, 20.0), (5.0, 10.0))
    )
    ask(inner, volume(tube()), [Lasso(outline)])
    assert {plane: dialogue.prompts for plane, dialogue in inner.asked().items()} == {
        plane: (Click((15, 7)),) for plane in (3, 4, 5)
    }


def test_a_lasso_across_planes_is_refused():
    with pytest.raises(InvalidPrompt, match="plane"):
        ask(
            Recorder(), volume(tube()), [Lasso(((1.0, 2.0, 3.0), (2.0, 3.0, 4.0), (3.0, 5.0, 7.0)))]
        )


@pytest.mark.parametrize("spread", ["stay", "interpolate", "propagate", "extrude"])
def test_round_five_is_replayed_from_the_stored_dialogue_alone(spread):
    rng = np.random.default_rng(3)
    rounds = [[Click((4, 18, 21)), Box((7, 15, 10), (8, 28, 34)), Limits(2, 11)]]
    rounds += [
        [Click(tuple(int(i) for i in rng.integers(SHAPE)), bool(rng.integers(2)))] for _ in range(4)
    ]
    sample, lift = volume(tube()), Lift(spread=spread)
    predictions = ask(Recorder(), sample, *rounds, lift=lift)
    stored = Dialogue(tuple(map(tuple, rounds)), previous=copy.deepcopy(predictions[3]), lift=lift)
    lifted = Slices(segmenter=Recorder())
    (again,) = lifted.predict(lifted.encode(sample), [stored])
    np.testing.assert_array_equal(again.mask, predictions[4].mask)
    assert again.logits == predictions[4].logits


def test_dialogues_that_need_a_slice_are_answered_together_and_as_if_alone():
    sample = volume(tube())
    dialogues = [
        Dialogue(((Click((4, 18, 21)),),)),
        Dialogue(((Box((6, 10, 5), (7, 30, 40)), Limits(3, 8)),), lift=Lift(spread="propagate")),
        Dialogue(((Click((3, 17, 20)), Click((6, 20, 18))),), lift=Lift(spread="interpolate")),
    ]
    inner = Recorder()
    lifted = Slices(segmenter=inner)
    together = lifted.predict(lifted.encode(sample), dialogues)
    assert len(next(there for plane, there in inner.calls if plane == 4)) == 2
    assert len(inner.encoded) == len(set(inner.encoded))
    for dialogue, prediction in zip(dialogues, together, strict=True):
        (alone,) = lifted.predict(lifted.encode(sample), [dialogue])
        np.testing.assert_array_equal(alone.mask, prediction.mask)


def test_a_slice_is_encoded_when_needed_and_once():
    inner = Recorder()
    lifted = Slices(segmenter=inner)
    encoded = lifted.encode(volume(tube()))
    assert inner.encoded == []
    assert encoded.pass_seconds == []
    for _ in range(2):
        lifted.predict(encoded, [Dialogue(((Box((3, 0, 0), (6, 20, 20)),),))] * 2)
    assert inner.encoded == [3, 4, 5]
    assert len(encoded.pass_seconds) == 3


def test_slices_beyond_what_is_kept_are_encoded_again_and_counted():
    class Big(Recorder):
        def encode(self, sample):
            plane, bright = super().encode(sample)
            return plane, np.where(bright, 1.0, 0.0) > 0.5

    inner = Big()
    lifted = Slices(segmenter=inner, keep_mb=2 * 40 * 44 / 1e6)
    encoded = lifted.encode(volume(tube()))
    for _ in range(2):
        lifted.predict(encoded, [Dialogue(((Box((3, 0, 0), (6, 20, 20)),),))])
    assert inner.encoded == [3, 4, 5, 3, 4, 5]
    assert len(encoded.pass_seconds) == 6


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        ({"click"}, {"click", "scribble", "lasso", "limits", "mask"}),
        ({"box"}, {"box", "limits", "mask"}),
        ({"click", "box", "mask"}, {"click", "box", "scribble", "lasso", "limits", "mask"}),
        ({"scribble"}, {"scribble", "limits", "mask"}),
        ({"support"}, {"limits", "mask"}),
    ],
)
def test_it_says_which_prompts_it_can_serve(inner, outer):
    assert Slices(segmenter=Recorder(inner)).prompt_kinds == outer


def test_what_the_image_segmenter_cannot_be_shown_is_refused():
    with pytest.raises(SegmenterError, match="click"):
        ask(Recorder({"box"}), volume(tube()), [Click((4, 18, 21))])


def test_prompts_outside_the_volume_are_refused():
    with pytest.raises(InvalidPrompt):
        ask(Recorder(), volume(tube()), [Click((14, 0, 0))])


def test_an_answer_of_another_shape_is_named_with_its_slice():
    class Wrong(Recorder):
        def predict(self, encoded, dialogues):
            return [np.zeros((3, 3), bool) for _ in dialogues]

    with pytest.raises(PredictionInvalid, match="slice 4"):
        ask(Wrong(), volume(tube()), [Click((4, 18, 21))])


@pytest.mark.parametrize(
    ("given", "words"), [(None, "a NoneType"), ([], "0"), (np.zeros((2, 40, 44)), "2")]
)
def test_answers_that_are_not_one_for_each_dialogue_are_told_apart(given, words):
    class Wrong(Recorder):
        def predict(self, encoded, dialogues):
            return given

    with pytest.raises(
        PredictionInvalid, match=f"slice 4: expected a list of 1 predictions, got {words}$"
    ):
        ask(Wrong(), volume(tube()), [Click((4, 18, 21))])


def test_answers_may_be_a_stack_of_masks():
    class Stacked(Recorder):
        def predict(self, encoded, dialogues):
            return np.ones((len(dialogues), 40, 44), bool)

    (prediction,) = ask(Stacked(), volume(tube()), [Click((4, 18, 21))])
    assert prediction.mask.sum() == 40 * 44


def test_images_and_segmenters_of_volumes_are_refused():
    with pytest.raises(SegmenterError, match="volumes"):
        Slices(segmenter=Recorder()).encode(
            ImageSample(id="a", image=np.zeros((4, 4, 3), np.uint8))
        )
    with pytest.raises(PluginInvalid, match="images"):
        registry.build("segmenter", "slices(segmenter='slices(segmenter=\"grabcut\")')")


@pytest.mark.parametrize(
    "options",
    [{"intensity": "bright"}, {"spread": "up"}, {"protocol": "new"}, {"percentiles": (5, 5)}],
)
def test_options_that_do_not_exist_are_refused(options):
    with pytest.raises(PluginInvalid):
        registry.build(
            "segmenter", registry.PluginSpec("slices", {"segmenter": Recorder(), **options})
        )


def pictures(voxels, **options):
    """The picture of each slice as the image segmenter gets it."""
    seen = {}

    class Looking(Recorder):
        def encode(self, sample):
            encoded = super().encode(sample)
            seen[encoded[0]] = sample.image
            return encoded

    sample = VolumeSample(id="scan", voxels=voxels, spacing_mm=(1.0, 1.0, 1.0))
    ask(Looking(), sample, [Box((0, 0, 0), voxels.shape)], **options)
    assert all((image == image[:, :, :1]).all() for image in seen.values())
    return np.stack([seen[plane][:, :, 0] for plane in range(len(voxels))])


SCAN = np.random.default_rng(0).integers(-1000, 1000, (4, 8, 9)).astype(np.int16)


def grey(values, low, high):
    return np.rint((np.clip(values.astype(float), low, high) - low) / (high - low) * 255)


def test_intensities_are_windowed_as_asked():
    np.testing.assert_array_equal(pictures(SCAN), grey(SCAN, *np.percentile(SCAN, (0.5, 99.5))))
    for name, foreground in (
        ("slice-foreground-percentiles", lambda plane: plane[plane > plane.min()]),
        ("slice-positive-percentiles", lambda plane: plane[plane > 0]),
        (
            "slice-min-max",
            lambda plane: plane[[0, -1]] * 0 + np.array([[plane.min()], [plane.max()]]),
        ),
    ):
        given = pictures(SCAN, intensity=name, percentiles=(1, 98))
        ends = (0, 100) if name == "slice-min-max" else (1, 98)
        want = [grey(plane, *np.percentile(foreground(plane), ends)) for plane in SCAN]
        np.testing.assert_array_equal(given, want)
    bytes_ = (SCAN % 256).astype(np.int16)
    np.testing.assert_array_equal(pictures(bytes_, intensity="none"), bytes_)


def test_a_segmenter_may_say_how_it_wants_slices():
    class Particular(Recorder):
        slice_intensity = "slice-foreground-percentiles"

    assert Slices(segmenter=Recorder()).intensity == "volume-percentiles"
    assert Slices(segmenter=Particular()).intensity == "slice-foreground-percentiles"
    assert (
        Slices(segmenter=Particular(), protocol="published").intensity
        == "slice-positive-percentiles"
    )
    assert Slices(segmenter=Particular(), intensity="slice-min-max").intensity == "slice-min-max"


def test_voxels_that_are_no_grey_levels_are_not_taken_for_some():
    with pytest.raises(SegmenterError, match="0 to 255"):
        pictures(SCAN, intensity="none")


def test_real_segmenters_of_images_can_be_lifted():
    truth = tube()
    sample = volume(cv2.blur(truth.astype(np.uint8), (1, 1)).astype(bool))
    prompts = [Box((6, *tight(truth[6]).start), (7, *tight(truth[6]).stop)), Limits(2, 11)]
    lifted = registry.build("segmenter", "slices(segmenter='grabcut')")
    dialogue = Dialogue((tuple(prompts),), lift=Lift(spread="propagate"))
    (prediction,) = lifted.predict(lifted.encode(sample), [dialogue])
    assert prediction.mask[6].any()
