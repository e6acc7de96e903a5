"""Every command on damaged files: it must print one line and an exit code, no traceback, and leave no partial output.

    python tests/stress/commands.py --cases 2000 --seed 0

`tests/cli/test_hostile_input.py` runs some of these cases in each run of the suite.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import chdir
from pathlib import Path
from typing import NamedTuple

from children import PYTHONS_OWN, in_child
from damage import TEXT_SUFFIXES, other_value
from program import segarena
from sound import make_all
from typer.testing import Result

from segarena.files.atomic_write import is_leftover

SECONDS, HANGS_S = 5, 120
"""Of the processor, more than on sound files; and on the clock, where a busy machine counts too."""

IN_CHILD = 25
PROGRESS_S = 60

READERS = """
am/scenes.json am/coco.json am/rle.json am/images/shape_me.ann am/labelme.json am/cvat.xml
    amodal check-annotations IN --repair
    amodal convert IN out.json
    amodal convert IN out.csv --to csv --repair
    amodal convert IN out --to png-16
    amodal reduce IN out --to edges
    amodal review IN -o out.html
    amodal statistics IN --out out
    amodal agreement IN --out out
am/images/scene-1.png
    amodal agreement am/scenes.json --out out --overlays 1
    amodal review am/scenes.json -o out.html
maps-npy/1.npy
    amodal edges maps-npy bsds --thresholds 2 --out out
maps-npz/1.npz
    amodal edges maps-npz bsds --regions --out out
maps-mat/1.mat
    amodal edges maps-mat bsds --regions --out out
maps-png/1.png
    amodal edges maps-png bsds --thresholds 2 --out out
bsds/human/test/1.npz bsds/images/test/1.jpg
    amodal edges maps-npy bsds --thresholds 2
    amodal statistics bsds --out out
    data check-dataset bsds500 bsds
bsds-mat/groundTruth/test/1.mat
    amodal statistics bsds-mat --out out
    data check-dataset bsds500 bsds-mat
segments.json am/true_scenes.json
    amodal quality segments.json -t am/true_scenes.json
clicks.csv
    click-data check-table IN
    click-data check-table IN -d SHAPES
    click-data filter IN -d SHAPES -o out.csv
    click-data counts IN -o out.csv
    click-data compare-devices IN -d SHAPES --least-clicks 1
    click-data maps IN -d SHAPES -o out.npz
    click-data judge IN -d SHAPES -m uniform --draws 2 -o out.csv
    click-data train IN -d SHAPES -o out --epochs 1 --size tiny
crowd/raw.csv crowd/previous/0_______left_crowd_fn.png
    click-data check-table crowd/raw.csv -d SHAPES
    click-data maps crowd/raw.csv -d SHAPES --previous-masks crowd/previous -o out
    click-data counts crowd/raw.csv
modes.csv
    click-data compare-modes IN -d SHAPES -o out.csv
shapes/images/1.png shapes/masks/1__left.png
    click-data crowd -d SHAPES -o out.csv --clicks 3
    click-data check-table clicks.csv -d SHAPES
    data check-dataset folder shapes
    run clicks -s nothing -d SHAPES --rounds 2 -o out
    plan clicks -s nothing -d SHAPES --rounds 2 --samples 1
options.toml
    run --config IN -o out
    plan --config IN --samples 1
folds.txt
    toss cnb own.csv --folds IN --out out
pairs.csv tier.txt tier.txt.gz
    toss audit IN -o out.json
    toss score counts.csv --pairs IN --repeats 0
    toss spurious IN -o out.parquet
    run toss -s nothing -d oneshot-folder(path='photos',pairs='IN') -o out
names.txt
    toss audit pairs.csv --class-list IN --train-classes IN
counts.csv
    toss score IN --pairs pairs.csv --repeats 0
own.csv
    toss cnb IN --folds 3 --out out
stats.csv tiers/split0_q_easy_sal.txt
    toss recover stats.csv --tiers tiers
photos/images/0.png photos/masks/left/0.png
    toss sgtss photos --folds 2 --out out
    toss build photos --out out --per-partition 2 --per-level 1
    data check-dataset oneshot-folder photos
    segment --support photos/images/0.png photos/masks/left/0.png -q photos/images/1.png -s copy-support-mask -o out
volumes/images/a.nii.gz volumes/labels/a.nii.gz volumes/dataset.json
    data check-dataset nifti-folder volumes
    run radioactive -s nothing -d nifti-folder(path='volumes') -o out --rounds 1
dicom/ct/1.dcm dicom/seg.dcm
    data prepare lnq --from dicom --out out
flair/raw/1-Flair.nii.gz flair/raw/1-LesionSeg-Flair.nii.gz flair/raw/Table?2.xlsx
    data prepare ms_flair --from flair/raw --out out
flair/archive/a.zip
    data prepare ms_flair --from flair/archive --out out
flair/out/prepared.json flair/out/dataset.json
    data prepare ms_flair --from flair/raw --out flair/out
    data check-dataset nifti-folder flair/out
clips/frames/one/0001.jpg clips/masks/one/0001.png
    data check-dataset video-folder clips
runs/clicks/run.json runs/clicks/pieces.jsonl runs/clicks/records/000000-000002.parquet
    report runs/clicks --out out
    check runs/clicks
    run clicks -s nothing -d SHAPES --rounds 2 -o runs/clicks
runs/toss/run.json runs/toss/pieces.jsonl runs/toss/records/000000-000002.parquet
    report runs/toss --out out
    toss score runs/toss --repeats 0
    toss bias runs/toss
