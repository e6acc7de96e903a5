"""Compare each adapter's preprocessing with the published transform on the same random input.

    python adapters/preprocessing.py REPOSITORIES

REPOSITORIES holds a checkout of each published repository, in a folder with the adapter's name. The
table in README.md is written anew. It needs torch, torchvision, Pillow, OpenCV, MONAI and TorchIO.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

HERE = Path(__file__).parent
START, END = "<!-- preprocessing -->\n", "<!-- end of preprocessing -->"
TOLERANCE = 1e-5
"""Largest difference that rounding of 32-bit floats explains, in units of a standard deviation."""

SHAPE = (500, 375)
VOLUME = (40, 300, 280)

UNCHANGED = {
    "cfr-icl": "the image goes unchanged to the published predictor",
    "fbrs": "the image divided by 255, as `ToTensor` does, goes to the published predictor",
    "mobilesam": "the image goes unchanged to the published predictor",
    "ritm": "the image goes unchanged to the published predictor",
    "sam-med2d": "the image goes unchanged to the published predictor",
    "scribbleprompt": "grey values of 0 to 1, resized as in the published predictor",
    "segnext": "the image goes unchanged to the published predictor",
    "simpleclick": "the image goes unchanged to the published predictor",
}
"""Adapters without a transform of their own."""


def load(path: Path) -> ModuleType:
    """Import a file that is no part of a package."""
    name = f"{path.parent.name}_{path.stem}".replace("-", "_")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def adapter(name: str, **fields: Any) -> Any:
    """Return the model of an adapter without its network: preprocessing does not need it."""
    import segarena.worker

    sys.modules["segarena_worker"] = segarena.worker
    module = load(HERE / name / "adapter.py")
    model = module.Model.__new__(module.Model)
    vars(model).update({"device": "cpu", **fields})
    return model


@contextmanager
def imports_from(folder: Path) -> Iterator[None]:
    """Import modules from a checkout, and forget them afterwards: checkouts share names of modules."""
    known = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - known:
            if str(folder) in str(getattr(sys.modules[name], "__file__", None) or folder):
                del sys.modules[name]


def functions_of(file: Path, *names: str) -> SimpleNamespace:
    """Return functions and classes of a script, without running the script."""
    tree = ast.parse(file.read_text("utf-8"))
    chosen = [node for node in tree.body if getattr(node, "name", "") in names]
    from PIL import Image

    namespace: dict[str, Any] = {"np": np, "Image": Image}
    exec(compile(ast.Module(chosen, []), str(file), "exec"), namespace)  # noqa: S102 - the published code
    return SimpleNamespace(**{name: namespace[name] for name in names})


def photograph(seed: int = 0) -> tuple[Any, Any]:
    """Return a random image (H, W, 3) with structures of all sizes, and a mask."""
    import cv2

    rng = np.random.default_rng(seed)
    image = np.zeros((*SHAPE, 3))
    for octave in range(8):
        side = 2 ** (octave + 1)
        noise = rng.random((side, side, 3))
        image += cv2.resize(noise, SHAPE[::-1], interpolation=cv2.INTER_NEAREST) / 8
    mask = cv2.resize(rng.random((9, 7)), SHAPE[::-1]) > 0.5
    return (image * 255).astype(np.uint8), mask


def sample_of(image: Any) -> SimpleNamespace:
    """Return an image as a worker receives it."""
    return SimpleNamespace(image=image, shape=image.shape[:2])


Pairs = list[tuple[str, Any, Any]]
"""A comparison: its name, the adapter's array and the published array."""


def hsnet(repository: Path) -> Pairs:
    """Compare images and masks; the published transform is built without its data sets."""
    import torch
    from PIL import Image

    image, mask = photograph()
    with imports_from(repository):
        from data.dataset import FSSDataset

        FSSDataset.initialize(img_size=400, datapath="", use_original_imgsize=False)
        published = FSSDataset.transform(Image.fromarray(image))
    small = torch.nn.functional.interpolate(
        torch.from_numpy(mask)[None, None].float(), published.shape[-2:], mode="nearest"
    )
    model = adapter("hsnet", side_px=400)
    seen: dict[str, Any] = {}

    class Network:
        """Keeps the batch that a network would see."""

        def predict_mask_nshot(self, batch: Any, nshot: int) -> Any:
            seen.update(batch)
            return torch.zeros((1, 400, 400))

    model.network = Network()
    encoded = model.encode(sample_of(image))
    example = SimpleNamespace(kind="support", encoded=encoded, mask=mask)
    model.answer(encoded, SimpleNamespace(prompts=[example]))
    return [
        ("image", encoded["image"][0], published),
        ("mask", seen["support_masks"][0, 0], small[0, 0]),
    ]


