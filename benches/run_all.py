"""Run every benchmark in this folder, one after the other; exit 1 when any missed its bar."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Run them and say which held."""
    here = Path(__file__)
    verdicts: dict[str, bool] = {}
    for bench in sorted(here.parent.glob("*.py")):
        if bench != here:
            print(f"\n== {bench.name}", flush=True)
            verdicts[bench.name] = subprocess.run([sys.executable, str(bench)], check=False).returncode == 0
    print("\n" + "\n".join(f"{'held  ' if held else 'MISSED'} {name}" for name, held in verdicts.items()))
    raise SystemExit(not all(verdicts.values()))


if __name__ == "__main__":
    main()
