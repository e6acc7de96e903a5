"""Run all stress tests (`make stress`) one after the other and print a table of the results.

    python tests/stress [--part files] [--share 0.1]

Each part is a script with its own seed; `--share` runs this share of the cases of every part. A part ends with exit
code 1 if it does not meet its requirements, and then so does this script.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from rich import print as show
from rich.table import Table

PARTS = {
    "files": ("--cases", 50_000),
    "commands": ("--cases", 2000),
    "run_json_edits": ("--cases", 2000),
    "records_flips": ("--flips", 1500),
    "bombs": ("", 0),
    "kills": ("--kills", 20),
    "cluster_kills": ("--kills", 10),
    "sharing": ("--kills", 10),
    "serving": ("--kills", 50),
    "sent": ("--kills", 20),
    "postgres_restarts": ("--restarts", 5),
    "full_disk": ("--times", 5),
    "clock_jumps": ("--jumps", 6),
    "stuck": ("--stops", 3),
    "hostile_requests": ("--requests", 10_000),
    "load --db sqlite": ("--minutes", 10),
    "load --db postgresql": ("--minutes", 10),
    "studio_saves": ("--saves", 1000),
    "studio_load": ("--minutes", 10),
    "studio_assist": ("--clicks", 40),
    "studio_paint": ("", 0),
    "studio_study --speed 5": ("--epochs", 3),
}
"""Each script with its option for the number of cases, and that number."""


def main() -> int:
    """Run the parts and print the table; return 1 if a part fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--part", choices=tuple(PARTS), action="append", help="Only this part; may be repeated."
    )
    parser.add_argument("--share", type=float, default=1.0)
    given = parser.parse_args()
    table = Table("part", "bar", "minutes", "last output")
    is_held = True
    for part in given.part or PARTS:
        option, count = PARTS[part]
        script, *words = part.split()
        words += [option, str(max(1, round(given.share * count)))] if option else []
        show(f"[bold]{script} {' '.join(words)}[/bold]")
        started = time.monotonic()
        code, last = run(Path(__file__).with_name(f"{script}.py"), words)
        is_held = is_held and not code
        table.add_row(
            part, "MISSED" if code else "held", f"{(time.monotonic() - started) / 60:.1f}", last
        )
    show(table)
    return int(not is_held)


def run(script: Path, words: list[str]) -> tuple[int, str]:
    """Run a script and show its output; return its exit code and its last two lines of output."""
    lines: list[str] = []
    with subprocess.Popen(
        [sys.executable, script, *words], stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    return process.returncode, "".join(lines[-2:]).strip()


if __name__ == "__main__":
    sys.exit(main())
