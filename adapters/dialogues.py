"""Run adapters and published code through the same dialogues, with the same random weights.

Each function returns the arrays that a network reads and the masks that follow, from the adapter
and from the published code, for `preprocessing.py` to compare. The published evaluation places the
clicks. The adapter answers all dialogues in turn, round by round, as in a benchmark.
"""

from __future__ import annotations

import ast
import copy
import importlib.util
import sys
import tempfile
import typing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

SHAPES = ((97, 131), (240, 163), (301, 517))
"""Image shapes: smaller than a network's window, in portrait format, and larger than the window."""

LARGE_SHAPES = ((257, 163), (301, 517), (512, 511))
"""Image shapes that SAM-Med2D's published test resizes."""

SMALL_SHAPES = ((97, 131), (255, 163))
"""Image shapes that SAM-Med2D's published test pads."""

ROUNDS = 4
THRESHOLD = 0.49
"""Threshold of the probabilities in all published evaluations of clicks."""

Arrays = list[Any]
Pair = tuple[str, Arrays, Arrays]
"""A name, the arrays of the adapter and those of the published code."""


class Watched:
    """A published predictor that keeps the masks of all rounds and the clicks of the last round."""

    def __init__(self, predictor: Any) -> None:
        self.predictor = predictor
        self.masks: Arrays = []
        self.clicks: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.predictor, name)

    def get_prediction(self, clicker: Any) -> Any:
        """Return the probabilities, as the predictors of RITM and its successors do."""
        return self.keep(clicker, self.predictor.get_prediction(clicker))

    def predict(self, clicker: Any) -> Any:
        """Return the probabilities, as SegNext's predictor does."""
        return self.keep(clicker, self.predictor.predict(clicker))

    def keep(self, clicker: Any, probabilities: Any) -> Any:
        """Keep the mask and all clicks so far, and return the probabilities."""
        self.masks.append(probabilities > THRESHOLD)
        self.clicks = [
            SimpleNamespace(
                kind="click",
                position=tuple(int(side) for side in click.coords),
                is_positive=bool(click.is_positive),
            )
            for click in clicker.get_clicks()
        ]
        return probabilities


