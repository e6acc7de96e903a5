"""The published client, unchanged, holds a session at a server of ours and one of its own; the same script does here.

    python3.8 -m venv OLD
    OLD/bin/pip install numpy==1.19.5 "Cython<3" wheel scipy==1.5.4 scikit-learn==0.22.2 scikit-image==0.17.2 \
        networkx==2.5 pandas==1.1.5 opencv-python-headless==4.5.1.48 Pillow requests six absl-py
    OLD/bin/pip install --no-deps --no-build-isolation davisinteractive==1.0.4
    python tests/stress/published_client.py OLD/bin/python [--rounds 8]

With Python 3.11 the newest packages that it runs with are numpy 1.23.5, scipy 1.10.1, scikit-learn 1.2.2, scikit-image
0.20.0, networkx 2.8.8 and pandas 1.5.3.

The package is run, never read. Its sequences are in a table of its own, so the videos made here have the names of three
of them, and the table gets their sizes. Each video has the scribbles of two people.

Bar: at every interaction the masks, and so J and F, are equal to the last bit in the client's session at our server, in
its own local session and in ours; the first scribbles are at the same pixels, and the robots' lines differ by less than
a thousandth of a pixel. A second comparison of both robots, on random errors, has skeletons with many loops. All lines
are equal with the packages for Python 3.8; scikit-learn 1 lists neighbours in another order.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from scipy.ndimage import gaussian_filter
from scipy.spatial.distance import cdist

from segarena.davis import DavisInteractiveSession, InteractiveScribblesRobot
from segarena.engine.run_folder import RunFolder
from segarena.systems.videos.measures.challenge_report import report_table
from segarena_server.auth.access_keys import create_key
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.orm_models import Person
from segarena_server.server_process import SiteServer, open_site
from segarena_server.settings import Settings

SEQUENCES = {"planes-crossing": (31, 2), "car-race": (31, 4), "rollercoaster": (70, 1)}
"""Frames and objects of each sequence."""

PEOPLE = 2
SIDES = (96, 160)
REPORT_COLUMNS = ["sequence", "scribble_idx", "interaction", "object_id", "jaccard", "contour"]
KEYS = ["sample", "target", "user", "repeat", "round"]
FRAMES, MASKS, SCRIBBLES = "JPEGImages/480p", "Annotations/480p", "Scribbles"

MODEL = '''
import numpy as np

def masks(frames, drawn):
    """Give each block of 8 x 8 pixels to the object whose scribbles have the nearest mean colour; whole numbers alone.

    Errors are blocks, so that the robot always has something to draw on.
    """
    sums = {}
    for scribbles in drawn:
        for frame, lines in enumerate(scribbles["scribbles"]):
            for line in lines:
                for x, y in line["path"]:
                    height, width = frames.shape[1:3]
                    # As the package's scribbles2mask: 1 is the last pixel, and positions are rounded down.
                    pixel = frames[frame, int(y * (height - 1)), int(x * (width - 1))]
                    total, count = sums.get(line["object_id"], (np.zeros(3, np.int64), 0))
                    sums[line["object_id"]] = total + pixel, count + 1
    numbers = sorted(sums)
    means = [sums[number][0] // sums[number][1] for number in numbers]
    count, height, width, _ = frames.shape
    tiles = frames.astype(np.int64).reshape(count, height // 8, 8, width // 8, 8, 3)
    blocks = tiles.sum(axis=(2, 4)) // 64
    far = np.stack([np.square(blocks - mean).sum(axis=-1) for mean in means])
    labels = np.array(numbers)[far.argmin(axis=0)]
    return labels.repeat(8, axis=1).repeat(8, axis=2)

def hold(session, folder):
    """Hold a session; return the lines and the hash of the masks of each interaction, by sample."""
    import hashlib

    interactions = {}
    while session.next():
        sequence, scribbles, is_new = session.get_scribbles(only_last=True)
        drawn = [scribbles] if is_new else drawn + [scribbles]
        answer = masks(np.load(folder + "/" + sequence + ".npy"), drawn)
        lines = [[line["path"] for line in lines] for lines in scribbles["scribbles"]]
        name = sequence + "/" + str(session.samples[session.sample_idx][1])
        digest = hashlib.sha256(answer.astype(np.uint8).tobytes()).hexdigest()
        interactions.setdefault(name, []).append([lines, digest])
        session.submit_masks(answer)
    return interactions
'''

TIES = """
import skimage
import skimage.morphology

