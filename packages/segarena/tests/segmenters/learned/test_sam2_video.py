"""Comparison with the library's own pipeline: its processor adds prompts to a session, which encodes and tracks."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from torch.nn import functional  # noqa: E402

from segarena import registry  # noqa: E402
from segarena.dialogue import Dialogue, Prediction, as_prediction  # noqa: E402
from segarena.errors import (  # noqa: E402
    InvalidImage,
    InvalidInput,
    InvalidPrompt,
    PluginInvalid,
    PredictionInvalid,
    SegmenterError,
)
from segarena.prompts import Box, Click, MaskPrompt, Scribble, Support  # noqa: E402
from segarena.samples import ImageSample, VideoSample  # noqa: E402

FRAMES, HEIGHT, WIDTH = SHAPE = (6, 60, 83)
SIDE = 128


@pytest.fixture(scope="module")
def folder(folder_of):
    return folder_of("sam2-video")


@pytest.fixture(scope="module")
def build(folder):
    """A function that builds the segmenter with options."""

    def written(**options):
        more = "".join(f", {name}={value!r}" for name, value in options.items())
        return registry.build(
            "segmenter", f"sam2-video(weights={str(folder)!r}, device='cpu'{more})"
        )

    return written


@pytest.fixture(scope="module")
def segmenter(build):
    return build()


@pytest.fixture(scope="module")
def model(segmenter):
    """The network itself, for the library. Read from the same file: kernels round by how weights lie in memory."""
    return segmenter.network.model


def frames_of(shape=SHAPE, seed=0):
    """A bright disc that moves over noise."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[: shape[1], : shape[2]]
    frames = []
    for time in range(shape[0]):
        frame = rng.normal((90, 110, 100), 25, (*shape[1:], 3))
        frame[(rows - 20 - 2 * time) ** 2 + (columns - 20 - 4 * time) ** 2 < 15**2] += (90, 20, -30)
        frames.append(frame.clip(0, 255).astype(np.uint8))
    return frames


def clip(shape=SHAPE, seed=0):
    return VideoSample(id="clip", frames=frames_of(shape, seed), frame_shape=shape[1:])


def ask(*rounds, previous=None):
    return Dialogue(tuple(rounds), previous)


def go_through(segmenter, encoded, rounds):
    """The predictions of all rounds, each with the one before."""
    dialogue, answers = Dialogue(), []
    for prompts in rounds:
        dialogue = dialogue.ask(prompts)
        (answer,) = segmenter.predict(encoded, [dialogue])
        answers.append(answer)
        dialogue = dialogue.answer(answer)
    return answers


class Library:
    """The library's session on the same video, with prompts entered by its processor."""

    def __init__(self, model, frames):
        self.model, self.shape = model, frames[0].shape[:2]
        # Its constructor asks for an image processor, and thus for torchvision; entering prompts needs neither.
        self.processor = transformers.Sam2VideoProcessor.__new__(transformers.Sam2VideoProcessor)
        self.processor.target_size, self.processor.point_pad_value = SIDE, -10
        self.session = transformers.Sam2VideoInferenceSession(
            video=torch.cat([self.pixels(frame) for frame in frames]),
            video_height=self.shape[0],
            video_width=self.shape[1],
            dtype=torch.float32,
        )
        self.low = {}

    @staticmethod
    def pixels(frame):
        planes = torch.from_numpy(frame).permute(2, 0, 1)[None].contiguous()
        planes = functional.interpolate(planes, (SIDE, SIDE), mode="bilinear", antialias=True)
        mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
        return ((planes.double() / 255).float() - mean.view(3, 1, 1)) / std.view(3, 1, 1)

    def enter(self, frame, ids, *, points=None, labels=None, boxes=None, masks=None):
        """Enter prompts, (x, y) as the library requires."""
        self.processor.add_inputs_to_inference_session(
            self.session,
            frame_idx=frame,
            obj_ids=list(ids),
            input_points=None
            if points is None
            else [[[list(map(float, point)) for point in of] for of in points]],
            input_labels=None if labels is None else [labels],
            input_boxes=None if boxes is None else [[list(map(float, box)) for box in boxes]],
            input_masks=masks,
        )

    def tell(self, frame, ids, **prompts):
        """Enter prompts and pass the frame to the library; return its low-resolution logits."""
        self.enter(frame, ids, **prompts)
        return self.model(self.session, frame_idx=frame).pred_masks

    def propagate(self, **how):
        for output in self.model.propagate_in_video_iterator(self.session, **how):
            order = np.argsort(output.object_ids).tolist()
            self.low[output.frame_idx] = output.pred_masks[order]
        return self

    def logits(self):
        """Logits of all frames in full size, (objects, T, H, W); frames that were not tracked are sure to be out."""
        count = len(self.session.obj_ids)
        full = np.full((count, self.session.num_frames, *self.shape), -np.inf, np.float32)
        for frame, low in self.low.items():
            full[:, frame] = functional.interpolate(
                low, self.shape, mode="bilinear", align_corners=False
            )[:, 0]
        return full