def scene(shape: tuple[int, int], seed: int) -> tuple[Any, Any]:
    """Return a random image (H, W, 3) of noise in blocks, and the mask of an ellipse."""
    rng = np.random.default_rng(seed)
    blocks = rng.integers(0, 200, (shape[0] // 9 + 1, shape[1] // 9 + 1, 3))
    image = np.kron(blocks, np.ones((9, 9, 1), np.int64))[: shape[0], : shape[1]]
    image = image + rng.integers(0, 56, image.shape)
    rows, columns = np.indices(shape)
    distance = ((rows / shape[0] - 0.55) / 0.2) ** 2 + ((columns / shape[1] - 0.4) / 0.15) ** 2
    return image.astype(np.uint8), (distance < 1).astype(np.int32)


class Inputs:
    """Records the tensors that are passed to modules of a network, until `take` returns them."""

    def __init__(self, *modules: Any) -> None:
        self.seen: Arrays = []
        for module in modules:
            module.register_forward_pre_hook(self.keep, with_kwargs=True)

    def keep(self, _module: Any, positional: Sequence[Any], named: dict[str, Any]) -> None:
        """Copy all tensors among the arguments of a module."""
        for value in (*positional, *named.values()):
            tensors = value if isinstance(value, tuple) else (value,)
            for each in tensors:
                if hasattr(each, "detach"):
                    self.seen.append(each.detach().clone().double().numpy())

    def take(self) -> Arrays:
        """Return the recorded tensors and remove them."""
        taken = self.seen
        self.seen = []
        return taken


def standardized(logits: Any) -> Any:
    """Return random logits, standardized to mean 0 and deviation 1, so that masks are neither empty nor full."""
    return (logits - logits.mean().detach()) / (logits.std().detach() + 1e-6)


def add_bumps(logits: Any, points: Any, shape: Sequence[int]) -> Any:
    """Return standardized logits with a bump at each click, so that masks are small enough for predictors to zoom in.

    Args:
        logits: (batch, 1, height, width).
        points: (batch, 2 x clicks, 2 or 3), the positive clicks first; missing ones are negative.
        shape: height and width of the image in which the points lie.
    """
    import torch

    height, width = logits.shape[2:]
    rows = torch.arange(height)[:, None] * (shape[0] / height)
    columns = torch.arange(width)[None] * (shape[1] / width)
    bumps = torch.zeros(logits.shape)
    for index, given in enumerate(points.double().tolist()):
        for place, (row, column, *_) in enumerate(given):
            if row >= 0 and column >= 0:
                sign = 1 if place < len(given) // 2 else -1
                squares = (rows - row) ** 2 + (columns - column) ** 2
                bumps[index, 0] += 4 * sign * torch.exp(-squares / (max(shape) / 5) ** 2)
    return standardized(logits) - 1.5 + bumps


def gather_around_clicks(_network: Any, inputs: Sequence[Any], outputs: Any) -> Any:
    """Make the masks of a network (image, points) follow the clicks."""
    image, points = inputs
    outputs["instances"] = add_bumps(outputs["instances"], points, image.shape[2:])
    return outputs


def load(path: Path) -> ModuleType:
    """Import a file that does not belong to a package."""
    name = f"{path.parent.name}_{path.stem}".replace("-", "_")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@contextmanager
def imports_from(folder: Path) -> Iterator[None]:
    """Import modules from a checkout and unload them afterwards, because checkouts share module names."""
    known = set(sys.modules)
    path = list(sys.path)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        # Adapters add their repository to the path as well.
        sys.path[:] = path
        for name in set(sys.modules) - known:
            if str(folder) in str(getattr(sys.modules[name], "__file__", None) or folder):
                del sys.modules[name]


def definitions_of(
    file: Path, *names: str, namespace: dict[str, Any] | None = None
) -> SimpleNamespace:
    """Return functions and classes of a script, without running the script.

    Args:
        file: the script.
        names: names of the functions and classes.
        namespace: the names that they use.
    """
    tree = ast.parse(file.read_text("utf-8"))
    chosen = [node for node in tree.body if getattr(node, "name", "") in names]
    known = {**vars(typing), **(namespace or {})}
    exec(compile(ast.Module(chosen, []), str(file), "exec"), known)  # noqa: S102 - the published code
    return SimpleNamespace(**{name: known[name] for name in names})


def load_model(repository: Path, **options: Any) -> Any:
    """Return the model of an adapter with random weights. The repository's folder has the adapter's name."""
    import segarena.worker

    sys.modules["segarena_worker"] = segarena.worker
    name = repository.name
    path = Path(__file__).parent / name / "adapter.py"
    module = load(path)
    # The published code uses these names, which NumPy 1.24 removed.
    vars(np).setdefault("int", int)
    vars(np).setdefault("float", float)
    return module.Model(repository=str(repository), **options)


def dialogue_of(clicks: Sequence[Any], logits: Any) -> SimpleNamespace:
    """Return the dialogue that a worker would receive."""
    return SimpleNamespace(clicks=clicks, prompts=clicks, logits=logits)


def answers(model: Any, inputs: Inputs, images: Sequence[Any], clicks: Sequence[Any]) -> Any:
    """Return the inputs and masks of the adapter's dialogues, which are advanced in turn, round by round."""
    encoded = []
    read: list[list[Arrays]] = []
    for image in images:
        encoded.append(model.encode(SimpleNamespace(image=image, shape=image.shape[:2])))
        read.append([inputs.take()])
    logits: list[Any] = [None] * len(images)
    masks: list[Arrays] = [[] for _ in images]
    for count in range(1, ROUNDS + 1):
        for index, given in enumerate(clicks):
            (answer,) = model.predict(encoded[index], [dialogue_of(given[:count], logits[index])])
            mask, logits[index] = answer if isinstance(answer, tuple) else (answer, None)
            masks[index].append(mask)
            read[index].append(inputs.take())
    return read, masks


def zooming(repository: Path, predictor_options: dict[str, Any], **options: Any) -> list[Pair]:
    """Compare RITM, SimpleClick or CFR-ICL, whose predictors zoom in, with the published evaluation."""
    import torch

    model = load_model(repository, **options)
    model.network.register_forward_hook(gather_around_clicks)
    network = copy.deepcopy(model.network)
    predictors = importlib.import_module("isegm.inference.predictors")
    published = predictors.get_predictor(
        network, "NoBRS", torch.device("cpu"), prob_thresh=THRESHOLD, **predictor_options
    )
    return evaluated(model, Inputs(model.network), Watched(published), Inputs(network))


def evaluated(
    model: Any,
    own_inputs: Inputs,
    published: Watched,
    inputs: Inputs,
    prepare: Callable[[Any], Any] = lambda image: image,
    replays: bool = False,
) -> list[Pair]:
    """Run the published evaluation and give its clicks to the adapter.

    Args:
        model: the adapter's model.
        own_inputs: recorder of the inputs of its network.
        published: the published predictor.
        inputs: the inputs of its network.
        prepare: transform of the published evaluation before its predictor gets the image.
        replays: whether the adapter repeats the earlier rounds in each round.
    """
    evaluation = importlib.import_module("isegm.inference.evaluation")
    images = []
    clicks = []
    read: Arrays = []
    for seed, shape in enumerate(SHAPES):
        image, truth = scene(shape, seed)
        evaluation.evaluate_sample(
            prepare(image),
            truth,
            published,
            max_iou_thr=1.01,
            pred_thr=THRESHOLD,
            max_clicks=ROUNDS,
        )
        images.append(image)
        clicks.append(published.clicks)
        read += inputs.take()
    own_read, own_masks = answers(model, own_inputs, images, clicks)
    flat: Arrays = []
    for rounds in own_read:
        for arrays in rounds[-1:] if replays else rounds:
            flat += arrays
    return [
        ("input of the network", flat, read),
        ("masks", [mask for each in own_masks for mask in each], published.masks),
    ]


def ritm(repository: Path) -> list[Pair]:
    """Compare RITM with the published evaluation: `--eval-mode=cvpr` and a smaller window."""
    return zooming(repository, {"zoom_in_params": {"target_size": 200}}, zoom_px=200)


def simpleclick(repository: Path) -> list[Pair]:
    """Compare SimpleClick with the published evaluation: `--eval-mode=fixed224`."""
    window = {"skip_clicks": -1, "target_size": (224, 224)}
    return zooming(repository, {"zoom_in_params": window}, zoom_px=224)


def cfr_icl(repository: Path) -> list[Pair]:
    """Compare CFR-ICL with the published evaluation: `--eval-mode=fixed224 --cf-n=2 --acf`."""
    window = {"skip_clicks": -1, "target_size": (224, 224)}
    passes = {"cascade_step": 3, "cascade_adaptive": True, "cascade_clicks": 1}
    published = {"zoom_in_params": window, "predictor_params": passes}
    return zooming(repository, published, zoom_px=224, refinements=2)


def fbrs(repository: Path) -> list[Pair]:
    """Compare f-BRS with the published evaluation, which loads the weights itself, in a smaller window."""
    import torch

    model = load_model(repository, zoom_px=200)
    predictors = importlib.import_module("isegm.inference.predictors")
    utils = importlib.import_module("isegm.inference.utils")
    data = importlib.import_module("isegm.data.base")
    network = utils.load_is_model(model.network.state_dict(), "cpu")
    for each in (model.network, network):
        follow_clicks(each)
    published = predictors.get_predictor(
        network,
        "f-BRS-B",
        torch.device("cpu"),
        prob_thresh=THRESHOLD,
        zoom_in_params={"target_size": 200},
    )
    return evaluated(
        model,
        Inputs(model.network.dist_maps),
        Watched(published),
        Inputs(network.dist_maps),
        data.ISDataset().input_transform,
        replays=True,
    )


def follow_clicks(network: Any) -> None:
    """Make the masks of f-BRS's network follow the clicks, although its head sees only features."""
    last: dict[str, Any] = {}

    def keep_points(_maps: Any, inputs: Sequence[Any]) -> None:
        image, points = inputs
        last.update(points=points, shape=image.shape[2:])

    network.dist_maps.register_forward_pre_hook(keep_points)
    network.head.register_forward_hook(
        lambda _head, _inputs, logits: add_bumps(logits, last["points"], last["shape"])
    )


def segnext(repository: Path) -> list[Pair]:
    """Compare SegNext with the published evaluation at 256 px; both read a checkpoint with two fusion blocks."""
    import torch

    model = load_model(repository, side_px=256)
    network = model.network
    utils = importlib.import_module("isegm.inference.utils")
    predictor = importlib.import_module("isegm.inference.predictor")
    # Published checkpoints contain these settings.
    settings = copy.deepcopy(network._config)
    settings["params"]["fusion_params"]["value"]["depth"] = 2
    torch.manual_seed(1)
    serialization = importlib.import_module("isegm.utils.serialization")
    state = serialization.load_model(settings).state_dict()
    checkpoint = {"config": settings, "state_dict": state}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "weights.pth")
        torch.save(checkpoint, file)
        model = load_model(repository, weights=str(file), trust_pickle=True)
    network = utils.load_is_model(checkpoint, "cpu")
    for each in (model.network, network):
        each.register_forward_hook(
            lambda _network, _inputs, outputs: {"instances": standardized(outputs["instances"])}
        )
    return evaluated(
        model,
        Inputs(model.network.backbone, model.network.visual_prompts_encoder),
        Watched(predictor.BasePredictor(network)),
        Inputs(network.backbone, network.visual_prompts_encoder),
    )


def prompt_rounds(shape: tuple[int, int], seed: int, with_scribbles: bool) -> list[list[Any]]:
    """Return, for each round of two dialogues, all prompts so far; one has clicks, the other starts with a box.

    The third click and the second scribble are negative. The fourth round begins a new dialogue.
    """
    rng = np.random.default_rng(seed)
    box = SimpleNamespace(
        kind="box",
        start=(shape[0] // 4, shape[1] // 5),
        stop=(shape[0] * 2 // 3, shape[1] * 3 // 4),
    )
    clicks = [
        SimpleNamespace(
            kind="click",
            position=tuple(int(rng.integers(side)) for side in shape),
            is_positive=index < 2,
        )
        for index in range(3)
    ]
    scribbles = [
        SimpleNamespace(
            kind="scribble",
            points=rng.integers(0, shape, (4, 2)).tolist(),
            is_positive=index < 1,
        )
        for index in range(2)
    ]
    rounds = [*(clicks[: count + 1] for count in range(3)), [box], [box, clicks[0]]]
    if with_scribbles:
        rounds += [[box, scribbles[0]], [box, *scribbles, clicks[1]]]
    return rounds


PublishedAnswer = Callable[[Any, Sequence[Any], Any], tuple[Any, Any]]
"""Function from an image, its prompts so far and the previous logits to a mask and new logits."""


def prompt_dialogues(
    model: Any,
    own_inputs: Inputs,
    answer: PublishedAnswer,
    inputs: Inputs,
    images: Sequence[Any],
    *,
    encodes: bool = True,
) -> list[Pair]:
    """Compare a segmenter for which no published evaluation of dialogues exists."""
    own_read: Arrays = []
    own_masks: Arrays = []
    read: Arrays = []
    masks: Arrays = []
    for seed, image in enumerate(images):
        shape = image.shape[:2]
        encoded = model.encode(SimpleNamespace(image=image, shape=shape))
        logits = own_logits = None
        own_read += own_inputs.take()
        takes_scribbles = "scribble" in model.takes
        for index, given in enumerate(prompt_rounds(shape, seed, takes_scribbles)):
            clicks = [each for each in given if each.kind == "click"]
            if index == 3:
                logits = own_logits = None
            dialogue = SimpleNamespace(prompts=given, clicks=clicks, logits=own_logits)
            ((mask, own_logits),) = model.predict(encoded, [dialogue])
            own_masks.append(mask)
            own_read += own_inputs.take()
            mask, logits = answer(image, given, logits)
            masks.append(mask)
            seen = inputs.take()
            # The published code encodes the image again at the start of each round.
            read += seen[1:] if encodes and index > 0 else seen
    return [("input of the network", own_read, read), ("masks", own_masks, masks)]


def mobilesam(repository: Path) -> list[Pair]:
    """Compare the published predictor, which the adapter calls, with the published `Sam.forward`."""
    import torch

    model = load_model(repository)
    resizing = importlib.import_module("mobile_sam.utils.transforms").ResizeLongestSide(1024)
    network = copy.deepcopy(model.network)
    for each in (model.network, network):
        each.mask_decoder.register_forward_hook(
            lambda _decoder, _inputs, output: (standardized(output[0]), output[1])
        )

    def answer(image: Any, prompts: Sequence[Any], logits: Any) -> tuple[Any, Any]:
        shape = image.shape[:2]
        clicks = [each for each in prompts if each.kind == "click"]
        boxes = [each for each in prompts if each.kind == "box"]
        record: dict[str, Any] = {
            "image": torch.as_tensor(resizing.apply_image(image)).permute(2, 0, 1),
            "original_size": shape,
        }
        if clicks:
            positions = np.array([each.position[::-1] for each in clicks])
            moved = resizing.apply_coords(positions, shape)
            record["point_coords"] = torch.as_tensor(moved, dtype=torch.float)[None]
            record["point_labels"] = torch.tensor([[int(each.is_positive) for each in clicks]])
        if boxes:
            corners = np.array([[*boxes[0].start[::-1], *boxes[0].stop[::-1]]])
            moved = resizing.apply_boxes(corners, shape)
            record["boxes"] = torch.as_tensor(moved, dtype=torch.float)[None]
        if logits is not None:
            record["mask_inputs"] = logits
        (result,) = network([record], multimask_output=len(clicks) == 1 and not boxes)
        best = int(result["iou_predictions"][0].argmax())
        return result["masks"][0, best].numpy(), result["low_res_logits"][:, best : best + 1]

    return prompt_dialogues(
        model,
        Inputs(model.network.image_encoder, model.network.prompt_encoder),
        answer,
        Inputs(network.image_encoder, network.prompt_encoder),
        [scene(shape, seed)[0] for seed, shape in enumerate(SHAPES)],
    )


def sam_med2d(repository: Path) -> list[Pair]:
    """Compare the published predictor, which the adapter calls, with the steps of the published test."""
    large = sam_med2d_images(repository, LARGE_SHAPES)
    small = sam_med2d_images(repository, SMALL_SHAPES, small_images="pad")
    return [
        *large,
        *((f"{what} (padded slices)", own, published) for what, own, published in small),
    ]


def sam_med2d_images(
    repository: Path, shapes: Sequence[tuple[int, int]], **options: Any
) -> list[Pair]:
    """Compare images of the given shapes; the published test pads those of less than 256 px."""
    import torch

    model = load_model(repository, **options)
    network = copy.deepcopy(model.network)
    for each in (model.network, network):
        each.mask_decoder.register_forward_hook(
            lambda _decoder, _inputs, output: (standardized(output[0]), output[1])
        )
    testing = importlib.import_module("test")
    loading = importlib.import_module("DataLoader")
    settings = SimpleNamespace(multimask=True, image_size=256)
    dataset = SimpleNamespace(
        pixel_mean=[123.675, 116.28, 103.53], pixel_std=[58.395, 57.12, 57.375]
    )

    def answer(image: Any, prompts: Sequence[Any], logits: Any) -> tuple[Any, Any]:
        shape = image.shape[:2]
        values = (image - dataset.pixel_mean) / dataset.pixel_std
        transform = loading.train_transforms(256, *shape)
        batch = {"image": transform(image=values)["image"][None]}
        scale = torch.tensor([256 / shape[1], 256 / shape[0]], dtype=torch.float64)
        start = torch.zeros(2)
        if max(shape) < 256:
            # The published test takes the prompts from the padded mask.
            start = torch.tensor([(256 - side) // 2 for side in reversed(shape)])
            scale = torch.ones(2, dtype=torch.float64)
        clicks = [each for each in prompts if each.kind == "click"]
        boxes = [each for each in prompts if each.kind == "box"]
        batch["point_coords"] = batch["point_labels"] = None
        if clicks:
            positions = torch.tensor([each.position[::-1] for each in clicks])[None]
            batch["point_coords"] = (positions * scale + start).float()
            batch["point_labels"] = torch.tensor([[int(each.is_positive) for each in clicks]])
        if boxes:
            corners = torch.tensor([[boxes[0].start[::-1], boxes[0].stop[::-1]]])
            batch["boxes"] = (corners * scale + start).float().reshape(1, 4)
        if logits is not None:
            batch["mask_inputs"] = torch.sigmoid(logits)
        batch = testing.to_device(batch, "cpu")
        with torch.no_grad():
            features = network.image_encoder(batch["image"])
            _, small, _ = testing.prompt_and_decoder(settings, batch, network, features)
            large, _ = testing.postprocess_masks(small, 256, shape)
        return (torch.sigmoid(large) > 0.5)[0, 0].numpy(), small

    return prompt_dialogues(
        model,
        Inputs(model.network.image_encoder, model.network.prompt_encoder),
        answer,
        Inputs(network.image_encoder, network.prompt_encoder),
        [scene(shape, seed)[0] for seed, shape in enumerate(shapes)],
    )


def scribbleprompt(repository: Path) -> list[Pair]:
    """Compare ScribblePrompt with the predictor of the published app, which receives scribbles as masks."""
    import torch
    from torch.nn import functional

    model = load_model(repository)
    published = importlib.import_module("scribbleprompt.models.unet")
    network = copy.deepcopy(model.network)
    for each in (model.network, network):
        each.register_forward_hook(lambda _network, _inputs, logits: standardized(logits))
    namespace = {
        "torch": torch,
        "F": functional,
        "rescale_inputs": published.rescale_inputs,
        "prepare_inputs": published.prepare_inputs,
    }
    app_file = repository / "demos" / "app.py"
    predictor = definitions_of(app_file, "Predictor", namespace=namespace).Predictor
    app = SimpleNamespace(model=network, verbose=False, device="cpu")

    def answer(image: Any, prompts: Sequence[Any], logits: Any) -> tuple[Any, Any]:
        given: dict[str, Any] = {
            "img": torch.from_numpy(image[..., :1].astype(np.float32) / 255).permute(2, 0, 1)[None],
            "mask_input": logits,
        }
        clicks = [each for each in prompts if each.kind == "click"]
        boxes = [each for each in prompts if each.kind == "box"]
        if clicks:
            given["point_coords"] = torch.tensor([each.position[::-1] for each in clicks])[None]
            given["point_labels"] = torch.tensor([[int(each.is_positive) for each in clicks]])
        if boxes:
            corners = [(*each.start[::-1], *each.stop[::-1]) for each in boxes]
            given["box"] = torch.Tensor(corners).int()[None]
        scribbles = [each for each in prompts if each.kind == "scribble"]
        if scribbles:
            given["scribbles"] = torch.from_numpy(drawn(scribbles, image.shape[:2]))[None]
        mask, _, small = predictor.predict(app, given)
        return (mask > 0.5).numpy(), small

    images = [scene(shape, seed)[0] for seed, shape in enumerate(SHAPES)]
    grey = [image[..., :1].repeat(3, axis=2) for image in images]
    return prompt_dialogues(
        model, Inputs(model.network), answer, Inputs(network), grey, encodes=False
    )


def drawn(scribbles: Sequence[Any], shape: tuple[int, int]) -> Any:
    """Return the positive and the negative scribbles as masks (2, H, W)."""
    import cv2

    width = max(1, round(max(shape) / 128))
    masks = np.zeros((2, *shape), np.float32)
    for each in scribbles:
        points = np.array(each.points, np.int32)[:, ::-1]
        cv2.polylines(masks[int(not each.is_positive)], [points.copy()], False, 1.0, width)
    return masks


COMPARISONS: dict[str, Callable[[Path], list[Pair]]] = {
    "cfr-icl": cfr_icl,
    "fbrs": fbrs,
    "mobilesam": mobilesam,
    "ritm": ritm,
    "sam-med2d": sam_med2d,
    "scribbleprompt": scribbleprompt,
    "segnext": segnext,
    "simpleclick": simpleclick,
}
