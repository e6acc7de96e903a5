"""Names from data that become paths: no reader or writer leaves the folder that it received."""

import json

import numpy as np
import pytest
from PIL import Image

from segarena.engine.run_folder import RunFolder
from segarena.errors import SegarenaError, StoreError
from segarena.systems.clicks.crowd.instances import read_previous_mask
from segarena.systems.oneshot.pairs.image_sources import class_mask_path, jpeg_path, label_map_path
from segarena.systems.oneshot.pairs.pair_table import pairs_table
from segarena.systems.oneshot.pairs.toss_lists import write_toss_lists
from segarena.systems.scenes.files.label_png import write_label_pngs
from segarena.systems.scenes.files.reduction_files import write_reduction
from segarena.systems.scenes.measures.edge_benchmark import find_detections
from segarena.systems.scenes.measures.multi_annotator_images import HumanImage
from segarena.systems.scenes.model.scene import ImageRecord, SceneSet, make_scene
from segarena.systems.scenes.page.review_page import review_page
from segarena.systems.videos.session.session_serialization import open_session_file
from segarena.work.ledger import Ledger
from segarena_people.import_format import read_goal
from segarena_people.mask_files import MaskFiles
from segarena_people.voc_masks import read_classes

NAMES = (
    "../secret",
    "a/../../secret",
    "..\\secret",
    "link/secret",
    "/etc/secret",
    "C:\\secret",
    "nul",
    "a\0b",
    "",
)
"""`link` leads out of the folder, to where files called secret lie."""


def published(root, name):
    row = {
        "list": name,
        "row": 0,
        "dataset": "coco20i",
        "class": "1",
        "query": "a",
        "supports": ["b"],
    }
    return write_toss_lists(pairs_table([row | {"support_classes": ["1"]}]), root)


def scenes(name):
    image = ImageRecord(id=name, file_name=f"{name}.png", shape=(8, 8))
    return SceneSet(scenes=(make_scene(image, []),))


def detections(root, name):
    return find_detections(root, [HumanImage(id=name, split="")])


def label_pngs(root, name):
    return write_label_pngs(scenes(name), root, kind="16-bit")


def reduction(root, name):
    return write_reduction(scenes(name), root, "modal")


def photograph(root, name):
    page = review_page(scenes(name), images=root)
    assert "data:image/jpeg" not in page, "a photograph of another folder is on the page"


def davis_report(root, name):
    file = root / "session.json"
    file.write_text(json.dumps({"session_id": "0" * 64, "started": name}), encoding="utf-8")
    return open_session_file(file, root)


TAKERS = {
    "one-shot images": lambda root, name: jpeg_path(root, name),
    "one-shot maps": lambda root, name: label_map_path(root, "1", name),
    "one-shot masks": lambda root, name: class_mask_path(root, name, "x"),
    "previous masks of clicks": lambda root, name: read_previous_mask(root, name, (8, 8)),
    "published lists": published,
    "detections of edges": detections,
    "label images": label_pngs,
    "reductions": reduction,
    "photographs of a review": photograph,
    "reports of a session": davis_report,
    "masks of a collection": lambda root, name: MaskFiles(root.parent).read(
        root.name, f"{name}.png", (8, 8)
    ),
    "masks beside people's prompts": lambda root, name: read_goal(root, name),
    "classes beside people's prompts": lambda root, name: read_classes(root, name),
}


@pytest.fixture
def root(tmp_path):
    """Return a folder next to which there are pictures called secret."""
    folder = tmp_path / "deep" / "root"
    folder.mkdir(parents=True)
    for suffix in (".png", ".jpg", "_x.png"):
        Image.fromarray(np.full((8, 8), 255, np.uint8)).save(folder.parent / f"secret{suffix}")
    (folder / "link").symlink_to(folder.parent)
    return folder


def outside(root):
    return sorted(
        (path, path.stat().st_mtime_ns)
        for path in root.parents[1].rglob("*")
        if root not in path.parents
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("taker", TAKERS)
def test_nothing_outside_is_read_or_written(root, taker, name):
    before = [path for path in outside(root) if path[0] != root]
    try:
        given = TAKERS[taker](root, name)
    except SegarenaError:
        given = None
    paths = given if isinstance(given, list) else [given] if hasattr(given, "resolve") else []
    assert all(path.resolve().is_relative_to(root) for path in paths)
    assert not isinstance(given, (dict, np.ndarray)), (
        "a file outside was read, or is about to be written"
    )
    assert [path for path in outside(root) if path[0] != root] == before


HOSTILE = """
import numpy as np
from segarena import ImageSample, Target

class D:
    name, fingerprint, sample_ids = "hostile", "1", ("../../escaped",)

    def load(self, sample_id):
        mask = np.zeros((40, 40), dtype=bool)
        mask[8:30, 8:30] = True
        image = np.arange(4800, dtype=np.uint8).reshape(40, 40, 3)
        return ImageSample(id=sample_id, image=image, targets=(Target(id="object", mask=mask),))

    def check(self):
        return []
"""


@pytest.mark.long
def test_click_commands_write_into_their_folders_alone(segarena, refused, tmp_path):
    work = tmp_path / "deep" / "work"
    work.mkdir(parents=True)
    dataset = work / "hostile.py:D"
    (work / "hostile.py").write_text(HOSTILE, encoding="utf-8")
    assert (
        segarena(
            "click-data", "crowd", "-d", dataset, "--clicks", 9, "-o", work / "raw.csv"
        ).exit_code
        == 0
    )
    masks = ("--previous-masks", work / "masks" / "here")
    assert "leads out" in refused(
        "click-data", "crowd", "-d", dataset, "--clicks", 9, "-o", work / "b.csv", *masks
    )
    assert (
        segarena(
            "click-data", "maps", work / "raw.csv", "-d", dataset, "-o", work / "out"
        ).exit_code
        == 0
    )
    assert not list(tmp_path.rglob("escaped*"))
    assert {path.parent.name for path in work.rglob("*escaped*")} == {"maps", "pictures"}


CHANGES = [
    {"unit": "../../outside"},
    {"unit": "000000-000003/../../../outside"},
    {"files": {"..": "0" * 64}},
    {"files": {"records/../../..": "0" * 64}},
    {"stop": 10**13},
    {"first": -5},
    {"without": [10**9]},
]


def test_names_and_places_in_the_ledger_of_a_run_are_its_own(small_run):
    folder = small_run("sample-disc")
    file = folder.path / "pieces.jsonl"
    whole = file.read_bytes()
    for change in CHANGES:
        with Ledger(file, {"pieces": 1}) as noted:
            (unit, value) = next(iter(noted.done.items()))
            noted.add(
                change.get("unit", unit),
                {**value, **{k: v for k, v in change.items() if k != "unit"}},
            )
        for use in (
            RunFolder.open(folder.path).records,
            RunFolder.open(folder.path).lock().__enter__,
        ):
            with pytest.raises(StoreError, match=r"pieces\.jsonl: .*damaged"):
                use()
        file.write_bytes(whole)