def labels_of(logits, ids):
    return np.where(
        logits.max(axis=0) > 0, np.array(ids, np.uint8)[logits.argmax(axis=0)], 0
    ).astype(np.uint8)


def ellipse(frame, row, column, shape=SHAPE):
    rows, columns = np.mgrid[: shape[1], : shape[2]]
    mask = np.zeros(shape, bool)
    mask[frame] = (rows - row) ** 2 / 2 + (columns - column) ** 2 < 10**2
    return mask


def is_telling(mask):
    """Return whether a comparison is meaningful: the object exists, does not fill the frames, and changes."""
    share = (mask > 0).mean(axis=(1, 2))
    return 0 < share.mean() < 1 and len(set(share.tolist())) > 1


ONE_OBJECT = {
    "a click": ((Click((0, 20, 25)),), {"points": [[(25, 20)]], "labels": [[1]]}),
    "clicks": (
        (Click((0, 20, 25)), Click((0, 59, 82), False), Click((0, 0, 0))),
        {"points": [[(25, 20), (82, 59), (0, 0)]], "labels": [[1, 0, 1]]},
    ),
    "a box": ((Box((0, 5, 8), (1, 40, 41)),), {"boxes": [(8, 5, 40, 39)]}),
    "a box and clicks": (
        (Click((0, 20, 25)), Box((0, 5, 8), (1, 40, 41)), Click((0, 50, 70), False)),
        {"boxes": [(8, 5, 40, 39)], "points": [[(25, 20), (70, 50)]], "labels": [[1, 0]]},
    ),
    "a mask": ((MaskPrompt(ellipse(0, 20, 25)),), {"masks": [ellipse(0, 20, 25)[0]]}),
    "a scribble": (
        (Scribble(((0.0, 10.0, 10.0), (0.0, 10.0, 40.0))),),
        {"points": [[(15, 10), (25, 10), (35, 10)]], "labels": [[1, 1, 1]]},
    ),
}


# From a frame in the middle, it is tracked both ways, whatever marks it: one kind of prompt with coordinates and one
# without are enough for every run.
@pytest.mark.parametrize(
    ("start", "named"),
    [
        *((0, named) for named in ONE_OBJECT),
        *(
            pytest.param(3, named, marks=[] if named in ("a click", "a mask") else pytest.mark.long)
            for named in ONE_OBJECT
        ),
    ],
)
def test_one_object_is_tracked_as_by_the_library(model, segmenter, named, start):
    prompts, told = ONE_OBJECT[named]
    sample = VideoSample(
        id="x", frames=frames_of()[-start:] + frames_of()[:-start], frame_shape=SHAPE[1:]
    )
    moved = tuple(shifted(prompt, start) for prompt in prompts)
    library = Library(model, sample.frames)
    library.tell(start, [1], **told)
    expected = library.propagate().propagate(reverse=True).logits()[0] > 0
    (answer,) = segmenter.predict(segmenter.encode(sample), [ask(moved)])
    assert answer.mask.dtype == np.bool_
    assert answer.logits is None
    assert is_telling(expected)
    assert np.array_equal(answer.mask, expected)


