"""Print the lowest version of each package that segarena accepts, as constraints for pip.

    python tests/version_floors.py > constraints.txt

`make test-floors` installs these versions. torch is missing: the Makefile pins the one CPU build that needs no
GPU libraries.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def floors(folder: Path) -> dict[str, str]:
    """Return the lowest accepted version by package, from every pyproject.toml under packages/.

    Raises:
        ValueError: a requirement has no lowest version, or two packages disagree about it.
    """
    found: dict[str, str] = {}
    for path in sorted(folder.glob("packages/*/pyproject.toml")):
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        requirements = list(project["dependencies"])
        for extra in project.get("optional-dependencies", {}).values():
            requirements += extra
        for requirement in requirements:
            name = re.match(r"[\w.-]+", requirement)[0]
            if name == "torch" or name.startswith("segarena"):
                continue
            floor = re.search(r">=([\d.]+)", requirement)
            if floor is None:
                raise ValueError(f"{path}: {requirement} has no lowest version, such as >=1.0")
            if found.setdefault(name, floor[1]) != floor[1]:
                raise ValueError(f"{path}: {requirement}, and elsewhere {name}>={found[name]}")
    return found


if __name__ == "__main__":
    for name, version in floors(ROOT).items():
        sys.stdout.write(f"{name}=={version}\n")
