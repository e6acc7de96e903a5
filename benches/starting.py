"""Processor time until a command answers, relative to `python -c "import numpy"`: `python benches/starting.py`.

Both alternate, each in a new process. The first call of each command is not measured: after an installation or a
change of code it imports all plug-ins, and writes their names and options to a cache.

A run has answered when its segmenter returns the first masks. `FirstAnswer` then writes down the processor time of all
processes of the command: the supervisor, the run, and its worker.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from measurement import Figures, argument_parser, at_most, no_bar, run_command

from segarena.segmenters.images.watershed import WatershedSegmenter

COMMANDS = {
    "segarena --help": ("--help",),
    "segarena run --help": ("run", "--help"),
    "segarena list": ("list",),
}
PAIRS = 7
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "",
}
"""One thread, because threads that start and stop take processor time on machines with many cores. Bytecode is kept,
as in an installation."""
ANSWER_FILE = "SEGARENA_BENCH_FIRST_ANSWER"
"""Environment variable with the file for the processor time until the first answer."""
BENCH_PROCESS = "SEGARENA_BENCH_PROCESS"
"""Environment variable with the process id of the bench."""
BARS = {
    "segarena --help / import numpy": at_most(1.7),
    "segarena run --help / import numpy": at_most(2.2),
    "segarena list / import numpy": at_most(3.3),
    "first answer of a run / import numpy": at_most(14),
    "import numpy": no_bar("s"),
}


class FirstAnswer(WatershedSegmenter):
    """The segmenter `watershed`, which writes down when it first answers."""

    def predict(self, *given: Any) -> Any:
        """Return the masks of the segmenter."""
        answers = super().predict(*given)
        file = Path(os.environ[ANSWER_FILE])
        if not file.exists():
            file.write_text(str(command_processor_s()))
        return answers


def command_processor_s() -> float:
    """Return the processor seconds of this process and of its parents up to the bench."""
    total = 0.0
    process = os.getpid()
    bench = int(os.environ[BENCH_PROCESS])
    while process != bench:
        # After the name of the program in parentheses: state, parent, ..., times of the process and of its children.
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        process = int(fields[1])
    return total


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


def measure(command_s: Callable[[], float], pairs: int) -> tuple[float, float]:
    """Return the median ratio of a command's time to that of importing NumPy, and the latter in seconds."""
    command_s()
    ratios: list[float] = []
    imports_s: list[float] = []
    for _ in range(pairs):
        import_s = run_command([sys.executable, "-c", "import numpy"], ENVIRONMENT)
        ratios.append(command_s() / import_s)
        imports_s.append(import_s)
    return median(ratios), median(imports_s)


def first_answer_s(scratch: Path) -> float:
    """Return the processor seconds of a run until its first answer."""
    answer = scratch / "answer"
    answer.unlink(missing_ok=True)
    run = ["run", "clicks", "-s", f"{__file__}:FirstAnswer", "-d", "demo", "--overwrite"]
    run += ["--rounds", "1"]  # later rounds would only lengthen the bench
    environment = {**ENVIRONMENT, ANSWER_FILE: str(answer), BENCH_PROCESS: str(os.getpid())}
    # This file imports its neighbour `measurement`, and a plug-in's folder is not on the path.
    environment["PYTHONPATH"] = str(Path(__file__).parent)
    run_command([segarena_command(), *run, "-o", str(scratch / "run")], environment)
    return float(answer.read_text())


def main() -> None:
    """Report each command; exit with 1 if a limit is missed."""
    options = argument_parser(__doc__).parse_args()
    pairs = PAIRS
    if options.quick:
        pairs = 1
    figures = Figures(BARS, has_bars=not options.quick)
    imports_s: list[float] = []
    for name, arguments in COMMANDS.items():
        command = [segarena_command(), *arguments]
        ratio, import_s = measure(lambda command=command: run_command(command, ENVIRONMENT), pairs)
        imports_s.append(import_s)
        figures.report(f"{name} / import numpy", ratio)
    with tempfile.TemporaryDirectory() as name:
        ratio, _ = measure(lambda: first_answer_s(Path(name)), pairs)
    figures.report("first answer of a run / import numpy", ratio)
    figures.report("import numpy", median(imports_s))
    figures.finish()


if __name__ == "__main__":
    main()
