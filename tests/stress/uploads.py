"""Files and messages from others: published tables, challenges, uploads to a server and a studio, people's prompts."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from dataset_folders import CORNERS
from folders import MASK, PHOTO, Folder, save
from PIL import Image
from readers import write_instances

SHAPE = MASK.shape
VIDEO = (2, *SHAPE)
VOLUME = (3, *SHAPE)
_UUID = "0a1b2c3d-0000-4000-8000-000000000000"
_DAY = "2030-01-01T00:00:00Z"


def uploads() -> list[Folder]:
    """Return all cases of this module."""
    masks = ("k0/0.png", "k1/0.npz", "k2/0/00000.png")
    return [
        Folder("table", _write("mine.toml", _TABLE), _read_table, ("mine.toml",)),
        Folder("habits", _habits, _read_habits, ("habits.toml",)),
        Folder("strokes-model", _stroke_model, _read_stroke_model, ("model.npz",)),
        Folder("clickability", _clickability, _read_clickability, ("network.pt",)),
        Folder("statistics", _statistics, _read_statistics, ("stats.csv",)),
        Folder("tiers", _tiers, _read_tiers, ("split0_q_easy_sal.txt", "names.txt", "coco.pkl")),
        Folder("turn", _turn, _read_turn, ("turn", "coco.json")),
        Folder("reply", _reply, _read_reply, ("reply",)),
        Folder("packed", _packed, _read_packed, ("image.sample", "volume.sample", "video.sample")),
        Folder("participation", _participation, _read_participation, ("challenge.json",)),
        Folder("challenge", _challenge, _read_challenge, ("challenge.json",)),
        Folder("settings", _write("site.toml", _SITE), _read_settings, ("site.toml",)),
        Folder("submission", _submission, _read_submission, ("masks.zip",)),
        Folder("submitted", _submitted, _read_submitted, masks),
        Folder("banner", _pictures, _read_banner, ("a.png", "a.jpg")),
        Folder("picture", _pictures, _read_picture, ("a.png", "a.jpg", "a.webp", "a.tif")),
        Folder("prior", _prior, _read_prior, ("a.json", "a.xml")),
        Folder("document", _document, _read_document, ("scene.json",)),
        Folder("study", _write("study.toml", _STUDY), _read_study, ("study.toml",)),
        Folder("prompts", _prompts, _read_prompts, ("prompts.parquet", "goals/0.png", "source.toml")),
        Folder("people-csv", _people_csv, _people("csv", "points.csv"), ("points.csv", "masks/a.png")),
        Folder("people-rasters", _rasters, _people("rasters", "drawn"), ("drawn/ann/a.png",)),
        Folder("people-davis", _davis, _people("davis-scribbles", "DAVIS"), (_DAVIS_FILE,)),
        Folder("people-acdc", _acdc, _people("acdc-scribbles", "slices.npz"), ("slices.npz",)),
        Folder("people-medscribble", _medscribble, _people("medscribble", "some.npz"), ("some.npz",)),
        Folder("people-voc", _voc, _people("voc-points", "points.json"), ("points.json", "masks/a.png")),
        Folder("people-scribblesup", _scribblesup, _people("scribblesup", "xml"), ("xml/a.xml", "masks/a.png")),
        Folder("people-open-images", _open_images, _people("open-images", "table.csv"), ("table.csv",)),
        Folder("people-bsds", _bsds, _people("bsds-boxes", "val"), ("val/1.npz",)),
        Folder("people-pointprompt", _pointprompt, _people("pointprompt", "results"), _POINT_FILES),
        Folder("instances", _instances, _read_instances, ("a.mat",)),
    ]  # fmt: skip


_TABLE = """
system = "mine"
paper = "Mine, 2030"

[benchmark]
name = "clicks"
options = { rounds = 20 }

[datasets.GrabCut]
what = "50 photographs"
plugin = "grabcut(path='{path}')"

[models.A]
[models.B]

