"""Compare each adapter's preprocessing with the published transform on the same random input.

    python adapters/preprocessing.py REPOSITORIES [NAME ...]

REPOSITORIES holds a checkout of each published repository, in a folder with the adapter's name. The
script rewrites the rows of the named adapters in the table of README.md, or all rows without names.
It needs torch, torchvision, Pillow, OpenCV, MONAI and TorchIO, and the packages of the
repositories.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dialogues
import numpy as np
from dialogues import definitions_of, imports_from, load

HERE = Path(__file__).parent
START = "<!-- preprocessing -->\n"
END = "<!-- end of preprocessing -->"
TOLERANCE = 1e-5
"""Maximum difference that rounding of 32-bit floats can cause, in standard deviations."""

SHAPE = (500, 375)
VOLUME = (40, 300, 280)


def adapter(name: str, **fields: Any) -> Any:
    """Return an adapter's model without its network, which preprocessing does not need."""
    import segarena.worker

    sys.modules["segarena_worker"] = segarena.worker
    module = load(HERE / name / "adapter.py")
    model = module.Model.__new__(module.Model)
    vars(model).update({"device": "cpu", **fields})
    return model


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
    """Return an image in the format that a worker receives."""
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
        """Replaces a network and keeps the batch that it receives."""

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
        own = seen[0]
        drawn = model.drawn(size, mask)
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
    """Compare slices; both use the adapter's intensity window."""
    from PIL import Image

    rng = np.random.default_rng(0)
    voxels = rng.normal(size=(3, 300, 280)).cumsum(axis=1).astype(np.float32)
    script = definitions_of(
        repository / "medsam2_infer_3D_CT.py",
        "resize_grayscale_to_rgb_and_resize",
        namespace={"np": np, "Image": Image},
    )
    low, high = np.percentile(voxels, (0.5, 99.5))
    grey = (voxels.clip(low, high) - low) / (high - low) * 255.0
    published = script.resize_grayscale_to_rgb_and_resize(grey, 512) / 255.0
    mean = np.array([0.485, 0.456, 0.406])[:, None, None]
    spread = np.array([0.229, 0.224, 0.225])[:, None, None]
    own = adapter("medsam2").encode(SimpleNamespace(voxels=voxels, shape=voxels.shape))["pictures"]
    return [("slices", own, (published - mean) / spread)]


def segvol(repository: Path) -> Pairs:
    """Compare the intensities, and the reduced volume of the zoom-out pass."""
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
    """Compare the volume at 1.5 mm with the result of the steps of the published `data_preprocess`."""
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
    """Return a comparison of frames, whose only preprocessing is normalization."""

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
    """Return a table row with the difference between the adapter and the published code.

    Lists of arrays are pooled. Masks are compared by pixels, all other arrays by values.
    """
    pairs = [(own, published)]
    unit = "values"
    if isinstance(own, list):
        if len(own) != len(published):
            return f"| {name} | {what} | {len(own)} arrays, published {len(published)} | |"
        pairs = list(zip(own, published, strict=True))
        what = f"{what}, {len(own)} arrays"
        if own[0].dtype == np.bool_:
            unit = "pixels"
    total = differing = 0
    largest = 0.0
    for each, reference in pairs:
        first = np.asarray(each, dtype=np.float64)
        second = np.asarray(reference, dtype=np.float64)
        if first.squeeze().shape != second.squeeze().shape:
            return f"| {name} | {what} | shape {first.shape}, published {second.shape} | |"
        difference = np.abs(first.squeeze() - second.squeeze())
        total += difference.size
        differing += int((difference > TOLERANCE).sum())
        largest = max(largest, float(difference.max()))
    return f"| {name} | {what} | {differing} of {total} {unit} | {largest:.1e} |"


def compared(name: str, repository: Path) -> list[str]:
    """Return the table rows of one adapter."""
    if name in COMPARISONS:
        pairs = COMPARISONS[name](repository)
    else:
        with imports_from(repository):
            pairs = dialogues.COMPARISONS[name](repository)
    return [row(name, what, own, published) for what, own, published in pairs]


def write_rows(name: str, repository: Path) -> None:
    """Compare one adapter and rewrite its rows in the table."""
    page = HERE / "README.md"
    before, _, rest = page.read_text("utf-8").partition(START)
    old, _, after = rest.partition(END)
    head, rule, *lines = old.splitlines()
    rows: dict[str, list[str]] = {}
    for line in lines:
        rows.setdefault(line.strip("| ").partition(" |")[0], []).append(line)
    rows[name] = compared(name, repository)
    body = [line for each in sorted(rows) for line in rows[each]]
    page.write_text(before + START + "\n".join([head, rule, *body]) + "\n" + END + after, "utf-8")


if __name__ == "__main__":
    repositories, *names = sys.argv[1:]
    if len(names) == 1:
        write_rows(names[0], Path(repositories) / names[0])
    else:
        # Each adapter runs in a separate process, because the repositories share module names and
        # registries.
        for name in names or [*COMPARISONS, *dialogues.COMPARISONS]:
            command = [sys.executable, __file__, repositories, name]
            subprocess.run(command, check=True)  # noqa: S603 - this script
