"""The adapters in adapters/, tested without the repositories that they belong to."""

import ast
import importlib.util
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from PIL import Image

import segarena.worker
from segarena.errors import PluginInvalid
from segarena.published import table_names
from segarena.segmenters.workers.worker import Worker

ADAPTERS = Path(__file__).parents[1] / "adapters"
NAMES = sorted(path.parent.name for path in ADAPTERS.glob("*/adapter.py"))


def load(path):
    """Import a file that is not part of a package."""
    spec = importlib.util.spec_from_file_location(
        f"of_{path.parent.name}_{path.stem}".replace("-", "_"), path
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pages = load(ADAPTERS / "pages.py")
FACTS = pages.read_adapters()


def model_class(name):
    tree = ast.parse((ADAPTERS / name / "adapter.py").read_text("utf-8"), feature_version=(3, 7))
    return next(
        node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Model"
    )


def test_two_adapters_of_every_kind_ran_and_none_is_without_facts():
    ran = [facts["judges"] for facts in FACTS.values() if "ran" in facts]
    assert {judges: min(ran.count(judges), 2) for judges in pages.ORDER} == dict.fromkeys(
        pages.ORDER, 2
    )
    assert len(ran) >= 9
    assert set(NAMES) <= set(FACTS)


@pytest.mark.parametrize("name", NAMES)
def test_an_adapter_is_python_3_7_and_has_the_shape_that_a_worker_needs(name):
    said = {
        statement.targets[0].id: ast.literal_eval(statement.value)
        for statement in model_class(name).body
        if isinstance(statement, ast.Assign)
    }
    methods = {
        each.name: each for each in model_class(name).body if isinstance(each, ast.FunctionDef)
    }
    arguments = methods["__init__"].args
    assert set(said["takes"]) <= set(segarena.worker.PROMPTS)
    assert set(said["samples"]) <= set(segarena.worker.SAMPLES)
    assert {"encode", "predict"} <= set(methods)
    assert len(arguments.defaults) == len(arguments.args) - 1
    assert ast.get_docstring(model_class(name))


@pytest.mark.parametrize("name", FACTS)
def test_what_is_said_of_an_adapter_is_complete(name):
    facts = FACTS[name]
    assert set(facts) - {"ran", "failed"} == set(pages.REQUIRED)
    assert ("ran" in facts) != ("failed" in facts)
    assert set(facts.get("ran", pages.RAN)) == set(pages.RAN)
    assert set(facts.get("failed", pages.FAILED)) == set(pages.FAILED)
    assert re.fullmatch(r"[0-9a-f]{40}", facts["commit"]) or "failed" in facts
    assert set(facts["tables"]) <= set(table_names())
    assert "ran" not in facts or (ADAPTERS / "environments" / facts["ran"]["lock"]).is_file()
    assert "ran" not in facts or (ADAPTERS / name / "adapter.py").is_file()


def test_pages_say_what_the_facts_say():
    for path, text in pages.written().items():
        assert path.read_text("utf-8") == text, f"{path}: python adapters/pages.py writes it anew"


def model_without_network(name, monkeypatch, **fields):
    """Return the model of an adapter, complete enough for its preprocessing."""
    pytest.importorskip("torch")
    monkeypatch.setitem(sys.modules, "segarena_worker", segarena.worker)
    model_type = load(ADAPTERS / name / "adapter.py").Model
    model = model_type.__new__(model_type)
    vars(model).update({"device": "cpu", **fields})
    return model


@pytest.fixture
def photograph(rng):
    """A noisy photograph whose resizing shows whether a filter averages."""
    return rng.integers(0, 256, (250, 187, 3), dtype=np.uint8)


def normalized(pixels):
    mean = np.array([0.485, 0.456, 0.406])
    return ((pixels / 255 - mean) / [0.229, 0.224, 0.225]).transpose(2, 0, 1)


@pytest.mark.long
@pytest.mark.parametrize(("name", "side_px"), [("hsnet", 100), ("rpmm", 101)])
def test_images_are_resized_with_antialiasing_as_published(name, side_px, photograph, monkeypatch):
    model = model_without_network(name, monkeypatch, side_px=side_px)
    own = model.encode(SimpleNamespace(image=photograph, shape=photograph.shape[:2]))["image"]
    small = Image.fromarray(photograph).resize((side_px, side_px), Image.Resampling.BILINEAR)
    np.testing.assert_allclose(own[0], normalized(np.asarray(small)), atol=1e-5)


def test_resized_images_of_pfenet_and_repri_are_not_rounded(photograph, monkeypatch):
    seen = []

    def extract_features(batch):
        seen.append(batch)
        return batch

    sample = SimpleNamespace(image=photograph, shape=photograph.shape[:2])
    model = model_without_network("pfenet", monkeypatch, side_px=96)
    seen.append(model.encode(sample)["image"])
    network = SimpleNamespace(extract_features=extract_features)
    model_without_network("repri", monkeypatch, side_px=96, network=network).encode(sample)
    square = np.zeros((96, 96, 3))
    square[:, :64] = cv2.resize(photograph.astype(np.float32), (64, 96))
    for own in seen:
        np.testing.assert_allclose(own[0], normalized(square), atol=1e-5)


def test_images_of_fbrs_are_normalized_as_in_its_evaluation(photograph, monkeypatch):
    own = model_without_network("fbrs", monkeypatch).encode(SimpleNamespace(image=photograph))
    np.testing.assert_allclose(own, normalized(photograph), atol=1e-5)


class PublishedClicks:
    """Replaces the published click modules and a predictor that records the positions."""

    def __init__(self, is_positive=None, coords=None, init_clicks=()):
        self.is_positive, self.coords, self.clicks = is_positive, coords, init_clicks
        self.transforms, self.zoom_in, self.seen = (), self, []

    def set_input_image(self, image):
        self.shape = image.shape[:2]

    def get_state(self):
        return None, None

    def get_prediction(self, clicker):
        self.seen.append([(*click.coords, click.is_positive) for click in clicker.clicks])
        return np.zeros(self.shape)


@pytest.mark.parametrize("name", ["cfr-icl", "fbrs", "ritm", "simpleclick"])
def test_clicks_keep_their_precision_in_the_window_of_the_published_predictor(name, monkeypatch):
    torch = pytest.importorskip("torch")
    predictor = PublishedClicks()
    model = model_without_network(name, monkeypatch, predictor=predictor, threshold=0.5)
    module = SimpleNamespace(Click=PublishedClicks, Clicker=PublishedClicks)
    monkeypatch.setitem(sys.modules, "isegm", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "isegm.inference", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "isegm.inference.clicker", module)
    clicks = [
        SimpleNamespace(kind="click", position=(7, 30), is_positive=True),
        SimpleNamespace(kind="click", position=(90, 2), is_positive=False),
    ]
    dialogue = SimpleNamespace(clicks=clicks, prompts=clicks, logits=None)
    model.predict(np.zeros((97, 131, 3), np.uint8), [dialogue])
    assert predictor.seen[-1] == [(7, 30, True), (90, 2, False)]
    # A window of 97 rows that is enlarged to 148: NumPy's numbers give doubles, Python's give floats.
    in_window = [row * 148 / 97 for row, *_ in predictor.seen[-1]]
    assert torch.tensor(in_window).dtype == torch.float64


def test_a_checkpoint_of_segnext_says_how_many_fusion_blocks_it_has(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")

    def load_model(config):
        return torch.nn.Sequential(*(torch.nn.Linear(2, 2) for _ in range(config["blocks"])))

    model = model_without_network("segnext", monkeypatch)
    stand_in = SimpleNamespace(PlainVitModel=None, load_model=load_model)
    for name in ("isegm", "isegm.model", "isegm.utils"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace())
    for name in ("isegm.model.is_plainvit_model", "isegm.utils.serialization"):
        monkeypatch.setitem(sys.modules, name, stand_in)
    config = {"blocks": 2}
    weights = load_model(config).state_dict()
    file = tmp_path / "weights.pth"
    torch.save({"config": config, "state_dict": weights}, file)
    read = model.build(str(file), trust_pickle=False, side_px=1024).state_dict()
    assert list(read) == list(weights)
    assert all(torch.equal(read[key], weights[key]) for key in weights)


def test_scribbles_of_scribbleprompt_are_drawn_in_the_image_before_it_is_resized(monkeypatch):
    unet = SimpleNamespace(input_size=(128, 128))
    model = model_without_network("scribbleprompt", monkeypatch, unet=unet)
    lines = [
        SimpleNamespace(kind="scribble", points=((200, 10), (200, 500)), is_positive=True),
        SimpleNamespace(kind="scribble", points=((10, 300), (290, 300)), is_positive=False),
    ]
    masks = model.given(lines, (301, 517))["scribbles"][0].numpy()
    assert masks.shape == (2, 301, 517)
    assert masks[0, 200, 10:501].all()
    assert masks[1, 10:291, 300].all()
    # 517 / 128 = 4.04: each line is as wide as a pixel of the network, give or take one.
    assert 3 <= masks[0, :, 250].sum() <= 5
    assert 3 <= masks[1, 150].sum() <= 5


@pytest.mark.parametrize(("shape", "start"), [((97, 131), (79, 62)), ((255, 163), (0, 46))])
def test_sam_med2d_can_pad_small_slices_as_in_its_test(shape, start, rng, monkeypatch):
    torch = pytest.importorskip("torch")
    seen = []
    network = SimpleNamespace(
        image_encoder=seen.append,
        pixel_mean=torch.tensor([123.675, 116.28, 103.53])[:, None, None],
        pixel_std=torch.tensor([58.395, 57.12, 57.375])[:, None, None],
    )
    image = rng.integers(0, 256, (*shape, 3), dtype=np.uint8)
    model = model_without_network(
        "sam-med2d",
        monkeypatch,
        network=network,
        predictor=SimpleNamespace(),
        small_images="pad",
    )
    encoded = model.encode(SimpleNamespace(image=image, shape=shape))
    expected = np.zeros((3, 256, 256))
    rows = slice(start[0], start[0] + shape[0])
    columns = slice(start[1], start[1] + shape[1])
    expected[:, rows, columns] = normalized(image)
    np.testing.assert_allclose(seen[0][0], expected, atol=1e-5)
    clicked = SimpleNamespace(kind="click", position=(5, 9), is_positive=True)

    def predict(point_coords, **_others):
        mask = np.zeros((1, 256, 256))
        (column, row) = point_coords[0]
        mask[0, row, column] = 1
        return mask, None, None

    model.predictor.predict = predict
    dialogue = SimpleNamespace(clicks=[clicked], prompts=[clicked], logits=None)
    ((mask, _),) = model.predict(encoded, [dialogue])
    assert mask.shape == shape
    assert np.argwhere(mask).tolist() == [[5, 9]]


def test_slices_of_medsam2_are_resized_by_pillow_as_bytes(rng, monkeypatch):
    voxels = np.linspace(0, 1, 600 * 530).reshape(1, 600, 530).astype(np.float32)
    voxels += rng.random(voxels.shape, dtype=np.float32) / 9
    own = model_without_network("medsam2", monkeypatch).encode(
        SimpleNamespace(voxels=voxels, shape=voxels.shape)
    )
    low, high = np.percentile(voxels, (0.5, 99.5))
    grey = ((voxels[0].clip(low, high) - low) / (high - low) * 255).astype(np.uint8)
    small = Image.fromarray(grey).convert("RGB").resize((512, 512))
    np.testing.assert_allclose(own["pictures"][0], normalized(np.asarray(small)), atol=1e-4)


AFFINES = {
    "stored as read": None,
    "left, posterior, inferior": np.array(
        [[0, 0, -1, 9], [0, -1, 0, 9], [-1, 0, 0, 9], [0, 0, 0, 1.0]]
    ),
    "other axes": np.array([[-1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1.0]]),
}


@pytest.mark.parametrize("affine", AFFINES.values(), ids=list(AFFINES))
def test_segvol_sees_the_body_alone_and_answers_where_the_sample_is(affine, rng, monkeypatch):
    voxels = np.zeros((40, 50, 60), np.float32)
    voxels[4:30, 7:40, 9:58] = rng.gamma(2.0, 50.0, (26, 33, 49)) + 90
    model = model_without_network("segvol", monkeypatch)
    encoded = model.encode(SimpleNamespace(voxels=voxels, shape=voxels.shape, affine=affine))
    assert (encoded["volume"] > 0).float().mean() > 0.99
    monkeypatch.setattr(model, "answer", lambda volume, *_: (volume[0, 0] > 0).numpy())
    dialogue = SimpleNamespace(prompts=(), clicks=())
    found = model.in_sample(encoded, dialogue)
    low = np.percentile(voxels[voxels > voxels.mean()], 0.05)
    assert np.array_equal(found, voxels > low)
    place = (12, 13, 14)
    clicked = SimpleNamespace(position=place, is_positive=True)
    box = SimpleNamespace(kind="box", start=place, stop=(13, 14, 15))

    def only_the_prompted_voxel(volume, _small, dialogue):
        (box,) = dialogue.prompts
        (click,) = dialogue.clicks
        assert tuple(click.position) == tuple(box.start) == tuple(box.stop - 1)
        marked = np.zeros(volume.shape[2:], np.bool_)
        marked[tuple(click.position)] = True
        # Equal values at the same position show that volume and prompt are rotated in the same way.
        high = np.percentile(voxels[voxels > voxels.mean()], 99.95)
        expected = (voxels[place] - low) / (high - low)
        assert float(volume[0, 0][tuple(click.position)]) == pytest.approx(expected, abs=1e-5)
        return marked

    monkeypatch.setattr(model, "answer", only_the_prompted_voxel)
    found = model.in_sample(encoded, SimpleNamespace(prompts=(box,), clicks=(clicked,)))
    assert np.argwhere(found).tolist() == [list(place)]


def test_voxels_of_sam_med3d_are_1_5_mm_apart_around_the_centre(monkeypatch):
    ramp = np.broadcast_to(np.arange(70, dtype=np.float32), (3, 4, 70))
    model = model_without_network("sam-med3d", monkeypatch, voxel_mm=1.5)
    sample = SimpleNamespace(voxels=ramp, shape=ramp.shape, spacing_mm=(3, 1.5, 1), affine=None)
    seen = model.encode(sample)["voxels"]
    assert seen.shape == (46, 4, 6)
    along = seen[:, 0, 0].numpy()
    np.testing.assert_allclose(np.diff(along), 1.5, atol=1e-4)
    assert along.mean() == pytest.approx(34.5, abs=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_repository_is_named_with_the_command_that_fetches_it(
    name, tmp_path, monkeypatch
):
    pytest.importorskip("torch")
    monkeypatch.setitem(sys.modules, "segarena_worker", segarena.worker)
    module = load(ADAPTERS / name / "adapter.py")
    with pytest.raises(
        FileNotFoundError, match=r"/nothing lacks .*; git clone https://github.com/.*/nothing$"
    ):
        module.Model(repository=str(tmp_path / "nothing"))


def test_a_run_with_an_adapter_whose_model_is_missing_says_so_in_one_line(tmp_path):
    (tmp_path / "torch.py").write_text("")  # it is not reached, and slow to import
    (tmp_path / "adapter.py").write_bytes((ADAPTERS / "ritm" / "adapter.py").read_bytes())
    (tmp_path / "segarena_worker.py").write_bytes(Path(segarena.worker.__file__).read_bytes())
    with pytest.raises(
        PluginInvalid, match=r"git clone https://github.com/SamsungLabs/ritm"
    ) as caught:
        Worker("python adapter.py", python=sys.executable, folder=str(tmp_path))
    assert "\n" not in str(caught.value)
