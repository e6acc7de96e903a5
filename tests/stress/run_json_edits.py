"""Random edits of a run.json before it is reported on, checked and resumed: are all faults rejected in one line?

    python tests/stress/run_json_edits.py [--cases 2000] [--seed 0]

Values change type or are swapped, keys are removed, and NaN, huge numbers, NULs, deep lists and other bytes are
inserted. A case fails on an exception that segarena does not define, a message of several lines, and more than 20 s.
"""

from __future__ import annotations

import argparse
import copy
import io
import json
import random
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from segarena import evaluate, write_report
from segarena.engine.run_integrity import check_run
from segarena.errors import SegarenaError
from segarena.reports import terminal_of

SAME = {"benchmark": "clicks", "segmenter": "watershed", "dataset": "demo", "rounds": 2, "limit": 2}
LIMIT_S = 20
NUMBERS = (
    True,
    False,
    0,
    -1,
    1,
    3,
    2**31,
    2**63,
    10**30,
    1e308,
    -0.0,
    0.5,
    float("nan"),
    float("inf"),
)
TEXTS = (
    "",
    "\0",
    "a\nb",
    "../x",
    "é" * 300,
    "x" * 10_000,
    "noc",
    "iou",
    "demo",
    "toss",
    "davis",
    "rclicks",
    "radioactive",
)
LISTS = ([], [[]], [None], ["a", "a"], [1, 2, 3])
ODD: list[Any] = [
    None,
    *NUMBERS,
    *TEXTS,
    "image",
    "video",
    "volume",
    *LISTS,
    {},
    {"": None},
    {"name": "x"},
]


def places(plain: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to each value inside."""
    inner = (
        plain.items()
        if isinstance(plain, dict)
        else enumerate(plain)
        if isinstance(plain, list)
        else ()
    )
    for key, value in inner:
        yield (*where, key)
        yield from places(value, (*where, key))


def edited(plain: Any, draw: random.Random) -> str:
    """Return the text of a run.json with one to three errors."""
    new = copy.deepcopy(plain)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        ways = list(places(new))
        if not ways:
            break
        *way, last = draw.choice(ways)
        parent = inside(new, way)
        action = draw.choice(("odd", "odd", "odd", "delete", "swap", "nest", "number", "repeat"))
        if action == "delete":
            del parent[last]
        else:
            parent[last] = copy.deepcopy(other(action, parent[last], new, draw))
    return json.dumps(new)


def inside(plain: Any, way: list[Any]) -> Any:
    """Return the value at the end of a path."""
    for key in way:
        plain = plain[key]
    return plain


def other(action: str, value: Any, new: Any, draw: random.Random) -> Any:
    """Return the replacement of a value."""
    if action == "swap":
        return inside(new, list(draw.choice(list(places(new)))))
    if action == "nest":
        for _ in range(draw.choice((1, 50))):
            value = [value]
        return value
    if action == "number" and isinstance(value, (int, float)):
        return draw.choice((-1, 0, 1, 2, 7, 10**6, 10**9)) * (draw.random() < 0.5 or value)
    if action == "repeat" and isinstance(value, list):
        return value * 2
    return draw.choice(ODD)


def damaged(plain: Any, whole: bytes, draw: random.Random) -> bytes:
    """Return a run.json that is invalid as text or as JSON."""
    kind = draw.random()
    if kind < 0.9:
        return edited(plain, draw).encode()
    if kind < 0.92:
        return b"[" * draw.choice((900, 100_000))
    if kind < 0.94:
        return whole[: draw.randrange(len(whole))]
    if kind < 0.96:
        return whole.replace(b"1", b"1" * draw.choice((400, 5000)), 1)
    changed = bytearray(whole)
    for _ in range(draw.randint(1, 20)):
        changed[draw.randrange(len(changed))] = draw.choice(
            (0, 10, 34, 44, 91, 125, 255, draw.randrange(256))
        )
    return bytes(changed)


def use(run: Path, out: Path) -> int:
    """Report on a run, check it, and resume it; return how many of these steps did not fail with a one-line message."""
    made = 0

    def report() -> None:
        terminal_of(write_report([run], out).page)

    for what in (report, lambda: check_run(run), lambda: evaluate(**SAME, out=run)):
        try:
            what()
            made += 1
        except SegarenaError as error:
            if "\n" in str(error):
                raise AssertionError(f"several lines: {error!r}") from error
    return made


def ring(_number: int, _frame: object) -> None:
    """End a case that takes too long."""
    raise AssertionError(f"more than {LIMIT_S} s")


def where(error: BaseException) -> str:
    """Return the line of segarena at which an exception was raised."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if "segarena" in frame.filename
    ]
    return (
        f"{frames[-1].filename.rpartition('segarena/')[2]}:{frames[-1].lineno}"
        if frames
        else "elsewhere"
    )


def names(folder: Path) -> list[str]:
    """Return the files in a folder."""
    return sorted(path.name for path in folder.iterdir())


def main(cases: int, seed: int) -> int:
    """Try this many edits and print the failures; return their number."""
    wrong, made = 0, 0
    before = signal.signal(signal.SIGALRM, ring)
    with tempfile.TemporaryDirectory() as there:
        sound, run = Path(there) / "sound", Path(there) / "run"
        evaluate(**SAME, out=sound)
        whole = (sound / "run.json").read_bytes()
        plain = json.loads(whole)
        shutil.copytree(sound, run)
        for case in range(cases):
            (run / "run.json").write_bytes(damaged(plain, whole, random.Random(f"{seed} {case}")))
            signal.alarm(LIMIT_S)
            try:
                with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                    made += use(run, Path(there) / "report")
            except Exception as error:
                wrong += 1
                print(
                    f"seed {seed} case {case}: {type(error).__name__} at {where(error)}: {str(error)[:120]}",
                    flush=True,
                )
            finally:
                signal.alarm(0)
            if names(run) != names(sound) or case % 50 == 49:
                shutil.rmtree(run)
                shutil.copytree(sound, run)
    signal.signal(signal.SIGALRM, before)
    print(f"{cases} edits of run.json: {made} of {3 * cases} uses went on, {wrong} tracebacks")
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    sys.exit(bool(main(asked.cases, asked.seed)))