@pytest.mark.long
def test_a_video_longer_than_the_memory_is_tracked_as_by_the_library(model, segmenter):
    shape = (model.config.max_object_pointers_in_encoder + model.config.num_maskmem + 2, 37, 51)
    library = Library(model, frames_of(shape))
    library.tell(2, [1], points=[[(20, 15)]], labels=[[1]])
    library.tell(21, [1], boxes=[(5, 4, 30, 28)])
    expected = library.propagate().propagate(reverse=True).logits()[0] > 0
    prompts = (Click((2, 15, 20)), Box((21, 4, 5), (22, 29, 31)))
    (answer,) = segmenter.predict(segmenter.encode(clip(shape)), [ask(prompts)])
    assert is_telling(expected)
    assert np.array_equal(answer.mask, expected)


def shifted(prompt, by):
    match prompt:
        case Click():
            return Click((by, *prompt.position[1:]), prompt.is_positive)
        case Box():
            return Box((by, *prompt.start[1:]), (by + 1, *prompt.stop[1:]))
        case Scribble():
            return Scribble(
                tuple((float(by), *point[1:]) for point in prompt.points), prompt.is_positive
            )
        case MaskPrompt():
            return MaskPrompt(np.roll(prompt.mask, by, axis=0))


@pytest.mark.long
def test_logits_are_those_of_the_library_to_the_last_bit(model, build):
    library = Library(model, frames_of())
    library.tell(2, [1, 2], points=[[(25, 20)], [(70, 50)]], labels=[[1], [1]])
    library.propagate().propagate(reverse=True)
    expected = torch.stack([library.low[frame][:, 0] for frame in range(FRAMES)], dim=1)
    segmenter = build(feed_logits=True)
    prompts = (Click((2, 20, 25)), Click((2, 50, 70), object_id=2))
    (answer,) = segmenter.predict(segmenter.encode(clip()), [ask(prompts)])
    assert np.array_equal(answer.logits, expected.clamp(-32, 32).numpy().astype(np.float16))


@pytest.mark.long
def test_several_objects_in_several_frames_are_labelled_by_the_highest_logit(model, segmenter):
    library = Library(model, frames_of())
    library.tell(1, [2, 7], points=[[(25, 20)], [(70, 50)]], labels=[[1], [1]])
    library.tell(4, [5], masks=[ellipse(4, 30, 40)[4]])
    expected = labels_of(library.propagate().propagate(reverse=True).logits(), [2, 5, 7])
    prompts = (
        Click((1, 50, 70), object_id=7),
        MaskPrompt(ellipse(4, 30, 40), object_id=5),
        Click((1, 20, 25), object_id=2),
    )
    (answer,) = segmenter.predict(segmenter.encode(clip()), [ask(prompts)])
    assert answer.mask.dtype == np.uint8
    assert set(np.unique(expected)) == {0, 2, 5, 7}
    assert np.array_equal(answer.mask, expected)


def test_a_background_scribble_is_negative_for_every_object(model, segmenter):
    library = Library(model, frames_of())
    points = [[(25, 20), (50, 55)], [(70, 30), (50, 55)]]
    library.tell(0, [1, 2], points=points, labels=[[1, 0], [1, 0]])
    expected = labels_of(library.propagate().logits(), [1, 2])
    prompts = (
        Click((0, 20, 25)),
        Click((0, 30, 70), object_id=2),
        Scribble(((0.0, 55.0, 50.0),), object_id=0),
    )
    (answer,) = segmenter.predict(segmenter.encode(clip()), [ask(prompts)])
    assert np.array_equal(answer.mask, expected)


@pytest.mark.long
def test_a_second_round_about_the_same_frame_is_tracked_from_all_its_clicks(model, segmenter):
    library = Library(model, frames_of())
    library.tell(1, [1], points=[[(25, 20)]], labels=[[1]])
    first = library.propagate().propagate(reverse=True).logits()[0] > 0
    again = Library(model, frames_of())
    again.tell(1, [1], points=[[(25, 20), (50, 50)]], labels=[[1, 0]])
    second = again.propagate().propagate(reverse=True).logits()[0] > 0
    answers = go_through(
        segmenter, segmenter.encode(clip()), [(Click((1, 20, 25)),), (Click((1, 50, 50), False),)]
    )
    assert np.array_equal(answers[0].mask, first)
    assert np.array_equal(answers[1].mask, second)
    assert not np.array_equal(first, second)