[measures."NoC@90"]
title = "Clicks for 90 %"

[tables.1]
title = "Clicks"
figures = \"\"\"
model | GrabCut/NoC@90
A     | 1.52
B     | 2.0?
\"\"\"
"""
_SITE = """
host = "127.0.0.1"
port = 8080
workers = 2

[limits]
body_mb = 8.0
"""
_STUDY = """
slug = "points"
title = "Points"
dataset = "demo"
kinds = ["click", "box"]
modes = ["cut-out", "text"]
answers = 3
shown_s = 2.0
"""


def _write(name: str, text: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / name).write_text(text)

    return make


def _read_table(folder: Path) -> None:
    from segarena.published.table_files import read_tables

    read_tables(folder / "mine.toml")


def _habits(folder: Path) -> None:
    from segarena.users.habits.habit_files import SHIPPED_HABITS

    folder.mkdir(parents=True)
    (folder / "habits.toml").write_bytes((SHIPPED_HABITS / "clicks.toml").read_bytes())


def _read_habits(folder: Path) -> None:
    from segarena.systems.clicks.users.humanlike_clicker import HumanlikeClicker

    HumanlikeClicker(fitted=str(folder / "habits.toml"))


def _stroke_model(folder: Path) -> None:
    from segarena.users.stroke_model.model import SHIPPED_MODEL

    folder.mkdir(parents=True)
    (folder / "model.npz").write_bytes(Path(SHIPPED_MODEL).read_bytes())


def _read_stroke_model(folder: Path) -> None:
    from segarena.users.stroke_model.model import read_stroke_model

    read_stroke_model(folder / "model.npz")


def _clickability(folder: Path) -> None:
    import torch

    folder.mkdir(parents=True)
    size = {"channels": (8, 8, 8, 8), "depths": (1, 1, 1, 1), "head_channels": 32}
    torch.save({"size": size, "state_dict": {"a": torch.zeros(2)}}, folder / "network.pt")


def _read_clickability(folder: Path) -> None:
    from segarena.errors import InvalidInput
    from segarena.systems.clicks.network.checkpoint import load_checkpoint

    try:
        load_checkpoint(folder / "network.pt", "tiny")
        load_checkpoint(folder / "network.pt")
    except InvalidInput as error:
        # The weights are not those of the network; what is read here is the file around them.
        if "does not fit" not in str(error):
            raise


def _statistics(folder: Path) -> None:
    from segarena.systems.oneshot.list_analysis.partition_recovery import ATTRIBUTE_NAMES

    folder.mkdir(parents=True)
    lines = [",".join(("filename", "oss_perf", *ATTRIBUTE_NAMES))]
    lines += [
        ",".join([f"1_2007_00000{row}", *["0.5"] * (1 + len(ATTRIBUTE_NAMES))]) for row in (1, 2)
    ]
    (folder / "stats.csv").write_text("\n".join([*lines, ""]))


def _read_statistics(folder: Path) -> None:
    from segarena.systems.oneshot.list_analysis.partition_recovery import read_statistics

    read_statistics(folder / "stats.csv")


def _tiers(folder: Path) -> None:
    import pickle

    folder.mkdir(parents=True)
    (folder / "split0_q_easy_sal.txt").write_text("1_2007_000033 1_2007_000061\n" * 3)
    (folder / "names.txt").write_text("2007_000033__01\n2007_000061__04\n")
    lists = {0: ["val2014/COCO_val2014_000000000042.jpg"], 1: []}
    (folder / "coco.pkl").write_bytes(pickle.dumps(lists))


def _read_tiers(folder: Path) -> None:
    from segarena.errors import SegarenaError
    from segarena.systems.oneshot.pairs.image_lists import read_image_list
    from segarena.systems.oneshot.pairs.toss_lists import read_toss_list

    problems: list[str] = []
    reads: list[tuple[Callable[..., Any], str]] = [
        (read_toss_list, "split0_q_easy_sal.txt"),
        (lambda path: read_image_list(path, list), "names.txt"),
        (lambda path: read_image_list(path, list), "coco.pkl"),
    ]
    for read, name in reads:
        try:
            read(folder / name)
        except SegarenaError as error:
            problems.append(str(error))
    if problems:
        raise SegarenaError("; ".join(problems))


def _turn(folder: Path) -> None:
    from segarena.dialogue import Prediction
    from segarena.protocol.turns import TurnHeader, pack_turn

    folder.mkdir(parents=True)
    answers = {0: Prediction(MASK > 0), 1: "it ended"}
    header = TurnHeader(id=_UUID, client_s=0.5, open=[2])
    (folder / "turn").write_bytes(pack_turn(header, answers))
    objects = [{"object_id": 1, "counts": "P2`0P8"}]
    labels = {"size": list(VIDEO), "frames": [objects, []]}
    (folder / "coco.json").write_text(json.dumps(labels))


def _read_turn(folder: Path) -> None:
    from segarena.errors import InvalidInput
    from segarena.protocol.coco_labels import decode_coco_labels
    from segarena.protocol.turns import read_turn_header, unpack_turn

    data = (folder / "turn").read_bytes()
    read_turn_header(data)
    unpack_turn(data, shape=SHAPE, objects={0: 1, 1: 1})
    try:
        decode_coco_labels((folder / "coco.json").read_bytes(), VIDEO, 2)
    except InvalidInput as error:
        if "run lengths" not in str(error):
            raise


def _reply(folder: Path) -> None:
    from segarena.prompts import Box, Click, MaskPrompt, Scribble
    from segarena.protocol.replies import DialogueReply, pack_reply

    folder.mkdir(parents=True)
    prompts = [
        Click((3, 4)),
        Box((1, 2), (8, 9)),
        Scribble(((1.0, 2.0), (3.0, 4.0))),
        MaskPrompt(MASK > 0),
    ]
    dialogues = [DialogueReply(dialogue=0, rounds=[prompts[:2], prompts[2:]], values={"iou": 0.5})]
    (folder / "reply").write_bytes(pack_reply(dialogues))


def _read_reply(folder: Path) -> None:
    from segarena.protocol.replies import unpack_reply

    unpack_reply((folder / "reply").read_bytes(), SHAPE)


def _packed(folder: Path) -> None:
    from segarena.protocol.sample_serialization import pack_sample
    from segarena.samples import ImageSample, VideoSample, VolumeSample

    folder.mkdir(parents=True)
    voxels = np.zeros(VOLUME, np.int16)
    frames = np.stack([PHOTO, PHOTO])
    samples = {
        "image": ImageSample(id="a", image=PHOTO, targets=()),
        "volume": VolumeSample(id="a", voxels=voxels, spacing_mm=(1.0, 1.0, 2.0), targets=()),
        "video": VideoSample(id="a", frames=frames, frame_shape=SHAPE, targets=()),
    }
    for name, sample in samples.items():
        (folder / f"{name}.sample").write_bytes(pack_sample(sample))


def _read_packed(folder: Path) -> None:
    from segarena.protocol.sample_serialization import unpack_sample

    for path in sorted(folder.iterdir()):
        unpack_sample(path.read_bytes(), "k0")


def _participation(folder: Path) -> None:
    folder.mkdir(parents=True)
    value = {
        "server": "https://arena.example",
        "challenge": "spring",
        "phase": "test",
        "run": _UUID,
        "places": [],
        "kind": "masks",
    }
    (folder / "challenge.json").write_text(json.dumps(value))


def _read_participation(folder: Path) -> None:
    from segarena.client.challenge_run_record import read_participation

    read_participation(folder)


def _challenge(folder: Path) -> None:
    folder.mkdir(parents=True)
    phase = {"name": "test", "shows": "prompts", "opens": _DAY, "seed": 3}
    value = {
        "slug": "spring",
        "title": "Spring",
        "text": "# Rules\n\nBe kind. ![figure](figure.png) `code`\n",
        "benchmark": "clicks(rounds=3)",
        "dataset": "demo",
        "phases": [phase],
    }
    (folder / "challenge.json").write_text(json.dumps(value))


def _read_challenge(folder: Path) -> None:
    from segarena_server.challenges.description import read_challenge
    from segarena_server.challenges.markdown import render_markdown

    render_markdown(read_challenge((folder / "challenge.json").read_bytes()).text)


def _read_settings(folder: Path) -> None:
    from segarena_server.config_file import read_settings, settings_and_faults

    settings_and_faults(folder / "site.toml", {})
    read_settings(folder / "site.toml", {})


def _expected() -> list[Any]:
    from segarena_server.challenges.submissions.masks import ExpectedMasks

    return [
        ExpectedMasks(key="k0", kind="image", shape=SHAPE, objects=(1,)),
        ExpectedMasks(key="k1", kind="volume", shape=VOLUME, objects=(1,)),
        ExpectedMasks(key="k2", kind="video", shape=VIDEO, objects=(2,)),
    ]


def _submitted(folder: Path) -> None:
    from segarena_server.challenges.submissions.masks import write_submitted_mask

    folder.mkdir(parents=True)
    for one in _expected():
        write_submitted_mask(folder, one, 0, np.ones(one.shape, np.uint8))


def _read_submitted(folder: Path) -> None:
    from segarena.errors import InvalidInput
    from segarena_server.challenges.submissions.masks import mask_faults

    faults = mask_faults(folder, _expected())
    if faults:
        raise InvalidInput("; ".join(faults))


def _submission(folder: Path) -> None:
    _submitted(folder / "masks")
    with zipfile.ZipFile(folder / "masks.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((folder / "masks").rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder / "masks"))


def _read_submission(folder: Path) -> None:
    from segarena_server.challenges.submissions.archives import unpack_submission

    unpack_submission(folder / "masks.zip", folder / "out", most_bytes=1 << 20, most_files=100)
    _read_submitted(folder / "out")


def _pictures(folder: Path) -> None:
    folder.mkdir(parents=True)
    exif = Image.Exif()
    exif[0x0112] = 6
    picture = Image.fromarray(PHOTO)
    picture.save(folder / "a.png", exif=exif)
    picture.convert("CMYK").save(folder / "a.jpg", exif=exif)
    picture.save(folder / "a.webp", exif=exif)
    picture.save(folder / "a.tif")


def _read_banner(folder: Path) -> None:
    from segarena_server.challenges.description_images import _format_of, _rewritten

    for name in ("a.png", "a.jpg"):
        content = (folder / name).read_bytes()
        _rewritten(content, _format_of(content)[0])


def _read_picture(folder: Path) -> None:
    from segarena_studio.annotation.pictures import check_picture

    for path in sorted(folder.iterdir()):
        check_picture(path.name, path.read_bytes())


def _prior(folder: Path) -> None:
    folder.mkdir(parents=True)
    height, width = SHAPE
    shapes = [{"label": "dog", "points": CORNERS, "shape_type": "polygon"}]
    labelme = {"imagePath": "a.png", "imageHeight": height, "imageWidth": width, "shapes": shapes}
    (folder / "a.json").write_text(json.dumps(labelme))
    points = ";".join(f"{x},{y}" for x, y in CORNERS)
    text = (
        f'<annotations><image id="0" name="a.png" width="{width}" height="{height}">'
        f'<polygon label="a" points="{points}"/><box label="b" xtl="1" ytl="2" xbr="9" ybr="8" rotation="20"/>'
        '<mask label="c" rle="1, 3" left="1" top="1" width="2" height="2"/></image></annotations>'
    )
    (folder / "a.xml").write_text(text)


def _read_prior(folder: Path) -> None:
    from segarena_studio.annotation.prior_annotations import masks_to_polygons, read_annotations
    from segarena_studio.annotation.scene_document import encode_document, read_document

    for path in sorted(folder.iterdir()):
        for scene in read_annotations(path.name, path.read_bytes()).scenes:
            read_document(encode_document(masks_to_polygons(scene)))


def _document(folder: Path) -> None:
    folder.mkdir(parents=True)
    region = {"id": "r1", "ring": [0, 1, 2, 3], "name": "dog", "is_stuff": False}
    value = {"version": 1, "points": CORNERS, "regions": [region], "next_id": 2}
    (folder / "scene.json").write_text(json.dumps(value))


def _read_document(folder: Path) -> None:
    from segarena.systems.scenes.model.rasters import rasterise
    from segarena_studio.annotation.scene_document import document_to_scene, read_document

    document = read_document((folder / "scene.json").read_bytes())
    rasterise(document_to_scene(document, name="a.png", shape=SHAPE))


def _read_study(folder: Path) -> None:
    from segarena_studio.studies.description import read_study

    read_study(folder / "study.toml")


def _prompts(folder: Path) -> None:
    from segarena_people.prompt_table import write_prompt_table
    from segarena_people.prompts import PersonPrompt, PointerSample

    save(folder / "goals/0.png", MASK)
    (folder / "source.toml").write_text('name = "made"\norigin = "tests"\nterms = "none"\n')
    points = tuple(PointerSample(stroke=0, x=x + 0.5, y=y + 0.5, time_ms=9.0) for x, y in CORNERS)
    row = PersonPrompt(
        id="1",
        study="made",
        dataset="made",
        sample="a",
        target="object",
        height=SHAPE[0],
        width=SHAPE[1],
        kind="scribble",
        goal_mask="0.png",
        points=points,
    )
    write_prompt_table([row], folder / "prompts.parquet")


def _read_prompts(folder: Path) -> None:
    from segarena_people.collection import Collection
    from segarena_people.prompt_checks import check_collection

    for one in Collection.open(folder):
        _ = one.goal, one.prompts
    list(check_collection(Collection.open(folder)))


def _people(name: str, source: str) -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        from segarena_people.import_format import ImportInputs, find_format

        scratch = folder / "scratch"
        scratch.mkdir()
        beside = ImportInputs(masks=folder / "masks", scratch=scratch)
        for unit in find_format(name).open(folder / source, beside).values():
            list(unit())

    return read


def _people_csv(folder: Path) -> None:
    save(folder / "masks/a.png", MASK)
    rows = ["prompt,image,person,kind,x,y,time_ms,stroke,positive"]
    rows += [
        "1,a,ann,scribble,4.5,3.5,0,0,1",
        "1,a,ann,scribble,8.5,3.5,16,0,1",
        "2,a,ann,click,9,9,,,",
    ]
    (folder / "points.csv").write_text("\n".join([*rows, ""]))


def _rasters(folder: Path) -> None:
    save(folder / "masks/a.png", MASK)
    save(folder / "drawn/ann/a.png", MASK)


_DAVIS_FILE = "DAVIS/Scribbles/dog/001.json"


def _davis(folder: Path) -> None:
    for number in range(2):
        save(folder / f"DAVIS/Annotations/480p/dog/{number:05d}.png", MASK // 255)
        save(folder / f"masks/dog/{number:05d}.png", MASK // 255)
    line = {"path": [[0.5, 0.5], [0.6, 0.5]], "object_id": 1, "start_time": 0, "end_time": 500}
    value = {"sequence": "dog", "annotated_frame": 1, "scribbles": [[], [line]]}
    (folder / _DAVIS_FILE).parent.mkdir(parents=True)
    (folder / _DAVIS_FILE).write_text(json.dumps(value))


def _acdc(folder: Path) -> None:
    folder.mkdir(parents=True)
    label = (MASK > 0).astype(np.uint8)
    scribble = np.where(label > 0, 1, 4).astype(np.uint16)
    np.savez(
        folder / "slices.npz",
        name=["patient001_frame01_slice_0"],
        shape=np.array([SHAPE], np.int32),
        label=label.ravel(),
        scribble=scribble.ravel(),
    )


def _medscribble(folder: Path) -> None:
    folder.mkdir(parents=True)
    mask = np.packbits(MASK[None] > 0, axis=-1)
    drawn = np.packbits(np.stack([MASK > 0] * 3)[None], axis=-1)
    np.savez(
        folder / "some.npz",
        name=["WBC/CV/004_axis0_midslice"],
        mask=mask,
        positive=drawn,
        negative=drawn,
    )


def _voc(folder: Path) -> None:
    save(folder / "masks/a.png", (MASK > 0).astype(np.uint8) * 4)
    points = [{"y": 8.2, "x": 8.7, "rank": 1, "cls": 4}, {"y": 7, "x": 7, "rank": 2, "cls": 4}]
    (folder / "points.json").write_text(json.dumps({"a": points}))


def _scribblesup(folder: Path) -> None:
    save(folder / "masks/a.png", (MASK > 0).astype(np.uint8) * 12)
    (folder / "xml").mkdir()
    size = f"<size><width>{SHAPE[1]}</width><height>{SHAPE[0]}</height><depth>3</depth></size>"
    points = "".join(f"<point><X>{x}</X><Y>{y}</Y></point>" for x, y in ((7, 7), (9, 9)))
    stroke = f"<polygon><tag>dog</tag>{points}</polygon>"
    text = f"<annotation><filename>a.png</filename>{size}{stroke}</annotation>"
    (folder / "xml/a.xml").write_text(text)


def _open_images(folder: Path) -> None:
    save(folder / "masks/a/a_m04yx4_1.png", MASK)
    head = "MaskPath,ImageID,LabelName,BoxID,BoxXMin,BoxXMax,BoxYMin,BoxYMax,PredictedIoU,Clicks"
    row = "a_m04yx4_1.png,aaaa,/m/04yx4,1,0.1,0.6,0.2,0.8,0.86864,0.5 0.5 1;0.99 0.1 0"
    (folder / "table.csv").write_text(f"{head}\n{row}\n")


def _bsds(folder: Path) -> None:
    (folder / "val").mkdir(parents=True)
    labels = 1 + (MASK > 0).astype(np.uint8)
    np.savez(folder / "val/1.npz", labels=np.stack([labels, labels, labels]))


_POINT_FILES = (
    "results/Bus/st1/points/0_green.npy",
    "results/Bus/st1/eachround/0_.npy",
    "masks/Bus/labels.npy",
)


def _pointprompt(folder: Path) -> None:
    of_person = folder / "results/Bus/st1"
    for name in ("points", "eachround"):
        (of_person / name).mkdir(parents=True)
    _ragged(of_person / "points/0_green.npy", [[(8, 8)], [(8, 8), (9, 9)]])
    _ragged(of_person / "points/0_red.npy", [np.zeros((0, 2)), np.zeros((0, 2))])
    np.save(of_person / "eachround/0_.npy", np.array([0, 0]))
    for step in range(2):
        save(of_person / f"masks/0_{step}_mask.png", MASK)
    (folder / "masks/Bus").mkdir(parents=True)
    _ragged(folder / "masks/Bus/labels.npy", [(MASK > 0).astype(np.uint8)])


def _ragged(path: Path, arrays: list[Any]) -> None:
    held = np.empty(len(arrays), dtype=object)
    for place, array in enumerate(arrays):
        held[place] = np.asarray(array)
    np.save(path, held, allow_pickle=True)


def _instances(folder: Path) -> None:
    folder.mkdir(parents=True)
    write_instances(folder / "a.mat")


def _read_instances(folder: Path) -> None:
    from segarena.files.matlab import read_matlab

    read_matlab(folder / "a.mat", "GTinst")