if tuple(map(int, skimage.__version__.split(".")[:2])) > (0, 18):
    # Up to 0.18 the medial axis broke ties with RandomState(0). Later versions draw them anew at every call.
    unseeded = skimage.morphology.medial_axis

    def medial_axis(*args, **options):
        default_rng = np.random.default_rng
        np.random.default_rng = lambda *_: np.random.RandomState(0)
        try:
            return unseeded(*args, **options)
        finally:
            np.random.default_rng = default_rng

    skimage.morphology.medial_axis = medial_axis
"""

CLIENT = """
import json
import sys

import numpy as np
host, user_key, folder, rounds, table = sys.argv[1:]
exec(open(folder + "/ties.py").read())

from davisinteractive.dataset import Davis
from davisinteractive.session import DavisInteractiveSession

exec(open(folder + "/model.py").read())
for name, entry in json.loads(table).items():
    Davis.dataset[name].update(entry)
subset = "val" if host == "localhost" else "test-dev"
Davis.sets[subset] = sorted(json.loads(table))
with DavisInteractiveSession(
    host=host, user_key=user_key, davis_root=folder, subset=subset, report_save_dir=folder,
    max_time=600, max_nb_interactions=int(rounds),
) as session:
    interactions = hold(session, folder)
    report, summary = session.get_report(), session.get_global_summary()
columns = ["sequence", "scribble_idx", "interaction", "object_id", "jaccard", "contour"]
report = report[columns].values.tolist()
print(json.dumps({"interactions": interactions, "summary": summary, "report": report}))
"""


ROBOT = """
import json
import sys

import numpy as np

folder = sys.argv[1]
exec(open(folder + "/ties.py").read())

from davisinteractive.robot import InteractiveScribblesRobot

robot = InteractiveScribblesRobot(kernel_size=0.2, min_nb_nodes=4)
lines = []
for error in np.load(folder + "/errors.npy"):
    target = error[None].astype(int)
    drawn = robot.interact("s", np.zeros_like(target), target, nb_objects=1, frame=0)
    lines.append([line["path"] for line in drawn["scribbles"][0]])
print(json.dumps(lines))
"""


def make_videos(root: Path) -> None:
    """Write discs that move over noise, each of its own colour, and two people's scribbles on them."""
    for number, (name, (frames, objects)) in enumerate(SEQUENCES.items()):
        rng = np.random.default_rng(number)
        images = rng.integers(0, 60, (frames, *SIDES, 3), dtype=np.uint8)
        labels = np.zeros((frames, *SIDES), np.uint8)
        rows, columns = np.indices(SIDES)
        for one in range(1, objects + 1):
            start = rng.uniform(20, 70, 2)
            # Objects stay in the frame: of frames without an object many would be equally bad, and which of them the
            # package takes depends on NumPy's sort.
            step = rng.uniform(-0.6, 1.2, 2) * 31 / frames
            for frame in range(frames):
                row, column = start + step * frame * [0.3, 1]
                squared = (rows - row) ** 2 + (columns - column * 1.5) ** 2
                labels[frame][squared < (6 + 3 * one) ** 2] = one
            colour = rng.integers(60, 190, 3)
            images[labels == one] = np.clip(images[labels == one] + colour, 0, 255)
        for kind, pictures in ((FRAMES, images), (MASKS, labels)):
            (root / kind / name).mkdir(parents=True)
            for frame, picture in enumerate(pictures):
                suffix = "jpg" if kind == FRAMES else "png"
                Image.fromarray(picture).save(root / kind / name / f"{frame:05d}.{suffix}")
        np.save(root / f"{name}.npy", images)
        (root / SCRIBBLES / name).mkdir(parents=True)
        for person in range(1, PEOPLE + 1):
            scribbles = {"scribbles": draw_by_hand(labels, rng), "sequence": name}
            path = root / SCRIBBLES / name / f"{person:03d}.json"
            path.write_text(json.dumps(scribbles))


def draw_by_hand(labels: np.ndarray, rng: np.random.Generator) -> list[list[dict[str, Any]]]:
    """Return an uneven line on each label of one frame, and lists without lines for the other frames."""
    frame = int(rng.integers(len(labels)))
    lines: list[dict[str, Any]] = []
    for object_id in np.unique(labels[frame]).tolist():
        pixels = np.argwhere(labels[frame] == object_id)
        pixels = pixels[np.sort(rng.choice(len(pixels), 12))]
        jitter = rng.uniform(0, 0.999, pixels.shape)
        last = np.array(SIDES) - 1
        fractions = np.minimum(pixels + jitter, last) / last
        path = fractions[:, ::-1].tolist()
        lines.append({"path": path, "object_id": object_id, "start_time": 0, "end_time": 900})
    return [lines if number == frame else [] for number in range(len(labels))]