ROUNDS = [
    (Click((1, 20, 25)), Click((1, 50, 70), object_id=2), Click((1, 5, 5), object_id=0)),
    (Click((4, 50, 30), False), Scribble(((4.0, 10.0, 60.0), (4.0, 30.0, 60.0)), object_id=2)),
    (Click((0, 40, 40)), Click((4, 12, 12), object_id=0)),
]


@pytest.mark.long
def test_alone_every_marked_frame_starts_as_in_one_session_of_the_library(model, build):
    library = Library(model, frames_of())
    library.tell(0, [1], points=[[(40, 40)]], labels=[[1]])
    points = [[(25, 20), (5, 5)], [(70, 50), (5, 5)]]
    library.tell(1, [1, 2], points=points, labels=[[1, 0], [1, 0]])
    along = [(60, 10 + 20 * share / 6) for share in (1, 3, 5)]
    # Entered together, the shorter list would be filled up with points that the network attends to.
    library.enter(4, [1], points=[[(30, 50), (12, 12)]], labels=[[0, 0]])
    library.enter(4, [2], points=[[*along, (12, 12)]], labels=[[1, 1, 1, 0]])
    library.session.obj_with_new_inputs = [1, 2]
    model(library.session, frame_idx=4)
    expected = labels_of(library.propagate().propagate(reverse=True).logits(), [1, 2])
    segmenter = build(corrections="alone")
    answers = go_through(segmenter, segmenter.encode(clip()), ROUNDS)
    assert np.array_equal(answers[2].mask, expected)


def test_a_tracked_frame_is_corrected_with_memory_as_the_library_decodes_it(model, build):
    library = Library(model, frames_of())
    library.tell(1, [1], points=[[(25, 20)]], labels=[[1]])
    library.propagate()
    corrected = library.tell(4, [1], points=[[(30, 50), (60, 10)]], labels=[[0, 1]])
    rounds = [(Click((1, 20, 25)),), (Click((4, 50, 30), False), Click((4, 10, 60)))]
    segmenter = build(feed_logits=True)
    encoded = segmenter.encode(clip())
    (answer,) = segmenter.predict(encoded, [ask(*rounds)])
    assert np.array_equal(
        answer.logits[0, 4], corrected[0, 0].clamp(-32, 32).numpy().astype(np.float16)
    )
    # The library forgets it when it comes by again; here the other frames know it too.
    expected = library.low[4][0, 0].clamp(-32, 32).numpy().astype(np.float16)
    assert not np.array_equal(answer.logits[0, 4], expected)
    (before,) = segmenter.predict(encoded, [ask(rounds[0])])
    assert not np.array_equal(before.logits[0, 2], answer.logits[0, 2])


def test_previous_logits_reach_the_network_as_in_the_library_s_single_steps(model, build):
    segmenter = build(feed_logits=True)
    encoded = segmenter.encode(clip())
    first, second = go_through(
        segmenter, encoded, [(Click((0, 20, 25)),), (Click((0, 50, 50), False),)]
    )
    library = Library(model, frames_of())
    points = {
        "point_coords": torch.tensor([[[[25.0, 20.0], [50.0, 50.0]]]])
        * torch.tensor([SIDE / WIDTH, SIDE / HEIGHT]),
        "point_labels": torch.tensor([[[1, 0]]], dtype=torch.int32),
    }
    library.session.obj_id_to_idx(1)
    with torch.inference_mode():
        step = library.model._run_single_frame_inference(
            inference_session=library.session,
            frame_idx=0,
            obj_idx=0,
            batch_size=1,
            is_init_cond_frame=True,
            point_inputs=points,
            mask_inputs=None,
            reverse=False,
            prev_sam_mask_logits=torch.from_numpy(first.logits[0, 0].astype(np.float32))[
                None, None
            ],
        )
    expected = step["pred_masks"][0, 0].clamp(-32, 32).numpy().astype(np.float16)
    assert np.array_equal(second.logits[0, 0], expected)
    (without,) = segmenter.predict(
        encoded, [ask((Click((0, 20, 25)),), (Click((0, 50, 50), False),))]
    )
    assert not np.array_equal(without.logits[0, 0], expected)


