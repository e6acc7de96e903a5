"""The metadata of the packages, the contents of their distributions, and the minimal installation."""

import importlib.util
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PACKAGES = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))

# Packages that neither the core nor the group `unit` requires.
OPTIONAL = [
    "fastapi",
    "h5py",
    "httpcore2",
    "httpx2",
    "nibabel",
    "playwright",
    "ray",
    "sklearn",
    "torch",
]
RUN_WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(sys.argv.pop(1).split(",")))
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


def configuration(package):
    return tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))


def load_version_floors():
    spec = importlib.util.spec_from_file_location(
        "version_floors", ROOT / "tests/version_floors.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


floors = load_version_floors().floors


def write_package(folder, *requirements):
    folder = folder / "packages" / f"p{len(list(folder.glob('packages/*')))}"
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(f"[project]\ndependencies = {list(requirements)}\n")


@pytest.mark.long
def test_a_test_file_of_the_core_runs_without_any_extra():
    file = "packages/segarena/tests/metrics/test_overlap.py::test_iou_of_two_empty_masks_is_one_or_as_asked"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            RUN_WITHOUT,
            ",".join(OPTIONAL),
            "-q",
            "-p",
            "no:cacheprovider",
            file,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def distributions_for(requirements):
    """Return the normalized names of all distributions that installing these requirements brings."""
    found = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        own = ROOT / "packages" / name
        if name in found:
            continue
        found.add(name)
        if own.is_dir():
            texts = configuration(own)["project"]["dependencies"]
        else:
            try:
                texts = metadata.requires(name) or []
            except metadata.PackageNotFoundError:
                texts = []  # not needed on this platform or by this version of Python
        for text in texts:
            waiting.append(Requirement(text))
    return found


def test_commands_import_only_what_their_package_requires():
    allowed = distributions_for(["segarena-studio"])
    modules = set()
    for package in sorted(allowed):
        project = ROOT / "packages" / package
        if project.is_dir():
            points = configuration(project)["project"]["entry-points"].get("segarena.commands", {})
            modules |= {point.partition(":")[0] for point in points.values()}
    # Of the core's commands, those that need an extra are not available without it.
    modules = {module for module in modules if not module.startswith("segarena.")}
    assert {"segarena_server.commands.serve", "segarena_studio.commands"} <= modules
    absent = []
    for module, owners in metadata.packages_distributions().items():
        if not allowed & {canonicalize_name(owner) for owner in owners}:
            absent.append(module)
    assert {"torch", "nibabel"} <= set(absent)
    imports = "".join(f"import {module}\n" for module in sorted(modules))
    program = f"import sys\nsys.modules.update(dict.fromkeys(sys.argv[1:]))\n{imports}"
    done = subprocess.run(
        [sys.executable, "-c", program, *absent],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_every_requirement_has_one_lowest_version():
    found = floors(ROOT)
    assert {"numpy", "typer", "polars", "fastapi", "scikit-learn"} <= found.keys()
    assert "torch" not in found


def test_a_requirement_without_a_lowest_version_is_refused(tmp_path):
    write_package(tmp_path, "numpy>=1.26", "rich")
    with pytest.raises(ValueError, match="rich has no lowest version"):
        floors(tmp_path)


def test_packages_agree_on_the_lowest_version(tmp_path):
    write_package(tmp_path, "numpy>=1.26")
    write_package(tmp_path, "numpy>=2.0,<3")
    with pytest.raises(ValueError, match="elsewhere numpy>=1"):
        floors(tmp_path)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_metadata_name_authors_and_licences_that_exist(package):
    project = configuration(package)["project"]
    assert project["authors"]
    assert "Operating System :: POSIX :: Linux" in project["classifiers"]
    for file in project["license-files"]:
        assert (package / file).is_file()


def test_licences_of_the_demo_photographs_are_in_the_metadata():
    project = configuration(ROOT / "packages" / "segarena")["project"]
    licences = "src/segarena/datasets/demo_data/LICENSES.md"
    assert licences in project["license-files"]
    assert "CC BY 2.0" in (ROOT / "packages" / "segarena" / licences).read_text(encoding="utf-8")
    assert project["license"] == "Apache-2.0 AND CC-BY-2.0"


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_source_distributions_hold_the_fixtures_of_their_tests(package):
    target = configuration(package)["tool"]["hatch"]["build"]["targets"]["sdist"]
    assert {"conftest.py", "pytest.ini"} <= set(target["force-include"].values())
    for source in target["force-include"]:
        assert (package / source).exists(), source