def serve(data: Path, dataset: str, benchmark: str) -> tuple[SiteServer, str, str]:
    """Serve a challenge in a thread; return the server, its address and a participant's token."""
    site = open_site(data, Settings(port=0, workers=1))
    # An open test would tell means over the run alone.
    phase = Phase(name="test", kind="practice", shows="board", decimals=6)
    challenge = ChallengeDescription(
        slug="videos",
        title="Videos",
        benchmark=benchmark,
        dataset=dataset,
        phases=(phase,),
        interfaces=("davis",),
    )
    make_challenge(site, challenge, lambda *_: None)
    with site.database.writing() as session:
        person = Person(
            name="ann",
            folded="ann",
            password="-",
            role="participant",
            state="confirmed",
            made_at=0.0,
        )
        session.add(person)
        session.flush()
        token = create_key(session, "token", site.now(), person_id=person.id)
    serving, ports, started = SiteServer(site), list[int](), threading.Event()
    threading.Thread(
        target=serving.run, args=(lambda port: (ports.append(port), started.set()),), daemon=True
    ).start()
    started.wait(30)
    return serving, f"http://127.0.0.1:{ports[0]}/davis/videos/test/", token


def hold_here(root: Path, dataset: str, rounds: int) -> dict[str, Any]:
    """Run the session with `segarena.davis`; return the lines and masks of each interaction."""
    names: dict[str, Any] = {}
    exec(MODEL, names)
    with DavisInteractiveSession(
        dataset=dataset,
        folder=root / "here",
        max_nb_interactions=rounds,
        max_time=600,
        protocol="published",
        preset="local-1.0.4",
    ) as session:
        return names["hold"](session, str(root))


def run_client(python: str, host: str, token: str, root: Path, rounds: int) -> dict[str, Any]:
    """Run a session with the published client, at a host or in its own process; return its output."""
    height, width = SIDES
    table: dict[str, dict[str, Any]] = {}
    for name, (frames, objects) in SEQUENCES.items():
        table[name] = {
            "num_frames": frames,
            "num_objects": objects,
            "num_scribbles": PEOPLE,
            "image_size": [width, height],
        }
    words = [python, root / "client.py", host, token, root, str(rounds), json.dumps(table)]
    started = time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    where = "locally" if host == "localhost" else "at our server"
    print(f"published client {where}: {time.perf_counter() - started:.0f} s")
    if done.returncode:
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def most_difference_px(first: dict[str, Any], second: dict[str, Any], rounds: slice) -> float:
    """Return the largest distance along an axis between points of two sessions; infinite if the lines do not match."""
    most = 0.0
    for name, interactions in first.items():
        for one, other in zip(interactions[rounds], second[name][rounds], strict=True):
            for lines, other_lines in zip(one[0], other[0], strict=True):
                if [len(path) for path in lines] != [len(path) for path in other_lines]:
                    return float("inf")
                for path, other_path in zip(lines, other_lines, strict=True):
                    last = np.array(SIDES[::-1]) - 1
                    difference = np.array(path) * last - np.array(other_path) * last
                    most = max(most, float(np.abs(difference).max()))
    return most


def make_errors(count: int) -> np.ndarray:
    """Return bool (count, H, W): blobs, many with holes, so that their skeletons have loops."""
    rng = np.random.default_rng(5)
    errors: list[np.ndarray] = []
    for _ in range(count):
        noise = gaussian_filter(rng.standard_normal(SIDES), rng.uniform(2.5, 8))
        errors.append(noise > np.quantile(noise, rng.uniform(0.4, 0.8)))
    return np.stack(errors)