def test_a_scribble_as_mask_is_the_hint_that_the_library_is_given_for_a_drawn_line(model, build):
    segmenter = build(scribbles="mask")
    line = Scribble(((0.0, 10.0, 10.0), (0.0, 10.0, 40.0)))
    (answer,) = segmenter.predict(
        segmenter.encode(clip()), [ask((line, Click((0, 50, 50), False)))]
    )
    drawn = np.zeros(SHAPE[1:], np.float32)
    drawn[10, 10:41] = 1
    low = functional.interpolate(
        torch.from_numpy(drawn)[None, None], (32, 32), mode="bilinear", antialias=True
    )
    library = Library(model, frames_of())
    handle = model.prompt_encoder.register_forward_pre_hook(
        lambda _, args, named: (args, named | {"input_masks": low * 20 - 10}), with_kwargs=True
    )
    low_logits = library.tell(0, [1], points=[[(50, 50)]], labels=[[0]])
    handle.remove()
    full = functional.interpolate(low_logits, SHAPE[1:], mode="bilinear", align_corners=False)[
        0, 0
    ].numpy()
    assert 0 < (full > 0).mean() < 1
    assert np.array_equal(answer.mask[0], full > 0)


@pytest.mark.long
@pytest.mark.parametrize(
    "options", [{"corrections": "alone"}, {"feed_logits": True, "scribbles": "mask"}]
)
def test_round_three_is_replayed_from_its_stored_dialogue_alone(build, options):
    live, fresh = build(**options), build(**options)
    encoded = live.encode(clip())
    answers = go_through(live, encoded, ROUNDS)
    stored = Dialogue(tuple(ROUNDS), Prediction(answers[1].mask.copy(), answers[1].logits))
    other = ask((Click((0, 10, 10)),))
    fresh.predict(fresh.encode(clip(seed=1)), [other])
    fresh_encoded = fresh.encode(clip())
    alone = fresh.predict(fresh_encoded, [stored])[0]
    in_batch = live.predict(encoded, [other, stored, other])[1]
    for again in (alone, in_batch):
        assert np.array_equal(again.mask, answers[2].mask)
        assert (again.logits is None) == (answers[2].logits is None)
        assert again.logits is None or np.array_equal(again.logits, answers[2].logits)


def counted_calls(segmenter):
    calls = []
    handle = segmenter.network.model.vision_encoder.register_forward_hook(
        lambda *_: calls.append(1)
    )
    return calls, handle


@pytest.mark.long
def test_each_frame_is_encoded_once_whatever_is_asked(segmenter):
    calls, handle = counted_calls(segmenter)
    encoded = segmenter.encode(clip())
    assert encoded.passes == len(calls) == 0
    go_through(segmenter, encoded, ROUNDS)
    segmenter.predict(encoded, [ask((Click((3, 9, 9)),)), ask((Click((5, 9, 9), object_id=3),))])
    handle.remove()
    assert encoded.passes == len(encoded.pass_seconds) == len(calls) == FRAMES
    assert min(encoded.pass_seconds) > 0


def test_frames_before_the_first_marked_one_are_neither_loaded_nor_tracked_when_not_wanted(build):
    class Lazy(list):
        loaded = ()

        def __getitem__(self, index):
            self.loaded = (*self.loaded, index)
            return super().__getitem__(index)

    frames = Lazy(frames_of())
    segmenter = build(backwards=False)
    encoded = segmenter.encode(VideoSample(id="x", frames=frames, frame_shape=SHAPE[1:]))
    assert frames.loaded == ()
    (answer,) = segmenter.predict(encoded, [ask((Click((2, 20, 25)),))])
    assert sorted(frames.loaded) == [2, 3, 4, 5]
    assert not answer.mask[:2].any()
    assert answer.mask[2:].any()
    # A frame that is corrected is answered, wherever it lies.
    segmenter.predict(encoded, [ask((Click((2, 20, 25)),), (Click((1, 5, 5)),))])
    assert sorted(frames.loaded) == [1, 2, 3, 4, 5]