def padded(name: str, repository: Path, module: str, side_px: int, scale: float) -> Pairs:
    """Compare images and masks of the two networks that pad to a square."""
    image, mask = photograph()
    mean = [each * scale for each in (0.485, 0.456, 0.406)]
    spread = [each * scale for each in (0.229, 0.224, 0.225)]
    with imports_from(repository):
        transform = importlib.import_module(module)
        steps = [
            transform.Resize(side_px),
            transform.ToTensor(),
            transform.Normalize(mean=mean, std=spread),
        ]
        published, label = transform.Compose(steps)(np.float32(image), mask.astype(np.uint8))
    model = adapter(name, side_px=side_px)
    size = tuple(int(side * side_px / max(SHAPE)) // 8 * 8 for side in SHAPE)
    if name == "repri":
        seen: list[Any] = []

        def extract_features(batch: Any) -> Any:
            seen.append(batch)
            return batch

        model.network = SimpleNamespace(extract_features=extract_features)
        model.encode(sample_of(image))
        own, drawn = seen[0], model.drawn(size, mask)
        published = published / 1.0
    else:
        encoded = model.encode(sample_of(image))
        own = encoded["image"]
        drawn = model.drawn(SimpleNamespace(encoded=encoded, mask=mask))
    return [("image", own[0], published), ("mask", drawn[0], label)]


def rpmm(repository: Path) -> Pairs:
    """Compare images and masks."""
    image, mask = photograph()
    with imports_from(repository):
        import collections.abc

        vars(sys.modules["collections"]).setdefault("Iterable", collections.abc.Iterable)
        from data.transforms import functional
    from PIL import Image

    published = functional.resize(Image.fromarray(image), (481, 481))
    pixels = np.asarray(published, dtype=np.float32).transpose(2, 0, 1) / 255
    mean = np.array([0.485, 0.456, 0.406])[:, None, None]
    spread = np.array([0.229, 0.224, 0.225])[:, None, None]
    whole = Image.fromarray(mask.astype(np.float32))
    small = np.array(functional.resize(whole, (481, 481), Image.NEAREST))
    model = adapter("rpmm", side_px=481)
    own = model.encode(sample_of(image))["image"][0]
    return [("image", own, (pixels - mean) / spread), ("mask", model.drawn(mask)[0, 0], small)]


def medsam2(repository: Path) -> Pairs:
    """Compare slices; the window of intensities is a choice of the adapter, and the same for both."""
    rng = np.random.default_rng(0)
    voxels = rng.normal(size=(3, 300, 280)).cumsum(axis=1).astype(np.float32)
    script = functions_of(
        repository / "medsam2_infer_3D_CT.py", "resize_grayscale_to_rgb_and_resize"
    )
    low, high = np.percentile(voxels, (0.5, 99.5))
    grey = (voxels.clip(low, high) - low) / (high - low) * 255.0
    published = script.resize_grayscale_to_rgb_and_resize(grey, 512) / 255.0
    mean = np.array([0.485, 0.456, 0.406])[:, None, None]
    spread = np.array([0.229, 0.224, 0.225])[:, None, None]
    own = adapter("medsam2").encode(SimpleNamespace(voxels=voxels, shape=voxels.shape))["pictures"]
    return [("slices", own, (published - mean) / spread)]


def segvol(repository: Path) -> Pairs:
    """Compare intensities, and the small volume that the network sees first."""
    import monai.transforms as transforms

    rng = np.random.default_rng(0)
    voxels = rng.gamma(2.0, 100.0, size=VOLUME).astype(np.float32)
    # Air around the body, which the published code crops.
    voxels[:5] = 0
    voxels[:, 250:] = 0
    voxels[:, :, :9] = 0
    with imports_from(repository):
        from data_process.demo_data_process import ForegroundNormalization, MinMaxNormalization
    item = {"image": voxels[None]}
    item = MinMaxNormalization()(ForegroundNormalization(keys=["image"])(item))
    item = transforms.SpatialPadd(keys=["image"], spatial_size=(32, 256, 256))(item)
    item = transforms.CropForegroundd(keys=["image"], source_key="image")(item)
    small = transforms.Resized(keys=["image"], spatial_size=(32, 256, 256), mode="nearest-exact")(
        item
    )["image"]
    sample = SimpleNamespace(voxels=voxels, shape=voxels.shape, affine=None)
    own = adapter("segvol").encode(sample)
    return [("volume", own["volume"][0], item["image"]), ("small volume", own["small"][0], small)]


def sam_med3d(_repository: Path) -> Pairs:
    """Compare the volume at 1.5 mm, in the steps of `data_preprocess` of the published code."""
    import torch
    import torchio

    rng = np.random.default_rng(0)
    voxels = rng.gamma(2.0, 100.0, size=(40, 60, 70)).astype(np.float32)
    affine = np.diag([1.0, 1.2, 2.5, 1.0])
    image = torchio.ScalarImage(
        tensor=torch.from_numpy(voxels.transpose(2, 1, 0).copy())[None], affine=affine
    )
    published = torchio.ToCanonical()(torchio.Resample(target=(1.5, 1.5, 1.5))(image)).data[0]
    own_affine = affine[:, [2, 1, 0, 3]]
    sample = SimpleNamespace(
        voxels=voxels, shape=voxels.shape, spacing_mm=(2.5, 1.2, 1.0), affine=own_affine
    )
    own = adapter("sam-med3d", voxel_mm=1.5).encode(sample)["voxels"]
    spread = float(published.std())
    return [("volume", own / spread, published / spread)]


def frames(name: str) -> Callable[[Path], Pairs]:
    """Return a comparison of frames, which are normalized only."""

    def compare(repository: Path) -> Pairs:
        from torchvision.transforms import ToTensor

        image, _ = photograph()
        with imports_from(repository):
            normalization = importlib.import_module("dataset.range_transform").im_normalization
        own = adapter(name).encode(SimpleNamespace(frames=image[None]))
        own = own["frames"][0, 0] if name == "mivos" else own[0]
        return [("frame", own, normalization(ToTensor()(image)))]

    return compare


COMPARISONS: dict[str, Callable[[Path], Pairs]] = {
    "hsnet": hsnet,
    "medsam2": medsam2,
    "mivos": frames("mivos"),
    "pfenet": lambda folder: padded("pfenet", folder, "util.transform", 473, 255),
    # Published images reach `ToTensor` as doubles, and are divided by 255 there.
    "repri": lambda folder: padded("repri", folder, "src.dataset.transform", 417, 1),
    "rpmm": rpmm,
    "sam-med3d": sam_med3d,
    "segvol": segvol,
    "xmem": frames("xmem"),
}


def row(name: str, what: str, own: Any, published: Any) -> str:
    """Return one line of the table: how far the adapter is from the published transform."""
    first = np.asarray(own, dtype=np.float64)
    second = np.asarray(published, dtype=np.float64)
    if first.shape != second.shape:
        return f"| {name} | {what} | shape {first.shape}, published {second.shape} | |"
    difference = np.abs(first - second)
    differing = int((difference > TOLERANCE).sum())
    return f"| {name} | {what} | {differing} of {difference.size} values | {difference.max():.1e} |"


def table(repositories: Path) -> str:
    """Return the comparison of all adapters as Markdown."""
    lines = [
        "| adapter | input | different values | largest difference |",
        "| --- | --- | --- | --- |",
    ]
    for name, compare in COMPARISONS.items():
        for what, own, published in compare(repositories / name):
            lines.append(row(name, what, own, published))
    lines += [f"| {name} | {reason} | | |" for name, reason in UNCHANGED.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    page = HERE / "README.md"
    before, _, rest = page.read_text("utf-8").partition(START)
    page.write_text(
        before + START + table(Path(sys.argv[1])) + END + rest.partition(END)[2], "utf-8"
    )