def compare_robots(python: str, root: Path, count: int) -> dict[str, int | float]:
    """Compare the lines of the published robot with ours on errors of one object."""
    errors = make_errors(count)
    np.save(root / "errors.npy", errors)
    (root / "robot.py").write_text(ROBOT)
    done = subprocess.run(
        [python, root / "robot.py", root], capture_output=True, text=True, check=True
    )
    robot = InteractiveScribblesRobot(kernel_size=0.2, min_nb_nodes=4)
    size = np.array(SIDES[::-1])
    compared = other_count = by_reversal = beyond = 0
    farthest_px = 0.0
    for error, published in zip(errors, json.loads(done.stdout.splitlines()[-1]), strict=True):
        target = error[None].astype(np.uint8)
        drawn = robot.interact("s", np.zeros_like(target), target, nb_objects=1, frame=0)
        own = [line["path"] for line in drawn["scribbles"][0]]
        if len(own) != len(published):
            other_count += 1
            continue
        for path, published_path in zip(own, published, strict=True):
            points = np.array(path) * size
            published_points = np.array(published_path) * size
            compared += 1
            if np.allclose(points, published_points, atol=1e-3):
                continue
            if np.allclose(points[::-1], published_points, atol=1e-3):
                by_reversal += 1
                continue
            distances_px = cdist(points, published_points)
            apart_px = max(distances_px.min(axis=0).max(), distances_px.min(axis=1).max())
            beyond += apart_px > 1.5
            farthest_px = max(farthest_px, float(apart_px))
    return {
        "errors": count,
        "errors with another number of lines": other_count,
        "lines": compared,
        "drawn in the opposite direction": by_reversal,
        "more than 1.5 px apart": int(beyond),
        "farthest apart in px": round(farthest_px, 1),
    }


def scores_by_object(report: Sequence[Sequence[Any]]) -> np.ndarray:
    """Return J and F of each interaction and object as means over frames, (N, 2), in the order of their keys."""
    scores: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
    for *key, jaccard, contour in report:
        scores.setdefault(tuple(key), []).append((jaccard, contour))
    return np.array([np.mean(scores[key], axis=0) for key in sorted(scores)])


def mask_hashes(interactions: dict[str, Any]) -> dict[str, list[str]]:
    """Return the hashes of the masks by sample."""
    return {name: [digest for _, digest in rounds] for name, rounds in interactions.items()}


def main() -> int:
    """Run the three sessions and compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--errors", type=int, default=200, help="on which both robots draw")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make_videos(root)
        (root / "model.py").write_text(MODEL)
        (root / "client.py").write_text(CLIENT)
        (root / "ties.py").write_text(TIES)
        robots = compare_robots(given.python, root, given.errors)
        dataset = f"video-folder(path={folder!r}, frames={FRAMES!r}, masks={MASKS!r}, scribbles={SCRIBBLES!r})"
        benchmark = f"davis(rounds={given.rounds}, seconds_per_object=600, protocol='published', preset='local-1.0.4')"
        serving, host, token = serve(root / "data", dataset, benchmark)
        there = run_client(given.python, host, token, root, given.rounds)
        local = run_client(given.python, "localhost", "me", root, given.rounds)
        here = hold_here(root, dataset, given.rounds)
        (run,) = (root / "data" / "runs").iterdir()
        records = RunFolder.open(run).records().sort(KEYS)
        report = report_table(RunFolder.open(run).parts(), RunFolder.open(run).timings(), "")
        report = report.select(REPORT_COLUMNS).rows()
        own_records = RunFolder.open(root / "here").records().sort(KEYS)
        serving.stop()
    first, later = slice(0, 1), slice(1, None)
    at_server = there["interactions"]
    own = local["interactions"]
    first_px = most_difference_px(at_server, own, first)
    later_px = most_difference_px(at_server, own, later)
    # Means over frames that add equal values in another order may differ in the last bits.
    own_scores = scores_by_object(local["report"])
    most_score = float(np.abs(scores_by_object(report) - own_scores).max())
    told_scores = scores_by_object(there["report"])
    curves = [session["summary"]["curve"]["J_AND_F"][-1] for session in (there, local)]
    differing = robots["drawn in the opposite direction"] + robots["more than 1.5 px apart"]
    found = {
        "the same lines of both robots": differing == 0
        and not robots["errors with another number of lines"],
        "first scribbles at the same pixels": first_px == 0.0,
        "robot's lines within a thousandth of a pixel": later_px < 1e-3,
        "the same masks at our server and locally": mask_hashes(at_server) == mask_hashes(own),
        "the same masks as here": mask_hashes(at_server) == mask_hashes(here),
        "the same records at our server and here": records.equals(own_records),
        "the same J and F in our server's records and locally": most_score < 1e-12,
        "the client is told them to six decimals": bool(
            np.abs(told_scores - own_scores).max() < 6e-7
        ),
    }
    for name, figure in robots.items():
        print(f"robots, {name}: {figure}")
    print(f"interactions: {sum(map(len, at_server.values()))}")
    print(f"largest difference: {first_px} px, then {later_px:.1e} px; of J or F {most_score:.1e}")
    print(f"J&F after the last interaction: {curves[0]!r} at our server, {curves[1]!r} locally")
    for name, value in found.items():
        print(f"{name}: {value}")
    return 0 if all(found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