# One frame fits and the others do not.
@pytest.mark.long
@pytest.mark.parametrize(
    "kept", [1, *(pytest.param(kept, marks=pytest.mark.long) for kept in (0, 4))]
)
def test_what_does_not_fit_is_encoded_again_and_changes_nothing(build, segmenter, kept):
    one_frame_bytes = 4 * (32 * 32 * 16 + 16 * 16 * 32 + 8 * 8 * 128)
    tight = build(features_gb=(kept + 0.5) * one_frame_bytes / 1e9)
    prompts = [(Click((0, 20, 25)),), (Click((4, 10, 10), False),)]
    encoded = tight.encode(clip())
    answers = go_through(tight, encoded, prompts)
    expected = go_through(segmenter, segmenter.encode(clip()), prompts)
    assert all(
        np.array_equal(one.mask, other.mask) for one, other in zip(answers, expected, strict=True)
    )
    # Round 2 walks to the corrected frame and then anew; frames whose answer stands are not looked at again.
    assert encoded.passes == FRAMES + sum(frame >= kept for frame in (0, 1, 2, 3, 4, 1, 2, 3, 5))


@pytest.mark.parametrize("shape", [(1, 60, 83), (1, 1, 1), (2, 1, 37), (3, 129, 127), (2, 200, 3)])
@pytest.mark.parametrize("kind", ["click", "box", "mask", "scribble"])
def test_odd_sizes_are_answered(segmenter, shape, kind):
    last = (shape[0] - 1, shape[1] - 1, shape[2] - 1)
    everywhere = np.zeros(shape, bool)
    everywhere[0] = True
    prompt = {
        "click": Click(last),
        "box": Box((0, 0, 0), (1, *shape[1:])),
        "mask": MaskPrompt(everywhere),
        "scribble": Scribble(((0.0, 0.0, 0.0), (0.0, *map(float, last[1:])))),
    }[kind]
    rounds = [(prompt,), (Click((shape[0] - 1, 0, 0), False), prompt)]
    for answer in go_through(segmenter, segmenter.encode(clip(shape)), rounds):
        assert as_prediction(answer, shape).mask.shape == shape
    assert kind != "mask" or answer.mask[0].all()


def test_labels_and_bool_masks_both_fit_a_target_of_two_objects(segmenter):
    encoded = segmenter.encode(clip())
    one, two = segmenter.predict(encoded, [ask(ROUNDS[0][:1]), ask(ROUNDS[0])])
    assert as_prediction(one, SHAPE, objects=2).mask.dtype == np.bool_
    assert as_prediction(two, SHAPE, objects=2).mask.dtype == np.uint8
    assert set(np.unique(two.mask)) == {0, 1, 2}
    # An answer about object 2 alone holds no 1.
    (second,) = segmenter.predict(encoded, [ask(ROUNDS[0][1:2])])
    assert set(np.unique(second.mask)) == {0, 2}


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["bfloat16", pytest.param("float16", marks=pytest.mark.long)])
def test_half_precision_gives_nearly_the_same_masks_in_marked_frames(build, segmenter, dtype):
    half = build(dtype=dtype)
    prompts = (MaskPrompt(ellipse(0, 20, 25)), Click((3, 50, 50)))
    (exact,) = segmenter.predict(segmenter.encode(clip()), [ask(prompts)])
    (near,) = half.predict(half.encode(clip()), [ask(prompts)])
    assert (near.mask == exact.mask)[[0, 3]].mean() > 0.97


def test_a_threshold_above_all_logits_leaves_nothing(build):
    segmenter = build(threshold=1e6)
    (answer,) = segmenter.predict(segmenter.encode(clip()), [ask(ROUNDS[0])])
    assert not answer.mask.any()


