"""Single-bit flips in the files of a run folder: how many are rejected, harmless, or change the values read.

    python tests/stress/records_flips.py [--flips 1500]

A crash of the process would end the script. Requirement: no flip changes the values read.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from segarena import RunFolder, evaluate
from segarena.errors import StoreError

TABLES = ("records", "timings", "masks")


def values(run: Path) -> list[object]:
    """Return all values that are read from a run."""
    folder = RunFolder.open(run)
    return [folder.read(table).to_dicts() for table in TABLES]


def main() -> int:
    """Flip each bit, read the run, and restore the bit; print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flips", type=int, default=1500)
    flips = parser.parse_args().flips
    draw, found = random.Random(0), Counter[str]()
    with tempfile.TemporaryDirectory() as there:
        run = Path(there) / "run"
        evaluate("clicks", segmenter="watershed", dataset="demo", rounds=3, limit=3, out=run)
        whole = values(run)
        files = sorted(run.glob("*/*.parquet"))
        for _ in range(flips):
            file = draw.choice(files)
            data = file.read_bytes()
            bit = draw.randrange(8 * len(data))
            changed = bytearray(data)
            changed[bit // 8] ^= 1 << bit % 8
            file.write_bytes(changed)
            try:
                found["harmless" if values(run) == whole else "other values"] += 1
            except StoreError:
                found["refused"] += 1
            file.write_bytes(data)
    print(dict(found))
    return 1 if found["other values"] else 0


if __name__ == "__main__":
    sys.exit(main())
