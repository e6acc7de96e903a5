"""Processor time until a command answers, relative to `python -c "import numpy"`: `python benches/starting.py`.

Both alternate, each in a new process. The first call of each command is not measured: after an installation or a
change of code it imports all plug-ins, and writes their names and options to a cache.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from measurement import Figures, argument_parser, at_most, no_bar, run_command

COMMANDS = {
    "segarena --help": ("--help",),
    "segarena run --help": ("run", "--help"),
    "segarena list": ("list",),
}
PAIRS = 7
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""One thread, because threads that start and stop take processor time on machines with many cores."""
BARS = {
    "segarena --help / import numpy": at_most(2.6),
    "segarena run --help / import numpy": at_most(5.2),
    "segarena list / import numpy": at_most(5.2),
    "import numpy": no_bar("s"),
}


def segarena_command() -> str:
    """Return the path of the command beside this Python, or on the PATH."""
    beside = Path(sys.executable).parent / "segarena"
    if beside.exists():
        return str(beside)
    found = shutil.which("segarena")
    if found is None:
        raise SystemExit(
            "no command segarena beside this Python or on the PATH: install the package"
        )
    return found


def measure(command: Sequence[str], pairs: int) -> tuple[float, float]:
    """Return the median ratio to importing NumPy, and the median seconds of importing it."""
    run_command(command, ENVIRONMENT)
    ratios: list[float] = []
    imports_s: list[float] = []
    for _ in range(pairs):
        import_s = run_command([sys.executable, "-c", "import numpy"], ENVIRONMENT)
        ratios.append(run_command(command, ENVIRONMENT) / import_s)
        imports_s.append(import_s)
    return median(ratios), median(imports_s)


def main() -> None:
    """Report each command; exit with 1 if a limit is missed."""
    options = argument_parser(__doc__).parse_args()
    pairs = PAIRS
    if options.quick:
        pairs = 1
    figures = Figures(BARS, has_bars=not options.quick)
    imports_s: list[float] = []
    for name, arguments in COMMANDS.items():
        ratio, import_s = measure([segarena_command(), *arguments], pairs)
        imports_s.append(import_s)
        figures.report(f"{name} / import numpy", ratio)
    figures.report("import numpy", median(imports_s))
    figures.finish()


if __name__ == "__main__":
    main()