"""
"""Files, and below them the commands that read them; IN is the file, "?" a space in its name."""


class Case(NamedTuple):
    """A command that works on intact files, and which of these files is damaged before it runs."""

    arguments: tuple[str, ...]
    file: str


def cases() -> list[Case]:
    """Return every command with every file that it reads."""
    found: list[Case] = []
    files: list[str] = []
    for line in READERS.strip().splitlines():
        if not line.startswith(" "):
            files = [file.replace("?", " ") for file in line.split()]
            continue
        for file in files:
            words = line.replace("SHAPES", "folder(path='shapes')").replace("IN", file).split()
            found.append(Case(tuple(words), file))
    return found


def damage(path: Path, rng: random.Random) -> str:
    """Damage a file in one of many ways; return which."""
    data = path.read_bytes()
    ways = ["gone", "empty", "folder", "noise", "cut", "flips", "nul", "latin", "swapped"]
    is_text = path.suffix in TEXT_SUFFIXES
    way = rng.choice(ways + ["value"] * 9 if is_text else ways + ["flips", "cut"] * 3)
    place = rng.randrange(len(data))
    if way in ("gone", "folder"):
        path.unlink()
        if way == "folder":
            path.mkdir()
        return way
    if way == "value":
        new = other_value(path.suffix, data.decode(), rng)
    elif way == "flips":
        flipped = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 8))):
            flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        new = bytes(flipped)
    else:
        new = {
            "empty": b"",
            "noise": rng.randbytes(200),
            "cut": data[:place],
            "nul": data[:place] + b"\0\0" + data[place:],
            "latin": data[:place] + b"\xff\xe9" + data[place:],
            "swapped": rng.choice(
                (b"[]", b"{}", b"null", b"0", b'"text"', b"[" * 5000, b"a,b\n1,2\n", b"\n")
            ),
        }[way]
    path.write_bytes(new)
    return way


def run_case(case: Case, sound: Path, rng: random.Random) -> tuple[str, str]:
    """Run one case in a copy of the intact inputs; return how the file was damaged, and the failure or ""."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "in"
        shutil.copytree(sound, folder)
        way = damage(folder / case.file, rng)
        done, took_s = _timed(case, folder)
        left = [str(path.relative_to(folder)) for path in folder.rglob("*") if is_leftover(path)]
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return way, _where(done.exception)
    told = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    if done.exit_code not in (0, 1, 2):
        return way, f"exit code {done.exit_code}"
    if done.exit_code == 2 and len(told) != 1:
        return way, f"not one line of error: {done.stderr[-300:]!r}"
    if found := PYTHONS_OWN.search(" ".join(told)):
        return way, f"{found[0]} in {told[0][-200:]!r}"
    if took_s > SECONDS and took_s > SECONDS + _sound_s(case, sound):
        return way, f"{took_s:.1f} s of the processor"
    return way, f"left behind: {left}" if left else ""


def _timed(case: Case, folder: Path) -> tuple[Result, float]:
    """Run a command; return its outcome and its processor time in seconds."""
    started = time.process_time()
    with chdir(folder):
        done = segarena(*case.arguments, columns=160)
    return done, time.process_time() - started


def _sound_s(case: Case, sound: Path) -> float:
    with tempfile.TemporaryDirectory() as name:
        shutil.copytree(sound, Path(name) / "in")
        return _timed(case, Path(name) / "in")[1]


def _where(error: BaseException) -> str:
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "segarena/" in frame.filename
    ]
    at = " < ".join(
        f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames[-4:])
    )
    return f"{type(error).__name__} {str(error)[:120]!r} at {at}"


def main() -> None:
    """Run randomly drawn cases in processes that may allocate 1 GiB more, and report failures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="Only commands that contain this text.")
    given = parser.parse_args()
    every = [case for case in cases() if given.only in " ".join(case.arguments)]
    random.Random(given.seed).shuffle(every)
    with tempfile.TemporaryDirectory() as name, chdir(Path(name)):
        made = in_child(lambda _: make_all(Path(name)), range(1), seconds=600, is_limited=False)
        if made.by:
            sys.exit(f"the sound files cannot be made: {made.by}")
        running = Running(every, Path(name), given.seed)
        running.run(given.cases)
    for problem, count in running.wrong.most_common():
        print(f"{count} x {problem}\n    {running.first[problem]}")
    kinds = f"{given.cases} cases of {len(every)} kinds, seed {given.seed}"
    print(f"{kinds}: {running.wrong.total()} wrong; most memory {running.most >> 20} MiB")
    sys.exit(bool(running.wrong))


class Running:
    """Runs commands on damaged files, and counts failures."""

    def __init__(self, every: list[Case], sound: Path, seed: int) -> None:
        self.every, self.sound, self.seed = every, sound, seed
        self.wrong: Counter[str] = Counter()
        self.first: dict[str, str] = {}
        self.most = 0

    def run(self, count: int) -> None:
        """Run `count` cases; every kind of case comes once before any is repeated."""
        told, number = time.monotonic(), 0
        while number < count:
            done = in_child(
                self.case, range(number, min(number + IN_CHILD, count)), seconds=HANGS_S
            )
            self.most = max(self.most, done.peak_bytes)
            for way, problem in [*done.answers, *([("", done.by)] if done.by else [])]:
                if problem:
                    case = self.every[number % len(self.every)]
                    self.wrong[problem] += 1
                    what = f"case {number}, {case.file}: {way}: segarena {' '.join(case.arguments)}"
                    self.first.setdefault(problem, what)
                number += 1
            if time.monotonic() - told > PROGRESS_S:
                told = time.monotonic()
                print(f"  {number} of {count}", file=sys.stderr, flush=True)

    def case(self, number: int) -> tuple[str, str]:
        """Run one case."""
        case = self.every[number % len(self.every)]
        return run_case(case, self.sound, random.Random(f"{self.seed}/{number}"))


if __name__ == "__main__":
    main()
