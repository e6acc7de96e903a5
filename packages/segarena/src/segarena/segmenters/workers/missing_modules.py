"""Modules that an adapter imports but its Python lacks, found without running the adapter."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from segarena.segmenters.workers.worker_config import WorkerConfig

PACKAGES = {
    "PIL": "pillow",
    "attr": "attrs",
    "cv2": "opencv-python",
    "einops": "einops",
    "hydra": "hydra-core",
    "matplotlib": "matplotlib",
    "numpy": "numpy",
    "omegaconf": "omegaconf",
    "pandas": "pandas",
    "scipy": "scipy",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "timm": "timm",
    "torch": "torch",
    "torchvision": "torchvision",
    "tqdm": "tqdm",
    "yaml": "pyyaml",
}
"""Packages by the module that they provide. Others are not guessed: the package that has the name
of a module may be a stranger's."""

_LIMIT_S = 30.0
# `find_spec` of a top-level name looks for files and imports nothing.
_FIND = (
    "import importlib.util as u, json, sys; "
    "print(json.dumps([n for n in sys.argv[1:] if u.find_spec(n) is None]))"
)


@dataclass(frozen=True, slots=True)
class MissingModules:
    """Modules that a Python installation lacks.

    Attributes:
        names: top-level names in the order of the imports; the one that failed comes first, unless it is `partial`.
        partial: dotted name of the module that failed if only its parent package is installed; "" otherwise.
    """

    names: tuple[str, ...]
    partial: str = ""


def find_missing(failed: str, config: WorkerConfig) -> MissingModules:
    """Return the modules of an adapter that its Python lacks, beginning with the one that failed.

    The worker's Python looks up the modules without importing them. A program
    that is not a Python interpreter, such as docker, is not queried.
    """
    first = failed.partition(".")[0]
    program, *arguments = config.words
    if not is_python(program):
        return MissingModules((first,))
    adapter = _adapter_file(arguments, Path(config.folder or "."))
    imported: list[str] = []
    if adapter is not None:
        imported = [name for name in _imports_of(adapter) if not _is_beside(adapter, name)]
    names = list(dict.fromkeys([first, *imported]))
    lacking = _lacking(program, names)
    if lacking is None:
        return MissingModules((first,))
    if first in lacking:
        return MissingModules(tuple(lacking))
    # The parent package of the failed module may be installed, but in another version.
    if "." in failed:
        return MissingModules(tuple(lacking), partial=failed)
    return MissingModules((first, *lacking))


def is_python(program: str) -> bool:
    """Return whether a program is a Python interpreter, judging by its name."""
    return re.fullmatch(r"python[\d.]*", Path(program).name) is not None


def describe_remedy(
    missing: MissingModules,
    program: str,
) -> str:
    """Return which modules a Python installation lacks, and how to install those whose package is known."""
    parts: list[str] = []
    if missing.names:
        plural = "s" if len(missing.names) > 1 else ""
        parts.append(f"{program} has no module{plural} {', '.join(missing.names)}")
    if missing.partial:
        parent = missing.partial.partition(".")[0]
        parts.append(
            f"{parent} of {program} has no module {missing.partial}; install the version that the model requires"
        )
    packages = [PACKAGES[name] for name in missing.names if name in PACKAGES]
    if packages:
        installer = program if is_python(program) else "python"
        parts.append(f"install there: {installer} -m pip install {' '.join(packages)}")
    others = [name for name in missing.names if name not in PACKAGES]
    if others:
        parts.append(
            f"for {', '.join(others)}, see the requirements of the model: the name of a module need not be that "
            "of its package"
        )
    return "; ".join(parts)


def _adapter_file(arguments: Sequence[str], folder: Path) -> Path | None:
    for index, argument in enumerate(arguments):
        file = None
        if argument.endswith(".py"):
            file = folder / argument
        elif argument == "-m" and index + 1 < len(arguments):
            file = folder / (arguments[index + 1].replace(".", "/") + ".py")
        if file is not None and file.is_file():
            return file
    return None


def _imports_of(file: Path) -> list[str]:
    """Return the top-level names that a file needs, in the order of its imports.

    Imports after the first change of `sys.path`, which may come from the model's repository, and
    those in a `try` with an exception handler are left out.
    """
    try:
        tree = ast.parse(file.read_bytes())
    # The adapter may use the syntax of another Python version.
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []
    optional: set[ast.AST] = set()
    path_change = float("inf")
    for node in ast.walk(tree):
        if isinstance(node, ast.Try) and node.handlers:
            for statement in node.body:
                optional.update(ast.walk(statement))
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.path":
            path_change = min(path_change, node.lineno)
    imports: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if node in optional:
            continue
        if isinstance(node, ast.Import):
            imports += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            imports.append((node.lineno, node.module))
    needed = [name.partition(".")[0] for line, name in sorted(imports) if line < path_change]
    return list(dict.fromkeys(needed))


def _is_beside(adapter: Path, name: str) -> bool:
    return (adapter.parent / name).is_dir() or (adapter.parent / f"{name}.py").is_file()


def _lacking(program: str, names: Iterable[str]) -> list[str] | None:
    """Return the names that a Python interpreter does not find; None if it cannot be queried."""
    try:
        # Isolated (-I), so that files of the current folder do not count as modules.
        answer = subprocess.run(  # noqa: S603 - the interpreter that the user asked to start
            [program, "-I", "-c", _FIND, *names],
            check=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_LIMIT_S,
        )
        return [str(name) for name in json.loads(answer.stdout)]
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
