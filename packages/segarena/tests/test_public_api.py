"""Names in `import segarena`, and modules that it does not load."""

import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import get_type_hints

import pytest

import segarena
from segarena import errors

HEAVY = ("torch", "polars", "cv2", "scipy", "skimage", "PIL", "typer", "rich")


def modules_after(code):
    """Return the names of all modules that a fresh process has loaded after `code`."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sorted(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_every_public_name_can_be_imported():
    for name in segarena.__all__:
        assert getattr(segarena, name).__name__ == name


def test_all_is_sorted_and_complete():
    assert segarena.__all__ == sorted(segarena.__all__)
    assert set(segarena.__all__) == set(chain.from_iterable(segarena._HOMES.values()))


def test_type_checkers_see_the_names_that_are_there_at_run_time():
    source = Path(segarena.__file__).read_text(encoding="utf-8")
    block = source.split("if TYPE_CHECKING:")[1].split("_HOMES")[0]
    seen = {
        name.strip(" ,")
        for line in block.splitlines()
        for name in line.partition("import ")[2].split(",")
    }
    assert seen - {""} == set(segarena.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        _ = segarena.evalute


def test_importing_the_package_loads_almost_nothing():
    loaded = modules_after("import segarena") - modules_after("")
    packages = {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names
    assert packages == {"segarena"}
    assert len(loaded) < 60, sorted(loaded)


def test_the_nouns_load_numpy_and_no_other_package():
    loaded = modules_after("from segarena import Click, Dialogue, ImageSample, Segmenter, Target")
    assert "numpy" in loaded
    assert not loaded & set(HEAVY)


def test_the_command_line_starts_without_heavy_packages():
    loaded = modules_after("import segarena.cli.main")
    assert not loaded & {"torch", "polars", "cv2", "scipy", "skimage"}


@pytest.mark.long
def test_looking_a_plugin_up_loads_no_torch():
    assert "torch" not in modules_after(
        "from segarena.registry import plugin_kinds, plugins_by_name\nfor k in plugin_kinds(): plugins_by_name(k)"
    )


def test_one_root_catches_every_error():
    ours = [value for value in vars(errors).values() if isinstance(value, type)]
    assert all(issubclass(error, errors.SegarenaError) for error in ours)


def test_every_error_stands_in_the_tree_of_the_docstring_with_its_parent_above():
    tree = errors.__doc__
    for error in (value for value in vars(errors).values() if isinstance(value, type)):
        assert error.__name__ in tree
        parent = error.__bases__[0].__name__
        assert parent == "Exception" or tree.index(parent) < tree.index(error.__name__)


def test_the_signature_of_evaluate_can_be_resolved():
    assert get_type_hints(segarena.evaluate)["return"] is segarena.RunFolder


def test_dir_lists_the_public_names():
    assert dir(segarena) == sorted([*segarena.__all__, "__version__"])