@pytest.mark.parametrize(
    ("prompts", "error", "message"),
    [
        ((), SegmenterError, "has no prompts"),
        ((Click((6, 0, 0)),), InvalidPrompt, "outside"),
        ((Click((3, 4)),), InvalidPrompt, "3 coordinates"),
        ((Click((0, 0, 0), object_id=0),), SegmenterError, "no prompt marks object 1"),
        (
            (
                Support(
                    ImageSample(id="s", image=np.zeros((4, 4, 3), np.uint8)), np.zeros((4, 4), bool)
                ),
            ),
            SegmenterError,
            "got 'support'",
        ),
    ],
)
def test_bad_prompts_are_refused(segmenter, prompts, error, message):
    with pytest.raises(error, match=message):
        segmenter.predict(segmenter.encode(clip()), [ask(prompts)])


def test_logits_of_another_segmenter_are_refused(build):
    segmenter = build(feed_logits=True)
    foreign = Prediction(np.zeros(SHAPE, bool), np.zeros((32, 32), np.float32))
    with pytest.raises(SegmenterError, match="they come from another segmenter"):
        segmenter.predict(segmenter.encode(clip()), [ask(ROUNDS[0], ROUNDS[1], previous=foreign)])


def test_what_is_no_video_is_refused(segmenter):
    with pytest.raises(SegmenterError, match="accepts only videos, got a ImageSample"):
        segmenter.encode(ImageSample(id="i", image=np.zeros((4, 4, 3), np.uint8)))
    with pytest.raises(InvalidInput, match="expected frames with pixels"):
        segmenter.encode(VideoSample(id="v", frames=[], frame_shape=(4, 4)))
    mixed = VideoSample(
        id="v", frames=[*frames_of()[:2], np.zeros((4, 4, 3), np.uint8)], frame_shape=SHAPE[1:]
    )
    deep = VideoSample(id="v", frames=[np.zeros((4, 4, 3), np.uint16)], frame_shape=(4, 4))
    with pytest.raises(InvalidImage, match=r"frame 2: expected \(60, 83\) pixels, got \(4, 4\)"):
        segmenter.predict(segmenter.encode(mixed), [ask((Click((0, 0, 0)),))])
    with pytest.raises(InvalidImage, match="frame 0: expected 8-bit"):
        segmenter.predict(segmenter.encode(deep), [ask((Click((0, 0, 0)),))])


def test_a_network_that_gives_nan_is_said(build):
    segmenter = build()
    with torch.no_grad():
        segmenter.network.model.mask_decoder.upscale_conv1.weight.fill_(float("nan"))
    with pytest.raises(PredictionInvalid, match="NaN or infinity in frame 0"):
        segmenter.predict(segmenter.encode(clip()), [ask((Click((0, 0, 0)),))])
    assert not segmenter.network.model.prompt_encoder._forward_pre_hooks


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("device='cuda:9'", "device='cuda:9' does not exist"),
        ("dtype='int8'", "expected one of 'float32', 'bfloat16', 'float16'"),
        ("scribbles='lines'", "expected one of 'points', 'mask'"),
        ("scribble_points=0", "expected a whole number of at least 1"),
        ("corrections='none'", "expected one of 'memory', 'alone'"),
        ("features_gb=-1", "expected a finite number of at least 0"),
    ],
)
def test_options_that_do_not_exist_are_refused_before_weights_are_read(option, message):
    with pytest.raises(PluginInvalid, match=message):
        registry.build("segmenter", f"sam2-video(weights='nowhere', {option})")


def test_weights_that_are_not_there_or_of_another_family_are_refused(folder):
    with pytest.raises(PluginInvalid, match="'weights'"):
        registry.build("segmenter", "sam2-video")
    with pytest.raises(InvalidInput, match="nowhere"):
        registry.build("segmenter", "sam2-video(weights='nowhere')")
    with pytest.raises(InvalidInput, match="it is of the family 'sam2'"):
        registry.build("segmenter", f"sam(weights={str(folder)!r})")


def test_without_torch_it_says_how_to_get_it():
    program = """
import sys
sys.modules["torch"] = None  # as if it were not installed
from segarena.errors import MissingExtra
from segarena.registry import build
try:
    build("segmenter", "sam2-video(weights='nowhere')")
except MissingExtra as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert 'pip install "segarena[models]"' in done.stdout
