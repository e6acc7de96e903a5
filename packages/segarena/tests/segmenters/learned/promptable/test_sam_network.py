"""Comparison with the library's own pipeline: its processor if it works without torchvision, else plain torch."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from PIL import Image  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from segarena.dialogue import Dialogue, Prediction  # noqa: E402
from segarena.errors import InvalidPrompt, PredictionInvalid, SegmenterError  # noqa: E402
from segarena.prompts import Box, Click, MaskPrompt, Scribble  # noqa: E402
from segarena.segmenters.learned.promptable import device_logits, devices  # noqa: E402
from segarena.segmenters.learned.promptable.devices import BatchRunner  # noqa: E402
from segarena.segmenters.learned.promptable.inference_options import ImageOptions  # noqa: E402
from segarena.segmenters.learned.promptable.sam_network import SAM_VARIANTS, SamNetwork  # noqa: E402
from segarena.segmenters.learned.promptable.tensor_serialization import model_fingerprint  # noqa: E402

SHAPE = (60, 83)
CLICKS = [
    Click((20, 20)),
    Click((45, 70), False),
    Click((0, 0)),
    Click((59, 82), False),
    Click((30, 5)),
]
ALWAYS = ImageOptions(multimask="always")


def photograph(shape=SHAPE, seed=0):
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    image = rng.normal((90, 110, 100), 25, (*shape, 3))
    image[(rows - 20) ** 2 + (columns - 20) ** 2 < 15**2] += (90, 20, -30)
    return image.clip(0, 255).astype(np.uint8)


def library_inputs(family, side, image, clicks, box):
    """Pixels and prompts as the library prepares them, and a function from low logits to full ones."""
    height, width = image.shape[:2]
    points = [[[[float(c.position[1]), float(c.position[0])] for c in clicks]]] if clicks else None
    labels = [[[int(c.is_positive) for c in clicks]]] if clicks else None
    boxes = (
        [[[float(box.start[1]), float(box.start[0]), box.stop[1] - 1.0, box.stop[0] - 1.0]]]
        if box
        else None
    )
    if family in ("sam", "sam-hq"):
        from transformers import SamProcessor
        from transformers.models.sam.image_processing_pil_sam import SamImageProcessorPil

        square = {"height": side, "width": side}
        processor = SamProcessor(SamImageProcessorPil(size={"longest_edge": side}, pad_size=square))
        given = processor(
            images=Image.fromarray(image),
            input_points=points and points[0],
            input_labels=labels and labels[0],
            input_boxes=boxes,
            return_tensors="pt",
        )
        sizes = given.pop("original_sizes"), given.pop("reshaped_input_sizes")

        def enlarge(low):
            return processor.image_processor.post_process_masks([low], *sizes, binarize=False)[0]

        return dict(given), enlarge
    planes = torch.from_numpy(image).permute(2, 0, 1)[None].contiguous()
    planes = functional.interpolate(planes, (side, side), mode="bilinear", antialias=True)
    planes = (planes.double() / 255).float()
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    if family == "sam3-tracker":
        mean = std = (0.5, 0.5, 0.5)
    given = {
        "pixel_values": (planes - torch.tensor(mean).view(3, 1, 1))
        / torch.tensor(std).view(3, 1, 1)
    }
    scale = torch.tensor([side / width, side / height])
    if clicks:
        given |= {
            "input_points": torch.tensor(points) * scale,
            "input_labels": torch.tensor(labels),
        }
    if box:
        given["input_boxes"] = (torch.tensor(boxes).view(1, 1, 2, 2) * scale).view(1, 1, 4)

    def enlarge(low):
        return functional.interpolate(low, (height, width), mode="bilinear", align_corners=False)

    return given, enlarge


def library_answer(model, family, image, clicks, box=None, low=None, several=True):
    """Mask, low logits of the best mask, and its score, with a new pass of the encoder."""
    side = model.config.prompt_encoder_config.image_size
    given, enlarge = library_inputs(family, side, image, clicks, box)
    if low is not None:
        given["input_masks"] = low[None, None]
    with torch.no_grad():
        answer = model(**given, multimask_output=several)
    best = int(answer.iou_scores[0, 0].argmax())
    chosen = answer.pred_masks[:, :, best]
    return enlarge(chosen)[0, 0].numpy() > 0, chosen[0, 0], float(answer.iou_scores[0, 0, best])


@pytest.fixture(params=list(SAM_VARIANTS))
def family(request):
    return request.param


@pytest.fixture
def model(family, tiny_model):
    return tiny_model(family)


def network_of(model, family, habits=None, size=1):
    return SamNetwork(model, family, habits or ImageOptions(), BatchRunner(size))


def talk(network, encoded, rounds):
    dialogue, answers = Dialogue(), []
    for prompts in rounds:
        dialogue = dialogue.ask(prompts)
        (answer,) = network.predict(encoded, [dialogue])
        dialogue = dialogue.answer(answer)
        answers.append(answer)
    return answers


def same(ours, mask, low, *, family):
    limit = SAM_VARIANTS[family].logits_limit
    low = low if limit is None else low.clamp(-limit, limit)
    assert torch.equal(torch.from_numpy(ours.logits), low)
    assert np.array_equal(ours.mask, mask)


@pytest.mark.parametrize("shape", [SHAPE, (83, 60), (128, 128), (300, 200)])
def test_five_rounds_of_clicks_give_the_masks_and_logits_of_the_library(family, model, shape):
    image = photograph(shape)
    last = (shape[0] - 1, shape[1] - 1)
    clicks = [CLICKS[0], Click((45, 50), False), Click((0, 0)), Click(last, False), Click((30, 5))]
    network = network_of(model, family, ALWAYS)
    answers = talk(network, network.encode(image), [(click,) for click in clicks])
    low, shares = None, []
    for count, ours in enumerate(answers, 1):
        mask, low, score = library_answer(model, family, image, clicks[:count], low=low)
        same(ours, mask, low, family=family)
        assert ours.score == score
        low = torch.from_numpy(ours.logits)
        shares.append(mask.mean())
    assert any(0.01 < share < 0.99 for share in shares)  # otherwise equal masks would say little


@pytest.mark.parametrize("habits", [ALWAYS, ImageOptions(multimask="never")])
def test_a_box_alone_and_with_a_click_gives_what_the_library_gives(family, model, habits):
    image, box = photograph(), Box((5, 6), (41, 50))
    network = network_of(model, family, habits)
    encoded = network.encode(image)
    several = habits.multimask == "always"
    for clicks in ([], [Click((20, 20))]):
        (ours,) = network.predict(encoded, [Dialogue().ask((box, *clicks))])
        mask, low, _ = library_answer(model, family, image, clicks, box, several=several)
        same(ours, mask, low, family=family)


def test_a_drawn_mask_reaches_the_network_as_logits_where_it_was_drawn(family, model):
    image, drawn = photograph(), np.zeros(SHAPE, bool)
    drawn[10:40, 20:70] = True
    network = network_of(model, family, ALWAYS)
    encoded = network.encode(image)
    low = torch.from_numpy(encoded.space.mask_logits(drawn, network.low_side))
    (ours,) = network.predict(encoded, [Dialogue().ask((MaskPrompt(drawn),))])
    mask, chosen, _ = library_answer(model, family, image, [], low=low)
    same(ours, mask, chosen, family=family)
    assert (encoded.space.upsample(low[None])[0].numpy() > 0)[12:38, 22:68].all()
    assert ((encoded.space.upsample(low[None])[0].numpy() > 0) & ~drawn).mean() < 0.06


def test_a_batch_gives_exactly_what_single_calls_give_on_the_cpu(family, model):
    network = network_of(model, family)
    encoded = network.encode(photograph())
    first = network.predict(encoded, [Dialogue().ask((CLICKS[0],))])[0]
    dialogues = [
        Dialogue().ask((CLICKS[0],)),
        Dialogue().ask((CLICKS[0],)).answer(first).ask((CLICKS[1],)),
        Dialogue().ask((Box((3, 3), (50, 60)),)),
        Dialogue().ask((CLICKS[4],)),
        Dialogue().ask((CLICKS[0], CLICKS[1])),
    ]
    together = network.predict(encoded, dialogues)
    for dialogue, batched in zip(dialogues, together, strict=True):
        (alone,) = network.predict(encoded, [dialogue])
        assert np.array_equal(alone.mask, batched.mask)
        assert np.array_equal(alone.logits, batched.logits)
        assert alone.score == batched.score


def test_larger_batches_differ_by_rounding_only(family, model):
    encoded = network_of(model, family).encode(photograph())
    dialogues = [Dialogue().ask((click,)) for click in CLICKS] + [Dialogue().ask(tuple(CLICKS[:2]))]
    singly = network_of(model, family).predict(encoded, dialogues)
    together = network_of(model, family, size=4).predict(encoded, dialogues)
    for alone, batched in zip(singly, together, strict=True):
        np.testing.assert_allclose(alone.logits, batched.logits, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(1, 1), (3000, 20), (20, 3000), (30000, 2)])
def test_images_of_odd_shapes_are_answered_at_their_corners(family, model, shape):
    network = network_of(model, family)
    encoded = network.encode(photograph(shape))
    height, width = shape
    corners = [Click((row, column)) for row in {0, height - 1} for column in {0, width - 1}]
    answers = network.predict(
        encoded, [*(Dialogue().ask((c,)) for c in corners), Dialogue().ask((Box((0, 0), shape),))]
    )
    assert all(answer.mask.shape == shape and answer.mask.dtype == bool for answer in answers)


def test_previous_logits_change_the_answer_and_the_published_reset_drops_them(family, model):
    image = photograph()
    published = network_of(
        model, family, ImageOptions(multimask="always", after_negative="published-reset")
    )
    encoded = published.encode(image)
    (first,) = published.predict(encoded, [Dialogue().ask((CLICKS[0],))])
    second = Dialogue().ask((CLICKS[0],)).answer(first).ask((CLICKS[1],))
    (dropped,) = published.predict(encoded, [second])
    (kept,) = network_of(model, family, ALWAYS).predict(encoded, [second])
    (without,) = published.predict(encoded, [Dialogue(rounds=second.rounds)])
    assert np.array_equal(dropped.logits, without.logits)
    assert not np.array_equal(dropped.logits, kept.logits)
    third = second.answer(kept).ask((CLICKS[2],))  # two positive clicks now: kept from here on
    assert np.array_equal(
        published.predict(encoded, [third])[0].logits,
        network_of(model, family, ALWAYS).predict(encoded, [third])[0].logits,
    )


def test_first_click_asks_for_several_masks_and_later_rounds_for_one(family, model):
    image = photograph()
    network = network_of(model, family)
    answers = talk(network, network.encode(image), [(click,) for click in CLICKS[:2]])
    mask, low, _ = library_answer(model, family, image, CLICKS[:1], several=True)
    same(answers[0], mask, low, family=family)
    low = torch.from_numpy(answers[0].logits)
    mask, low, _ = library_answer(model, family, image, CLICKS[:2], low=low, several=False)
    same(answers[1], mask, low, family=family)


def test_the_chosen_mask_is_the_named_one(tiny_model):
    model, image = tiny_model("sam"), photograph()
    given, enlarge = library_inputs("sam", 128, image, CLICKS[:1], None)
    with torch.no_grad():
        low = model(**given).pred_masks[0]
    masks = enlarge(low)[0].numpy()
    for index, choice in enumerate(["first", "second", "third"]):
        network = network_of(model, "sam", ImageOptions(mask_choice=choice, threshold=0.25))
        (ours,) = network.predict(network.encode(image), [Dialogue().ask((CLICKS[0],))])
        assert np.array_equal(ours.mask, masks[index] > 0.25)


@pytest.mark.parametrize(
    ("dialogue", "error", "message"),
    [
        (Dialogue(), SegmenterError, "round 0 has no prompts; expected a click, a box or a mask"),
        (Dialogue(((CLICKS[0],), ())), SegmenterError, "round 2 has no prompts"),
        (
            Dialogue().ask((Scribble(((1.0, 1.0),)),)),
            SegmenterError,
            "expected prompts of kind box, click, mask",
        ),
        (Dialogue().ask((Click((1, 1), object_id=2),)), SegmenterError, "about one object"),
        (Dialogue().ask((Click((60, 0)),)), InvalidPrompt, "lies outside a sample of shape"),
        (
            Dialogue().ask((MaskPrompt(np.zeros((3, 3), bool)),)),
            InvalidPrompt,
            "mask prompt: expected the shape",
        ),
        (
            Dialogue(
                ((CLICKS[0],),), Prediction(np.zeros(SHAPE, bool), np.zeros((7, 7), np.float32))
            ),
            SegmenterError,
            r"previous logits: expected shape \(32, 32\), got \(7, 7\)",
        ),
    ],
)
def test_what_cannot_be_answered_says_why(tiny_model, dialogue, error, message):
    network = network_of(tiny_model("sam"), "sam")
    with pytest.raises(error, match=message):
        network.predict(network.encode(photograph()), [dialogue])


def test_logits_that_are_no_numbers_are_an_error_and_not_an_empty_mask(tiny_model):
    import copy

    model = copy.deepcopy(tiny_model("sam"))
    with torch.no_grad():
        model.mask_decoder.upscale_conv2.bias.fill_(torch.nan)
    network = network_of(model, "sam")
    with pytest.raises(PredictionInvalid, match=r"NaN or infinity as torch\.float32"):
        network.predict(network.encode(photograph()), [Dialogue().ask((CLICKS[0],))])


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_stays_near_single_precision(family, model, dtype):
    import copy

    half = network_of(copy.deepcopy(model).to(getattr(torch, dtype)), family)
    full = network_of(model, family)
    dialogue = Dialogue().ask((Box((5, 6), (41, 50)), CLICKS[0]))
    (rough,) = half.predict(half.encode(photograph()), [dialogue])
    (exact,) = full.predict(full.encode(photograph()), [dialogue])
    assert rough.logits.dtype == np.float32
    spread = exact.logits.std()
    tolerance = 0.25 if dtype == "bfloat16" else 0.05
    assert np.abs(rough.logits - exact.logits).mean() < tolerance * spread


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_packed_encoding_is_the_same_to_the_last_bit(family, model, dtype):
    import copy

    network = network_of(copy.deepcopy(model).to(getattr(torch, dtype)), family)
    encoded = network.encode(photograph())
    arrays = {name: np.array(array) for name, array in network.pack(encoded).items()}
    again = network.unpack(arrays)
    assert again.space == encoded.space
    dialogue = Dialogue().ask((CLICKS[0],))
    (live,), (read,) = network.predict(encoded, [dialogue]), network.predict(again, [dialogue])
    assert np.array_equal(live.mask, read.mask)
    assert np.array_equal(live.logits, read.logits)


def test_the_fingerprint_changes_with_a_single_weight(tiny_model):
    import copy

    model = copy.deepcopy(tiny_model("sam"))
    before = model_fingerprint(model)
    assert before == model_fingerprint(tiny_model("sam"))
    with torch.no_grad():
        model.mask_decoder.iou_token.weight[0, 0] += 1
    assert model_fingerprint(model) != before


def test_when_memory_runs_out_the_same_answers_come_in_smaller_batches(tiny_model, monkeypatch):
    model = tiny_model("sam")
    dialogues = [Dialogue().ask((click,)) for click in CLICKS]
    encoded = network_of(model, "sam").encode(photograph())
    singly = network_of(model, "sam").predict(encoded, dialogues)
    forward = model.forward

    def small(*, image_embeddings, **arguments):
        if len(image_embeddings) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return forward(image_embeddings=image_embeddings, **arguments)

    monkeypatch.setattr(model, "forward", small)
    with pytest.warns(
        RuntimeWarning, match="out of memory with 5 dialogues at once; continuing with 2"
    ):
        together = network_of(model, "sam", size=8).predict(encoded, dialogues)
    for alone, batched in zip(singly, together, strict=True):
        np.testing.assert_allclose(alone.logits, batched.logits, rtol=1e-4, atol=1e-4)


def test_an_image_that_does_not_fit_into_memory_is_an_error(tiny_model, monkeypatch):
    network = network_of(tiny_model("sam"), "sam")

    def full(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(network.model, "get_image_embeddings", full)
    with pytest.raises(SegmenterError, match="out of memory while encoding one image"):
        network.encode(photograph())


@pytest.fixture
def copies(monkeypatch):
    """The shapes that leave the device; the CPU plays the device."""
    shapes = []

    def copy(tensor):
        shapes.append(tuple(tensor.shape))
        return tensor.numpy()

    monkeypatch.setattr(devices, "copy_to_host", copy)
    monkeypatch.setattr(device_logits, "copy_to_host", copy)
    return shapes


class Waits(TorchDispatchMode):
    """Counts operations that wait for the device because they return a number to Python."""

    count = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.count += operation is torch.ops.aten._local_scalar_dense.default
        return operation(*args, **(kwargs or {}))


def on_a_device(model, family, size, limit_bytes=10**6):
    """A network that treats the CPU as a device with memory of its own for logits."""
    network = network_of(model, family, size=size)
    network.pool = device_logits.LogitsPool(limit_bytes)
    return network


def test_one_copy_per_batch_leaves_the_device_and_logits_stay_there(family, model, copies):
    network = on_a_device(model, family, size=8)
    encoded = network.encode(photograph())
    dialogues = [Dialogue().ask((click,)) for click in CLICKS]
    for _ in range(3):
        copies.clear()
        with Waits() as waits:
            answers = network.predict(encoded, dialogues)
        assert len(copies) == 1
        assert waits.count == 0
        assert all(answer.logits.is_on_device for answer in answers)
        dialogues = [
            dialogue.answer(answer).ask((CLICKS[1],))
            for dialogue, answer in zip(dialogues, answers, strict=True)
        ]


def test_answers_do_not_depend_on_where_logits_are(family, model):
    here = network_of(model, family)
    encoded = here.encode(photograph())
    rounds = [(click,) for click in CLICKS]
    wanted = talk(here, encoded, rounds)
    # Room for one: all logits but the newest are spilled.
    for limit_bytes in (10**6, 4 * 32 * 32, 0):
        there = on_a_device(model, family, size=1, limit_bytes=limit_bytes)
        for ours, theirs in zip(talk(there, encoded, rounds), wanted, strict=True):
            assert np.array_equal(ours.mask, theirs.mask)
            assert np.array_equal(np.asarray(ours.logits), theirs.logits)
            assert ours.score == theirs.score


@pytest.mark.parametrize(
    "scores", [[[0.2, 0.9, 0.9]], [[0.5, 0.5, 0.5]], [[0.1, float("nan"), 0.9]], [[0.3]]]
)
def test_the_best_of_equal_scores_is_the_first_as_in_numpy(tiny_model, scores):
    network = network_of(tiny_model("sam"), "sam")
    scores = torch.tensor(scores)
    assert network._choose(scores).tolist() == scores.numpy().argmax(axis=1).tolist()
    third = network_of(tiny_model("sam"), "sam", ImageOptions(mask_choice="third"))
    assert third._choose(scores).tolist() == [min(2, scores.shape[1] - 1)]
