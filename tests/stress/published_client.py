"""The published client, unchanged, holds a whole session at a server of ours; then the same script does here.

    python3.8 -m venv OLD
    OLD/bin/pip install numpy==1.19.5 "Cython<3" wheel scipy==1.5.4 scikit-learn==0.22.2 scikit-image==0.17.2 \
        networkx==2.5 pandas==1.1.5 opencv-python-headless==4.5.1.48 Pillow requests six absl-py
    OLD/bin/pip install --no-deps --no-build-isolation davisinteractive==1.0.4
    python tests/stress/published_client.py OLD/bin/python [--rounds 8]

It is run, never read. Its sequences are in a table of its own, so the videos that are made here have names, lengths and
numbers of objects of three of them. Bar: the same scribbles at every interaction, the same records on the server as
here, and its summary is that of the session here, the times apart.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from PIL import Image

from segarena.davis import DavisInteractiveSession
from segarena.engine.store import RunFolder
from segarena_server.auth.keys import create_key
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.orm_models import Person
from segarena_server.serving import SiteServer, open_site
from segarena_server.settings import Settings

SEQUENCES = {"planes-crossing": (31, 2), "car-race": (31, 4), "rollercoaster": (70, 1)}
SIDES = (96, 160)
KEYS = ["sample", "target", "user", "repeat", "round"]

MODEL = '''
import json
import numpy as np

def masks(frames, drawn):
    """Give each pixel to the object whose scribbles have the nearest mean colour; whole numbers alone."""
    sums = {}
    for scribbles in drawn:
        for frame, lines in enumerate(scribbles["scribbles"]):
            for line in lines:
                for x, y in line["path"]:
                    height, width = frames.shape[1:3]
                    pixel = frames[frame, min(int(y * height), height - 1), min(int(x * width), width - 1)]
                    total, count = sums.get(line["object_id"], (np.zeros(3, np.int64), 0))
                    sums[line["object_id"]] = total + pixel, count + 1
    numbers = sorted(sums)
    means = [sums[number][0] // sums[number][1] for number in numbers]
    far = np.stack([np.square(frames.astype(np.int64) - mean).sum(axis=-1) for mean in means])
    return np.array(numbers)[far.argmin(axis=0)]
'''

CLIENT = """
import sys
from davisinteractive.session import DavisInteractiveSession

exec(open(sys.argv[3] + "/model.py").read())
told = []
with DavisInteractiveSession(
    host=sys.argv[1], user_key=sys.argv[2], davis_root=sys.argv[3], subset="test-dev", report_save_dir=sys.argv[3]
) as session:
    while session.next():
        sequence, scribbles, is_new = session.get_scribbles(only_last=True)
        drawn = [scribbles] if is_new else drawn + [scribbles]
        told.append([sequence, [[line["path"] for line in lines] for lines in scribbles["scribbles"]]])
        session.submit_masks(masks(np.load(sys.argv[3] + "/" + sequence + ".npy"), drawn))
    report, summary = session.get_report(), session.get_global_summary()
json.dump({"told": told, "summary": summary, "rows": len(report)}, open(sys.argv[3] + "/told.json", "w"))
print(json.dumps(summary))
"""


def make_videos(root: Path) -> None:
    """Write discs that move over noise, each of its own colour."""
    for number, (name, (frames, objects)) in enumerate(SEQUENCES.items()):
        rng = np.random.default_rng(number)
        images = rng.integers(0, 60, (frames, *SIDES, 3), dtype=np.uint8)
        labels = np.zeros((frames, *SIDES), np.uint8)
        rows, columns = np.indices(SIDES)
        for one in range(1, objects + 1):
            start, step = rng.uniform(20, 70, 2), rng.uniform(-0.6, 1.2, 2)
            for frame in range(frames):
                row, column = start + step * frame * [0.3, 1]
                labels[frame][
                    (rows - row) ** 2 + (columns - column * 1.5) ** 2 < (6 + 3 * one) ** 2
                ] = one
            images[labels == one] = np.clip(
                images[labels == one] + rng.integers(60, 190, 3), 0, 255
            )
        for kind, pictures in (("frames", images), ("masks", labels)):
            (root / kind / name).mkdir(parents=True)
            for frame, picture in enumerate(pictures):
                Image.fromarray(picture).save(root / kind / name / f"{frame:05d}.png")
        np.save(root / f"{name}.npy", images)


def serve(data: Path, dataset: str, benchmark: str) -> tuple[SiteServer, str, str]:
    """Serve a challenge in a thread; return the server, its address and a participant's token."""
    site = open_site(data, Settings(port=0, workers=1))
    phase = Phase(name="test", shows="board", decimals=6)
    told = ChallengeDescription(
        slug="videos",
        title="Videos",
        benchmark=benchmark,
        dataset=dataset,
        phases=(phase,),
        interfaces=("davis",),
    )
    make_challenge(site, told, lambda *_: None)
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


def hold_here(root: Path, dataset: str, rounds: int) -> tuple[list[object], dict[str, object]]:
    """Hold the session here; return what was drawn and the summary."""
    known: dict[str, object] = {}
    exec(MODEL, known)
    told: list[object] = []
    rules = {
        "max_nb_interactions": rounds,
        "max_time": 600,
        "protocol": "published",
        "preset": "server-2020",
    }
    with DavisInteractiveSession(dataset=dataset, folder=root / "here", **rules) as session:
        drawn: list[object] = []
        while session.next():
            sequence, scribbles, is_new = session.get_scribbles(only_last=True)
            drawn = [scribbles] if is_new else [*drawn, scribbles]
            told.append(
                [sequence, [[line["path"] for line in lines] for lines in scribbles["scribbles"]]]
            )
            session.submit_masks(known["masks"](np.load(root / f"{sequence}.npy"), drawn))
        return told, session.get_global_summary()


def main() -> int:
    """Hold both sessions and compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python")
    parser.add_argument("--rounds", type=int, default=8)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make_videos(root)
        (root / "model.py").write_text(MODEL)
        (root / "client.py").write_text(CLIENT)
        dataset = f"video-folder(path={folder!r})"
        benchmark = f"davis(rounds={given.rounds}, seconds_per_object=600, protocol='published', preset='server-2020')"
        serving, host, token = serve(root / "data", dataset, benchmark)
        started = time.perf_counter()
        done = subprocess.run(
            [given.python, root / "client.py", host, token, folder], capture_output=True, text=True
        )
        print(done.stdout, done.stderr[-2000:], f"{time.perf_counter() - started:.0f} s", sep="\n")
        if done.returncode:
            return 1
        there = json.loads((root / "told.json").read_text())
        here, local = hold_here(root, dataset, given.rounds)
        (run,) = (root / "data" / "runs").iterdir()
        records = RunFolder.open(run).records().sort(KEYS)
        by_name = {
            name: [[one for one in told if one[0] == name] for told in (there["told"], here)]
            for name in SEQUENCES
        }
        found = {
            "interactions": len(there["told"]),
            "the same scribbles": all(one == other for one, other in by_name.values()),
            "the same records": records.equals(RunFolder.open(root / "here").records().sort(KEYS)),
            "the same curve": np.allclose(
                there["summary"]["curve"]["J_AND_F"], local["curve"]["J_AND_F"], atol=1e-6
            ),
            "rows of the report": there["rows"],
        }
        serving.stop()
    for name, value in found.items():
        print(f"{name}: {value}")
    return 0 if all(found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
